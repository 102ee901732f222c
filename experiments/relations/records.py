"""Made-up records: how like people they are, and how well a classifier that learns from them knows people.

The classifier (logistic regression) says from nine attributes whether a person's income is above 35,000. Its accuracy
is measured on people who answered nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

import hush
from experiments.relations import people
from experiments.relations.tables import NAMES, design
from experiments.reproduce.population import Array, Population
from experiments.surveys import survey

MADE = 60_000
TESTED = 100_000
ORDERS = (1, 2, 3)
SIZES = list(people.CATEGORIES.values())


@dataclass(frozen=True)
class Records:
    """One survey about all tables, and records made up from it."""

    data: str
    n: int
    epsilon: float
    run: int


def table(codes: Array, places: tuple[int, ...]) -> Array:
    """Return the shares of all combinations of some attributes' values."""
    cells = np.zeros(codes.shape[1], np.int64)
    for place in places:
        cells = cells * SIZES[place] + codes[place]
    return np.asarray(np.bincount(cells, minlength=prod(SIZES[place] for place in places)) / codes.shape[1])


Truth = dict[tuple[int, ...], Array]


def truths(codes: Array) -> Truth:
    """Return all tables of one, two and three attributes of everybody."""
    return {some: table(codes, some) for order in ORDERS for some in combinations(range(len(NAMES)), order)}


def variation(codes: Array, truth: Truth, order: int) -> float:
    """Return the average total variation of all tables of so many attributes."""
    found = [np.abs(table(codes, some) - known).sum() / 2 for some, known in truth.items() if len(some) == order]
    return float(np.mean(found))


def accuracy(learnt: Array, tested: Array) -> float:
    """Return how often a classifier that learnt from some records is right about others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder

    target = NAMES.index(people.TARGET)
    others = [place for place in range(len(NAMES)) if place != target]
    encoder = OneHotEncoder(categories=[range(SIZES[place]) for place in others], drop="first")
    model = LogisticRegression(max_iter=300)
    model.fit(encoder.fit_transform(learnt[others].T), learnt[target] >= people.ABOVE)
    return float(model.score(encoder.transform(tested[others].T), tested[target] >= people.ABOVE))


def coded(population: Population) -> Array:
    """Return the categories of everybody as indexes."""
    return np.stack([population.columns[name] for name in NAMES])


def measured(job: Records, population: Population, codes: Array, truth: Truth) -> dict[str, float]:
    """Return total variations and accuracies: of made-up records, of as many people, and of shuffled columns."""
    rng = np.random.default_rng([job.run, job.n, round(job.epsilon * 100)])
    tested = codes[:, rng.integers(0, codes.shape[1], TESTED)]
    real = codes[:, rng.integers(0, codes.shape[1], MADE)]
    alone = np.stack([rng.permutation(column) for column in real])
    tally = survey(design(job.epsilon, 0.0), people.sample(population, NAMES, job.n, rng), rng)
    made = hush.synthesise(tally, MADE, seed=job.run)
    records = np.stack([made[name].to_numpy() for name in NAMES])
    found: dict[str, float] = {}
    for name, some in (("made up", records), ("people", real), ("independent", alone)):
        for order in ORDERS:
            found[f"{name}, {order}"] = variation(some, truth, order)
        found[f"{name}, accuracy"] = accuracy(some, tested)
    return found
