"""The accountant as people call it: both promises, their order, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.core.channels import CHANNELS

NUMBER = hush.Schema([hush.Numeric("a", -1, 1)])


def category(size: int) -> hush.Schema:
    return hush.Schema([hush.Categorical("c", [str(i) for i in range(size)])])


YES_NO = hush.design(category(2), 2.0)


@pytest.mark.parametrize("epsilon", [4.0, 6.0])
@pytest.mark.parametrize("schema", [NUMBER, category(4), category(16)], ids=["number", "4", "16"])
@pytest.mark.parametrize("people", [10**4, 10**9])
def test_no_proof_can_be_a_thousandth_better(schema: hush.Schema, epsilon: float, people: int) -> None:
    found = hush.shuffle(hush.design(schema, epsilon), crowd=people, delta=0.01 / people)
    assert 0 < found.lower < found.epsilon < found.lower * 1.001
    assert found.epsilon < found.local / 2 < epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("schema", [NUMBER, category(3), category(16)], ids=["number", "3", "16"])
def test_elsewhere_no_proof_can_be_a_fifth_better(schema: hush.Schema, epsilon: float) -> None:
    found = hush.shuffle(hush.design(schema, epsilon), crowd=10**5, delta=1e-7)
    assert found.lower < found.epsilon < found.lower * 1.2


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 5.0, 6.0])
@pytest.mark.parametrize("people", [10**4, 10**9])
def test_the_bounds_of_yes_or_no_are_farther_apart(epsilon: float, people: int) -> None:
    """docs/shuffle.md and decision 22: within 1.43."""
    found = hush.shuffle(hush.design(category(2), epsilon), crowd=people, delta=0.01 / people)
    assert found.lower < found.epsilon < found.lower * 1.43


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("kind", [hush.Numeric("a", 0, 1), hush.Categorical("a", ["yes", "no"])], ids=["number", "yes"])
def test_the_bounds_of_several_answers_are_farther_apart(kind: Any, epsilon: float) -> None:
    """docs/shuffle.md: within 1.7 for five numbers or five yes-or-no answers in a report."""
    schema = hush.Schema([dataclasses.replace(kind, name=f"a{i}") for i in range(5)])
    found = hush.shuffle(hush.design(schema, epsilon, k="all"), crowd=10**5, delta=1e-7)
    assert found.lower < found.epsilon < found.lower * 1.7


KNOWN = {  # of another implementation, with floats and a Fourier transform: local epsilon, people -> central epsilon
    ("number", 4.0, 10**4): 0.404,
    ("number", 6.0, 10**5): 0.402,
    ("yes/no", 2.0, 10**5): 0.0387,
    ("4", 1.0, 10**6): 0.0040,
}


@pytest.mark.parametrize(("kind", "epsilon", "people"), KNOWN)
def test_known_values(kind: str, epsilon: float, people: int) -> None:
    schema = {"number": NUMBER, "yes/no": category(2), "4": category(4)}[kind]
    found = hush.shuffle(hush.design(schema, epsilon), crowd=people, delta=0.01 / people)
    assert math.isclose(found.epsilon, KNOWN[kind, epsilon, people], rel_tol=0.02)


def test_more_people_a_larger_delta_and_a_smaller_epsilon_hide_better() -> None:
    def epsilon(plan: hush.Plan = YES_NO, people: int = 1000, delta: float = 1e-5) -> float:
        return hush.shuffle(plan, crowd=people, delta=delta).epsilon

    crowds = [epsilon(people=n) for n in (1, 10, 1000, 10**8)]
    assert crowds == sorted(crowds, reverse=True)
    deltas = [epsilon(delta=d) for d in (1e-12, 1e-6, 1e-2)]
    assert deltas == sorted(deltas, reverse=True)
    locals_ = [epsilon(hush.design(category(2), e)) for e in (0.5, 2.0, 4.0)]
    assert locals_ == sorted(locals_)
    own = [hush.shuffle(YES_NO, own=m, delta=1e-6).epsilon for m in (10, 46, 10**5)]
    assert own == sorted(own, reverse=True)
    assert own[1] <= 1 < own[0]  # as another implementation found


def test_a_crowd_of_one_is_nobody_else() -> None:
    found = hush.shuffle(YES_NO, crowd=1, delta=1e-6)
    assert found.epsilon <= found.local
    assert math.isclose(found.epsilon, 2.0, rel_tol=1e-3)


def test_a_delta_that_is_large_needs_no_epsilon() -> None:
    assert hush.shuffle(YES_NO, crowd=10**6, delta=0.5).epsilon == 0


PLANS: dict[str, Any] = {
    "window": lambda: hush.design(NUMBER, 2.0),
    "optional": lambda: hush.design(hush.Schema([hush.Numeric("a", 0, 1, optional=True)]), 2.0),
    "ladder": lambda: hush.design(hush.Schema([hush.Numeric("a", 0, 1e6, scale="log")]), 2.0),
    "mixture": lambda: hush.design(NUMBER, 2.0, numeric="hybrid"),
    "additive": lambda: hush.design(NUMBER, 2.0, numeric="laplace"),
    "subset": lambda: hush.design(category(20), 2.0),
    "unary": lambda: hush.design(category(20), 2.0, categorical="oue"),
    "signs": lambda: hush.design(_numbers(4), 2.0, numeric="duchi-multi"),
    "cube": lambda: hush.design(_numbers(6), 2.0, numeric="cube"),
    "cells": lambda: hush.design(_mixed(), 2.0, joint=[["b", "c"]]),
    "rows": lambda: hush.design(_mixed(), 2.0, relations=[("c", "a"), ("b", "c")]),
    "two of three": lambda: hush.design(_mixed(), 2.0, k=2),
    "all": lambda: hush.design(_mixed(), 2.0, k="all"),
    "weighted": lambda: hush.design(_mixed(), 2.0, k="weighted"),
}


def _numbers(d: int) -> hush.Schema:
    return hush.Schema([hush.Numeric(f"a{i}", 0, 1) for i in range(d)])


def _mixed() -> hush.Schema:
    labels = ["x", "y", "z"]
    return hush.Schema([hush.Numeric("a", 0, 1), hush.Categorical("b", labels), hush.Categorical("c", labels)])


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_plan(name: str) -> None:
    plan = PLANS[name]()
    if name in CHANNELS:
        assert name in {question.channel.kind for question in plan.questions}
    found = hush.shuffle(plan, crowd=10_000, delta=1e-6)
    assert 0 < found.lower < found.epsilon < 0.16  # clones, for any channel: 0.155
    own = hush.shuffle(plan, own=1000, delta=1e-6)
    assert own.lower < own.epsilon < 0.6
    loose = name in ("additive", "rows", "two of three", "all")
    assert (own.lower == 0) == loose
    if not loose:
        assert own.epsilon < own.lower * 1.001


def test_batches_add_up() -> None:
    one = hush.shuffle(YES_NO, crowd=1000, delta=1e-5)
    four = hush.shuffle(YES_NO, crowd=1000, delta=1e-5, batches=4)
    assert one.epsilon * 1.5 < four.epsilon < one.epsilon * 4
    assert four.local == 4 * one.local
    assert hush.compose(one, one, one, one, delta=1e-5) == four.epsilon
    other = hush.shuffle(hush.design(category(3), 1.0), own=500, delta=1e-5)
    assert hush.compose(one, other, delta=1e-5) > max(one.epsilon, other.epsilon)


def test_one_batch_is_a_composition_of_one() -> None:
    one = hush.shuffle(YES_NO, crowd=1000, delta=1e-5)
    assert one.epsilon * 0.999 < hush.compose(one, delta=1e-5) < one.epsilon * 1.01


def test_both_promises_are_shown_together() -> None:
    text = str(hush.shuffle(YES_NO, crowd=1000, delta=1e-5))
    assert "anybody, whatever they do" in text
    assert "do not work together" in text
    assert "1,000 people answer honestly" in text
    own = str(hush.shuffle(YES_NO, own=50, delta=1e-5))
    assert "50 reports of its own" in own
    assert "may lie" in own


# -- refusals


def test_reports_that_can_be_told_apart_are_refused() -> None:
    with pytest.raises(hush.DesignError, match="tickets name every report"):
        hush.shuffle(YES_NO, crowd=1000, delta=1e-6, tickets=True)
    with pytest.raises(hush.DesignError, match="series"):
        hush.shuffle(YES_NO, crowd=1000, delta=1e-6, series=True)


JUNK = st.one_of(st.none(), st.booleans(), st.text(), st.floats(), st.integers(max_value=0), st.lists(st.integers()))


@given(people=JUNK)
@settings(max_examples=30)
def test_people_must_be_a_number_of_people(people: Any) -> None:
    with pytest.raises(hush.DesignError, match="crowd"):
        hush.shuffle(YES_NO, crowd=people, delta=1e-6)


@given(delta=st.one_of(JUNK.filter(lambda x: not (isinstance(x, float) and 0 < x < 1)), st.floats(min_value=1)))
@settings(max_examples=50)
def test_delta_must_be_a_probability(delta: Any) -> None:
    with pytest.raises(hush.DesignError, match="delta must be a number between 0 and 1"):
        hush.shuffle(YES_NO, crowd=10, delta=delta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"crowd": 10, "own": 10}, "either crowd"),
        ({}, "either crowd"),
        ({"own": 0}, "own"),
        ({"crowd": 10**13}, "crowd"),
        ({"crowd": 10, "batches": 0}, "batches"),
    ],
)
def test_other_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hush.DesignError, match=message):
        hush.shuffle(YES_NO, delta=1e-6, **arguments)


def test_other_bad_objects() -> None:
    with pytest.raises(hush.DesignError, match="must be a Plan"):
        hush.shuffle(NUMBER, crowd=10, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(hush.DesignError, match="results of hush"):
        hush.compose(delta=1e-6)


# -- designs


def test_a_plan_for_a_central_promise() -> None:
    plan = hush.design(category(4), central=0.5, delta=1e-6, crowd=2000)
    assert hush.shuffle(plan, crowd=2000, delta=1e-6).epsilon <= 0.5
    more = hush.design(category(4), round(plan.epsilon + 0.001, 3))
    assert hush.shuffle(more, crowd=2000, delta=1e-6).epsilon > 0.5


def test_the_local_promise_is_kept_too() -> None:
    assert hush.design(category(4), central=0.5, delta=1e-6, crowd=10**7, local=2.0).epsilon == 2.0
    assert hush.design(category(4), central=3.0, delta=1e-6, crowd=10**7, local=2.0).epsilon == 2.0
    assert hush.design(category(4), central=0.5, delta=1e-6, own=1).epsilon >= 0.5


@pytest.mark.parametrize("bad", [{"central": 0.0}, {"central": True}, {"local": 17.0}, {"local": "4"}, {"own": 3}])
def test_bad_wishes(bad: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"central": 1.0, "delta": 1e-6, "crowd": 100} | bad
    with pytest.raises(hush.DesignError, match="|".join(["central", "local", "own"])):
        hush.design(category(2), **arguments)
