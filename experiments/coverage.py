"""Do intervals keep their word? `python -m experiments.coverage` measures it (about ten minutes on one core).

Every cell is a channel, an epsilon, a number of people and a population. Thousands of crowds are drawn from the exact
law (`experiments.crowds`), and the share of them whose interval at the level 0.95 covers the truth is the coverage. The
least of hundreds of shares is low by chance; so the worst cells of each group are drawn anew, with ten times the
crowds, and only what these say is kept. In every cell the interval itself is computed for some crowds too: it must
cover whenever the test says so, and its width is compared with a normal interval that knows the true variance.

How a plan draws questions (k of d, equally or with weights) decides how many answer an attribute, and with which
epsilon; nothing else. So it is enough to ask each person with some probability.

Targets with two values (shares of categories, missing numbers of one window, signs, cells of a table) have a binomial
count. Their least coverage over *all* probabilities is computed, not simulated: coverage falls between the ends of
intervals only where a count drops out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cached import watched
from experiments.crowds import People, Target, channel, law, missings, populations
from hush.core.channels import Reading
from hush.server.intervals import proportion

RESULTS = Path(__file__).parent / "results" / "coverage.json"
LEVEL = 0.95
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
NUMBERS = (100, 300, 1000, 5000)
TWO = (50, 100, 200, 300, 500, 1000, 5000)
HARD = ("all at low", "all in the middle", "half at each end", "skewed", "3 at high, others low")
LARGE = ("piecewise", "piecewise-sub", "hybrid")
ADDITIVE = ("laplace", "scdf", "staircase")
RUNS = 4000
AGAIN = 10  # times as many crowds for the worst cells
WORST = 4  # of each group
SEARCHED = 600

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One setting. Each person is `asked` with some probability; `people` are a population with its missing values."""

    group: str
    kind: str
    optional: bool
    epsilon: float
    n: int
    people: People
    asked: float = 1.0
    estimator: str = "ratio"
    target: str = "mean"
    level: float = LEVEL
    runs: int = RUNS

    def draw(self, rng: np.random.Generator) -> tuple[Target, Any, Any]:
        """Return the target, the probabilities of its outputs, and what crowds reported."""
        found = channel(self.kind, self.optional, self.epsilon)
        reading = found.readings([0] * found.alphabet.size, 0)[self.target == "missing"]
        assert isinstance(reading, Reading)  # channels of one number have no sums over several cells
        target = Target.of(reading, self.people.mean if self.target == "mean" else self.people.missing)
        shares = law(self.kind, self.optional, self.epsilon, self.people)
        if self.asked == 1:
            return target, shares, rng.multinomial(self.n, shares, size=self.runs)
        every = np.append(shares * self.asked, 1 - self.asked)
        counts = rng.multinomial(self.n, every, size=self.runs)
        if self.estimator == "ratio":
            return target, shares, counts[:, :-1]
        return target.paper(self.asked), every, counts


def measure(job: tuple[int, Cell]) -> Row:
    """Return the coverage of a cell, and how wide its intervals are."""
    index, cell = job
    target, shares, counts = cell.draw(np.random.default_rng([2019, index]))
    covered = target.covers(counts, cell.level)
    for row, plausible in zip(counts[:8], covered, strict=False):
        low, high = target.interval(row, cell.level)
        if plausible and not low - 1e-9 <= target.truth <= high + 1e-9:
            raise AssertionError(f"the interval and its test differ: {cell}")
    widenings = [target.widening(row, shares, cell.level) for row in counts[:8]]
    return {"coverage": float(covered.mean()), "widening": float(np.median(widenings))}


