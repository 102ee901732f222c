"""Where the time of the batch engine goes, stage by stage: `python benchmarks/stages.py`.

The engine runs as it is, on one thread, with a clock around three of its parts: making the words of a block, opening
the stream of a chunk, and the kernel. What is left is Python: Arrow, memory, calls. Beside them stands the price of as
many words from the keystream alone, in turns with it. Times are processor time, for the best turn as a whole.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from measure import ROOT, machine, progress, write

import hush
import hush.batch
from hush.batch import engine
from hush.batch.kernels import KERNELS
from hush.batch.keystream import SPARE, Keystream
from hush.batch.program import compile_plan

sys.path.append(str(ROOT / "docs"))

import speed_tables  # a neighbour, not a part of the package

PEOPLE = 1 << 21
NUMERIC = (("piecewise", 1.0), ("duchi", 1.0), ("hybrid", 1.0), ("minimax", 1.0), ("minimax", 4.0))
CATEGORICAL = (("grr", 64), ("subset", 64), ("oue", 64))
Row = dict[str, Any]


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Put a clock around the parts of the engine, and return how many seconds each took."""
    seconds: dict[str, float] = defaultdict(float)

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments)
            finally:
                seconds[name] += time.process_time() - start

        return call

    kernels, refill, stream = dict(KERNELS), engine.Words.refill, Keystream.stream
    KERNELS.update({kind: watched("kernel", kernel) for kind, kernel in kernels.items()})
    engine.Words.refill = watched("words", refill)  # type: ignore[method-assign]
    Keystream.stream = watched("stream", stream)  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        KERNELS.update(kernels)
        engine.Words.refill, Keystream.stream = refill, stream  # type: ignore[method-assign]


def staged(plan: hush.Plan, column: Any, repeats: int) -> Row:
    """Return the nanoseconds of each stage for one value, in the turn that was the fastest."""
    data = hush.batch.encode(plan, {"x": column})
    hush.batch.randomise(plan, data, threads=1)  # compiles
    words, room = engine.BLOCK, np.zeros(engine.BLOCK + SPARE, dtype=np.uint64)
    best: Row = {"whole": float("inf"), "word": float("inf")}
    for _ in range(repeats):
        stream = Keystream().stream(0)
        start = time.process_time()
        for _ in range(8):
            stream.fill(room, words)
        word = (time.process_time() - start) / (8 * words)
        with timed() as seconds:
            start = time.process_time()
            hush.batch.randomise(plan, data, threads=1)
            whole = time.process_time() - start
        if whole < best["whole"]:
            best = {"whole": whole, "word": best["word"], **seconds}
        best["word"] = min(best["word"], word)
    found = {name: 1e9 * value / (1 if name == "word" else len(column)) for name, value in best.items()}
    return found | {"per_person": compile_plan(plan).tasks[0].code.words}


def stages(repeats: int) -> list[Row]:
    """One column, by channel."""
    generator, rows = np.random.default_rng(), []
    for channel, epsilon in NUMERIC:
        progress(f"{channel}, epsilon {epsilon:g}")
        plan = hush.design(hush.Schema([hush.Numeric("x", 0, 100)]), epsilon, numeric=channel)
        name = f"`{channel}`, epsilon {epsilon:g}"
        rows.append({"name": name} | staged(plan, generator.uniform(0, 100, PEOPLE), repeats))
    for channel, size in CATEGORICAL:
        progress(f"{channel}, K = {size}")
        plan = hush.design(hush.Schema([hush.Categorical("x", list(range(size)))]), 1.0, categorical=channel)
        name = f"`{channel}`, K = {size}"
        rows.append({"name": name} | staged(plan, generator.integers(0, size, PEOPLE), repeats))
    return rows


def main() -> None:
    """Measure, print a table, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="also write docs/measured/stages.json, for the documents")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    results = {"command": "python benchmarks/stages.py", "machine": machine(), "rows": stages(options.repeats)}
    write("stages", results, options.keep)
    print(speed_tables.heading(results), "", speed_tables.stages(results), sep="\n")


if __name__ == "__main__":
    main()
