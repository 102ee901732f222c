"""How long a first table waits on a machine that has compiled nothing: `python benchmarks/cold.py`.

Every run is a process of its own that checks, randomises and counts a table of 5,000 people. Three are compared, in
processor seconds without the imports: in plain Python, with kernels that are compiled for it, and with kernels that an
earlier process has kept.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from measure import machine, progress, write

PEOPLE = 5000
CODE = f"""
import time
import numpy as np
from hush import Categorical, Numeric, Schema, batch, design
made_up = np.random.default_rng(1)
schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1), Categorical("a", range(3)), Categorical("b", range(40))])
plan = design(schema, 1.0)
table = {{"x": made_up.random({PEOPLE}), "y": made_up.random({PEOPLE})}}
table |= {{"a": made_up.integers(0, 3, {PEOPLE}), "b": made_up.integers(0, 40, {PEOPLE})}}
start = time.process_time()
batch.tally(plan, batch.randomise(plan, table))
print(time.process_time() - start)
"""


def seconds(cache: str, compiling: bool) -> float:
    """Return the processor seconds of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "HUSH_COMPILE"}
    environment |= {"NUMBA_CACHE_DIR": cache} | ({"HUSH_COMPILE": "1"} if compiling else {})
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - itself
    return float(done.stdout)


def main() -> None:
    """Measure, print, and keep if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="for docs/speed.md")
    options = parser.parse_args()
    where = machine()  # its load, before this adds to it
    with tempfile.TemporaryDirectory() as cache:
        progress("in plain Python")
        found = {"people": PEOPLE, "plain": seconds(cache, compiling=False)}
        progress("compiling")
        found["compiled"] = seconds(cache, compiling=True)
        progress("compiled before")
        found["kept"] = seconds(cache, compiling=True)
    print(", ".join(f"{name} {value:.3g}" for name, value in found.items()))
    write("cold", {"machine": where, **found}, options.keep)


if __name__ == "__main__":
    main()
