"""Fewer attributes, smaller errors: parts of the census of MX, at one epsilon."""

from __future__ import annotations

from typing import Any

import hush
from experiments.reproduce import estimation
from experiments.reproduce.estimation import METHODS, RIVALS, as_expected, both_outperform
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.population import Population
from experiments.reproduce.populations import census_of

TITLE = "Fewer attributes"
PAPER = "Figure 8"
EPSILON = 1.0
ATTRIBUTES = (4, 8, 12, 16, 19)


def some_of(population: Population, count: int) -> Population:
    """Return people with so many attributes, numbers and categories in proportion, at least one of each."""
    numbers = [a.name for a in population.schema.attributes if isinstance(a, hush.Numeric)]
    categories = [a.name for a in population.schema.attributes if isinstance(a, hush.Categorical)]
    kept = max(1, round(count * len(numbers) / len(population.schema)))
    return population.only([*numbers[:kept], *categories[: count - kept]])


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method for growing numbers of attributes."""
    population = census_of(bench, "MX", bench.settings.people)
    rows: list[Row] = []
    for count in ATTRIBUTES:
        some = some_of(population, count)
        rows += estimation.surveyed(bench, f"{TITLE}: {count}", some, (EPSILON,))
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    fewest, most = min(r["attributes"] for r in rows), max(r["attributes"] for r in rows)
    growth = []
    for target in estimation.TARGETS:
        for method in METHODS:
            at = {r["attributes"]: r["mse"] for r in rows if (r["target"], r["method"]) == (target, method)}
            growth.append(at[most] / at[fewest])
    found = [
        Claim(
            "lower dimensionality leads to more accurate results, for every method",
            f"from {fewest} to {most} attributes the error grows {min(growth):.1f} to {max(growth):.1f} times",
            min(growth) > 1,
        )
    ]
    return [
        *found,
        *both_outperform("{} outperforms its competitors in all settings", rows, RIVALS),
        as_expected(rows),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw error against the number of attributes."""
    return estimation.chart("attributes", TITLE, {t: [r for r in rows if r["target"] == t] for t in estimation.TARGETS})
