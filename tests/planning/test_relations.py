"""Predictions of relations: the expected tally has the expected counts, and what is predicted comes true."""

from __future__ import annotations

import math
import random

import pytest

import hush
from hush import DesignError
from hush.device.randomise import randomise_from
from hush.planning.relations import expected, needs
from hush.testing import SeededCoins

SCHEMA = hush.Schema(
    [
        hush.Categorical("plan", ["free", "team", "business"]),
        hush.Categorical("region", ["north", "south"], optional=True),
        hush.Numeric("age", 0, 100),
        hush.Numeric("hours", 0, 60, optional=True),
    ]
)
RELATIONS = [("plan", "region"), ("age", "plan"), ("age", "hours"), ("hours", "age", "means")]
PLAN = hush.design(SCHEMA, 2.0, relations=RELATIONS, bands={"age": [30.0, 60.0]}, ranges={"age": 64})


def test_every_relation_and_range_has_a_row() -> None:
    rows = hush.foresee(PLAN, 50_000)
    found = {(row.attribute, row.by): row for row in rows}
    assert {*found} == {("plan", "region"), ("age", "plan"), ("age", "hours"), ("hours", "age"), ("age", "")}
    assert found["plan", "region"].estimate == "each of 9 cells"
    assert all(0 < row.stderr < row.margin < math.inf for row in rows)
    assert sum(row.answers for row in rows) < 50_000


def test_four_times_the_people_halve_the_margins() -> None:
    for few, many in zip(hush.foresee(PLAN, 100_000), hush.foresee(PLAN, 400_000), strict=True):
        assert many.margin == pytest.approx(few.margin / 2, rel=0.05)


def test_the_expected_tally_is_the_average_of_real_ones() -> None:
    """The estimates from the expected counts are the assumed shares, whatever the noise."""
    shares = {"free": 0.7, "team": 0.2, "business": 0.1}
    tally = expected(PLAN, 10**9, {"plan": shares})
    for row in hush.estimate(tally):
        if row.attribute == "plan":
            assert row.point == pytest.approx(shares[str(row.category)], abs=1e-6)
    assert hush.means(tally, "age", by="plan")[0].point == pytest.approx(50, abs=0.05)


def test_predictions_come_true() -> None:
    """The mean square of 60 errors of a cell is chi-squared: within a factor of 1.9 of the prediction, but for 1e-6."""
    plan = hush.design(SCHEMA, 4.0, relations=[("plan", "region", "table")], singles=0.5)
    coins, world = SeededCoins(7), random.Random(7)
    people, errors = 300, []
    for _ in range(60):
        tally = hush.Tally(plan)
        for _ in range(people):
            record = {
                "plan": world.choice(["free", "team", "business"]),
                "region": world.choice(["north", "south", None]),
                "age": world.uniform(0, 100),
                "hours": world.uniform(0, 60),
            }
            tally.add(randomise_from(coins, plan, record))
        errors.append(hush.crosstab(tally, "plan", "region")[4].point - 1 / 9)
    (row,) = hush.foresee(plan, people)
    found = math.sqrt(sum(error * error for error in errors) / len(errors))
    assert 1 / 1.9 < found / row.stderr < 1.9
    assert not 1 / 1.9 < found / (3 * row.stderr) < 1.9  # three times the error would be noticed


def test_a_plan_without_relations_has_no_rows() -> None:
    assert not hush.foresee(hush.design(SCHEMA, 1.0), 1000)
    assert needs(hush.design(SCHEMA, 1.0)) == []


def test_few_people_are_too_few() -> None:
    rows = hush.foresee(PLAN, 3)
    assert any(math.isinf(row.margin) for row in rows)


def test_moments_without_means_are_refused() -> None:
    """Such a plan was made, could never be read, and its prediction blamed the number of people."""
    with pytest.raises(DesignError, match="'age': moments need its mean too, so singles must be above 0"):
        hush.design(SCHEMA, 2.0, relations=[("plan", "region"), ("age", "hours", "moments")], singles=0)
    (row,) = hush.foresee(hush.design(SCHEMA, 2.0, relations=[("age", "hours", "moments")]), 10**6)
    assert (row.estimate, row.margin < 0.1) == ("correlation from moments", True)


def test_needs_are_sentences_that_grow_with_the_relations() -> None:
    schema = hush.Schema([hush.Categorical(f"c{i}", ["a", "b", "c", "d", "e"]) for i in range(4)])
    one = needs(hush.design(schema, 1.0, relations=[("c0", "c1")]))
    every = needs(hush.design(schema, 1.0, relations="all"))
    assert one[0].startswith("1 table: margins of 3 points need about ")
    assert every[0].startswith("6 tables: margins of 3 points need about ")
    few, many = (int(text.split("about ")[1].split(" ")[0].replace(",", "")) for text in (one[0], every[0]))
    assert many > 3 * few


@pytest.mark.parametrize("people", [0, -1, 1.5, True])
def test_people_are_a_whole_number(people: object) -> None:
    with pytest.raises(DesignError, match="people must be a whole number"):
        hush.foresee(PLAN, people)  # type: ignore[arg-type]


def test_bad_guesses_name_the_attribute() -> None:
    with pytest.raises(DesignError, match="'plan': a guess is a mapping"):
        hush.foresee(PLAN, 1000, guesses={"plan": {"unknown": 0.5}})
    with pytest.raises(DesignError, match="'plan': shares are from 0 to 1"):
        hush.foresee(PLAN, 1000, guesses={"plan": {"free": 1.5}})
    with pytest.raises(DesignError, match="'age': a guess is a Guess"):
        hush.foresee(PLAN, 1000, guesses={"age": {"x": 1.0}})
