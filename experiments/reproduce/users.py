"""More people, smaller errors: the census of MX, at one epsilon."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import estimation
from experiments.reproduce.estimation import METHODS, RIVALS, as_expected, both_outperform
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.populations import census_of

TITLE = "More people"
PAPER = "Figure 7"
EPSILON = 1.0
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method for growing parts of the people."""
    population = census_of(bench, "MX", bench.settings.people)
    rows: list[Row] = []
    for share in SHARES:
        some = population.first(int(len(population) * share))
        rows += estimation.surveyed(bench, f"{TITLE}: {len(some):,}", some, (EPSILON,))
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    sizes = sorted({row["people"] for row in rows})
    growth = []
    for target in estimation.TARGETS:
        for method in METHODS:
            at = {r["people"]: r["mse"] for r in rows if (r["target"], r["method"]) == (target, method)}
            growth.append(at[sizes[-1]] / at[sizes[0]] * sizes[-1] / sizes[0])
    found = [
        Claim(
            "more users lead to more accurate results, for every method",
            f"with {sizes[-1] // sizes[0]} times the people the error is {min(growth):.2f} to {max(growth):.2f} times "
            "what one over the number of people gives",
            max(growth) < sizes[-1] / sizes[0],
        )
    ]
    return [
        *found,
        *both_outperform("{} outperforms its competitors in all settings", rows, RIVALS),
        as_expected(rows),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw error against people."""
    return estimation.chart("people", TITLE, {t: [r for r in rows if r["target"] == t] for t in estimation.TARGETS})
