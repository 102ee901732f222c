"""The pieces that channels share: rounding, subsets, and the ends of states and shares.

Written with a mutation tester at hand (docs/mutants.md): each of these tests fails for a change that no other noticed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from hush import PlanError
from hush.core.channels import Cells, Channel, Mixture, Rows, Unary, Window
from hush.core.channels.base import draw_subset, exact_t, rounding_up, rounds_up
from hush.core.channels.indicator import Indicator
from hush.core.design.categorical import grr
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL, small_window

LAST = WORD - 1
HALF = WORD // 2
PARTS = (small_window(Fraction(1), 7, 2), small_window(Fraction(1), 5, 2))


def test_rounding_up_at_its_ends() -> None:
    unit = Fraction(1, 1 << 53)
    assert [rounding_up(u) for u in (-1.0, 0.0, 5e-324, 0.5, 1.0, 7.0)] == [0, 0, unit, Fraction(1, 2), 1, 1]
    assert rounding_up(1 - 2.0**-53) == 1 - unit
    for u in (0.0, 2.0**-53, 0.25, 1 - 2.0**-53, 1.0):
        edge = int(rounding_up(u) * WORD)
        assert edge == 0 or rounds_up(u, edge - 1)
        assert edge == WORD or not rounds_up(u, edge)


def test_a_subset_takes_the_words_of_floyds_algorithm() -> None:
    """An integer for each member, none where there is nothing to choose; one drawn twice stands for the top."""

    def word(*picks: tuple[int, int]) -> int:
        value, among = 0, 1
        for n, pick in picks:
            value, among = value * n + pick, among * n
        return ((2 * value + 1) * WORD // among) // 2

    def drawn(n: int, size: int, *picks: tuple[int, int]) -> list[int]:
        coins = ListedCoins([word(*picks)] if picks else [])
        found = draw_subset(coins, n, size)
        assert coins.left == 0
        return found

    assert drawn(1, 1) == [0]
    assert drawn(2, 1, (2, 1)) == [1]
    assert drawn(5, 1, (5, 3)) == [3]
    assert drawn(3, 3) == [0, 1, 2]
    assert drawn(3, 0) == []
    assert drawn(5, 2, (4, 2), (5, 0)) == [0, 2]
    assert drawn(5, 2, (4, 2), (5, 2)) == [2, 4]
    assert drawn(5, 2, (4, 3), (5, 4)) == [3, 4]
    assert drawn(10, 2, (9, 8), (10, 1)) == [1, 8]  # in order, which a set of integers need not be


def test_t_has_two_ends() -> None:
    assert [exact_t(t) for t in (-1, -0.5, 1)] == [-1, Fraction(-1, 2), 1]
    assert [exact_t(t, low=0) for t in (0, 0.5, 1)] == [0, Fraction(1, 2), 1]
    tiny = Fraction(1, 10**30)
    for t, low in ((-1 - tiny, -1), (1 + tiny, -1), (-tiny, 0)):
        with pytest.raises(ValueError, match="t must be"):
            exact_t(t, low=low)
    with pytest.raises(ValueError, match="t must be"):
        exact_t(-1 - tiny)


@pytest.mark.parametrize("name", SMALL)
def test_the_states_have_two_ends(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    states = [state for state in channel.states() if state is not None]
    if isinstance(channel, Rows):
        assert len(states) == channel.rows * (channel.last + 1 + channel.optional)
        beyond: list[Any] = [(-1, 0), (channel.rows, 0), (0, -1), (0, channel.last + 1), (0,), (0, 0, 0), 0, (True, 0)]
        beyond += [] if channel.optional else [(0, None)]
    elif isinstance(channel, Mixture):
        first, last = ([part.states().__next__() for part in channel.parts], [part.last for part in channel.parts])
        beyond = [
            (-1, first[1]),
            (first[0], -1),
            (last[0] + 1, last[1]),
            (last[0], last[1] + 1),
            tuple(first[:1]),
        ]
    else:
        ends = [state for state in states if isinstance(state, int)]
        assert ends == [*range(len(ends))]
        beyond = [-1, len(ends)]
    for state in (states[0], states[-1]):
        assert sum(channel.law(state).values()) == 1
        assert len(channel.truth(state)) > 0
    for state in beyond:
        for method in (channel.law, channel.truth):
            with pytest.raises(PlanError):
                method(state)


@pytest.mark.parametrize(
    "name", [name for name in SMALL if name.startswith(("grr", "subset", "oue", "sue", "cells", "picks"))]
)
def test_chances_are_those_of_the_law(name: str) -> None:
    """Channels that know them without listing their law. `tests/core/channels/test_rows.py` has rows."""
    channel = SMALL[name](Fraction(2))
    for state in list(channel.states())[:4]:
        assert channel.chances(state) == Channel.chances(channel, state)


@pytest.mark.parametrize("name", ["subset-2", "oue-2", "grr-5", "oue-6", "subset-9"])
def test_a_bystander_has_a_third_category_if_there_is_one(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    assert isinstance(channel, Indicator)
    assert channel.bystanders() == ([2] if channel.size > 2 else [])
    assert grr(Fraction(2), 3).bystanders() == [2]


def test_missing_is_a_state_of_optional_channels_alone() -> None:
    for name in ("duchi", "window-uneven", "mixture", "laplace", "grr-5"):
        channel = SMALL[name](Fraction(1))
        for method in (channel.law, channel.truth):
            with pytest.raises(PlanError):
                method((None, None) if isinstance(channel, Mixture) else None)
    assert [SMALL[name](Fraction(1)).optional for name in ("mixture", "mixture-optional")] == [False, True]  # type: ignore[attr-defined]


def test_a_share_is_not_negative() -> None:
    channel = Cells((None, 3), 1, LAST)
    assert channel.variance_of(0, -0.5) > 0
    with pytest.raises(ValueError, match="t must be"):
        channel.variance_of(1, -0.5)


def test_the_worst_share_may_be_none_or_all() -> None:
    """A bit that is nearly certain for the true category is worst for those who do not hold it, and conversely."""
    for channel, worst in ((Unary(4, LAST, HALF), 0), (Unary(4, HALF, 1), 1), (Cells((3,), 1, LAST - HALF // 8), 1)):
        assert channel.worst_variance == channel.variance(worst) > channel.variance(1 - worst)


def test_a_channel_reads_its_own_kind_alone() -> None:
    """A part of a mixture is read as a window, whatever it says it is: so it must say that."""
    values = PARTS[0].to_json()
    assert Window.from_json(values) == PARTS[0]
    with pytest.raises(PlanError, match="kind"):
        Window.from_json(values | {"kind": "other"})
    mixture = Mixture((1, LAST), PARTS).to_json()
    mixture["parts"][1]["kind"] = "mixture"
    with pytest.raises(PlanError, match="kind"):
        Mixture.from_json(mixture)
