"""The additive channel: its sampler, its law, and the densities that the paper misprints."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush.channels import Additive
from hush.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL

TOY = Additive(((2, 5), (1, 4), (1, 3)), WORD // 2, 12)  # weights 5 5 4 3, halved in each period of 4


def word_for(n: int, value: int) -> int:
    """The middle one of the words from which `below(n)` makes this value."""
    return ((2 * value + 1) * WORD // n) // 2


def test_the_sampler_has_the_law_exactly() -> None:
    """Every pair of period and weight, each with its probability; the sign; the zero that is drawn again."""
    heads, tails = 0, WORD - 1
    total = sum(TOY.weights)
    for state in TOY.states():
        found = dict.fromkeys(range(TOY.alphabet.size), Fraction(0))
        for periods in range(6):  # after five the output is the farthest one, and no further toss is made
            tosses = [heads] * periods + [tails] * (periods < 5)
            chance = Fraction(1, 2) ** len(tosses) / total / 2
            for mass in range(total):
                for sign in (heads, tails):
                    coins = ListedCoins([*tosses, word_for(total, mass), sign])
                    try:
                        output = TOY.draw(state, coins)
                    except LookupError:  # a zero of negative sign is drawn again
                        assert (periods, sign) == (0, heads)
                        assert mass < TOY.weights[0]
                        continue
                    assert isinstance(output, int)
                    found[output] += chance
        accepted = 1 - Fraction(TOY.weights[0], total) / 4  # of all draws
        law = TOY.law(state)
        assert {output: probability / accepted for output, probability in found.items()} == law


def test_the_law_is_the_formula() -> None:
    law = TOY.law(1)
    norm = 2 * Fraction(17) / Fraction(1, 2) - 5
    assert law[1 + 12] == 5 / norm  # no noise
    assert law[1 + 12 + 2] == law[1 + 12 - 2] == 4 / norm
    assert law[1 + 12 + 4] == Fraction(5, 2) / norm
    assert float(law[0]) == pytest.approx(float(sum(weight(g) for g in range(13, 400)) / norm), rel=1e-12)


def weight(g: int) -> Fraction:
    return Fraction(TOY.weights[g % 4], 1 << g // 4)


def test_sums_beyond_the_reach_are_reported_as_the_farthest() -> None:
    far = ListedCoins([*[0] * 5, word_for(17, 0), WORD - 1])
    assert TOY.draw(2, far) == TOY.alphabet.size - 1
    far = ListedCoins([*[0] * 5, word_for(17, 0), 0])
    assert TOY.draw(2, far) == 0


def test_a_slow_decay_does_not_toss_for_ever() -> None:
    """Once the output is the farthest one, no further toss is made: a plan cannot hang a device."""
    slow = Additive(((1, 1),), WORD - 1, 5)
    coins = ListedCoins([*[0] * 7, word_for(1, 0), WORD - 1])
    assert slow.draw(0, coins) == slow.alphabet.size - 1
    assert coins.left == 0


def test_the_variance_is_the_sum() -> None:
    norm = 2 * Fraction(17) / Fraction(1, 2) - 5
    squares = 2 * sum(g * g * weight(g) for g in range(300)) / norm * Fraction(4, 16)
    assert float(TOY.variance(-1)) == pytest.approx(float(squares), rel=1e-12)
    assert TOY.variance(Fraction(-3, 4)) - TOY.variance(-1) == Fraction(1, 16)
    for step in range(4):  # half-way between two points, wherever they are
        assert TOY.variance(Fraction(2 * step - 3, 4)) == TOY.worst_variance == TOY.variance(-1) + Fraction(1, 16)


@pytest.mark.parametrize("name", ["laplace", "staircase"])
def test_likelihood_interpolates_the_law(name: str) -> None:
    channel = SMALL[name](Fraction(3))
    assert isinstance(channel, Additive)
    below, above = channel.law(1), channel.law(2)
    inner = slice(1, -1)  # the far tails are left out
    expected = [float(below[y] / 4 + above[y] * 3 / 4) for y in below][inner]
    likelihood = channel.likelihood(1.75 / channel.steps)
    assert likelihood is not None
    assert likelihood[inner] == pytest.approx(expected, rel=1e-9)


def test_erratum_2_the_printed_density_does_not_add_up_to_one() -> None:
    """As printed, the piece j = 0 beyond m has the same density as the centre; the correct one is e^-eps lower."""
    epsilon = Fraction(1)
    channel = SMALL["staircase"](epsilon)
    assert isinstance(channel, Additive)
    b = Fraction(channel.decay, WORD)
    flat = channel.runs[0][0]
    law = channel.law(2)
    centre = 2 + channel.reach
    assert law[centre + flat - 1] == law[centre]
    assert float(law[centre + flat] / law[centre]) == pytest.approx(float(b), rel=1e-9)
    # With a(m) of the Staircase mechanism and pieces of length 2, the printed density has mass above 1.
    m, beta = 0.7, float(b)
    a = (1 - beta) / (2 * m + 4 * beta - 2 * m * beta)
    printed = 2 * a * (m + 2 * sum(beta**j for j in range(200)))
    correct = 2 * a * (m + 2 * sum(beta ** (j + 1) for j in range(200)))
    assert correct == pytest.approx(1, rel=1e-12)
    assert printed > 1.5


def test_the_period_is_geometric() -> None:
    for periods in (0, 1, 4):
        coins = ListedCoins([*[0] * periods, WORD - 1, word_for(17, 0), WORD - 1])
        output = TOY.draw(0, coins)
        assert output == min(12 + 4 * periods, TOY.alphabet.size - 1)
