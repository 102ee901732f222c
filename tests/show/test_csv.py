"""What a spreadsheet would calculate is text; everything else is as it was."""

from __future__ import annotations

import csv
import io

import pytest

from hush.collector.http.documents import EstimateRow, as_csv
from hush.core.schema import Categorical, Schema
from hush.show.csv import cell, table

FORMULAS = ["=1+1", "=HYPERLINK(1)", "+1+1", "-1-1", "@SUM(1)", "-", "+", "+65 or more", "-5 to 0", "-1\n", " =1"]
FORMULAS += ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", "\xa0=1", "\ufeff=1", "\x1f=1", "\x85=1", "+\u0661"]
PLAIN = ["", "a=b", "65+", "+65", "-18", "-1.5", "a", "'quoted'", "1-2", "a;b", "a; 'b", "a|b\tc", "\uff1b"]
# Where semicolons, bars or tabs part cells, a part may be a formula; so may a line, as quotes are not seen there.
PARTS = {
    'a;=HYPERLINK("http://e";"x")': 'a;\'=HYPERLINK("http://e";"x")',
    "a; \u3000\uff1d1;b|@x\t-1": "a;' \u3000\uff1d1;b|'@x\t'-1",
    "=1;=2": "'=1;'=2",
    "a\n=1\r\n+2": "a\n'=1\r\n'+2",
    "\t=1": "\t'=1",
    "+65;-18": "'+65;'-18",
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", PARTS)
def test_parts_of_a_text_are_no_formulas_either(text: str) -> None:
    assert cell(text) == PARTS[text]
    for separator in ";|\t":  # as a spreadsheet sees it that parts cells there, and knows no quotes within a line
        for line in table(["x", "y"], [["b", text]]).splitlines():
            for seen in line.split(separator):
                assert seen.strip()[:1] not in {*"=+-@\uff1d\uff0b\uff0d\uff20"}


def test_long_texts_take_no_long_time() -> None:
    """A million blanks in a row: if the time grew with their square, this would not end."""
    for blank in (" ", "\t", ";", "\n"):
        text = blank * 1_000_000
        assert cell(text) is text


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
    rows = [EstimateRow(name, name, -0.1, 0.2, None, 1.0, 7) for name in names]
    made = as_csv(rows, Schema([Categorical("c", ["a", "b"])]))
    found = list(csv.DictReader(io.StringIO(made, newline="")))
    assert [row["attribute"] for row in found] == [row["category"] for row in found]
    assert [row["attribute"] for row in found] == [*(f"'{name}" for name in FORMULAS), *PLAIN]
    assert {(row["point"], row["stderr"], row["low"], row["answers"]) for row in found} == {("-0.1", "0.2", "", "7")}


def test_unknown_numbers_are_empty() -> None:
    """As they are null in JSON: no program has to know how Python writes them."""
    cells = [0.5, float("nan"), float("inf"), -float("inf"), None]
    assert table(["a", "b", "c", "d", "e"], [cells]) == "a,b,c,d,e\r\n0.5,,,,\r\n"
