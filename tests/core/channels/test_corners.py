"""The corners channel: its sampler, which numbers are near, rounding, estimates, and a twin that is not private."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hush import Numeric, Plan, PlanError, Schema, Tally, estimate
from hush.core.channels import Coins, Corners, Output, State
from hush.core.channels.base import rounds_up
from hush.core.channels.corners import largest, magnitude
from hush.core.design.directions import corners
from hush.core.exact import WORD
from hush.core.plan import Question
from hush.planning.audits.fits import by_targets
from hush.testing import ListedCoins, SeededCoins
from tests.cases import NUMBERS, branches, exp_floor, small_corners

SHAPES = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3), (4, 4), (5, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_sampler_has_the_law_exactly(shape: tuple[int, int]) -> None:
    """Every path is followed: both sides of the coin, all ranks."""
    channel = small_corners(Fraction(2), *shape)
    for state in channel.states():
        assert branches(lambda coins, state=state: channel.draw(state, coins)) == channel.law(state)  # type: ignore[misc]


@pytest.mark.parametrize("shape", SHAPES)
def test_whole_answers_are_private_by_enumeration(shape: tuple[int, int]) -> None:
    """From the inputs on: rounding and draw through the real sampler, for inputs of all signs, sizes and ties."""
    epsilon, (size, near) = Fraction(1), shape
    channel = small_corners(epsilon, size, near)
    values = [0.0, 0.5, 1.0] if size > 3 else [0.0, 0.25, 0.5, 0.75, 1.0]
    laws = [answered(channel, list(inputs)) for inputs in product(values, repeat=size)]
    assert worst(laws) == channel.ratio <= exp_floor(epsilon)


def answered(channel: Corners, inputs: list[Any]) -> dict[Output, Fraction]:
    """The law of a whole answer. All inputs are multiples of 1/4, so two bits of the rounding word decide."""
    found: dict[Output, Fraction] = {}
    for quarter in range(4):
        state = channel.state(inputs, ListedCoins([quarter << 62]))
        for output, chance in branches(lambda coins, s=state: channel.draw(s, coins)).items():  # type: ignore[misc]
            found[output] = found.get(output, Fraction(0)) + chance / 4
    return found


def worst(laws: list[dict[Output, Fraction]]) -> Fraction:
    return max(max(column) / min(column) for column in ([law[y] for law in laws] for y in laws[0]))


class Ranked(Corners):
    """The twin: another corner is drawn among all, and drawn again as the next one if it is near."""

    def draw(self, state: State, coins: Coins) -> Output:
        near = coins.toss(self.threshold)
        other, rank = coins.below(2 * self.size), coins.below(self.near)
        while other in state:  # type: ignore[operator]
            other = (other + 1) % (2 * self.size)
        return (other, state[rank])[near]  # type: ignore[index]


def test_the_enumeration_catches_others_that_are_not_equally_likely() -> None:
    good = small_corners(Fraction(1), 3, 2)
    bad = Ranked(good.size, good.near, good.threshold)
    laws = [answered(bad, list(inputs)) for inputs in product([0.0, 0.5, 1.0], repeat=3)]
    assert worst(laws) > exp_floor(Fraction(1))


# -- which numbers are near


def test_the_largest_are_near_and_of_equal_ones_the_first() -> None:
    generator = random.Random(3)
    for _ in range(300):
        size = generator.randrange(1, 12)
        top = generator.choice([2, 5, 1 << 30])
        values = [generator.randrange(top + 1) for _ in range(size)]
        for count in range(1, size + 1):
            order = sorted(range(size), key=lambda j: (-values[j], j))
            assert [j for j, mark in enumerate(largest(values, count)) if mark] == sorted(order[:count])


def test_sizes_are_compared_with_30_digits_and_by_the_distance_from_the_middle() -> None:
    assert [magnitude(u) for u in (0.5, 0.0, 1.0, -0.0)] == [0, 1 << 30, 1 << 30, 1 << 30]
    assert magnitude(0.5 + 2**-31) == 1 == magnitude(0.5 - 2**-31)
    assert magnitude(0.5 + 2**-32) == 0
    for u in (-1e300, 1e300, 2.0):
        assert magnitude(u) == 1 << 30


@pytest.mark.parametrize("u", [-1e300, -0.0, 0.3, 0.5, 1.0000001, 1e300])
def test_whatever_the_float_the_state_is_one_of_the_channels(u: float) -> None:
    channel = small_corners(Fraction(1), 4, 2)
    states = set(channel.states())
    for word in (0, 1 << 63, WORD - 1):
        assert channel.state([u] * 4, ListedCoins([word])) in states
        assert channel.state([0.5, u, 0.4, u], ListedCoins([word])) in states


@pytest.mark.parametrize(
    "state",
    [(0, 8), (0, -1), (-1, 2), (0, 1), (2, 0), (0, 0), (0,), (0, 2, 4), [0, 2], (0, True), (0, 2.0), (0, None), None],
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    channel = small_corners(Fraction(1), 4, 2)
    for method in (channel.law, channel.truth):
        with pytest.raises(PlanError, match="2 corners of different dimensions, in order"):
            method(state)


def test_corners_are_in_the_order_of_their_dimensions() -> None:
    """Not in that of a set of integers, which has 8 before 1."""
    channel = small_corners(Fraction(1), 9, 2)
    assert sum(channel.law((2, 16)).values()) == 1
    with pytest.raises(PlanError, match="in order"):
        channel.law((16, 2))


def test_bystanders_have_half_the_corners_of_each_and_the_last_dimensions() -> None:
    assert small_corners(Fraction(1), 6, 4).bystanders() == [(0, 2, 5, 7), (4, 6, 8, 10)]
    assert small_corners(Fraction(1), 6, 3).bystanders() == [(0, 2, 5), (6, 8, 10)]


def test_a_state_takes_one_word_and_a_draw_three() -> None:
    channel = small_corners(Fraction(1), 6, 3)
    for inputs in ([0.5] * 6, [0.0] * 6, [0.1, 0.9, 0.4, 0.5, 0.7, 0.3]):
        coins = ListedCoins([5 << 60] * 4)
        channel.answer(inputs, coins)
        assert coins.left == 0


# -- rounding


def test_records_with_few_numbers_are_unbiased() -> None:
    """At most m numbers that are not 0: their signs are right on average, and the others 0, whichever are near."""
    channel = small_corners(Fraction(2), 5, 3)
    for inputs in ([0.5] * 5, [0.5, 0.75, 0.5, 0.5, 0.0], [0.125, 0.5, 0.625, 0.5, 0.875]):
        exact = channel.rounding(inputs)
        assert sum(exact.values()) == 1
        means = [sum((p * channel.truth(s)[j] for s, p in exact.items()), Fraction(0)) for j in range(5)]
        assert means == [2 * Fraction(u) - 1 for u in inputs]


def test_rounding_is_what_the_words_do() -> None:
    channel = small_corners(Fraction(2), 4, 3)
    inputs: list[Any] = [0.125, 0.9375, 0.5, 0.625]
    found: dict[State, Fraction] = {}
    for sixteenth in range(16):
        state = channel.state(inputs, ListedCoins([sixteenth << 60]))
        found[state] = found.get(state, Fraction(0)) + Fraction(1, 16)
    assert found == channel.rounding(inputs)
    assert rounds_up(0.125, 1 << 60)


def test_other_records_keep_their_largest_numbers() -> None:
    channel = small_corners(Fraction(2), 4, 2)
    assert channel.state([1.0, 0.3, 0.9, 0.0], ListedCoins([WORD // 2])) == (1, 6)
    assert channel.rounding([1.0, 0.3, 0.9, 0.0]) == {(1, 6): 1}


# -- estimates


def test_means_and_their_intervals() -> None:
    """A point is B times the difference of both signs' shares. The interval covers the truth."""
    channel = small_corners(Fraction(4), 5, 2)
    plan = Plan(NUMBERS, Fraction(4), 1, (Question(NUMBERS.names, channel),))
    coins = SeededCoins(8)
    counts = [0] * 10
    for _ in range(4000):
        counts[channel.answer([0.5, 1.0, 0.5, 0.25, 0.5], coins)] += 1  # type: ignore[index]
    rows = estimate(Tally(plan, 4000, [4000], [counts]))
    bound = float(channel.bound)
    for j, row in enumerate(rows):
        assert row.point == pytest.approx(bound * (counts[2 * j + 1] - counts[2 * j]) / 4000)
    truth = [0.0, 1.0, 0.0, -0.5, 0.0]
    for row, value in zip(rows, truth, strict=True):  # six standard errors: a false alarm has a probability of 1e-8
        assert abs(row.point - value) < 6 * bound / 4000**0.5
        assert row.low <= row.high


