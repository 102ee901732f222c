"""How far liars can have moved what cannot be told yet: by as much as there is, not by "nan"."""

from __future__ import annotations

import math

import pytest

import hush

SCHEMA = hush.Schema([hush.Numeric("x", 0, 1), hush.Numeric("y", 0, 1), hush.Categorical("c", ["a", "b"])])
PLAN = hush.design(SCHEMA, 8.0, relations=[("x", "y", "association"), ("x", "c", "means")])


@pytest.mark.parametrize("most", [1, 40])
def test_an_association_that_cannot_be_told_may_have_been_moved_from_end_to_end(most: int) -> None:
    """One answer to each question says too little; and 40 people with the same values lie on one side of the cut."""
    counts = [[most] + [0] * (question.channel.alphabet.size - 1) for question in PLAN.questions]
    tally = hush.Tally(PLAN, most * len(counts), [most] * len(counts), counts)
    found = hush.shifts(tally, 3)
    (one,) = [row for row in found if row.group is None and row.by == "y"]
    assert one.shift == 2.0
    assert all(row.shift >= 0 for row in found), "and the other relations are told as before"
    assert {row.by for row in found} == {"y", "c"}
    assert not any(math.isnan(row.shift) for row in found)
    (none,) = [row for row in hush.shifts(tally, 0) if row.by == "y"]
    assert none.shift == 0
