"""The goal of a training: at most a third of the excess of the paper's HM, at epsilon 0.5, 1 and 2.

    python -m experiments.targets [--data FOLDER] [--everybody]

Logistic regression and SVM on the three made-up tasks of `experiments/made_up.py`, and with a data folder on br_like,
mx_like and Adult: 250,000 people (Adult has fewer) and three repetitions, each with other people for training and a
tenth for testing. With --everybody also all people, once. hush has its defaults; the only thing it is told is
which categories are ordered. The excess is the share of misclassified people minus that of the same model without
privacy, on the same people.

**Limit.** Beside it stands the excess at the asymptotic limit of private M-estimation by this channel: the weights
without privacy plus noise with the covariance c R^2/n H^-2, for features that were whitened without cost, no pilot, and
R = 0.7 * 0.5 * sqrt(d). No path is cut short there, so with few people it is worse than a training that stops early.

Every result goes to docs/measured/training.json at once, the most important first.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from sklearn import linear_model  # noqa: E402

import hush  # noqa: E402
from experiments import census, made_up  # noqa: E402
from experiments.cached import mean_and_error  # noqa: E402
from hush.core.design.directions import noise_of  # noqa: E402
from hush.learn.matrices import feature_matrix  # noqa: E402
from hush.learn.simulate import LinearSVC, LogisticRegression  # noqa: E402

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).parent.parent / "docs" / "measured" / "training.json"
MODELS = {"logistic": LogisticRegression, "svm": LinearSVC}
METHODS: dict[str, dict[str, Any]] = {"HM": {"gradient": "hybrid", "k": "paper"}, "hush": {}}
EPSILONS = (1.0, 0.5, 2.0)
PEOPLE, REPETITIONS, PENALTY, DRAWS = 250_000, 3, 1e-4, 5
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


def tasks(folder: Path | None, people: int) -> Iterator[Callable[[], made_up.Task]]:
    """Yield the makers of all tasks."""
    for make in made_up.TASKS.values():
        yield lambda make=make: make(people)  # type: ignore[misc]
    if folder is not None:
        yield lambda: adult(folder)
        for name in census.SETS:
            yield lambda name=name: income(folder, name)  # type: ignore[misc]


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


def at_the_limit(x: Array, test: tuple[Array, Array], weights: tuple[Array, float], epsilon: float) -> float:
    """Return the mean error of weights with the least noise that unbiased private steps can leave, on DRAWS draws."""
    centre = x.mean(0).astype(np.float64)
    some = x[:50_000] - centre
    values, vectors = np.linalg.eigh(some.T @ some / len(some))
    useful = values > 1e-6
    turn = vectors[:, useful] / np.sqrt(values[useful])  # z = (x - centre) @ turn is white
    z = np.concatenate([some @ turn, np.ones((len(some), 1))], axis=1)
    coefficients, intercept = weights
    chances = 1 / (1 + np.exp(-(some @ coefficients + centre @ coefficients + intercept)))
    hessian = (z * (chances * (1 - chances))[:, None]).T @ z / len(z)
    d = z.shape[1]
    spread = 0.35 * math.sqrt(d) * math.sqrt(noise_of(epsilon, d) / len(x))
    generator, found = np.random.default_rng(1), []
    for _ in range(DRAWS):
        off = np.linalg.solve(hessian, spread * generator.normal(0, 1, d))
        more = turn @ off[:-1]
        found.append(wrong(*test, coefficients + more, intercept + off[-1] - centre @ more))
    return float(np.mean(found))


def measure(
    task: made_up.Task, epsilons: tuple[float, ...], people: int | None, repetitions: int
) -> list[dict[str, Any]]:
    """Return errors of both models and methods on one task."""
    tests = len(task) // 10
    count = min(people or len(task), len(task) - tests)
    features = hush.Features(task.schema)
    errors: dict[tuple[str, str, float], list[float]] = {}
    for repetition in range(repetitions):
        table, y = task.some(repetition * tests + tests, count)
        other, truth = task.some(repetition * tests, tests)
        x, rows = feature_matrix(features, table), feature_matrix(features, other)
        for name, model in MODELS.items():
            weights = clear(name, x, y)
            base = wrong(rows, truth, *weights)
            errors.setdefault((name, "clear", 0.0), []).append(base)
            for epsilon in epsilons:
                for method, options in METHODS.items():
                    more: dict[str, Any] = {"ordered": task.ordered} if method == "hush" else {}
                    fitted = model(
                        epsilon, schema=task.schema, alpha=PENALTY, threads=1, progress=False,
                        random_state=repetition, **options, **more,
                    ).fit(table, y)  # fmt: skip
                    found = float(np.mean(fitted.predict(other) != truth))
                    errors.setdefault((name, method, epsilon), []).append(found - base)
                if name == "logistic":
                    limit = at_the_limit(x, (rows, truth), weights, epsilon)
                    errors.setdefault((name, "limit", epsilon), []).append(limit - base)
    results: list[dict[str, Any]] = []
    for (name, method, epsilon), values in errors.items():
        mean, error = mean_and_error(values)
        results.append(
            {
                "data": task.name, "people": count, "model": name, "method": method, "epsilon": epsilon,
                "value": mean, "stderr": error, "repetitions": repetitions,
            }
        )  # fmt: skip
    return results


def main() -> None:
    """Measure, and keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--everybody", action="store_true", help="all people too, once")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []

    def keep(more: list[dict[str, Any]]) -> None:
        rows.extend(more)
        KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        for row in more:
            print(*row.values(), flush=True)

    for epsilons in (EPSILONS[:1], EPSILONS[1:]):
        for make in tasks(options.data, PEOPLE * 10 // 9 + 10):
            keep(measure(make(), epsilons, PEOPLE, REPETITIONS))
    if options.everybody:
        for make in tasks(options.data, 1_000_000):
            task = make()
            if len(task) - len(task) // 10 > PEOPLE:
                keep(measure(task, EPSILONS, None, 1))


if __name__ == "__main__":
    main()
