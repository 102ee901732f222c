"""A relay's own reports are subtracted from a tally, and intervals know that they were there.

Coverage: 500 tallies from a fixed seed. 99 % is stated, and the test asks for 96 %: a false alarm has a probability
below 1e-6.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hush
from hush.core.blanket import blanket_of
from hush.device.randomise import randomise_from
from hush.errors import TallyError
from hush.server.own import Counted, among, left_over, rounded
from hush.server.tally import among_of, without
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
        found = without(whole, 400)
        tally = found if widens else hush.Tally(PLAN, found.reports, found.answered, found.counts)
        row = hush.estimate(tally, level=0.99)[2]
        hits += row.low <= SHARES[2] <= row.high
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
        points.append([row.point for row in hush.estimate(without(whole, OWN))])
        raw.append([row.point for row in hush.estimate(whole)])
    spread = np.std(points, axis=0) / np.sqrt(TRIALS)
    assert (np.abs(np.mean(points, axis=0) - SHARES)[:3] < 6 * spread[:3]).all()
    assert (np.abs(np.mean(raw, axis=0) - SHARES)[:1] > 6 * spread[:1]).all(), "without the correction they are not"


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_corrected_tally_is_a_valid_one(k: int, epsilon: float) -> None:
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
        found = without(whole, own)
        assert found.own in (own, 0)
        assert found.reports == people or people < 5, "tiny tallies may be corrected for fewer"
        hush.estimate(found)


def test_sets_and_signs_are_corrected_too() -> None:
    for plan in (
        hush.design(hush.Schema([hush.Categorical("c", list("abc"))]), 2.0, categorical="oue"),
        hush.design(hush.Schema([hush.Numeric("x", 0, 1), hush.Numeric("y", 0, 1)]), 2.0, numeric="duchi-multi"),
    ):
        coins, whole = SeededCoins(1), hush.Tally(plan)
        for _ in range(200):
            whole.add(hush.Report(plan, coins.word().to_bytes(16, "big"), blanket_of(plan).draw(coins)))
        assert without(whole, 150).reports == 50


def test_rounding_keeps_the_total() -> None:
    assert rounded([Fraction(5, 2), Fraction(3, 2), Fraction(-1)], 4, 10) == [3, 1, 0]
    assert rounded([Fraction(10), Fraction(1), Fraction(1)], 6, 4) == [4, 1, 1]
    assert rounded([Fraction(0)], 0, 3) == [0]
    with pytest.raises(TallyError, match="too small"):
        rounded([Fraction(-1)], 1, 1)


def test_the_interval_of_a_clipped_mean_stays_within_its_clip() -> None:
    """Own reports of a ladder are all over the range, so the clip of all reports together is another one."""
    plan, coins = hush.design(hush.Schema([hush.Numeric("x", 0, 1e6, scale="log", unit=100)]), 4.0), SeededCoins(1)
    whole = hush.Tally(plan)
    whole.update(randomise_from(coins, plan, {"x": 500.0}) for _ in range(300))
    for _ in range(300):
        whole.add(hush.Report(plan, coins.word().to_bytes(16, "big"), blanket_of(plan).draw(coins)))
    row, wide = hush.estimate(without(whole, 300))[0], hush.estimate(whole)[0]
    assert row.ceiling is not None
    assert wide.ceiling is not None
    assert wide.ceiling > row.ceiling, "this is the case that is meant"
    assert 0 <= row.low <= row.point <= row.high <= row.ceiling


def people_and_whole(seed: int, people: int = 60, own: int = 90) -> tuple[hush.Tally, hush.Tally]:
    counts = counted(np.random.default_rng(seed), people, own)
    whole = hush.Tally(PLAN, people + own, [people + own], [counts])
    return without(whole, own), whole


def test_a_sum_of_tallies_knows_of_the_own_reports() -> None:
    """Otherwise its intervals would forget them. All ways to add give the tally of all reports, corrected once."""
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
        assert (found.own, found.whole) == (180, third)
        assert found == without(third, 180)
        assert hush.estimate(found) == hush.estimate(without(third, 180))
    assert one == without(first, 90), "sums change nothing"
    with pytest.raises(TallyError, match="different plans"):
        one + hush.Tally(hush.design(PLAN.schema, 1.0))


def test_a_file_of_a_tally_knows_of_the_own_reports() -> None:
    tally, whole = people_and_whole(3)
    for found in (
        hush.Tally.from_json(tally.to_json()),
        hush.Tally.from_json(tally.to_json(), PLAN),
        hush.Tally.decode(PLAN, tally.encode()),
    ):
        assert (found, found.own, found.whole) == (tally, 90, whole)
        assert hush.estimate(found) == hush.estimate(tally)
    for own in ("0", "151", "true", "null", '"1"', "1.0"):
        with pytest.raises(TallyError):
            hush.Tally.from_json(tally.to_json().replace('"own":90', f'"own":{own}'))
    for end in (b"\0", b"\x97\x01", b"\x5a\0", b"\x80"):
        with pytest.raises(TallyError):
            hush.Tally.decode(PLAN, whole.encode() + end)


def test_own_reports_among_the_answers_are_known() -> None:
    tally, whole = people_and_whole(3)
    assert among_of(whole, 0) is None
    assert among_of(tally, 0) == among(PLAN, 0, tally.answered[0], whole.answered[0]) is not None


def test_only_tallies_are_added_to_one_of_people() -> None:
    tally, _ = people_and_whole(3)
    for other in (5, None, "tally"):
        with pytest.raises(TypeError):
            tally + other  # type: ignore[operator]


def test_bad_numbers_are_refused() -> None:
    tally = hush.Tally(PLAN)
    assert without(tally, 0) is tally
    assert not without(tally, 0).own
    for own in (-1, 1, True):
        with pytest.raises(TallyError, match="own must be"):
            without(tally, own)


@pytest.mark.parametrize(("most", "asked"), [(25, [100, 50, 25]), (0, [100, 50, 25, 12, 6, 3, 1])])
def test_a_tally_that_is_too_small_is_corrected_for_half_as_many(
    monkeypatch: pytest.MonkeyPatch, most: int, asked: list[int]
) -> None:
    """And so on, until it is large enough, or nothing is left to correct for."""
    tried: list[int] = []

    def corrected(plan: hush.Plan, counts: Counted, own: int) -> Counted:
        tried.append(own)
        if own > most:
            raise TallyError("these counts are too small to be corrected")
        return left_over(plan, counts, own)

    monkeypatch.setattr("hush.server.tally.left_over", corrected)
    whole = hush.Tally(PLAN, 200, [200], [[50, 50, 50, 50]])
    found = without(whole, 100)
    assert tried == asked
    if most:
        assert (found.reports, found.own, found.whole) == (175, 100, whole)
    else:
        assert found is whole
