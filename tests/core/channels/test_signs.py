"""Duchi et al.'s multidimensional mechanism: its sampler, its constants, and what was wrong with even d."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, exp

import pytest

from hush.core.channels import Cube, Output
from hush.core.design.numeric import signs
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import exp_floor


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_the_sampler_has_the_law_exactly(size: int) -> None:
    """For each side of the coin, the corners that are accepted, all equally likely, are the law."""
    channel = signs(Fraction(1), size)
    for state in channel.states():
        found: dict[Output, Fraction] = {}
        for coin, chance in ((0, Fraction(channel.threshold, WORD)), (WORD - 1, 1 - Fraction(channel.threshold, WORD))):
            accepted = []
            for first in range(1 << size):
                for second in range(1 << size) if size % 2 == 0 else [None]:
                    coins = ListedCoins([coin, first] if second is None else [coin, first, second])
                    try:
                        accepted.append(channel.draw(state, coins))
                    except LookupError:
                        continue  # refused: another would be drawn, in the same way
                    assert coins.left == 0
            for output in accepted:
                found[output] = found.get(output, Fraction(0)) + chance / len(accepted)
        assert found == channel.law(state)


@pytest.mark.parametrize("size", [2, 4, 6])
def test_refused_corners_say_nothing_about_the_output(size: int) -> None:
    """After any first corner that is refused the rest has the law that it has at the start, for either coin."""
    channel = signs(Fraction(1), size)
    corners = range(1 << size)
    for coin in (0, WORD - 1):
        fresh = Counter(channel.draw(1, ListedCoins([coin, a, b])) for a, b in product(*_accepted(size)))
        for tie in (corner for corner in corners if 2 * corner.bit_count() == size):
            again = Counter(channel.draw(1, ListedCoins([coin, tie, a, b])) for a, b in product(*_accepted(size)))
            assert again == fresh
        for near in (corner for corner in corners if 2 * corner.bit_count() < size):
            again = Counter(channel.draw(1, ListedCoins([coin, a, near, b])) for a, b in product(*_accepted(size)))
            assert again == fresh


def _accepted(size: int) -> tuple[list[int], list[int]]:
    corners = range(1 << size)
    first = [corner for corner in corners if 2 * corner.bit_count() != size]
    return first, [corner for corner in corners if 2 * corner.bit_count() >= size]


def test_more_than_64_signs_take_more_words() -> None:
    channel = signs(Fraction(1), 131)
    state = channel.state([1.0] * 131, ListedCoins([0] * 131))
    assert state == (1 << 131) - 1
    coins = ListedCoins([0, 0, 0, WORD - 1])  # near: three signs change, those of the last word
    assert channel.draw(state, coins) == tuple(range(128))
    assert coins.left == 0
    even = signs(Fraction(1), 130)
    coins = ListedCoins([WORD - 1, 0, 0, 0, WORD - 1, WORD - 1, 0])  # not near: 128 of 130 change
    assert even.draw(0, coins) == tuple(range(128))
    assert coins.left == 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("d", [1, 3, 5, 21, 101])
def test_odd_d_has_the_constant_of_the_paper(d: int, epsilon: float) -> None:
    c_d = Fraction(2 ** (d - 1), comb(d - 1, (d - 1) // 2))
    expected = (exp(epsilon) + 1) / (exp(epsilon) - 1) * c_d
    channel = signs(Fraction(repr(epsilon)), d)
    assert float(channel.bound) == pytest.approx(float(expected), rel=1e-12)
    assert float(channel.variance(0.5)) == pytest.approx(float(expected) ** 2 - 0.25, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("d", [2, 4, 20, 100])
def test_erratum_1_even_d_has_the_corrected_constant(d: int, epsilon: float) -> None:
    near = (2**d - comb(d, d // 2)) // 2
    grow = Fraction(exp(epsilon) - 1)
    expected = (grow * near + 2**d) / (comb(d - 1, d // 2) * grow)
    corrected = signs(Fraction(repr(epsilon)), d)
    assert float(corrected.bound) == pytest.approx(float(expected), rel=1e-12)
    assert Fraction(corrected.threshold, WORD) == pytest.approx(
        float(Fraction(exp(epsilon)) * near / (grow * near + 2**d)), rel=1e-12
    )
    # A further dimension that is dropped from the report has the constant of d+1, which is larger by 1.
    padded = (exp(epsilon) + 1) / (exp(epsilon) - 1) * float(Fraction(2**d, comb(d, d // 2)))
    assert padded - float(corrected.bound) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("d", [2, 4, 6])
def test_erratum_1_even_d_as_printed_is_not_private(d: int, epsilon: Fraction) -> None:
    """The twin: ties on both sides, u = 1 with probability e^eps/(e^eps+1). Its ratio exceeds e^eps."""
    high = exp_floor(epsilon) / (exp_floor(epsilon) + 1)

    def law(v: int) -> list[Fraction]:
        agree = [d - (corner ^ v).bit_count() for corner in range(1 << d)]
        plus = sum(2 * a >= d for a in agree)
        minus = sum(2 * a <= d for a in agree)
        return [high / plus * (2 * a >= d) + (1 - high) / minus * (2 * a <= d) for a in agree]

    laws = [law(v) for v in range(1 << d)]
    ratio = max(max(column) / min(column) for column in zip(*laws, strict=True))
    assert ratio == exp_floor(epsilon) + 1 > exp_floor(epsilon)
    assert signs(epsilon, d).ratio <= exp_floor(epsilon)


def test_a_bystander_is_half_way_unless_there_are_too_many_reports() -> None:
    assert signs(Fraction(1), 6).bystanders() == [0b111]
    assert signs(Fraction(1), 5).bystanders() == [0b11]
    assert [len(signs(Fraction(1), size).bystanders()) for size in (128, 129)] == [1, 0]
    assert Cube(200, 64, 33, WORD - 1).bystanders() == [(1 << 100) - 1]
