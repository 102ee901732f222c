"""Learning from randomised gradients: the paper's ways, hush's, and what each part of hush's is worth.

`make learning` runs it on synthetic people (`experiments/census.py`); `--data FOLDER` adds the real microdata of a
folder. Three models predict income, or whether it is above its mean, at epsilon 0.5 to 4. The error is the share of
misclassified people, and for linear regression the mean squared error of income scaled to [-1, 1]. People are
shuffled, a tenth is for testing, another tenth for each repetition; every method is given the same people. What counts
is the *excess*: the error minus that of a model trained on the same people without privacy, with the same L2 penalty.

A second part (`experiments/few_dimensions.py`) is linear regression of few dimensions.

Every result is kept in experiments/cache, by its parameters (`experiments/cached.py`). Means go to
experiments/results/learning.json, pictures to docs/images.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one process for each core instead

import numpy as np  # noqa: E402

from experiments import census, few_dimensions, privunit  # noqa: E402
from experiments.cached import Row, mean_and_error, run  # noqa: E402
from experiments.learning_charts import draw  # noqa: E402
from hush import Features  # noqa: E402
from hush.core.training.training import VECTOR, Training  # noqa: E402
from hush.learn.matrices import feature_matrix  # noqa: E402
from hush.learn.simulate import LinearRegression, LinearSVC, LogisticRegression  # noqa: E402

Array = np.ndarray[Any, Any]
Sample = tuple[census.Columns, Array]  # people: their columns, and their incomes

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results" / "learning.json"
IMAGES = ROOT / "docs" / "images"

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PENALTY = 1e-4
STEPS = 5e6  # of gradient descent in the clear, so that it has converged
TASKS: dict[str, type] = {
    "logistic": LogisticRegression,
    "svm": LinearSVC,
    "linear": LinearRegression,
    "linear, clipped": LinearRegression,
}
CLIPS = {"br_like": 720_000.0, "mx_like": 400_000.0}  # about 99 % of incomes are below
NONE = "non-private"
CONSTANT = "constant"  # the commoner class, or the mean, for everybody: who does worse has learnt nothing
CLEAR = (NONE, CONSTANT)
CLASSIFIERS = ("logistic", "svm")
UNCLIPPED = (*CLASSIFIERS, "linear")


# -- variants of hush's training that its estimators do not offer, to see which part of it gains what


class _StepsOfHush:
    """Coordinates as in the paper, but all of hush's training: pilot, constant steps by its rules, averaging."""

    def _planned(self, draft: Training, *rest: Any) -> Training:
        planned: Training = super()._planned(replace(draft, gradient=VECTOR), *rest)  # type: ignore[misc]
        return replace(planned, gradient=draft.gradient)


class _StepsOfThePaper:
    """hush's channel, but the paper's training: no pilot, steps of 1/sqrt(t), no averaging."""

    def _planned(self, draft: Training, *rest: Any) -> Training:
        planned: Training = super()._planned(draft, *rest)  # type: ignore[misc]
        return replace(planned, step=1.0, decay=True, tail=0.0)


def _mixed(mixin: type) -> Callable[[type], type]:
    return lambda model: type(model.__name__, (mixin, model), {})


@dataclass(frozen=True)
class Method:
    """A way to train: parameters of hush's estimator, or a variant of it."""

    options: dict[str, Any]
    variant: Callable[[type], type] | None = None
    tasks: tuple[str, ...] = UNCLIPPED
    people: int | None = None  # if there is no time for all
    repetitions: int | None = None


PAPER = {"gradient": "hybrid", "k": "paper"}
METHODS = {
    "Laplace": Method({"gradient": "laplace"}, people=50_000, repetitions=1),
    "Duchi": Method({"gradient": "duchi-multi"}),
    "PM": Method({"gradient": "piecewise", "k": "paper"}),
    "HM": Method(PAPER),
    "hush": Method({}),
    "PrivUnit": Method({}, privunit.by_privunit),
}
ABLATIONS = {
    "HM, the theorem's steps": Method(PAPER | {"step": "theorem"}, tasks=CLASSIFIERS),
    "HM, attributes selected": Method(PAPER | {"selection": (3, 5)}, tasks=CLASSIFIERS),
    "HM, projected to 30": Method(PAPER | {"projection": 30}, tasks=("linear",)),
    "hush, projected to 30": Method({"projection": 30}, tasks=("linear",)),
    "HM, pilot and averaging": Method(PAPER | {"pilot": 0.05, "tail": 0.5}),
    "HM, all of hush's training": Method(PAPER | {"pilot": 0.05, "tail": 0.5}, _mixed(_StepsOfHush)),
    "hush, the paper's training": Method({"pilot": 0.0}, _mixed(_StepsOfThePaper)),
    "hush, no pilot": Method({"pilot": 0.0}),
}
EVERYBODY = ("HM", "hush")  # also trained on all the people there are, at epsilon 1
BRIEF = ("mx_like",)  # everybody at epsilon 1 and no more: a full run is to take 20 minutes
ALL = METHODS | ABLATIONS


