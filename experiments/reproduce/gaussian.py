"""Sixteen numbers, each from a Gaussian that is cut at -1 and 1, around four means."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import estimation, populations
from experiments.reproduce.estimation import as_expected, both_outperform, outperforms, ratios
from experiments.reproduce.frame import Bench, Claim, Row

TITLE = "Sixteen Gaussian numbers"
PAPER = "Figure 5"
MEANS = {"mean 0": 0.0, "mean 1/3": 1 / 3, "mean 2/3": 2 / 3, "mean 1": 1.0}
PEOPLE = 200_000


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method for each mean."""
    return errors_of(bench, TITLE, {name: populations.gaussian(mean) for name, mean in MEANS.items()})


def errors_of(bench: Bench, title: str, ways: dict[str, Any]) -> list[Row]:
    """Return the errors of every method on people with independent numbers."""
    people = min(PEOPLE, bench.settings.people)
    rows: list[Row] = []
    for name, draw_numbers in ways.items():
        population = populations.numbers_of(bench, name, draw_numbers, people)
        rows += estimation.surveyed(bench, f"{title}: {name}", population, bench.settings.epsilons)
    return [row for row in rows if row["target"] == "numeric"]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    gaps = {
        epsilon: [ratio.best for ratio in ratios([r for r in rows if r["epsilon"] == epsilon], "HM", "Duchi")]
        for epsilon in {row["epsilon"] for row in rows}
    }
    first, last = min(gaps), max(gaps)
    before, after = (sum(gaps[epsilon]) / len(gaps[epsilon]) for epsilon in (first, last))
    both = ratios(rows, "PM", "HM")
    most = max(max(ratio.best, 1 / ratio.best) for ratio in both)
    better = sum(ratio.below() is True for ratio in both)
    worse = sum(ratio.below() is False for ratio in both)
    return [
        *both_outperform("{} outperforms Duchi et al.'s solution in all settings", rows, ("Duchi",)),
        Claim(
            "the gap to Duchi et al. expands with epsilon",
            f"HM's error is {before:.2f} of Duchi's at epsilon {first:g}, {after:.2f} at {last:g}, on average",
            after < before,
        ),
        Claim("the difference between PM and HM is small", f"a factor {most:.2f} at most", most < 2),
        Claim(
            "either of PM and HM can be the better one, depending on the setting",
            f"PM is better in {better} and worse in {worse} of {len(both)} settings",
            True if better and worse else None,
        ),
        outperforms("(hush) the default of hush is better than HM", rows, "hush", ("HM",)),
        as_expected(rows),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw error against epsilon, a panel for each mean."""
    names = dict.fromkeys(row["data"] for row in rows)
    return estimation.chart("epsilon", TITLE, {name: [r for r in rows if r["data"] == name] for name in names})
