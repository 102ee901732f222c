"""Estimates, in numbers: each rule for rows and tallies that were made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from hush import MISSING, Categorical, Date, EstimateError, Numeric, Plan, Schema, Tally, estimate
from hush.core.channels import Ladder
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.server.estimates import (
    Estimate,
    Estimates,
    Wanted,
    _largest,
    _shared,
    chosen,
    clipping,
    compared,
    domain_of,
    estimated,
    largest,
    points,
    shown,
)
from hush.server.intervals import Sample, bounds, summarise
from hush.server.ladders import Fitted, clipped, unclipped
from hush.server.sources import Scale, targets
from hush.server.tally import with_own
from tests.cases import small_geometry, small_window

REST = 720_720 << 24
THRESHOLD = (1 << 64) - (1 << 62) // REST * REST
SCHEMA = Schema([Numeric("x", -0.5, 1), Categorical("c", ["a", "b", "d"])])
ROW = Estimate("x", None, 0.5, 0.1, 0.3, 0.7, 40)
WHOLE = Estimate("x", None, 0.25, 0.2, -0.25, 0.75, 100)


def wide(optional: bool, counts: tuple[int, ...]) -> Tally:
    number = Numeric("w", 0, 16, scale="log", optional=optional)
    channel = Ladder((0, 1, 2, 4, 8, 16), 2, THRESHOLD, optional)
    plan = Plan(Schema([number]), Fraction(16), 1, (Question(("w",), channel),))
    return Tally(plan, sum(counts), [sum(counts)], [counts])


# -- levels


def test_intervals_that_hold_at_once_share_what_is_allowed() -> None:
    assert _shared(0.3, 1) == 0.3  # and not 1 - (1 - 0.3), which is more
    assert _shared(0.95, 5) == pytest.approx(0.99)
    assert _shared(0.9, 2) == pytest.approx(0.95)


def simple() -> Tally:
    epsilon = Fraction(2)
    schema = Schema(
        [Categorical("two", ["a", "b"]), Categorical("three", [1, 2, 3]), Numeric("x", 0, 4, optional=True)]
    )
    questions = (
        Question(("two",), grr(epsilon, 2)),
        Question(("three",), grr(epsilon, 3)),
        Question(("x",), small_window(epsilon, 5, 2, True)),
    )
    return Tally(
        Plan(schema, epsilon, 1, questions),
        900,
        [400, 300, 200],
        [[250, 150], [50, 100, 150], [60, 40, 30, 20, 20, 30]],
    )


def test_of_two_shares_one_is_the_other() -> None:
    tally = simple()
    assert compared(targets(tally, "ratio")) == {"two": 1, "three": 3, "x": 1}
    assert compared(targets(tally, "paper")) == {"two": 2, "three": 3, "x": 1}
    one = {(row.attribute, row.category): row for row in estimate(tally, level=0.9)}
    all_ = {(row.attribute, row.category): row for row in estimate(tally, level=0.9, simultaneous=True)}
    strict = {(row.attribute, row.category): row for row in estimate(tally, level=1 - 0.1 / 3)}
    for key, row in all_.items():
        assert row == (strict if key[0] == "three" else one)[key]
    assert [*one] == [("two", "a"), ("two", "b"), ("three", 1), ("three", 2), ("three", 3), ("x", None), ("x", MISSING)]
    assert points(tally) == pytest.approx([row.point for row in one.values()])
    assert points(Tally(tally.plan)) == pytest.approx([math.nan] * 7, nan_ok=True)


# -- which rows


def test_few_of_very_many_are_kept() -> None:
    assert [Wanted(most=7).kept(count) for count in (5, 4098, 4099)] == [None, None, 7]
    assert [Wanted(top=3, most=7).kept(count) for count in (5, 4098, 4099)] == [3, 3, 3]
    assert Wanted().kept(10**6) is None
    assert Wanted() == (0.95, "ratio", False, None, None, None, True)


def test_the_largest_of_a_long_list() -> None:
    totals, labels = [5, 9, 7, 1], ["Straße", "Weg", "STRASSE 2", "w"]
    assert [*largest(totals, labels, None, None)] == [0, 1, 2, 3]
    assert [*largest(totals, labels, 2, None)] == [1, 2]
    assert [*largest(totals, labels, None, "strasse")] == [0, 2]
    assert [*largest(totals, labels, 1, "W")] == [1]
    assert [*largest(totals, labels, 9, "x")] == []


def test_the_largest_shares_of_each_attribute() -> None:
    shares = [
        replace(ROW, attribute="c", category=name, point=point)
        for name, point in (("a", math.nan), ("b", -0.5), ("d", 0.2))
    ]
    rows = [*shares, ROW]
    assert _largest(rows, 2) == [shares[2], shares[1], ROW]
    assert _largest(rows, 9) == [shares[2], shares[1], shares[0], ROW]
    tally = simple()
    assert [row.category for row in chosen(tally, Wanted(top=1))] == ["a", 3, None, MISSING]
    assert [row.category for row in chosen(tally, Wanted(search="A"))] == ["a"]
    assert [row.category for row in chosen(tally, Wanted(search="(MISS"))] == [MISSING]
    assert chosen(tally, Wanted(0.9)).level == 0.9


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"search": ""}, "search must be a text"),
        ({"search": 7}, "search must be a text"),
        ({"level": 0.0}, "level must be"),
        ({"level": 1.0}, "level must be"),
        ({"level": 1}, "level must be"),
        ({"simultaneous": 1}, "simultaneous must be"),
        ({"top": 0}, "top must be"),
        ({"top": True}, "top must be"),
        ({"top": 1.0}, "top must be"),
        ({"tail": 1.5}, "wide numbers"),
        ({"estimator": "mean"}, "estimator must be"),
    ],
)
def test_bad_wishes_are_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(EstimateError, match=rule):
        estimate(simple(), **options)
    with pytest.raises(EstimateError, match="needs a Tally"):
        estimate(simple().plan)  # type: ignore[arg-type]


# -- within the domain, and with enough answers


def test_an_interval_is_laid_into_its_domain() -> None:
    """As far from the point as it was, but from the point moved into the domain; and then cut."""
    assert shown(ROW, SCHEMA) == ROW
    assert shown(replace(ROW, high=1.5), SCHEMA) == replace(ROW, high=1.0)
    below = shown(replace(ROW, point=-2.0, low=-2.5, high=-1.75), SCHEMA)
    assert (below.point, below.low, below.high) == (-2.0, -0.5, -0.25)
    above = shown(replace(ROW, attribute="c", category="a", point=1.5, low=1.25, high=2.0), SCHEMA)
    assert (above.point, above.low, above.high) == (1.5, 0.75, 1.0)
    clip = replace(ROW, floor=0.25, ceiling=0.75, beyond=0.1)
    assert shown(replace(clip, low=0.4, high=0.8), SCHEMA) == replace(clip, low=0.4, high=0.75)
    flat = replace(ROW, point=0.25, low=-1.0, high=2.0, floor=0.25, ceiling=0.25, beyond=0.1)
    assert shown(flat, SCHEMA) == replace(flat, low=0.25, high=0.25)  # a mean of numbers clipped to one of them
    assert domain_of(ROW, SCHEMA) == (-0.5, 1.0)
    assert domain_of(clip, SCHEMA) == (0.25, 0.75)
    assert domain_of(replace(ROW, category=MISSING), SCHEMA) == (0.0, 1.0)
    assert domain_of(replace(ROW, attribute="c", category="a"), SCHEMA) == (0.0, 1.0)


def test_an_interval_of_three_quarters_of_the_domain_says_something() -> None:
    most = replace(ROW, low=-0.5, high=-0.5 + 0.75 * 1.5)
    assert shown(most, SCHEMA) == most
    wide = replace(ROW, low=-0.5, high=0.65)
    found = shown(wide, SCHEMA)
    assert math.isnan(found.point)
    assert (found.stderr, found.low, found.high, found.answers) == (math.inf, -0.5, 0.65, 40)
    assert found.needed == 42  # 40 * (1.15/1.125)^2, rounded up
    far = shown(replace(ROW, low=-4.0, high=5.0), SCHEMA)  # how wide it is before it is cut says how many it takes
    assert (far.low, far.high, far.needed) == (-0.5, 1.0, 2600)
    assert shown(replace(ROW, low=-math.inf, high=math.inf), SCHEMA).needed == 160
    assert shown(replace(wide, needed=7), SCHEMA).needed == 7  # it was known
    assert shown(wide, SCHEMA, refuse=False) == wide
    nobody = replace(ROW, point=math.nan, stderr=math.inf, low=-math.inf, high=math.inf, answers=0, needed=30)
    for refuse in (True, False):
        unknown = shown(nobody, SCHEMA, refuse=refuse)
        assert (unknown.low, unknown.high, unknown.needed) == (-0.5, 1.0, 30)
        assert math.isnan(unknown.point)


def test_a_wide_number_with_too_few_answers_has_no_clip() -> None:
    clip = replace(ROW, low=-3.0, high=4.0, floor=0.25, ceiling=0.75, beyond=0.1, needed=90)
    found = shown(clip, SCHEMA)
    assert math.isnan(found.point)
    assert (found.low, found.high, found.floor, found.ceiling, found.needed) == (-0.5, 1.0, -0.5, 1.0, 90)
    free = shown(clip, SCHEMA, refuse=False)
    assert (free.point, free.low, free.high, free.floor, free.needed) == (0.5, 0.25, 0.75, 0.25, None)


def test_a_table_says_how_many_answers_it_takes() -> None:
    rows = [
        replace(ROW, point=math.nan, low=-0.5, high=1.0, needed=2600),
        *(replace(ROW, attribute="c", category=name, point=math.nan, needed=n) for name, n in (("a", 50), ("b", 70))),
    ]
    text = str(Estimates([*rows, ROW], level=0.95, schema=SCHEMA))
    assert text.count("too few answers ") == 5
    assert "x: too few answers (40); about 2,600 are needed to say something." in text
    assert "c: too few answers (40); about 70 are needed to say something." in text
    assert "nan" not in text


def test_refuse_is_true_or_false() -> None:
    with pytest.raises(EstimateError, match="refuse must be True or False"):
        estimate(simple(), refuse=1)  # type: ignore[arg-type]
    few = Tally(simple().plan, 3, [1, 1, 1], [[1, 0], [0, 1, 0], [0, 0, 0, 0, 0, 1]])
    rows, points_ = estimate(few), estimate(few, refuse=False)
    assert all(math.isnan(row.point) and row.needed for row in rows)
    assert [math.isnan(row.point) for row in points_] == [False] * 5 + [True, False]


# -- wide numbers


def test_nothing_is_known_of_a_wide_number_from_one_report() -> None:
    for counts in ((0,) * 8, (1, 0, 0, 0, 0, 0, 0, 0)):
        mean, free, gone = estimated(wide(True, counts), 0.9, tail=3)
        n = sum(counts)
        needed = mean.needed
        assert needed is not None
        assert needed > 2
        assert str(mean) == str(Estimate("w", None, math.nan, math.inf, 0.0, 16.0, n, 0.0, 16.0, 1.0, needed=needed))
        assert str(free) == str(Estimate("w", None, math.nan, math.inf, 0.0, 16.0, n, tail=3.0, needed=needed))
        assert (gone.category, gone.stderr, gone.answers) == (MISSING, math.inf, n)
        assert len(estimated(wide(False, counts[:-1]), 0.9)) == 1


def test_a_wide_number_has_a_clipped_mean_and_one_without_a_clip() -> None:
    counts = (60, 100, 80, 60, 30, 5, 3, 40)
    tally = wide(True, counts)
    mean, free, gone = estimated(tally, 0.9, tail=3)
    channel, number = tally.plan.questions[0].channel, tally.plan.attributes[0][0]
    assert isinstance(channel, Ladder)
    assert isinstance(number, Numeric)
    fit = Fitted(channel, number, counts)
    clip, loose = clipped(fit, 0.9), unclipped(fit, 0.9, 3)
    assert mean == Estimate("w", None, clip.point, clip.stderr, *clip.interval, 378, clip.low, clip.high, clip.beyond)
    assert free == Estimate("w", None, loose.point, loose.stderr, *loose.interval, 378, tail=3.0)
    # The output "missing" has 3/4 of the words if the value is missing, and else a part of the quarter.
    here, there = float(channel.table[0][-1]), float(channel.table[-1][-1])
    sample = summarise((338, 40), (-here / (there - here), (1 - here) / (there - here)))
    low, high = bounds(sample, 0.9)
    assert (gone.attribute, gone.category, gone.answers) == ("w", MISSING, 378)
    assert (gone.point, gone.stderr) == (sample.mean, sample.stderr)
    assert (gone.low, gone.high) == (low, high)
    (two,) = estimated(wide(False, (1, 1, 0, 0, 0, 0, 0)), 0.9)
    assert math.isfinite(two.point)
    assert points(tally) == [mean.point, gone.point]


# -- as people read them


def test_a_table_says_what_was_clipped() -> None:
    clip = replace(ROW, floor=0.0, ceiling=12_345.678, beyond=0.0123)
    assert clipping(clip) == "min(x, 12,345.7)"
    assert clipping(replace(clip, floor=-2_000.0)) == "x clipped to -2,000..12,345.7"
    assert clipping(replace(clip, floor=-0.5)) == "x clipped to -0.5..12,345.7"
    text = str(Estimates([clip, replace(ROW, tail=2.5), ROW, replace(ROW, category="a")], level=0.95))
    assert "mean of min(x, 12,345.7): at most 1.3 % of the people lie beyond." in text
    assert "x, mean without a clip: if the share of people above x falls like x^-2.5 or faster." in text
    for what in (
        "mean of min(x, 12,345.7)",
        "mean without a clip",
        "mean ",
        "share of a",
        "95 % interval",
        "answers",
        "40",
    ):
        assert what in text


def test_points_are_moved_into_the_domain() -> None:
    rows = [
        replace(ROW, point=-2.0, low=-3.0, high=7.0),
        replace(ROW, attribute="c", category="a", point=1.5, low=-0.25, high=0.5),
    ]
    moved = Estimates(rows, schema=SCHEMA).clip()
    assert [(row.point, row.low, row.high) for row in moved] == [(-0.5, -0.5, 1.0), (1.0, 0.0, 0.5)]
    (gone,) = Estimates([replace(ROW, category=MISSING, point=-0.25)], schema=SCHEMA).clip()
    assert gone.point == 0.0


def test_the_shares_of_an_attribute_are_projected_together() -> None:
    shares = [
        replace(ROW, attribute="c", category=name, point=point) for name, point in (("a", 0.7), ("b", 0.7), ("d", -0.2))
    ]
    other = replace(ROW, category=MISSING)
    rows = Estimates([ROW, *shares, other], schema=SCHEMA)
    assert [row.point for row in rows.project()] == [0.5, 0.5, 0.5, 0.0, 0.5]
    unknown = [replace(shares[0], point=math.nan), *shares[1:]]
    kept = Estimates(unknown, schema=SCHEMA).project()
    assert [str(row) for row in kept] == [str(row) for row in unknown]
    two = Schema([*SCHEMA.attributes, Categorical("e", ["a", "b", "d"])])
    more = [replace(row, attribute="e") for row in shares]
    assert [row.point for row in Estimates([*unknown, *more], schema=two).project()][3:] == [0.5, 0.5, 0.0]
    with pytest.raises(EstimateError, match="all of its categories"):
        Estimates(shares[:2], schema=SCHEMA).project()
    for remedy in (Estimates(shares).clip, Estimates(shares).project):
        with pytest.raises(EstimateError, match="schema"):
            remedy()


def test_the_columns_of_a_data_frame() -> None:
    first = ["attribute", "category", "point", "stderr", "low", "high", "answers"]
    assert Estimates.columns() == [*first, "floor", "ceiling", "beyond", "tail", "needed"]
    assert [*Estimates([ROW]).to_dicts()[0]] == first
    assert [name for name, *_ in Estimates([ROW])._listed()] == first
    for rare in ("floor", "ceiling", "beyond", "tail", "needed"):
        assert [*Estimates([replace(ROW, **{rare: 0.5})]).to_dicts()[0]] == [*first, rare]  # type: ignore[arg-type]


def test_means_of_dates_are_dates() -> None:
    schema = Schema([Date("born", "2000-01-01", "2001-01-01", optional=True)])
    day = 10957.0
    mean = Estimate("born", None, day, 3.0, day + 1, day + 2, 40, day + 3, day + 4)
    (row,) = Estimates([mean], schema=schema).worded(schema)
    assert [row[name] for name in ("point", "low", "high", "floor", "ceiling")] == [
        f"2000-01-0{i}" for i in range(1, 6)
    ]
    assert row["stderr"] == 3.0
    plain = replace(mean, floor=None, ceiling=None)
    assert "2000-01-01" in str(Estimates([plain], schema=schema))
    assert "2000" not in str(Estimates([plain]))
    gone = replace(plain, category=MISSING, point=0.5, low=0.4, high=0.6)
    assert "0.5" in str(Estimates([gone], schema=schema))
    assert "-" not in str(Estimates([gone], schema=schema)).splitlines()[-1]


def test_a_tail_is_above_1_and_at_most_100() -> None:
    tally = wide(False, (60, 100, 80, 60, 30, 5, 3))
    for tail in (1.01, 2, 100):
        assert estimate(tally, tail=tail)[1].tail == tail
    for wrong in (1, 1.0, 0.5, 100.5, True, "2"):
        with pytest.raises(EstimateError, match="tail must be a number above 1, at most 100"):
            estimate(tally, tail=wrong)  # type: ignore[arg-type]
    assert len(estimate(simple(), top=1)) == 4


def test_a_mean_has_its_own_level() -> None:
    tally = simple()
    rows = estimated(tally, 0.9, together={"x": 7, "three": 3})
    mean = next(row for row in rows if row.attribute == "x")
    target = next(one for one in targets(tally, "ratio") if one.attribute.name == "x")
    assert not isinstance(target.sample, Sample)
    scale = Scale(target.attribute, None)
    ends = bounds(target.sample, 0.9), scale.value(target.sample.point)
    assert (mean.low, mean.high) == scale.around(*ends, cut=False)
    finish = partial(shown, schema=tally.plan.schema)
    assert estimated(tally, 0.9, together={"x": 7, "three": 3}, finish=finish) == [finish(row) for row in rows]


def long_list() -> Tally:
    schema = Schema([Categorical("b", ["x", "y"]), Categorical("c", [f"v{i}" for i in range(18)], optional=True)])
    questions = (Question(["c"], small_geometry(Fraction(2), 19, 4, 3)), Question(["b"], grr(Fraction(2), 2)))
    counts = [[10 + 3 * i % 7 for i in range(21)], [150, 50]]
    return Tally(Plan(schema, Fraction(2), 1, questions), sum(map(sum, counts)), [sum(one) for one in counts], counts)


def test_only_the_rows_of_long_lists_that_are_wanted_are_made() -> None:
    tally = long_list()
    every = estimated(tally, 0.9)
    assert [row.attribute for row in every] == ["b"] * 2 + ["c"] * 19  # as in the schema
    some = estimated(tally, 0.9, some=Wanted(top=2))
    assert some == [*every[:2], *sorted(every[2:], key=lambda row: -row.point)[:2]]
    people = with_own(tally, 40)
    assert [row.answers for row in estimated(people, 0.9, some=Wanted(top=2))] == [185, 185, 248, 248]
    assert len(estimate(people, top=2)) == 4