@dataclass(frozen=True)
class Settings:
    """How much is done."""

    synthetic: int = 4_000_000
    people: int = 250_000
    repetitions: int = 3
    epsilons: tuple[float, ...] = EPSILONS
    dimensions: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
    few: tuple[int, ...] = (5_000, 20_000)  # people of the second part: too few for a pilot, and enough


QUICK = Settings(60_000, 40_000, 2, (1.0, 4.0), (1, 3, 8, 20), (5_000,))


@dataclass(frozen=True)
class Job:
    """One training. `people` 0 is all that there are."""

    data: str
    population: int
    task: str
    method: str
    epsilon: float
    people: int
    repetition: int

    @property
    def parameters(self) -> list[Any]:
        """All that the result depends on."""
        return [asdict(self), {} if self.method in CLEAR else ALL[self.method].options]


def jobs_of(people: census.People, settings: Settings) -> list[Job]:
    """Return all trainings on a population, the most important first."""

    def job(task: str, method: str, epsilon: float, count: int, repetition: int) -> Job:
        return Job(people.name, len(people), task, method, epsilon, count, repetition)

    clipped = people.name not in census.SETS
    found = []
    for repetition in range(settings.repetitions):
        for task in TASKS if clipped else UNCLIPPED:
            found += [job(task, method, 0.0, 0, repetition) for method in CLEAR]
            found += [job(task, method, 1.0, 0, repetition) for method in EVERYBODY]
    if people.name in BRIEF:
        return found
    for repetition in range(settings.repetitions):
        found += [job(task, method, 0.0, settings.people, repetition) for task in UNCLIPPED for method in CLEAR]
    for methods, epsilons in ((METHODS, settings.epsilons), (ABLATIONS, (1.0,))):
        for repetition in range(settings.repetitions):
            for name, method in methods.items():
                if repetition < (method.repetitions or settings.repetitions):
                    count = min(method.people or settings.people, settings.people)
                    found += [job(task, name, e, count, repetition) for task in method.tasks for e in epsilons]
    return found


# -- one training


def dealt(people: census.People, job: Job) -> tuple[Sample, Sample]:
    """Return the people who train and those who test: of each the columns and income."""
    tests = len(people) // 10
    start = job.repetition * tests
    left = len(people) - tests
    return people.some((start + tests) % len(people), min(job.people or left, left)), people.some(start, tests)


def error_of(people: census.People, job: Job) -> float:
    """Train, and return the error on those who did not take part."""
    train, test = dealt(people, job)
    return error_on(people, job.task, job.method, job.epsilon, train, test, job.repetition)


def error_on(
    people: census.People, task: str, method: str, epsilon: float, training: Sample, testing: Sample, seed: int
) -> float:
    """Train on some people, and return the error on others. `seed` is that of the simulation."""
    (train, incomes), (test, truth) = training, testing
    low, high = people.bounds
    if task == "linear, clipped":
        high = people.clip
        incomes, truth = np.clip(incomes, low, high), np.clip(truth, low, high)
    if task in CLASSIFIERS:
        middle = people.income.mean()
        incomes, truth = np.where(incomes > middle, 1, -1), np.where(truth > middle, 1, -1)
    if method == CONSTANT:
        mean = incomes.mean()
        said = np.full(len(truth), np.sign(mean) if task in CLASSIFIERS else mean)
    elif method == NONE:
        said = _without_privacy(people, task, train, incomes, test, (low, high))
    else:
        way = ALL[method]
        model = TASKS[task] if way.variant is None else way.variant(TASKS[task])
        ends = {} if task in CLASSIFIERS else {"target_range": (low, high)}
        fitted = model(
            epsilon,
            schema=people.schema,
            alpha=PENALTY,
            threads=1,
            progress=False,
            random_state=seed,
            **ends,
            **way.options,
        ).fit(train, incomes)
        said = fitted.predict(test)
    if task in CLASSIFIERS:
        return float(np.mean(said != truth))
    return float(np.mean(np.square((said - truth) * (2 / (high - low)))))


