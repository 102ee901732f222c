"""Samples of averages and pools of samples, in numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hush.core.channels.base import Presence, Reading, Summed
from hush.core.channels.squares import Squares
from hush.server import intervals
from hush.server.binomial import student
from hush.server.intervals import (
    Added,
    Pool,
    Ratio,
    Sample,
    bounds,
    interval,
    pool_interval,
    ratio_interval,
    sample_of,
    summarise,
    top_of,
)
from hush.server.intervals import ratio as ratio_of

KNOWN = Squares(((-1.0, 2.0), (1.0, 2.0)), ((-1.0, 4.0), (1.0, 4.0)))  # at x the variance is 2 - x^2 to 4 - x^2
WIDER = Squares(((-2.0, 5.0), (3.0, 5.0)), ((-2.0, 9.0), (3.0, 9.0)))
SHARE = Sample(4, 0.5, 1 / 3, 0.0, 1.0, two_valued=True)
MANY = Sample(10, 0.25, 2.5, -2.0, 2.0, two_valued=False, squares=KNOWN)
HERE = Sample(10, 0.5, 0.25, -0.5, 1.5, two_valued=False)
PRESENT = Ratio(MANY, HERE, 0.125)
BOTH = Pool(((0.25, SHARE), (0.75, MANY)))


# -- averages


def test_a_sample_of_averages() -> None:
    summed = Summed(0, None, 5, 0.5, 1.25, -3.0, 3.0, KNOWN)
    assert sample_of(summed) == Sample(5, 0.5, 1.25, -3.0, 3.0, two_valued=False, squares=KNOWN)
    assert sample_of(replace(summed, n=2)) == Sample(2, 0.5, 2.0, -3.0, 3.0, two_valued=False, squares=KNOWN)
    assert sample_of(replace(summed, square=0.125)).variance == 0.0  # type: ignore[union-attr]
    assert math.isnan(sample_of(replace(summed, n=1)).variance)  # type: ignore[union-attr]
    for nothing in (replace(summed, mean=None), replace(summed, square=None)):
        sample = sample_of(nothing)
        assert isinstance(sample, Sample)
        assert (sample.n, sample.smallest, sample.largest, sample.squares) == (0, -3.0, 3.0, KNOWN)
        assert not sample.two_valued
        assert math.isnan(sample.mean)
        assert math.isnan(sample.variance)


def test_a_ratio_of_averages() -> None:
    present = Presence(0.75, 0.8125, 0.625, -0.5, 1.5)
    summed = Summed(0, None, 5, 0.5, 1.25, -3.0, 3.0, KNOWN, present)
    found = sample_of(summed)
    assert isinstance(found, Ratio)
    assert found.numerator == sample_of(replace(summed, presence=None))
    assert found.denominator == Sample(5, 0.75, 0.3125, -0.5, 1.5, two_valued=False)
    assert found.covariance == (0.625 - 0.375) * 5 / 4
    two = sample_of(replace(summed, n=2))
    assert isinstance(two, Ratio)
    assert two.covariance == 0.5
    for nothing in (replace(summed, n=1), replace(summed, presence=replace(present, product=None))):
        ratio = sample_of(nothing)
        assert isinstance(ratio, Ratio)
        assert math.isnan(ratio.covariance)


def test_a_sample_of_a_reading_is_that_of_its_counts() -> None:
    plain = Reading(0, None, (4, 3, 2), (-1.0, 0.5, 1.0), None, KNOWN)
    assert sample_of(plain) == summarise((4, 3, 2), (-1.0, 0.5, 1.0), KNOWN, (-1.0, 1.0))
    assert sample_of(replace(plain, symbol=1)) == summarise((4, 3, 2), (-1.0, 0.5, 1.0), KNOWN)
    present = replace(plain, presence=(1.25, 0.5, 1.0))
    assert sample_of(present) == ratio_of((4, 3, 2), (-1.0, 0.5, 1.0), (1.25, 0.5, 1.0), KNOWN)
    assert (top_of(MANY), top_of(PRESENT)) == (MANY, MANY)
    assert bounds(MANY, 0.9) == interval(MANY, 0.9)


def test_the_spread_of_a_ratio() -> None:
    assert PRESENT.point == 0.5
    assert PRESENT.spread(2.0) == 2.5 - 4 * 0.125 + 4 * 0.25
    assert PRESENT.away(2.0) == 0.25 - 2 * 0.5
    assert PRESENT.stderr == math.sqrt((2.5 - 0.125 + 0.0625) / 10) / 0.5
    assert replace(PRESENT, covariance=10.0).spread(1.0) == 0.0
    assert math.isnan(replace(PRESENT, denominator=replace(HERE, mean=0.0)).point)
    assert replace(PRESENT, numerator=replace(MANY, n=1)).stderr == math.inf
    assert replace(PRESENT, numerator=replace(MANY, n=2)).stderr < math.inf


def test_own_reports_add_their_spread_to_a_ratio() -> None:
    """For each person's report there is half an own one on average, of which another number may have come."""
    law = Ratio(replace(MANY, n=1.0, mean=0.75), replace(HERE, n=1.0, mean=0.25), 0.5)
    mixed = replace(PRESENT, own=Added(0.5, 0.25, law))
    for x in (-1.0, 0.25, 2.0):
        added = 0.5 * (law.spread(x) + 0.25 * law.away(x) ** 2)  # if x is true, that of people is 0 on average
        assert mixed.added(x) == pytest.approx(added)
        assert mixed.spread(x) == pytest.approx(PRESENT.spread(x) + added)
        assert PRESENT.added(x) == 0.0
        assert Added(0.5, 0.25, law).at(x, 0.125) == pytest.approx(
            0.5 * (law.spread(x) + 0.25 * (law.away(x) - 0.125) ** 2)
        )
    assert mixed.point == PRESENT.point
    assert mixed.stderr == pytest.approx(math.sqrt(mixed.spread(0.5) / 10) / 0.5)
    assert (PRESENT.freedom, mixed.freedom) == (9, 14)
    # At an end of the interval the least and the most that the channel allows are so much larger, too.
    close = Squares(((-1.0, 2.0), (1.0, 2.0)), ((-1.0, 2.1), (1.0, 2.1)))
    for known, n in ((KNOWN, 400), (close, 40)):
        top = replace(MANY, n=n, mean=0.1, variance=0.25, squares=known)
        ratio = replace(mixed, numerator=top, denominator=replace(HERE, mean=0.9), own=Added(0.25, 0.25, law))
        t2, unmet = student(0.9, 1.25 * n - 1) ** 2, -math.log(0.1)
        for x in ratio_interval(ratio, 0.9):
            away, added = ratio.away(x), ratio.added(x)
            assert -1 < x < 1
            assert added > 0.1
            least, most = (value + added for value in known.variances(x))
            room = 1 - x - away if away < 0 else away + 1 + x
            doubt = t2 * max(ratio.spread(x), least) + unmet * abs(away) * room
            assert n * away * away == pytest.approx(min(doubt, t2 * max(ratio.spread(x), most)))
            assert (doubt > t2 * most) == (known is close)
        assert bounds(ratio, 0.9) == ratio_interval(ratio, 0.9)


