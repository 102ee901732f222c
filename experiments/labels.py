"""Private labels on microdata: features known to the server, and the class reported once by each person.

    python -m experiments.labels --data FOLDER [--only SET] [--keep]

Is the income of somebody in br_like or mx_like above the mean? Gradient-boosted trees of scikit-learn, with defaults
but at most 300 trees (they stop early by their own rule), are trained with the reports; a linear model without privacy
stands beside them. A tenth of the people are left out and show the share of misclassified people. All people, and
200,000; one repetition for all, three for 200,000. With --keep, every result goes to docs/measured/labels.json at once,
beside those of other sets.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import hush
from experiments import census
from experiments.cached import mean_and_error
from experiments.made_up import Task
from experiments.targets import clear, income, wrong
from hush import batch
from hush.learn.labels import PrivateLabelClassifier
from hush.learn.matrices import feature_matrix

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "labels.json"
EPSILONS = (None, 2.0, 1.0, 0.5)
FEW = 200_000


def table(columns: dict[str, Any]) -> Any:
    """Return the columns as a matrix, categories as codes."""
    return np.column_stack([np.asarray(column, dtype=np.float32) for column in columns.values()])


def error_of(task: Task, epsilon: float | None, people: int, repetition: int) -> float:
    """Return the share of misclassified people of a model that was trained with private labels, or with true ones."""
    tests = len(task) // 10
    other, truth = task.some(repetition * tests, tests)
    some, y = task.some((repetition + 1) * tests, people)
    codes = [isinstance(one, hush.Categorical) for one in task.schema.attributes]
    trees = HistGradientBoostingRegressor(max_iter=300, categorical_features=codes, random_state=repetition)
    label = hush.Categorical("label", [-1, 1])
    if epsilon is None:
        return float(np.mean(np.where(trees.fit(table(some), y).predict(table(other)) > 0, 1, -1) != truth))
    plan = hush.design(hush.Schema([label]), epsilon)
    model = PrivateLabelClassifier(plan, trees).fit(table(some), batch.randomise(plan, {"label": y}))
    return float(np.mean(model.predict(table(other)) != truth))


def linear(task: Task) -> float:
    """Return that share for a logistic regression without privacy, on everybody."""
    tests, features = len(task) // 10, hush.Features(task.schema)
    other, truth = task.some(0, tests)
    some, y = task.some(tests, len(task) - tests)
    weights = clear("logistic", feature_matrix(features, some), y)
    return wrong(feature_matrix(features, other), truth, *weights)


def main() -> None:
    """Measure, and keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--only", choices=census.SETS, help="this set alone")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/labels.json, for the documents")
    options = parser.parse_args()

    def keep(*values: Any) -> None:
        row = dict(zip(("data", "people", "epsilon", "error", "stderr"), values, strict=True))
        print(*values, flush=True)
        if options.keep:  # beside what is kept already, so that one set can be measured after the other
            held = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
            rows = [one for one in held if any(one[part] != row[part] for part in ("data", "people", "epsilon"))]
            KEPT.write_text(json.dumps([*rows, row], indent=1) + "\n", encoding="utf-8")

    for name in census.SETS if options.only is None else (options.only,):
        task = income(options.data, name)
        everybody = len(task) - len(task) // 10
        jobs = [
            (people, repetitions, epsilon) for people, repetitions in ((everybody, 1), (FEW, 3)) for epsilon in EPSILONS
        ]
        for people, repetitions, epsilon in jobs:
            found = [error_of(task, epsilon, people, repetition) for repetition in range(repetitions)]
            keep(name, people, epsilon, *(mean_and_error(found) if repetitions > 1 else (found[0], None)))
        keep(name, everybody, "linear", linear(task), None)


if __name__ == "__main__":
    main()
