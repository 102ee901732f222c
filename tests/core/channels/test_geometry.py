"""The geometry channel: every path of the sampler, the formulas of its docstring, and its reading."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest

from hush.core.channels import Coins, Geometry, Output, State, from_json
from hush.core.channels.fields import MAX_ORDER, MAX_POWER, field, power_of
from hush.core.channels.geometry import MAX_POINTS, geometries, points_of
from hush.core.channels.hyperplanes import orthogonal
from hush.core.channels.sparse import Sparse
from hush.core.design.categorical import geometry, subset, total_variance
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.errors import PlanError
from hush.testing import SeededCoins
from tests.cases import branches, exp_floor, largest_ratio, small_geometry

SMALL_FIELDS = [(2, 3), (2, 4), (3, 3), (4, 3), (5, 3), (7, 3), (8, 3), (9, 3), (3, 4)]


# -- fields


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27])
def test_a_field_has_the_laws_of_a_field(q: int) -> None:
    f = field(q)
    plus = [[f.against(a, (1,), (f.against(0, (1,), (b,)),)) for b in range(q)] for a in range(q)]
    times = f.products
    some = range(q) if q < 10 else range(0, q, 3)
    for a in range(q):
        assert plus[a][0] == a == times[a][1]
        assert times[a][0] == 0
        assert sorted(plus[a]) == [*range(q)]
        assert a == 0 or (sorted(times[a]) == [*range(q)] and times[a][f.inverses[a]] == 1)
        for b in some:
            assert plus[a][b] == plus[b][a]
            assert times[a][b] == times[b][a]
            for c in some:
                assert times[a][plus[b][c]] == plus[times[a][b]][times[a][c]]
                assert times[a][times[b][c]] == times[times[a][b]][c]
                assert plus[a][plus[b][c]] == plus[plus[a][b]][c]


def test_polynomials_are_the_first_that_fit() -> None:
    """x^2 = x + 1 of 4 elements, x^3 = x + 1 of 8, x^2 = 2x + 1 of 9: x^2 + x + 2 is the first with x a generator."""
    assert field(4).products[2][2] == 3
    assert field(8).products[2][4] == 3
    assert field(9).products[3][3] == 7


@pytest.mark.parametrize("q", [0, 1, 6, 10, 12, 15, MAX_POWER * 2, 169, MAX_ORDER + 6])
def test_there_is_no_other_field(q: int) -> None:
    with pytest.raises(ValueError, match="no such field"):
        field(q)


def test_powers_of_primes_are_found() -> None:
    assert [q for q in range(2, 33) if power_of(q)] == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]


# -- the sampler


@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(3)])
@pytest.mark.parametrize(("q", "t"), SMALL_FIELDS[:4])
def test_the_sampler_has_the_law_exactly(q: int, t: int, epsilon: Fraction) -> None:
    channel = small_geometry(epsilon, points_of(q, t), q, t)
    for state in channel.states():
        assert branches(lambda coins, state=state: channel.draw(state, coins)) == channel.law(state)  # type: ignore[misc]


@pytest.mark.parametrize(("q", "t"), SMALL_FIELDS)
def test_no_report_is_likelier_than_epsilon_allows_through_the_sampler(q: int, t: int) -> None:
    """Every path of the sampler is followed, for categories with all positions of the highest digit."""
    epsilon = Fraction(2)
    channel = small_geometry(epsilon, points_of(q, t), q, t)
    states = {0, 1, 2, q, q + 1, q + 2, channel.size // 2, channel.size - 1}
    laws = [branches(lambda coins, state=state: channel.draw(state, coins)) for state in sorted(states)]  # type: ignore[misc]
    worst = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in range(channel.points))
    assert worst == channel.ratio <= exp_floor(epsilon)
    assert all(law.keys() == set(range(channel.points)) for law in laws)


class Unscaled(Geometry):
    """The twin: it does not divide by the highest digit, so some points are never drawn and others too often."""

    def draw(self, state: State, coins: Coins) -> Output:
        assert isinstance(state, int)
        meets, near, far = coins.toss(self.threshold), coins.below(self.inside), coins.below(self.outside)
        number = (far, self.numbers.written(near, self.digits - 1)[0])[meets]
        highest = self.numbers.written(state, self.digits)[1]
        high, low = divmod(number, self.numbers.powers[self.digits - 1 - highest])
        return (high * self.numbers.powers[self.digits - highest] + low) % self.points


def test_a_broken_sampler_is_caught() -> None:
    channel = Unscaled(13, 3, 3, small_geometry(Fraction(2), 13, 3, 3).threshold)
    laws = [branches(lambda coins, state=state: channel.draw(state, coins)) for state in channel.states()]  # type: ignore[misc]
    assert any(law != channel.law(state) for state, law in enumerate(laws))
    assert len({frozenset(law) for law in laws}) > 1  # some reports are possible for some categories only


@pytest.mark.parametrize(("q", "t"), SMALL_FIELDS)
def test_the_ratio_is_that_of_the_laws(q: int, t: int) -> None:
    channel = small_geometry(Fraction(1), points_of(q, t - 1) + 1, q, t)
    assert largest_ratio(channel, [*channel.states()][:30]) == channel.ratio


def test_the_ratio_is_below_e_to_the_epsilon_for_every_geometry() -> None:
    """By the formula, for all orders and digits that a plan may have; one more in the threshold would be too much."""
    count = 0
    for epsilon in map(Fraction, ("0.01", "1", "16")):
        for size in (5, 20, 100, 1000, 5000, 10**5, 10**6, 4 * 10**6):
            for q, t in geometries(size):
                channel = small_geometry(epsilon, size, q, t)
                more = Fraction(
                    (channel.threshold + 1) * channel.outside, (WORD - channel.threshold - 1) * channel.inside
                )
                assert channel.ratio <= exp_floor(epsilon) < more
                count += 1
    assert count > 2000


def test_points_are_numbered_as_the_docstring_says() -> None:
    channel = small_geometry(Fraction(1), 13, 3, 3)
    vectors = [channel.vector(point) for point in range(13)]
    assert vectors[:5] == [[1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0], [0, 0, 1]]
    assert vectors[-1] == [2, 2, 1]
    assert len({*map(tuple, vectors)}) == 13


def test_any_two_categories_share_equally_many_points() -> None:
    for q, t in SMALL_FIELDS[:6]:
        channel = small_geometry(Fraction(1), points_of(q, t), q, t)
        inside = channel.p / channel.inside
        likely = [{y for y, chance in channel.law(x).items() if chance == inside} for x in range(min(12, channel.size))]
        assert {len(one) for one in likely} == {points_of(q, t - 1)}
        assert {len(one & other) for one, other in combinations(likely, 2)} == {points_of(q, t - 2)}


# -- how good it is


def best_subset(epsilon: Fraction, size: int) -> Fraction:
    """The total variance of the best subset channel, of any size: the formulas of its docstring."""
    found = []
    ideal = int(size / (float(exp_bounds(epsilon)[0]) + 1))
    for w in {max(1, ideal), max(1, ideal) + 1}:
        p = Fraction(largest_threshold(exp_bounds(epsilon)[0], w, size - w), WORD)
        q = (p * (w - 1) + (1 - p) * w) / (size - 1)
        found.append((p * (1 - p) + (size - 1) * q * (1 - q)) / (p - q) ** 2)
    return min(found)


@pytest.mark.parametrize("size", [1000, 4096, 4097, 10_000, 54_321, 100_000, 1_000_000])
@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "1.5", "2", "3", "4"])
def test_its_variance_is_at_most_a_twentieth_above_the_best(size: int, epsilon: str) -> None:
    channel = geometry(Fraction(epsilon), size)
    assert channel.size == size <= channel.points <= MAX_POINTS
    assert 1 - Fraction(1, 10**6) < total_variance(channel) / best_subset(Fraction(epsilon), size) < Fraction(105, 100)


def test_the_formula_for_subsets_is_that_of_the_channel() -> None:
    for epsilon, size in product((Fraction(1), Fraction(4)), (100, 4000)):
        assert best_subset(epsilon, size) == total_variance(subset(epsilon, size))


# -- the reading


@pytest.mark.parametrize(("q", "t"), [*SMALL_FIELDS, (2, 7), (4, 4), (5, 4), (67, 3)])
def test_totals_are_those_of_the_definition(q: int, t: int) -> None:
    random = Random(q * t)
    channel = small_geometry(Fraction(1), points_of(q, t), q, t)
    counts = [random.choice((0, 0, 1, 7)) for _ in range(channel.points)]
    found = orthogonal(counts, q, t)
    vectors = [channel.vector(point) for point in range(channel.points)]
    for category in random.sample(range(channel.size), min(channel.size, 40)):
        other = vectors[category][::-1]
        expected = sum(
            n for n, vector in zip(counts, vectors, strict=True) if channel.field.against(0, vector, other) == 0
        )
        assert found[category] == expected


def test_totals_of_many_reports_do_not_overflow() -> None:
    for most in ((1 << 32) - 1, 1 << 32, (1 << 62) // 7):
        counts = [most // 7] * 7
        assert list(orthogonal(counts, 2, 3)) == [most // 7 * 3] * 7


def test_readings_are_the_decoded_reports() -> None:
    channel = small_geometry(Fraction(1), 20, 4, 3)
    coins = SeededCoins(4)
    outputs = [channel.draw(state % 20, coins) for state in range(200)]
    counts = [outputs.count(y) for y in range(channel.points)]
    for category, reading in enumerate(channel.readings(counts, 200)):
        average = sum(channel.decode(output)[category] for output in outputs) / 200
        mean = sum(n * value for n, value in zip(reading.counts, reading.values, strict=True)) / 200
        assert mean == pytest.approx(float(average), abs=1e-12)


@pytest.mark.parametrize("met", [0, 8, 9])
def test_few_reports_are_read_one_by_one(met: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten answers to a long list at epsilon 16 took half a minute: a transform of four million points."""
    channel, random = small_geometry(Fraction(1), 30, 16, 3), Random(met)
    transformed: list[int] = []
    counts = Sparse(channel.points, [(point, random.choice((1, 5))) for point in random.sample(range(273), met)])
    expected = orthogonal(counts.dense(), 16, 3)[:30]

    def noted(histogram: Sequence[int], order: int, digits: int) -> Sequence[int]:
        transformed.append(order)
        return orthogonal(histogram, order, digits)

    monkeypatch.setattr("hush.core.channels.geometry.orthogonal", noted)
    assert list(channel.totals(counts)) == list(expected)
    assert len(transformed) == ((met + 1) * 30 > channel.points)


def test_a_hundred_thousand_categories_are_read_in_seconds() -> None:
    """The work is the number of points times q times t; a loop over all pairs would take a day."""
    channel = geometry(Fraction(2), 100_000)
    counts = [0] * channel.points
    coins = SeededCoins(8)
    held = 77_777
    for _ in range(200):
        output = channel.draw(held, coins)
        assert isinstance(output, int)
        counts[output] += 1
    start = time.process_time()
    totals = channel.totals(counts)
    assert time.process_time() - start < 20
    assert max(totals) == totals[held]


# -- hostile plans


def test_a_hostile_channel_is_refused_at_once() -> None:
    """Before anything is made that grows with the numbers."""
    good = small_geometry(Fraction(1), 13, 3, 3).to_json()
    start = time.process_time()
    for change in (
        {"order": 10**9},
        {"digits": 10**9},
        {"order": 2039, "digits": 22, "size": 4 * 10**6},
        {"order": 2, "digits": 23, "size": 8 * 10**6},
        {"size": 10**12},
        {"threshold": str(WORD)},
    ):
        with pytest.raises(PlanError):
            from_json(json.loads(json.dumps(good | change)))
    assert time.process_time() - start < 1
