"""What a spreadsheet would calculate is text; everything else is as it was."""

from __future__ import annotations

import csv
import io

import pytest

from hush.collector.documents import EstimateRow, as_csv
from hush.sheets import cell, table

FORMULAS = ["=1+1", "=HYPERLINK(1)", "+1+1", "-1-1", "@SUM(1)", "-", "+", "+65 or more", "-5 to 0", "-1\n"]
PLAIN = ["", "a=b", "65+", "+65", "-18", "-1.5", "a", "'quoted'", " =1", "1-2"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [*PLAIN, -1, -1.5, 0, 2.0, True])
def test_everything_else_stays(value: object) -> None:
    assert cell(value) is value


def test_a_table_is_read_back() -> None:
    rows: list[list[object]] = [["a, b", 'say "x"', -1], ["line\nbreak", None, 0.5]]
    assert table(["x", "y", "z"], rows).startswith("x,y,z\r\n")
    found = list(csv.reader(io.StringIO(table(["x", "y", "z"], rows, end="\n"), newline="")))
    assert found == [["x", "y", "z"], ["a, b", 'say "x"', "-1"], ["line\nbreak", "", "0.5"]]


def test_estimates_of_a_collector_have_no_formulas() -> None:
    names = [*FORMULAS, *PLAIN]
    made = as_csv([EstimateRow(name, name, -0.1, 0.2, None, 1.0, 7) for name in names])
    found = list(csv.DictReader(io.StringIO(made, newline="")))
    assert [row["attribute"] for row in found] == [row["category"] for row in found]
    assert [row["attribute"] for row in found] == [*(f"'{name}" for name in FORMULAS), *PLAIN]
    assert {(row["point"], row["stderr"], row["low"], row["n"]) for row in found} == {("-0.1", "0.2", "", "7")}
