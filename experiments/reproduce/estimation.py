"""Means and frequencies by every method: how the paper composes them, and how far each is off.

The paper's rivals split the budget: of d attributes each number or category gets epsilon/d, and Duchi et al.'s
mechanism for several numbers d_n epsilon/d for all of them. Its own methods ask each person about k of d attributes.
The error is the mean squared error of means on [-1, 1], and of frequencies, over attributes and values; with its
standard error over runs, in which the same people are asked anew. Beside it stands what the exact channels let expect,
which has no noise: verdicts are about that, and a claim of its own is that the runs agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import hush
from experiments.reproduce import charts
from experiments.reproduce.expectation import expected
from experiments.reproduce.frame import Bench, Claim, Row, mean_and_error
from experiments.reproduce.population import Population
from hush import batch
from hush.server.estimates import unbounded

SPLIT: dict[str, Any] = {"categorical": "oue", "k": "all"}
PAPER: dict[str, Any] = {"categorical": "oue", "k": "paper"}
METHODS: dict[str, dict[str, Any]] = {
    "Laplace": {"numeric": "laplace", **SPLIT},
    "SCDF": {"numeric": "scdf", **SPLIT},
    "Staircase": {"numeric": "staircase", **SPLIT},
    "Duchi": {"numeric": "duchi-multi", **SPLIT},
    "PM": {"numeric": "piecewise", **PAPER},
    "HM": {"numeric": "hybrid", **PAPER},
    "hush": {},
}
RIVALS = ("Laplace", "SCDF", "Staircase", "Duchi")
PROPOSED = ("PM", "HM")
TARGETS = ("numeric", "categorical")
CHUNK = 10  # runs of one job
SURPRISE = 6.0  # standard errors; beyond it runs do not have the errors that are expected
MANY = 50  # runs


@dataclass(frozen=True)
class Survey:
    """Some runs of one survey."""

    data: str
    method: str
    epsilon: float
    people: int
    attributes: int
    start: int
    runs: int


def surveys(bench: Bench, data: str, epsilons: tuple[float, ...], people: int, attributes: int) -> list[Survey]:
    """Return the runs of every method, in jobs."""
    runs = bench.settings.runs
    return [
        Survey(data, method, epsilon, people, attributes, start, min(CHUNK, runs - start))
        for start in range(0, runs, CHUNK)
        for epsilon in epsilons
        for method in METHODS
    ]


def surveyed(bench: Bench, what: str, population: Population, epsilons: tuple[float, ...]) -> list[Row]:
    """Ask these people by every method, and return the errors."""
    jobs = surveys(bench, population.name, epsilons, len(population), len(population.schema))
    return rows_of(population, bench.run(what, jobs, partial(errors, population)))


def plan_of(population: Population, method: str, epsilon: float) -> hush.Plan:
    """Return the plan of a method."""
    return hush.design(population.schema, epsilon, **METHODS[method])


def estimator_of(method: str) -> Any:
    """Return the estimator of a method."""
    return "ratio" if method == "hush" else "paper"


def errors(population: Population, survey: Survey) -> dict[str, list[float]]:
    """Return the mean squared errors of each run: of means, and of frequencies."""
    plan = plan_of(population, survey.method, survey.epsilon)
    estimator = estimator_of(survey.method)
    truth = population.truth()
    found: dict[str, list[float]] = {target: [] for target in TARGETS}
    for _ in range(survey.runs):
        tally = batch.collect(plan, population.columns, threads=1)
        for target, value in mean_squares(population, truth, unbounded(tally, estimator)).items():
            found[target].append(value)
    return found


def mean_squares(
    population: Population, truth: dict[tuple[str, Any], float], estimates: list[hush.Estimate]
) -> dict[str, float]:
    """Return the mean squared error of estimates: of means on [-1, 1], and of frequencies."""
    squares: dict[str, list[float]] = {target: [] for target in TARGETS}
    for row in estimates:
        attribute = population.schema[row.attribute]
        scale = 2 / (attribute.high - attribute.low) if isinstance(attribute, hush.Numeric) else 1.0
        target = "numeric" if isinstance(attribute, hush.Numeric) else "categorical"
        squares[target].append(((row.point - truth[row.attribute, row.category]) * scale) ** 2)
    return {target: float(np.mean(values)) for target, values in squares.items() if values}


def rows_of(population: Population, results: dict[Survey, dict[str, list[float]]]) -> list[Row]:
    """Return the errors of each method and epsilon, averaged over all runs, and those to be expected."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for survey, found in results.items():
        for target, values in found.items():
            where = (survey.data, target, survey.epsilon, survey.people, survey.attributes, survey.method)
            groups.setdefault(where, []).extend(values)
    rows = []
    theory = {
        (method, epsilon): expected(population, plan_of(population, method, epsilon), estimator_of(method))
        for method, epsilon in {(survey.method, survey.epsilon) for survey in results}
    }
    for (data, target, epsilon, people, attributes, method), values in groups.items():
        if values:
            mse, stderr = mean_and_error(values)
            rows.append(
                {
                    "data": data,
                    "target": target,
                    "epsilon": epsilon,
                    "people": people,
                    "attributes": attributes,
                    "method": method,
                    "mse": mse,
                    "stderr": stderr,
                    "runs": len(values),
                    "expected": theory[method, epsilon][target],
                }
            )
    order = [*METHODS]
    return sorted(
        rows,
        key=lambda r: (r["data"], r["target"], r["epsilon"], r["people"], r["attributes"], order.index(r["method"])),
    )


