"""Linear regression of few dimensions with known weights: gradients or sufficient statistics, and which hush takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from experiments.cached import Row, mean_and_error
from hush.learn.simulate import LinearRegression

REPETITIONS = 3


@dataclass(frozen=True)
class Few:
    """Linear regression of d features, of which the weights are known."""

    d: int
    epsilon: float
    people: int
    repetition: int

    @property
    def parameters(self) -> list[Any]:
        """All that the result depends on."""
        return ["few, 2", asdict(self)]


def jobs_of(dimensions: Sequence[int], people: Sequence[int]) -> list[Few]:
    """Return all trainings: with so many features each, of so many people each."""
    return [
        Few(d, epsilon, some, repetition)
        for some in people
        for repetition in range(REPETITIONS)
        for d in dimensions
        for epsilon in (1.0, 4.0)
    ]


def errors_of(job: Few) -> Row:
    """Return the excess of both ways over the true weights, and which one hush takes.

    Features are uniform in [-1, 1], or half of them mixtures of their own and a common one; the target is their sum by
    random weights and noise.
    """
    generator = np.random.default_rng([job.d, job.repetition])
    shares = np.where(generator.random(job.d) < 0.5, 0.6, 0.0)
    x = shares * generator.uniform(-1, 1, (job.people, 1))
    x += (1 - shares) * generator.uniform(-1, 1, (job.people, job.d))
    weights = generator.normal(0, 1, job.d)
    weights *= 0.35 / math.sqrt(float(np.mean(np.square(x @ weights))))
    signal = x @ weights
    y = np.clip(signal + generator.normal(0, 0.25, job.people), -1, 1)
    found: Row = {}
    for method in ("statistics", "gradients", "auto"):
        model = LinearRegression(
            job.epsilon, method=method, threads=1, progress=False, random_state=job.repetition
        ).fit(x, y)
        found[method] = float(np.mean(np.square(model.predict(x) - signal)))
    found["chosen"] = model.method_
    noise = model.outcomes_[0].noise
    assert noise is not None
    found["predicted"] = noise["gradients"] / noise["statistics"]
    return found


def summary(done: dict[Few, Row]) -> list[Row]:
    """Return the errors of both ways, by dimension."""
    groups: dict[tuple[int, float, int], list[Row]] = {}
    for job, found in done.items():
        groups.setdefault((job.people, job.epsilon, job.d), []).append(found)
    rows = []
    for (people, epsilon, d), members in sorted(groups.items()):
        row: Row = {"d": d, "epsilon": epsilon, "people": people}
        for way in ("statistics", "gradients"):
            row[way], row[f"{way}_stderr"] = mean_and_error([member[way] for member in members])
        row["chosen"] = max({m["chosen"] for m in members}, key=[m["chosen"] for m in members].count)
        # Where statistics are not considered at all there is no prediction.
        known = [math.log(m["predicted"]) for m in members if m["predicted"] > 0]
        row["predicted"] = float(np.exp(np.mean(known))) if known else None
        rows.append(row)
    return rows
