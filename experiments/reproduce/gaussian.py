"""Sixteen numbers, each from a Gaussian that is cut at -1 and 1, around four means."""

from __future__ import annotations

from functools import partial
from typing import Any

from experiments.reproduce import estimation, populations
from experiments.reproduce.estimation import PROPOSED, ratios
from experiments.reproduce.frame import Bench, Claim, Row, worst
from experiments.reproduce.populations import NUMBERS

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
        jobs = estimation.surveys(bench, name, bench.settings.epsilons, people, NUMBERS)
        rows += estimation.rows_of(bench.run(f"{title}: {name}", jobs, partial(estimation.errors, population)))
    return [row for row in rows if row["target"] == "numeric"]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    found = []
    for method in PROPOSED:
        setting, ratio = worst(ratios(rows, method, "Duchi"))
        found.append(
            Claim(
                f"{method} outperforms Duchi et al.'s solution in all settings",
                f"at worst its error is {ratio:.2f} of Duchi's ({setting})",
                ratio < 1,
            )
        )
    gap = {
        epsilon: [v for r, v in _by_epsilon(rows, "HM", "Duchi") if r == epsilon] for epsilon in {r["epsilon"] for r in rows}
    }
    first, last = min(gap), max(gap)
    before, after = (sum(gap[e]) / len(gap[e]) for e in (first, last))
    found.append(
        Claim(
            "the gap to Duchi et al. expands slightly with epsilon",
            f"HM's error is {before:.2f} of Duchi's at epsilon {first:g}, {after:.2f} at {last:g}, averaged over panels",
            after < before,
        )
    )
    both = {**ratios(rows, "PM", "HM")}
    off = max(max(value, 1 / value) for value in both.values())
    found.append(Claim("the difference between PM and HM is small", f"a factor {off:.2f} at most", off < 1.6))
    better = {name for name, value in both.items() if value < 1}
    found.append(
        Claim(
            "either of PM and HM can be the better one, depending on the setting",
            f"PM is better in {len(better)} of {len(both)} settings",
            0 < len(better) < len(both),
        )
    )
    setting, ratio = worst(ratios(rows, "hush", "HM"))
    found.append(
        Claim("(hush) the default of hush is better than HM", f"at worst its error is {ratio:.2f} of HM's ({setting})", ratio < 1)
    )
    return found


def _by_epsilon(rows: list[Row], above: str, below: str) -> list[tuple[float, float]]:
    at = {(r["data"], r["epsilon"], r["method"]): r["mse"] for r in rows}
    return [(e, value / at[data, e, below]) for (data, e, method), value in at.items() if method == above]


def draw(rows: list[Row]) -> Any:
    """Draw error against epsilon, a panel for each mean."""
    names = dict.fromkeys(row["data"] for row in rows)
    return estimation.chart(rows, "epsilon", TITLE, [(name, [r for r in rows if r["data"] == name]) for name in names])
