"""Naive Bayes from private relations beside a line from private gradients, at equal people and epsilon.

    python -m experiments.bayes [--data FOLDER] [--keep]

Made-up people, 250,000 of them: *classes* has six classes, four numbers and six categories that are independent within
each class, as naive Bayes assumes; *mixed* is a task of `experiments/made_up.py`; *synthetic* is the made-up census.
With a data folder also Adult (44,000 people) and 250,000 people of br_like. Three repetitions, each with other people.
Nothing is tuned: both methods have their defaults. With --keep, results go to docs/measured/bayes.json at once.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import hush  # noqa: E402
from experiments import census, made_up  # noqa: E402
from experiments.cached import mean_and_error  # noqa: E402
from experiments.targets import adult, income  # noqa: E402
from hush import batch  # noqa: E402
from hush.learn.bayes import NaiveBayes, one_round  # noqa: E402
from hush.learn.simulate import LogisticRegression  # noqa: E402

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "bayes.json"
EPSILONS = (1.0, 2.0, 4.0)
PEOPLE, REPETITIONS = 250_000, 3
SHARES = (0.3, 0.25, 0.2, 0.1, 0.1, 0.05)


def classes(people: int, seed: int = 1) -> made_up.Task:
    """Six classes, and features that are independent within each."""
    generator = np.random.default_rng([seed, 4])
    y = generator.choice(len(SHARES), people, p=SHARES)
    columns: dict[str, Any] = {}
    attributes: list[Any] = []
    for j in range(4):
        middles = generator.normal(0, 1, len(SHARES))
        columns[f"n{j}"] = np.clip(middles[y] + generator.normal(0, 1.3, people), -4, 4)
        attributes.append(hush.Numeric(f"n{j}", -4, 4))
    for j, size in enumerate((3, 4, 6, 8, 12, 5)):
        chances = generator.dirichlet(np.ones(size), len(SHARES)).cumsum(axis=1)
        columns[f"c{j}"] = np.minimum((chances[y] < generator.random(people)[:, None]).sum(axis=1), size - 1)
        attributes.append(hush.Categorical(f"c{j}", list(range(size))))
    return made_up.Task("classes", hush.Schema(attributes), columns, y)


def synthetic(people: int) -> made_up.Task:
    """The made-up census: is the income above the mean?"""
    found = census.synthetic(people, seed=11)
    y = np.where(found.income > found.income.mean(), 1, -1)
    return made_up.Task(found.name, found.schema, found.columns, y)


def tasks(folder: Path | None) -> Iterator[Callable[[], made_up.Task]]:
    """Yield the makers of all tasks."""
    for make in (classes, made_up.mixed, synthetic):
        yield lambda make=make: make(PEOPLE * 10 // 9 + 10)  # type: ignore[misc]
    if folder is not None:
        yield lambda: adult(folder)
        yield lambda: income(folder, "br_like")


def errors(task: made_up.Task, epsilon: float, repetition: int) -> tuple[float, float]:
    """Return the shares of people whom naive Bayes and a line misclassify."""
    tests = len(task) // 10
    some, y = task.some((repetition + 1) * tests, min(PEOPLE, len(task) - tests))
    other, truth = task.some(repetition * tests, tests)
    label = hush.Categorical("class", np.unique(task.y).tolist())
    plan = one_round(task.schema, label, epsilon)
    bayes = NaiveBayes(batch.collect(plan, {**some, "class": y}), "class")
    line = LogisticRegression(epsilon, schema=task.schema, random_state=repetition, progress=False).fit(some, y)
    return float(np.mean(bayes.predict(other) != truth)), float(np.mean(line.predict(other) != truth))


def row_of(task: made_up.Task, epsilon: float | None, method: str, errors: list[float]) -> dict[str, Any]:
    """Return what is kept of the errors of a method; without privacy there is no epsilon."""
    mean, error = mean_and_error(errors)
    people = min(PEOPLE, len(task) - len(task) // 10)
    return {
        "data": task.name, "people": people, "epsilon": epsilon, "method": method, "error": mean, "stderr": error,
    }  # fmt: skip


def main() -> None:
    """Measure, and print or keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/bayes.json, for the documents")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for make in tasks(options.data):
        task = make()
        for epsilon in EPSILONS:
            pairs = [errors(task, epsilon, repetition) for repetition in range(REPETITIONS)]
            for method, values in zip(("naive Bayes", "line"), zip(*pairs, strict=True), strict=True):
                rows.append(row_of(task, epsilon, method, list(values)))
                print(*rows[-1].values(), flush=True)
            if options.keep:
                KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
