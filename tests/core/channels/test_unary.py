"""The unary channel: its bit slicer is exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core.channels import Unary
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import branches


@pytest.mark.parametrize("sixteenths", [1, 2, 5, 7, 8])
def test_the_sampler_has_the_law_exactly(sixteenths: int) -> None:
    """Every path, for q of a few binary digits (more digits only make longer paths of the same kind)."""
    channel = Unary(2, 3 * WORD // 4, sixteenths * WORD // 16)
    for state in (0, 1):
        assert branches(lambda coins, state=state: channel.draw(state, coins), bits=2) == channel.law(state)  # type: ignore[misc]


@given(st.integers(1, WORD - 2), st.lists(st.integers(0, WORD - 1), min_size=64, max_size=64), st.integers(0, 63))
def test_a_bit_is_the_comparison_of_a_uniform_number_with_q(other: int, words: list[int], position: int) -> None:
    """The digits that one bit position reads are a uniform number; the bit is 1 if and only if it is below q."""
    channel = Unary(64, WORD - 1, other)
    digits = 64 - (other & -other).bit_length() + 1
    # A state elsewhere, so that this bit has probability q.
    state = (position + 1) % 64
    coins = ListedCoins([*words[:digits], 0])
    output = channel.draw(state, coins)
    number = 0
    for word in words[:digits]:
        number = number << 1 | (word >> position & 1)
    assert isinstance(output, tuple)
    assert (position in output) == (number << 64 - digits < other)
    assert coins.left == 0


def test_all_digits_are_read_also_if_they_settle_nothing() -> None:
    channel = Unary(64, WORD // 2, WORD // 4 + WORD // 16)
    for first in (WORD - 1, 0, 5):  # the first of these settles all 64: their numbers are at least a half
        coins = ListedCoins([first, 0, 5, 7, 0])
        channel.draw(0, coins)
        assert coins.left == 0


def test_many_categories_are_sliced_in_blocks() -> None:
    channel = Unary(130, WORD // 2, WORD // 4)
    zero, one = WORD - 1, 0  # with q = 0.01 in binary, digits 00 are below q and 1 is not
    output = channel.draw(129, ListedCoins([zero, one, one, one, zero, one, WORD - 1]))
    assert output == tuple(range(64, 128))
    assert channel.draw(129, ListedCoins([zero] * 6 + [0])) == (129,)


def test_bits_are_independent_given_the_input() -> None:
    channel = Unary(3, 3 * WORD // 4, WORD // 8)
    law = channel.law(1)
    for bits in product((0, 1), repeat=3):
        chance = Fraction(1)
        for category, bit in enumerate(bits):
            one = Fraction(3, 4) if category == 1 else Fraction(1, 8)
            chance *= one if bit else 1 - one
        assert law[tuple(category for category, bit in enumerate(bits) if bit)] == chance
