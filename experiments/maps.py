"""Public maps of features: what they are worth, and which ones.

    python -m experiments.maps [--data FOLDER] [--keep]

**Made-up people** chose the map, in a quicker simulation than this one. Here are some of its variants again: on two
synthetic censuses (`experiments/census.py`), whose incomes follow curves of numbers, and on the people of
`experiments/networks.py`, whose class follows products of numbers. There are 400,000 for training and 50,000 others.
*waves* is `hush.RandomMap` with its defaults. *one number* and *six features* have only units of that kind, as many.
*relu* are 150 rectified sums of six features each, the map of a prototype.

**Real people**, with a data folder, show the outcome, with nothing but the defaults: all people of br_like and mx_like,
three repetitions, each with another tenth for testing, another seed of the map, and other noise. The same line without
privacy is in docs/measured/labels.json.

With --keep, every result goes to docs/measured/maps.json at once.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "2")

import numpy as np  # noqa: E402

import hush  # noqa: E402
from experiments import census, networks  # noqa: E402
from experiments.cached import mean_and_error  # noqa: E402
from experiments.made_up import Task  # noqa: E402
from experiments.targets import income  # noqa: E402
from hush.core.training.maps import RELU, WAVE, WIDE  # noqa: E402
from hush.learn.simulate import LogisticRegression  # noqa: E402

Maker = Callable[[Task, int], Any]

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "maps.json"
PEOPLE, OTHERS, REPETITIONS = 400_000, 50_000, 3
MADE_UP, REAL = (1.0, 4.0), (4.0, 2.0, 1.0)


def waves(_: Task, seed: int) -> Any:
    """Return the map that hush takes."""
    return hush.RandomMap(seed=f"map {seed}")


def table(task: Task, seed: int, kind: str) -> Any:
    """Return other maps: units of one number, units of six features, or rectified sums of six features."""
    generator = np.random.default_rng(seed)
    parts = hush.Features(task.schema, task.ordered).parts
    numbers, size = [part.start for part in parts if part.number], parts[-1].end
    units = []
    for index in range(150 if kind == "relu" else 120):
        places = [numbers[index % len(numbers)]] if kind == "one number" else generator.choice(size, 6, replace=False)
        deviation = {"one number": 1.0, "six features": WIDE / 6**0.5, "relu": 0.6}[kind]
        weights, bias = generator.normal(0, deviation, len(places)), generator.normal(0, 0.7)
        if kind != "relu":
            weights, bias = weights / (2 * np.pi), generator.uniform()
        units.append(hush.Unit(tuple(sorted(int(j) for j in places)), tuple(weights.tolist()), float(bias)))
    return hush.TableMap(tuple(units), RELU if kind == "relu" else WAVE)


MAPS: dict[str, Maker] = {
    "none": lambda *_: None,
    "waves": waves,
    "one number": lambda task, seed: table(task, seed, "one number"),
    "six features": lambda task, seed: table(task, seed, "six features"),
    "relu": lambda task, seed: table(task, seed, "relu"),
}


def made_up_tasks() -> list[Task]:
    """Return the made-up people."""
    found = []
    for shape in census.SHAPES:
        people = census.synthetic(PEOPLE + OTHERS, seed=7, shape=shape)
        y = np.where(people.income > people.income.mean(), 1, -1)
        ordered = tuple(name for name in ("schooling", "built") if name in people.schema.names)
        found.append(Task(people.name, people.schema, people.columns, y, ordered))
    x, y = networks.people(PEOPLE + OTHERS, 1)
    schema = hush.Schema([hush.Numeric(f"x{j}", -1, 1) for j in range(x.shape[1])])
    columns = {name: x[:, j].astype(float) for j, name in enumerate(schema.names)}
    found.append(Task("products", schema, columns, y.astype(int)))
    return found


def error_of(task: Task, name: str, epsilon: float, tests: int, repetition: int) -> float:
    """Return the share of misclassified people, of those whom the model has not seen."""
    some, y = task.some((repetition + 1) * tests, len(task) - tests)
    other, truth = task.some(repetition * tests, tests)
    model = LogisticRegression(
        epsilon, schema=task.schema, ordered=task.ordered, map=MAPS[name](task, repetition), random_state=repetition,
        progress=False,
    ).fit(some, y)  # fmt: skip
    return float(np.mean(model.predict(other) != truth))


def main() -> None:
    """Measure, and print or keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/maps.json, for the documents")
    parser.add_argument("--only", help="a set of the data folder, or made-up")
    parser.add_argument("--map", choices=("waves", "none"), help="of real people, this one alone")
    parser.add_argument("--epsilon", type=float, help="of real people, this one alone")
    options = parser.parse_args()
    names = ("data", "people", "map", "epsilon")

    def keep(task: Task, people: int, name: str, epsilon: float, errors: list[float]) -> None:
        mean, error = mean_and_error(errors) if len(errors) > 1 else (errors[0], None)
        row = {"data": task.name, "people": people, "map": name, "epsilon": epsilon, "error": mean, "stderr": error}
        print(*row.values(), errors, flush=True)
        if options.keep:  # beside what is kept already, so that parts can be measured one after the other
            held = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
            rows = [one for one in held if any(one[part] != row[part] for part in names)] + [row]
            KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

    for name in census.SETS if options.data is not None else ():
        if options.only not in (None, name):
            continue
        task = income(options.data, name)
        tests = len(task) // 10
        for kind in ("waves", "none"):
            for epsilon in REAL:
                if options.map not in (None, kind) or options.epsilon not in (None, epsilon):
                    continue
                errors = [error_of(task, kind, epsilon, tests, repetition) for repetition in range(REPETITIONS)]
                keep(task, len(task) - tests, kind, epsilon, errors)
    if options.only in (None, "made-up"):
        for task in made_up_tasks():
            for kind in MAPS:
                for epsilon in MADE_UP:
                    keep(task, PEOPLE, kind, epsilon, [error_of(task, kind, epsilon, OTHERS, 0)])


if __name__ == "__main__":
    main()
