"""Means and frequencies of census records, numbers and categories together."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import estimation
from experiments.reproduce.estimation import RIVALS, as_expected, both_outperform, outperforms, ratios
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.populations import CENSUS, census_of

TITLE = "Means and frequencies of census records"
PAPER = "Figure 4"


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method on both censuses."""
    rows: list[Row] = []
    for shape in CENSUS:
        population = census_of(bench, shape, bench.settings.people)
        rows += estimation.surveyed(bench, f"{TITLE}: {shape}", population, bench.settings.epsilons)
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    similar = [max(ratio.best, 1 / ratio.best) for ratio in ratios(rows, "Staircase", "SCDF", "numeric")]
    return [
        *both_outperform("{} outperforms every earlier method on numeric attributes", rows, RIVALS, "numeric"),
        outperforms(
            "sampling attributes beats splitting the budget for frequencies", rows, "HM", ("Duchi",), "categorical"
        ),
        outperforms(
            "Duchi et al.'s solution is better than Laplace and SCDF, consistently",
            rows,
            "Duchi",
            ("Laplace", "SCDF"),
            "numeric",
        ),
        Claim(
            "Staircase and SCDF perform similarly",
            f"their errors differ by a factor {max(similar):.2f} at most",
            max(similar) < 1.5,
        ),
        outperforms("(hush) the default of hush is better than HM", rows, "hush", ("HM",)),
        as_expected(rows),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw error against epsilon, as the paper does."""
    names = dict.fromkeys((row["data"], row["target"]) for row in rows)
    panels = {
        f"{data}: {target}": [r for r in rows if (r["data"], r["target"]) == (data, target)] for data, target in names
    }
    return estimation.chart("epsilon", TITLE, panels)
