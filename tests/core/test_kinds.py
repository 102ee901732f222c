"""Kinds of questions: the mapping of each, its refusals, and that its estimates are shown in the same terms."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import hush
from hush.core.coins import Coins
from hush.core.finders import Texts
from hush.core.following import check_follows
from hush.core.plan import Plan
from hush.core.views import Bands
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins, SeededCoins

TRUTHS = hush.Schema([hush.Boolean("smokes"), hush.Boolean("drinks", optional=True)])


def refused(schema: hush.Schema, record: Mapping[str, Any], rule: str, private: str = "") -> None:
    """Check that a record is refused by a rule, before a word is drawn, and that its value stays unsaid."""
    plan = hush.design(schema, 1.0)
    with pytest.raises(hush.RecordError, match=rule) as caught:
        randomise_from(ListedCoins([]), plan, record)
    assert not private or private not in str(caught.value)


# -- booleans


@pytest.mark.parametrize(
    ("value", "index"), [(False, 0), (True, 1), (np.False_, 0), (np.True_, 1), (np.array(True), 1)]
)
def test_booleans_are_the_categories_no_and_yes(value: object, index: int) -> None:
    assert TRUTHS.encode({"smokes": value, "drinks": value}) == [index, index]
    assert TRUTHS.encode({"smokes": value}) == [index, 2]
    assert TRUTHS["drinks"].labels == ("no", "yes", hush.MISSING)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value", [0, 1, 1.0, "true", "yes", "", b"\1", [True], np.array([True]), np.int8(1), np.float64(0)]
)
def test_nothing_else_counts_as_a_boolean(value: object) -> None:
    refused(TRUTHS, {"smokes": value}, "attribute 'smokes': must be True or False")
    refused(TRUTHS, {"smokes": True, "drinks": value}, "attribute 'drinks': must be True or False")


def test_a_boolean_may_be_missing_only_if_it_is_optional() -> None:
    refused(TRUTHS, {"drinks": True}, "attribute 'smokes': is missing")


def test_booleans_in_a_plan() -> None:
    plan = hush.design(TRUTHS, 1.0)
    assert hush.Plan.from_json(plan.to_json()) == plan
    assert hush.Schema.from_json(TRUTHS.to_json()) == TRUTHS
    assert json.loads(plan.to_json())["schema"][0] == {"kind": "boolean", "name": "smokes", "optional": False}
    words = hush.Schema([hush.Categorical("smokes", ["no", "yes"]), TRUTHS["drinks"]])
    assert hush.design(words, 1.0).id != plan.id  # records of the one are no records of the other
    for wrong in ({"optional": 1}, {"name": ""}, {"values": [False, True]}):
        with pytest.raises(hush.SchemaError):
            hush.Schema.from_json([TRUTHS.to_json()[0] | wrong])
    with pytest.raises(hush.SchemaError, match="all strings or all integers"):
        hush.Categorical("smokes", [False, True])


def tallied(schema: hush.Schema, records: list[dict[str, Any]], epsilon: float = 8.0, **options: Any) -> hush.Tally:
    """Return the tally of some people, with fixed words."""
    plan = hush.design(schema, epsilon, **options)
    coins: Coins = SeededCoins(5)
    tally = hush.Tally(plan)
    for record in records:
        tally.add(randomise_from(coins, plan, record))
    return tally


def test_estimates_say_yes_and_no() -> None:
    people = [{"smokes": i % 4 == 0, "drinks": None if i % 2 else True} for i in range(400)]
    found = hush.estimate(tallied(TRUTHS, people, k="all"))
    assert [(row.attribute, row.category) for row in found] == [
        ("smokes", "no"),
        ("smokes", "yes"),
        ("drinks", "no"),
        ("drinks", "yes"),
        ("drinks", hush.MISSING),
    ]
    assert found[1].point == pytest.approx(0.25, abs=0.1)  # about six standard errors
    assert "share of yes" in str(found)


# -- integers

WHOLE = hush.Schema([hush.Integer("scale", 1, 10), hush.Integer("age", 0, 120, "clip", optional=True)])


@pytest.mark.parametrize("value", [3, 3.0, np.int16(3), np.float32(3), np.uint64(3)])
def test_whole_numbers_lie_on_the_scale(value: object) -> None:
    assert WHOLE.encode({"scale": value}) == [2 / 9, None]
    assert WHOLE.encode({"scale": 10, "age": 500}) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (2.5, "must be a whole number"),
        (np.float32(2.5), "must be a whole number"),
        (1e-300, "must be a whole number"),
        (0, "must be from 1 to 10"),
        (11, "must be from 1 to 10"),
        (True, "must be a number"),
        ("3", "must be a number"),
        (float("nan"), "must not be NaN"),
        (None, "is missing"),
    ],
)
def test_other_numbers_are_refused(value: object, rule: str) -> None:
    refused(WHOLE, {"scale": value}, f"attribute 'scale': {rule}")


def test_no_long_integer_is_made_of_a_large_number(monkeypatch: pytest.MonkeyPatch) -> None:
    # It would have a thousand bits, and take its time.
    floor, given = math.floor, []

    def watched(number: float) -> int:
        given.append(number)
        return floor(number)

    monkeypatch.setattr(math, "floor", watched)
    clipped = hush.Integer("n", 0, 10, out_of_range="clip")
    assert [clipped.encode(value) for value in (1e308, -1e308, 7, 7.0)] == [1.0, 0.0, 0.7, 0.7]
    assert all(abs(number) < 1 << 53 for number in given)


def test_a_fraction_is_refused_where_numbers_beyond_are_clipped() -> None:
    refused(WHOLE, {"scale": 1, "age": 120.5}, "attribute 'age': must be a whole number")


@pytest.mark.parametrize(("low", "high"), [(0.5, 3), (0, 2**53), (-(2**53), 0), (3, 3), (4, 3), (0, True), ("0", 3)])
def test_bounds_are_whole(low: Any, high: Any) -> None:
    with pytest.raises(hush.SchemaError, match="attribute 'x': "):
        hush.Integer("x", low, high)


def test_integers_in_a_plan() -> None:
    plan = hush.design(WHOLE, 1.0)
    assert hush.Plan.from_json(plan.to_json()) == plan
    assert repr(WHOLE["scale"]) == "Integer(name='scale', low=1, high=10, out_of_range='error', optional=False)"
    with pytest.raises(hush.SchemaError, match="exactly the fields"):
        hush.Schema.from_json([WHOLE.to_json()[0] | {"scale": "log"}])


@pytest.mark.parametrize(("low", "high", "bins"), [(1, 10, 32), (0, 120, 32), (1, 5, 2), (-7, 993, 32)])
def test_bins_hold_whole_numbers_and_all_of_them(low: int, high: int, bins: int) -> None:
    schema = hush.Schema([hush.Integer("x", low, high)])
    tally = tallied(schema, [{"x": low + i % (high - low + 1)} for i in range(200)], 2.0)
    found = hush.distribution(tally, "x", bins=bins)
    assert (found.edges[0], found.edges[-1]) == (low, high + 1)
    assert all(edge.is_integer() for edge in found.edges)
    assert len(found.shares) <= bins
    assert len({b - a for a, b in zip(found.edges, found.edges[1:-1], strict=False)}) <= 1
    assert all(found.quantile(q / 10).is_integer() and low <= found.quantile(q / 10) <= high for q in range(11))


def test_the_distribution_of_a_scale() -> None:
    """Everybody says 4: the bin of 4 has nearly all of them, and every quantile is 4."""
    tally = tallied(hush.Schema([hush.Integer("scale", 1, 10)]), [{"scale": 4}] * 2000, 8.0)
    found = hush.distribution(tally, "scale")
    assert found.bins == tuple(map(str, range(1, 11)))
    assert found.shares[3] > 0.9
    assert [found.quantile(q) for q in (0.2, 0.5, 0.8)] == [4, 4, 4]
    assert hush.estimate(tally)[0].point == pytest.approx(4, abs=0.2)


def banded(plan: Plan, name: str) -> list[tuple[float, ...]]:
    """Return the cuts of all questions about bands of an attribute, the fewest first."""
    views = (view for question in plan.questions for view in question.views)
    return sorted((view.cuts for view in views if isinstance(view, Bands) and view.attribute == name), key=len)


def test_ranges_and_bands_of_whole_numbers() -> None:
    schema = hush.Schema([hush.Integer("scale", 1, 10)])
    plan = hush.design(schema, 8.0, ranges=["scale"])
    assert banded(plan, "scale")[-1] == tuple(map(float, range(1, 10)))
    found = hush.quantiles(tallied(schema, [{"scale": 3 + i % 3} for i in range(900)], 8.0, ranges=["scale"]), "scale")
    assert all(number.is_integer() for row in found for number in (row.point, row.low, row.high))
    assert found[2].low <= 4 <= found[2].high
    with pytest.raises(hush.DesignError, match="whole numbers as cuts"):
        hush.design(WHOLE, 1.0, relations=[("scale", "age", "table")], bands={"scale": [2.5], "age": [30]})
    related = hush.design(WHOLE, 1.0, relations=[("scale", "age", "table")], bands={"scale": [3, 4], "age": [17, 64]})
    seen = Bands("age", banded(related, "age")[0]).seen(WHOLE)
    assert seen.labels == ("up to 17", "18 to 64", "above 64", hush.MISSING)  # type: ignore[union-attr]


@pytest.mark.parametrize("values", [121, 64, 100, 1000, 17])
def test_the_cuts_of_few_bands_are_among_those_of_more(values: int) -> None:
    plan = hush.design(hush.Schema([hush.Integer("x", 5, 4 + values)]), 1.0, ranges={"x": 64})
    cuts = banded(plan, "x")
    assert all(set(few) <= set(more) for few, more in pairwise(cuts))
    assert all(cut.is_integer() for cut in cuts[-1])
    assert len(cuts[-1]) == min(values, 64) - 1


def test_a_pilots_number_does_not_become_whole() -> None:
    """Numbers that the pilot took would be refused."""
    wide = hush.design(hush.Schema([hush.Numeric("x", 0, 1000, "clip", scale="log")]), 1.0)
    for attribute, good in ((hush.Numeric("x", 0, 100, "clip"), True), (hush.Integer("x", 0, 100, "clip"), False)):
        plan = replace(hush.design(hush.Schema([attribute]), 1.0), after=wide.id)
        if good:
            check_follows(plan, wide)
        else:
            with pytest.raises(hush.PlanError, match="may only be narrowed"):
                check_follows(plan, wide)


# -- other

OPEN = hush.Schema(
    [
        hush.Categorical("browser", ["firefox", "é"], other=True),
        hush.Categorical("shop", ["x" * 256, ""], optional=True, other=True),
    ]
)


class Text(str):
    """A text that is no plain one."""


@pytest.mark.parametrize(
    ("value", "index"),
    [
        ("firefox", 0),
        ("é", 1),
        ("Firefox", 2),
        ("e\u0301", 2),
        ("", 2),
        ("firefox ", 2),
        (hush.OTHER, 2),
        (hush.MISSING, 2),
        ("\0", 2),
        ("x" * 100_000, 2),
        (Text("firefox"), 0),
        (Text("opera"), 2),
    ],
)
def test_texts_that_are_not_listed_are_one_category(value: str, index: int) -> None:
    assert OPEN.encode({"browser": value}) == [index, 3]


@pytest.mark.parametrize(("value", "index"), [("x" * 256, 0), ("x" * 255, 2), ("x" * 257, 2), ("", 1), (None, 3)])
def test_the_longest_text_is_told_from_longer_ones(value: str | None, index: int) -> None:
    assert OPEN.encode({"browser": "é", "shop": value}) == [1, index]


@pytest.mark.parametrize("value", [1, True, b"firefox", ["firefox"], 1.5])
def test_other_is_for_texts(value: object) -> None:
    refused(OPEN, {"browser": value}, "attribute 'browser': must be a string")


def test_other_in_a_plan() -> None:
    plan = hush.design(OPEN, 1.0)
    assert hush.Plan.from_json(plan.to_json()) == plan
    assert OPEN["shop"].labels == ("x" * 256, "", hush.OTHER, hush.MISSING)  # type: ignore[union-attr]
    closed = hush.Categorical("browser", ["firefox", "é"])
    assert "other" not in closed.to_json()  # so that plans without it keep their ids
    assert closed != OPEN["browser"]
    for wrong in ({"other": False}, {"other": 1}, {"values": ["a", hush.OTHER]}, {"values": [1, 2]}):
        with pytest.raises(hush.SchemaError):
            hush.Schema.from_json([OPEN.to_json()[0] | wrong])
    with pytest.raises(hush.SchemaError, match="other must be True or False"):
        hush.Categorical("browser", ["firefox"], other="other")  # type: ignore[arg-type]
    with pytest.raises(hush.SchemaError, match="1 to 4095 values"):
        hush.Categorical("browser", list(map(str, range(4096))), other=True)


def test_the_share_of_others() -> None:
    people = [{"browser": "firefox" if i % 4 else f"mine {i}"} for i in range(400)]
    found = hush.estimate(tallied(OPEN, people, k="all"))
    assert [row.category for row in found.of("browser")] == ["firefox", "é", hush.OTHER]
    assert found[2].point == pytest.approx(0.25, abs=0.15)  # about six standard errors


def test_every_text_is_padded_to_one_length() -> None:
    """What is hashed is as long for the longest text as for the shortest, listed or not."""
    find = Texts(["x" * 256, ""])
    texts = ["", "x" * 256, "x" * 257, "y" * 10_000, "\U0001d4b3", "é" * 400]
    assert len({len(find.padded(text)) for text in texts}) == 1
    assert len({find.padded(text) for text in texts}) == len(texts)


def test_a_new_boolean_takes_booleans_and_no_numbers() -> None:
    """One that is made here: others may have been made before their rule was broken."""
    answer = hush.Boolean("smokes")
    assert repr(answer.values) == "(False, True)"  # and not 0 and 1, which are equal to them
    assert [answer.encode(value) for value in (False, True, np.False_, np.True_)] == [0, 1, 0, 1]
    for bad in (0, 1, -1, 2, "yes"):
        with pytest.raises(hush.RecordError, match="must be True or False"):
            answer.encode(bad)


def test_whole_numbers_are_those_that_every_float_tells_apart() -> None:
    assert hush.Integer("count", 1, 10).examples == (1, 5, 10)
    assert hush.Integer("count", 1 - 2**53, 2**53 - 1).to_json()["kind"] == "integer"
    with pytest.raises(hush.SchemaError, match="below 2"):
        hush.Integer("count", 0, 2**53)
