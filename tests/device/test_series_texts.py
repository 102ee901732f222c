"""A series about a text nobody listed: what repeats, what a changed word costs, and when a device falls silent."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

from hush import BudgetError, Ledger, Plan, Report, Schema, Series, Text, design
from hush.core.exact import exp_bounds
from tests.device.weeks import rows

TEXT = Text("word", 5, "english", bits=24)
SCHEMA = Schema([TEXT])
EPSILON = Fraction(2)
ALIKE = ("nurse", "nursy")  # their first 17 bits are the same, and the others differ


@lru_cache
def week(number: int, schema: Schema = SCHEMA) -> Plan:
    return design(schema, float(EPSILON), title=f"word, week {number}")


def answered(series: Series, *words: str | None, schema: Schema = SCHEMA) -> list[Report]:
    """The reports of some weeks that follow those of this series."""
    past = series.history().reports
    return [series.randomise(week(past + i, schema), {"word": word}) for i, word in enumerate(words)]


def devices(folder: Path, cap: float = 100) -> list[tuple[int, Series]]:
    """A device for each question, which was drawn once and stays. 40 devices miss one in 3 (2/3)^40 runs: 3e-7."""
    found: dict[int, Series] = {}
    for number in range(40):
        if len(found) == 3:
            break
        series = Series(Ledger(folder / f"{number}", cap=cap), "words")
        ((index, _),) = answered(series, "nurse")[0].answers
        found.setdefault(index, series)
    assert sorted(found) == [0, 1, 2]
    return sorted(found.items())


def test_the_questions_ask_for_prefixes_and_for_the_whole() -> None:
    assert [question.words for question in week(0).questions] == [
        "word: first 17 bits",
        "word: first 24 bits",
        "word: first 24 bits once more",
    ]
    one, other = (TEXT.encode(word) or 0 for word in ALIKE)
    assert one != other
    assert one >> 7 == other >> 7


def test_a_word_that_stays_is_answered_alike_and_costs_once(series: Series) -> None:
    reports = answered(series, *["nurse"] * 6, "Nurse ", "NURSE")  # spellings that count as one
    assert len({report.answers for report in reports}) == 1
    assert len({report.id for report in reports}) == 8
    assert series.ledger.spent == EPSILON
    history = series.history()
    assert (history.questions, history.states, history.fresh) == (1, 1, 8 * EPSILON)


def test_a_changed_word_costs_epsilon_once_more_and_an_old_one_nothing(tmp_path: Path) -> None:
    for _, series in devices(tmp_path):
        first, second, third, back, again = answered(series, "nurse", "cook", "pilot", "nurse", "cook")
        assert back.answers == first.answers
        assert again.answers == second.answers
        assert series.ledger.spent == 3 * EPSILON
        # Three answers out of 300,000: that all are the same happens in less than one run of 10^9.
        assert len({first.answers, second.answers, third.answers}) > 1
        assert len({index for report in (first, second, third, back) for index, _ in report.answers}) == 1


def test_a_word_costs_nothing_if_the_question_cannot_see_the_change(tmp_path: Path) -> None:
    """The state is what the question sees: a device that is asked for the first bits does not see the others."""
    for index, series in devices(tmp_path):
        one, other = answered(series, *ALIKE)
        assert series.ledger.spent == (EPSILON if index == 0 else 2 * EPSILON)
        if index == 0:
            assert one.answers == other.answers
        assert series.history().states == (1 if index == 0 else 2)


def test_the_cap_refuses_a_new_word_and_draws_nothing(tmp_path: Path) -> None:
    for index, series in devices(tmp_path, cap=4):
        known = answered(series, "nurse", "cook")
        kept = rows(series.ledger)
        for word in ("pilot", "baker"):
            with pytest.raises(BudgetError, match=r"costs 2\.0; of a cap of 4\.0 this device has spent 4\.0") as error:
                answered(series, word)
            assert word not in str(error.value)
        assert rows(series.ledger) == kept
        assert series.ledger.spent == 2 * EPSILON
        # Words that were answered before cost nothing, so they go on.
        assert [report.answers for report in answered(series, "nurse", "cook")] == [one.answers for one in known]
        series.ledger.raise_cap(6)
        ((asked, _),) = answered(series, "pilot")[0].answers
        assert (asked, series.ledger.spent) == (index, 3 * EPSILON)


def test_no_word_is_a_state_too(ledger: Ledger) -> None:
    series, schema = Series(ledger, "words"), Schema([Text("word", 5, "english", bits=24, optional=True)])
    nothing, empty, again = (report.answers for report in answered(series, None, "", None, schema=schema))
    assert nothing == again
    assert ledger.spent == 2 * EPSILON
    assert len(rows(ledger)) == 2
    assert empty


def test_what_is_charged_is_what_the_answers_can_show(series: Series) -> None:
    """m words are m draws, and no draw is more than e^epsilon times likelier under one word than under another.

    So all reports of two people whose words change in the same weeks have a ratio of at most e^(m epsilon), which is
    what the ledger charges. `test_memory.py` follows every path of that argument.
    """
    for m, word in enumerate(("nurse", "cook", "pilot"), 1):
        (report,) = answered(series, word)
        ((index, _),) = report.answers
        ratio = report.plan.questions[index].channel.ratio
        assert series.ledger.spent == m * EPSILON
        assert ratio**m <= exp_bounds(series.ledger.spent)[0]
        # And no less would do: with a thousandth less the bound would not hold.
        assert ratio**m > exp_bounds(series.ledger.spent * Fraction(999, 1000))[1]


def test_the_file_has_points_and_no_words(series: Series) -> None:
    answered(series, "nurse", "cook")
    assert b"nurse" not in series.ledger.path.read_bytes()
    ((index, _),) = answered(series, "nurse")[0].answers
    look = week(0).questions[index].views[0].look(SCHEMA)
    points = {f"[{look([TEXT.encode(word)])}]" for word in ("nurse", "cook")}
    assert {state for _, state, _ in rows(series.ledger)} == points
