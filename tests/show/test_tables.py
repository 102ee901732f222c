"""Tables for people: the same cells as text, as HTML that nothing escapes from, and for rich."""

from __future__ import annotations

import io
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

import hush
from hush.core.exact import exp_bounds
from hush.show.tables import MOST, Table, chance, down, sure, up

WEAK = [
    (2.0, 1, ""),
    (2.0, 2, ""),
    (2.0001, 1, "says much about the answer."),
    (8.0, 1, "says much about the answer."),
    (8.0, 2, "says much about the answers together."),
]
TABLE = Table(
    ("name", "what", "value"),
    [("<script>alert(1)</script>", "a & b", "1.5"), ('"quoted"', "[bold]c[/bold]", "12"), ("日本", "e\u0301", "-3")],
    texts=2,
    notes=("It is <i>so</i>.",),
)


class Reader(HTMLParser):
    """Reads HTML back, and keeps the tags and the texts of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th", "p"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.cells[-1] += data


def test_html_says_what_the_cells_say_and_nothing_else() -> None:
    read = Reader(TABLE.html())
    assert read.cells == [*TABLE.columns, *(cell for row in TABLE.rows for cell in row), *TABLE.notes]
    assert {tag for tag, _ in read.tags} == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}


def test_html_brings_no_colours_and_fetches_nothing() -> None:
    """The colours are those of the page: nothing is hard to read in a dark theme."""
    for _, attributes in Reader(TABLE.html()).tags:
        assert set(attributes) <= {"scope", "style"}
        style = (attributes.get("style") or "").replace("color: inherit;", "")
        assert not any(word in style for word in ("color", "background", "url", "#"))
    assert "color: inherit;" in TABLE.html()  # else it is black where the page has no doctype


def test_numbers_are_on_the_right_in_html() -> None:
    sides = ["right" in (attributes["style"] or "") for tag, attributes in Reader(TABLE.html()).tags if tag == "td"]
    assert sides == [False, False, True] * 3


def test_text_is_aligned_by_the_columns_of_a_terminal() -> None:
    assert str(TABLE).splitlines() == [
        "name                        what             value",
        "--------------------------------------------------",
        "<script>alert(1)</script>   a & b              1.5",
        '"quoted"                    [bold]c[/bold]      12',
        "日本                        e\u0301                   -3",
        "",
        "It is <i>so</i>.",
    ]


def test_rich_takes_nothing_for_markup() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(TABLE)
    for words in (*TABLE.columns, *(cell for row in TABLE.rows for cell in row), *TABLE.notes):
        assert words in out.getvalue()


@pytest.mark.parametrize(
    ("rows", "most", "kept"), [(5, 5, [*range(5)]), (6, 5, [0, 1, 2, None, 4, 5]), (3, 1, [0, None])]
)
def test_long_tables_are_shortened_in_the_middle(rows: int, most: int, kept: list[int | None]) -> None:
    table = Table(("n", "m"), [(str(i), "x") for i in range(rows)])
    expected = [(f"... {rows - most} more", "") if i is None else (str(i), "x") for i in kept]
    assert list(table.shortened(most).rows) == expected
    assert len(table.rows) == rows


def test_an_empty_table_has_a_head() -> None:
    table = Table(("name", "value"), [])
    assert str(table).splitlines()[0] == "name   value"
    assert Reader(table.html()).cells == ["name", "value"]


def test_costs_are_rounded_to_the_safe_side() -> None:
    assert (up(0.12301, 3), down(0.12399, 3)) == ("0.124", "0.123")


def test_a_plan_shows_its_questions_and_its_cost() -> None:
    schema = hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("<b>", ["x", "y", "z"])])
    plan = hush.design(schema, 1.0, title="<i>spring</i>")
    table = plan.table()
    assert [row[:2] for row in table.rows] == [("age", "window"), ("<b>", "subset")]
    assert all(float(cost) <= 1 for _, _, cost, *_ in table.rows)
    assert "1 of 2 questions" in table.notes[0]
    assert plan.id in table.notes[1]
    assert str(plan) == table.text()
    cells = Reader(plan._repr_html_()).cells
    assert cells[5] == "age"
    assert cells[-1].endswith("'<i>spring</i>'")
    assert repr(plan).startswith("<Plan ")  # one line, in lists and messages
    assert len(repr(plan).splitlines()) == 1


def test_a_plan_of_many_questions_is_shortened_in_a_notebook_alone() -> None:
    plan = hush.design(hush.Schema([hush.Categorical(f"c{i}", ["x", "y"]) for i in range(MOST + 5)]), 1.0)
    assert "... 5 more" in plan._repr_html_()
    assert "... 5 more" not in str(plan)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), *map(Fraction, range(1, 17))])
def test_a_bound_below_one_is_never_shown_as_certain(epsilon: Fraction) -> None:
    ratio = exp_bounds(epsilon)[1]
    share = ratio / (1 + ratio)
    text = sure(share).removesuffix(" %")
    last = Fraction(1, 10 ** len(text.partition(".")[2]))
    assert 100 * share <= Fraction(text) < min(Fraction(100), 100 * share + last)  # rounded up in the last digit
    assert Fraction(text) + last <= 100 or last == Fraction(1, 10)  # no more digits than that takes


def test_what_is_certain_is_shown_as_certain() -> None:
    assert sure(Fraction(1)) == "100.0 %"
    assert sure(Fraction(9996646, 10_000_000)) == "99.97 %"
    assert sure(Fraction(731, 1000)) == "73.1 %"


def test_a_probability_is_neither_nothing_nor_certain_unless_it_is() -> None:
    shown: dict[int | Fraction, str] = {
        0: "0.00 %",
        Fraction(1, 10**9): "< 0.01 %",
        Fraction(1, 3): "33.33 %",
        1: "100.00 %",
    }
    shown[1 - Fraction(1, 10**9)] = "> 99.99 %"
    assert {value: chance(Fraction(value)) for value in shown} == shown


@pytest.mark.parametrize(("epsilon", "k", "words"), WEAK)
def test_a_weak_plan_says_so(epsilon: float, k: int, words: str) -> None:
    plan = hush.design(
        hush.Schema([hush.Categorical("a", ["x", "y"]), hush.Categorical("b", ["x", "y"])]), epsilon, k=k
    )
    line = f"Weak: above epsilon = 2 a report {words}"
    for shown in (str(plan), plan._repr_html_()):
        assert ("Weak" in shown) == bool(words)
        assert not words or line in shown