def test_own_reports_add_their_spread_to_a_mean() -> None:
    """Of more values and of two: at its ends the distance is what the known variances allow, half a report aside."""
    two = Sample(40, 0.1, 0.0, -0.5, 1.5, True)
    for sample, step in ((replace(MANY, n=40, mean=0.1, variance=0.25), 0.0), (two, 2.0)):
        law = replace(sample, n=1.0, mean=0.4, variance=0.5)
        found = replace(sample, own=Added(0.25, 0.75, law))
        t2, unmet = student(0.9, 49) ** 2, -math.log(0.1)
        for x in interval(found, 0.9):
            inside = min(max(x, found.domain[0]), found.domain[1])
            added = 0.25 * (0.5 + 0.75 * (0.4 - inside) ** 2)
            least, most = (value + added for value in found.variances(x))
            away = abs(found.mean - x) - step / 40 / 2
            seen = least if found.two_valued else found.variance + added
            room = found.domain[1] - found.mean if x > found.mean else found.mean - found.domain[0]
            doubt = t2 * max(seen, least) + unmet * away * max(room, 0.0)
            assert 40 * away * away == pytest.approx(min(doubt, t2 * max(seen, most)))
        assert found.stderr == pytest.approx(math.sqrt((found.variance + found.added(0.1)) / 40))
    assert two.variances(0.25) == (1.25 * 0.75, 1.25 * 0.75)
    assert two.variances(-0.25) == (1.75 * 0.25, 1.75 * 0.25)
    assert two.variances(-7.0) == two.variances(7.0) == (0.0, 0.0)
    assert MANY.variances(-7.0) == KNOWN.variances(-1.0)  # that of the domain's end
    assert two.domain == (0.0, 1.0)


# -- plausible