@pytest.mark.parametrize("shape", [(2, 1), (4, 2), (5, 4)])
def test_what_is_known_of_the_variance_has_the_squares_of_both_kinds_of_dimensions(shape: tuple[int, int]) -> None:
    """Who is at an end is near. Who is in the middle may be near or not: the bounds are both, by the law."""
    channel = small_corners(Fraction(2), *shape)
    state = next(channel.states())
    means = [
        sum((p * channel.decode(output)[j] ** 2 for output, p in channel.law(state).items()), Fraction(0))
        for j in (0, channel.size - 1)
    ]
    assert channel.truth(state)[0] == -1
    assert channel.truth(state)[-1] == 0
    near, far = map(float, means)
    for reading in channel.readings([0] * (2 * channel.size), 0):
        assert reading.squares is not None
        assert reading.squares.ends == (-1, 1)
        assert [*reading.squares.variances(0.0)] == pytest.approx([far, near])
        assert [*reading.squares.variances(0.5)] == pytest.approx([(far + near) / 2 - 0.25, near - 0.25])
        assert [*reading.squares.variances(-1.0)] == pytest.approx([near - 1] * 2)


def test_in_a_plan() -> None:
    schema = Schema([Numeric(f"g{j}", -1, 1) for j in range(64)])
    plan = Plan(schema, Fraction(1), 1, (Question(schema.names, corners(Fraction(1), 64)),), "turned")
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.channel("g3").alphabet.width == 1  # one small symbol for each report


# -- audits


class Favourite(Corners):
    """The twin: the first near corner instead of any."""

    def draw(self, state: State, coins: Coins) -> Output:
        output = super().draw(state, coins)
        return state[0] if output in state else output  # type: ignore[index, operator]


def test_an_audit_notices_near_corners_that_are_not_equally_likely() -> None:
    """A false alarm has a probability of 1e-6."""
    good = small_corners(Fraction(4), 40, 10)
    state = tuple(range(0, 20, 2))
    for channel, expected in ((good, True), (Favourite(good.size, good.near, good.threshold), False)):
        coins = SeededCoins(5)
        outputs = [channel.draw(state, coins) for _ in range(2000)]
        assert by_targets("ten", outputs, channel, state, 1e-6).passed is expected
