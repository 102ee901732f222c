"""Who is asked what: the shares are the best ones, and nothing that is hopeless takes all people."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import pytest

import hush
from hush import Categorical, Choices, DesignError, Numeric, Schema, Text
from hush.core.design.shares import KEPT, Row, divided
from hush.core.views import Value


def total(rows: list[Row], shares: list[float]) -> float:
    """The sum of logarithms that is largest."""
    return sum(weight * math.log(sum(shares[j] * much for j, much in tells.items())) for weight, tells in rows)


def some_rows(world: random.Random, count: int) -> list[Row]:
    rows = [Row(world.random(), {j: world.random() + 0.1}) for j in range(count)]
    return rows + [Row(world.random(), {j: world.random() for j in range(count)}) for _ in range(3)]


@pytest.mark.parametrize("seed", range(4))
def test_no_other_shares_are_better(seed: int) -> None:
    """Of no two questions can one give some of its people to the other with gain. A twin with equal shares can."""
    world = random.Random(seed)
    rows = some_rows(world, 6)
    shares = divided(rows, 6)
    assert sum(shares) == pytest.approx(1)
    best, moved = total(rows, shares), []
    for i in range(6):
        for j in range(6):
            other = list(shares)
            other[i], other[j] = other[i] - 1e-4, other[j] + 1e-4
            if i != j and min(other) >= KEPT:
                moved.append(total(rows, other) - best)
    assert max(moved) < 1e-6
    assert total(rows, [1 / 6] * 6) < best


def test_equal_people_for_equal_questions() -> None:
    """If no question tells of two estimates, weights are shares, however noisy or scaled the questions are."""
    rows = [Row(weight, {j: 10.0**j}) for j, weight in enumerate((0.1, 0.2, 0.3, 0.4))]
    assert divided(rows, 4) == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_a_question_that_another_tells_better_keeps_next_to_nobody() -> None:
    shares = divided([Row(0.5, {0: 1.0, 1: 3.0}), Row(0.5, {1: 1.0})], 2)
    assert shares == pytest.approx([KEPT, 1 - KEPT])
    many = divided([Row(0.0, {j: 1.0}) for j in range(999)] + [Row(1.0, {999: 1.0})], 1000)
    assert sum(many[:999]) < 0.11
    assert min(many) > 0


def test_needs_come_first_and_are_cut_alike_if_they_are_too_much() -> None:
    rows = [Row(1.0, {j: 1.0}) for j in range(4)]
    assert divided(rows, 4, [0.5, 0.2, 0, 0]) == pytest.approx([0.5, 0.2, 0.15, 0.15], abs=0.01)
    assert divided(rows, 4, [0.9, 0.6, 0, 0]) == pytest.approx([0.6, 0.4, KEPT, KEPT], abs=0.003)


# -- plans

SURVEY = Schema(
    [
        Categorical("recommends", ["no", "yes"]),
        *[Numeric(f"scale {i}", 1, 7) for i in range(1, 5)],
        Categorical("team", [f"t{i}" for i in range(6)]),
        Categorical("tool", [f"o{i}" for i in range(12)]),
        Choices("features", [f"f{i}" for i in range(12)], most=12),
        Numeric("age", 16, 80),
    ]
)


def asked(plan: hush.Plan) -> dict[str, float]:
    """The share of the people who are asked about each attribute or relation."""
    found: dict[str, float] = {}
    for question, share in zip(plan.questions, plan.inclusions, strict=True):
        name = " by ".join(question.attributes)
        found[name] = found.get(name, 0.0) + float(share)
    return found


def test_one_relation_does_not_take_all_people() -> None:
    """Once it took 80 % whatever else was asked: of 494 people 422, and each feature was answered by 1 to 5."""
    plan = hush.design(SURVEY, 2.0, relations=[("scale 1", "age", "means")], bands={"age": [30, 45, 60]})
    shares = asked(plan)
    assert 0.5 <= shares["age by scale 1"] < 0.56
    assert 494 * shares["recommends"] > 26
    assert shares["features"] == pytest.approx(shares["recommends"], rel=0.01)
    assert shares["scale 1"] < shares["scale 2"], "the relation tells of it too"
    margins = {row.attribute: row.margin for row in hush.predict(plan, 494)}
    assert margins["scale 1"] < margins["scale 2"]


def test_all_relations_weigh_as_much_as_all_attributes() -> None:
    """One table among 40 attributes: with the weight of one of them its cells, and they, would be known far worse."""
    schema = Schema([*[Categorical(f"a{i}", ["x", "y"]) for i in range(38)], SURVEY["team"], SURVEY["tool"]])
    plan = hush.design(schema, 2.0, relations=[("team", "tool")])
    assert asked(plan)["team by tool"] > 0.5
    assert asked(plan)["a0"] == pytest.approx(0.0128, abs=0.0005)
    (cell,) = hush.foresee(plan, 20_000)
    assert cell.margin < 0.02


def test_importance_weighs_attributes_and_relations() -> None:
    wishes: dict[str, Any] = {"relations": [("team", "tool"), ("recommends", "age")], "bands": {"age": [40]}}
    plan = hush.design(SURVEY, 2.0, **wishes, importance={"scale 3": 3, ("tool", "team"): 2})
    plain = hush.design(SURVEY, 2.0, **wishes)
    assert asked(plan)["scale 3"] > 2.3 * asked(plain)["scale 3"]
    assert asked(plan)["team by tool"] > 1.2 * asked(plain)["team by tool"]
    with pytest.raises(DesignError, match="'scale 3': its importance must be a number"):
        hush.design(SURVEY, 2.0, **wishes, importance={"scale 3": -1})
    with pytest.raises(DesignError, match="some relation must be of importance"):
        hush.design(
            Schema([SURVEY["team"], SURVEY["tool"]]),
            2.0,
            relations=[("team", "tool")],
            importance={"team": 0, "tool": 0, ("team", "tool"): 0},
        )


@pytest.mark.parametrize("singles", [0.05, 0.2, 0.9])
def test_singles_fix_the_part_of_the_attributes(singles: float) -> None:
    plan = hush.design(SURVEY, 2.0, relations=[("team", "tool")], ranges=["age"], singles=singles)
    alone = sum(
        float(share)
        for question, share in zip(plan.questions, plan.inclusions, strict=True)
        if question.channel.kind not in ("cells", "rows") and "bands" not in question.words
    )
    assert alone == pytest.approx(singles, abs=1e-4)
    assert asked(plan)["team by tool"] == pytest.approx((1 - singles) / 2, abs=1e-3)


def test_a_range_divides_its_people_by_its_errors() -> None:
    plan = hush.design(Schema([Numeric("x", 0, 1)]), 2.0, ranges=["x"])
    shares = [float(share) for share in plan.inclusions]
    assert shares[0] == pytest.approx(0.5)
    assert max(shares[1:]) < 1.5 * min(shares[1:])


def test_two_associations_share_the_bit_of_a_number() -> None:
    schema = Schema([Numeric(name, 0, 1) for name in "abc"])
    plan = hush.design(schema, 2.0, relations=[("a", "b"), ("a", "c")], singles=0.1)
    bits = {question.words: float(share) for question, share in zip(plan.questions, plan.inclusions, strict=True)}
    assert bits["a in 2 bands"] == pytest.approx(2 * bits["b in 2 bands"], rel=0.01)


def test_wide_numbers_texts_and_long_lists_are_asked_too() -> None:
    schema = Schema(
        [
            Numeric("pay", 0, 1e7, scale="log"),
            Text("word", 8, "english"),
            Categorical("city", [f"c{i}" for i in range(600)]),
            Categorical("c", ["x", "y"]),
        ]
    )
    plan = hush.design(schema, 2.0, relations=[("pay", "c")])
    shares = asked(plan)
    assert shares["pay"] == pytest.approx(0.125, abs=0.01), "the relation tells of another mean of it"
    assert shares["word"] == pytest.approx(0.125, abs=0.01)
    assert shares["city"] == pytest.approx(0.125, abs=0.01)
    assert shares["c by pay"] > 0.5
    assert any(Value("city") in question.views for question in plan.questions)


# -- too few people


def test_relations_that_tell_nothing_are_left_out_with_a_warning() -> None:
    wishes: dict[str, Any] = {"relations": [("tool", "team"), ("recommends", "age", "means")], "people": 494}
    with pytest.warns(
        UserWarning, match=r"Left out, as 494 people would learn nothing of it: tool by team \(table\)"
    ) as told:
        plan = hush.design(SURVEY, 2.0, **wishes)
    assert "age by recommends" not in str(told[0].message)
    assert set(asked(plan)) == {*SURVEY.names, "recommends by age"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = hush.design(SURVEY, 2.0, **wishes, insist=True)
        assert "tool by team" in asked(kept)
        enough = hush.design(SURVEY, 2.0, **{**wishes, "people": 60_000})
        assert "tool by team" in asked(enough)
    cells = next(row for row in hush.foresee(kept, 494) if row.by == "team")
    assert cells.margin > 1 / 72, "it would have told nothing"
    cells = next(row for row in hush.foresee(enough, 60_000) if row.by == "team")
    assert cells.margin < 1 / 72


def test_a_warning_says_how_many_people_would_do() -> None:
    wishes: dict[str, Any] = {"relations": [("scale 1", "team")], "insist": True}
    with pytest.warns(UserWarning, match=r"any mean of a group would be possible; about ([\d,]+) people") as told:
        hush.design(SURVEY, 2.0, relations=[("scale 1", "team")], people=200)
    enough = int(str(told[0].message).split("about ")[1].split(" ")[0].replace(",", ""))
    plan = hush.design(SURVEY, 2.0, **wishes)
    assert hush.foresee(plan, round(0.8 * enough))[0].margin > 2.9
    assert hush.foresee(plan, round(1.3 * enough))[0].margin < 2.95


def test_without_relations_that_are_worth_asking_the_plan_is_an_ordinary_one() -> None:
    with pytest.warns(UserWarning, match="Left out"):
        plan = hush.design(
            SURVEY, 4.0, relations="all", bands={f"scale {i}": [3] for i in range(1, 5)} | {"age": [40]}, people=9
        )
    assert plan == hush.design(SURVEY, 4.0)
    with pytest.warns(UserWarning, match="Left out"):
        plan = hush.design(SURVEY, 4.0, relations=[("tool", "team")], importance={"age": 2}, people=9)
    assert plan == hush.design(SURVEY, 4.0, importance={"age": 2})


def test_of_relations_that_are_alike_the_last_ones_are_left_out() -> None:
    schema = Schema([Categorical(f"c{i}", list("abcde")) for i in range(5)])
    with pytest.warns(UserWarning, match="Left out"):
        plan = hush.design(schema, 2.0, relations=[("c0", "c1"), ("c1", "c2"), ("c2", "c3"), ("c3", "c4")], people=6000)
    assert [name for name in asked(plan) if " by " in name] == ["c0 by c1", "c1 by c2"]


def test_an_attribute_that_only_a_relation_asks_about_is_not_forgotten() -> None:
    schema = Schema([SURVEY["tool"], SURVEY["team"]])
    with pytest.raises(DesignError, match=r"'tool': too few people for its relation tool by team, .* or insist"):
        hush.design(schema, 1.0, relations=[("tool", "team")], people=100, singles=0)


def test_people_are_a_number() -> None:
    for people in (0, -1, 1.5, True):
        with pytest.raises(DesignError, match="people must be a whole number"):
            hush.design(SURVEY, 1.0, people=people)  # type: ignore[arg-type]