@dataclass(frozen=True)
class Ratio:
    """The error of one method over that of another, in one setting, with its standard error.

    `exact`: what it is without noise, if the channels tell.
    """

    value: float
    error: float
    rival: str
    setting: str
    exact: float | None = None

    def __str__(self) -> str:
        measured = f"{self.value:.2f} ± {self.error:.2f}"
        if self.exact is not None:
            measured = f"{self.exact:.3f} (in the runs {measured})"
        return f"{measured} of that of {self.rival} ({self.setting})"

    @property
    def best(self) -> float:
        """The exact value, if there is one, or that of the runs."""
        return self.value if self.exact is None else self.exact

    def below(self, limit: float = 1.0) -> bool | None:
        """Return whether it is below a limit: exactly, or by three standard errors; None if that cannot be said."""
        if self.exact is not None:
            return self.exact < limit
        if abs(self.value - limit) < 3 * self.error:
            return None
        return self.value < limit


def ratios(rows: list[Row], method: str, rival: str, target: str | None = None) -> list[Ratio]:
    """Return the error of one method over that of another, in every setting."""
    kept = [row for row in rows if target in (None, row["target"])]
    at = {_setting(row): row for row in kept if row["method"] == rival}
    found = []
    for row in kept:
        if row["method"] == method:
            base = at[_setting(row)]
            value = row["mse"] / base["mse"]
            parts = [(r["stderr"] or r["mse"]) / r["mse"] for r in (row, base)]
            exact = row["expected"] / base["expected"] if "expected" in row else None
            found.append(Ratio(value, value * math.hypot(*parts), rival, _setting(row), exact))
    return found


def _setting(row: Row) -> str:
    return (
        f"{row['data']}, {row['target']}, epsilon {row['epsilon']:g}, {row['people']:,} people, "
        f"{row['attributes']} attributes"
    )


def outperforms(text: str, rows: list[Row], method: str, rivals: Sequence[str], target: str | None = None) -> Claim:
    """Return the claim that a method has a smaller error than its rivals in all settings."""
    return judged(text, [ratio for rival in rivals for ratio in ratios(rows, method, rival, target)])


def judged(text: str, found: list[Ratio]) -> Claim:
    """Return the claim that all ratios are below 1."""
    worst = max(found, key=lambda ratio: ratio.best)
    lost = [ratio for ratio in found if ratio.below() is False]
    holds = False if lost else None if any(ratio.below() is None for ratio in found) else True
    why = f"It is worse in {len(lost)} of {len(found)} comparisons" if lost else ""
    return Claim(text, f"at worst its error is {worst}", holds, why)


def as_expected(rows: list[Row]) -> Claim:
    """Return the claim that the runs have the errors that the exact channels let expect.

    Each is an average over the runs and so, if there are many, nearly normal: one of a hundred being further off than
    SURPRISE by chance has a probability of about 1e-6. With few runs it stays open.
    """
    off = {_setting(row): abs(row["mse"] - row["expected"]) / row["stderr"] for row in rows if row["stderr"]}
    worst = max(off, key=lambda setting: off[setting], default="")
    ratios_ = [row["mse"] / row["expected"] for row in rows]
    return Claim(
        "(hush) errors are those that the exact channels let expect",
        f"{min(ratios_):.2f} to {max(ratios_):.2f} times them; at most {off.get(worst, 0.0):.1f} standard errors off",
        None if min(row["runs"] for row in rows) < MANY else off[worst] < SURPRISE,
    )


def both_outperform(text: str, rows: list[Row], rivals: Sequence[str], target: str | None = None) -> list[Claim]:
    """Return the claim, of each of the paper's methods, that it has a smaller error than its rivals in all settings."""
    return [outperforms(text.format(method), rows, method, rivals, target) for method in PROPOSED]


def chart(x: str, title: str, panels: dict[str, list[Row]]) -> Any:
    """Draw errors against epsilon, people or attributes: a panel for each list of rows."""
    names = (x, "mean squared error")
    columns = 4 if len(panels) == 4 else 2
    return charts.lines(
        panels, title, x, "mse", "method", names=names, order=[*METHODS], log=(x != "attributes", True), columns=columns
    )
