"""Rows that every engine must refuse, and what it says. Each case changes the rows of a plan in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Bad:
    """A change of good rows of a plan, and the message that refuses them."""

    plan: str
    change: Callable[[Rows], object]
    message: str


def _first(question: int, /, **values: Any) -> Callable[[Rows], object]:
    """Change the first row that answers a question."""
    return lambda rows: next(row for row in rows if row["attribute"] == question).update(values)


def _every(question: int, /, **values: Any) -> Callable[[Rows], object]:
    """Change all rows that answer a question."""
    return lambda rows: [row.update(values) for row in rows if row["attribute"] == question]


def _drop(part: int) -> Callable[[Rows], object]:
    return lambda rows: rows.remove(next(row for row in rows if row["part"] == part))


def _part(part: int, /, **values: Any) -> Callable[[Rows], object]:
    """Change the first row that has a part."""
    return lambda rows: next(row for row in rows if row["part"] == part).update(values)


def _across(rows: Rows) -> None:
    """Name two cells of row 3 in all reports, one in the first part and one in the second: only totals show it."""
    for row in rows:
        row["output"] = (1 | 1 << 51, 1, 0)[row["part"]]


TWO = "a set must not have two members of one group"

BAD: dict[str, Bad] = {
    "null attribute": Bad("grr", _first(0, attribute=None), "no value may be null: 1 row$"),
    "null symbol": Bad("grr", _first(0, output=None), "no value may be null: 1 row$"),
    "null word": Bad("unary-17", _first(0, output=None), "no value may be null: 1 row$"),
    "null part": Bad("unary-200", _first(0, part=None), "no value may be null: 1 row$"),
    "unknown question": Bad("grr", _first(1, attribute=4), "a question of the plan, from 0 to 3.*: 1 row$"),
    "negative question": Bad("unary-17", _first(0, attribute=-1), "a question of the plan.*: 1 row$"),
    "unknown part": Bad("unary-200", _first(0, part=4), "have a part of it: 1 row$"),
    "negative part": Bad("unary-200", _first(0, part=-1), "have a part of it: 1 row$"),
    "part of a symbol": Bad("unary-65", _first(1, part=1), "have a part of it: 1 row$"),
    "symbol too large": Bad("grr", _first(2, output=10), "'c': an output must be from 0 to 9: 1 row$"),
    "symbol negative": Bad("grr", _every(2, output=-1), r"'c': an output must be from 0 to 9: \d+ rows$"),
    "symbol of a mixture": Bad("hybrid", _first(1, output=1027), "'y': an output must be from 0 to 1026: 1 row$"),
    "cell": Bad("cells", _first(0, output=18), "'x', 'c', 's': an output must be from 0 to 17: 1 row$"),
    "spare bit of a small set": Bad("oue", _first(2, output=1 << 10), "'c': the members of an output must be from 0"),
    "sign of a small set": Bad(
        "oue", _first(2, output=-1), "'c': the members of an output must be from 0 to 9: 1 row$"
    ),
    "weight of a small set": Bad("subset", _first(2, output=3), "'c': an output must have 3 members: 1 row$"),
    "signs of a small set": Bad("cube", _first(0, output=0b1111), "two members of one group: 1 row$"),
    "spare bit": Bad("unary-17", _first(0, output=1 << 17), "'c0': spare bits must be 0: 1 row$"),
    "spare sign": Bad("unary-17", _first(0, output=-(1 << 63)), "'c0': spare bits must be 0: 1 row$"),
    "spare bit of the last part": Bad("unary-65", _first(0, part=1, output=2), "'c0': spare bits must be 0: 1 row$"),
    "weight": Bad("subset-40", _first(0, output=1), "'c0': a set must have as many members.*: 1 row$"),
    "weight with a sign": Bad("subset-64", _first(0, output=-1), "'c0': a set must have as many members.*: 1 row$"),
    "both signs": Bad("cube-20", _first(0, output=0b1101011), "'x19': a set must not have two members of.*: 1 row$"),
    "both signs at the end": Bad(
        "cube-32", _first(0, output=0b1010101 - (1 << 62)), "two members of one group: 1 row$"
    ),
    "both signs in a part": Bad("cube-70", _first(0, output=-1), "'x69': a set must not have two members of.*: 1 row$"),
    "cells of one row, in a small set": Bad(
        "rows 3-2-2-1", _first(0, output=0b1100), "two members of one group: 1 row$"
    ),
    "cells of one row": Bad("rows 4-3-7-2", _first(0, output=1 | 1 << 6 | 1 << 20), f"'x': {TWO}: 1 row$"),
    "neighbours in one row": Bad("rows 4-3-7-2", _first(0, output=0b1_1000_0000_0001), f"'x': {TWO}: 1 row$"),
    "all cells": Bad("rows 9-3-17-5", _first(0, output=-1), f"'x': {TWO}: 1 row$"),
    "the sign and the cell before it": Bad("rows 9-3-17-5", _first(0, output=-(1 << 62)), f"'x': {TWO}: 1 row$"),
    "the sign and the first of its row": Bad(
        "rows 9-3-17-5", _first(0, output=(1 << 51) - (1 << 63)), f"'x': {TWO}: 1 row$"
    ),
    "cells of one row in a later part": Bad("rows 9-3-17-5", _part(1, output=0b1001), f"'x': {TWO}: 1 row$"),
    "the rest of a row in a later part": Bad("rows 200-2-31-7 optional", _part(99, output=0b11), f"'x': {TWO}: 1 row$"),
    "cells of one row in two parts": Bad("rows 9-3-17-5", _across, "no group may be counted more often"),
    "cells outside the table": Bad("rows 9-3-17-5", _part(2, output=1 << 25), "'x': spare bits must be 0: 1 row$"),
    "weight of rows": Bad("rows 4-3-7-2", _first(0, output=1), "'x': a set must have as many members.*: 1 row$"),
    "weight of cells": Bad("cells 4-16 of 9", _first(0, output=1), "'a0': a set must have as many members.*: 1 row$"),
    "weight of a wide set": Bad("subset-100", _every(0, output=0), "'c0': the counts of an attribute must add up to"),
    "weight of a wide cube": Bad("cube-70", _every(0, output=0), "the counts of an attribute must add up to 6"),
    "missing part": Bad("signs-70", _drop(1), "'x69': every part of a set must occur equally often: 1 row missing"),
    "repeated part": Bad("unary-200", lambda rows: rows.append(rows[2]), "equally often: 3 rows missing"),
    "answers left over": Bad("k=3", lambda rows: rows.pop(), "has 3 answers: 2 of them have no report"),
    "a question answered twice": Bad("split", _every(1, attribute=0), "'age': no report may answer a question twice"),
}


def changed(table: pa.Table, change: Callable[[Rows], object]) -> pa.Table:
    """Return a table with its rows changed. Columns become as wide as they can be, and may have nulls."""
    rows = table.to_pylist()
    for row in rows:
        row.setdefault("part", 0)
    change(rows)
    names = ["attribute", "part", "output"] if any(row["part"] != 0 for row in rows) else ["attribute", "output"]
    columns = [(name, pa.int64() if name == "output" else pa.int32()) for name in names]
    schema = pa.schema(columns, metadata=table.schema.metadata)
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in rows], schema)
