"""Intervals that hold at once: of all shares of an attribute none may miss, with the stated probability.

**False alarms.** Reports are drawn from the exact law of the channel. At a coverage of 0.942 (the least of a single
interval: `tests/statistical/test_coverage.py`), more than 50 of 300 crowds with a miss have a probability below 1e-9.
numpy's generator is seeded. The twin: intervals of which each holds alone miss in most crowds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hush import Categorical, EstimateError, Numeric, Schema, Tally, design, estimate

MANY = design(Schema([Categorical("town", [f"t{i}" for i in range(40)])]), 2.0, categorical="grr")
TRUE = [0.5, 0.3, 0.2, *([0.0] * 37)]
LAWS = np.array([[float(MANY.questions[0].channel.law(i).get(j, 0)) for j in range(40)] for i in range(40)])
RUNS, MOST = 300, 50


def crowd(world: np.random.Generator, people: int = 5000) -> Tally:
    """Return the reports of people whose towns have the shares `TRUE`."""
    counts = world.multinomial(people, np.array(TRUE) @ LAWS)
    return Tally(MANY, people, [people], [counts.tolist()])


def misses(simultaneous: bool) -> int:
    """Return the number of crowds with an interval that misses its share."""
    world = np.random.default_rng(40)
    return sum(
        any(not row.low <= true <= row.high for row, true in zip(rows, TRUE, strict=True))
        for rows in (estimate(crowd(world), simultaneous=simultaneous) for _ in range(RUNS))
    )


def test_all_of_them_hold_at_once() -> None:
    assert misses(simultaneous=True) <= MOST


def test_intervals_that_hold_one_by_one_do_not() -> None:
    assert misses(simultaneous=False) > RUNS / 2


def test_each_may_miss_with_its_part_of_what_is_allowed() -> None:
    tally = crowd(np.random.default_rng(1))
    assert [*estimate(tally, level=0.9, simultaneous=True)] == [*estimate(tally, level=1 - 0.1 / 40)]


def test_of_two_shares_one_is_the_other_and_means_stay() -> None:
    schema = Schema([Categorical("c", ["yes", "no"]), Numeric("x", 0, 1, optional=True)])
    for kind, same in (("grr", True), ("oue", False)):
        plan = design(schema, 2.0, categorical=kind)
        size = plan.questions[1].channel.alphabet.size
        tally = Tally(plan, 200, [100, 100], [[30, 70], [*([1] * (size - 1)), 101 - size]])
        each, together = estimate(tally), estimate(tally, simultaneous=True)
        assert (each[0] == together[0]) is same, "an answer of one bit says nothing about the other"
        assert [*each[2:]] == [*together[2:]]
        assert each[0].high - each[0].low <= together[0].high - together[0].low


@pytest.mark.parametrize("wrong", [1, 0, "yes"])
def test_it_is_wanted_or_not(wrong: Any) -> None:
    with pytest.raises(EstimateError, match="simultaneous must be True or False"):
        estimate(Tally(MANY), simultaneous=wrong)


def test_the_ends_of_a_level_with_as_many_categories_as_there_may_be() -> None:
    plan = design(Schema([Categorical("c", range(4096))]), 1.0, categorical="oue")
    tally = Tally(plan, 1000, [1000], [[300] * 4096])
    row = estimate(tally, level=1 - 1e-9, simultaneous=True)[0]
    assert 0 <= row.low <= row.point <= row.high <= 1
    assert row.high > estimate(tally, level=1 - 1e-9)[0].high
