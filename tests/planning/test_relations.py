"""Predictions of relations: the expected tally has the expected counts, and every relation is foreseen."""

from __future__ import annotations

import math
from typing import Any

import pytest

import hush
from hush import Categorical, Choices, DesignError, Guess, Numeric, Schema, Text
from hush.planning.asked import kind_of
from hush.planning.expected import Crowd
from hush.planning.relations import needs
from hush.server.binomial import beta
from tests.planning.everybody import expected

SCHEMA = Schema(
    [
        Categorical("plan", ["free", "team", "business"]),
        Categorical("region", ["north", "south"], optional=True),
        Numeric("age", 0, 100),
        Numeric("hours", 0, 60, optional=True),
    ]
)
RELATIONS = [("plan", "region"), ("age", "plan"), ("age", "hours"), ("hours", "age", "means")]
PLAN = hush.design(SCHEMA, 2.0, relations=RELATIONS, bands={"age": [30.0, 60.0]}, ranges={"age": 64})


def test_every_relation_and_range_is_foreseen_and_every_group() -> None:
    rows = hush.foresee(PLAN, 50_000)
    found = {(row.attribute, row.by, row.group): row for row in rows}
    ages = ["up to 30", "30 to 60", "above 60"]
    assert list(found) == [
        ("plan", "region", None),
        *(("age", "plan", group) for group in ("free", "team", "business")),
        ("age", "hours", None),
        *(("hours", "age", group) for group in ages),
        ("age", "", None),
    ]
    assert found["plan", "region", None].estimate == "each of 9 cells"
    assert found["age", "", None].estimate == "share below each of 63 cuts"
    assert all(0 < row.stderr < row.margin < row.worst < math.inf for row in rows)
    assert sum({(row.attribute, row.by): row.answers for row in rows}.values()) < 50_000
    assert {row.assumed for row in rows} == {"typical"}


def test_four_times_the_people_halve_the_margins() -> None:
    for few, many in zip(hush.foresee(PLAN, 400_000), hush.foresee(PLAN, 1_600_000), strict=True):
        assert many.margin == pytest.approx(few.margin / 2, rel=0.05)


def test_the_expected_tally_is_the_average_of_real_ones() -> None:
    """The estimates from the expected counts are the assumed shares, whatever the noise."""
    shares = {"free": 0.7, "team": 0.2, "business": 0.1}
    tally = expected(PLAN, 10**9, {"plan": shares, "age": Guess(30, 20), "hours": Guess(10, 5, 0.7)})
    rows = {(row.attribute, row.category): row for row in hush.estimate(tally)}
    for category, share in shares.items():
        assert rows["plan", category].point == pytest.approx(share, abs=1e-6)
    assert rows["age", None].point == pytest.approx(30, abs=0.02)
    assert rows["hours", None].point == pytest.approx(10, abs=0.02)
    assert rows["hours", hush.MISSING].point == pytest.approx(0.7, abs=1e-5)
    assert hush.means(tally, "age", by="plan")[0].point == pytest.approx(30, abs=0.05)
    (median,) = hush.quantiles(tally, "age", [0.5])
    assert beta(median.point / 100, 1.275, 2.975) == pytest.approx(0.5, abs=0.005), "of this mean and this spread"


@pytest.mark.parametrize("spread", [0.01, 3.0, 20.0, 40.0, 49.9])
def test_the_law_of_a_guess_has_its_mean_and_its_spread(spread: float) -> None:
    """From next to no spread to people at both ends alone; the latter leave no room for another mean."""
    for mean in (50.0, 20.0) if spread < 40 else (50.0,):
        schema = Schema([Numeric("x", 0, 100), Numeric("y", 0, 1)])
        plan = hush.design(schema, 2.0, relations=[("x", "y", "moments")])
        law = Crowd(plan, {"x": Guess(mean, spread)})._inputs(["x"])
        points = [(100 * u, share) for (u,), share in law if isinstance(u, float)]
        found = sum(x * share for x, share in points)
        assert found == pytest.approx(mean, abs=0.5)
        assert math.sqrt(sum((x - found) ** 2 * share for x, share in points)) == pytest.approx(
            spread, rel=0.03, abs=0.5
        )


def test_a_plan_without_relations_has_no_rows() -> None:
    assert not hush.foresee(hush.design(SCHEMA, 1.0), 1000)
    assert needs(hush.design(SCHEMA, 1.0)) == []


def test_few_people_are_too_few() -> None:
    """They may be anything: the margin is half of all that is possible, and the table says that no error is known."""
    rows = hush.foresee(PLAN, 3)
    unknown = [row for row in rows if math.isinf(row.stderr)]
    assert unknown
    halves = {"plan": 0.5, "age": 50.0, "hours": 30.0}
    for row in unknown:
        assert row.margin == row.worst == (halves[row.attribute] if row.estimate.startswith("mean") else row.margin)
        assert row.margin <= {"association": 1.0}.get(row.estimate, halves[row.attribute])
    assert "unknown" in str(rows)


def test_moments_without_means_are_refused() -> None:
    """Such a plan was made, could never be read, and its prediction blamed the number of people."""
    with pytest.raises(DesignError, match="'age': moments need its mean too, so singles must be above 0"):
        hush.design(SCHEMA, 2.0, relations=[("plan", "region"), ("age", "hours", "moments")], singles=0)
    (row,) = hush.foresee(hush.design(SCHEMA, 2.0, relations=[("age", "hours", "moments")]), 10**7)
    assert (row.estimate, row.margin < 0.1) == ("correlation from moments", True)


