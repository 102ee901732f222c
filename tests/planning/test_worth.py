"""What each question will be worth: the numbers of the predictions, and a verdict."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import hush
from hush import Categorical, Choices, DesignError, Numeric, Schema, Text
from tests.server.test_frequent import counted, crowd
from tests.server.test_frequent import plan as plan_of_words

SCHEMA = Schema(
    [
        Categorical("recommends", ["no", "yes"]),
        Numeric("sat", 1, 7),
        Categorical("team", [f"t{i}" for i in range(6)]),
        Choices("uses", list("abcdefgh"), most=4),
        Text("word", 8, "english"),
        Numeric("pay", 0, 1e6, scale="log", optional=True),
        hush.Date("born", "1940-01-01", "2010-12-31"),
    ]
)
PLAN = hush.design(SCHEMA, 2.0, relations=[("sat", "team"), ("recommends", "team"), ("sat", "born")], ranges=["sat"])


def test_every_question_has_a_row_with_the_numbers_of_the_predictions() -> None:
    rows = hush.worth(PLAN, 50_000)
    names = [(row.attribute, row.by) for row in rows]
    related = [("sat", "team"), ("recommends", "team"), ("sat", "born"), ("sat", "")]
    assert names == [*((name, "") for name in SCHEMA.names), *related]
    assert sum(row.share for row in rows) == pytest.approx(1, abs=0.1), "some cuts of associations are not counted"
    predicted = hush.predict(PLAN, 50_000)
    for row in rows[: len(SCHEMA)]:
        if row.attribute == "word":
            (floor,) = hush.floors(PLAN, 50_000)
            assert (row.margin, row.worst) == (floor.floor, None)
            continue
        mine = [one.margin for one in predicted.of(row.attribute) if one.category != hush.MISSING]
        assert row.margin == max(mine)
        assert row.people == pytest.approx(50_000 * row.share)
    foreseen = hush.foresee(PLAN, 50_000)
    for row in rows[len(SCHEMA) :]:
        found = [one for one in foreseen if (one.attribute, one.by) == (row.attribute, row.by)]
        assert sorted(one.margin for one in found)[len(found) // 2] == row.margin
        assert row.worst == max(one.worst for one in found)
    assert {row.verdict for row in rows} == {""}


def test_verdicts() -> None:
    few = {(row.attribute, row.by): row.verdict for row in hush.worth(PLAN, 60)}
    assert {*few.values()} == {"nothing"}
    some = {(row.attribute, row.by): row.verdict for row in hush.worth(PLAN, 2000)}
    assert some["recommends", ""] == ""
    assert some["team", ""] == ""
    assert some["word", ""] == "little"
    assert some["sat", "team"] == "little"
    table = {(row.attribute, row.by): row for row in hush.worth(PLAN, 4000)}["recommends", "team"]
    assert (table.margin < 1 / 12, table.verdict) == (True, "")
    table = {(row.attribute, row.by): row for row in hush.worth(PLAN, 500)}["recommends", "team"]
    assert (table.margin > 1 / 12, table.verdict) == (True, "nothing")
    text = str(hush.worth(PLAN, 500))
    assert "If 500 people answer." in text
    assert "nothing: intervals hold all that is possible" in text
    assert "Tables and means by group tell of their attributes too" in text


def test_a_list_of_which_only_frequent_values_show_is_worth_little() -> None:
    plan = hush.design(Schema([Categorical("c", [f"v{i}" for i in range(40)])]), 2.0)
    assert [row.verdict for row in hush.worth(plan, 500)] == ["little"]
    assert "little: only values that many people hold" in str(hush.worth(plan, 500))
    assert "tell of their attributes" not in str(hush.worth(plan, 500))


def test_an_attribute_that_is_asked_through_bands_alone_has_no_row() -> None:
    schema = Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b"])])
    plan = hush.design(schema, 2.0, relations=[("x", "c", "table")], bands={"x": [0.5]}, singles=0)
    assert [(row.attribute, row.by) for row in hush.worth(plan, 1000)] == [("c", ""), ("x", "c")]


def test_questions_about_several_attributes_and_several_answers() -> None:
    schema = Schema([Categorical("a", ["x", "y"]), Categorical("b", ["x", "y"]), Numeric("n", 0, 1)])
    plan = hush.design(schema, 4.0, joint=[["a", "b"]])
    assert [row.attribute for row in hush.worth(plan, 1000)] == ["a", "b", "n", "a"]
    every = hush.worth(hush.design(schema, 4.0, k="all"), 1000)
    assert [row.people for row in every] == [1000, 1000, 1000]


def test_a_wide_number_in_a_relation_is_worth_what_its_clipped_mean_is() -> None:
    """The relation's answers tell of the mean of all, with a margin as wide as the range is."""
    schema = Schema([Numeric("pay", 0, 1e6, scale="log", optional=True), Categorical("c", ["a", "b"])])
    plan = hush.design(schema, 4.0, relations=[("pay", "c")])
    rough, clipped = (row.margin for row in hush.predict(plan, 8000) if (row.attribute, row.category) == ("pay", None))
    assert clipped < rough / 3
    row = hush.worth(plan, 8000)[0]
    assert (row.attribute, row.margin, row.verdict) == ("pay", clipped, "")
    lines = [line for line in str(hush.predict(plan, 8000)).splitlines() if line.startswith("pay")]
    assert ["clipped mean" in line for line in lines] == [False, False, True, False]
    modest = hush.design(schema, 4.0, relations=[("pay", "c")], people=8000, margins={"pay": 0.8 * clipped})
    assert hush.worth(modest, 8000)[0].margin == pytest.approx(0.8 * clipped, rel=0.03)


def test_dates_are_off_by_days() -> None:
    text = str(hush.worth(PLAN, 50_000))
    (line,) = (line for line in text.splitlines() if line.startswith("born"))
    assert "days" in line


# -- texts


def test_floors_fall_with_people_and_are_1_for_a_few() -> None:
    plan = hush.design(Schema([Text("word", 8, "english", optional=True)]), 4.0)
    found = [hush.floors(plan, people)[0].floor for people in (5, 1000, 10_000, 100_000, 10**7)]
    assert found[0] == 1
    assert all(a > b for a, b in pairwise(found))
    assert found[-2] / found[-1] == pytest.approx(10, rel=0.1), "with the square root of the people"
    assert "none: too few people answer" in str(hush.floors(plan, 5))
    assert "% of the people hold it" in str(hush.floors(plan, 10_000))
    assert not hush.floors(hush.design(Schema([Numeric("x", 0, 1)]), 1.0), 100)
    with pytest.raises(DesignError, match="people must be"):
        hush.floors(plan, 0)


def test_a_floor_is_the_one_that_a_search_finds() -> None:
    """At that share every second collection finds a text: tests/server/test_frequent.py."""
    people = crowd(30_000)
    told = hush.frequent(counted(plan_of_words(), people, 1), "word", 1000).floor
    (row,) = hush.floors(plan_of_words(), people.total())
    assert 0.9 < row.floor / told < 1.15
    assert row.answers < people.total() / 2


def test_a_second_round_has_a_floor_too() -> None:
    from hush.planning.texts import second_round

    plan = hush.design(Schema([Text("word", 8, "english")]), 4.0)
    second = second_round(hush.Tally(plan), "word", 4.0, texts=["nurse", "cook", "law"])
    (row,) = hush.floors(second, 3000)
    assert 0 < row.floor < 0.05
    assert math.isclose(row.answers, 3000)
    assert [one.attribute for one in hush.worth(second, 3000)] == ["word"]
