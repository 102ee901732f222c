"""All 45 tables of ten categories from one survey: errors of the remedies, and coverage of the intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

import hush
from experiments.relations import people
from experiments.reproduce.population import Array, Population
from experiments.surveys import survey
from hush.server.relations.consistent import Remedy

REMEDIES: tuple[Remedy, ...] = ("pooled", "proper", "shrunk")
NAMES = list(people.CATEGORIES)


@dataclass(frozen=True)
class Tables:
    """One survey about all tables. A share `singles` of the people is asked about one attribute alone."""

    data: str
    n: int
    epsilon: float
    run: int
    singles: float = 0.0


@lru_cache(maxsize=8)
def design(epsilon: float, singles: float) -> hush.Plan:
    """Return the plan of all tables."""
    return hush.design(people.schema(NAMES), epsilon, relations="all", singles=singles)


def truths(population: Population) -> dict[tuple[str, str], Array]:
    """Return all tables of everybody."""
    codes = {name: population.columns[name].astype(np.int64) for name in NAMES}
    found = {}
    for one, other in combinations(NAMES, 2):
        rows, columns = people.CATEGORIES[one], people.CATEGORIES[other]
        counts = np.bincount(codes[one] * columns + codes[other], minlength=rows * columns)
        found[one, other] = counts.reshape(rows, columns) / len(population)
    return found


def measured(job: Tables, population: Population, truth: dict[tuple[str, str], Array]) -> dict[str, float]:
    """Return mean squared errors of cells by every remedy, and the share of intervals that cover."""
    rng = np.random.default_rng([job.run, job.n, round(job.epsilon * 100)])
    tally = survey(design(job.epsilon, job.singles), people.sample(population, NAMES, job.n, rng), rng)
    squares: dict[str, list[float]] = {}
    inside: list[bool] = []
    for remedy in REMEDIES:
        for (first, second), table in hush.consistent(tally, remedy).tables.items():
            known = truth[first.of[0], second.of[0]]
            squares.setdefault(remedy, []).append(float(np.mean((np.array(table) - known) ** 2)))
    for (one, other), known in truth.items():
        raw = hush.crosstab(tally, one, other, pooled=False)
        points = np.array([row.point for row in raw]).reshape(known.shape)
        squares.setdefault("raw", []).append(float(np.mean((points - known) ** 2)))
        alone = np.outer(known.sum(1), known.sum(0))
        squares.setdefault("independence", []).append(float(np.mean((alone - known) ** 2)))
        cells = hush.crosstab(tally, one, other)
        inside += [row.low <= share <= row.high for row, share in zip(cells, known.ravel(), strict=True)]
    return {name: float(np.mean(found)) for name, found in squares.items()} | {"coverage": float(np.mean(inside))}