def test_needs_are_sentences_that_grow_with_the_relations() -> None:
    schema = Schema([Categorical(f"c{i}", ["a", "b", "c", "d", "e"]) for i in range(4)])
    one = needs(hush.design(schema, 1.0, relations=[("c0", "c1")]))
    every = needs(hush.design(schema, 1.0, relations="all"))
    assert one[0].startswith("1 table: margins of 3 points need about ")
    assert every[0].startswith("6 tables: margins of 3 points need about ")
    few, many = (int(text.split("about ")[1].split(" ")[0].replace(",", "")) for text in (one[0], every[0]))
    assert many > 3 * few
    assert all(text.endswith(" at worst.") and " typical people, " in text for text in (*one, *every))


@pytest.mark.parametrize("people", [0, -1, 1.5, True])
def test_people_are_a_whole_number(people: object) -> None:
    with pytest.raises(DesignError, match="people must be a whole number"):
        hush.foresee(PLAN, people)  # type: ignore[arg-type]


BAD: list[tuple[Any, str]] = [
    ({"plan": {"unknown": 0.5}}, "'plan': a guess is a mapping"),
    ({"plan": {"free": 1.5}}, "'plan': a share must be from 0 to 1"),
    ({"plan": {"free": 0.7, "team": 0.7}}, "all together at most 1"),
    ({"plan": {"free": math.nan}}, "'plan': a share must be"),
    ({"age": {"x": 1.0}}, "'age': a guess is a Guess"),
    ({"age": Guess(50, math.inf)}, "'age': a guess is a Guess"),
    ({"age": Guess(50, 51)}, "'age': no values in the domain"),
    ({"age": Guess(spread=3)}, "'age': a guess with a spread needs a mean"),
    ({"age": Guess(missing=0.5)}, "'age': the share of missing"),
    ({"hours": Guess(missing=1.0)}, "'hours': the share of missing"),
    ({("age", "plan"): 0.5}, "association of two numbers"),
    ({("age", "age"): 0.5}, "association of two numbers"),
    ({("age", "hours"): 1.0}, "an association is a number between -1 and 1"),
]


@pytest.mark.parametrize(("guesses", "rule"), BAD)
def test_bad_guesses_name_the_attribute(guesses: Any, rule: str) -> None:
    for call in (hush.foresee, hush.predict, hush.worth):
        with pytest.raises(DesignError, match=rule):
            call(PLAN, 1000, guesses=guesses)


def test_plans_with_texts_and_choices_are_foreseen() -> None:
    """Predictions of relations failed on every one of them, as they looked at texts and choices too."""
    schema = Schema(
        [
            Text("word", 8, "english", optional=True),
            Choices("uses", ["tv", "web", "radio"], optional=True),
            Choices("many", [f"m{i}" for i in range(12)], most=3),
            Categorical("c", ["a", "b"]),
            Numeric("x", 0, 1, optional=True),
            Numeric("pay", 0, 1e6, scale="log", optional=True),
        ]
    )
    asked = [("c", "x"), ("x", "pay"), ("x", "pay", "moments"), ("pay", "c")]
    for relations in ([], asked):
        for choices in ("best", "members", "picks"):
            if choices == "picks" and relations:
                continue
            plan = hush.design(schema, 2.0, relations=relations, choices="best" if choices == "picks" else choices)
            rows = hush.foresee(plan, 100_000)
            assert {kind_of(plan, index) for index in range(len(plan.questions))} - {""} == (
                {"means", "association", "moments"} if relations else set()
            )
            assert len(rows) == (2 + 2 + 1 + 1) * bool(relations)
            assert len(needs(plan)) == 2 * bool(relations)
    with pytest.raises(DesignError, match="'word': nothing can be guessed of a text"):
        hush.foresee(plan, 100, guesses={"word": {"a": 0.1}})


def test_the_widest_cut_of_a_range_is_foreseen() -> None:
    """Once only the cut in the middle was looked at, which is known best."""
    plan = hush.design(Schema([Numeric("x", 0, 1)]), 2.0, ranges={"x": 256}, singles=0.0)
    (row,) = hush.foresee(plan, 100_000)
    shares = hush.below(expected(plan, 100_000), "x")
    halves = sorted((share.high - share.low) / 2 for share in shares)
    assert row.margin == pytest.approx(halves[len(halves) // 2], rel=0.01)
    assert row.worst == pytest.approx(halves[-1], rel=0.01)
    (middle,) = (share for share in shares if share.cut == 0.5)
    assert row.worst > 1.3 * (middle.high - middle.low) / 2


def test_many_cells_and_groups_are_read_by_their_shares() -> None:
    """Estimates that are alike are read once; of many different ones the smallest and the largest are read."""
    labels = [f"v{i}" for i in range(40)]
    schema = Schema([Categorical("a", labels), Categorical("b", labels), Numeric("x", 0, 1)])
    plan = hush.design(schema, 4.0, relations=[("a", "b"), ("x", "a")])
    shares = {label: (i + 1) / 820 for i, label in enumerate(labels)}
    table, *groups = hush.foresee(plan, 10**6, guesses={"a": shares, "b": shares})
    tally = expected(plan, 10**6, {"a": shares, "b": shares})
    cells = sorted((row.high - row.low) / 2 for row in hush.crosstab(tally, "a", "b"))
    assert table.worst == pytest.approx(cells[-1], rel=0.01)
    assert cells[0] < table.margin < cells[-1]
    for row, found in zip(groups, hush.means(tally, "x", by="a"), strict=True):
        assert row.margin == pytest.approx((found.high - found.low) / 2, rel=0.02)
        assert row.group == found.group
    assert "mean of v0" in str(hush.foresee(plan, 10**6, guesses={"a": shares}))
    assert "mean of each of 40 groups" in str(hush.foresee(plan, 10**6))
