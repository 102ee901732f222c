"""How far malicious reports move a point, in numbers: each rule for samples that were made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from hush import MISSING, Categorical, EstimateError, Numeric, Plan, Schema, Tally
from hush.core.channels import Ladder, Reading
from hush.core.channels.base import Presence, Summed
from hush.core.channels.squares import Squares
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.server.intervals import Ratio, Sample, sample_of
from hush.server.ladders import Fitted, reach
from hush.server.manipulations import (
    Manipulation,
    Manipulations,
    _mixed,
    _presence,
    _reach,
    _shift,
    leverage,
    levers,
    manipulation,
    shifts,
)
from hush.server.sources import any_of, read_by, sources
from tests.cases import small_geometry, small_rows, small_window

KNOWN = Squares(((-1.0, 2.0), (1.0, 2.0)), ((-1.0, 4.0), (1.0, 4.0)))
WIDE = Sample(10, 0.25, 1.0, -2.0, 3.0, two_valued=False, squares=KNOWN)
NARROW = Sample(20, 0.5, 1.0, -1.0, 1.0, two_valued=False, squares=KNOWN)
HERE = Sample(10, 0.5, 0.25, -0.5, 1.5, two_valued=False)
RATIO = Ratio(WIDE, HERE, 0.125)
PLAIN = Reading(0, None, (5, 5), (-2.0, 3.0))
BOTH = Reading(0, None, (4, 3, 3), (-2.0, 0.5, 3.0), (1.5, -0.5, 1.0))
SUMMED = Summed(0, None, 10, 0.25, 1.0, -2.0, 3.0, KNOWN, Presence(0.5, 0.5, 0.25, -0.5, 1.5))


def test_one_report_moves_a_mean_by_a_part_of_the_range() -> None:
    assert _shift([(1.0, WIDE, PLAIN)], 2) == pytest.approx(2 * 5 / 10)
    assert _shift([(7.0, WIDE, PLAIN)], 2) == pytest.approx(2 * 5 / 10)
    assert _shift([(1.0, WIDE, PLAIN)], 0) == 0
    assert _shift([(1.0, WIDE, PLAIN)], 20) == 5.0  # no more than all of it
    assert _shift([(1.0, replace(WIDE, n=0, mean=math.nan), PLAIN)], 1) == math.inf


def test_a_report_may_turn_to_a_question_that_weighs_more() -> None:
    parts = [(1.0, WIDE, PLAIN), (0.5, NARROW, PLAIN)]
    # Each has half of the weight: an answer to the first has 1/20 of all, one to the second 1/40.
    point = 0.5 * 0.25 + 0.5 * 0.5
    reach = (3 - point) / 20 - (-2 - point) / 20
    assert _shift(parts, 2) == pytest.approx(2 * reach / (1 - 2 * (1 / 20 - 1 / 40)))
    assert _shift(parts[::-1], 2) == pytest.approx(_shift(parts, 2))
    assert _shift(parts, 8) == pytest.approx(8 * reach / 0.8)
    assert _shift(parts, 39) == _shift(parts, 40) == _shift(parts, 41) == 5.0
    # A question that nobody answered may be named all the same, and has no mean.
    empty = replace(NARROW, n=0, mean=math.nan)
    assert _shift([(1.0, WIDE, PLAIN), (2.0, empty, PLAIN)], 1) == pytest.approx(
        ((3 - 0.25) / 10 - (-1 - 0.25) / 5) / (1 - 0.1)
    )


def test_the_present_may_become_fewer() -> None:
    """The presence of a report is from -1/2 to 3/2: each may take two of ten from what is half of all."""
    point, gained = 0.25 / 0.5, 2.0 / 10
    low, high = min(-2 - 1.5 * point, 0.5 + 0.5 * point, 3 - point), max(-2 - 1.5 * point, 0.5 + 0.5 * point, 3 - point)
    assert _shift([(1.0, RATIO, BOTH)], 1) == pytest.approx((high - low) / 10 / (0.5 - gained))
    assert _shift([(1.0, RATIO, BOTH)], 2) == pytest.approx(2 * (high - low) / 10 / (0.5 - 2 * gained))
    assert _shift([(1.0, RATIO, BOTH)], 3) == math.inf
    assert _shift([(1.0, RATIO, BOTH), (1.0, WIDE, PLAIN)], 10**6) == math.inf


def test_the_range_of_what_one_report_says() -> None:
    assert _mixed(WIDE, PLAIN, 0.5) == (-2.5, 2.5)
    assert _mixed(RATIO, BOTH, 2.0) == (-5.0, 1.5)
    assert _mixed(RATIO, BOTH, -1.0) == (-0.5, 4.0)
    # Of a sum the values and the presence are known by their ends alone: each may meet each.
    assert _mixed(RATIO, SUMMED, 2.0) == (-5.0, 4.0)
    assert _mixed(RATIO, SUMMED, -2.0) == (-3.0, 6.0)
    assert (_presence(WIDE), _presence(RATIO)) == ((1.0, 1.0, 1.0), (0.5, -0.5, 1.5))
    assert _reach([(0.5, WIDE, PLAIN), (2.0, NARROW, PLAIN)], 0.5) == 0.5 * 2.5 - 2 * -1.5
    assert _reach([(2.0, WIDE, PLAIN), (0.5, NARROW, PLAIN)], 0.5) == 2 * 2.5 - 2 * -2.5


def test_a_table_says_how_many_reports_were_malicious() -> None:
    rows = [Manipulation("x", None, 0.5), Manipulation("c", "a", 0.25)]
    assert str(Manipulations(rows, reports=1200)).splitlines() == [
        "attribute   estimate     moved by at most",
        "-----------------------------------------",
        "x           mean                     ±0.5",
        "c           share of a              ±0.25",
        "",
        "If 1,200 of the reports are malicious.",
    ]
    assert "malicious" not in str(Manipulations(rows))
    assert {**Manipulations._columns} == {"attribute": str, "category": str, "shift": float}


# -- plans

EPSILON = Fraction(2)
SCHEMA = Schema(
    [
        Numeric("x", -1, 3),
        Categorical("c", [f"v{i}" for i in range(18)], optional=True),
        Categorical("g", ["a", "b", "c"]),
        Numeric("y", 0, 16, scale="log"),
        Numeric("z", 0, 8, optional=True),
    ]
)
REST = 720_720 << 24  # which any number of cells up to 16 divides
WIDE_NUMBER = Ladder((0, 1, 2, 4, 8, 16), 2, (1 << 64) - (1 << 62) // REST * REST)
QUESTIONS = (
    Question(["x"], small_window(EPSILON, 5, 2)),
    Question(["g", "x"], small_rows(EPSILON, 3, 1, 4, 2)),
    Question(["y"], WIDE_NUMBER),
    Question(["c"], small_geometry(EPSILON, 19, 4, 3)),
    Question(["g"], grr(EPSILON, 3)),
    Question(["z"], small_window(EPSILON, 5, 2, True)),
)
PLAN = Plan(SCHEMA, Fraction(3), 1, QUESTIONS, weights=(3, 4, 2, 2, 1, 3))
COUNTS = [
    [9, 7, 5, 3, 6],
    [4, 3, 2, 1, 5, 6, 3, 1, 2, 2, 1, 2],
    [20, 40, 20, 12, 9, 3, 3],
    [3] + [2] * 20,
    [8, 7, 5],
    [200, 150, 100, 80, 70, 40],
]
ANSWERED = [30, 32, 107, 43, 20, 640]
TALLY = Tally(PLAN, sum(ANSWERED), ANSWERED, COUNTS)
NAMES = [
    ("x", None),
    ("c", "v0"),
    *(("g", label) for label in "abc"),
    ("y", None),
    ("z", None),
    ("z", MISSING),
]


def test_every_point_has_its_shift() -> None:
    """Those of targets by hand; of a wide number by the reach of a report; of a long list as of any category in it."""
    found = {(row.attribute, row.category): row.shift for row in shifts(TALLY, 3)}
    assert [*found] == NAMES
    for target in sources(PLAN, TALLY, apart=[3]):
        parts = [(1 / source.noise, sample_of(source.reading), source.reading) for source in target.sources]
        half = {"x": 2.0, "z": 4.0}.get(target.attribute.name, 1.0) if target.symbol is None else 1.0
        labels: tuple[object, ...] = getattr(target.attribute, "labels", (MISSING,))
        category = None if target.symbol is None else labels[target.symbol]
        assert found[target.attribute.name, category] == pytest.approx(half * _shift(parts, 3))  # type: ignore[index]
    number = SCHEMA["y"]
    assert isinstance(number, Numeric)
    assert found["y", None] == pytest.approx(3 * reach(Fitted(WIDE_NUMBER, number, tuple(COUNTS[2]))) / 107)
    low, high = map(float, QUESTIONS[3].channel.supports)  # type: ignore[attr-defined]
    assert found["c", "v0"] == pytest.approx(3 * (high - low) / 43)
    one = any_of(PLAN, 3, (43, 0)).sources[0]
    paper = {(row.attribute, row.category): row.shift for row in shifts(TALLY, 3, "paper")}
    assert paper["c", "v0"] == _shift([(1.0, read_by("paper", TALLY, one), one.reading)], 3) != found["c", "v0"]
    assert paper["z", MISSING] != found["z", MISSING]


def test_all_categories_of_a_long_list_can_be_moved_alike() -> None:
    for rows, short in ((manipulation(TALLY, 3), shifts(TALLY, 3)), (leverage(PLAN), levers(PLAN))):
        assert len(rows) == len(short) + 18
        assert [row.category for row in rows[1:20]] == [*(f"v{i}" for i in range(18)), MISSING]
        assert {row.shift for row in rows[1:20]} == {short[1].shift}
        assert [*rows[:2], *rows[20:]] == short
    assert manipulation(TALLY, 3).reports == 3
    assert leverage(PLAN).reports is None
    assert [*manipulation(TALLY, 3, estimator="paper")][:2] == shifts(TALLY, 3, "paper")[:2]


def test_the_mean_of_a_wide_number_needs_two_reports() -> None:
    for n in (0, 1, 2):
        counts = [[0] * len(one) for one in COUNTS]
        counts[2][0] = n
        rows = {row.attribute: row.shift for row in shifts(Tally(PLAN, n, [0, 0, n, 0, 0, 0], counts), 1)}
        assert math.isinf(rows["y"]) == (n < 2)


def test_the_number_of_malicious_reports_is_whole() -> None:
    for junk in (-1, 1.0, True, "1", None):
        with pytest.raises(EstimateError, match="a whole number, 0 or more"):
            manipulation(TALLY, junk)  # type: ignore[arg-type]
    assert all(row.shift == 0 for row in manipulation(TALLY, 0))


def test_leverage_is_that_of_one_report_at_the_worse_end() -> None:
    found = {(row.attribute, row.category): row.shift for row in levers(PLAN)}
    assert [*found] == NAMES
    targets = {(target.attribute.name, target.symbol): target for target in sources(PLAN, apart=[3])}
    # Several questions: an answer weighs as much as its noise is less, on the average of all answers 1.
    for (name, symbol), target in targets.items():
        half = {"x": 2.0, "z": 4.0}.get(name, 1.0) if symbol is None else 1.0
        ends = (-1.0, 1.0) if symbol is None else (0.0, 1.0)
        asked = target.sources
        total = sum(float(source.inclusion) / source.noise for source in asked)
        weights = [sum(float(one.inclusion) for one in asked) / total / source.noise for source in asked]
        assert sum(w * float(one.inclusion) for w, one in zip(weights, asked, strict=True)) == pytest.approx(
            sum(float(one.inclusion) for one in asked)
        )
        parts = [(w, sample_of(one.reading), one.reading) for w, one in zip(weights, asked, strict=True)]
        labels: tuple[object, ...] = getattr(target.attribute, "labels", (MISSING,))
        category = None if symbol is None else labels[symbol]
        assert found[name, category] == pytest.approx(half * max(_reach(parts, end) for end in ends))  # type: ignore[index]
    low, high = map(float, QUESTIONS[3].channel.supports)  # type: ignore[attr-defined]
    assert found["c", "v0"] == pytest.approx(high - low)
    # A wide number, with as many people on every knot: all of its range is in use.
    law = [sum(column) / 6 for column in zip(*WIDE_NUMBER.table, strict=True)]
    counts = tuple(round(10**9 * p) for p in law)
    number = SCHEMA["y"]
    assert isinstance(number, Numeric)
    assert found["y", None] == pytest.approx(reach(Fitted(WIDE_NUMBER, number, counts)), rel=1e-6)
