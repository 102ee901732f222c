"""What a relay's own reports add on average is subtracted from sums, and intervals know that they were there.

Coverage: 500 tallies from a fixed seed. 99 % is stated, and the test asks for 96 %: a false alarm has a probability
below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hush
from hush.core.blanket import blanket_of
from hush.device.randomise import randomise_from
from hush.errors import TallyError
from hush.server.intervals import Ratio, Sample, bounds, people_of
from hush.server.own import among, expected, rounded
from hush.server.sources import sources
from hush.server.tally import with_own
from hush.testing import SeededCoins

PLAN = hush.design(hush.Schema([hush.Categorical("c", ["a", "b", "c", "d"])]), 4.0)
SHARES = (0.5, 0.3, 0.2, 0.0)
PEOPLE, OWN, TRIALS = 400, 200, 500


def counted(generator: np.random.Generator, people: int, own: int) -> list[int]:
    """The counts of people and own reports, from the tables of the channel."""
    channel = PLAN.questions[0].channel
    found = np.zeros(4, dtype=int)
    for category, number in enumerate(generator.multinomial(people, SHARES)):
        found += generator.multinomial(number, [float(chance) for chance in channel.chances(category)])
    law = blanket_of(PLAN).channels[0].chances
    found += generator.multinomial(own, [float(chance) for chance in law])
    return [int(count) for count in found]


def coverage(widens: bool) -> float:
    """The share of intervals of one category that contain its truth."""
    generator, hits = np.random.default_rng(3), 0
    for _ in range(TRIALS):
        whole = hush.Tally(PLAN, 500, [500], [counted(generator, 100, 400)])
        row = hush.estimate(with_own(whole, 400), level=0.99, refuse=False)[2]
        low, high = row.low, row.high
        if not widens:  # as if the own reports were always as many and alike: the variance of 100 people alone
            sample = sources(PLAN, with_own(whole, 400))[2].pooled()
            assert isinstance(sample, Sample)
            low, high = bounds(replace(sample, own=None), 0.99)
        hits += low <= SHARES[2] <= high
    return hits / TRIALS


def test_intervals_cover_the_truth() -> None:
    assert coverage(widens=True) >= 0.96


def test_intervals_that_forget_the_own_reports_are_caught() -> None:
    assert coverage(widens=False) < 0.9


def test_estimates_are_right_on_average() -> None:
    """The average of 500 points is within six of its standard errors."""
    generator = np.random.default_rng(5)
    points, raw = [], []
    for _ in range(TRIALS):
        whole = hush.Tally(PLAN, PEOPLE + OWN, [PEOPLE + OWN], [counted(generator, PEOPLE, OWN)])
        points.append([row.point for row in hush.estimate(with_own(whole, OWN))])
        raw.append([row.point for row in hush.estimate(whole)])
    spread = np.std(points, axis=0) / np.sqrt(TRIALS)
    assert (np.abs(np.mean(points, axis=0) - SHARES)[:3] < 6 * spread[:3]).all()
    assert (np.abs(np.mean(raw, axis=0) - SHARES)[:1] > 6 * spread[:1]).all(), "without the correction they are not"


# -- sums


def sampled(plan: hush.Plan, people: hush.Tally, own: hush.Tally) -> list[Sample | Ratio]:
    """The samples of all targets of people among whom are own reports."""
    return [target.sources[0].sample for target in sources(plan, with_own(people + own, own.reports))]


PLANS: dict[str, Any] = {
    "number": lambda: hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 4.0),
    "optional": lambda: hush.design(hush.Schema([hush.Numeric("x", 0, 1, optional=True)]), 4.0),
    "category": lambda: hush.design(hush.Schema([hush.Categorical("c", list("abc"))]), 4.0),
    "sets": lambda: hush.design(hush.Schema([hush.Categorical("c", list("abcdefghij"))]), 1.0, categorical="oue"),
    "cells": lambda: hush.design(
        hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", list("ab"))]), 4.0, joint=[["x", "c"]]
    ),
    "signs": lambda: hush.design(
        hush.Schema([hush.Numeric("x", 0, 1), hush.Numeric("y", 0, 1)]), 2.0, numeric="duchi-multi"
    ),
    "groups": lambda: hush.design(
        hush.Schema([hush.Categorical("c", list("ab")), hush.Numeric("x", 0, 1)]),
        4.0,
        relations=[("x", "c")],
        singles=0.0,
    ),
}
RECORDS = [{"x": 0.2, "y": 0.9, "c": "a"}, {"x": 0.9, "y": 0.4, "c": "b"}, {"x": 0.0, "y": 0.0, "c": "a"}]


@pytest.mark.parametrize("name", PLANS)
def test_what_own_reports_add_on_average_changes_nothing(name: str) -> None:
    """With as many as on average of every kind, the moments are those of people alone."""
    plan, coins = PLANS[name](), SeededCoins(4)
    people = hush.Tally(plan)
    for place in range(300):
        record = {key: RECORDS[place % 3][key] for key in plan.schema.names}
        people.add(randomise_from(coins, plan, record))
    many = [[10**6 * count for count in counts] for counts in people.counts]
    people = hush.Tally(plan, 3 * 10**8, [10**6 * count for count in people.answered], many)
    own = hush.Tally(plan, *expected(plan, 10**10))
    alone = [target.sources[0].sample for target in sources(plan, people)]
    for mixed, plain in zip(sampled(plan, people, own), alone, strict=True):
        assert mixed.own is not None
        parts = [(mixed, plain)]
        if isinstance(mixed, Ratio):
            assert isinstance(plain, Ratio)
            assert mixed.covariance == pytest.approx(plain.covariance, abs=1e-5)
            parts = [(mixed.numerator, plain.numerator), (mixed.denominator, plain.denominator)]
        for one, other in parts:
            assert isinstance(one, Sample)
            assert isinstance(other, Sample)
            assert one.n == pytest.approx(other.n, abs=1)
            assert one.mean == pytest.approx(other.mean, abs=1e-5)
            assert one.variance == pytest.approx(other.variance, abs=1e-5)


@pytest.mark.parametrize("optional", [False, True])
def test_moments_are_those_of_the_reports_that_are_left(optional: bool) -> None:
    """By hand: sums of values, squares and products, minus the known ones, with the variances of the known law."""
    values, presence = (-1.5, 0.25, 2.0), (1.1, 0.9, -0.2)
    people, law, own, loose = (7, 9, 4), (0.5, 0.2, 0.3), 12.5, 0.75
    counts = tuple(k + own * p for k, p in zip(people, law, strict=True))

    def moment(weights: Sequence[float], one: Sequence[float], other: Sequence[float] = (1.0, 1.0, 1.0)) -> float:
        return sum(w * a * b for w, a, b in zip(weights, one, other, strict=True)) / sum(weights)

    def sample(weights: Sequence[float], of: Sequence[float], n: float) -> Sample:
        mean = moment(weights, of)
        spread = (moment(weights, of, of) - mean**2) * (n / (n - 1) if math.isfinite(n) else 1.0)
        return Sample(n, mean, spread, min(of), max(of), False)

    def ratio(weights: Sequence[float], n: float) -> Ratio:
        top, bottom = sample(weights, values, n), sample(weights, presence, n)
        product = moment(weights, values, presence) - top.mean * bottom.mean
        return Ratio(top, bottom, product * (n / (n - 1) if math.isfinite(n) else 1.0))

    make = ratio if optional else (lambda weights, n: sample(weights, values, n))
    found = people_of(make(counts, sum(counts)), make(law, math.inf), own, loose)
    wanted = make(people, 20)
    if optional:
        assert isinstance(found, Ratio)
        assert isinstance(wanted, Ratio)
        assert found.covariance == pytest.approx(wanted.covariance)
        assert (found.numerator.mean, found.denominator.mean) == pytest.approx(
            (wanted.numerator.mean, wanted.denominator.mean)
        )
        x = 0.3
        mixed = [v - x * p for v, p in zip(values, presence, strict=True)]
        mean = moment(law, mixed)
        added = own / 20 * (moment(law, mixed, mixed) - mean**2 + loose * mean**2)
        assert found.added(x) == pytest.approx(added)
        assert found.spread(x) == pytest.approx(wanted.spread(x) + added)
    else:
        assert isinstance(found, Sample)
        assert isinstance(wanted, Sample)
        assert (found.n, found.mean, found.variance) == pytest.approx((20, wanted.mean, wanted.variance))
        mean, x = moment(law, values), 0.3
        added = own / 20 * (moment(law, values, values) - mean**2 + loose * (mean - x) ** 2)
        assert found.added(x) == pytest.approx(added)
        assert found.stderr == pytest.approx(math.sqrt((found.variance + found.added(found.mean)) / 20))


def test_as_many_answers_as_own_ones_say_nothing_of_people() -> None:
    whole = hush.Tally(PLAN, 90, [90], [[30, 20, 20, 20]])
    for row in hush.estimate(with_own(whole, 90)):
        assert (row.answers, row.low, row.high) == (0, 0.0, 1.0)
        assert math.isnan(row.point)
        assert row.needed is not None


# -- where counts would be negative


def test_people_at_an_end_are_there() -> None:
    """Everybody at 0 of 0..10, in 50 batches with 150 own reports each: most cells have less than their average.

    300 tallies. If 94 % of intervals cover, fewer than 255 do with a probability below 1e-6. The average point is
    within six of its standard errors. The twin, which cuts counts that would be negative, is far off.
    """
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 10)]), 4.0)
    (channel,), generator = [question.channel for question in plan.questions], np.random.default_rng(12)
    law = [float(chance) for chance in channel.expected([0.0])]
    blanket = [float(chance) for chance in blanket_of(plan).channels[0].chances]
    points, hits, twins = [], 0, []
    for _ in range(300):
        mine = generator.multinomial(1000, np.array(law) / sum(law))
        counts = mine + generator.multinomial(7500, np.array(blanket) / sum(blanket))
        tally = hush.Tally(plan, 8500, [8500], [counts.tolist()], 7500)
        (row,) = hush.estimate(tally, refuse=False)
        points.append(row.point)
        hits += row.low <= 0.0 <= row.high
        left = np.maximum(counts - 7500 * np.array(blanket), 0)
        left = np.rint(left * 1000 / left.sum()).astype(int)
        (twin,) = hush.estimate(hush.Tally(plan, int(left.sum()), [int(left.sum())], [left.tolist()]), refuse=False)
        twins.append(twin.point)
    spread = np.std(points) / 300**0.5
    assert abs(np.mean(points)) < 6 * spread
    assert hits >= 255
    assert np.mean(twins) > 0.8 > 6 * spread


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_tally_of_any_size_is_read(k: int, epsilon: float) -> None:
    schema = hush.Schema(
        [hush.Numeric("x", 0, 1, optional=True), hush.Categorical("c", list("abcdefg")), hush.Numeric("y", 0, 1)]
    )
    plan, coins = hush.design(schema, epsilon, k=k), SeededCoins(k)
    for people, own in ((0, 3), (1, 2), (5, 40), (50, 10)):
        whole = hush.Tally(plan)
        for _ in range(people):
            whole.add(hush.randomise(plan, {"x": None, "c": "b", "y": 0.3}))
        for _ in range(own):
            whole.add(hush.Report(plan, coins.word().to_bytes(16, "big"), blanket_of(plan).draw(coins)))
        found = with_own(whole, own)
        assert (found.own, found.people, found.reports) == (own, people, people + own)
        for row in hush.estimate(found):
            assert row.low <= row.high
            assert 0 <= row.answers <= people + own


def test_rounding_keeps_the_total() -> None:
    assert rounded([Fraction(5, 2), Fraction(3, 2), Fraction(0)], 4, 10) == [3, 1, 0]
    assert rounded([Fraction(10), Fraction(1), Fraction(1)], 6, 4) == [4, 1, 1]
    assert rounded([Fraction(0)], 0, 3) == [0]


def test_a_clip_is_where_people_are() -> None:
    """Own reports of a ladder are all over the range. They are a part of the law, and move no clip."""
    plan, coins = hush.design(hush.Schema([hush.Numeric("x", 0, 1e6, scale="log", unit=100)]), 4.0), SeededCoins(1)
    whole = hush.Tally(plan)
    whole.update(randomise_from(coins, plan, {"x": 500.0}) for _ in range(300))
    for _ in range(300):
        whole.add(hush.Report(plan, coins.word().to_bytes(16, "big"), blanket_of(plan).draw(coins)))
    row, wide = hush.estimate(with_own(whole, 300))[0], hush.estimate(whole, refuse=False)[0]
    assert row.ceiling is not None
    assert wide.ceiling is not None
    assert wide.ceiling > row.ceiling, "this is the case that is meant"
    assert 0 <= row.low <= row.point <= row.high <= row.ceiling
    assert row.low <= 500 <= row.high


# -- a tally


def people_and_whole(seed: int, people: int = 60, own: int = 90) -> tuple[hush.Tally, hush.Tally]:
    counts = counted(np.random.default_rng(seed), people, own)
    whole = hush.Tally(PLAN, people + own, [people + own], [counts])
    return with_own(whole, own), whole


def test_a_sum_of_tallies_knows_of_the_own_reports() -> None:
    """Otherwise its intervals would forget them. All ways to add give the same."""
    (one, first), (two, second) = people_and_whole(1), people_and_whole(2)
    plain = hush.Tally(PLAN)
    plain.add(report := hush.randomise(PLAN, {"c": "a"}))
    third = first + second + plain
    updated, added = one + two, one + two
    updated.update([report])
    added.add(report)
    for found in (
        one + two + plain,
        plain + two + one,
        sum([plain, one, two]),
        updated,
        added,
        (one + two + plain).copy(),
    ):
        assert isinstance(found, hush.Tally)
        assert (found.own, found.people, found.counts) == (180, 121, third.counts)
        assert found == with_own(third, 180) != third
        assert hush.estimate(found) == hush.estimate(with_own(third, 180))
    assert one == with_own(first, 90), "sums change nothing"
    assert "90 of them a relay's own" in repr(one)
    with pytest.raises(TallyError, match="different plans"):
        one + hush.Tally(hush.design(PLAN.schema, 1.0))


def test_a_file_of_a_tally_knows_of_the_own_reports() -> None:
    tally, whole = people_and_whole(3)
    for found in (
        hush.Tally.from_json(tally.to_json()),
        hush.Tally.from_json(tally.to_json(), PLAN),
        hush.Tally.decode(PLAN, tally.encode()),
    ):
        assert (found, found.own, found.people) == (tally, 90, 60)
        assert hush.estimate(found) == hush.estimate(tally)
    for own in ("0", "151", "true", "null", '"1"', "1.0"):
        with pytest.raises(TallyError):
            hush.Tally.from_json(tally.to_json().replace('"own":90', f'"own":{own}'))
    for end in (b"\0", b"\x97\x01", b"\x5a\0", b"\x80"):
        with pytest.raises(TallyError):
            hush.Tally.decode(PLAN, whole.encode() + end)


def test_own_reports_among_the_answers_are_known() -> None:
    tally, whole = people_and_whole(3)
    assert whole.among(0) is None
    assert tally.among(0) == among(PLAN, 0, 90) is not None
    assert (tally.answers(0), whole.answers(0)) == (60, 150)
    few = with_own(whole, 150)
    assert (few.answers(0), few.people) == (0, 0)


def test_only_tallies_are_added_to_one_of_people() -> None:
    tally, _ = people_and_whole(3)
    for other in (5, None, "tally"):
        with pytest.raises(TypeError):
            tally + other  # type: ignore[operator]


def test_bad_numbers_are_refused() -> None:
    tally = hush.Tally(PLAN)
    assert with_own(tally, 0) == tally
    for own in (-1, 1, True):
        with pytest.raises(TallyError, match="own reports must be"):
            with_own(tally, own)


def test_a_plan_from_whose_blanket_nobody_can_draw_has_no_own_reports() -> None:
    plan = hush.design(hush.Schema([hush.Categorical("c", hush.Listed([f"page {i}" for i in range(9000)]))]), 2.0)
    with pytest.raises(TallyError, match="no relay has reports of its own for this plan"):
        hush.Tally(plan, 5, [5], own=2)
