"""Binomial tails against sums of fractions, and the promise of Clopper and Pearson's bounds."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hush.server.binomial import at_least, at_most, lower_bound, normal, student, upper_bound


def exactly_at_least(count: int, n: int, p: Fraction) -> Fraction:
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(count, n + 1)), Fraction(0))


@given(st.integers(1, 60), st.integers(-1, 61), st.integers(1, 63))
def test_tails_are_those_of_the_sum(n: int, count: int, p: int) -> None:
    exact = exactly_at_least(max(count, 0), n, Fraction(p, 64))
    assert at_least(count, n, p / 64) == pytest.approx(float(exact), rel=1e-10, abs=1e-300)
    assert at_most(count - 1, n, p / 64) == pytest.approx(float(1 - exact), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_what_is_certain_is_certain(p: float) -> None:
    """An event that never happens, or always; and counts that are reached in any case, or never."""
    for n in (1, 7):
        assert at_least(0, n, p) == at_most(n, n, p) == at_most(n + 1, n, p) == 1
        assert at_least(n + 1, n, p) == at_most(-1, n, p) == 0
        if p in (0, 1):
            assert [at_least(count, n, p) for count in range(1, n + 1)] == [p] * n
            assert [at_most(count, n, p) for count in range(n)] == [1 - p] * n


@pytest.mark.parametrize(("count", "n"), [(0, 10_000), (1, 10_000), (17, 10_000), (4000, 10_000), (10_000, 10_000)])
@pytest.mark.parametrize("miss", [0.05, 1e-6, 1e-9])
def test_bounds_are_where_the_tail_is_as_small_as_asked(count: int, n: int, miss: float) -> None:
    low, high = lower_bound(count, n, miss), upper_bound(count, n, miss)
    assert low <= count / n <= high
    if count:
        assert at_least(count, n, low) == pytest.approx(miss, rel=1e-6)
    if count < n:
        assert at_most(count, n, high) == pytest.approx(miss, rel=1e-6)
    assert (low == 0) == (count == 0)
    assert (high == 1) == (count == n)


def test_a_large_tail_agrees_with_exact_arithmetic() -> None:
    exact = float(exactly_at_least(350, 1000, Fraction(5, 16)))
    assert at_least(350, 1000, 5 / 16) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("p", [0.003, 0.2, 0.7])
def test_bounds_miss_no_more_often_than_promised(p: float) -> None:
    """Not sampled: the probabilities of all counts for which a bound errs are added up."""
    n, miss = 200, 0.01
    law = [at_least(k, n, p) - at_least(k + 1, n, p) for k in range(n + 1)]
    assert sum(q for k, q in enumerate(law) if lower_bound(k, n, miss) > p) <= miss
    assert sum(q for k, q in enumerate(law) if upper_bound(k, n, miss) < p) <= miss


@pytest.mark.parametrize("freedom", [1, 1.5, 4, 30, 499, 499.999, 500, 1e4, 1e17])
@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.95, 0.999, 1 - 1e-9])
def test_students_quantiles(level: float, freedom: float) -> None:
    """Those of scipy, from its upper tail so that it loses no digits either."""
    expected = stats.t.isf((1 - level) / 2, freedom)
    assert student(level, freedom) == pytest.approx(expected, rel=2e-7)
    assert student(level, 1e17) == pytest.approx(normal(level), rel=1e-12)


@pytest.mark.parametrize("freedom", [500, 700.5])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_the_expansion_leaves_out_what_is_of_the_fourth_order(level: float, freedom: float) -> None:
    """That is below 5e-12 from 500 degrees of freedom on, up to the level 0.9."""
    expected = stats.t.isf((1 - level) / 2, freedom)
    assert student(level, freedom) == pytest.approx(expected, rel=5e-12, abs=0)


def test_students_quantiles_are_those_of_the_tables() -> None:
    found = [student(0.95, 1), student(0.95, 10), student(0.99, 30), student(0.95, 1000)]
    assert found == pytest.approx([12.706, 2.228, 2.750, 1.962], abs=5e-4)
