"""The samplers against their laws, by chi-square; each with a broken twin that must be caught.

False alarms: each test compares with the quantile that a right sampler exceeds with probability 1e-6; the words are
seeded, so a test that passes once passes always. Power: each twin is wrong by an amount that would go unseen with a
probability below 1e-6 as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import sqrt

import pytest

from hush.core.channels import Channel, Output, Subset, Unary, Window
from hush.core.channels.window import ROUNDING
from hush.core.coins import Coins
from hush.core.design.categorical import oue, subset
from hush.core.design.numeric import duchi, hybrid, signs
from hush.core.exact import WORD
from hush.device.coins import SystemCoins
from hush.testing import SeededCoins
from tests.cases import SMALL, small_window

Z = 4.753  # the normal quantile of 1 - 1e-6
N = 60_000


def chi_square(counts: Counter[Output], law: dict[Output, Fraction]) -> tuple[float, float]:
    """The statistic, and its quantile of 1 - 1e-6 (Wilson and Hilferty's approximation). Rare outputs are pooled."""
    n = sum(counts.values())
    assert set(counts) <= set(law)
    cells: list[tuple[int, float]] = []
    pooled, expected = 0, 0.0
    for output, probability in sorted(law.items(), key=lambda item: item[1]):
        pooled += counts[output]
        expected += n * float(probability)
        if expected >= 10:
            cells.append((pooled, expected))
            pooled, expected = 0, 0.0
    cells[-1] = (cells[-1][0] + pooled, cells[-1][1] + expected)
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    df = len(cells) - 1
    return statistic, df * (1 - 2 / (9 * df) + Z * sqrt(2 / (9 * df))) ** 3


def drawn(channel: Channel, state: object, coins: Coins, n: int = N) -> Counter[Output]:
    return Counter(channel.draw(state, coins) for _ in range(n))


@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(3)])
@pytest.mark.parametrize("name", [name for name in SMALL if name != "subset-12"])
def test_every_sampler_has_its_law(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    states = [*channel.states()]
    for seed, state in enumerate((states[0], states[len(states) // 2], states[-1])):
        statistic, limit = chi_square(drawn(channel, state, SeededCoins(seed), 20_000), channel.law(state))
        assert statistic < limit


def test_the_operating_systems_words_will_do_as_well() -> None:
    """Not seeded: fails once in a million runs."""
    channel = hybrid(Fraction(1))
    state = next(iter(channel.states()))
    statistic, limit = chi_square(drawn(channel, state, SystemCoins()), channel.law(state))
    assert statistic < limit


# -- twins that must be caught


def twin_threshold(channel: Window) -> Channel:
    """The window is 4 % likelier than it should be."""
    step = ROUNDING * channel.width * channel.cells_outside
    more = channel.threshold // 25 // step * step
    return Window(channel.size, channel.width, channel.threshold + more, channel.levels, channel.optional)


def twin_subset(channel: Subset) -> Channel:
    return Subset(channel.size, channel.weight, channel.threshold + channel.threshold // 25)


def twin_unary(channel: Unary) -> Channel:
    return Unary(channel.size, channel.true, channel.other + channel.other // 25)


TWINS: list[tuple[Channel, Channel]] = [
    (small_window(Fraction(1), 8, 3), twin_threshold(small_window(Fraction(1), 8, 3))),
    (duchi(Fraction(1)), twin_threshold(duchi(Fraction(1)))),
    (subset(Fraction(1), 8), twin_subset(subset(Fraction(1), 8))),
    (oue(Fraction(1), 5), twin_unary(oue(Fraction(1), 5))),
    (signs(Fraction(1), 3), signs(Fraction("1.1"), 3)),
]


@pytest.mark.parametrize(("right", "wrong"), TWINS)
def test_a_broken_twin_is_caught(right: Channel, wrong: Channel) -> None:
    state = next(iter(right.states()))
    statistic, limit = chi_square(drawn(right, state, SeededCoins(1)), right.law(state))
    assert statistic < limit
    statistic, limit = chi_square(drawn(wrong, state, SeededCoins(1)), right.law(state))
    assert statistic > limit


class NoRejection(SeededCoins):
    """A twin of the coins: a byte modulo n, the excess not redrawn."""

    def below(self, n: int) -> int:
        return (self.word() & 255) % n

    def several(self, sizes: Sequence[int]) -> list[int]:
        return [self.below(n) for n in sizes]


class Correlated(SeededCoins):
    """A twin of the coins: every word is used twice."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._again: int | None = None

    def word(self) -> int:
        if self._again is not None:
            word, self._again = self._again, None
            return word
        self._again = super().word()
        return self._again


@pytest.mark.parametrize("broken", [NoRejection, Correlated])
def test_broken_coins_are_caught(broken: Callable[[int], Coins]) -> None:
    channel = Subset(100, 2, WORD // 2)
    statistic, limit = chi_square(drawn(channel, 0, broken(1)), channel.law(0))
    assert statistic > limit
    statistic, limit = chi_square(drawn(channel, 0, SeededCoins(1)), channel.law(0))
    assert statistic < limit
