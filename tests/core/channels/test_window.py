"""The window channel splits the words exactly as its law says, and the ladder, which has the same private step."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import pytest

from hush.core.channels import Output, Window
from hush.core.channels.windowed import ROUNDING, Windowed
from hush.core.exact import WORD
from hush.errors import PlanError
from hush.testing import ListedCoins
from tests.cases import SMALL

LADDERS = [name for name in SMALL if name.startswith("ladder")]


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith(("duchi", "window", "ladder"))])
@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
def test_the_sampler_has_the_law_exactly(name: str, epsilon: Fraction) -> None:
    """`draw` is constant on intervals of words: their ends are tried, and their lengths give the law."""
    channel = SMALL[name](epsilon)
    assert isinstance(channel, Windowed)
    inside, outside = channel.threshold // channel.width, (WORD - channel.threshold) // channel.cells_outside
    starts = [*range(0, channel.threshold, inside), *range(channel.threshold, WORD, outside)]
    for state in channel.states():
        found: dict[Output, int] = defaultdict(int)
        for start, end in zip(starts, [*starts[1:], WORD], strict=True):
            first = channel.draw(state, ListedCoins([start]))
            assert channel.draw(state, ListedCoins([end - 1])) == first
            assert channel.draw(state, ListedCoins([(start + end) // 2])) == first
            found[first] += end - start
        assert {output: Fraction(count, WORD) for output, count in found.items()} == channel.law(state)


@pytest.mark.parametrize(
    "name", ["duchi", "window-5-2", "window-16-3", "window-9-2-optional", "window-uneven", *LADDERS]
)
@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
def test_one_word_rounds_and_draws_independently(name: str, epsilon: Fraction) -> None:
    """The law of `answer` is that of the rounding and then of the state, exactly, though one word decides both.

    Words that give one cell are runs of 2^24; within a run the lower bits say whether the input is rounded up. So each
    run is counted with the share of its words that round up.
    """
    channel = SMALL[name](epsilon)
    assert isinstance(channel, Windowed)
    inside, outside = channel.threshold // channel.width, (WORD - channel.threshold) // channel.cells_outside
    starts = [*range(0, channel.threshold, inside), *range(channel.threshold, WORD, outside)]
    for u in (0.0, 1e-9, 0.1, 1 / 3, 0.5, 0.77, 1.0, *([None] if channel.optional else [])):
        rounding = channel.rounding([u])
        (low, high) = (next(iter(rounding)), list(rounding)[-1])
        edge = int(rounding[high] * ROUNDING) if high != low else ROUNDING
        found: dict[Output, Fraction] = defaultdict(Fraction)
        for start, end in zip(starts, [*starts[1:], WORD], strict=True):
            assert start % ROUNDING == end % ROUNDING == 0
            for first, last, state in ((0, edge, high), (edge, ROUNDING, low)):
                if first < last:
                    lows = (first, last - 1)
                    words = [run + bits for run in (start, end - ROUNDING) for bits in lows]
                    outputs = {channel.answer([u], ListedCoins([word])) for word in words}
                    assert outputs == {channel.draw(state, ListedCoins([start]))}
                    found[outputs.pop()] += Fraction((end - start) * (last - first), WORD * ROUNDING)
        expected: dict[Output, Fraction] = defaultdict(Fraction)
        for state, chance in rounding.items():
            for output, probability in channel.law(state).items():
                expected[output] += chance * probability
        assert found == expected


@pytest.mark.parametrize("name", ["duchi", "window-16-3", "window-uneven", "window-9-2-optional"])
def test_likelihood_interpolates_the_law(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    assert isinstance(channel, Window)
    for s in range(channel.last):
        left, right = (channel.truth(state)[0] for state in (s, s + 1))
        u = float((left + 3 * right) / 4 + 1) / 2
        below, above = channel.law(s), channel.law(s + 1)
        expected = [float(below[y] / 4 + above[y] * 3 / 4) for y in below]
        assert channel.likelihood(u) == pytest.approx(expected, rel=1e-9)
    if channel.optional:
        missing = channel.law(None)
        assert channel.likelihood(None) == pytest.approx([float(p) for p in missing.values()], rel=1e-12)


def test_levels_reach_the_limits() -> None:
    """With the largest levels that are allowed, neighbouring knots are still told apart."""
    top = 1 << 30
    channel = Window(4, 1, ROUNDING * ((1 << 39) + 2), (-top, -(top - 1), top - 1, top))
    points = [channel.state([u], ListedCoins([0])) for u in (0.0, 0.5, 1.0)]
    assert points == [0, 2, 3]
    assert math.isclose(float(channel.truth(1)[0]), -1 + 2**-30)


def test_a_threshold_whose_lower_bits_would_favour_a_cell_is_refused() -> None:
    """It divides evenly, so cells would be uniform; but rounding would no longer be independent of them."""
    good = SMALL["duchi"](Fraction(1))
    assert isinstance(good, Window)
    assert Window(2, 1, good.threshold - ROUNDING).ratio < good.ratio
    for threshold in (good.threshold - 1, good.threshold - ROUNDING // 2, good.threshold + 1):
        with pytest.raises(PlanError, match=r"2\^24 times"):
            Window(2, 1, threshold)


@pytest.mark.parametrize("name", ["duchi-optional", "window-9-2-optional", "ladder-5-2-optional"])
def test_missing_is_the_last_state_of_an_optional_window(name: str) -> None:
    """Whatever is proved for all states would say nothing about the missing if it were left out here."""
    channel = SMALL[name](Fraction(1))
    assert isinstance(channel, Windowed)
    assert [*channel.states()] == [*range(channel.last + 1), None]
    plain = SMALL["window-5-2"](Fraction(1))
    assert [*plain.states()] == [0, 1, 2, 3]


def test_the_grid_is_rounded_down_to_multiples_of_one_part_in_2_to_the_53() -> None:
    """So that all languages have it. The knots of these levels are thirds, which no float is."""
    channel = Window(4, 1, ROUNDING * ((1 << 40) - 3), (-3, -1, 1, 3))
    points, slopes = channel.grid
    third, unit = 3002399751580330, 2.0**-53
    assert points == [0.0, third * unit, (2 * third + 1) * unit, 1.0]
    assert third == (1 << 53) // 3
    assert third * unit != 1 / 3
    assert slopes == [1 / (points[1] - 0.0), 1 / (points[2] - points[1]), 1 / (1.0 - points[2])]


def test_even_levels_need_no_grid() -> None:
    """The position is one product: other ways to compute it differ in their last bits."""
    channel = SMALL["window-16-3"](Fraction(1))
    assert isinstance(channel, Window)
    assert [channel._between(u) for u in (0.0, 0.1, 0.7, 1.0)] == [
        (0, 0.0),
        (1, 0.1 * 13 - 1),
        (9, 0.7 * 13 - 9),
        (12, 1.0),
    ]


def test_half_a_step_of_the_rounding_is_rounded_down() -> None:
    """Where the position falls exactly between two of the 2^24 lower parts of a word."""
    channel = SMALL["duchi"](Fraction(1))
    assert isinstance(channel, Window)
    u, half = 0.5 + 2.0**-25, ROUNDING // 2
    assert channel.rounding([u]) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert [channel.rounded(u, word) for word in (half - 1, half, half + 1)] == [1, 0, 0]


@pytest.mark.parametrize("name", ["duchi", "window-16-3", "window-uneven", *LADDERS])
def test_rounding_of_what_lies_outside(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    assert isinstance(channel, Windowed)
    for u in (-1e200, -1.0, -1e-9, 0.0):
        assert channel.rounding([u]) == {0: Fraction(1)}
    for u in (1.0, 1.0000001, 7.0, 1e200):
        assert channel.rounding([u]) == {channel.last: Fraction(1)}


def test_a_crowd_has_people_at_the_ends_missing_and_at_several_places() -> None:
    plain, optional = (SMALL[name](Fraction(1)) for name in ("window-16-3", "window-9-2-optional"))
    assert isinstance(plain, Window)
    assert isinstance(optional, Window)
    assert plain.opposites() == [(0, 13)]
    assert plain.bystanders() == [2, 4, 6, 8, 10]
    assert optional.opposites() == [(0, 7), (0, None)]
    assert optional.bystanders() == [1, 2, 3, 4, 5, None]


@pytest.mark.parametrize(("name", "cells"), [("window-5-2", 0), ("window-8-6", 4), ("duchi-optional", 0)])
def test_cells_that_every_window_has_are_always_likely(name: str, cells: int) -> None:
    channel = SMALL[name](Fraction(1))
    assert isinstance(channel, Window)
    least = min(channel.law(0).values())
    assert channel.always == cells * least


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith(("window", "duchi", "ladder"))])
def test_all_quotients_of_a_draw_are_positive(name: str) -> None:
    """So that a division takes as long for all words: Python is faster if a quotient is 0, slower if negative."""
    for epsilon in (Fraction(1, 2), Fraction(4)):
        channel = SMALL[name](epsilon)
        assert isinstance(channel, Windowed)
        _, to_inside, more, _, to_outside, further, _ = channel._steps
        for word in (0, WORD - 1):
            upper = (word | WORD) // ROUNDING
            assert (upper + more) // to_inside > 0
            assert (upper + further) // to_outside > 0
