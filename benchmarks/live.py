"""Many people through a live training: a real collector, its pilot, all rounds and the result. `make bench` runs it.

A collector (`hush serve --training`) runs as a process of its own, on SQLite, and commits to the disk. Made-up people
(the task "mixed" of experiments/made_up.py) answer over HTTP, in batches that a gateway would send; their own side is
part of the time. The goal is 500,000 people in 10 minutes on two cores. Beside it: the same people in a simulation,
which must lead to a model as good, and some people one by one, each under a name of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import ROOT, machine, progress, write

import hush
from hush.learn import live
from hush.learn.simulate import LogisticRegression

sys.path += [str(ROOT), str(ROOT / "docs")]

import learning_tables  # neighbours, not parts of the package
import speed_tables
from experiments.made_up import mixed

PEOPLE, FRESH, EPSILON = 500_000, 50_000, 1.0
SINGLES = 300


@contextmanager
def collector(course: hush.Course, folder: Path) -> Iterator[str]:
    """Run a collector with a training, and yield its address."""
    (folder / "course.json").write_text(course.to_json())
    options = ["--training", str(folder / "course.json"), "--store", str(folder / "hush.db"), "--port", "0"]
    options += ["--open", "submit,submit-batch,read", "--reveal-every", "0s", "--reveal-least", "0", "--json"]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "hush", "serve", *options], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["address"])
    finally:
        process.terminate()
        process.wait(30)


def rows(people: int) -> list[dict[str, Any]]:
    """Measure a whole training of so many people, live and simulated."""
    task = mixed(people + FRESH, seed=7)
    table, y = task.some(0, people)
    fresh, truth = task.some(people, FRESH)
    label = hush.Categorical("target", [-1, 1])
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few people
        course = hush.Training.design(
            task.schema, label, epsilon=EPSILON, people=people, title="bench", ordered=task.ordered
        )
    order = np.random.default_rng(1).permutation(people)
    table, y = {name: column[order] for name, column in table.items()}, y[order]
    with tempfile.TemporaryDirectory() as name, collector(course, Path(name)) as address:
        progress(f"{people} people through a collector")
        start, busy = time.perf_counter(), os.times()
        (last,) = live.take_part(hush.Client(address, timeout=60), course, table, y.tolist())
        seconds, now = time.perf_counter() - start, os.times()
        assert last.done
        shown = live.people_of(course.training, fresh, truth.tolist())
        weights, intercept = last.training.model(last.result)
        wrong = float(np.mean((shown.x @ np.array(weights) + intercept > 0) != (shown.y > 0)))
        own = now.user + now.system - busy.user - busy.system
        row = {"what": "live, in batches", "people": people, "seconds": seconds, "own_seconds": own, "error": wrong}
        found.append(row | {"rounds": last.training.rounds})
    progress(f"{people} people in a simulation")
    model = LogisticRegression(EPSILON, schema=task.schema, ordered=list(task.ordered), progress=False)
    start = time.perf_counter()
    model.fit(table, y)
    seconds = time.perf_counter() - start
    row = {"what": "simulated", "people": people, "seconds": seconds, "own_seconds": None, "rounds": model.n_iter_}
    found.append(row | {"error": 1 - float(model.score(fresh, truth))})
    again = hush.Training.design(task.schema, label, epsilon=8.0, people=people, title="singles", ordered=task.ordered)
    with tempfile.TemporaryDirectory() as name, collector(again, Path(name)) as address:
        progress(f"{SINGLES} people one by one")
        client = hush.Client(address, timeout=60)
        records = [{name: column[i].item() for name, column in table.items()} for i in range(SINGLES)]
        client.train(again, records[0], int(y[0]), epsilon=8.0, person="the first")
        start = time.perf_counter()
        for i in range(1, SINGLES):
            client.train(again, records[i], int(y[i]), epsilon=8.0, person=f"person {i}")
        seconds = time.perf_counter() - start
    row = {"what": "live, one by one (pilot)", "people": SINGLES - 1, "seconds": seconds, "own_seconds": None}
    found.append(row | {"rounds": None, "error": None})
    return found


def main() -> None:
    """Measure, print the table, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--keep", action="store_true", help="also write docs/measured/live.json, for the documents")
    options = parser.parse_args()
    results: dict[str, Any] = {"command": "python benchmarks/live.py", "machine": machine()}
    results["rows"] = rows(options.people)
    write("live", results, options.keep)
    print(speed_tables.heading(results), learning_tables.live(results), sep="\n\n")


if __name__ == "__main__":
    main()
