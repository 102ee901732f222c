"""Changes keep their word: the interval of a difference covers it as often as stated, and a forgotten spread is caught.

**False alarms.** Outputs are drawn from the exact laws of two crowds. If an interval misses with a probability of 0.06
(a single one does with at most 0.058: `tests/statistical/test_coverage.py`), more than 75 misses in 600 pairs of crowds
have a probability below 1e-7, for all estimates together. numpy's generator is seeded. The twin, an interval that
forgets the spread of the first tally, misses far more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from hush import Categorical, Change, EstimateError, Numeric, Plan, Schema, SchemaError, Tally, change, design, estimate
from hush.server import changes
from hush.server.estimates import estimated, shown
from hush.server.tally import with_own

RUNS, MOST = 600, 75
Make = Callable[[Tally, Tally], list[Change]]

TOWNS = design(Schema([Categorical("town", ["a", "b", "c", "d", "e"])]), 1.0)
COIN = design(Schema([Categorical("coin", ["heads", "tails"])]), 3.0, categorical="grr")
AGE = design(Schema([Numeric("age", 0, 100)]), 2.0)
PAY = design(Schema([Numeric("pay", 0, 100, optional=True)]), 2.0)

# Plan, people before and after, and the states of each: by their place among the channel's, with shares.
CELLS: dict[str, tuple[Plan, int, int, dict[int, float], dict[int, float]]] = {
    "towns": (TOWNS, 2000, 2000, {0: 0.9, 1: 0.1}, {0: 0.8, 1: 0.1, 2: 0.1}),
    "coins": (COIN, 100, 60, {0: 0.97, 1: 0.03}, {0: 0.9, 1: 0.1}),
    "means": (AGE, 300, 1500, {0: 0.5, -1: 0.5}, {0: 0.9, -1: 0.1}),
    "all alike": (AGE, 200, 200, {0: 1.0}, {0: 1.0}),
    "the present": (PAY, 1000, 1000, {0: 0.5, -2: 0.2, -1: 0.3}, {0: 0.2, -2: 0.2, -1: 0.6}),
    "the present at an end": (PAY, 1000, 400, {0: 0.6, -1: 0.4}, {0: 0.6, -1: 0.4}),
}


def law_of(plan: Plan, mix: dict[int, float]) -> np.ndarray[Any, Any]:
    """Return the probability of each output, or of each member of a set of fixed size, for people with these states."""
    channel = plan.questions[0].channel
    states = [*channel.states()]
    found = np.zeros(channel.alphabet.size)
    for place, share in mix.items():
        for output, probability in channel.law(states[place]).items():
            assert isinstance(output, int)
            found[output] += share * float(probability)
    whole: np.ndarray[Any, Any] = found / found.sum()
    return whole


def misses(name: str, make: Make = change) -> np.ndarray[Any, Any]:
    """Return how often the interval of each estimate misses the true change."""
    plan, n, m, before, after = CELLS[name]
    world = np.random.default_rng(7)
    laws = law_of(plan, before), law_of(plan, after)
    truths = _truths(plan, after) - _truths(plan, before)

    def crowd(law: np.ndarray[Any, Any], people: int) -> Tally:
        return Tally(plan, people, [people], [world.multinomial(people, law).tolist()])

    found = np.zeros(len(truths), dtype=int)
    for _ in range(RUNS):
        rows = make(crowd(laws[0], n), crowd(laws[1], m))
        found += [not row.low <= true <= row.high for row, true in zip(rows, truths, strict=True)]
    return found


def _truths(plan: Plan, mix: dict[int, float]) -> np.ndarray[Any, Any]:
    """Return the true means and shares of people with these states."""
    (attribute,) = plan.schema.attributes
    if isinstance(attribute, Categorical):
        return np.array([mix.get(place, 0.0) for place in range(len(attribute.labels))])
    if not attribute.optional:
        return np.array([100 * mix.get(-1, 0.0)])
    present = mix.get(0, 0.0) + mix.get(-2, 0.0)
    return np.array([100 * mix.get(-2, 0.0) / present, mix.get(-1, 0.0)])


@pytest.mark.parametrize("name", CELLS)
def test_intervals_of_a_change_hold(name: str) -> None:
    assert misses(name).max() <= MOST


def forgetful(before: Tally, after: Tally) -> list[Change]:
    """Return intervals as if the first tally were the truth."""
    old, new = estimate(before), estimate(after)
    return [
        Change(b.attribute, b.category, a.point, b.point, b.point - a.point, 0.0, b.low - a.point, b.high - a.point)
        for a, b in zip(old, new, strict=True)
    ]


@pytest.mark.parametrize("name", ["towns", "the present"])
def test_an_interval_that_forgets_the_first_tally_is_caught(name: str) -> None:
    assert misses(name, forgetful).max() > MOST


def test_ends_count_before_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin takes the distances of intervals that were laid into the domain already."""
    tight = Tally(PAY, 1000, [1000], [[*_counts(PAY, 1000, {0: 0.6, -1: 0.4})]])
    whole = change(tight, tight)[0]
    made = partial(estimated, finish=partial(shown, schema=PAY.schema))
    monkeypatch.setattr(changes, "estimated", made)
    cut = change(tight, tight)[0]
    assert (whole.high - whole.low) > 1.2 * (cut.high - cut.low)


