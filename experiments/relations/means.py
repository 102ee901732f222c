"""Income by education, one relation: margins of the groups, and coverage of the intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import hush
from experiments.relations import people
from experiments.reproduce.population import Population
from experiments.surveys import survey

NUMBER, GROUPS = "income", "education"


@dataclass(frozen=True)
class Means:
    """Surveys about the means of all groups."""

    data: str
    n: int
    epsilon: float
    runs: int
    singles: float = 0.0


@lru_cache(maxsize=8)
def design(epsilon: float, singles: float) -> hush.Plan:
    """Return the plan of one relation."""
    return hush.design(people.schema([GROUPS, NUMBER]), epsilon, relations=[(NUMBER, GROUPS)], singles=singles)


def truths(population: Population) -> list[float]:
    """Return the mean of every group."""
    groups, number = population.columns[GROUPS], population.columns[NUMBER]
    return [float(number[groups == index].mean(dtype=float)) for index in range(len(people.EDUCATION))]


def measured(job: Means, population: Population) -> dict[str, list[float]]:
    """Return for every group: the truth, the mean margin and standard error, the rmse, and the coverage."""
    rng = np.random.default_rng([job.runs, job.n, round(job.epsilon * 100), round(job.singles * 100)])
    truth = np.array(truths(population))
    margins, errors, squares, inside = [], [], [], []
    for _ in range(job.runs):
        sample = people.sample(population, [GROUPS, NUMBER], job.n, rng)
        tally = survey(design(job.epsilon, job.singles), sample, rng)
        rows = hush.means(tally, NUMBER, by=GROUPS)
        margins.append([(row.high - row.low) / 2 for row in rows])
        errors.append([row.stderr for row in rows])
        squares.append([(row.point - mean) ** 2 for row, mean in zip(rows, truth, strict=True)])
        inside.append([row.low <= mean <= row.high for row, mean in zip(rows, truth, strict=True)])
    return {
        "truth": truth.tolist(),
        "margin": np.median(margins, 0).tolist(),
        "stderr": np.median(errors, 0).tolist(),
        "rmse": np.sqrt(np.mean(squares, 0)).tolist(),
        "coverage": np.mean(inside, 0).tolist(),
    }
