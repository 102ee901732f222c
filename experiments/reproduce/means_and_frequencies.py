"""Means and frequencies of census records, numbers and categories together."""

from __future__ import annotations

from functools import partial
from typing import Any

from experiments.reproduce import estimation
from experiments.reproduce.estimation import PROPOSED, RIVALS, ratios
from experiments.reproduce.frame import Bench, Claim, Row, worst
from experiments.reproduce.populations import CENSUS, census_of

TITLE = "Means and frequencies of census records"
PAPER = "Figure 4"


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method on both censuses."""
    rows: list[Row] = []
    for shape in CENSUS:
        population = census_of(bench, shape, bench.settings.people)
        jobs = estimation.surveys(bench, population.name, bench.settings.epsilons, len(population), len(population.schema))
        rows += estimation.rows_of(bench.run(f"{TITLE}: {shape}", jobs, partial(estimation.errors, population)))
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    found = []
    for method in PROPOSED:
        by_rival = {}
        for rival in RIVALS:
            setting, ratio = worst(ratios(rows, method, rival, "numeric"))
            by_rival[f"{rival} ({setting})"] = ratio
        setting, ratio = worst(by_rival)
        found.append(
            Claim(
                f"{method} outperforms every earlier method on numeric attributes, in all settings",
                f"at worst its error is {ratio:.2f} of that of {setting}",
                ratio < 1,
            )
        )
    setting, ratio = worst(ratios(rows, "HM", "Duchi", "categorical"))
    found.append(
        Claim(
            "sampling attributes beats splitting the budget for frequencies, in all settings",
            f"at worst its error is {ratio:.2f} of that of OUE with epsilon/d ({setting})",
            ratio < 1,
        )
    )
    setting, ratio = worst(ratios(rows, "Duchi", "Laplace", "numeric"))
    found.append(
        Claim(
            "there is a consistent gap between Duchi et al.'s solution and Laplace and SCDF on numeric attributes",
            f"at worst its error is {ratio:.2f} of that of Laplace ({setting})",
            ratio < 1,
        )
    )
    similar = {**ratios(rows, "Staircase", "SCDF", "numeric")}
    off = max(max(value, 1 / value) for value in similar.values())
    found.append(Claim("Staircase and SCDF perform similarly", f"their errors differ by a factor {off:.2f} at most", off < 1.5))
    setting, ratio = worst(ratios(rows, "hush", "HM"))
    found.append(
        Claim(
            "(hush) the default of hush is better than HM, for means and frequencies, in all settings",
            f"at worst its error is {ratio:.2f} of that of HM ({setting})",
            ratio < 1,
        )
    )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw error against epsilon, as the paper does."""
    names = dict.fromkeys((row["data"], row["target"]) for row in rows)
    panels = [(f"{data}: {target}", [r for r in rows if (r["data"], r["target"]) == (data, target)]) for data, target in names]
    return estimation.chart(rows, "epsilon", TITLE, panels)