def cells() -> Iterator[Cell]:
    """Every cell of the grid."""
    yield from _grid("minimax", EPSILONS, NUMBERS, None)
    for kind in LARGE:
        yield from _grid(kind, EPSILONS, (100, 1000, 5000), HARD, runs=RUNS // 2)
    for kind in ADDITIVE:
        yield from _grid(kind, (1.0, 4.0, 8.0), (100, 1000), HARD[:3], runs=RUNS // 2)
    for kind in ("minimax", "duchi"):
        yield from _optional(kind, EPSILONS, NUMBERS, None, None)
    for kind in LARGE:
        some = ("none", "half", "all but five")
        yield from _optional(kind, (1.0, 4.0, 8.0), (100, 1000), HARD[:3], some, runs=RUNS // 2)
    # The share of the missing has more than two values in a mixture alone.
    for cell in _optional("hybrid", (1.0, 4.0, 8.0), (100, 1000), HARD[:1], ("none", "one", "half", "all but one")):
        yield replace(cell, group="hybrid, optional: missing", target="missing", runs=RUNS // 2)
    yield from _sampled()
    yield from _search(np.random.default_rng(8))
    for level in (0.8, 0.9, 0.99, 0.999):
        for cell in _optional("duchi", (4.0, 8.0), (20, 100, 1000), HARD[:3], ("none", "half")):
            yield replace(cell, group=f"level {level}", level=level, runs=4 * RUNS)
        for cell in _grid("minimax", (1.0, 4.0, 8.0), (20, 100, 1000), HARD):
            yield replace(cell, group=f"level {level}", level=level, runs=4 * RUNS)
    for n in (5, 10, 20, 50):
        for kind, optional in (("minimax", False), ("minimax", True), ("duchi", True)):
            found = _grid(kind, (1.0, 4.0, 8.0), (n,), HARD)
            if optional:
                found = _optional(kind, (1.0, 4.0, 8.0), (n,), HARD, ("none", "half"))
            for cell in found:
                yield replace(cell, group=f"{n} answers")


def _grid(
    kind: str, epsilons: Sequence[float], numbers: Sequence[int], names: Sequence[str] | None, runs: int = RUNS
) -> Iterator[Cell]:
    for epsilon in epsilons:
        for n in numbers:
            for name, people in populations(n).items():
                if names is None or name in names:
                    yield Cell(kind, kind, False, epsilon, n, people, runs=runs)


def _optional(
    kind: str,
    epsilons: Sequence[float],
    numbers: Sequence[int],
    names: Sequence[str] | None,
    shares: Sequence[str] | None,
    runs: int = RUNS,
) -> Iterator[Cell]:
    for cell in _grid(kind, epsilons, numbers, names, runs):
        for name, missing in missings(cell.n).items():
            if 0 <= missing < 1 and (shares is None or name in shares):
                people = replace(cell.people, name=f"{cell.people.name}, {name} missing", missing=missing)
                yield replace(cell, group=f"{kind}, optional", optional=True, people=people)


def _sampled() -> Iterator[Cell]:
    for asked in (1 / 2, 1 / 4, 1 / 16):
        for kind in ("minimax", "duchi", "hybrid"):
            for cell in _grid(kind, (1.0, 4.0, 8.0), (300, 5000), HARD, RUNS if kind != "hybrid" else RUNS // 2):
                yield replace(cell, group="paper's estimator", asked=asked, estimator="paper")
        for cell in _optional("duchi", (1.0, 4.0, 8.0), (300, 5000), HARD[:3], ("none", "half")):
            yield replace(cell, group="sampled, ratio estimator", asked=asked)
        for cell in _grid("minimax", (1.0, 4.0, 8.0), (300, 5000), HARD):
            yield replace(cell, group="sampled, ratio estimator", asked=asked)


def _search(rng: np.random.Generator) -> Iterator[Cell]:
    """Populations at two points, one of them rare, at random: is any worse than those that were thought of?"""
    for index in range(SEARCHED):
        optional = index % 3 > 0
        n = round(20 * 10 ** rng.uniform(0, 2))
        rare = min(0.5, 10 ** rng.uniform(math.log10(0.3 / n), math.log10(0.5)))
        positions = tuple(float(rng.choice([0.0, 1.0, rng.random()])) for _ in range(2))
        missing = float(rng.choice([0.0, 0.5, rng.random(), 1 - min(0.9, rng.uniform(1, 30) / n)])) * optional
        name = f"1 to {1 / rare:.0f} at {positions[1]:.2f} and {positions[0]:.2f}, {100 * missing:.0f} % missing"
        people = People(name, positions, (1 - rare, rare), missing)
        kind = ("minimax", "minimax", "duchi")[index % 3]
        yield Cell("search", kind, optional, float(rng.choice([*EPSILONS, 6.0])), n, people)


def least_binomial(n: int, level: float) -> tuple[float, float]:
    """Return the least coverage of `proportion` over all probabilities, and where it is."""
    from scipy.stats import binom

    low, high = np.array([proportion(count, n, level) for count in range(n + 1)]).T
    ends = np.concatenate([low, high])
    # Between two ends the same counts are accepted, and their probability is least close to one of them.
    near = np.concatenate([ends - 1e-9, ends + 1e-9])
    near = near[(near > 0) & (near < 1)]
    first, last = np.searchsorted(high, near), np.searchsorted(low, near, side="right") - 1
    coverage = binom.cdf(last, n, near) - binom.cdf(first - 1, n, near)
    return float(coverage.min()), float(near[coverage.argmin()])


def summary(jobs: Sequence[tuple[int, Cell]], found: dict[Any, Row], processes: int) -> list[Row]:
    """Draw the worst cells of every group anew, and return one row for each group."""
    groups: dict[str, list[tuple[int, Cell]]] = {}
    for job in jobs:
        groups.setdefault(job[1].group, []).append(job)
    again = []
    for members in groups.values():
        for index, cell in sorted(members, key=lambda job: found[job]["coverage"])[:WORST]:
            again.append((len(jobs) + index, replace(cell, runs=AGAIN * cell.runs)))
    renewed = dict(watched(again, measure, processes, "the worst anew"))
    rows = []
    for group, members in groups.items():
        job, row = min(
            ((job, row) for job, row in renewed.items() if job[1].group == group), key=lambda pair: pair[1]["coverage"]
        )
        cell = job[1]
        widenings = [math.log(found[member]["widening"]) for member in members]
        rows.append(
            {
                "group": group,
                "level": cell.level,
                "cells": len(members),
                "least": row["coverage"],
                "error": math.sqrt(row["coverage"] * (1 - row["coverage"]) / cell.runs),
                "mean": float(np.mean([found[member]["coverage"] for member in members])),
                "widening": math.exp(float(np.mean(widenings))),
                "where": {
                    **{name: getattr(cell, name) for name in ("kind", "epsilon", "n", "asked")},
                    "people": cell.people.name,
                },
            }
        )
    return rows


def binomials() -> list[Row]:
    """Return the least coverage of two values, for some numbers of answers."""
    rows = []
    for n in TWO:
        least, where = least_binomial(n, LEVEL)
        rows.append({"group": f"two values, {n} answers", "level": LEVEL, "least": least, "probability": where})
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the least coverage of every group, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", help="groups whose name begins like this; nothing is kept")
    options = parser.parse_args(arguments)
    jobs = [job for job in enumerate(cells()) if job[1].group.startswith(options.only or "")]
    found = dict(watched(jobs, measure, options.processes, "crowds"))
    rows = summary(jobs, found, options.processes) + ([] if options.only else binomials())
    for row in rows:
        print(f"{row['group']:28} level {row['level']:g}: at least {row['least']:.4f}, in {row.get('where', 'any')}")
    if options.only is None:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
