"""Rational bounds of e^x, and thresholds that are the largest which privacy permits."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold, log_above, log_digits
from tests.cases import EPSILONS, exp_floor


@pytest.mark.parametrize("x", [*EPSILONS, Fraction(0), Fraction(1, 10**6), Fraction(16), Fraction(64), Fraction(2, 3)])
def test_bounds_enclose_the_exponential_tightly(x: Fraction) -> None:
    low, high = exp_bounds(x)
    reference = exp_floor(x)  # within 1e-74 of e^x, relatively, and not above it
    assert low <= reference * (1 + Fraction(3, 10**75))
    assert high >= reference
    assert high - low < reference / 2**180


def test_the_lower_bound_is_that_of_all_implementations() -> None:
    """Devices compare with it: one that were larger would accept plans that another refuses."""
    vectors = Path(__file__).parent.parent.parent / "spec" / "vectors" / "exp.json"
    cases = json.loads(vectors.read_text(encoding="utf-8"))["cases"]
    assert len(cases) >= 8
    for case in cases:
        assert exp_bounds(Fraction(case["x"]))[0] == Fraction(int(case["lower"]), 2**192)
    assert exp_bounds(Fraction(0)) == (Fraction(1), 1 + Fraction(1, 2**192))
    assert WORD == 2**64


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


ODD = math.lcm(*range(1, 4096, 2))


@given(st.fractions(Fraction(1001, 1000), 10**7), st.integers(1, 4096), st.integers(1, 4096))
def test_the_aligned_threshold_divides_evenly_and_is_the_largest_such(
    bound: Fraction, inside: int, outside: int
) -> None:
    while (odd := math.gcd(inside, outside, ODD)) > 1:  # leave only powers of two in common
        inside //= odd
    step = inside * outside
    threshold = aligned_threshold(bound, inside, outside)
    assert threshold % inside == 0
    assert (WORD - threshold) % outside == 0
    largest = largest_threshold(bound, inside, outside)
    assert largest - step < threshold <= largest


@pytest.mark.parametrize("bound", [Fraction(1001, 1000), Fraction(2), Fraction(10**6)])
def test_aligned_thresholds_of_few_units_are_found_or_do_not_exist(bound: Fraction) -> None:
    """Of 64 units all are tried: of sizes that have no odd number in common, as others have none."""
    found = 0
    for inside in range(1, 13):
        for outside in (size for size in range(1, 13) if math.gcd(inside, size) in (1, 2, 4, 8)):
            most = largest_threshold(bound, inside, outside)
            fit = [t for t in range(65) if t % inside == 0 == (64 - t) % outside and t * 2**58 <= most]
            if fit:
                assert aligned_threshold(bound, inside, outside, 2**58) == fit[-1] * 2**58
                found += 1
            else:
                with pytest.raises(ValueError, match="no aligned threshold is this small"):
                    aligned_threshold(bound, inside, outside, 2**58)
    assert found > 40


def test_a_bound_without_an_end_leaves_one_word() -> None:
    assert largest_threshold(Fraction(2**80), 1, 1) == WORD - 1


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
    assert log_digits(Fraction(2)) == "0.693147180559945309417232121459"  # and not 8, which 176 follow
    assert log_digits(Fraction(10) ** 5000, 3) == "11512.926"
    with pytest.raises(ValueError, match="1 or more"):
        log_digits(Fraction(1, 2))


@given(st.fractions(1, 10**9, max_denominator=10**30))
def test_logarithms_as_floats_are_the_least_that_are_proved(ratio: Fraction) -> None:
    found = log_above(ratio)
    assert exp_bounds(Fraction(found))[0] >= ratio
    assert found == 0 or exp_bounds(Fraction(math.nextafter(found, 0)))[0] < ratio


def test_logarithms_as_floats_go_up_where_the_proof_ends() -> None:
    for x in (0.5, 3.0, 16.0):
        proved = exp_bounds(Fraction(x))[0]
        assert log_above(proved) == x
        assert log_above(proved + Fraction(1, 2**200)) == math.nextafter(x, 64)
    assert log_above(Fraction(1)) == log_above(Fraction(1, 2)) == 0


@pytest.mark.parametrize("power", [1, 20, 40, 52, 53, 62, 63])
def test_logarithms_of_ratios_near_one_end(power: int) -> None:
    """A float of such a ratio is 1, whose logarithm is 0: from there the way up in floats would never end."""
    ratio = 1 + Fraction(1, 1 << power)
    found = log_above(ratio)
    assert exp_bounds(Fraction(found))[0] >= ratio
    assert found <= 1.0001 / (1 << power)
