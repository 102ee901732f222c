"""The ends of every rule of every channel: the last value that is accepted, the first that is not, and what is read.

Written with a mutation tester at hand (docs/mutants.md): each of these tests fails for a change that no other noticed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from hush import Categorical, Numeric, PlanError
from hush.core.channels import (
    Additive,
    Cells,
    Channel,
    Cube,
    Mixture,
    Reading,
    Rows,
    Signs,
    Subset,
    Summed,
    Unary,
    Window,
)
from hush.core.channels.base import draw_subset, exact_t, rounding_up, rounds_up
from hush.core.channels.window import ROUNDING
from hush.core.design.categorical import grr
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL, small_window

LAST = WORD - 1
HALF = WORD // 2
COINS = WORD // ROUNDING  # how many thresholds a window of one cell has
PARTS = (small_window(Fraction(1), 7, 2), small_window(Fraction(1), 5, 2))
OPTIONAL = small_window(Fraction(1), 7, 2, True)
TOP = 1 << 30
REACH = (1 << 15) + 1

Make = Callable[[], Channel]

ACCEPTED: dict[str, Make] = {
    "unary, least": lambda: Unary(2, 2, 1),
    "unary, most": lambda: Unary(4097, LAST, LAST - 1),
    "subset, least": lambda: Subset(2, 1, HALF + 1),
    "subset, most": lambda: Subset(4097, 4096, LAST),
    "subset, least threshold": lambda: Subset(4097, 1, WORD // 4097 + 1),
    "signs, least": lambda: Signs(1, HALF + 1),
    "signs, most": lambda: Signs(1024, LAST),
    "cube, least": lambda: Cube(1, 1, 1, HALF + 1),
    "cube, most": lambda: Cube(1024, 64, 64, LAST),
    "cube, least agreement": lambda: Cube(64, 64, 33, LAST),
    "cube, odd": lambda: Cube(3, 3, 2, LAST),
    "cells, least": lambda: Cells((2,), 1, HALF + 1),
    "cells, most": lambda: Cells((4096,), 1, LAST),
    "cells, most attributes": lambda: Cells((2,) * 12, 1, LAST),
    "cells, widest sets": lambda: Cells((3, 2), 5, LAST),
    "rows, least": lambda: Rows(2, 1, 2, 1, WORD // 4 + 1),
    "rows, most rows": lambda: Rows(4097, 4096, 2, 1, LAST),
    "rows, most cells": lambda: Rows(2, 1, 1 << 15, (1 << 15) - 1, LAST),
    "rows, most outputs": lambda: Rows(2, 1, (1 << 15) - 1, 1, LAST, "even", True),
    "rows, least optional": lambda: Rows(2, 1, 2, 1, WORD // 6 + 1, "even", True),
    "rows, equal levels": lambda: Rows(2, 1, 4, 2, LAST, (-1, -1, 1, 1)),
    "additive, least": lambda: Additive(((1, 1),), (1, 1), 2),
    "additive, most": lambda: Additive(((4096, (1 << 52) - 1),), decays_of(Fraction(4), 4096, 1 << 15), 1 << 15),
    "additive, two runs": lambda: Additive(((4095, 2), (1, 1)), (WORD // 3, HALF), 4096),
    "additive, weights that fall as periods do": lambda: Additive(((1, 3), (1, 1)), (WORD // 4, HALF), 2),
    "additive, hardly anything within reach": lambda: Additive(((1, 1),), (1, WORD - 1), 2),
    "window, least": lambda: Window(2, 1, ROUNDING * (COINS // 2 + 1)),
    "window, most": lambda: Window(2, 1, WORD - ROUNDING),
    "window, largest": lambda: Window(1 << 15, 1 << 14, HALF + (1 << 38)),
    "window, widest": lambda: Window(3, 2, WORD - 2 * ROUNDING * (COINS // 8)),
    "window, three cells inside": lambda: Window(4, 3, ROUNDING * (COINS - 1)),
    "window, three cells outside": lambda: Window(4, 1, ROUNDING * (COINS - 3)),
    "window, levels": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-TOP, -1, 1, TOP)),
    "window, equal levels": lambda: Window(4, 2, ROUNDING * (COINS // 2 + 2), (-1, -1, 1, 1)),
    "mixture, least": lambda: Mixture((1, LAST), PARTS),
    "mixture, most": lambda: Mixture((WORD // 8,) * 8, PARTS * 4),
}

REFUSED: dict[str, Make] = {
    "unary, as likely": lambda: Unary(2, 7, 7),
    "unary, never": lambda: Unary(2, 2, 0),
    "unary, always": lambda: Unary(2, WORD, 1),
    "unary, no integer": lambda: Unary(2, 3.0, 1),  # type: ignore[arg-type]
    "unary, other is no integer": lambda: Unary(2, 3, 1.0),  # type: ignore[arg-type]
    "unary, one category": lambda: Unary(1, 2, 1),
    "unary, too many": lambda: Unary(4098, 2, 1),
    "subset, as likely": lambda: Subset(2, 1, HALF),
    "subset, weight 0": lambda: Subset(4, 0, LAST),
    "subset, weight of all": lambda: Subset(4, 4, LAST),
    "subset, one category": lambda: Subset(1, 1, LAST),
    "subset, too many": lambda: Subset(4098, 1, LAST),
    "subset, always": lambda: Subset(4, 1, WORD),
    "signs, as likely": lambda: Signs(1, HALF),
    "signs, none": lambda: Signs(0, LAST),
    "signs, too many": lambda: Signs(1025, LAST),
    "signs, always": lambda: Signs(1, WORD),
    "signs, no integer": lambda: Signs(1, LAST / 1),  # type: ignore[arg-type]
    "cube, as likely": lambda: Cube(1, 1, 1, HALF),
    "cube, none": lambda: Cube(0, 1, 1, LAST),
    "cube, too many": lambda: Cube(1025, 1, 1, LAST),
    "cube, sample of none": lambda: Cube(3, 0, 1, LAST),
    "cube, sample of more than all": lambda: Cube(3, 4, 3, LAST),
    "cube, sample too large": lambda: Cube(100, 65, 40, LAST),
    "cube, half": lambda: Cube(64, 64, 32, LAST),
    "cube, less than half": lambda: Cube(3, 3, 1, LAST),
    "cube, more than all": lambda: Cube(3, 3, 4, LAST),
    "cube, always": lambda: Cube(3, 3, 3, WORD),
    "cells, as likely": lambda: Cells((2,), 1, HALF),
    "cells, none": lambda: Cells((), 1, LAST),
    "cells, a list": lambda: Cells([2, 2], 1, LAST),  # type: ignore[arg-type]
    "cells, too many attributes": lambda: Cells((2,) * 13, 1, LAST),
    "cells, one category": lambda: Cells((1, 4), 1, LAST),
    "cells, too many": lambda: Cells((4097,), 1, LAST),
    "cells, too many together": lambda: Cells((64, 65), 1, LAST),
    "cells, always": lambda: Cells((2,), 1, WORD),
    "cells, sets of none": lambda: Cells((2, 2), 0, LAST),
    "cells, sets of all": lambda: Cells((2, 2), 4, LAST),
    "cells, sets as likely": lambda: Cells((2, 2), 2, HALF),
    "rows, as likely": lambda: Rows(2, 1, 2, 1, WORD // 4),
    "rows, optional and as likely": lambda: Rows(3, 1, 3, 1, WORD // 12, "even", True),
    "rows, one": lambda: Rows(1, 1, 2, 1, LAST),
    "rows, too many": lambda: Rows(4098, 1, 2, 1, LAST),
    "rows, none": lambda: Rows(4, 0, 2, 1, LAST),
    "rows, all": lambda: Rows(4, 4, 2, 1, LAST),
    "rows, one cell": lambda: Rows(2, 1, 1, 1, LAST),
    "rows, no width": lambda: Rows(2, 1, 2, 0, LAST),
    "rows, whole width": lambda: Rows(2, 1, 2, 2, LAST),
    "rows, too many cells": lambda: Rows(2, 1, (1 << 15) + 1, 1, LAST),
    "rows, too many cells together": lambda: Rows(3, 1, (1 << 16) // 3 + 1, 1, LAST),
    "rows, too many outputs": lambda: Rows(2, 1, 1 << 15, 1, LAST, "even", True),
    "rows, always": lambda: Rows(2, 1, 2, 1, WORD),
    "rows, never": lambda: Rows(2, 1, 2, 1, 0),
    "rows, optional is no truth value": lambda: Rows(2, 1, 2, 1, LAST, "even", 1),  # type: ignore[arg-type]
    "rows, equal sums": lambda: Rows(2, 1, 4, 1, LAST, (-1, -1, 1, 1)),
    "additive, no runs": lambda: Additive((), (1, 1), 2),
    "additive, a run of nothing": lambda: Additive(((0, 2), (1, 1)), (1, 1), 2),
    "additive, a run too long": lambda: Additive(((4097, 1),), (1, 1), 4097),
    "additive, too many steps": lambda: Additive(((4096, 2), (1, 1)), (1, 1), 4097),
    "additive, a run of three": lambda: Additive(((1, 1, 1),), (1, 1), 2),  # type: ignore[arg-type]
    "additive, no weight": lambda: Additive(((1, 0),), (1, 1), 2),
    "additive, a weight too large": lambda: Additive(((1, 1 << 52),), (1, 1), 2),
    "additive, no decay": lambda: Additive(((1, 1),), (0, 1), 2),
    "additive, all decay": lambda: Additive(((1, 1),), (WORD, 1), 2),
    "additive, too short a reach": lambda: Additive(((3, 1),), (1, 1), 2),
    "additive, too long a reach": lambda: Additive(((4096, 1),), decays_of(Fraction(4), 4096, REACH), REACH),
    "additive, decays that could change": lambda: Additive(((1, 1),), [1, 1], 2),  # type: ignore[arg-type]
    "additive, equal weights": lambda: Additive(((1, 3), (1, 3)), (1, 1), 2),
    "additive, weights that fall too fast": lambda: Additive(((1, 2), (1, 1)), (WORD // 3 + 1, HALF), 2),
    "window, one cell": lambda: Window(1, 1, WORD - ROUNDING),
    "window, too many": lambda: Window((1 << 15) + 1, 1, WORD - ROUNDING * ((1 << 15) * 8)),
    "window, no width": lambda: Window(4, 0, WORD - ROUNDING * 4),
    "window, all": lambda: Window(4, 4, WORD - ROUNDING * 4),
    "window, as likely": lambda: Window(2, 1, HALF),
    "window, never": lambda: Window(2, 1, 0),
    "window, always": lambda: Window(2, 1, WORD),
    "window, optional is no truth value": lambda: Window(2, 1, WORD - 2 * ROUNDING, "even", 1),  # type: ignore[arg-type]
    "window, cells inside that are not alike": lambda: Window(4, 3, ROUNDING * (COINS - 3)),
    "window, cells outside that are not alike": lambda: Window(4, 1, ROUNDING * (COINS - 4)),
    "window, a level too large": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-TOP - 1, -1, 1, TOP + 1)),
    "window, too few levels": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-1, 0, 1)),
    "window, equal sums": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-1, -1, 1, 1)),
    "mixture, one part": lambda: Mixture((LAST,), PARTS[:1]),
    "mixture, nine": lambda: Mixture((1,) * 8 + (WORD - 8,), PARTS * 4 + PARTS[:1]),
    "mixture, a share more": lambda: Mixture((1, 1, WORD - 2), PARTS),
    "mixture, a part of no share": lambda: Mixture((0, WORD), PARTS),
    "mixture, too little": lambda: Mixture((1, LAST - 1), PARTS),
    "mixture, shares as a list": lambda: Mixture([1, LAST], PARTS),  # type: ignore[arg-type]
    "mixture, parts as a list": lambda: Mixture((1, LAST), [*PARTS]),  # type: ignore[arg-type]
    "mixture, one part optional": lambda: Mixture((1, LAST), (PARTS[0], OPTIONAL)),
    "mixture, another channel": lambda: Mixture((1, LAST), (PARTS[0], grr(Fraction(1), 3))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_last_that_is_accepted(case: str) -> None:
    assert ACCEPTED[case]().ratio > 1


@pytest.mark.parametrize("case", REFUSED)
def test_the_first_that_is_refused(case: str) -> None:
    with pytest.raises(PlanError):
        REFUSED[case]()


# -- which attributes a channel serves

NUMBER, MAYBE = Numeric("x", 0, 1), Numeric("x", 0, 1, optional=True)
THREE, TWO = Categorical("c", [*"abc"]), Categorical("c", [*"ab"])
TWO_MAYBE = Categorical("c", [*"ab"], optional=True)  # three labels: missing is one

FITTING: dict[str, tuple[list[Any], list[list[Any]]]] = {
    "duchi": ([NUMBER], [[MAYBE], [TWO], [], [NUMBER, NUMBER]]),
    "duchi-optional": ([MAYBE], [[NUMBER], [TWO_MAYBE], []]),
    "mixture": ([NUMBER], [[MAYBE], [TWO]]),
    "mixture-optional": ([MAYBE], [[NUMBER]]),
    "laplace": ([NUMBER], [[MAYBE], [TWO], [], [NUMBER, NUMBER]]),
    "grr-2": ([TWO], [[THREE], [TWO_MAYBE], [NUMBER], [], [TWO, TWO]]),
    "oue-2": ([TWO], [[THREE], [TWO_MAYBE], [NUMBER], [], [TWO, TWO]]),
    "signs-2": ([NUMBER] * 2, [[NUMBER], [NUMBER] * 3, [NUMBER, MAYBE], [TWO, NUMBER]]),
    "cube-2-1-1": ([NUMBER] * 2, [[NUMBER], [NUMBER] * 3, [NUMBER, MAYBE], [TWO, NUMBER]]),
    "cells-number-3": (
        [NUMBER, THREE],
        [[NUMBER], [MAYBE, THREE], [TWO, THREE], [NUMBER, TWO], [NUMBER, NUMBER], [NUMBER, THREE, THREE]],
    ),
    "cells-3": ([TWO_MAYBE], [[TWO], [NUMBER]]),
    "cells-sets-2-3": ([TWO, THREE], [[THREE, TWO], [TWO], [NUMBER, THREE]]),
    "rows-3-1-5-2": (
        [THREE, NUMBER],
        [[NUMBER, THREE], [TWO, NUMBER], [THREE, MAYBE], [THREE], [NUMBER], [THREE, THREE], [THREE, NUMBER, NUMBER]],
    ),
    "rows-2-1-3-2-optional": ([TWO, MAYBE], [[TWO, NUMBER], [TWO_MAYBE, MAYBE], [MAYBE, TWO]]),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_channel_says_which_attributes_it_serves(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    fitting, others = FITTING[name]
    assert channel.mismatch(fitting) is None
    for attributes in others:
        assert channel.mismatch(attributes), attributes


# -- what the server reads


def exact_counts(channel: Channel, state: Any) -> tuple[int, list[int]]:
    """The smallest crowd, all in one state, whose reports are in proportion to the law, exactly."""
    law = channel.law(state)
    n = math.lcm(*(p.denominator for p in law.values()))
    counts = [0] * channel.alphabet.size
    for output, p in law.items():
        for symbol in output if isinstance(output, tuple) else (output,):
            counts[symbol] += int(p * n)
    return n, counts


def average(reading: Reading, values: Any) -> Fraction:
    total = sum((count * Fraction(value) for count, value in zip(reading.counts, values, strict=True)), Fraction(0))
    return total / sum(reading.counts)


@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
@pytest.mark.parametrize("name", [name for name in SMALL if name != "subset-12" and not name.startswith("ladder")])
def test_readings_of_a_typical_crowd_are_the_truth(name: str, epsilon: Fraction) -> None:
    """Values are floats and counts exact, so that the average is off by rounding alone; every target has its place.

    Ladders have no readings: `hush.server.ladders` reads their counts.
    """
    channel = SMALL[name](epsilon)
    if isinstance(channel, Additive):
        # No tails to speak of, and short fractions.
        channel = Additive(channel.runs, (WORD >> 8, WORD >> 16, WORD >> 32, WORD >> 54), 7 * channel.steps)
    states = [*channel.states()]
    for state in {states[0], states[len(states) // 3], states[-1]}:
        n, counts = exact_counts(channel, state)
        readings = channel.readings(counts, n)
        truth = targets(channel, state)
        assert len(readings) == len(truth)
        assert [(r.attribute, r.symbol) for r in readings] == places(channel, name)
        for reading, expected in zip(readings, truth, strict=True):
            if isinstance(reading, Summed):
                assert reading.n == n
                loose = 1e-12 * abs(reading.largest)
                assert reading.mean == pytest.approx(float(expected), abs=loose)
                if reading.presence is not None:
                    assert reading.presence.mean == pytest.approx(float(1 - truth[-1]), abs=loose)
                continue
            assert len(reading.counts) == len(reading.values)
            assert sum(reading.counts) == n * reading.share
            loose = 1e-12 * max(map(abs, reading.values))
            if reading.presence is None:
                assert abs(float(average(reading, reading.values) - expected)) <= loose
            else:
                here = 1 - truth[1]
                assert abs(float(average(reading, reading.presence) - here)) <= loose
                assert abs(float(average(reading, reading.values) - expected * here)) <= loose
            assert reading.squares is not None or len(reading.values) == 2


def targets(channel: Channel, state: Any) -> tuple[Fraction, ...]:
    """The true value of every reading."""
    truth = channel.truth(state)
    if not isinstance(channel, Rows):
        return truth
    shares, values, here = (truth[i * channel.rows : (i + 1) * channel.rows] for i in range(3))
    total = sum(values, Fraction(0))
    return (*shares, total, 1 - sum(here, Fraction(0))) if channel.optional else (*shares, total)


def places(channel: Channel, name: str) -> list[tuple[int, int | None]]:
    """Attribute and symbol of every target."""
    if isinstance(channel, Subset | Unary):
        return [(0, category) for category in range(channel.size)]
    if isinstance(channel, Cells):
        symbols = [[None] if size is None else range(size) for size in channel.sizes]
        return [(j, symbol) for j, each in enumerate(symbols) for symbol in each]
    if isinstance(channel, Rows):
        shares: list[tuple[int, int | None]] = [(0, j) for j in range(channel.rows)]
        return [*shares, (1, None), *[(1, 0)] * channel.optional]
    if isinstance(channel, Signs | Cube):
        return [(j, None) for j in range(channel.size)]
    return [(0, None), (0, 0)] if name.endswith("optional") else [(0, None)]


NUMBERS = ["duchi-optional", "window-5-2", "window-uneven", "mixture", "mixture-optional", "laplace", "staircase"]


@pytest.mark.parametrize("name", NUMBERS)
def test_rounding_keeps_the_mean_exactly_as_it_says(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    loose = Fraction(1, 1 << (50 if isinstance(channel, Additive) else 23))
    for u in (0.0, 0.1, 0.25, 0.7, 0.875, 1.0):
        rounding = channel.rounding([u])
        assert sum(rounding.values()) == 1
        assert all(0 < p <= 1 for p in rounding.values())
        mean = sum((p * channel.truth(state)[0] for state, p in rounding.items()), Fraction(0))
        assert abs(mean - (2 * Fraction(u) - 1)) <= loose


@pytest.mark.parametrize("name", [*NUMBERS, "ladder-6-3", "ladder-two-sided", "ladder-5-2-optional"])
def test_a_likelihood_is_the_law_after_rounding(name: str) -> None:
    channel = SMALL[name](Fraction(3))
    inputs: list[Any] = [0.0, 0.2, 0.5, 0.9, 1.0]
    for u in [*inputs, None] if name.endswith("optional") else inputs:
        expected = dict.fromkeys(range(channel.alphabet.size), Fraction(0))
        for state, chance in channel.rounding([u]).items():
            for output, p in channel.law(state).items():
                assert isinstance(output, int)
                expected[output] += chance * p
        found = channel.likelihood(u)
        assert found is not None
        inner = slice(1, -1) if isinstance(channel, Additive) else slice(None)  # without the far tails
        # The rounding of windows is to 2^-24.
        assert found[inner] == pytest.approx([float(p) for p in expected.values()][inner], abs=1e-7)
        assert len(found) == len(expected)


def test_only_channels_of_one_number_have_likelihoods() -> None:
    for name in ("grr-5", "oue-6", "signs-5", "cube-4-3-2", "cells-4-3", "rows-3-1-5-2"):
        assert SMALL[name](Fraction(1)).likelihood(0.5) is None


# -- the pieces that channels share


def test_rounding_up_at_its_ends() -> None:
    unit = Fraction(1, 1 << 53)
    assert [rounding_up(u) for u in (-1.0, 0.0, 5e-324, 0.5, 1.0, 7.0)] == [0, 0, unit, Fraction(1, 2), 1, 1]
    assert rounding_up(1 - 2.0**-53) == 1 - unit
    for u in (0.0, 2.0**-53, 0.25, 1 - 2.0**-53, 1.0):
        edge = int(rounding_up(u) * WORD)
        assert edge == 0 or rounds_up(u, edge - 1)
        assert edge == WORD or not rounds_up(u, edge)


def test_a_subset_takes_the_words_of_floyds_algorithm() -> None:
    """One draw for each member, none where there is nothing to choose; a number drawn twice stands for the top."""

    def word(n: int, value: int) -> int:
        return ((2 * value + 1) * WORD // n) // 2

    def drawn(n: int, size: int, *picks: tuple[int, int]) -> list[int]:
        coins = ListedCoins([word(*pick) for pick in picks])
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
