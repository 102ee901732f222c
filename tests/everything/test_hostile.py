"""Tallies of liars: everything that can be asked of one answers, or refuses in words. Fixed seeds, so no false alarm.

`python -m tests.everything.hostile --cases 200` looks at more of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import hush
from hush.server.changes import Change
from hush.server.estimates import Estimate
from tests.everything.hostile import faults, search

FEW = (2, 17)  # a number that may be missing with a range; a cube
MANY = range(100, 112)
SCHEMA = hush.Schema([hush.Numeric("a", 0, 10), hush.Categorical("b", ["x", "y"])])
ROW = Estimate("a", None, 5.0, 1.0, 3.0, 7.0, 100)


@pytest.mark.parametrize("seed", FEW)
def test_a_few_liars(seed: int) -> None:
    made, found = search([seed], lambda _: None)
    assert made > 200
    assert not found


@pytest.mark.parametrize("seed", MANY)
def test_many_liars(seed: int) -> None:
    assert not search([seed], lambda _: None)[1]


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, low=7.5, high=3.0),
        replace(ROW, point=8.0),
        replace(ROW, low=math.nan),
        replace(ROW, high=math.inf),
        replace(ROW, stderr=math.nan),
        replace(ROW, point=math.nan),
        replace(ROW, point=math.inf),
        replace(ROW, point=math.nan, needed=50),
        Change("a", None, 1.0, 2.0, -6.79, 1.0, 0.0, 10.0, None),
    ],
)
def test_rows_that_cannot_be_are_noticed(row: Any) -> None:
    assert list(faults(SCHEMA, [row]))


def test_good_rows_are_none() -> None:
    refused = replace(ROW, point=math.nan, stderr=math.nan, answers=3, needed=50)
    assert not list(faults(SCHEMA, hush.Estimates([ROW, replace(ROW, point=12.0, high=10.0)])))
    assert [fault for fault in faults(SCHEMA, [replace(refused, stderr=1.0)]) if "needed" in fault] == []


def test_an_estimator_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(hush, "manipulation", broken)
    made, found = search(FEW[:1], lambda _: None)
    assert made > 200
    assert sum(times for name, times in found.items() if "manipulation" in name) > 10
