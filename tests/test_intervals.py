"""Intervals: known values, and the rules by which they are chosen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.intervals import interval, proportion, ratio, ratio_interval, summarise


def test_moments_are_those_of_the_values() -> None:
    sample = summarise([2, 1, 1], [0.0, 4.0, 8.0])
    assert (sample.n, sample.mean) == (4, 3.0)
    assert sample.variance == pytest.approx((9 + 9 + 1 + 25) / 3)
    assert sample.stderr == pytest.approx(math.sqrt(sample.variance / 4))
    assert sample.skewness == pytest.approx(((-27) * 2 + 1 + 125) / 4 / 11**1.5)
    assert (sample.smallest, sample.largest, sample.two_valued) == (0.0, 8.0, False)


def test_nothing_known_is_said_so() -> None:
    empty = summarise([0, 0], [0.0, 1.0])
    assert math.isnan(empty.mean)
    assert interval(empty, 0.95) == (-math.inf, math.inf)
    assert math.isinf(summarise([1, 0, 0], [0.0, 1.0, 2.0]).stderr)
    assert interval(summarise([1, 0, 0], [0.0, 1.0, 2.0]), 0.95) == (0.0, 2.0)


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


def test_enough_values_have_the_normal_interval() -> None:
    sample = summarise([100, 100, 100], [-1.0, 0.0, 1.0])
    low, high = interval(sample, 0.95)
    assert high == -low == pytest.approx(1.959964 * sample.stderr, rel=1e-6)


def test_few_or_lopsided_values_have_the_bernstein_interval() -> None:
    for counts in ([30, 30, 30], [100_000, 3, 2]):
        sample = summarise(counts, [-1.0, 0.0, 50.0])
        low, high = interval(sample, 0.95)
        log = math.log(4 / 0.05)
        margin = math.sqrt(2 * sample.variance * log / sample.n) + 7 * 51 * log / (3 * (sample.n - 1))
        assert high == pytest.approx(min(50, sample.mean + margin))
        assert low == pytest.approx(max(-1, sample.mean - margin))


def test_no_spread_is_no_certainty() -> None:
    low, high = interval(summarise([1000, 0, 0], [-1.0, 0.0, 1.0]), 0.95)
    assert low == -1
    assert high > -1 + 0.015


def test_a_value_never_seen_leaves_a_doubt() -> None:
    sample = summarise([0, 98], [0.0, 1.0])
    assert sample.variance == 0
    assert sample.stderr == pytest.approx(math.sqrt(99 / 100 * 1 / 100 / 100))


def test_rare_outputs_must_have_had_a_chance() -> None:
    counts, values = [500, 500, 0], [-1.0, 1.0, 40.0]
    margin = interval(summarise(counts, values), 0.95)[1]
    assert margin == pytest.approx(1.96 * summarise(counts, values).stderr, rel=1e-3)
    assert interval(summarise(counts, values, rare=0.001), 0.95)[1] > 3 * margin


def test_the_ratio_of_a_constant_presence_is_the_mean() -> None:
    values, counts = [-1.0, 0.5, 2.0], [400, 500, 300]
    found = ratio(counts, values, [1.0, 1.0, 1.0])
    plain = summarise(counts, values)
    assert found.point == pytest.approx(plain.mean)
    assert found.stderr == pytest.approx(plain.stderr)
    # A constant has no skewness to speak of, so the cautious interval is used; it contains the normal one.
    low, high = ratio_interval(found, 0.95)
    assert low < interval(plain, 0.95)[0]
    assert high > interval(plain, 0.95)[1]


def test_fieller_solves_its_equation() -> None:
    counts, values, presence = [400, 500, 300], [-1.0, 0.5, 2.0], [1.5, 0.9, 0.2]
    found = ratio(counts, values, presence)
    for end in ratio_interval(found, 0.95):
        shifted = summarise(counts, [value - end * here for value, here in zip(values, presence, strict=True)])
        assert abs(shifted.mean) == pytest.approx(1.959964 * shifted.stderr, rel=1e-6)


def test_a_ratio_that_may_be_of_nobody_has_no_bounds() -> None:
    for counts in ([500, 500, 20], [5, 5, 1], [1, 0, 0], [0, 0, 0]):
        found = ratio(counts, [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5])
        assert ratio_interval(found, 0.95) == (-math.inf, math.inf)
    assert math.isnan(ratio([10, 0, 0], [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5]).point)
    assert math.isinf(ratio([10, 0, 0], [-1.0, 0.5, 2.0], [-1.0, 1.0, 0.5]).stderr)


def test_few_reports_have_a_cautious_ratio() -> None:
    """The ends are those of two Bernstein intervals that hold together, divided the cautious way."""
    log = math.log(4 / 0.025)
    for counts in ([20, 60], [60, 20], [40, 40]):
        found = ratio(counts, [-1.0, 1.0], [0.9, 1.1])
        ends = []
        for sample in (found.numerator, found.denominator):
            width = sample.largest - sample.smallest
            margin = math.sqrt(2 * sample.variance * log / 80) + 7 * width * log / (3 * 79)
            ends.append((max(sample.mean - margin, sample.smallest), min(sample.mean + margin, sample.largest)))
        quotients = [a / b for a in ends[0] for b in ends[1]]
        assert [*ratio_interval(found, 0.95)] == pytest.approx([min(quotients), max(quotients)])


def test_a_value_that_was_never_seen_has_a_standard_error_on_the_scale_of_the_values() -> None:
    """One further report of each value is added: a share of 1/(n+2), on a scale from -3 to 2."""
    found = summarise([0, 98], [-3.0, 2.0])
    assert found.stderr == pytest.approx(5 * math.sqrt(1 / 100 * 99 / 100 / 100))
    assert summarise([98, 0], [-3.0, 2.0]).stderr == found.stderr
