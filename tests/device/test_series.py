"""A series in a ledger: what a year costs, one answer for each state whatever happens, and what is said about it."""

from __future__ import annotations

import json
import multiprocessing
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import (
    BudgetError,
    Categorical,
    History,
    Ledger,
    LedgerError,
    Numeric,
    Plan,
    RecordError,
    Schema,
    Series,
    design,
)
from hush.core.channels import Subset
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands, Product
from tests.cases import MIXED, RECORD, RELATED, small_rows, small_window

MOOD = Schema([Categorical("mood", ["good", "fair", "bad"])])
STEPS = Schema([Numeric("steps", 0, 20_000, optional=True)])


def weekly(week: int, schema: Schema = MOOD, epsilon: float = 1.0, **options: Any) -> Plan:
    return design(schema, epsilon, title=f"week {week}", **options)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", cap=10)


@pytest.fixture
def series(ledger: Ledger) -> Series:
    return Series(ledger, "mood")


def rows(ledger: Ledger, kind: str = "answer") -> list[tuple[str, str, str]]:
    connection = sqlite3.connect(ledger.path)
    try:
        return connection.execute(
            "select series, state, value from memories where kind = ? order by 1, 2", (kind,)
        ).fetchall()
    finally:
        connection.close()


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


# -- refusals


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


# -- several processes, and crashes


def answer(path: str, weeks: list[int], queue: Any) -> None:
    series = Series(Ledger(path, cap=5), "mood")
    queue.put({week: series.randomise(weekly(week), {"mood": ["good", "bad"][week % 2]}).encode() for week in weeks})


def test_processes_that_ask_at_once_have_one_memory(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    weeks = list(range(8))
    workers = [
        context.Process(target=answer, args=(str(tmp_path / "ledger"), weeks[i:] + weeks[:i], queue)) for i in range(3)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert results[0] == results[1] == results[2]
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.spent == 2
    assert len(rows(ledger)) == 2
    for parity in (0, 1):
        decoded = [hush.Report.decode(weekly(week), results[0][week]) for week in weeks if week % 2 == parity]
        assert len({report.answers for report in decoded}) == 1


KILLED = """
import sys, hush
schema = hush.Schema([hush.Categorical("mood", ["m%d" % i for i in range(100)])])
series = hush.Series(hush.Ledger(sys.argv[1], cap=1000), "mood")
week = int(sys.argv[2])
while True:
    report = series.randomise(hush.design(schema, 1.0, title=str(week)), {"mood": "m%d" % (week % 100)})
    print(week, report.encode().hex(), flush=True)
    week += 1
"""


def test_what_was_sent_is_remembered_after_kill_9(tmp_path: Path) -> None:
    """Every week is a new state. An answer that was returned is in the memory, with its cost, and nothing else is."""
    path = tmp_path / "ledger"
    seen = 0
    for round_ in range(3):
        worker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", KILLED, str(path), str(seen)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )
        assert worker.stdout is not None
        for _ in range(3 + round_):
            assert worker.stdout.readline().endswith("\n")
            seen += 1
        worker.send_signal(signal.SIGKILL)
        seen += worker.stdout.read().count("\n")
        worker.wait()
        worker.stdout.close()
        ledger = Ledger(path)
        history = Series(ledger, "mood").history()
        assert history.states == history.reports == ledger.spent == history.spent
        assert 0 <= history.reports - seen <= 1  # at most the one that was not yet returned
        seen = history.reports


def test_a_device_needs_the_standard_library_alone(tmp_path: Path) -> None:
    source = str(Path(hush.__file__).parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {source!r}); import hush\n"
        "series = hush.Series(hush.Ledger(sys.argv[1], cap=1), 'a')\n"
        "plan = hush.design(hush.Schema([hush.Categorical('c', ['x', 'y'])]), 1.0)\n"
        "series.randomise(plan, {'c': 'x'})\n"
        "print('random' in sys.modules, 'hush.server.tally' in sys.modules, 'hush.testing' in sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "ledger")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert result.stdout.split() == ["False", "False", "False"]


# -- relations: questions that share attributes, through views


def related_weekly(week: int, **options: Any) -> Plan:
    wishes: dict[str, Any] = {"relations": [("edu", "age"), ("edu", "region")], "bands": {"age": [24, 40]}}
    return design(RELATED, 1.0, title=f"week {week}", ranges={"age": 8}, **{**wishes, **options})


LIFE: dict[str, Any] = {"age": 30, "hours": None, "edu": "school", "region": "north"}


def test_a_year_of_relations_costs_epsilon_once_if_nothing_changes(series: Series) -> None:
    reports = [series.randomise(related_weekly(week), LIFE) for week in range(52)]
    assert len({report.answers for report in reports}) == 1  # one question, drawn once, and one answer
    assert series.ledger.spent == 1
    history = series.history()
    assert (history.reports, history.questions, history.states) == (52, 1, 1)


def test_the_most_that_a_question_can_cost_follows_from_what_it_sees(ledger: Ledger) -> None:
    schema = Schema([Numeric("x", 0, 1, optional=True), Categorical("c", [*"abc"])])

    def most(*asks: Any, **options: Any) -> Fraction:
        plan = Plan(schema, Fraction(1), 1, tuple(Question(views, channel) for views, channel in asks))
        return Series(ledger, "s", **options).most(plan)

    one = Fraction(1)
    alone = (["c"], grr(one, 3))
    assert most((["x"], small_window(one, 5, 2, True)), alone) == 3 + 1
    assert most((["x"], small_window(one, 5, 2, True)), alone, levels=5) == 5 + 1
    assert most(([Bands("x", (0.1, 0.2, 0.3))], grr(one, 5)), alone) == 5
    assert most((["c", "x"], small_rows(one, 3, 1, 3, 1, True)), alone) == 3 * (3 + 1)
    assert most((["c", "x"], small_rows(one, 3, 1, 3, 1, True)), alone, levels={"x": 2}) == 3 * (2 + 1)
    assert most(([Product(("x", "x"), (0.5, 0.5), 1.0)], small_window(one, 5, 2, True)), alone) == 3 + 1


def test_new_cuts_are_another_question_which_costs_again(series: Series) -> None:
    def plan(week: int, cut: float) -> Plan:
        schema = Schema([Numeric("age", 0, 100)])
        return Plan(schema, Fraction(1), 1, (Question([Bands("age", (cut,))], grr(Fraction(1), 2)),), f"week {week}")

    for week in range(3):
        series.randomise(plan(week, 40.0), {"age": 30 + week})  # one band
    assert series.ledger.spent == 1
    series.randomise(plan(3, 40.0), {"age": 41})
    assert series.ledger.spent == 2
    series.randomise(plan(4, 50.0), {"age": 41})
    assert series.ledger.spent == 3


def test_the_ledger_keeps_a_report_of_relations(ledger: Ledger) -> None:
    first = ledger.randomise(related_weekly(0), LIFE)
    assert ledger.randomise(related_weekly(0), LIFE | {"age": 90, "edu": "none"}) == first
    assert ledger.spent == 1
    assert ledger.randomise(related_weekly(1), LIFE) != first
    assert ledger.spent == 2


def test_an_attribute_defined_otherwise_is_refused_whatever_looks_at_it(series: Series) -> None:
    series.randomise(related_weekly(0), LIFE)
    other = Schema([Numeric("age", 16, 97), *RELATED.attributes[1:]])
    plan = design(other, 1.0, relations=[("age", "edu")], title="week 1")
    with pytest.raises(LedgerError, match=r"'age'.*another definition"):
        series.randomise(plan, LIFE)
    assert series.ledger.spent == 1