def test_what_is_plausible() -> None:
    """Of 16 values with a variance of 4, one is plausible as far away as t standard errors, and a little more."""
    t2, unmet = student(0.9, 15) ** 2, -math.log(0.1)
    test = intervals.tester(16, 0.9, 15)
    seen = math.sqrt(t2 * 4 / 16)
    for away in (seen, -seen):
        assert test(away * 0.999999, 4.0, 0.0, 4.0, 0.0)
        assert not test(away * 1.000001, 4.0, 0.0, 9.0, 0.0)
        assert test(away * 1.000001, 3.0, 4.1, 9.0, 0.0)  # the variance is at least that of the channel
        assert not test(away * 1.000001, 4.0, 0.0, 3.0, 100.0)  # and at most so much
        assert not test(away * 1.000001, 4.0, 0.0, 9.0, -100.0)
    far = (unmet * 2.0 + math.sqrt((unmet * 2.0) ** 2 + 4 * 16 * t2 * 4)) / 32  # 16 x^2 = 4 t2 + 2 unmet x
    assert test(far * 0.999999, 4.0, 0.0, 1e9, 2.0)
    assert not test(far * 1.000001, 4.0, 0.0, 1e9, 2.0)


# -- pools


def test_a_pool_is_a_weighted_average() -> None:
    assert (BOTH.n, BOTH.value, BOTH.present, BOTH.point) == (14, 0.3125, 1.0, 0.3125)
    part = Pool(((0.25, PRESENT), (0.75, replace(PRESENT, denominator=replace(HERE, mean=0.25)))))
    assert (part.n, part.value, part.present, part.point) == (20, 0.25, 0.3125, 0.8)
    assert part.stderr == pytest.approx(math.sqrt(part.variances(0.8)[0]) / 0.3125)
    for mean in (0.0, -0.5):
        nobody = Pool(((1.0, replace(PRESENT, denominator=replace(HERE, mean=mean))),))
        assert math.isnan(nobody.point)
        assert nobody.stderr == math.inf
        assert bounds(nobody, 0.95) == (-math.inf, math.inf)


def test_the_variance_of_a_pool() -> None:
    """Of shares it is that at x; of others the one seen, but at least and at most what the channel allows."""
    scale = 0.0625 / 4, 0.5625 / 10
    assert BOTH.variances(0.5) == pytest.approx((scale[0] / 4 + scale[1] * 2.5, scale[0] / 4 + scale[1] * 3.75))
    assert BOTH.variances(0.0) == pytest.approx((scale[1] * 2.5, scale[1] * 4.0))
    assert BOTH.variances(0.25)[0] == pytest.approx(scale[0] * 0.1875 + scale[1] * 2.5)
    for beyond, end in ((7.0, 1.0), (-7.0, -1.0)):
        assert BOTH.variances(beyond) == pytest.approx((scale[1] * 2.5, scale[1] * 3.0))
        assert Pool(((1.0, MANY),)).variances(beyond) == Pool(((1.0, MANY),)).variances(end)
    little = Pool(((1.0, replace(MANY, variance=0.5)),))
    assert little.variances(0.5) == pytest.approx((1.75 / 10, 3.75 / 10))
    much = Pool(((1.0, replace(MANY, variance=50.0)),))
    assert much.variances(0.5) == pytest.approx((5.0, 5.0))
    one = Pool(((1.0, replace(MANY, n=1, variance=math.nan)),))
    assert one.variances(0.5) == pytest.approx((3.75, 3.75))  # one report shows no variance
    two = Pool(((1.0, replace(MANY, n=2)),))
    assert two.variances(0.5) == pytest.approx((1.25, 1.875))
    ratio = Pool(((0.5, PRESENT),))
    assert ratio.variances(1.0) == pytest.approx((0.025 * (2.5 - 0.25 + 0.25), 0.025 * 3.0))
    assert BOTH.stderr == pytest.approx(math.sqrt(scale[0] * 0.3125 * 0.6875 + scale[1] * 2.5))
    assert Pool(((1.0, replace(SHARE, n=1)),)).stderr == math.inf
    assert Pool(((1.0, replace(SHARE, n=2)),)).stderr < math.inf


def test_a_pool_of_one_sample_has_its_interval() -> None:
    for sample in (MANY, replace(MANY, n=400), replace(MANY, mean=0.9), replace(MANY, variance=0.01, n=30)):
        pool = Pool(((1.0, sample),))
        assert pool_interval(pool, 0.9) == pytest.approx(interval(sample, 0.9))
        assert bounds(pool, 0.9) == pool_interval(pool, 0.9)


@pytest.mark.parametrize(("count", "step"), [(20, 1), (99, 1), (100, 0), (300, 0), (301, 1), (380, 1)])
def test_a_pool_of_rare_values_moves_in_steps(count: int, step: int) -> None:
    """A share of 400 reports, on a scale of -1 to 3: half a report is taken off where fewer than 100 are on a side."""
    share = count / 400
    pool = Pool(((1.0, Sample(400, 4 * share - 1, 1.0, -1.0, 3.0, two_valued=True)),))
    t2 = student(0.9, 399) ** 2
    for end in pool_interval(pool, 0.9):
        x = (end + 1) / 4
        assert (abs(share - x) - step / 800) ** 2 * 400 == pytest.approx(t2 * x * (1 - x))


