"""The ladder channel: knots, rounding and decoding. `test_window` and `test_conformance` have its law and privacy."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from operator import mul

import pytest

from hush.core.channels import Ladder
from hush.core.channels.ladder import MAX_KNOT
from hush.testing import ListedCoins
from tests.cases import DESIGNED, SMALL, small_ladder

LADDERS = [name for name in SMALL if name.startswith("ladder")]


def ladder(name: str, epsilon: Fraction = Fraction(1)) -> Ladder:
    channel = (SMALL | DESIGNED)[name](epsilon)
    assert isinstance(channel, Ladder)
    return channel


@pytest.mark.parametrize("name", LADDERS)
def test_rounding_keeps_every_clipped_mean(name: str) -> None:
    """min(t, knot) is linear between knots, so a rounded input has its mean for every knot, to 2^-24 of a gap."""
    channel = ladder(name)
    for u in (0.0, 1e-9, 0.01, 0.1, 1 / 3, 0.5, 0.77, 0.999, 1.0):
        rounding = channel.rounding([u])
        assert sum(rounding.values()) == 1
        for at, knot in enumerate(channel.places[1:]):
            mean = sum((p * channel.truth(state)[at] for state, p in rounding.items()), Fraction(0))
            assert abs(mean - min(Fraction(u), knot)) <= Fraction(1, 2**24)


def test_the_grid_is_rounded_down_to_multiples_of_one_part_in_2_to_the_53() -> None:
    """So that all languages have it. The knots of this ladder are thirds, which no float is."""
    channel = small_ladder(Fraction(1), (0, 1, 2, 3), 2)
    points, slopes = channel.grid
    third, unit = (1 << 53) // 3, 2.0**-53
    assert points == [0.0, third * unit, (2 * third + 1) * unit, 1.0]
    assert slopes == [1 / (b - a) for a, b in pairwise(points)]


def test_the_closest_knots_are_told_apart() -> None:
    channel = small_ladder(Fraction(1), (0, 1, MAX_KNOT - 1, MAX_KNOT), 2)
    points, _ = channel.grid
    assert all(a < b for a, b in pairwise(points))
    for state, point in enumerate(points):
        assert channel.rounding([point]) == {state: Fraction(1)}
        assert channel.state([point], ListedCoins([0])) == state


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(4)])
@pytest.mark.parametrize("name", ["ladder", "ladder-two-sided-optional", "ladder-fine"])
def test_decoding_is_exact_at_real_sizes(name: str, epsilon: Fraction) -> None:
    """The inverse times the law is the identity."""
    channel = ladder(name, epsilon)
    states = len(channel.table)
    for s in (0, 1, states // 2, states - 1):
        row = channel._inverse[s]
        for t, law in enumerate(channel.table):
            assert sum(map(mul, row, law), Fraction(0)) == (s == t)


@pytest.mark.parametrize("name", LADDERS)
def test_no_other_unbiased_decoding_has_smaller_squares(name: str) -> None:
    """Rows of the inverse are combinations of laws: the part outside of their span would add to the squares.

    A twin that adds a vector which every law maps to 0 is unbiased too, and has larger squares.
    """
    channel = ladder(name)
    if channel.alphabet.size == len(channel.table):
        return  # there is no other
    null = null_vector(channel)
    assert all(sum(map(mul, null, law), Fraction(0)) == 0 for law in channel.table)
    for row in channel._inverse:
        assert sum(map(mul, row, null), Fraction(0)) == 0
        twin = [a + b for a, b in zip(row, null, strict=True)]
        assert sum(map(mul, twin, twin), Fraction(0)) > sum(map(mul, row, row), Fraction(0))


def null_vector(channel: Ladder) -> list[Fraction]:
    """A vector that is not 0, and orthogonal to the laws of all states: the rest of a cell that they do not span."""
    span: list[list[Fraction]] = []
    for law in channel.table:
        span.append(without(law, span))
    for cell in range(channel.alphabet.size):
        left = without([Fraction(y == cell) for y in range(channel.alphabet.size)], span)
        if any(left):
            return left
    raise AssertionError("there are more outputs than states")


def without(vector: list[Fraction], span: list[list[Fraction]]) -> list[Fraction]:
    """A vector without its parts along others, which are orthogonal."""
    for other in span:
        share = sum(map(mul, vector, other), Fraction(0)) / sum(map(mul, other, other), Fraction(0))
        vector = [a - share * b for a, b in zip(vector, other, strict=True)]
    return vector
