"""Predictions for people among whose reports a relay mixes some of its own, and crowds for a central promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hush
from hush.core.blanket import blanket_of
from hush.server.own import expected
from hush.server.tally import with_own
from tests.planning import everybody

LABELS = ["x", "y", "z"]
MIXED = hush.Schema([hush.Numeric("a", 0, 1), hush.Categorical("b", LABELS), hush.Categorical("c", LABELS)])
OPTIONAL = hush.Schema([hush.Numeric("a", 0, 1, optional=True), hush.Categorical("b", LABELS, optional=True)])
WIDE = hush.Schema([hush.Numeric("a", 0, 1e6, scale="log")])
PLANS: dict[str, Any] = {
    "one question": lambda: hush.design(MIXED, 4.0),
    "several questions": lambda: hush.design(MIXED, 4.0, k=2),
    "weighted": lambda: hush.design(MIXED, 4.0, k="weighted", importance={"a": 9.0}),
    "sets": lambda: hush.design(MIXED, 1.0, categorical="oue"),
    "optional": lambda: hush.design(OPTIONAL, 4.0),
    "cells": lambda: hush.design(MIXED, 3.0, joint=[["b", "c"]]),
    "relations": lambda: hush.design(MIXED, 3.0, relations=[("b", "c"), ("a", "b")]),
    "optional groups": lambda: hush.design(OPTIONAL, 3.0, relations=[("a", "b")]),
}
GUESSES: dict[str, Any] = {
    "a": hush.Guess(0.4),
    "b": {"x": 0.2, "y": 0.3, "z": 0.5},
    "c": {"x": 0.6, "y": 0.1, "z": 0.3},
}
N, M = 1_000_000, 400_000


def guesses(plan: hush.Plan) -> dict[str, Any]:
    found = {name: GUESSES[name] for name in plan.schema.names}
    if plan.schema is OPTIONAL:
        found |= {"a": hush.Guess(0.4, missing=0.3), "b": GUESSES["b"] | {"z": 0.4, hush.MISSING: 0.1}}
    return found


def seen(plan: hush.Plan) -> hush.Estimates:
    """What a collector says if all counts are as expected: N people and M own reports."""
    people = everybody.expected(plan, N, guesses(plan))
    return hush.estimate(with_own(people + hush.Tally(plan, *expected(plan, M)), M))


@pytest.mark.parametrize("name", PLANS)
def test_a_prediction_is_what_the_collector_will_say(name: str) -> None:
    plan = PLANS[name]()
    rows = seen(plan)
    foretold = hush.predict(plan, N, own=M, guesses=guesses(plan))
    alone = hush.predict(plan, N, guesses=guesses(plan))
    assert [(row.attribute, row.category) for row in rows] == [(row.attribute, row.category) for row in foretold]
    for row, one, other in zip(rows, foretold, alone, strict=True):
        margin = (row.high - row.low) / 2
        if "groups" in name or (name, row.attribute) == ("relations", "a"):  # bounds: with own reports and without
            assert one.stderr > 0.98 * row.stderr
            assert one.margin > 0.98 * margin
        else:
            assert one.stderr == pytest.approx(row.stderr, rel=0.02), row
            assert one.margin == pytest.approx(margin, rel=0.02), row
        assert one.stderr > 1.01 * other.stderr  # the twin: without own reports it would be too small
        assert one.answers == other.answers


def test_the_noise_of_own_reports_is_that_of_their_law() -> None:
    """Draws from the exact laws: 2,000 surveys. A root mean square is within 8 %, which is five standard deviations."""
    plan = hush.design(hush.Schema([hush.Categorical("c", range(4))]), 4.0)
    n, m, runs = 300, 250, 2000
    channel, blanket = plan.questions[0].channel, blanket_of(plan).channels[0]
    rng = np.random.default_rng(2019)
    laws = [[float(channel.law(s)[y]) for y in range(4)] for s in range(4)]
    own = [float(blanket.least[y] / blanket.size) for y in range(4)]
    squares = {True: 0.0, False: 0.0}
    for _ in range(runs):
        people = np.sum([rng.multinomial(n // 4, law) for law in laws], axis=0)
        for mixed in squares:
            counts = people + rng.multinomial(m, own) if mixed else people
            tally = hush.Tally(plan, n + m * mixed, [n + m * mixed], [[int(count) for count in counts]])
            point = hush.estimate(with_own(tally, m) if mixed else tally)[0].point
            squares[mixed] += (point - 0.25) ** 2 / runs
    even = {"c": dict.fromkeys(range(4), 0.25)}
    sampling = 0.25 * 0.75 / n  # the people of this test are not drawn
    for mixed, square in squares.items():
        (foretold, *_) = hush.predict(plan, n, own=m * mixed, guesses=even)
        assert abs((square / (foretold.stderr**2 - sampling)) ** 0.5 - 1) < 0.08, mixed


def test_wide_numbers() -> None:
    plan = hush.design(WIDE, 2.0)
    margins = [hush.predict(plan, 10_000, own=own)[0].margin for own in (0, 1000, 10_000)]
    assert margins == sorted(margins)
    assert margins[2] > 1.05 * margins[0]


def test_as_many_people_as_a_margin_needs() -> None:
    plan = hush.design(hush.Schema([hush.Categorical("c", range(4))]), 4.0)
    for own in (0, 500):
        needed = hush.people_needed(plan, 0.05, own=own)
        assert max(row.margin for row in hush.predict(plan, needed, own=own)) <= 0.05
        assert max(row.margin for row in hush.predict(plan, needed - 1, own=own)) > 0.05
    assert hush.people_needed(plan, 0.05, own=500) > hush.people_needed(plan, 0.05)


@pytest.mark.parametrize("own", [0, 30])
def test_a_central_promise_needs_a_crowd_for_its_margin(own: int) -> None:
    """The plan depends on the crowd. With one person fewer, either the plan or the crowd is too small."""
    schema = hush.Schema([hush.Categorical("c", range(4))])
    promise: dict[str, Any] = {"central": 0.5, "delta": 1e-6, "local": 3.0}
    needed = hush.people_needed(schema, 0.2, own=own, **promise)

    def margin(people: int) -> float:
        hiding: dict[str, Any] = {"own": own} if own else {"crowd": people}
        plan = hush.design(schema, **promise, **hiding)
        return max(row.margin for row in hush.predict(plan, people, own=own))

    assert margin(needed) <= 0.2 < margin(needed - 1)
    assert needed > hush.people_needed(hush.design(schema, 3.0), 0.2)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"own": -1}, "own must be a whole number"),
        ({"own": True}, "own must be a whole number"),
        ({"central": 1.0, "delta": 1e-6}, "this plan is made already"),
    ],
)
def test_refusals(arguments: dict[str, Any], rule: str) -> None:
    plan = hush.design(MIXED, 1.0)
    with pytest.raises(hush.DesignError, match=rule):
        hush.people_needed(plan, 0.1, **arguments)
    if "own" in arguments:
        with pytest.raises(hush.DesignError, match=rule):
            hush.predict(plan, 10, **arguments)
    incomplete: tuple[dict[str, Any], ...] = ({}, {"central": 1.0}, {"delta": 1e-6})
    for missing in incomplete:
        with pytest.raises(hush.DesignError, match="a schema with central and delta"):
            hush.people_needed(MIXED, 0.1, **missing)


def test_a_relay_must_be_able_to_draw_own_reports() -> None:
    many = hush.design(hush.Schema([hush.Categorical("c", [str(i) for i in range(24)])]), 0.5, categorical="oue")
    with pytest.raises(hush.DesignError, match="a relay cannot add reports of its own"):
        hush.predict(many, 100, own=10)
