"""The sign-cube: its sampler, its constants, what it has in common with others, and where it pays."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from hush import DesignError, Plan, ReportError, Tally, TallyError, design, estimate
from hush.core.channels import Coins, Cube, Grouped, Output, Signs, State
from hush.core.design.joint import cube, person_variance
from hush.core.design.numeric import duchi, signs
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.planning.audits.fits import by_targets
from hush.testing import ListedCoins, SeededCoins
from tests.cases import NUMBERS, branches, exp_floor, small_cube

SHAPES = [(1, 1, 1), (3, 1, 1), (2, 2, 2), (4, 2, 2), (4, 3, 2), (4, 3, 3), (5, 4, 3), (5, 5, 3), (5, 5, 4), (4, 4, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_sampler_has_the_law_exactly(shape: tuple[int, int, int]) -> None:
    """Every path is followed: all sets of dimensions, both sides of the coin, all ranks."""
    channel = small_cube(Fraction(2), *shape)
    for state in channel.states():
        assert branches(lambda coins, state=state: channel.draw(state, coins)) == channel.law(state)  # type: ignore[misc]


def test_a_cube_of_64_ranks_every_kind_of_corner() -> None:
    """The first and the last rank of each kind are the corners that the order says, and no word is left over."""
    channel = small_cube(Fraction(6), 64, 64, 40)
    near = sum(comb(64, i) for i in range(40, 65))
    plus = (1 << 64) - 1

    def signs_for(coin: int, rank: int, corners: int) -> list[int]:
        word = -(-rank * WORD // corners)  # the first word that gives this rank, past those that are drawn again
        word += ((word * corners) % WORD) < WORD % corners
        unused = WORD // 2  # for the rank of the other kind
        coins = ListedCoins([coin, unused, word] if coin == 0 else [coin, word, unused])
        output = channel.draw(plus, coins)
        assert coins.left == 0
        assert isinstance(output, tuple)
        channel.alphabet.check(output)
        return [member & 1 for member in output]

    assert signs_for(0, 0, near) == [1] * 64
    assert signs_for(0, near - 1, near) == [0] * 24 + [1] * 40
    others = (1 << 64) - near
    assert signs_for(WORD - 1, 0, others) == [1] * 39 + [0] * 25
    assert signs_for(WORD - 1, others - 1, others) == [0] * 64


@pytest.mark.parametrize("sample", [1, 2, 5, 8])
def test_the_gain_is_the_sum_over_near_corners(sample: int) -> None:
    for agree in range(sample // 2 + 1, sample + 1):
        channel = small_cube(Fraction(2), sample, sample, agree)
        near = [c for c in range(1 << sample) if c.bit_count() >= agree]
        gain = sum(1 if corner & 1 else -1 for corner in near)
        assert gain == comb(sample - 1, agree - 1)
        p = Fraction(channel.threshold, WORD)
        assert 1 / channel.bound == gain * (p / len(near) - (1 - p) / (2**sample - len(near)))


def test_its_ends_are_the_mechanisms_of_duchi() -> None:
    for epsilon in (Fraction(1), Fraction(4)):
        one = small_cube(epsilon, 7, 1, 1)
        assert float(one.worst_variance) == pytest.approx(float(duchi(epsilon).worst_variance), rel=1e-9)
        for d in (1, 2, 5, 6):
            whole, multi = small_cube(epsilon, d, d, d // 2 + 1), signs(epsilon, d)
            assert isinstance(multi, Signs)
            assert (whole.threshold, whole.bound, whole.ratio) == (multi.threshold, multi.bound, multi.ratio)


# -- its outputs


def test_outputs_with_both_signs_are_refused() -> None:
    alphabet = Grouped(8, 2, 2)
    assert alphabet.outputs == 24
    bad: list[Output] = [(0, 1), (6, 7), (1,), (1, 2, 5), (2, 1), (1, 8), (-1, 2), 3]
    for output in bad:
        with pytest.raises(ReportError):
            alphabet.check(output)
    with pytest.raises(ReportError):
        alphabet.unpack(bytes([0b11]))
    alphabet.check((1, 2))
    assert alphabet.unpack(alphabet.pack((1, 2))) == (1, 2)


def test_counts_that_no_reports_can_give_are_refused() -> None:
    alphabet = Grouped(6, 2, 2)
    alphabet.check_counts([3, 2, 1, 3, 0, 1], 5)
    for counts in ([3, 3, 1, 2, 0, 1], [3, 2, 1, 3, 0, 0], [6, -1, 1, 3, 0, 1], [5, 0, 5, 0, 0, 1]):
        with pytest.raises(TallyError):
            alphabet.check_counts(counts, 5)


# -- estimates


def test_means_come_from_the_reports_about_an_attribute() -> None:
    channel = small_cube(Fraction(2), 5, 2, 2)
    plan = Plan(NUMBERS, Fraction(2), 1, design(NUMBERS, 2.0, numeric="cube").questions)
    assert plan.channel("a") == channel
    counts = [100, 300, 200, 200, 50, 50, 1, 599, 250, 250]
    tally = Tally(plan, 1000, [1000], [counts])
    rows, paper = estimate(tally), estimate(tally, estimator="paper")
    b = float(channel.bound)
    assert [row.answers for row in rows] == [row.answers for row in paper] == [400, 400, 100, 600, 500]
    for row, other, minus, plus in zip(rows, paper, counts[::2], counts[1::2], strict=True):
        assert row.point == pytest.approx(b * (plus - minus) / (plus + minus))
        assert other.point == pytest.approx(b * (plus - minus) / (1000 * 2 / 5))
        for one in (row, other):  # an interval is cut to the domain, if it has a part there
            assert one.low <= min(max(one.point, -1.0), 1.0) <= one.high or one.low <= one.point <= one.high


def test_an_attribute_that_nobody_was_asked_about() -> None:
    plan = design(NUMBERS, 2.0, numeric="cube")
    rows = estimate(Tally(plan, 1, [1], [[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]]))
    assert [row.answers for row in rows] == [1, 1, 0, 0, 0]
    assert (rows[-1].low, rows[-1].high) == (-1, 1)


# -- design


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(4), Fraction(16)])
@pytest.mark.parametrize("size", [1, 2, 7, 12])
def test_the_design_is_the_best_of_all(size: int, epsilon: Fraction) -> None:
    best = cube(epsilon, size)
    assert 1 < best.ratio <= exp_floor(epsilon)
    for k in range(1, size + 1):
        for agree in range(k // 2 + 1, k + 1):
            assert person_variance(best) <= person_variance(small_cube(epsilon, size, k, agree))
    assert cube(epsilon, size, size).sample == size
    with pytest.raises(DesignError, match="sample"):
        cube(epsilon, size, size + 1)


def test_a_threshold_that_makes_nothing_likelier_is_not_chosen() -> None:
    """With one near corner among 2^64, a coin of 64 bits is too coarse for a small epsilon."""
    epsilon = Fraction(1, 1000)
    assert largest_threshold(exp_bounds(epsilon)[0], 1, (1 << 64) - 1) == 1
    assert cube(epsilon, 64, 64).agree < 64


def test_it_is_duchi_sampled_at_small_epsilon_and_more_at_large() -> None:
    assert (cube(Fraction(1), 10).sample, cube(Fraction(1), 10).agree) == (1, 1)
    samples = [cube(Fraction(epsilon), 16).sample for epsilon in (1, 2, 4, 8)]
    assert samples == sorted(samples)
    assert samples[-1] > 8


def test_in_a_plan() -> None:
    plan = design(NUMBERS, 4.0, numeric="cube")
    assert plan.k == 1
    assert plan.channel("c") == cube(Fraction(4), 5)
    assert isinstance(plan.channel("c"), Cube)
    assert Plan.from_json(plan.to_json()) == plan


# -- audits


class Favourite(Cube):
    """The twin: a cube that always reports the same dimensions. Each sign alone has the right law."""

    def draw(self, state: State, coins: Coins) -> Output:
        first = small_cube(Fraction(4), self.sample, self.sample, self.agree)
        assert isinstance(state, int)
        return first.draw(state & (1 << self.sample) - 1, coins)


def test_an_audit_notices_dimensions_that_are_not_drawn_uniformly() -> None:
    """By counts of signs, as the law of 40 dimensions is too long to list. A false alarm has a probability of 1e-6."""
    good = cube(Fraction(4), 40)
    bad = Favourite(good.size, good.sample, good.agree, good.threshold)
    for channel, expected in ((good, True), (bad, False)):
        coins = SeededCoins(5)
        outputs = [channel.draw(7, coins) for _ in range(2000)]
        assert by_targets("seven", outputs, channel, 7, 1e-6).passed is expected


def test_the_table_of_corners_has_a_row_for_each_m_and_a_column_for_each_a() -> None:
    """The batch engine reads it row by row, so its shape counts."""
    channel = small_cube(Fraction(1), 5, 4, 3)
    expected = [[sum(corner.bit_count() >= a for corner in range(1 << m)) for a in range(5)] for m in range(4)]
    assert channel.tails == expected
    assert channel.corners == (11, 5)
