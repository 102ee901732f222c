"""What is known of the variance before any report: known values, and no population leaves the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core.channels import Additive, Channel, Mixture, Reading
from hush.core.channels.squares import Squares
from hush.core.exact import WORD
from tests.cases import SMALL

NUMBERS = [
    "duchi-optional",
    "window-5-2",
    "window-9-2-optional",
    "window-uneven",
    "mixture",
    "mixture-optional",
    "laplace",
    "staircase",
]


def test_envelopes_have_the_corners_of_the_function() -> None:
    found = Squares.of([(-1.0, 3.0), (-0.5, 1.0), (0.0, 2.0), (0.5, 1.5), (1.0, 3.0)])
    assert found.lower == ((-1.0, 3.0), (-0.5, 1.0), (0.5, 1.5), (1.0, 3.0))
    assert found.upper == ((-1.0, 3.0), (1.0, 3.0))
    assert found.ends == (-1.0, 1.0)
    assert found.variances(0.0) == (1.25, 3.0)
    assert found.variances(-0.75) == (2.0 - 0.5625, 3.0 - 0.5625)
    assert found.variances(-1.0) == found.variances(1.0) == (2.0, 2.0)


def test_points_may_lie_at_any_distance() -> None:
    found = Squares.of([(-1.0, 2.0), (-0.75, 1.0), (0.5, 1.5), (0.75, 0.25), (1.0, 2.0)])
    assert found.lower == ((-1.0, 2.0), (-0.75, 1.0), (0.75, 0.25), (1.0, 2.0))
    assert found.upper == ((-1.0, 2.0), (1.0, 2.0))
    assert Squares.of([(0.0, 1.0), (0.25, 1.5), (4.0, 3.0)]).upper == ((0.0, 1.0), (0.25, 1.5), (4.0, 3.0))


def test_points_in_a_row_are_no_corners() -> None:
    found = Squares.of([(-1.0, 1.0), (0.0, 1.0), (1.0, 1.0)])
    assert found.lower == found.upper == ((-1.0, 1.0), (1.0, 1.0))


def test_missing_people_may_have_less_variance_or_more() -> None:
    known = ((-1.0, 2.0), (1.0, 2.0))
    assert Squares(known, known, -0.5, ((1.0, 0.25),)).variances(0.5) == (1.0625, 1.875)
    assert Squares(known, known, -0.5, ((3.0, 0.25),)).variances(0.5) == (1.875, 3.0625)


@given(st.floats(-9, 0), st.floats(1, 9), st.floats(0, 1))
def test_two_values_have_one_variance(low: float, high: float, mean: float) -> None:
    up = (mean - low) / (high - low)
    variance = (1 - up) * low**2 + up * high**2 - mean**2
    assert [*Squares.of_two((low, high), (0.0, 1.0)).variances(mean)] == pytest.approx([variance] * 2, abs=1e-9)


def test_values_that_are_rarely_asked_for_count_more() -> None:
    """A quarter is asked, and counts four times: the mean is the same, the mean square four times as large."""
    known = Squares.of([(-1.0, 3.0), (0.0, 2.0), (1.0, 3.0)])
    assert known.scaled(4).variances(0.5) == (4 * 2.5 - 0.25, 4 * 3.0 - 0.25)


def reading_of(channel: Channel, target: int = 0) -> tuple[Reading, Squares]:
    reading = channel.readings([0] * channel.alphabet.size, 0)[target]
    assert reading.squares is not None
    return reading, reading.squares


def variance(channel: Channel, reading: Reading, people: Mapping[float | None, Fraction], x: Fraction) -> float:
    """The exact variance of value - x*presence for somebody drawn from people with these inputs."""
    here = reading.presence or [1.0] * len(reading.values)
    first = second = Fraction(0)
    for u, share in people.items():
        for state, rounded in channel.rounding([u]).items() if u is not None else [(absent(channel), Fraction(1))]:
            for output, chance in channel.law(state).items():
                assert isinstance(output, int)
                z = Fraction(reading.values[output]) - x * Fraction(here[output])
                first += share * rounded * chance * z
                second += share * rounded * chance * z * z
    return float(second - first**2)


def absent(channel: Channel) -> object:
    return (None,) * len(channel.parts) if isinstance(channel, Mixture) else None


def mean(channel: Channel, u: float) -> Fraction:
    return sum((p * channel.truth(state)[0] for state, p in channel.rounding([u]).items()), Fraction(0))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_no_population_leaves_the_bounds(name: str, epsilon: Fraction) -> None:
    """Half of the present at each of two inputs, and some missing; computed exactly, compared as floats."""
    channel = SMALL[name](epsilon)
    if isinstance(channel, Additive):
        decays = (WORD >> 8, WORD >> 16, WORD >> 32, WORD >> 54)  # no tails to speak of
        channel = Additive(channel.runs, decays, 7 * channel.steps)
    reading, squares = reading_of(channel)
    assert squares.ends == (-1, 1)
    few = (0.0, 0.2, 0.5, 1.0)
    touched = 0
    for one, other in product(few, few):
        x = (mean(channel, one) + mean(channel, other)) / 2
        for missing in (Fraction(0), Fraction(1, 2), Fraction(9, 10))[: 1 if reading.presence is None else 3]:
            people: dict[float | None, Fraction] = dict.fromkeys((one, other), Fraction(0))
            people[one] += (1 - missing) / 2
            people[other] += (1 - missing) / 2
            if missing:
                people[None] = missing
            found = variance(channel, reading, people, x)
            least, most = squares.variances(float(x))
            loose = 1e-7 * most
            assert least - loose <= found <= most + loose
            touched += min(abs(found - least), abs(found - most)) <= loose
    assert touched >= 2  # if everybody is at an end there is no choice


@pytest.mark.parametrize("name", ["duchi-optional", "mixture-optional"])
def test_the_missing_have_the_variance_that_is_said(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    reading, squares = reading_of(channel)
    assert len(squares.absent) == 1
    ((value, presence),) = squares.absent
    for x in (Fraction(0), Fraction(1, 2), Fraction(1)):
        assert value + presence * float(x) ** 2 == pytest.approx(variance(channel, reading, {None: Fraction(1)}, x))
    bent = squares.lower[0][1] + squares.bend
    assert bent == pytest.approx(variance(channel, reading, {0.0: Fraction(1)}, Fraction(-1)))


def test_the_share_of_the_missing_is_known_too() -> None:
    """In a mixture it has more than two values; its mean square is linear in the share."""
    channel = SMALL["mixture-optional"](Fraction(2))
    reading, squares = reading_of(channel, 1)
    assert squares.ends == (0, 1)
    for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
        least, most = squares.variances(float(share))
        assert least == pytest.approx(most)
        assert least == pytest.approx(variance(channel, reading, {0.5: 1 - share, None: share}, Fraction(0)))


def test_two_values_need_nothing() -> None:
    for name in ("grr-5", "oue-6", "signs-5", "cube-4-3-2", "cells-numbers"):
        channel = SMALL[name](Fraction(2))
        for reading in channel.readings([0] * channel.alphabet.size, 0):
            assert reading.squares is None
            assert len(reading.values) == 2
