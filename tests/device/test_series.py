"""A series in a ledger: what a year costs, one answer for each state, and what is said about it."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush import BudgetError, Categorical, History, Ledger, Numeric, Schema, Series, design
from tests.cases import MIXED, RECORD
from tests.device.weeks import MOOD, STEPS, rows, weekly

# -- a year


def test_a_year_costs_as_much_as_there_are_states(series: Series) -> None:
    moods = ["good"] * 30 + ["fair"] * 5 + ["good"] * 10 + ["bad"] * 2 + ["fair"] * 5
    reports = [series.randomise(weekly(week), {"mood": mood}) for week, mood in enumerate(moods)]
    assert len(reports) == 52
    assert series.ledger.spent == 3
    assert len({report.id for report in reports}) == 52
    assert {report.plan.title for report in reports} == {f"week {week}" for week in range(52)}
    for mood in ("good", "fair", "bad"):
        assert len({report.answers for report, known in zip(reports, moods, strict=True) if known == mood}) == 1


def test_a_year_of_fresh_reports_meets_the_cap(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=10)
    for week in range(10):
        ledger.randomise(weekly(week), {"mood": "good"})
    with pytest.raises(BudgetError, match=r"costs 1\.0; of a cap of 10\.0 this device has spent 10\.0"):
        ledger.randomise(weekly(10), {"mood": "good"})
    assert ledger.spent == 10
    ledger.raise_cap(100)
    for week in range(52):
        ledger.randomise(weekly(week), {"mood": "good"})
    assert ledger.spent == 52


def test_a_number_that_drifts_for_a_year_costs_its_levels_at_most(ledger: Ledger) -> None:
    for levels in (2, 3, 5):
        series = Series(ledger, f"steps {levels}", {"steps": levels})
        before = ledger.spent
        for week in range(52):
            plan = design(STEPS, 0.5, title=f"{levels} {week}")
            series.randomise(plan, {"steps": 20_000 * week / 51})  # from one end to the other: all levels
        assert ledger.spent - before == series.most(plan) - Fraction(1, 2) == levels * Fraction(1, 2)
        assert series.history().states == levels


def test_missing_is_a_state(ledger: Ledger) -> None:
    series = Series(ledger, "steps", 2)
    missing = [series.randomise(weekly(week, STEPS), {"steps": None}).answers for week in range(3)]
    series.randomise(weekly(3, STEPS), {"steps": 0})
    assert len(set(missing)) == 1
    assert [state for _, state, _ in rows(ledger)] == ["[0]", "[null]"]
    assert ledger.spent == 2


# -- what is kept


def test_a_plan_is_answered_once(series: Series) -> None:
    first = series.randomise(weekly(0), {"mood": "good"})
    assert series.randomise(weekly(0), {"mood": "bad"}) == first
    assert Series(Ledger(series.ledger.path), "mood").randomise(weekly(0), {}) == first
    assert series.ledger.randomise(weekly(0), {"mood": "bad"}) == first
    other = series.ledger.randomise(weekly(1), {"mood": "good"})  # a fresh one
    assert series.randomise(weekly(1), {"mood": "good"}) == other
    assert series.history() == History("mood", 2, 1, 1, Fraction(2), Fraction(2))  # it is seen, so it counts
    assert series.ledger.spent == 2


def test_the_questions_are_drawn_once_for_a_device(tmp_path: Path) -> None:
    asked = set()
    for device in range(40):
        series = Series(Ledger(tmp_path / f"{device}", cap=9), "all")
        one, two, three = (
            [index for index, _ in series.randomise(weekly(week, MIXED, k=2), RECORD).answers] for week in range(3)
        )
        assert one == two == three
        asked |= set(one)
        assert series.ledger.spent == 1
    assert asked == set(range(6))  # one is missed by all 40 with probability 6 (2/3)^40 = 5e-7


def test_equal_questions_share_answers_and_others_do_not(series: Series) -> None:
    known = series.randomise(weekly(0), {"mood": "good"}).answers[0][1]
    wider = Schema([*MOOD.attributes, Categorical("smokes", ["yes", "no"])])
    both = series.randomise(weekly(1, wider, 2.0, k=2), {"mood": "good", "smokes": "no"})
    assert both.answers[0] == (0, known)
    assert series.ledger.spent == 2  # the other question
    series.randomise(weekly(2, MOOD, 0.5), {"mood": "good"})  # another channel
    assert series.ledger.spent == Fraction(5, 2)
    Series(series.ledger, "another").randomise(weekly(4), {"mood": "good"})
    assert series.ledger.spent == Fraction(7, 2)


def test_dithers_are_not_shared(ledger: Ledger) -> None:
    """Two thresholds that hang together tell a number by the weeks in which it passes them."""
    other = Schema([Numeric("steps", 0, 40_000)])
    Series(ledger, "steps").randomise(weekly(0, STEPS), {"steps": 0})
    Series(ledger, "more").randomise(weekly(1, other), {"steps": 0})
    words = [value for _, _, value in rows(ledger, "dither")]
    assert len(words) == len(set(words)) == 2


def test_a_report_from_elsewhere_is_counted(series: Series) -> None:
    """The plan was answered afresh before: that report is handed out again, and is among those that were seen."""
    first = series.ledger.randomise(weekly(0), {"mood": "good"})
    assert series.randomise(weekly(0), {"mood": "good"}) == first
    found = series.history()
    assert (found.reports, found.spent) == (1, Fraction(1))
    assert "answered 'mood' once" in str(found)


def test_other_levels_are_other_states(ledger: Ledger) -> None:
    Series(ledger, "steps", 3).randomise(weekly(0, STEPS), {"steps": 0})
    Series(ledger, "steps", {"steps": 3}).randomise(weekly(1, STEPS), {"steps": 0})
    assert ledger.spent == 1
    Series(ledger, "steps", 5).randomise(weekly(2, STEPS), {"steps": 0})
    assert ledger.spent == 2
    assert len(rows(ledger, "dither")) == 2


def test_the_file_tells_the_states_and_no_names(series: Series) -> None:
    """It must know which answer belongs to which state: said in the documents, and so a fact."""
    series.randomise(weekly(0), {"mood": "fair"})
    assert [(name, json.loads(state)) for name, state, _ in rows(series.ledger)] == [("mood", [1])]
    assert b"fair" not in series.ledger.path.read_bytes()


OLD = """
create table settings (version integer not null, cap text not null) strict;
create table answers (plan text primary key, title text not null, epsilon text not null, report blob not null) strict;
insert into settings values (1, '5/2');
"""


def test_a_ledger_from_before_there_were_series_is_used(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger")
    connection.executescript(OLD)
    report = hush.randomise(weekly(0), {"mood": "good"})
    connection.execute("insert into answers values (?, ?, '1', ?)", (weekly(0).id, "week 0", report.encode()))
    connection.commit()
    connection.close()
    series = Series(Ledger(tmp_path / "ledger"), "mood")
    assert series.history().reports == 0
    assert series.randomise(weekly(0), {"mood": "good"}) == report
    series.randomise(weekly(1), {"mood": "good"})
    assert series.ledger.spent == 2
    with pytest.raises(BudgetError):
        series.randomise(weekly(2), {"mood": "bad"})


# -- what it can cost, and what it did, in words


def test_the_most_that_a_series_can_cost(ledger: Ledger) -> None:
    series = Series(ledger, "all", {"age": 9})
    # Two of: age 9, height 3, income 3 and missing, os 3, code 8, smokes 2 and missing; each answer costs 1/2.
    assert series.most(weekly(0, MIXED, k=2)) == Fraction(9 + 8, 2)
    together = weekly(0, Schema(MIXED.attributes[:2]), numeric="duchi-multi")  # one question: states multiply
    assert series.most(together) == 27


def test_the_total_is_said_in_plain_words(series: Series) -> None:
    assert str(series.history()) == "You have not answered 'mood' yet: it has cost nothing."
    series.randomise(weekly(0), {"mood": "good"})
    assert str(series.history()) == (
        "You have answered 'mood' once. Your answer was in one and the same state (that of a number is its level), so "
        "all of it together cost epsilon = 1; with fresh noise each time it would have been 1. After seeing all "
        "reports of this series, nobody's odds between two histories whose states change, and change back, at the "
        "same times move by more than a factor 2.8. Whether and when your state changed is not hidden."
    )
    series.randomise(weekly(1), {"mood": "good"})
    assert series.history() == History("mood", 2, 1, 1, spent=Fraction(1), fresh=Fraction(2))
    assert "You have answered 'mood' twice." in str(series.history())
    series.randomise(weekly(2), {"mood": "bad"})
    assert "Your answer was in 2 different states" in str(series.history())
    words = str(History("mood", 52, 2, 3, Fraction(3), Fraction(104)))
    assert "52 times. Your answers to 2 questions were in 3 different states" in words
    assert "epsilon = 3; with fresh noise each time it would have been 104" in words
    assert "factor 20.1." in words
    assert "factor 22,026.5." in str(History("mood", 52, 1, 10, Fraction(10), Fraction(52)))
    assert "factor 729,416.4." in str(History("mood", 52, 1, 10, Fraction(27, 2), Fraction(52)))
    for spent in (14, 65, 1000):  # e^14 is 1.2 million
        assert "factor that has more than six digits." in str(History("a", 52, 1, 9, Fraction(spent), Fraction(1)))
