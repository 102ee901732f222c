"""The same reports read twice: by the paper's estimator, and by the ratio estimator of hush.

The paper divides the sum of reports about an attribute by n k/d, the number of people who were to be asked; hush by the
number who were. The further a mean is from the middle of the domain, the more that matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import hush
from experiments.reproduce import charts, estimation, populations
from experiments.reproduce.estimation import CHUNK
from experiments.reproduce.frame import Bench, Claim, Row, mean_and_error, worst
from experiments.reproduce.population import Population
from experiments.reproduce.populations import census_of
from hush import batch
from hush.server.estimates import unbounded

TITLE = "The same reports, two estimators"
PAPER = "beyond"
METHOD = "HM"
PEOPLE = 100_000
MEANS = {"Gaussian, mean 0": 0.0, "Gaussian, mean 2/3": 2 / 3}
ESTIMATORS = ("paper", "ratio")
NOISE = 3.0  # standard errors


@dataclass(frozen=True)
class Reading:
    """Some surveys, each read by both estimators."""

    data: str
    epsilon: float
    people: int
    start: int
    runs: int


def readings(population: Population, job: Reading) -> dict[str, dict[str, list[float]]]:
    """Return the mean squared errors of each run, by target and estimator."""
    plan = hush.design(population.schema, job.epsilon, **estimation.METHODS[METHOD])
    truth = population.truth()
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(job.runs):
        tally = batch.collect(plan, population.columns, threads=1)
        for estimator in ESTIMATORS:
            estimates = unbounded(tally, estimator)  # type: ignore[arg-type]
            for target, value in estimation.mean_squares(population, truth, estimates).items():
                found.setdefault(target, {name: [] for name in ESTIMATORS})[estimator].append(value)
    return found


def compute(bench: Bench) -> list[Row]:
    """Return the errors of both estimators on numbers around two means, and on a census."""
    people = min(PEOPLE, bench.settings.people)
    rows: list[Row] = []
    for name, mean in MEANS.items():
        rows += _rows(bench, populations.numbers_of(bench, name, populations.gaussian(mean), people))
    return rows + _rows(bench, census_of(bench, "BR", people))


def _rows(bench: Bench, population: Population) -> list[Row]:
    jobs = [
        Reading(population.name, epsilon, len(population), start, min(CHUNK, bench.settings.runs - start))
        for start in range(0, bench.settings.runs, CHUNK)
        for epsilon in bench.settings.epsilons
    ]
    done = bench.run(f"{TITLE}: {population.name}", jobs, partial(readings, population))
    rows = []
    for epsilon in bench.settings.epsilons:
        parts = [done[job] for job in jobs if job.epsilon == epsilon]
        for target in parts[0]:
            values = {name: [v for part in parts for v in part[target][name]] for name in ESTIMATORS}
            # Both read the same reports, so it is their difference that has a small error.
            gain, spread = mean_and_error(a - b for a, b in zip(*values.values(), strict=True))
            for name in ESTIMATORS:
                mse, stderr = mean_and_error(values[name])
                rows.append(
                    {
                        "data": population.name,
                        "target": target,
                        "epsilon": epsilon,
                        "people": len(population),
                        "estimator": name,
                        "mse": mse,
                        "stderr": stderr,
                        "gain": gain,
                        "gain_stderr": spread,
                        "runs": len(values[name]),
                    }
                )
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of its estimator."""
    at = {(r["data"], r["target"], r["epsilon"], r["estimator"]): r for r in rows}
    over = {key[:3]: row["mse"] / at[(*key[:3], "paper")]["mse"] for key, row in at.items() if key[3] == "ratio"}
    named = {f"{data}, {target}, epsilon {e:g}": value for (data, target, e), value in over.items()}
    clear = {
        key: row["gain"] / row["gain_stderr"] for key, row in at.items() if key[3] == "ratio" and row["gain_stderr"]
    }
    lost = [key for key, z in clear.items() if z < -NOISE]
    setting, most = worst(named)
    best = min(named, key=lambda name: named[name])
    return [
        Claim(
            "(hush) the ratio estimator is nowhere worse than the paper's, beyond noise",
            f"clearly worse in {len(lost)} of {len(named)} settings; at worst {most:.3f} of its error ({setting})",
            not lost,
        ),
        Claim(
            "(hush) where means are far from the middle it halves the error, for free",
            f"{named[best]:.2f} of the error of the paper's estimator at best ({best})",
            named[best] < 0.5,
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw errors against epsilon, a panel for each population and target."""
    panels: dict[str, list[Row]] = {}
    for row in rows:
        panels.setdefault(f"{row['data']}: {row['target']}", []).append(row)
    return charts.lines(
        panels,
        TITLE,
        "epsilon",
        "mse",
        "estimator",
        names=("epsilon", "mean squared error"),
        order=ESTIMATORS,
        log=(True, True),
    )
