"""What a series refuses: other definitions, new states beyond the cap, bad records, damaged files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import BudgetError, Categorical, Choices, Ledger, LedgerError, Numeric, RecordError, Schema, Series, design
from hush.core.channels import Subset
from tests.cases import MIXED, RECORD
from tests.device.weeks import STEPS, rows, weekly


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        (Categorical("mood", ["fine", "fair", "bad"]), "fair"),
        (Categorical("mood", ["good", "fair"]), "fair"),
        (Categorical("mood", ["good", "fair", "bad"], optional=True), "fair"),
        (Numeric("mood", 0, 1), 0.5),
    ],
)
def test_another_definition_is_refused_before_the_record_is_read(series: Series, attribute: Any, value: object) -> None:
    """Whether the record would fit or not: so a refusal tells nothing about it."""
    series.randomise(weekly(0), {"mood": "good"})
    before = series.ledger.path.read_bytes()
    for record in ({"mood": value}, {"mood": "nothing that fits"}, {}):
        with pytest.raises(LedgerError, match=r"attribute 'mood'.*another definition"):
            series.randomise(weekly(1, Schema([attribute])), record)
    assert series.ledger.path.read_bytes() == before


def test_silence_does_not_find_a_number(ledger: Ledger) -> None:
    """A server halves the bounds each week. The first plan fixes them, even if the record did not fit."""
    salaries, low, high = Series(ledger, "salary"), 0, 200_000
    answered = []
    for week in range(18):
        middle = (low + high) // 2
        plan = weekly(week, Schema([Numeric("salary", low - 1, middle)]), 0.001)
        try:
            salaries.randomise(plan, {"salary": 73_250})
        except RecordError:
            answered.append(False)
            low = middle
        except LedgerError:
            continue
        else:
            answered.append(True)
            high = middle
    assert len(answered) == 1


def test_a_new_state_beyond_the_cap_is_refused_and_known_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = Series(Ledger(tmp_path / "ledger", cap=1.5), "mood")
    first = series.randomise(weekly(0), {"mood": "good"})
    kept = rows(series.ledger)

    def fail(*_: object) -> int:
        raise AssertionError("an answer was drawn")

    monkeypatch.setattr(Subset, "draw", fail)
    with pytest.raises(
        BudgetError, match=r"a new state in the series 'mood' costs 1\.0; of a cap of 1\.5 .* spent 1\.0"
    ):
        series.randomise(weekly(1), {"mood": "bad"})
    assert rows(series.ledger) == kept
    assert series.ledger.report(weekly(1)) is None
    assert series.randomise(weekly(1), {"mood": "good"}).answers == first.answers
    assert series.ledger.spent == 1
    assert series.history().reports == 2


def test_the_questions_stay_when_an_answer_is_refused(tmp_path: Path) -> None:
    """Who could have them drawn again until they suit would make them depend on the record."""
    series = Series(Ledger(tmp_path / "ledger", cap=0.5), "all")
    for _ in range(3):
        with pytest.raises(BudgetError):
            series.randomise(weekly(0, MIXED), RECORD)
    assert len(rows(series.ledger, "questions")) == 1
    assert rows(series.ledger) == []
    assert series.ledger.spent == 0


def test_a_bad_record_leaves_no_trace(series: Series) -> None:
    with pytest.raises(hush.RecordError):
        series.randomise(weekly(0), {"mood": "purple"})
    assert series.ledger.spent == 0
    series.history()  # makes the tables
    assert rows(series.ledger) == rows(series.ledger, "questions") == []


def test_names_and_levels_are_checked(ledger: Ledger) -> None:
    assert Series(ledger, "x" * 128, 1025).name == "x" * 128
    for name in ("", "a\nb", "x" * 129, 5):
        with pytest.raises(LedgerError, match="name of a series"):
            Series(ledger, name)  # type: ignore[arg-type]
    for levels in (1, 0, 1026, 2.0, True, "3"):
        with pytest.raises(LedgerError, match="levels of a number must be an integer from 2 to 1025"):
            Series(ledger, "a", levels)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="levels of a number"):
            Series(ledger, "a", {"steps": levels})  # type: ignore[dict-item]
    with pytest.raises(LedgerError, match="'mood': levels are for numbers"):
        Series(ledger, "a", {"mood": 3}).randomise(weekly(0), {"mood": "good"})
    with pytest.raises(hush.SchemaError, match="no attribute is called 'stairs'"):
        Series(ledger, "a", {"stairs": 3}).randomise(weekly(0), {"mood": "good"})
    assert ledger.spent == 0


@pytest.mark.parametrize("kind", ["questions", "dither", "answer"])
def test_a_damaged_memory_is_refused(ledger: Ledger, kind: str) -> None:
    series = Series(ledger, "steps")
    series.randomise(weekly(0, STEPS), {"steps": 5})
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("update memories set value = '[much' where kind = ?", (kind,))
    connection.close()
    with pytest.raises(hush.StoreError):
        series.randomise(weekly(1, STEPS), {"steps": 5})


@pytest.mark.parametrize("order", [1, -1])
def test_nobody_answers_a_pilot_and_the_plan_that_follows_it(series: Series, order: int) -> None:
    pilot = weekly(1)
    first, second = [pilot, weekly(2, after=pilot)][::order]
    series.randomise(first, {"mood": "good"})
    with pytest.raises(BudgetError, match="answers one of both only"):
        series.randomise(second, {"mood": "good"})


def test_questions_that_were_drawn_before_are_refused(series: Series) -> None:
    plan = weekly(1)
    series.ledger.ask(plan)
    with pytest.raises(LedgerError, match="a series draws its own"):
        series.randomise(plan, {"mood": "good"})


def test_a_set_of_choices_at_once_is_refused(series: Series) -> None:
    plan = design(Schema([Choices("uses", [f"app {i}" for i in range(40)], 2)]), 1.0, choices="picks")
    with pytest.raises(LedgerError, match='design it with choices="members"'):
        series.levels(plan)
