"""Very many categories: sets, points and hashes, by variance, bytes and time. `python -m experiments.large [--keep]`.

**Variance** is exact, from the integers of the channels: the total over all categories of what a report adds, as a
multiple of that of the best subset channel (whose reports would have K bits). Local hashing (OLH) has the variance of
optimised unary encoding, 4e^eps/(e^eps - 1)^2, if everybody draws a hash function of their own. Hadamard response has
(coth(eps/2))^2. **Bytes** are those of the answer alone. **Decoding** is processor time on one core, for a tally of a
million reports, also as a multiple of adding up the same counts with Python's `sum` in the same run. OLH has no tally:
its server compares each report with each category, so its time is estimated from a million comparisons.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from hush.core.channels import Geometry
from hush.core.design.categorical import geometry, least_variance, total_variance

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "large.json"
SIZES = (1000, 4096, 10_000, 100_000, 1_000_000)
EPSILONS = ("1", "2", "4")
REPORTS = 1_000_000
ADDED = 20  # sums, of which the average counts: one takes milliseconds


def decode_seconds(channel: Geometry, reports: int = REPORTS) -> tuple[float, float]:
    """Return the processor time of reading all shares from a tally of uniform points, and that of adding them up."""
    pick = random.Random(1)  # noqa: S311
    counts = [0] * channel.points
    for point in pick.choices(range(channel.points), k=reports):
        counts[point] += 1
    start = time.process_time()
    channel.totals(counts)
    decoded = time.process_time()
    for _ in range(ADDED):
        sum(counts)
    return decoded - start, (time.process_time() - decoded) / ADDED


def hashing_seconds(size: int) -> float:
    """Return the processor time of reading all shares from as many reports of local hashing, from a part of them."""
    pick = random.Random(2)  # noqa: S311
    factors = [pick.getrandbits(61) | 1 for _ in range(1000)]
    start = time.process_time()
    for factor in factors:
        sum(1 for value in range(1000) if (factor * value >> 40) % 8 == 3)
    return (time.process_time() - start) / 1e6 * size * REPORTS


def row(size: int, epsilon: str) -> dict[str, Any]:
    """Return the line of one case."""
    e = math.exp(float(epsilon))
    channel, least = geometry(Fraction(epsilon), size), least_variance(Fraction(epsilon), size)
    per = float(least) / size
    decoding, adding = decode_seconds(channel)
    return {
        "size": size,
        "epsilon": epsilon,
        "order": channel.order,
        "digits": channel.digits,
        "points": channel.points,
        "variance": float(total_variance(channel) / least),
        "olh": 4 * e / (e - 1) ** 2 / per,
        "hadamard": 1 / math.tanh(float(epsilon) / 2) ** 2 / per,
        "set_bytes": -(-size // 8),
        "bytes": channel.alphabet.width,
        "decode_s": decoding,
        "sum_s": adding,
        "olh_s": hashing_seconds(size),
    }


def main() -> None:
    """Print a line for each case, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    options = parser.parse_args()
    kept = []
    for size in SIZES:
        for epsilon in EPSILONS:
            kept.append(row(size, epsilon))
            sys.stdout.write(json.dumps(kept[-1]) + "\n")
            sys.stdout.flush()
    if options.keep:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
