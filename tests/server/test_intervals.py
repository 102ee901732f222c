"""Intervals: known values, and the rules by which they are chosen."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core.channels.squares import Squares
from hush.server.binomial import at_least, at_most, student
from hush.server.intervals import (
    Sample,
    beyond,
    difference,
    enough,
    interval,
    laid,
    moments,
    needed,
    proportion,
    ratio,
    ratio_interval,
    says_nothing,
    summarise,
)


def test_moments_are_those_of_the_values() -> None:
    sample = summarise([2, 1, 1], [0.0, 4.0, 8.0])
    assert (sample.n, sample.mean) == (4, 3.0)
    assert sample.variance == pytest.approx((9 + 9 + 1 + 25) / 3)
    assert sample.stderr == pytest.approx(math.sqrt(sample.variance / 4))
    assert (sample.smallest, sample.largest, sample.two_valued) == (0.0, 8.0, False)


def test_nothing_known_is_said_so() -> None:
    empty = summarise([0, 0], [0.0, 1.0])
    assert math.isnan(empty.mean)
    assert interval(empty, 0.95) == (-math.inf, math.inf)
    assert math.isinf(summarise([1, 0, 0], [0.0, 1.0, 2.0]).stderr)
    assert interval(summarise([1, 0, 0], [0.0, 1.0, 2.0]), 0.95) == (0.0, 2.0)


def test_a_second_report_ends_complete_ignorance() -> None:
    sample = summarise([1, 1, 0], [-0.5, 0.5, 9.0], QUIET)
    assert sample.variance == 0.5
    assert sample.stderr == 0.5
    low, high = interval(sample, 0.5)  # with one degree of freedom t is 1
    assert -0.5 <= low < 0 < high < 1
    found = ratio([1, 1, 0], [-0.5, 0.5, 9.0], [1.0, 0.5, 0.5], MISSING)
    assert found.covariance == pytest.approx(-0.25)
    assert 0 < found.stderr < math.inf
    low, high = ratio_interval(found, 0.5)
    assert -1 <= low < 0 < high < 1 + 1e-12
    assert math.isinf(ratio([1, 0, 0], [-0.5, 0.5, 9.0], [1.0, 0.5, 0.5], MISSING).stderr)


def test_a_law_has_the_moments_that_one_value_is_expected_to_have() -> None:
    found = moments([0.5, 0.25, 0.25], [-2.0, 2.0, 6.0], QUIET)
    assert found == Sample(1.0, 1.0, 11.0, -2.0, 6.0, two_valued=False, squares=QUIET)
    assert moments([0.75, 0.25], [-3.0, 1.0]) == Sample(1.0, -2.0, 3.0, -3.0, 1.0, two_valued=True)
    assert not moments([1.0], [2.0]).two_valued


@pytest.mark.parametrize("values", [(0.0, 1.0), (-0.1, 0.3), (-1 / 3, 2 / 3), (-12.7, 19.1)])
def test_counts_of_reports_are_whole_and_expected_ones_need_not_be(values: tuple[float, float]) -> None:
    """An error of rounding would be another count: one that exceeds n, for some."""
    low, high = values

    def scaled(count: float, n: float) -> list[float]:
        return [low + (high - low) * end for end in proportion(count, n, 0.95)]

    for n in (1, 3, 7, 49, 300):
        for count in {0, 1, n // 3, n}:
            assert [*interval(summarise([n - count, count], values), 0.95)] == scaled(count, n)
    expected = Sample(10.5, low + (high - low) * 0.3, 1.0, low, high, two_valued=True)
    assert [*interval(expected, 0.95)] == pytest.approx(scaled(3.15, 10.5), rel=1e-6)


def test_wilson_has_the_textbook_value() -> None:
    low, high = proportion(150, 500, 0.95)
    assert [low, high] == pytest.approx([0.2614, 0.3416], abs=1e-4)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (10, 10, 0.6915, 1.0),
        (9, 10, 0.5550, 0.9975),
        (3, 1000, 0.00062, 0.00874),
    ],
)
def test_few_counts_have_the_exact_interval_of_clopper_and_pearson(count: int, n: int, low: float, high: float) -> None:
    assert [*proportion(count, n, 0.95)] == pytest.approx([low, high], abs=6e-5)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_an_interval_contains_its_share_and_is_symmetric(n: int, count: int, level: float) -> None:
    count = min(count, n)
    low, high = proportion(count, n, level)
    assert -1e-12 <= low <= count / n <= high <= 1 + 1e-12
    mirrored = proportion(n - count, n, level)
    assert [1 - mirrored[1], 1 - mirrored[0]] == pytest.approx([low, high], abs=1e-12)


def test_two_values_are_a_proportion() -> None:
    sample = summarise([350, 150], [-3.0, 5.0])
    low, high = proportion(150, 500, 0.95)
    assert [*interval(sample, 0.95)] == pytest.approx([-3 + 8 * low, -3 + 8 * high])


QUIET = Squares.of([(-1.0, 1.01), (0.0, 0.01), (1.0, 1.01)])  # a variance of 0.01 for people who are all alike
LOUD = Squares.of([(-1.0, 9.0), (1.0, 9.0)])  # and of 9 - x^2 for all people with mean x
LOG = -math.log(0.05)


def score(away: float, n: int, variance: float, least: float, most: float, room: float) -> float:
    """How far an average is from being plausible: 0 at the ends of an interval."""
    t2 = student(0.95, n - 1) ** 2
    return n * away**2 - min(t2 * max(variance, least) + LOG * abs(away) * room, t2 * max(variance, most))


def test_many_values_have_nearly_the_normal_interval() -> None:
    sample = summarise([100_000, 100_000, 100_000], [-1.0, 0.0, 1.0], QUIET)
    low, high = interval(sample, 0.95)
    assert high == pytest.approx(-low)
    assert 1.959964 * sample.stderr < high < 1.002 * 1.959964 * sample.stderr


@pytest.mark.parametrize("counts", [[30, 30, 40], [90, 9, 1], [2, 1, 0], [400, 100, 0, 7]])
@pytest.mark.parametrize("known", [QUIET, LOUD])
def test_the_ends_are_where_the_average_ceases_to_be_plausible(counts: list[int], known: Squares) -> None:
    sample = summarise(counts, [-1.5, 0.5, 1.5, 9.5][: len(counts)], known)
    for end in interval(sample, 0.95):
        x = min(max(end, -1), 1)
        if known is QUIET:  # half at each end have the most
            least, most = 0.01 + abs(x) - x * x, 1.01 - x * x
        else:
            least = most = 9 - x * x
        room = max(1 - sample.mean if end > sample.mean else 1 + sample.mean, 0)
        if end not in (sample.smallest, sample.largest):
            assert abs(score(sample.mean - end, sum(counts), sample.variance, least, most, room)) < 1e-8


def test_people_who_were_not_met_may_be_at_the_other_end() -> None:
    """Without noise all of n reports are -1 with probability 0.05 if a share of 3/n is at 1: the mean moves by 6/n."""
    silent = Squares.of((t, t * t) for t in (i / 5000 - 1 for i in range(10_001)))
    low, high = interval(summarise([1000, 0, 0], [-1.0, 0.0, 1.0], silent), 0.95)
    assert low == -1
    assert (1 - (high + 1) / 2) ** 1000 == pytest.approx(0.05, rel=0.01)
    assert high == pytest.approx(2 * LOG / 1000 - 1, abs=1e-6)


def test_no_spread_is_no_certainty() -> None:
    low, high = interval(summarise([1000, 0, 0], [-1.0, 0.0, 1.0], QUIET), 0.95)
    assert low == -1
    assert high > -1 + 2 * LOG / 1000


def test_outputs_that_are_rare_count_before_they_are_seen() -> None:
    """Two reports in a thousand would be far away, and are known to be: none was seen."""
    counts, values = [500, 500, 0], [-0.01, 0.01, 40.0]
    rare = Squares.of([(-1.0, 4.2), (0.0, 3.2), (1.0, 4.2)])  # 40^2 * 0.002
    margin = interval(summarise(counts, values, rare), 0.95)[1]
    assert margin > 1.96 * math.sqrt(3.2 / 1000)
    assert 1.96 * summarise(counts, values).stderr < 0.001


@given(
    st.lists(st.integers(0, 500), min_size=4, max_size=4).filter(lambda counts: sum(counts) > 1),
    st.sampled_from([QUIET, LOUD]),
    st.sampled_from([1e-12, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9]),
)
def test_an_interval_contains_its_mean_and_grows_with_its_level(
    counts: list[int], known: Squares, level: float
) -> None:
    sample = summarise(counts, [-3.0, -0.5, 0.5, 3.0], known)
    low, high = interval(sample, level)
    assert low - 1e-9 <= sample.mean <= high + 1e-9
    wider = interval(sample, 1 - (1 - level) / 2)
    assert wider[0] - 1e-9 <= low
    assert high <= wider[1] + 1e-9
    mirrored = interval(summarise(counts[::-1], [-3.0, -0.5, 0.5, 3.0], known), level)
    assert [-mirrored[1], -mirrored[0]] == pytest.approx([low, high], abs=1e-9)


def test_a_hundred_on_each_side_are_many() -> None:
    """One fewer has the exact interval, whose tails are exact."""
    low, high = proportion(99, 1000, 0.95)
    assert at_least(99, 1000, low) == pytest.approx(0.025)
    assert at_most(99, 1000, high) == pytest.approx(0.025)
    for count in (100, 900):
        for end in proportion(count, 1000, 0.95):
            assert abs(count / 1000 - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 1000), rel=1e-6)
    low, high = proportion(901, 1000, 0.95)
    assert at_least(901, 1000, low) == pytest.approx(0.025)


def test_the_doubt_is_added_to_two_values_of_which_one_was_never_seen_alone() -> None:
    both = summarise([350, 150], [-3.0, 5.0])
    assert both.stderr == pytest.approx(math.sqrt(both.variance / 500))
    assert summarise([9, 0, 0], [1.0, 2.0, 3.0]).stderr == 0


def test_a_value_never_seen_leaves_a_doubt() -> None:
    sample = summarise([0, 98], [0.0, 1.0])
    assert sample.variance == 0
    assert sample.stderr == pytest.approx(math.sqrt(99 / 100 * 1 / 100 / 100))


def test_the_ratio_of_a_constant_presence_is_the_mean() -> None:
    values, counts = [-1.5, 0.5, 2.0], [400, 500, 300]
    found = ratio(counts, values, [1.0, 1.0, 1.0], QUIET)
    plain = summarise(counts, values, QUIET)
    assert found.point == pytest.approx(plain.mean)
    assert found.stderr == pytest.approx(plain.stderr)
    assert [*ratio_interval(found, 0.95)] == pytest.approx([*interval(plain, 0.95)])


def test_the_standard_error_of_a_ratio_is_that_of_its_deviations() -> None:
    """To first order a ratio moves by the mean of (value - ratio*presence), over the mean presence."""
    counts, values, presence = [40, 50, 30], [-1.0, 0.5, 2.0], [0.9, 0.1, 0.4]
    found = ratio(counts, values, presence)
    mean = sum(count * here for count, here in zip(counts, presence, strict=True)) / 120
    away = [(value - found.point * here) / mean for value, here in zip(values, presence, strict=True)]
    assert found.stderr == pytest.approx(summarise(counts, away).stderr)


MISSING = Squares(QUIET.lower, QUIET.upper, -0.9, ((0.02, 0.1),))


@pytest.mark.parametrize("counts", [[400, 500, 300], [4, 50, 3], [100, 3, 80]])
def test_the_ends_of_a_ratio_are_where_it_ceases_to_be_plausible(counts: list[int]) -> None:
    values, presence = [-1.0, 0.0, 1.0], [1.05, 0.1, 1.05]
    found = ratio(counts, values, presence, MISSING)
    low, high = ratio_interval(found, 0.95)
    assert low < found.point < high
    for x in (low, high):
        if abs(x) < 1:
            z = summarise(counts, [value - x * here for value, here in zip(values, presence, strict=True)])
            least = min(0.01 + abs(x) - 0.9 * x * x, 0.02 + 0.1 * x * x)
            most = max(1.01 - 0.9 * x * x, 0.02 + 0.1 * x * x)
            room = 1 - x - z.mean if z.mean < 0 else 1 + x + z.mean
            assert abs(score(z.mean, sum(counts), z.variance, least, most, room)) < 1e-8


def test_many_reports_of_a_ratio_have_nearly_the_interval_of_fieller() -> None:
    counts, values, presence = [400_000, 500_000, 300_000], [-1.0, 0.5, 2.0], [1.5, 0.9, 0.2]
    found = ratio(counts, values, presence, MISSING)
    for end in ratio_interval(found, 0.95):
        shifted = summarise(counts, [value - end * here for value, here in zip(values, presence, strict=True)])
        assert abs(shifted.mean) == pytest.approx(1.959964 * shifted.stderr, rel=0.002)


def test_a_ratio_that_may_be_of_nobody_has_no_bounds() -> None:
    for counts in ([50, 50, 20], [5, 5, 1]):
        ends = ratio_interval(ratio(counts, [-1.0, 0.5, 2.0], [-1.0, 1.1, 0.5], MISSING), 0.95)
        assert ends == (-math.inf, math.inf)
    for counts in ([1, 0, 0], [0, 1, 0], [0, 0, 0], [60, 50, 0]):
        found = ratio(counts, [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5], MISSING)
        assert ratio_interval(found, 0.95) == (-math.inf, math.inf)
    for counts in ([10, 0, 0], [5, 5, 0], [6, 4, 0], [0, 0, 0]):  # a mean presence of -1, 0, -0.2, and of nobody
        nobody = ratio(counts, [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5], MISSING)
        assert math.isnan(nobody.point)
        assert math.isinf(nobody.stderr)
        assert ratio_interval(nobody, 0.95) == (-math.inf, math.inf)
    assert ratio([0, 0, 10], [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5]).point == 4.0


def test_a_ratio_beyond_the_domain_has_an_interval_at_its_end() -> None:
    found = ratio([0, 0, 10**6], [-1.0, 0.0, 1.5], [1.0, 0.1, 1.0], MISSING)
    assert found.point == 1.5
    low, high = ratio_interval(found, 0.95)
    assert 1.49 < low < 1.5 < high < 1.51
    assert [*laid((low, high), 1.5, (-1.0, 1.0))] == pytest.approx([1 - (1.5 - low), 1.0])


def test_an_interval_is_laid_around_the_point_within_the_domain() -> None:
    """It covers all of the domain that it covered, and it always has a width if it had one on that side."""
    assert laid((0.2, 0.6), 0.3, (0.0, 1.0)) == (0.2, 0.6)
    assert laid((-0.5, 0.5), 0.3, (0.0, 1.0)) == (0.0, 0.5)
    assert laid((-0.5, -0.25), -0.375, (0.0, 1.0)) == (0.0, 0.125)
    assert laid((1.25, 3.0), 1.5, (0.0, 1.0)) == (0.75, 1.0)
    assert laid((-math.inf, math.inf), 9.0, (0.0, 1.0)) == (0.0, 1.0)
    assert laid((0.4, 0.6), math.nan, (0.0, 1.0)) == (0.0, 1.0)
    world = random.Random(5)
    for _ in range(2000):
        low, point, high = sorted(world.uniform(-2, 3) for _ in range(3))
        found = laid((low, high), point, (0.0, 1.0))
        assert 0.0 <= found[0] < found[1] <= 1.0
        assert found[0] <= min(max(point, 0.0), 1.0) <= found[1]
        x = world.random()
        assert not low <= x <= high or found[0] <= x <= found[1]


def test_ends_are_found_however_far_away_they_are() -> None:
    for low, high in ((-0.25, 0.5), (-1e6, 3e9), (-1e-12, 1e-9)):
        found = beyond(lambda x, low=low, high=high: low <= x <= high, 0.0, 1.0)  # type: ignore[misc]
        assert found == pytest.approx((low, high), rel=1e-2, abs=0)
    assert [*beyond(lambda x: x >= -1.0, 0.0, 0.5)] == pytest.approx([-1.0, math.inf])


def test_how_many_answers_an_interval_takes() -> None:
    assert not says_nothing((0.0, 0.75), (0.0, 1.0))
    assert says_nothing((0.0, 0.76), (0.0, 1.0))
    assert says_nothing((-math.inf, math.inf), (0.0, 1.0))
    assert says_nothing((math.nan, 0.5), (0.0, 1.0))
    assert not says_nothing((-1e308, 0.0), (-1e308, 1e308))
    assert needed(100, (0.0, 1.5), (0.0, 1.0)) == 400
    assert needed(100, (0.0, 0.75), (0.0, 1.0)) == 110  # one more, rounded up to two digits
    assert needed(100, (-math.inf, 0.0), (0.0, 1.0)) == 400
    assert needed(0, (-math.inf, math.inf), (0.0, 1.0)) == 1
    assert [enough(x) for x in (0.5, 3, 9.5, 99.5, 1234, 1e30)] == [1, 3, 10, 100, 1300, 10**18]


def test_a_difference_takes_the_distances_of_both() -> None:
    domain = 0.0, 1.0
    point, (low, high) = difference((0.7, (0.6, 0.9)), (0.4, (0.1, 0.5)), 0.0, domain)
    assert point == pytest.approx(0.3)
    assert (low, high) == pytest.approx((0.3 - math.hypot(0.1, 0.1), 0.3 + math.hypot(0.2, 0.3)))
    # A positive covariance would narrow it, and is not counted; a negative one widens it.
    assert difference((0.7, (0.6, 0.9)), (0.4, (0.1, 0.5)), 0.9, domain)[1] == pytest.approx((low, high))
    wide = difference((0.7, (0.6, 0.9)), (0.4, (0.1, 0.5)), -1.0, domain)[1]
    assert wide == pytest.approx((0.3 - 0.2, 0.3 + 0.5))
    # Points beyond the domain are moved inside; the interval still has the difference of the points.
    point, (low, high) = difference((1.3, (1.1, 1.5)), (0.5, (0.4, 0.6)), 0.0, domain)
    assert point == pytest.approx(0.8)
    assert [low, high] == pytest.approx([0.5 - math.hypot(0.2, 0.1), 0.8])
    assert math.isnan(difference((math.nan, (0.0, 1.0)), (0.5, (0.4, 0.6)), 0.0, domain)[0])
    assert difference((0.5, (-math.inf, 1.0)), (0.5, (0.4, 0.6)), 0.0, domain)[1][0] == -math.inf


def test_a_value_that_was_never_seen_has_a_standard_error_on_the_scale_of_the_values() -> None:
    """One further report of each value is added: a share of 1/(n+2), on a scale from -3 to 2."""
    found = summarise([0, 98], [-3.0, 2.0])
    assert found.stderr == pytest.approx(5 * math.sqrt(1 / 100 * 99 / 100 / 100))
    assert summarise([98, 0], [-3.0, 2.0]).stderr == found.stderr