def test_points_beyond_the_domain_are_moved_inside() -> None:
    """All say the same, and more than that: no interval shrinks to the end of the domain."""
    low, high = (Tally(COIN, 1000, [1000], [counts]) for counts in ([0, 1000], [1000, 0]))
    rows = change(low, high)
    assert [row.point > 1 for row in rows] == [True, False]
    for row in rows:
        assert -1 <= row.low < row.high <= 1
        assert row.low <= min(max(row.point, -1), 1) <= row.high


def test_a_change_of_too_few_answers_is_refused() -> None:
    few, many = Tally(COIN, 2, [2], [[1, 1]]), Tally(COIN, 1000, [1000], [[500, 500]])
    for row in [*change(few, many), *change(many, few), *change(few, few)]:
        assert math.isnan(row.point)
        assert row.needed is not None
        assert row.needed > 2
        assert row.told is None
    assert math.isnan(change(few, many)[0].before)
    assert not math.isnan(change(few, many)[0].after)
    text = str(change(few, many))
    assert "too few answers" in text
    assert "nan" not in text


def _counts(plan: Plan, n: int, mix: dict[int, float]) -> list[int]:
    counts = [round(n * share) for share in law_of(plan, mix)]
    counts[0] += n - sum(counts)
    return counts


def test_the_interval_of_two_shares_is_newcombes() -> None:
    """Wilson's intervals of 560/1000 and 620/1000, by hand: the scale of a share is linear in the count."""
    first, second = (Tally(COIN, 1000, [1000], [[n, 1000 - n]]) for n in (560, 620))
    (row, other) = change(first, second)
    old, new = estimate(first)[0], estimate(second)[0]
    assert row.low == pytest.approx(row.point - np.hypot(new.point - new.low, old.high - old.point))
    assert row.high == pytest.approx(row.point + np.hypot(new.high - new.point, old.point - old.low))
    assert (row.before, row.after) == (old.point, new.point)
    assert (row.told, other.told) == ("up", "down")
    assert change(second, first)[0].told == "down"


def test_no_change_cannot_be_told_from_noise() -> None:
    tally = Tally(COIN, 1000, [1000], [[500, 500]])
    rows = change(tally, tally)
    assert [row.told for row in rows] == [None, None]
    assert "cannot be told from noise" in str(rows)
    assert rows[0].point == 0


def test_all_shares_at_once() -> None:
    tally = Tally(TOWNS, 1000, [1000], [_counts(TOWNS, 1000, {0: 0.5, 1: 0.5})])
    each, together = change(tally, tally), change(tally, tally, simultaneous=True)
    assert [*together] == [*change(tally, tally, level=1 - 0.05 / 5)]
    assert each[0].high < together[0].high
    assert "hold together" in str(together)


