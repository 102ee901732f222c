"""The main job on a simulated population: truth beside estimate. `make demo` runs it.

The people are made up by a statistical generator with a fixed seed, so that the truth is known and the same each
time. What protects them is drawn from the operating system, as always, so the estimates differ from run to run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from hush.client import randomise
from hush.errors import DesignError
from hush.estimates import Estimate, estimate
from hush.plan import Plan
from hush.report import Report
from hush.schema import MISSING, Categorical, Numeric, Schema
from hush.tally import Tally

SCHEMA = Schema(
    [
        Numeric("age", low=18, high=100),
        Numeric("screen hours", low=0, high=16, out_of_range="clip"),
        Numeric("income", low=0, high=200_000, out_of_range="clip", optional=True),
        Categorical("system", ["linux", "mac", "windows", "other"]),
        Categorical("satisfied", ["no", "partly", "yes"]),
        Categorical("uses feature", ["yes", "no"], optional=True),
    ]
)


def people(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Make up n people."""
    world = random.Random(seed)
    for _ in range(n):
        age = min(max(world.gauss(44, 15), 18), 100)
        hours = world.expovariate(1 / 4) + (age < 30)
        yield {
            "age": age,
            "screen hours": hours,
            "income": world.lognormvariate(10.4, 0.6) if world.random() > 0.15 else None,
            "system": world.choices(["linux", "mac", "windows", "other"], [2, 5, 9, 1])[0],
            "satisfied": world.choices(["no", "partly", "yes"], [2, 3, 5])[0],
            "uses feature": world.choices(["yes", "no", None], [4, 5, 1])[0],
        }


def truth(population: list[dict[str, Any]], row: Estimate) -> float:
    """Return what an estimate is about, computed from the records themselves."""
    values = [person[row.attribute] for person in population]
    if row.category is not None:
        wanted = None if row.category == MISSING else row.category
        return float(sum(value == wanted for value in values) / len(values))
    field = SCHEMA[row.attribute]
    assert isinstance(field, Numeric)
    present = [min(max(value, field.low), field.high) for value in values if value is not None]
    return float(sum(present) / len(present))


def progress(population: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the people, and draw a bar on a terminal meanwhile."""
    shown = sys.stderr.isatty()
    step = max(1, len(population) // 50)
    for index, person in enumerate(population):
        if shown and index % step == 0:
            done = index * 40 // len(population)
            print(f"\r  [{'=' * done}{' ' * (40 - done)}]", end="", file=sys.stderr, flush=True)
        yield person
    if shown:
        print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Read the options, and run."""
    parser = argparse.ArgumentParser(prog="python -m hush.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100_000, help="how many people to make up (100000)")
    parser.add_argument("--epsilon", type=float, default=2.0, help="what answering costs each of them (2.0)")
    parser.add_argument("--level", type=float, default=0.95, help="probability of the intervals (0.95)")
    options = parser.parse_args()
    if options.people < 1 or not 0 < options.level < 1:
        parser.error("--people must be at least 1, --level between 0 and 1")

    try:
        run(options.people, options.epsilon, options.level)
    except DesignError as error:
        parser.error(str(error))


def run(n: int = 100_000, epsilon: float = 2.0, level: float = 0.95) -> None:
    """Randomise, tally, estimate and print."""
    plan = Plan.design(SCHEMA, epsilon, title="demo")
    population = list(people(n, seed=2019))
    print(f"{plan}\n{len(population):,} people, each answers {plan.k} of {len(plan.questions)} questions, with noise.")

    start = time.perf_counter()
    tally = Tally(plan)
    size = 0
    for person in progress(population):
        wire = randomise(plan, person).encode()  # all that leaves the device
        size += len(wire)
        tally.add(Report.decode(plan, wire))
    seconds = time.perf_counter() - start
    print(f"{tally.n:,} reports of {size / tally.n:.1f} bytes on average, in {seconds:.1f} s.\n")

    rows = estimate(tally, level=level)
    interval = f"{level:.0%} interval"
    print(f"{'attribute':<14}{'category':<12}{'truth':>11}{'estimate':>11}{interval:>25}{'n':>9}")
    inside = 0
    for row in rows:
        true = truth(population, row)
        inside += row.low <= true <= row.high
        digits = 1 if row.category is None and row.point > 100 else 3
        category = "mean" if row.category is None else row.category
        bounds = f"{row.low:,.{digits}f} .. {row.high:,.{digits}f}"
        print(
            f"{row.attribute:<14}{category:<12}{true:>11,.{digits}f}{row.point:>11,.{digits}f}{bounds:>25}{row.n:>9,}"
        )
    print(f"\n{inside} of {len(rows)} intervals contain the truth; the server never saw a record.")


if __name__ == "__main__":
    main()
