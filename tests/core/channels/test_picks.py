"""The picks channel: every path of its sampler, its privacy, and a twin without blanks."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar

import pytest

from hush import PlanError
from hush.core.channels import Output, Picks, State
from hush.core.channels.base import Coins
from hush.core.channels.contrast import compared
from hush.core.design.sets import made, picks
from hush.core.exact import WORD, exp_bounds
from hush.testing import ListedCoins
from tests.cases import EPSILONS, Branches, exp_floor, largest_ratio, picks_of

HALF = Fraction("0.5")


class Counted(Branches):
    """Explores the intervals of the one word that a picks channel reads, and every integer below n."""

    shares: ClassVar[tuple[int, ...]]

    def word(self) -> int:
        h = self._choose([Fraction(share, WORD) for share in self.shares])
        return [0, *accumulate(self.shares)][h]


def sampled(channel: Picks, state: State) -> dict[Output, Fraction]:
    """The exact law of the sampler, by following every path."""
    law: dict[Output, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    while True:
        coins = Counted(path, 0)
        Counted.shares = channel.shares
        law[channel.draw(state, coins)] += coins.probability
        while path and path[-1] + 1 == coins.widths[len(path) - 1]:
            path.pop()
        if not path:
            return law
        path[-1] += 1


def ratio(laws: list[dict[Output, Fraction]]) -> Fraction:
    """The largest ratio of an output's probabilities; WORD if it is impossible under one of the laws."""
    outputs = {output for law in laws for output in law}
    columns = [[law.get(output, Fraction(0)) for law in laws] for output in outputs]
    return max(max(column) / min(column) if min(column) else Fraction(WORD) for column in columns)


@pytest.mark.parametrize("epsilon", [HALF, Fraction(4)])
@pytest.mark.parametrize("shape", [(3, 1, 1, 1), (4, 2, 2, 1), (4, 2, 2, 2), (4, 2, 1, 1)])
def test_the_sampler_has_the_law_and_keeps_epsilon_exactly(shape: tuple[int, int, int, int], epsilon: Fraction) -> None:
    channel = picks_of(epsilon, *shape)
    found = [sampled(channel, state) for state in channel.states()]
    assert found == [channel.law(state) for state in channel.states()]
    assert ratio(found) == channel.ratio <= exp_floor(epsilon)


class Unpadded(Picks):
    """The twin: nobody holds blanks, and people with too few values always report the first items."""

    def _marks(self, values: bytes) -> bytes:
        return values + bytes(self.held)

    def draw(self, state: State, coins: Coins) -> Output:
        assert isinstance(state, bytes)
        return super().draw(state, coins) if sum(state) == self.held else tuple(range(self.weight))


def test_a_twin_without_blanks_is_caught() -> None:
    good = picks_of(HALF, 4, 2, 2, 1)
    twin = Unpadded(good.size, good.held, good.weight, good.shares)
    assert ratio([sampled(twin, state) for state in twin.states()]) > exp_floor(HALF)


def test_shares_that_leak_are_refused_or_counted() -> None:
    channel = picks(Fraction(1), 6, 2)
    first, *others = channel.shares
    moved = Picks(6, 2, channel.weight, (first - 1000, others[0] + 1000, *others[1:]))
    assert moved.ratio > channel.ratio
    assert largest_ratio(moved, [*moved.states()]) == moved.ratio
    with pytest.raises(PlanError, match="add up"):
        Picks(6, 2, channel.weight, (first - 1, *others))
    with pytest.raises(PlanError, match="least likely"):
        Picks(6, 2, 1, (WORD - 2, 2))


@pytest.mark.parametrize("shape", [(4, 1, 2, 1), (5, 2, 1, 1), (5, 2, 3, 2), (7, 3, 3, 2)])
def test_crowds_hold_the_first_values_or_none(shape: tuple[int, int, int, int]) -> None:
    channel = picks_of(Fraction(2), *shape)
    first, none = (channel.law(channel._marks(bytes(i < held for i in range(channel.size)))) for held in (shape[1], 0))
    found = [sorted(crowd) for crowd in channel.crowds()]
    assert found == [sorted(compared(first, none, first)), sorted(compared(first, none, none))]


@pytest.mark.parametrize(
    "state", [b"\1\1\0\0\0", b"\1\1\1\0\0\0", b"\1\0\0\0\0\0", b"\2\0\0\0\0\0", [1, 1, 0, 0, 0, 0], None]
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    channel = picks_of(HALF, 4, 2, 2, 1)
    assert sum(channel.law(b"\1\1\0\0\0\0").values()) == 1
    for method in (channel.law, channel.truth, channel.chances):
        with pytest.raises(PlanError, match="must mark 2 of 6 items"):
            method(state)


def test_missing_is_a_value_of_its_own() -> None:
    channel = picks(Fraction(1), 5, 2)  # four values, and "missing"
    inputs: list[Any] = [b"\0\0\0\0", b"\1\0\1\0", b"\2\2\2\2"]
    states = [channel.state([marks], ListedCoins([])) for marks in inputs]
    assert states == [b"\0\0\0\0\0\1\1", b"\1\0\1\0\0\0\0", b"\0\0\0\0\1\1\0"]
    assert [channel.truth(state)[-1] for state in states] == [0, 0, 1]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "held"), [(4, 1), (9, 2), (8, 4), (30, 5)])
def test_no_other_jump_is_better(size: int, held: int, epsilon: Fraction) -> None:
    """The chosen one has the least variance for the usual share, of all weights and all jumps."""
    usual = Fraction(held, 2 * size)
    chosen = picks(epsilon, size, held).variance(usual)
    for weight in range(1, size - held + 1):
        for jump in range(1, min(held, weight) + 1):
            try:
                other = picks_of(epsilon, size, held, weight, jump)
            except AssertionError:
                continue  # its shares cannot be rounded
            assert float(chosen) <= float(other.variance(usual)) * (1 + 1e-9)


def test_later_jumps_pay_if_epsilon_is_large() -> None:
    """The jump at one held item is that of PrivSet. With epsilon = 8 and 3 of 10 values another is twice as good."""
    privset = min(picks_of(Fraction(8), 10, 3, weight, 1).variance(Fraction(3, 20)) for weight in range(1, 8))
    assert picks(Fraction(8), 10, 3).variance(Fraction(3, 20)) < privset / 2


@pytest.mark.parametrize("held", [1, 3, 8])
def test_the_variance_for_small_epsilons(held: int) -> None:
    """The formula of the docstring, for many values and the best weight."""
    channel = made(exp_bounds(Fraction(1, 50))[0], 900, held, round((900 + held) / (2 * held)), 1)
    assert channel is not None
    limit = 2 * held * (1 - 1 / (2 * held)) ** (1 - 2 * held)
    assert 0.97 * limit < channel.variance(0) / 2500 < limit


def test_nothing_is_rounded() -> None:
    channel = picks(Fraction(1), 5, 2)
    inputs: list[Any] = [b"\0\0\0\0", b"\1\0\1\0", b"\2\2\2\2"]
    for marks in inputs:
        assert channel.rounding([marks]) == {channel.state([marks], ListedCoins([])): Fraction(1)}