def test_without_reports_everything_is_possible() -> None:
    rows = change(Tally(AGE), Tally(AGE))
    assert (rows[0].low, rows[0].high, rows[0].told) == (-100, 100, None)
    assert "unknown" in str(rows)


def test_own_reports_of_a_relay_widen_it() -> None:
    counts = [600, 600]
    plain, mixed = Tally(COIN, 1200, [1200], [counts]), with_own(Tally(COIN, 1200, [1200], [counts]), 400)
    assert change(plain, mixed)[0].high > change(plain, plain)[0].high


def test_wide_numbers_with_another_clip_are_left_out() -> None:
    plan = design(Schema([Numeric("pay", 0, 1e7, scale="log", out_of_range="clip")]), 1.0)
    size = plan.questions[0].channel.alphabet.size
    low, high = ([*([1000] * n), *([0] * (size - n))] for n in (4, size))
    first, second = (Tally(plan, sum(some), [sum(some)], [some]) for some in (low, high))
    assert len(change(first, first)) == 1
    rows = change(first, second)
    assert not rows
    assert "clipped at different values" in str(rows)


# -- two plans


def tally_of(*attributes: Any, epsilon: float = 1.0) -> Tally:
    return Tally(design(Schema(attributes), epsilon))


def test_two_plans_that_share_an_attribute() -> None:
    coin = Categorical("coin", ["heads", "tails"])
    other = design(Schema([Categorical("coin", ["tails", "heads"]), Numeric("x", 0, 1)]), 1.0)
    second = Tally(other, 200, [100, 100], [[30, 70], _counts_of(other, 1, 100)])
    rows = change(Tally(design(Schema([coin]), 1.0), 100, [100], [[70, 30]]), second)
    assert [(row.attribute, row.category) for row in rows] == [("coin", "tails"), ("coin", "heads")]
    heads = rows[1]
    assert heads.point == pytest.approx(0.0)


def _counts_of(plan: Plan, question: int, n: int) -> list[int]:
    size = plan.questions[question].channel.alphabet.size
    return [n - size + 1, *([1] * (size - 1))]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Numeric("x", 0, 2), "high is 1.0 in one, and 2.0 in the other"),
        (Numeric("x", 0, 1, optional=True), "optional is False in one, and True in the other"),
        (Numeric("x", 0, 1, out_of_range="clip"), "out_of_range is 'error' in one"),
        (Categorical("x", ["a", "b"]), "one is numeric, and the other categorical"),
    ],
)
def test_attributes_that_differ_are_refused(other: Any, why: str) -> None:
    with pytest.raises(EstimateError, match=why) as refused:
        change(tally_of(Numeric("x", 0, 1)), tally_of(other))
    assert "attribute 'x'" in str(refused.value)


def test_other_categories_are_refused_and_others_can_be_named() -> None:
    y = Numeric("y", 0, 1)
    one, two = tally_of(Categorical("c", ["a", "b"]), y), tally_of(Categorical("c", ["a", "z"]), y)
    with pytest.raises(EstimateError, match="attribute 'c': the plans do not ask the same, as their values differ"):
        change(one, two)
    assert {row.attribute for row in change(one, two, attributes=["y"])} == {"y"}


def test_plans_without_a_common_attribute_are_refused() -> None:
    with pytest.raises(EstimateError, match="no attribute in common"):
        change(tally_of(Numeric("x", 0, 1)), tally_of(Numeric("y", 0, 1)))


@pytest.mark.parametrize(
    ("arguments", "options", "why"),
    [
        ((1, 2), {}, "needs two tallies"),
        ((Tally(AGE), Tally(AGE)), {"level": 2.0}, "level must be"),
        ((Tally(AGE), Tally(AGE)), {"simultaneous": 1}, "simultaneous must be True or False"),
        ((Tally(AGE), Tally(AGE)), {"attributes": "age"}, "attributes must be a list of names"),
    ],
)
def test_bad_arguments_are_refused(arguments: Any, options: Any, why: str) -> None:
    with pytest.raises(EstimateError, match=why):
        change(*arguments, **options)


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(SchemaError, match="no attribute is called 'z'"):
        change(Tally(AGE), Tally(AGE), attributes=["z"])
