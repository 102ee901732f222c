"""The batch engine beside what the machine can do at best. `make bench` runs it; `--full` goes up to 10^8 records.

Two yardsticks run in turns with every row: copying a column of floats, which no engine that reads and writes it can
beat, and the keystream alone, of which each value needs a known number of words. Columns are checked once before
(`hush.batch.encode`) unless a row says that checks are included. Times are processor time, the best of several turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from census import CATEGORIES, Census, schema
from measure import ROOT, Action, copying, machine, progress, race, words_per_person, write

import hush
import hush.batch
from hush.batch.keystream import SPARE, Keystream
from hush.core.channels import Channel
from hush.core.design.groups import rows as by_groups
from hush.core.design.joint import table
from hush.core.plan import Question
from hush.core.schema import MAX_CATEGORIES

sys.path.append(str(ROOT / "docs"))

import speed_tables  # a neighbour, not a part of the package

NUMERIC = ("piecewise", "duchi", "hybrid", "minimax")
CATEGORICAL = (("grr", 16), ("grr", 64), ("subset", 16), ("subset", 64), ("oue", 64))
LONG = (("geometry", 4096), ("geometry", 1_000_000))
RESPONSE = 64  # categories of the randomised response beside points
CELLS = ((5, 6), (8, 8))  # categories of two attributes in one table
GROUPS = 16  # categories beside a number
SIZES = (100_000, 1_000_000, 10_000_000)
FULL = 100_000_000
PEOPLE = 1_000_000
WORDS = 1 << 16
TALLY_TURNS = 2  # times as many turns where threads count
COUNTED = 4000  # people whose words are counted on the scalar path
MIXED = {"minimax + subset": ("minimax", "subset"), "piecewise + grr": ("piecewise", "grr")}
SECTIONS = ("numeric", "categorical", "joint", "records", "tallies", "whole")
Row = dict[str, Any]


def drawing() -> Action:
    """Return the second yardstick: so many words of the keystream, into a buffer that stays in the cache."""
    stream, words = Keystream().stream(0), np.zeros(WORDS + SPARE, dtype=np.uint64)
    return lambda: stream.fill(words, WORDS)


def measured(actions: dict[str, Action], n: int, repeats: int, walls: dict[str, float] | None = None) -> Row:
    """Return nanoseconds for each of n, with those of the two yardsticks in the same turns."""
    best = race({"copy_ns": copying(n), "word_ns": drawing()} | actions, repeats, walls=walls)
    return {name: 1e9 * seconds / (WORDS if name == "word_ns" else n) for name, seconds in best.items()}


def numeric(full: bool, repeats: int) -> list[Row]:
    """One column of floats, by channel, epsilon and size."""
    rows = []
    for n in (*SIZES, FULL) if full else SIZES:
        column = np.random.default_rng().uniform(0, 100, n)
        for channel in NUMERIC:
            for epsilon in (1.0, 4.0):
                progress(f"{channel}, epsilon {epsilon:g}, {n} values")
                plan = hush.design(hush.Schema([hush.Numeric("x", 0, 100)]), epsilon, numeric=channel)
                encoded = hush.batch.encode(plan, {"x": column})
                actions: dict[str, Action] = {
                    "ns": partial(hush.batch.randomise, plan, encoded, threads=1),
                    "checked_ns": partial(hush.batch.randomise, plan, {"x": column}, threads=1),
                }
                words = words_per_person(plan, [{"x": float(x)} for x in column[:COUNTED]])
                row = {"channel": channel, "epsilon": epsilon, "n": n, "words": words}
                rows.append(row | measured(actions, n, 3 if n >= FULL else repeats))
    return rows


def categorical(repeats: int) -> list[Row]:
    """One column of categories, by channel and number of categories; and counting the reports."""
    rows = []
    for channel, size in (*CATEGORICAL, *LONG):
        progress(f"{channel}, K = {size}")
        column: Any = np.random.default_rng().integers(0, size, PEOPLE)
        values: Any = list(range(size))
        if size > MAX_CATEGORIES:
            values = hush.Listed([f"v{i}" for i in range(size)])
            column = pa.DictionaryArray.from_arrays(column.astype(np.int32), pa.array(values.values))
        plan = hush.design(hush.Schema([hush.Categorical("x", values)]), 1.0, categorical=channel)
        encoded = hush.batch.encode(plan, {"x": column})
        reports = hush.batch.randomise(plan, encoded, threads=1)
        actions: dict[str, Action] = {
            "ns": partial(hush.batch.randomise, plan, encoded, threads=1),
            "checked_ns": partial(hush.batch.randomise, plan, {"x": column}, threads=1),
            "tally_ns": partial(hush.batch.tally, plan, reports, threads=1),
        }
        if (channel, size) in LONG:
            actions["response_ns"] = _response()
        words = words_per_person(plan, [{"x": x} for x in column[:COUNTED].tolist()])
        row = {"channel": channel, "size": size, "epsilon": 1.0, "n": PEOPLE, "words": words}
        rows.append(row | measured(actions, PEOPLE, repeats))
    return rows


def _response() -> Action:
    """Return randomised response for a column, in turns with which points are measured."""
    plan = hush.design(hush.Schema([hush.Categorical("x", list(range(RESPONSE)))]), 1.0, categorical="grr")
    encoded = hush.batch.encode(plan, {"x": np.random.default_rng().integers(0, RESPONSE, PEOPLE)})
    return partial(hush.batch.randomise, plan, encoded, threads=1)


def joint(repeats: int) -> list[Row]:
    """Two columns in one question: a table of two categories (cells), and a number by a category (rows)."""
    rows, made_up, one = [], np.random.default_rng(), Fraction(1)
    cases: list[tuple[str, list[hush.Categorical | hush.Numeric], Channel]] = [
        (
            f"`cells`, {a} x {b}",
            [hush.Categorical("a", list(range(a))), hush.Categorical("b", list(range(b)))],
            table(one, (a, b)),
        )
        for a, b in CELLS
    ]
    grouped: list[hush.Categorical | hush.Numeric] = [
        hush.Categorical("a", list(range(GROUPS))),
        hush.Numeric("b", 0, 100),
    ]
    cases.append((f"`rows`, {GROUPS} and a number", grouped, by_groups(one, GROUPS)))
    for name, attributes, channel in cases:
        progress(name)
        plan = hush.Plan(hush.Schema(attributes), one, 1, (Question(["a", "b"], channel),))
        columns: dict[str, Any] = {
            item.name: made_up.uniform(0, 100, PEOPLE)
            if isinstance(item, hush.Numeric)
            else made_up.integers(0, len(item.labels), PEOPLE)
            for item in attributes
        }
        encoded = hush.batch.encode(plan, columns)
        reports = hush.batch.randomise(plan, encoded, threads=1)
        actions: dict[str, Action] = {
            "ns": partial(hush.batch.randomise, plan, encoded, threads=1),
            "checked_ns": partial(hush.batch.randomise, plan, columns, threads=1),
            "tally_ns": partial(hush.batch.tally, plan, reports, threads=1),
        }
        words = words_per_person(
            plan, [{name: column[i].item() for name, column in columns.items()} for i in range(COUNTED)]
        )
        rows.append({"channel": name, "n": PEOPLE, "words": words} | measured(actions, PEOPLE, repeats))
    return rows


def records(repeats: int) -> list[Row]:
    """Records of 16 attributes of which each person answers one: checked before, or checked in the same call."""
    rows = []
    columns = Census(PEOPLE).draw(PEOPLE)
    labels = {name: pa.array([f"v{i}" for i in range(size)]) for name, size in CATEGORIES.items()}
    named = columns | {
        name: pa.DictionaryArray.from_arrays(columns[name].astype(np.int32), labels[name]) for name in CATEGORIES
    }
    words_of = [{name: column[i].item() for name, column in columns.items()} for i in range(COUNTED)]
    for mix, (number, category) in MIXED.items():
        progress(f"records: {mix}")
        plan = hush.design(schema(), 1.0, numeric=number, categorical=category, k=1)
        other = hush.design(schema(labels=True), 1.0, numeric=number, categorical=category, k=1)
        encoded = hush.batch.encode(plan, columns)
        actions: dict[str, Action] = {
            "ns": partial(hush.batch.randomise, plan, encoded, threads=1),
            "checked_ns": partial(hush.batch.randomise, plan, columns, threads=1),
            "labels_ns": partial(hush.batch.randomise, other, named, threads=1),
            "collect_ns": partial(hush.batch.collect, plan, encoded, threads=1),
        }
        row = {"design": mix, "n": PEOPLE, "words": words_per_person(plan, words_of)}
        rows.append(row | measured(actions, PEOPLE, repeats))
    return rows


def tallies(repeats: int) -> list[Row]:
    """Counting rows of (attribute, output), by one thread and by two, in turns.

    Two threads are at their best only when nobody else uses either core, so there are more turns.
    """
    rows = []
    columns = Census(PEOPLE).draw(PEOPLE)
    for mix, (number, category) in MIXED.items():
        plan = hush.design(schema(), 1.0, numeric=number, categorical=category, k=1)
        reports = pa.concat_tables([hush.batch.randomise(plan, columns, threads=1)] * 4)
        progress(f"tally: {mix}")
        actions: dict[str, Action] = {
            f"{threads}": partial(hush.batch.tally, plan, reports, threads=threads) for threads in (1, 2)
        }
        n, walls = reports.num_rows, dict[str, float]()
        found = measured(actions, n, TALLY_TURNS * repeats, walls)
        for name in actions:
            row = {"design": mix, "threads": int(name), "n": n, "ns": found[name], "wall_ns": 1e9 * walls[name] / n}
            rows.append(row | {yardstick: found[yardstick] for yardstick in ("copy_ns", "word_ns")})
    return rows


def whole(full: bool) -> list[Row]:
    """From records to estimates, each in a process of its own."""
    n = FULL if full else SIZES[-1]
    rows = []
    for options in (["1000"], [f"{n // 10}"], [f"{n}"], [f"{n}", "--collect"], [f"{n}", "--threads", "2"]):
        progress(f"from records to estimates: {' '.join(options)}")
        command = [sys.executable, str(Path(__file__).with_name("whole.py")), *options]
        rows.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout))  # noqa: S603
    return rows[1:]  # the first was there to compile, which takes more memory than the rest


def main() -> None:
    """Measure, print tables, and write them to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 10^8 values, and 10^8 records from end to end")
    parser.add_argument("--keep", action="store_true", help="also write docs/measured/batch.json, for the documents")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="measure only this, and keep nothing")
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    if options.only and options.keep:
        parser.error("--only measures a part, and the documents need all of it")
    sections = options.only or SECTIONS
    results: dict[str, Any] = {"command": f"python benchmarks/batch.py{' --full' * options.full}", "machine": machine()}
    ways: dict[str, Callable[[], list[Row]]] = {
        "numeric": partial(numeric, options.full, options.repeats),
        "categorical": partial(categorical, options.repeats),
        "joint": partial(joint, options.repeats),
        "records": partial(records, options.repeats),
        "tallies": partial(tallies, options.repeats),
        "whole": partial(whole, options.full),
    }
    results |= {name: ways[name]() for name in sections}
    if not options.only:
        write("batch", results, options.keep)
    print(speed_tables.heading(results))
    for name in sections:
        print("", getattr(speed_tables, name)(results), sep="\n")


if __name__ == "__main__":
    main()
