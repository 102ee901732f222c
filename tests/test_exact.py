"""Rational bounds of e^x, and thresholds that are the largest which privacy permits."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.exact import WORD, aligned_threshold, exp_bounds, largest_threshold, log_above, log_digits
from tests.cases import EPSILONS, exp_floor


@pytest.mark.parametrize("x", [*EPSILONS, Fraction(0), Fraction(1, 10**6), Fraction(16), Fraction(64), Fraction(2, 3)])
def test_bounds_enclose_the_exponential_tightly(x: Fraction) -> None:
    low, high = exp_bounds(x)
    reference = exp_floor(x)  # within 1e-74 of e^x, relatively, and not above it
    assert low <= reference * (1 + Fraction(3, 10**75))
    assert high >= reference
    assert high - low < reference / 2**180


def test_bounds_are_for_small_nonnegative_numbers() -> None:
    for x in (Fraction(-1, 10), Fraction(65)):
        with pytest.raises(ValueError, match="0 <= x <= 64"):
            exp_bounds(x)


@given(st.fractions(Fraction(1001, 1000), 10**7), st.integers(1, 5000), st.integers(1, 5000))
def test_the_largest_threshold_is_private_and_one_more_is_not(bound: Fraction, inside: int, outside: int) -> None:
    threshold = largest_threshold(bound, inside, outside)
    assert threshold * outside <= bound * (WORD - threshold) * inside
    more = threshold + 1
    assert more == WORD or more * outside > bound * (WORD - more) * inside


@given(st.fractions(Fraction(1001, 1000), 10**7), st.integers(1, 4096), st.integers(1, 4096))
def test_the_aligned_threshold_divides_evenly_and_is_the_largest_such(
    bound: Fraction, inside: int, outside: int
) -> None:
    while True:  # leave only powers of two in common
        common = next((p for p in range(3, 65, 2) if inside % p == 0 and outside % p == 0), 0)
        if not common:
            break
        inside //= common
    step = inside * outside
    try:
        threshold = aligned_threshold(bound, inside, outside)
    except ValueError:
        return
    assert threshold % inside == 0
    assert (WORD - threshold) % outside == 0
    largest = largest_threshold(bound, inside, outside)
    assert largest - step < threshold <= largest


def test_no_aligned_threshold_exists_if_an_odd_number_divides_both() -> None:
    with pytest.raises(ValueError, match="power of two"):
        aligned_threshold(Fraction(3), 3, 6)


@given(st.fractions(1, 10**9, max_denominator=10**30))
def test_logarithms_in_digits_are_above_the_truth_by_less_than_one_digit(ratio: Fraction) -> None:
    text = log_digits(ratio, 25)
    above = Fraction(text)
    assert exp_bounds(above)[1] >= ratio
    assert above == 0 or exp_bounds(max(above - Fraction(2, 10**25), Fraction(0)))[0] <= ratio
    assert float(text) == pytest.approx(log_above(ratio), rel=1e-14, abs=1e-15)


def test_logarithms_of_large_ratios_and_of_none() -> None:
    assert log_digits(Fraction(1)) == "0"
    assert log_digits(Fraction(2), 10) == "0.6931471806"
    assert log_digits(Fraction(10) ** 5000, 3) == "11512.926"
    with pytest.raises(ValueError, match="1 or more"):
        log_digits(Fraction(1, 2))


@pytest.mark.parametrize("power", [1, 20, 40, 52, 53, 62, 63])
def test_logarithms_of_ratios_near_one_end(power: int) -> None:
    """A float of such a ratio is 1, whose logarithm is 0: from there the way up in floats would never end."""
    ratio = 1 + Fraction(1, 1 << power)
    found = log_above(ratio)
    assert exp_bounds(Fraction(found))[0] >= ratio
    assert found <= 1.0001 / (1 << power)
