"""What the rule for the path of a training is worth, and each of its parts.

    python -m experiments.paths [--keep] [--processes 2]

The path (`hush.server.rules`) follows from public numbers. Here people train along the path of the rule, along half of
it and twice of it, and along paths without one of the two parts that make it longer: for short features, and for a
loss that starts flat. The tasks are those of `experiments/made_up.py`, with 250,000 people, `few` and `line` with
20,000 too. They are not the people on whom the rule was fixed. --keep writes docs/measured/paths.json.

Columns are excesses over the model without privacy: of the share of misclassified people, and on `line` of the squared
error as a part of the target's variance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush
from experiments import made_up
from experiments.cached import Row, mean_and_error, watched
from experiments.targets import EPSILONS, MODELS, PENALTY, PEOPLE, clear, wrong
from hush.learn.matrices import feature_matrix
from hush.learn.simulate import LinearRegression
from hush.server import rules

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).parent.parent / "docs" / "measured" / "paths.json"
TIMES = 6
TESTED = 50_000
SEED = 3  # of the people: the rule was fixed with others
PATHS: dict[str, dict[str, float]] = {
    "the rule": {},
    "half": {"PATH": rules.PATH / 2},
    "twice": {"PATH": rules.PATH * 2},
    "not for short features": {"FEW": 0.0},
    "not for a flat start": {"FLATTEST": 1.0},
}
FEWER = 20_000
CASES = (
    *((make, PEOPLE) for make in made_up.TASKS.values()),
    *((make, people) for make in (made_up.few, made_up.line) for people in (FEWER, PEOPLE)),
)


@contextmanager
def ruled(constants: dict[str, float]) -> Iterator[None]:
    """Change constants of the rules for a while."""
    before = {name: getattr(rules, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(rules, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(rules, name, value)


@dataclass(frozen=True)
class Job:
    """One training; with epsilon 0 it is without privacy."""

    model: str
    epsilon: float = 0.0
    path: str = "the rule"
    seed: int = 0


@dataclass(frozen=True)
class Work:
    """The people of a task: the first ones train, the others test."""

    task: made_up.Task
    people: int

    def __call__(self, job: Job) -> Row:
        """Train, and return the error of those who test."""
        table, y = self.task.some(0, self.people)
        other, truth = self.task.some(self.people, len(self.task) - self.people)
        if job.epsilon:
            with ruled(PATHS[job.path]):
                made = model(job.model)(
                    job.epsilon, schema=self.task.schema, alpha=PENALTY, threads=1, progress=False,
                    random_state=job.seed, ordered=self.task.ordered, **options(job.model),
                ).fit(table, y)  # fmt: skip
            if job.model == "linear":
                return {"error": off(made.predict(other), truth)}
            return {"error": float(np.mean(np.where(made.decision_function(other) > 0, 1, -1) != truth))}
        features = hush.Features(self.task.schema)
        x, unseen = feature_matrix(features, table), feature_matrix(features, other)
        if job.model == "linear":
            found, *_ = np.linalg.lstsq(_with_constant(x), y, rcond=None)
            return {"error": off(_with_constant(unseen) @ found, truth)}
        return {"error": wrong(unseen, truth, *clear(job.model, x, y))}


def _with_constant(x: Array) -> Array:
    return np.concatenate([x, np.ones((len(x), 1), x.dtype)], axis=1)


def off(found: Array, truth: Array) -> float:
    """Return the squared error of predictions as a part of the variance."""
    return float(np.mean((found - truth) ** 2) / np.var(truth))


def model(name: str) -> Any:
    """Return the estimator of a model."""
    return LinearRegression if name == "linear" else MODELS[name]


def options(name: str) -> dict[str, Any]:
    """Return what its estimator is told besides: a line is learnt by gradients, as the others are."""
    return {"method": "gradients"} if name == "linear" else {}


def measure(task: made_up.Task, people: int, epsilons: tuple[float, ...], times: int, processes: int) -> list[Row]:
    """Return the excess of all models of a task along all paths."""
    names = ["linear"] if task.name == "line" else list(MODELS)
    jobs = [Job(name) for name in names]
    jobs += [
        Job(name, epsilon, path, seed)
        for name in names for epsilon in epsilons for path in PATHS for seed in range(times)
    ]  # fmt: skip
    done = {job: row["error"] for job, row in watched(jobs, Work(task, people), processes, task.name)}
    rows = []
    for name in names:
        for epsilon in sorted(epsilons):
            row: Row = {"data": task.name, "people": people, "model": name, "epsilon": epsilon}
            for path in PATHS:
                found = [done[Job(name, epsilon, path, seed)] - done[Job(name)] for seed in range(times)]
                row[path] = dict(zip(("value", "stderr"), mean_and_error(found), strict=True))
            rows.append(row)
    return rows


def main() -> None:
    """Measure all tasks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    parser.add_argument("--processes", type=int, default=2, help="how many trainings run at once (2)")
    asked = parser.parse_args()
    rows: list[Row] = []
    for make, people in CASES:
        found = measure(make(people + TESTED, SEED), people, EPSILONS, TIMES, asked.processes)
        for row in found:
            values = [f"{path} {row[path]['value']:.4f} ({row[path]['stderr']:.4f})" for path in PATHS]
            print(row["data"], row["people"], row["model"], row["epsilon"], *values, sep="  ", flush=True)
        rows += found
    if asked.keep:
        KEPT.write_text(json.dumps({"times": TIMES, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
