"""A series of relations: questions that share attributes, through views."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from hush import Categorical, Ledger, LedgerError, Numeric, Plan, Schema, Series, design
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands, Product
from tests.cases import RELATED, small_rows, small_window


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
