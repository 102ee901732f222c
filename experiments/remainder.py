"""What the excess of a training consists of: the noise of reports, or something that every training gets wrong.

    python -m experiments.remainder [--keep] [--processes 2]

hush trains TIMES times on the same people, each time with other random bits. Scores are linear in the weights, so the
mean of the scores of all trainings is the score of the mean weights, which have a TIMES-th of the variance. Near good
weights the excess from noise grows as the variance does. With E the mean excess of a training and M that of the mean
weights:

    E = rest + noise,   M = rest + noise/TIMES,   so   rest = (TIMES * M - E)/(TIMES - 1).

The rest has two causes: steps that end early, so that directions in which people hardly differ are not learnt, and
clipped gradients. More people or a better channel reduce noise; the rest falls only with a longer path, for which there
must be less noise.

The tasks are those of `experiments/made_up.py`, with 250,000 people. --keep writes docs/measured/remainder.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush
from experiments import made_up
from experiments.cached import Row, mean_and_error, watched
from experiments.targets import EPSILONS, MODELS, PENALTY, PEOPLE, clear, wrong
from hush.learn.matrices import feature_matrix

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).parent.parent / "docs" / "measured" / "remainder.json"
TIMES = 8


@dataclass(frozen=True)
class Job:
    """One training; with epsilon 0 it is without privacy."""

    model: str
    epsilon: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Work:
    """The people of a task: the first ones train, the others test."""

    task: made_up.Task
    people: int

    @property
    def truth(self) -> Array:
        """The classes of those who test."""
        return self.task.y[self.people :]

    def __call__(self, job: Job) -> Row:
        """Train, and return the scores of those who test, or the share that is wrong without privacy."""
        table, y = self.task.some(0, self.people)
        other, truth = self.task.some(self.people, len(self.task) - self.people)
        if job.epsilon:
            fitted = MODELS[job.model](
                job.epsilon, schema=self.task.schema, alpha=PENALTY, threads=1, progress=False,
                random_state=job.seed, ordered=self.task.ordered,
            ).fit(table, y)  # fmt: skip
            return {"scores": fitted.decision_function(other)}
        features = hush.Features(self.task.schema)
        weights = clear(job.model, feature_matrix(features, table), y)
        return {"error": wrong(feature_matrix(features, other), truth, *weights)}


def parted(scores: list[Array], truth: Array, base: float) -> Row:
    """Return the excess of trainings, with its standard error, and the part that their mean has too."""
    each = [float(np.mean(np.where(one > 0, 1, -1) != truth)) - base for one in scores]
    common = float(np.mean(np.where(np.mean(scores, axis=0) > 0, 1, -1) != truth)) - base
    value, stderr = mean_and_error(each)
    return {"value": value, "stderr": stderr, "rest": (len(each) * common - value) / (len(each) - 1)}


def measure(task: made_up.Task, people: int, epsilons: tuple[float, ...], times: int, processes: int) -> list[Row]:
    """Return the excess of both models on one task, and its parts."""
    work = Work(task, people)
    jobs = [Job(name) for name in MODELS]
    jobs += [Job(name, epsilon, seed) for name in MODELS for epsilon in epsilons for seed in range(times)]
    done = dict(watched(jobs, work, processes, task.name))
    rows = []
    for name in MODELS:
        for epsilon in sorted(epsilons):
            scores = [done[Job(name, epsilon, seed)]["scores"] for seed in range(times)]
            found = parted(scores, work.truth, done[Job(name)]["error"])
            rows.append({"data": task.name, "people": people, "model": name, "epsilon": epsilon, **found})
    return rows


def main() -> None:
    """Measure all tasks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    parser.add_argument("--processes", type=int, default=2, help="how many trainings run at once (2)")
    options = parser.parse_args()
    rows: list[Row] = []
    for make in made_up.TASKS.values():
        rows += measure(make(PEOPLE * 10 // 9), PEOPLE, EPSILONS, TIMES, options.processes)
        for row in rows[-len(MODELS) * len(EPSILONS) :]:
            print(*row.values(), flush=True)
    if options.keep:
        KEPT.write_text(json.dumps({"times": TIMES, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
