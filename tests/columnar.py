"""Reports in columns made from scalar reports, as `spec/reports.md` says: slow, and plain enough to trust."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hush import Categorical, Listed, Numeric, Plan, Report, Schema, Tally, Text, design
from hush.batch.reports import report_schema
from hush.core.channels import Channel
from hush.core.design.categorical import grr, oue, subset
from hush.core.design.numeric import signs
from hush.core.plan import Question
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.batch.relating import CELLS, SHAPES, celled, grouped, views
from tests.cases import any_record, plans, small_cube

# Rows whose groups lie in one part or in two, counted whole or bit by bit; the same for sets of cells.
ROWS = ("rows 3-1-5-2", "rows 3-2-2-1", "rows 4-3-7-2", "rows 9-3-17-5", "rows 64-7-5-1", "rows 200-2-31-7 optional")
SETS = ("cells 3-2 of 2", "cells 4-16 of 9", "cells 2-33 of 65")


# A long list and texts, whose answers are points, and what people hold.
LARGE = {
    "page": design(Schema([Categorical("page", Listed([f"page {i}" for i in range(9000)], name="pages.txt"))]), 8.0),
    "word": design(Schema([Text("word", 6, "english", bits=28)]), 4.0),
}
HELD = {"page": ["page 7"] * 200 + ["page 8000"] * 100, "word": ["Nurse", "cook ", "日本", ""] * 50}


def rows_of(plan: Plan, reports: Iterable[Report], *, ids: bool = False) -> pa.Table:
    """Return the rows of reports."""
    rows: list[dict[str, Any]] = []
    for report in reports:
        for question, output in report.answers:
            size = plan.questions[question].channel.alphabet.size
            if isinstance(output, int):
                words = [output]
            else:
                words = [0] * -(-size // 64)
                for member in output:
                    words[member // 64] += 1 << member % 64
            for part, word in enumerate(words):
                signed = word - (1 << 64) if word >= 1 << 63 else word
                rows.append({"attribute": question, "part": part, "output": signed, "report": report.id})
    schema = report_schema(plan, ids=ids)
    return pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema)


def sample(plan: Plan, n: int, seed: int = 0) -> tuple[pa.Table, Tally]:
    """Return the rows of n reports of random people, and the tally that adds them one by one."""
    people, coins = random.Random(seed), SeededCoins(seed + 1)
    reports = [randomise_from(coins, plan, any_record(plan, people.randrange)) for _ in range(n)]
    tally = Tally(plan)
    tally.update(reports)
    return rows_of(plan, reports), tally


def _single(epsilon: str, channel: Channel, *, beside: Channel | None = None) -> Plan:
    """A plan with one question about a category, and perhaps another beside it."""
    channels = [channel] if beside is None else [channel, beside]
    schema = Schema([Categorical(f"c{i}", list(range(one.alphabet.size))) for i, one in enumerate(channels)])
    questions = tuple(Question((name,), one) for name, one in zip(schema.names, channels, strict=True))
    return Plan(schema, Fraction(epsilon), 1, questions)


def _numbers(epsilon: str, channel: Channel, d: int) -> Plan:
    schema = Schema([Numeric(f"x{i}", 0, 1) for i in range(d)])
    return Plan(schema, Fraction(epsilon), 1, (Question(schema.names, channel),))


def columnar_plans() -> dict[str, Plan]:
    """Plans that use every channel, and every way to lie in rows."""
    one, four = Fraction(1), Fraction(4)
    mixed = Schema([Numeric("x", 0, 1), Categorical("c", list(range(30))), Categorical("d", list(range(70)))])
    result = plans()
    result |= {
        "unary-17": _single("1", oue(one, 17)),
        "unary-64": _single("1", oue(one, 64)),
        "unary-65": _single("1", oue(one, 65), beside=grr(one, 3)),
        "unary-200": _single("1", oue(one, 200)),
        "subset-40": _single("1", subset(one, 40)),
        "subset-64": _single("1", subset(one, 64), beside=subset(one, 5)),
        "subset-100": _single("1", subset(one, 100), beside=subset(one, 30)),
        "signs-70": _numbers("1", signs(one, 70), 70),
        "signs-128": _numbers("1", signs(one, 128), 128),
        "cube-20": _numbers("4", small_cube(four, 20, 5, 4), 20),
        "cube-32": _numbers("4", small_cube(four, 32, 6, 4), 32),
        "cube-70": _numbers("4", small_cube(four, 70, 6, 4), 70),
        "mixed-split": design(mixed, 3.0, numeric="hybrid", k="all"),
        "weighted": design(mixed, 1.0, k="weighted"),
    }
    result |= {name: grouped(SHAPES[name]) for name in ROWS} | {name: celled(CELLS[name]) for name in SETS}
    result |= {name: views()[name] for name in ("relations", "table of bands", "means by own bands")}
    return result