def test_the_step_of_a_pool_is_its_largest() -> None:
    rare, common = Sample(50, 0.1, 0.1, 0.0, 1.0, two_valued=True), Sample(300, 0.5, 0.25, 0.0, 1.0, two_valued=True)
    pool = Pool(((0.25, rare), (0.75, common)))
    t2 = student(0.9, 349) ** 2
    for x in pool_interval(pool, 0.9):
        spread = 0.0625 / 50 + 0.5625 / 300
        assert (abs(0.4 - x) - 0.25 / 50 / 2) ** 2 == pytest.approx(t2 * x * (1 - x) * spread)


def test_the_ends_of_a_pool_are_where_its_average_ceases_to_be_plausible() -> None:
    """The room is that to the farther end of all domains, and the people who were not met are as in one sample."""
    other = replace(MANY, n=30, mean=0.5, variance=1.0, squares=WIDER, smallest=-4.0, largest=6.0)
    pool = Pool(((0.25, replace(MANY, n=20)), (0.75, other)))
    assert (pool.n, pool.point) == (50, 0.4375)
    t2, unmet, spread = student(0.9, 49) ** 2, -math.log(0.1), 0.0625 / 20 + 0.5625 / 30
    low, high = pool_interval(pool, 0.9)
    for x, room in ((low, 0.4375 + 2), (high, 3 - 0.4375)):
        least, most = pool.variances(x)
        away = abs(x - 0.4375)
        assert t2 * least + unmet * away * room * spread == pytest.approx(away * away)
        assert t2 * most > away * away
    few = Pool(((0.5, replace(MANY, n=2)), (0.5, replace(other, n=1))))
    low, high = pool_interval(few, 0.999)
    assert low < -4.0 < 6.0 < high
    two = Pool(((0.5, replace(MANY, n=1)), (0.5, replace(other, n=1))))
    assert pool_interval(two, 0.5) == (-math.inf, math.inf)
    assert pool_interval(few, 0.1)[0] > -math.inf


def test_people_who_were_not_met_have_a_share_from_0_to_1() -> None:
    """A share has no squares, but its domain is known: the room is that to 0 and to 1, where the others have less."""
    narrow = Squares(((0.25, 0.3), (0.75, 0.3)), ((0.25, 9.0), (0.75, 9.0)))
    other = Sample(60, 0.5, 0.05, -1.0, 2.0, two_valued=False, squares=narrow)
    pool = Pool(((0.25, Sample(240, 0.5, 0.25, 0.0, 1.0, two_valued=True)), (0.75, other)))
    t2, unmet, spread = student(0.9, 299) ** 2, -math.log(0.1), 0.0625 / 240 + 0.5625 / 60
    for x in pool_interval(pool, 0.9):
        away = abs(x - 0.5)
        assert t2 * pool.variances(x)[0] + unmet * away * 0.5 * spread == pytest.approx(away * away)


def test_the_ends_of_a_pool_of_ratios_are_where_it_ceases_to_be_plausible() -> None:
    many = Ratio(replace(MANY, n=400, mean=0.1), replace(HERE, mean=0.75), 0.125)
    pool = Pool(((0.25, many), (0.75, replace(many, denominator=replace(HERE, mean=0.5)))))
    present = 0.25 * 0.75 + 0.75 * 0.5
    t2, unmet, spread = student(0.9, 799) ** 2, -math.log(0.1), (0.0625 + 0.5625) / 400
    for x in pool_interval(pool, 0.9):
        away = abs(0.1 - x * present)
        room = 1 - 0.1 / present if x > 0.1 / present else 1 + 0.1 / present
        least, most = pool.variances(x)
        assert away**2 == pytest.approx(min(t2 * least + unmet * away * room * spread, t2 * most))
    mixed = Pool(((0.5, PRESENT), (0.5, MANY)))
    low, high = pool_interval(mixed, 0.999_999)
    assert low < -1.0 < 1.0 < high  # nothing is cut yet


def test_a_pool_of_ratios_may_leave_the_domain() -> None:
    few = Pool(((0.5, replace(PRESENT, numerator=replace(MANY, n=3))), (0.5, PRESENT)))
    assert pool_interval(few, 0.999_999) == (-math.inf, math.inf)
    beyond = Pool(((1.0, replace(PRESENT, numerator=replace(MANY, n=4000, mean=0.75))),))
    assert beyond.point == 1.5
    low, high = pool_interval(beyond, 0.9)
    assert 1.3 < low < 1.5 < high < 1.7
