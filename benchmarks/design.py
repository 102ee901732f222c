"""How long the minimax design takes, on one core. `make bench` runs it.

Times depend on the machine, so each is also given as a ratio to a yardstick in the same run: a million multiplications
and additions in plain Python, of which the design is made as well.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from operator import mul

from measure import machine, write

from hush.core.design.minimax import minimax

CASES = [("0.5", 64), ("1", 64), ("2", 64), ("3", 64), ("4", 64), ("2", 32), ("6", 128), ("8", 128)]
REPEATS = 3


def seconds(epsilon: str, size: int) -> float:
    """Return the best processor time of one design, without the cache."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        minimax.__wrapped__(Fraction(epsilon), False, size)
        times.append(time.process_time() - start)
    return min(times)


def yardstick() -> float:
    """Return the best processor time of a million multiplications and additions."""
    row = [1.5] * 1000
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(1000):
            sum(map(mul, row, row))
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure, print a table, and write the figures to benchmarks/results."""
    where, rows = machine(), []
    unit = yardstick()
    lines = ["| epsilon | cells | seconds | ratio to a million multiplications |", "|---:|---:|---:|---:|"]
    for epsilon, size in CASES:
        taken = seconds(epsilon, size)
        lines.append(f"| {epsilon} | {size} | {taken:.3f} | {taken / unit:.1f} |")
        rows.append({"epsilon": epsilon, "cells": size, "seconds": taken, "ratio": taken / unit})
    text = "\n".join([f"Python {sys.version.split()[0]}, best of {REPEATS}, processor time.", "", *lines, ""])
    write("design", {"machine": where, "rows": rows}, False)
    print(text)


if __name__ == "__main__":
    main()
