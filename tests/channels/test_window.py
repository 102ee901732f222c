"""The window channel splits the words exactly as its law says."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import pytest

from hush.channels import Output, Window
from hush.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL


@pytest.mark.parametrize(
    "name",
    ["duchi", "duchi-optional", "window-5-2", "window-8-6", "window-16-3", "window-9-2-optional", "window-uneven"],
)
@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
def test_the_sampler_has_the_law_exactly(name: str, epsilon: Fraction) -> None:
    """`draw` is constant on intervals of words: their ends are tried, and their lengths give the law."""
    channel = SMALL[name](epsilon)
    assert isinstance(channel, Window)
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
    channel = Window(4, 1, 3 * (WORD // 6) + (WORD - 3 * (WORD // 6)) % 3, (-top, -(top - 1), top - 1, top))
    points = [channel.state([u], ListedCoins([0])) for u in (0.0, 0.5, 1.0)]
    assert points == [0, 2, 3]
    assert math.isclose(float(channel.truth(1)[0]), -1 + 2**-30)
