"""The additive channel: its sampler, its law, and the densities that the paper misprints."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush import PlanError
from hush.core.channels import Additive
from hush.core.channels.additive import digits_of
from hush.core.channels.contrast import compared
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL, branches, exp_floor, largest_ratio

TOY = Additive(((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 8, WORD // 32), 12)
"""Weights 5 5 4 3; the digits of the period have odds 1/3, 1/7 and 1/31."""


FIRST = WORD // 34  # the middle one of the words for which `below(17)` is 0


def test_the_sampler_has_the_law_exactly() -> None:
    """Every path: all digits, all steps, both signs."""
    for state in TOY.states():
        assert branches(lambda coins, state=state: TOY.draw(state, coins)) == TOY.law(state)  # type: ignore[misc]


def test_the_law_is_the_formula() -> None:
    law = TOY.law(1)
    none = Fraction(3, 4) * Fraction(7, 8) * Fraction(31, 32) / 2  # the probability of period 0, and of a sign
    assert law[1 + 12] == law[1 + 12 - 1] == none * Fraction(5, 17)  # half a step up or down
    assert law[1 + 12 + 2] == law[1 + 12 - 3] == none * Fraction(4, 17)
    assert law[1 + 12 + 4] == none / 3 * Fraction(5, 17)
    assert law[1 + 12 + 8] == none / 7 * Fraction(5, 17)
    assert law[0] == sum(mass(g) for g in range(12, 32)) / 2
    assert law[TOY.alphabet.size - 1] == sum(mass(g) for g in range(14, 32)) / 2


def mass(g: int) -> Fraction:
    """The probability of a magnitude, from its digits."""
    found = Fraction(TOY.weights[g % 4], 17)
    for k, one in enumerate((Fraction(1, 4), Fraction(1, 8), Fraction(1, 32))):
        found *= one if g // 4 >> k & 1 else 1 - one
    return found


def test_the_ratio_is_the_largest_fall_and_all_of_them_count() -> None:
    assert TOY.ratio == max(Fraction(3), Fraction(7, 3)) == largest_ratio(TOY, [*TOY.states()])
    other = Additive(TOY.runs, (WORD // 3, WORD // 16, WORD // 32), 12)
    assert other.ratio == Fraction(WORD // 3, WORD - WORD // 3) * 15 == largest_ratio(other, [*other.states()])


@pytest.mark.parametrize(
    ("runs", "decays", "reach", "rule"),
    [
        (((2, 5), (1, 4), (1, 3)), (WORD // 2, WORD // 8, WORD // 32), 12, "next period"),  # period 1 likelier than 0
        (((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 4, WORD // 32), 12, "next period"),
        (((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 8, WORD // 70), 12, "farthest"),
        (((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 8), 12, "3 decays"),
        (((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 8, WORD // 32), 14, "4 decays"),
        (((2, 5), (1, 4), (1, 3)), (WORD // 4, WORD // 8, 0), 12, "decay"),
        (((1, 1),), (WORD // 4, WORD // 8), 1, "the reach"),
    ],
)
def test_noise_that_is_not_private_is_refused(
    runs: tuple[tuple[int, int], ...], decays: tuple[int, ...], reach: int, rule: str
) -> None:
    with pytest.raises(PlanError, match=rule):
        Additive(runs, decays, reach)


def test_the_rule_about_the_farthest_outputs_is_needed() -> None:
    """Twin: without enough probability beyond, the farthest output alone has a larger ratio."""
    decays = (WORD // 4, WORD // 8, WORD // 4096)
    assert (Fraction(3) - 1) / 4096 < (1 - Fraction(1, 4096)) / 32
    loose = object.__new__(Additive)
    for name, value in (("runs", ((4, 1),)), ("decays", decays), ("reach", 13)):
        object.__setattr__(loose, name, value)
    assert loose.ratio == 3 < largest_ratio(loose, [*loose.states()])


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_the_digits_number_all_periods_that_can_be_told_apart(steps: int) -> None:
    for reach in range(max(steps, 2), 40):
        digits = digits_of(steps, reach)
        assert (2**digits - 1) * steps + 1 >= reach
        assert digits == 1 or (2 ** (digits - 1) - 1) * steps + 1 < reach
        channel = Additive(((steps, 1),), decays_of(Fraction(1), steps, reach), reach)
        assert largest_ratio(channel, [*channel.states()]) == channel.ratio <= exp_floor(Fraction(1))


def test_sums_beyond_the_reach_are_reported_as_the_farthest() -> None:
    assert TOY.draw(2, ListedCoins([0, 0, 0, FIRST, WORD - 1])) == TOY.alphabet.size - 1 == 27
    assert TOY.draw(2, ListedCoins([0, 0, 0, FIRST, 0])) == 0


def test_the_variance_is_the_sum() -> None:
    squares = sum((2 * g + 1) ** 2 * mass(g) for g in range(32)) / 4 * Fraction(4, 16)
    assert TOY.variance(-1) == squares
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
    b = 1 / channel.ratio
    flat = channel.runs[0][0]
    law = channel.law(2)
    centre = 2 + channel.reach
    assert law[centre + flat - 1] == law[centre] == law[centre - 1]
    assert float(law[centre + flat] / law[centre]) == pytest.approx(float(b), rel=1e-3)
    # With a(m) of the Staircase mechanism and pieces of length 2, the printed density has mass above 1.
    m, beta = 0.7, float(b)
    a = (1 - beta) / (2 * m + 4 * beta - 2 * m * beta)
    printed = 2 * a * (m + 2 * sum(beta**j for j in range(200)))
    correct = 2 * a * (m + 2 * sum(beta ** (j + 1) for j in range(200)))
    assert correct == pytest.approx(1, rel=1e-12)
    assert printed > 1.5


def test_the_period_has_the_digits_that_are_tossed() -> None:
    for periods in range(3):
        digits = [0 if periods >> k & 1 else WORD - 1 for k in range(3)]
        assert TOY.draw(0, ListedCoins([*digits, FIRST, WORD - 1])) == 12 + 4 * periods
        assert TOY.draw(4, ListedCoins([*digits, FIRST, 0])) == 12 + 3 - 4 * periods


def test_runs_that_are_too_long_together_are_refused_in_words_that_name_the_rule() -> None:
    """The reach was looked at first, and had to be "from 2700000 to 32768", which no number is."""
    long = tuple((2700, weight) for weight in range(1000, 0, -1))
    for runs in (long, ((4096, 2), (1, 1))):
        with pytest.raises(PlanError, match=r"at most 4096 steps, the sum of the lengths of its runs$"):
            Additive(runs, (1, 1), 4096)


def test_crowds_compare_the_ends_among_people_at_an_end_or_in_the_middle() -> None:
    laws = [TOY.law(state) for state in (0, 4, 2)]
    assert TOY.crowds() == [compared(laws[0], laws[1], law) for law in laws]


@pytest.mark.parametrize(("steps", "size", "block"), [(255, 1023, 1), (256, 1024, 2)])
def test_crowds_take_neighbouring_outputs_as_one_if_there_are_many(steps: int, size: int, block: int) -> None:
    reach = (size - steps) // 2
    channel = Additive(((steps, 1),), decays_of(Fraction(1), steps, reach), reach)
    assert channel.alphabet.size == size
    laws = []
    for state in (0, steps):
        law = list(channel.law(state).values())
        laws.append({y: sum(law[y : y + block], Fraction(0)) for y in range(0, size, block)})
    assert channel.crowds()[:2] == [compared(laws[0], laws[1], law) for law in laws]
