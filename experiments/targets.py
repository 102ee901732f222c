"""The goal of a training: at most a third of the excess of the paper's HM, at epsilon 0.5, 1 and 2.

    python -m experiments.targets [--data FOLDER] [--everybody] [--only NAME,...] [--limits] [--processes 2]

Logistic regression and SVM on the three made-up tasks of `experiments/made_up.py`, and with a data folder on br_like,
mx_like and Adult: 250,000 people (Adult has fewer) and three repetitions, each with other people for training and a
tenth for testing. With --everybody also all people. hush has its defaults; the only thing it is told is which
categories are ordered. The excess is the share of misclassified people minus that of the same model without privacy,
on the same people.

**Limit.** Beside it stands the excess of weights with the least noise that any private protocol can leave, if it knows
nothing about the weights beforehand. `experiments/information.py` derives it. The row *limit* has the information that
a search finds, *certain* the most that people of any kind can give, which makes the excess smaller. Both rows are the
mean of DRAWS draws of noise on the weights of logistic regression without privacy. For an SVM, the errors of the SVM
without privacy are subtracted instead, so its limit is below zero where logistic regression misclassifies fewer.

Every result goes to docs/measured/training.json at once, the most important first. With --only NAME,... other tasks
keep their rows there, and with --limits all rows but the limits are kept.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from sklearn import linear_model  # noqa: E402

import hush  # noqa: E402
from experiments import census, information, made_up  # noqa: E402
from experiments.cached import Row, mean_and_error, watched  # noqa: E402
from hush.learn.matrices import feature_matrix  # noqa: E402
from hush.learn.simulate import LinearSVC, LogisticRegression  # noqa: E402

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).parent.parent / "docs" / "measured" / "training.json"
MODELS = {"logistic": LogisticRegression, "svm": LinearSVC}
METHODS: dict[str, dict[str, Any]] = {"HM": {"gradient": "hybrid", "k": "paper"}, "hush": {}}
EPSILONS = (1.0, 0.5, 2.0)
PEOPLE, REPETITIONS, PENALTY, DRAWS = 250_000, 3, 1e-4, 20
ORDERED = ("SCHL", "YRBLT")  # schooling, and the year in which a house was built
NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
CATEGORIES = (
    *("workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country", "education"),
)


def income(folder: Path, name: str) -> made_up.Task:
    """Return people of a column set: is their income above the mean?"""
    people = census.microdata(folder, name, 1.0)
    y = np.where(people.income > people.income.mean(), 1, -1)
    ordered = tuple(one for one in ORDERED if one in people.schema.names)
    return made_up.Task(name, people.schema, people.columns, y, ordered)


def adult(folder: Path) -> made_up.Task:
    """Return the people of Adult, shuffled. The bounds of numbers are those of the file, which are public."""
    import pyarrow as pa
    from pyarrow import csv

    raw = pa.input_stream(str(folder / "adult.csv.zst"), compression="zstd").read()
    table = csv.read_csv(io.BytesIO(raw), convert_options=csv.ConvertOptions(strings_can_be_null=False))
    order = np.random.default_rng(2019).permutation(table.num_rows)
    columns: dict[str, Array] = {}
    attributes: list[Any] = []
    for name in NUMBERS:
        columns[name] = table[name].to_numpy().astype(float)[order]
        attributes.append(hush.Numeric(name, columns[name].min(), columns[name].max()))
    for name in CATEGORIES:
        values, codes = np.unique(np.array(table[name].to_pylist(), dtype=str), return_inverse=True)
        columns[name] = codes[order]
        attributes.append(hush.Categorical(name, list(range(len(values)))))
    y = np.array([1 if value.startswith(">50") else -1 for value in table["income"].to_pylist()])[order]
    return made_up.Task("adult", hush.Schema(attributes), columns, y)


def tasks(folder: Path | None, people: int) -> dict[str, Callable[[], made_up.Task]]:
    """Return the makers of all tasks, by name."""
    makers: dict[str, Callable[[], made_up.Task]] = {
        name: lambda make=make: make(people)  # type: ignore[misc]
        for name, make in made_up.TASKS.items()
    }
    if folder is not None:
        makers["adult"] = lambda: adult(folder)
        for name in census.SETS:
            makers[name] = lambda name=name: income(folder, name)  # type: ignore[misc]
    return makers


def clear(task: str, x: Array, y: Array) -> tuple[Array, float]:
    """Return coefficients and intercept of a model without privacy."""
    model: Any = linear_model.LogisticRegression(C=1 / (PENALTY * len(x)), solver="newton-cholesky")
    if task == "svm":
        model = linear_model.SGDClassifier(alpha=PENALTY, max_iter=10, tol=None, average=True, random_state=0)
    model.fit(x, y)
    return model.coef_[0], float(model.intercept_[0])


def wrong(x: Array, y: Array, coefficients: Array, intercept: float) -> float:
    """Return the share of misclassified people."""
    return float(np.mean(np.where(x @ coefficients.astype(np.float32) + np.float32(intercept) > 0, 1, -1) != y))


def at_the_limit(
    x: Array, test: tuple[Array, Array], weights: tuple[Array, float], epsilon: float, seed: int
) -> dict[str, Any]:
    """Return the mean errors of weights with the noise of the limit and of the certain one, and what starts found."""
    centre = x.mean(0).astype(np.float64)
    some = x[: information.PEOPLE] - centre
    values, vectors = np.linalg.eigh(some.T @ some / len(some))
    useful = values > 1e-6
    turn = vectors[:, useful] / np.sqrt(values[useful])  # (x - centre) @ turn is white
    coefficients, intercept = weights
    chances = 1 / (1 + np.exp(-(some @ coefficients + centre @ coefficients + intercept)))
    model = information.Model.of(np.concatenate([some @ turn, np.ones((len(some), 1))], axis=1), chances)
    starts = model.search(epsilon)
    errors: dict[str, Any] = {"starts": starts}
    for name, most in (("limit", max(starts.values())), ("certain", information.certain(epsilon, model.d))):
        generator = np.random.default_rng([1, seed])
        drawn = []
        for _ in range(DRAWS):
            off = model.noise(most, len(x), generator)
            more = turn @ off[:-1]
            drawn.append(wrong(*test, coefficients + more, intercept + off[-1] - centre @ more))
        errors[name] = float(np.mean(drawn))
    return errors


@dataclass(frozen=True)
class Job:
    """One training; with the method "clear" it is without privacy, and logistic regression has its limits beside it."""

    repetition: int
    model: str
    method: str = "clear"
    epsilon: float = 0.0


@dataclass(frozen=True)
class Work:
    """The people of a task, and the epsilons that limits are for."""

    task: made_up.Task
    people: int | None
    epsilons: tuple[float, ...]

    @property
    def count(self) -> int:
        """The people who train."""
        rest = len(self.task) - len(self.task) // 10
        return min(self.people or rest, rest)

    def __call__(self, job: Job) -> Row:
        """Train, and return the share of misclassified people."""
        tests = len(self.task) // 10
        table, y = self.task.some(job.repetition * tests + tests, self.count)
        other, truth = self.task.some(job.repetition * tests, tests)
        if job.method != "clear":
            more: dict[str, Any] = {"ordered": self.task.ordered} if job.method == "hush" else {}
            fitted = MODELS[job.model](
                job.epsilon, schema=self.task.schema, alpha=PENALTY, threads=1, progress=False,
                random_state=job.repetition, **METHODS[job.method], **more,
            ).fit(table, y)  # fmt: skip
            return {"error": float(np.mean(fitted.predict(other) != truth))}
        features = hush.Features(self.task.schema)
        x, rows = feature_matrix(features, table), feature_matrix(features, other)
        weights = clear(job.model, x, y)
        limits = [
            at_the_limit(x, (rows, truth), weights, epsilon, job.repetition)
            for epsilon in self.epsilons
            if job.model == "logistic"
        ]
        return {"error": wrong(rows, truth, *weights), "limits": limits}


def measure(
    task: made_up.Task,
    epsilons: tuple[float, ...],
    people: int | None,
    repetitions: int = REPETITIONS,
    methods: tuple[str, ...] = tuple(METHODS),
    processes: int = 1,
) -> list[Row]:
    """Return errors of both models and of methods on one task; without methods, the limits alone."""
    work = Work(task, people, epsilons)
    times = range(repetitions)
    jobs = [Job(repetition, name) for repetition in times for name in MODELS]
    jobs += [
        Job(repetition, name, method, epsilon)
        for repetition in times for name in MODELS for epsilon in epsilons for method in methods
    ]  # fmt: skip
    found = dict(watched(jobs, work, processes, task.name))
    results: list[Row] = []

    def keep(name: str, method: str, epsilon: float, values: list[float], **more: Any) -> None:
        mean, error = mean_and_error(values)
        results.append(
            {
                "data": task.name, "people": work.count, "model": name, "method": method, "epsilon": epsilon,
                "value": mean, "stderr": error, "repetitions": repetitions, **more,
            }
        )  # fmt: skip

    for name in MODELS:
        bases = [found[Job(repetition, name)]["error"] for repetition in times]
        if methods:
            keep(name, "clear", 0.0, bases)
        for index, epsilon in enumerate(epsilons):
            for method in methods:
                errors = [found[Job(repetition, name, method, epsilon)]["error"] for repetition in times]
                keep(name, method, epsilon, [error - base for error, base in zip(errors, bases, strict=True)])
            limits = [found[Job(repetition, "logistic")]["limits"][index] for repetition in times]
            starts = {kind: [one["starts"][kind] for one in limits] for kind in limits[0]["starts"]}
            for method in ("limit", "certain"):
                excess = [one[method] - base for one, base in zip(limits, bases, strict=True)]
                more = {"starts": starts} if (name, method) == ("logistic", "limit") else {}
                keep(name, method, epsilon, excess, **more)
    return results


def merged(rows: list[Row], more: list[Row]) -> list[Row]:
    """Return rows with others in the place of those that they measure again, or behind them."""
    at = {tuple(row[part] for part in ("data", "people", "model", "method", "epsilon")): row for row in rows}
    for row in more:
        at[tuple(row[part] for part in ("data", "people", "model", "method", "epsilon"))] = row
    return [*at.values()]


def main() -> None:
    """Measure, and keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--everybody", action="store_true", help="all people too")
    parser.add_argument("--only", help="names of tasks, with commas between them; others keep their rows")
    parser.add_argument("--limits", action="store_true", help="the limits alone; all other rows are kept")
    parser.add_argument("--processes", type=int, default=2, help="how many trainings run at once (2)")
    options = parser.parse_args()
    names = [*tasks(options.data, 0)]
    chosen = names if options.only is None else options.only.split(",")
    if not set(chosen) <= set(names):
        parser.error(f"--only takes names among {', '.join(names)}")
    rows: list[Row] = []
    if options.only or options.limits:
        rows = json.loads(KEPT.read_text(encoding="utf-8"))

    def run(task: made_up.Task, epsilons: tuple[float, ...], people: int | None) -> None:
        nonlocal rows
        methods = () if options.limits else tuple(METHODS)
        more = measure(task, epsilons, people, methods=methods, processes=options.processes)
        rows = merged(rows, more)
        KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        for row in more:
            print(*row.values(), flush=True)

    for epsilons in (EPSILONS,) if options.limits else (EPSILONS[:1], EPSILONS[1:]):
        for name, make in tasks(options.data, PEOPLE * 10 // 9 + 10).items():
            if name in chosen:
                run(make(), epsilons, PEOPLE)
    if options.everybody:
        for name, make in tasks(options.data, 1_000_000).items():
            if name in chosen:
                task = make()
                if len(task) - len(task) // 10 > PEOPLE:
                    run(task, EPSILONS, None)


if __name__ == "__main__":
    main()
