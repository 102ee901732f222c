"""A category with a number: its sampler, its moments, its bounds, all enumerated in Fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hush.core.channels import Cells, Channel, Output, Reading, Rows, Summed
from hush.core.channels.base import Coins as ChannelCoins
from hush.core.design import groups
from hush.core.exact import WORD
from hush.testing import ListedCoins, SeededCoins
from tests.cases import SMALL, branches, small_cells, small_rows

ROWS = [name for name in SMALL if name.startswith("rows")]
SETS = [name for name in SMALL if name.startswith("cells-sets")]
BOTH = [*ROWS, *SETS]
EPSILONS = [Fraction("0.5"), Fraction(3)]


def rows_of(name: str, epsilon: Fraction) -> Rows:
    channel = SMALL[name](epsilon)
    assert isinstance(channel, Rows)
    return channel


# -- the draw


@pytest.mark.parametrize("shape", [(2, 1, 2, 1), (2, 1, 3, 2), (3, 1, 4, 1), (3, 2, 3, 1), (4, 2, 3, 2), (4, 3, 2, 1)])
@pytest.mark.parametrize("optional", [False, True])
def test_the_sampler_has_the_law_exactly(shape: tuple[int, int, int, int], optional: bool) -> None:
    """Every path is followed, from every state of one row and from one state of every other."""
    channel = small_rows(Fraction(2), *shape, optional)
    for state in channel.states():
        assert isinstance(state, tuple)
        row, start = state
        if row == 1 or start == 0:
            assert branches(lambda coins, state=state: channel.draw(state, coins)) == channel.law(state)  # type: ignore[misc]


class Careless(Rows):
    """Its cell beside the window may lie in the window after all."""

    def draw(self, state: Any, coins: ChannelCoins) -> Output:
        row, start = state
        return super().draw((row, min(start + 1, self.last)), coins)


def test_a_sampler_that_is_off_by_one_is_noticed() -> None:
    good = small_rows(Fraction(2), 3, 2, 3, 1)
    bad = Careless(good.rows, good.weight, good.size, good.width, good.threshold)
    assert branches(lambda coins: bad.draw((1, 0), coins)) != bad.law((1, 0))
    assert branches(lambda coins: good.draw((1, 0), coins)) == bad.law((1, 0))


@pytest.mark.parametrize("name", ROWS)
def test_all_states_take_the_same_words(name: str) -> None:
    channel = rows_of(name, Fraction(1))
    words = [0, WORD - 1, WORD // 3] * 9
    left = set()
    for state in channel.states():
        coins = ListedCoins(words)
        channel.draw(state, coins)
        left.add(coins.left)
    for u in [0.0, 0.4, 1.0] + [None] * channel.optional:
        for row in (0, channel.rows - 1):
            coins = ListedCoins(words)
            channel.state([row, u], coins)
            assert coins.left == len(words) - 1
    assert len(left) == 1


def test_rounding_is_known_exactly() -> None:
    for channel in (small_rows(Fraction(1), 3, 1, 5, 2), small_rows(Fraction(1), 3, 2, 4, 2, True, (-10, -9, 9, 10))):
        n = 512
        words = [(2 * i + 1) * WORD // (2 * n) for i in range(n)]
        for u in (0.0, 0.3, 0.5, 0.97, 1.0):
            exact = channel.rounding([2, u])
            assert sum(exact.values()) == 1
            found = [channel.state([2, u], ListedCoins([word])) for word in words]
            assert set(found) <= set(exact)
            for state, chance in exact.items():
                assert abs(Fraction(found.count(state), n) - chance) <= Fraction(2, n)
            mean = sum((chance * channel.truth(state)[3 + 2] for state, chance in exact.items()), Fraction(0))
            assert abs(mean - (2 * Fraction(u) - 1)) < Fraction(1, 1 << 50)
    assert channel.rounding([2, None]) == {(2, None): 1}
    assert channel.state([2, None], ListedCoins([5])) == (2, None)


def test_whatever_the_float_the_state_is_one_of_the_channels() -> None:
    for name in ROWS:
        channel = rows_of(name, Fraction(1))
        states = set(channel.states())
        for u in (-1e300, -1.0, -0.0, 5e-324, 0.5, 1.0, 2.0, 1e300, math.nan):
            for word in (0, 1 << 63, WORD - 1):
                assert channel.state([1, u], ListedCoins([word])) in states


# -- moments


def people_of(channel: Channel) -> list[dict[Any, Fraction]]:
    """Crowds: everybody in one state, and mixtures of the first, the last and a middle one."""
    states = [*channel.states()]
    few = [states[0], states[len(states) // 2], states[-1]]
    mixed = [dict(zip(few, shares, strict=True)) for shares in ([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)],)]
    return [{state: Fraction(1)} for state in few] + mixed


def law_of(channel: Channel, people: Mapping[Any, Fraction]) -> dict[Output, Fraction]:
    law: dict[Output, Fraction] = {}
    for state, share in people.items():
        for output, chance in channel.law(state).items():
            law[output] = law.get(output, Fraction(0)) + share * chance
    return law


def counted(channel: Channel, law: Mapping[Output, Fraction]) -> tuple[int, list[int]]:
    """Counts in proportion to a law, exactly."""
    n = math.lcm(*(chance.denominator for chance in law.values()))
    counts = [0] * channel.alphabet.size
    for output, chance in law.items():
        for member in (output,) if isinstance(output, int) else output:
            counts[member] += int(chance * n)
    return n, counts


def pairs_of(channel: Channel, index: int, output: Output) -> tuple[Fraction, Fraction]:
    """The value and the presence of an output for the reading at this index; presence is 1 for plain means."""
    decoded = channel.decode(output)
    if isinstance(channel, Cells) or index < channel.rows:  # type: ignore[attr-defined]
        return decoded[index], Fraction(1)
    assert isinstance(channel, Rows)
    total = sum(decoded[channel.rows : 2 * channel.rows], Fraction(0))
    here = sum(decoded[2 * channel.rows :], Fraction(0)) if channel.optional else Fraction(1)
    return (total, here) if index == channel.rows else (1 - here, Fraction(1))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BOTH)
def test_sums_have_the_moments_of_what_is_reported(name: str, epsilon: Fraction) -> None:
    """From counts of members alone: the averages of value, presence, their squares and product over whole reports."""
    channel = SMALL[name](epsilon)
    for people in people_of(channel):
        law = law_of(channel, people)
        readings = channel.readings(*reversed(counted(channel, law)))  # type: ignore[arg-type]
        summed = 0
        for index, reading in enumerate(readings):
            if isinstance(reading, Reading):
                continue
            summed += 1
            found = [(chance, *pairs_of(channel, index, output)) for output, chance in law.items()]
            exact = [
                sum((chance * value for chance, value, _ in found), Fraction(0)),
                sum((chance * value**2 for chance, value, _ in found), Fraction(0)),
            ]
            assert [reading.mean, reading.square] == pytest.approx([*map(float, exact)], abs=1e-9)
            values = [float(value) for _, value, _ in found]
            assert [reading.smallest, reading.largest] == pytest.approx([min(values), max(values)])
            if reading.presence is None:
                continue
            here = reading.presence
            exact = [
                sum((chance * present for chance, _, present in found), Fraction(0)),
                sum((chance * present**2 for chance, _, present in found), Fraction(0)),
                sum((chance * value * present for chance, value, present in found), Fraction(0)),
            ]
            assert [here.mean, here.square, here.product] == pytest.approx([*map(float, exact)], abs=1e-9)
            presences = [float(present) for _, _, present in found]
            assert [here.smallest, here.largest] == pytest.approx([min(presences), max(presences)])
        assert summed == (len(readings) if isinstance(channel, Cells) else 1 + channel.optional)  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BOTH)
def test_no_population_leaves_the_bounds_of_the_variance(name: str, epsilon: Fraction) -> None:
    """Of value - x*presence, if x is the true mean (of the present); the bounds are attained."""
    channel = SMALL[name](epsilon)
    touched = 0
    empty = channel.readings([0] * channel.alphabet.size, 0)
    states = [*channel.states()]
    decoded = [{y: pairs_of(channel, i, y) for y in channel.law(states[0])} for i in range(len(empty))]
    for one, other in product(states[:: max(1, len(states) // 4)], repeat=2):
        people = dict.fromkeys((one, other), Fraction(0))
        people[one] += Fraction(1, 3)
        people[other] += Fraction(2, 3)
        law = law_of(channel, people)
        for index, reading in enumerate(empty):
            if isinstance(reading, Reading):
                continue
            found = [(chance, *decoded[index][output]) for output, chance in law.items()]
            top, bottom = (sum((row[0] * row[i] for row in found), Fraction(0)) for i in (1, 2))
            if not bottom:  # nobody is present
                continue
            x = top / bottom
            variance = float(sum((p * (value - x * here) ** 2 for p, value, here in found), Fraction(0)))
            least, most = reading.squares.variances(float(x))
            assert least - 1e-9 <= variance <= most + 1e-9
            touched += min(variance - least, most - variance) <= 1e-9
    assert touched


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ROWS)
def test_the_variance_is_that_of_the_sum_over_all_rows(name: str, epsilon: Fraction) -> None:
    channel = rows_of(name, epsilon)
    worst = Fraction(0)
    for state in channel.states():
        assert isinstance(state, tuple)
        row, start = state
        if start is None:
            continue
        t = channel.truth(state)[channel.rows + row]
        law = channel.law(state).items()
        spread = sum((p * (pairs_of(channel, channel.rows, y)[0] - t) ** 2 for y, p in law), Fraction(0))
        assert spread == channel.variance(t)
        worst = max(worst, spread)
    assert worst <= channel.worst_variance
    for extreme in (-1, 0, Fraction(1, 3), 1):
        assert channel.variance(extreme) <= channel.worst_variance


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BOTH)
def test_chances_are_those_of_the_law(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    for state in channel.states():
        assert channel.chances(state) == Channel.chances(channel, state)
    if isinstance(channel, Rows):
        inputs: list[list[Any]] = [[1, 0.3], [0, 1.0], *[[1, None]] * channel.optional]
    else:
        assert isinstance(channel, Cells)
        inputs = [[0.3 if size is None else 1 for size in channel.sizes]]
    for each in inputs:
        law = law_of(channel, channel.rounding(each))
        members = [(y, p) for output, p in law.items() for y in ((output,) if isinstance(output, int) else output)]
        exact = [sum((p for y, p in members if y == cell), Fraction(0)) for cell in range(channel.alphabet.size)]
        assert channel.expected(each) == exact


# -- groups


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ROWS)
def test_means_of_groups_are_those_of_their_people(name: str, epsilon: Fraction) -> None:
    """Averages of value and presence, exactly; and no population leaves the bounds of the variance."""
    channel = rows_of(name, epsilon)
    last = channel.rows - 1
    crowds: list[dict[Any, Fraction]] = [
        {(0, 0): Fraction(1, 2), (0, channel.last): Fraction(1, 6), (last, channel.last): Fraction(1, 3)},
        {(0, channel.last): Fraction(1, 10), (last, 0): Fraction(9, 10)},
        {(0, 0): Fraction(1)},
    ]
    if channel.optional:
        crowds.append({(0, None): Fraction(1, 4), (0, 0): Fraction(1, 4), (last, None): Fraction(1, 2)})
    for people in crowds:
        law = law_of(channel, people)
        n, counts = counted(channel, law)
        readings = channel.groups(counts, n)
        assert len(readings) == channel.rows
        for j, reading in enumerate(readings):
            assert (reading.attribute, reading.symbol, sum(reading.counts)) == (1, None, n)
            assert reading.presence is not None
            top = sum((share * channel.truth(state)[channel.rows + j] for state, share in people.items()), Fraction(0))
            here = sum((share for (row, start), share in people.items() if row == j and start is not None), Fraction(0))
            rows = [*zip(reading.counts, reading.values, reading.presence, strict=True)]
            assert math.fsum(count / n * value for count, value, _ in rows) == pytest.approx(float(top), abs=1e-9)
            assert math.fsum(count / n * g for count, _, g in rows) == pytest.approx(float(here), abs=1e-9)
            if here:
                x = float(top / here)
                variance = math.fsum(count / n * (value - x * g) ** 2 for count, value, g in rows)
                assert reading.squares is not None
                least, most = reading.squares.variances(x)
                assert least - 1e-9 <= variance <= most + 1e-9


def test_presence_solves_its_three_equations() -> None:
    for name in ROWS:
        channel = rows_of(name, Fraction(2))
        if not channel.optional:
            assert channel.presences == channel.memberships
            continue
        for state in channel.states():
            here = channel.truth(state)[2 * channel.rows :]
            assert sum(here) == (state[1] is not None)  # type: ignore[index]


# -- designs


@pytest.mark.parametrize("count", [2, 3, 5, 12, 40])
@pytest.mark.parametrize("optional", [False, True])
def test_designs_are_no_worse_than_their_neighbours(count: int, optional: bool) -> None:
    """In the error that they minimise: a weight or width more or less is not better, with levels of its own."""
    epsilon = Fraction(2)
    best = groups.rows(epsilon, count, optional)
    assert best.optional is optional
    assert best.rows == count
    for weight, width in product((best.weight - 1, best.weight, best.weight + 1), (best.width - 1, best.width + 1)):
        if 1 <= weight <= count // 2 and 1 <= width < best.size:
            other = small_rows(epsilon, count, weight, best.size, width, optional)
            assert groups.error(best) <= groups.error(other) * (1 + 1e-9)


def test_errors_are_the_average_variance_of_groups() -> None:
    """Uniform people over states: E[X_j^2] + 1/4 of E[F_j^2], less the squares of their means."""
    channel = small_rows(Fraction(1), 3, 1, 3, 1)
    shares = {start: Fraction(1 + (start == 1), 4) for start in range(3)}  # uniform numbers, rounded to three knots
    people = {(row, start): share / 3 for start, share in shares.items() for row in range(3)}
    law = law_of(channel, people)
    square = sum((p * (channel.decode(y)[3] ** 2 + channel.decode(y)[0] ** 2 / 4) for y, p in law.items()), Fraction(0))
    assert groups.error(channel) == pytest.approx(float(square - Fraction(1, 4 * 9)))


def test_a_draw_at_real_size_is_an_output() -> None:
    coins = SeededCoins(1)
    for channel in (groups.rows(Fraction(1), 40, True), groups.rows(Fraction(1), 9)):
        for row in (0, channel.rows - 1):
            for _ in range(50):
                channel.alphabet.check(channel.answer([row, 0.25], coins))


def test_a_table_of_few_reports_is_read_without_any() -> None:
    for channel in (small_cells(Fraction(1), (2, 3), 2), small_rows(Fraction(1), 3, 1, 3, 1, True)):
        for reading in channel.readings([0] * channel.alphabet.size, 0):
            if isinstance(reading, Summed):
                assert (reading.n, reading.mean, reading.square) == (0, None, None)


# -- what is known before any report


def moments(channel: Rows, state: Any, rows: range) -> tuple[Fraction, Fraction, Fraction]:
    """The averages of value^2, value*presence and presence^2, where both are summed over some rows."""
    value2, product_, presence2 = Fraction(0), Fraction(0), Fraction(0)
    for output, chance in channel.law(state).items():
        decoded = channel.decode(output)
        value = sum((decoded[channel.rows + j] for j in rows), Fraction(0))
        here = sum((decoded[2 * channel.rows * channel.optional + j] for j in rows), Fraction(0))
        value2 += chance * value**2
        product_ += chance * value * here
        presence2 += chance * here**2
    return value2, product_, presence2


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_known_of_the_variance_follows_from_the_law(name: str, epsilon: Fraction) -> None:
    """Of value - t*presence for the mean t of a group, and of all: for present people, missing ones, other groups."""
    channel = rows_of(name, epsilon)
    total = channel.readings([0] * channel.alphabet.size, 0)[channel.rows]
    for squares, rows, elsewhere in (
        (channel.squares, range(1), [(1, 0)]),
        (total.squares, range(channel.rows), []),
    ):
        assert squares is not None
        kinds: list[Any] = elsewhere + [(0, None)] * channel.optional
        found = [moments(channel, state, rows) for state in kinds]
        assert [*squares.absent] == [pytest.approx((float(v2), float(p2))) for v2, _, p2 in found]
        for start in range(channel.last + 1):
            value2, product_, presence2 = moments(channel, (0, start), rows)
            t = channel.truth((0, start))[channel.rows]
            around = float(value2 - 2 * t * product_ + t**2 * presence2)
            assert float(value2) + squares.bend * float(t) ** 2 == pytest.approx(around)


def test_without_reports_the_share_of_missing_is_named_all_the_same() -> None:
    *_, total, missing = small_rows(Fraction(1), 3, 1, 3, 1, True).readings([0] * 12, 0)
    assert isinstance(total, Summed)
    assert isinstance(missing, Summed)
    assert (total.attribute, total.symbol, total.n) == (1, None, 0)
    assert (missing.attribute, missing.symbol, missing.n) == (1, 0, 0)


def test_a_crowd_has_people_of_one_row_of_two_and_missing_ones() -> None:
    plain, optional = (small_rows(Fraction(1), 4, 2, 7, 2, missing) for missing in (False, True))
    assert plain.opposites() == [((0, 0), (0, 5)), ((0, 0), (1, 5))]
    assert optional.opposites() == [*plain.opposites(), ((0, 0), (0, None))]
    assert plain.bystanders() == optional.bystanders() == [(0, 2), (3, 0), (3, 5)]