def _without_privacy(
    people: census.People, task: str, train: Any, y: Array, test: Any, ends: tuple[float, float]
) -> Array:
    """Return what a model says that was trained in the clear, to convergence."""
    from sklearn import linear_model

    features = Features(people.schema)
    x, rows = feature_matrix(features, train), feature_matrix(features, test)
    if task == "logistic":
        clear: Any = linear_model.LogisticRegression(C=1 / (PENALTY * len(x)), solver="newton-cholesky")
        return np.asarray(clear.fit(x, y).predict(rows))
    if task == "svm":
        epochs = max(5, round(STEPS / len(x)))
        clear = linear_model.SGDClassifier(alpha=PENALTY, max_iter=epochs, tol=None, average=True, random_state=0)
        return np.asarray(clear.fit(x, y).predict(rows))
    low, half = ends[0], (ends[1] - ends[0]) / 2
    scaled = (y - low) / half - 1
    width = x.shape[1] + 1
    a, b = np.zeros((width, width)), np.zeros(width)
    for start in range(0, len(x), 1 << 17):
        part = _with_one(x[start : start + (1 << 17)])
        a += part.T @ part
        b += part.T @ scaled[start : start + (1 << 17)]
    weights = np.linalg.solve(2 * a / len(x) + PENALTY * np.eye(width), 2 * b / len(x))
    return np.asarray((_with_one(rows) @ weights + 1) * half + low)


def _with_one(x: Array) -> Array:
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


# -- all of it


def summary(done: dict[Job, Row]) -> list[Row]:
    """Return error and excess of each method, averaged over repetitions."""
    clear = {(j.data, j.task, j.people, j.repetition): row["error"] for j, row in done.items() if j.method == NONE}
    usual = max((j.people for j in done), default=0)
    groups: dict[tuple[Any, ...], list[tuple[Job, Row]]] = {}
    for job, row in done.items():
        groups.setdefault((job.data, job.task, job.people, job.method, job.epsilon), []).append((job, row))
    rows = []
    for (data, task, people, method, epsilon), members in groups.items():
        first = members[0][0]
        errors = [row["error"] for _, row in members]
        # Those who were given fewer people are compared with the same model as the others.
        base = [clear[data, task, people if people in (0, usual) else usual, job.repetition] for job, _ in members]
        error, spread = mean_and_error(errors)
        excess, excess_spread = mean_and_error([a - b for a, b in zip(errors, base, strict=True)])
        left = first.population - first.population // 10
        rows.append(
            {
                "data": data,
                "task": task,
                "people": min(people or left, left),
                "everybody": people == 0,
                "method": method,
                "epsilon": epsilon,
                "repetitions": len(members),
                "error": error,
                "stderr": spread,
                "excess": excess,
                "excess_stderr": excess_spread,
                "seconds": float(np.mean([row["seconds"] for _, row in members])),
            }
        )
    return rows


def verdicts(rows: list[Row]) -> list[Row]:
    """Return, for epsilon 1, the excess of hush over that of the paper's HM: at most a third is the goal."""
    at = {(r["data"], r["task"], r["everybody"], r["method"]): r for r in rows if r["epsilon"] == 1.0}
    found = []
    for (data, task, everybody, method), ours in at.items():
        rival = at.get((data, task, everybody, "HM"))
        if method == "hush" and rival is not None:
            ratio = ours["excess"] / rival["excess"] if rival["excess"] > 0 else math.inf
            found.append(
                {
                    "data": data,
                    "task": task,
                    "people": ours["people"],
                    "everybody": everybody,
                    "HM": rival["excess"],
                    "hush": ours["excess"],
                    "ratio": ratio,
                    "reached": ratio <= 1 / 3,
                }
            )
    return found


def compute(populations: Iterator[census.People], settings: Settings, processes: int) -> dict[str, Any]:
    """Return all numbers."""
    rows: list[Row] = []
    for people in populations:
        rows += summary(run(jobs_of(people, settings), partial(_work, people), processes, people.name))
    few = few_dimensions.jobs_of(settings.dimensions, settings.few)
    done = run(few, few_dimensions.errors_of, processes, "few dimensions")
    return {"rows": rows, "verdicts": verdicts(rows), "few": few_dimensions.summary(done)}


def _work(people: census.People, job: Job) -> Row:
    return {"error": error_of(people, job)}


def populations(settings: Settings, folder: Path | None) -> Iterator[census.People]:
    """Yield the people of a data folder, if there is one, then the synthetic."""
    if folder is not None:
        for name in census.SETS:
            yield census.microdata(folder, name, CLIPS[name])
    yield census.synthetic(settings.synthetic)


def main() -> None:
    """Compute, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--quick", action="store_true", help="few people, one or two minutes; writes nothing")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    settings = QUICK if options.quick else Settings()
    results = {
        "command": f"python -m experiments.learning{' --data FOLDER' * (options.data is not None)}",
        **compute(populations(settings, options.data), settings, options.processes),
    }
    if not options.quick:
        RESULTS.write_text(json.dumps(results, indent=0) + "\n", encoding="utf-8")
        draw(results, IMAGES, [*METHODS], UNCLIPPED, EPSILONS)
    for row in results["verdicts"]:
        sys.stdout.write(
            f"{row['data']}, {row['task']}, {row['people']} people: excess of HM {row['HM']:.4f}, of hush "
            f"{row['hush']:.4f}, ratio {row['ratio']:.2f}: {'reached' if row['reached'] else 'not reached'}\n"
        )


if __name__ == "__main__":
    main()
