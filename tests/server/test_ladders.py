"""Reading a ladder: unbiased shares, the clip, the interval of the clipped mean, two sides, and missing values."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from operator import mul
from statistics import NormalDist
from typing import Any

import pytest

import hush
from hush import Numeric, Schema, Tally, design, estimate
from hush.core.channels import Ladder
from hush.server.binomial import at_most, normal
from hush.server.ladders import Fitted, clipped, unclipped
from hush.server.manipulations import leverage
from hush.server.narrowing import narrow

HIGH = 1e7
INCOME = Numeric("income", 0, HIGH, scale="log")
BALANCE = Numeric("balance", -1e6, HIGH, scale="log", optional=True)


def channel_of(number: Numeric, epsilon: float = 1.0) -> Ladder:
    channel = design(Schema([number]), epsilon).questions[0].channel
    assert isinstance(channel, Ladder)
    return channel


def states_of(channel: Ladder, number: Numeric, values: list[float | None]) -> list[float]:
    """The shares of the states of these people, rounding included: exactly, in floats."""
    shares = [0.0] * (len(channel.knots) + channel.optional)
    for value in values:
        for state, chance in channel.rounding([number.encode(value)]).items():
            shares[-1 if state is None else state] += float(chance) / len(values)  # type: ignore[call-overload]
    return shares


def law_of(channel: Ladder, number: Numeric, values: list[float | None]) -> list[float]:
    shares = states_of(channel, number, values)
    return [
        sum(map(mul, shares, column))
        for column in zip(*[[float(p) for p in row] for row in channel.table], strict=True)
    ]


def people(seed: int, size: int = 2000) -> list[float | None]:
    world = random.Random(seed)
    return [min(world.lognormvariate(10.5, 0.8), HIGH) for _ in range(size)]


def counted(law: list[float], n: int, rng: random.Random) -> tuple[int, ...]:
    counts = [0] * len(law)
    for y in rng.choices(range(len(law)), law, k=n):
        counts[y] += 1
    return tuple(counts)


def whole(law: list[float], n: int) -> tuple[int, ...]:
    counts = [math.floor(n * p) for p in law]
    counts[0] += n - sum(counts)
    return tuple(counts)


@pytest.mark.parametrize("number", [INCOME, BALANCE], ids=["one side", "two sides, optional"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_shares_are_unbiased(number: Numeric, epsilon: float) -> None:
    """From the expected counts of a crowd, the shares of the states come back."""
    channel = channel_of(number, epsilon)
    values = people(1, 300) + ([None] * 40 if number.optional else [])
    n = 10**12
    fit = Fitted(channel, number, whole(law_of(channel, number, values), n))
    assert fit.shares == pytest.approx(states_of(channel, number, values), abs=1e-6)
    assert fit.best == pytest.approx(states_of(channel, number, values), abs=1e-4)
    means = [min(value, HIGH / 4) for value in values if value is not None]
    if number is INCOME:
        weights = [min(place, HIGH / 4) for place in fit.places]
        assert fit.value(weights) == pytest.approx(sum(means) / len(means), rel=1e-5)


def test_the_variance_is_that_of_the_values() -> None:
    """By enumeration: a weighted sum of shares is an average of one value for each output."""
    channel, n = channel_of(INCOME), 5000
    law = law_of(channel, INCOME, people(2, 200))
    fit = Fitted(channel, INCOME, counted(law, n, random.Random(3)))
    weights = [float(s % 3) for s in range(len(fit.places))]
    values = fit.values(weights)
    mean = sum(map(mul, values, law))
    exact = sum(p * (value - mean) ** 2 for p, value in zip(law, values, strict=True)) / n
    assert fit.variance(weights) == pytest.approx(exact, rel=0.1)


def test_the_clip_is_where_people_are() -> None:
    channel, n = channel_of(INCOME), 100_000
    fit = Fitted(channel, INCOME, whole(law_of(channel, INCOME, people(4)), n))
    found = clipped(fit, 0.95)
    assert found.low == 0
    assert 80_000 < found.high < 1_500_000
    assert found.high in fit.places
    truth = [min(value or 0, found.high) for value in people(4)]
    assert found.point == pytest.approx(sum(truth) / len(truth), rel=0.02)
    assert found.interval[0] < found.point < found.interval[1]
    above = sum(value is not None and value > found.high for value in people(4)) / 2000
    assert above <= found.beyond < 0.15


def covered(widen: float, runs: int, seed: int) -> int:
    """In how many crowds of 5000 the interval of the clipped mean has the truth, if it is this much as wide."""
    rng, values = random.Random(seed), people(5)
    channel = channel_of(INCOME, 2.0)
    law, count = law_of(channel, INCOME, values), 0
    for _ in range(runs):
        found = clipped(Fitted(channel, INCOME, counted(law, 5000, rng)), 0.95)
        truth = sum(min(value or 0, found.high) for value in values) / len(values)
        low, high = (found.point + widen * (end - found.point) for end in found.interval)
        count += low <= truth <= high
    return count


def test_the_clipped_mean_is_covered() -> None:
    """If 93.5 % of crowds were covered, fewer than this of 120 would be with probability 1e-6."""
    runs = 120
    least = next(k for k in range(runs) if at_most(k, runs, 0.935) > 1e-6)
    assert covered(1.0, runs, 11) >= least
    assert covered(0.3, runs, 11) < least  # an interval of a third of the width would be noticed


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_bound_of_the_share_beyond_holds(epsilon: float) -> None:
    """Next to no noise is left: numbers between the clip and the next knot must not be forgotten."""
    for seed in range(20, 26):
        values, n = [v if v is None else v ** (1 + seed % 3 / 10) for v in people(seed, 400)], 4 * 10**5
        channel = channel_of(INCOME, epsilon)
        found = clipped(Fitted(channel, INCOME, whole(law_of(channel, INCOME, values), n)), 0.95)
        above = sum(value is not None and value > found.high for value in values) / len(values)
        assert above <= found.beyond < 4 * above + 0.1


def test_people_just_above_the_clip_are_beyond() -> None:
    """A tenth lies just above a knot. A twin that counts the states beyond finds next to nobody there."""
    number = Numeric("income", 0, 2.0**15, scale="log")
    channel, n = channel_of(number), 20_000
    values: list[float | None] = [*[1000.0] * 90, *[2.0**12 * 1.01] * 10]
    fit = Fitted(channel, number, whole(law_of(channel, number, values), n))
    found = clipped(fit, 0.95)
    assert found.high == 2.0**12
    assert found.beyond >= 0.1
    twin = [float(place > found.high) for place in fit.places]
    assert fit.value(twin) + 2.3 * math.sqrt(fit.variance(twin)) < 0.1


def test_uniform_people_are_covered() -> None:
    """Their point is pushed inwards, so an interval that reaches 1.7 standard errors outwards would be too short.

    If 93.5 % of crowds were covered, fewer than this of 100 would be with probability 1e-6.
    """
    channel, n, runs = channel_of(INCOME, 2.0), 5000, 100
    values: list[float | None] = [HIGH * (i + 0.5) / 400 for i in range(400)]
    law, rng, count, low = law_of(channel, INCOME, values), random.Random(12), 0, 0
    for _ in range(runs):
        found = clipped(Fitted(channel, INCOME, counted(law, n, rng)), 0.95)
        truth = sum(min(value or 0, found.high) for value in values) / len(values)
        count += found.interval[0] <= truth <= found.interval[1]
        low += found.point < truth
    assert count >= next(k for k in range(runs) if at_most(k, runs, 0.935) > 1e-6)
    assert low > runs / 2


def test_two_sides_and_missing_values() -> None:
    channel, n = channel_of(BALANCE, 2.0), 200_000
    world = random.Random(6)
    values: list[float | None] = [
        None if world.random() < 0.2 else world.lognormvariate(10.5, 0.6) * (1 if world.random() < 0.8 else -0.3)
        for _ in range(3000)
    ]
    fit = Fitted(channel, BALANCE, whole(law_of(channel, BALANCE, values), n))
    found = clipped(fit, 0.95)
    assert found.low < 0 < found.high
    present = [value for value in values if value is not None]
    truth = sum(min(max(value, found.low), found.high) for value in present) / len(present)
    assert found.interval[0] <= truth <= found.interval[1]
    assert fit.missing == pytest.approx(values.count(None) / len(values), abs=0.02)


def tally_of(number: Numeric, epsilon: float, values: list[float | None], n: int) -> Tally:
    plan = design(Schema([number]), epsilon)
    channel = plan.questions[0].channel
    assert isinstance(channel, Ladder)
    return Tally(plan, n, [n], [whole(law_of(channel, number, values), n)])


def test_estimates_state_the_clip() -> None:
    tally = tally_of(INCOME, 1.0, people(7), 50_000)
    (row,) = estimate(tally)
    assert row.floor == 0
    assert row.ceiling is not None
    assert row.beyond is not None
    assert f"mean of min(income, {row.ceiling:,.6g})" in str(estimate(tally))
    assert "of the people lie beyond" in str(estimate(tally))
    shift = hush.manipulation(tally, 100)[0].shift
    assert 0 < shift < INCOME.high


def test_no_liars_move_nothing_whatever_was_reported() -> None:
    """A thousand reports that are alike leave next to nobody present, and bound no shift of one liar."""
    plan = design(Schema([BALANCE]), 0.5)
    size = plan.questions[0].channel.alphabet.size
    for place in range(size):
        alike = [1000 * (place == other) for other in range(size)]
        assert {row.shift for row in hush.manipulation(Tally(plan, 1000, [1000], [alike]), 0)} == {0.0}


def pareto(index: float, least: float = 20_000.0, size: int = 4000) -> list[float | None]:
    """People whose shares above x fall like x^-index."""
    return [min(least * ((i + 0.5) / size) ** (-1 / index), HIGH) for i in range(size)]


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(("index", "tail", "held"), [(1.5, 1.5, True), (2.5, 1.5, True), (1.2, 3.0, False)])
def test_a_known_tail_bounds_the_mean_itself(index: float, tail: float, held: bool, optional: bool) -> None:
    """From expected counts, so that no chance is left: the interval has the mean if the assumption holds.

    The twin assumes a tail that is far too light.
    """
    number = Numeric("income", 0, HIGH, scale="log", optional=optional)
    values = pareto(index)
    truth = sum(value or 0.0 for value in values) / len(values)
    tally = tally_of(number, 1.0, [*values, *[None] * (1000 * optional)], 100_000)
    clip, free, *_ = estimate(tally, tail=tail)
    assert clip.ceiling is not None
    assert clip.ceiling < HIGH
    assert free.tail == tail
    assert (free.ceiling, free.beyond) == (None, None)
    assert (free.low <= truth <= free.high) == held
    assert clip.low == free.low  # clipping only takes away
    assert clip.point < free.point
    assert "falls like x^-" in str(estimate(tally, tail=tail))
    assert all(row.tail is None for row in estimate(tally))


def test_the_bound_of_a_tail_is_that_of_pareto() -> None:
    """With the index of the people themselves, m(c) + L*(m(c) - m(c/2)) is their mean, but for noise and rounding."""
    values, n = pareto(1.5), 10**6
    channel = channel_of(INCOME, 4.0)
    fit = Fitted(channel, INCOME, whole(law_of(channel, INCOME, values), n))
    middle, wide = unclipped(fit, 0.5, 1.5), unclipped(fit, 0.999, 1.5)
    z = (wide.interval[1] - middle.interval[1]) / (normal(0.999) - normal(0.5))
    bound = middle.interval[1] - z * normal(0.5)
    truth = sum(value or 0.0 for value in values) / len(values)
    assert bound == pytest.approx(truth, rel=0.01)
    assert clipped(fit, 0.5).point < 0.975 * truth


def test_tails_on_both_sides_widen_both_ends() -> None:
    values: list[float | None] = [*pareto(1.5), *(-0.05 * (value or 0.0) for value in pareto(1.5, size=2000))]
    tally = tally_of(BALANCE, 2.0, values, 100_000)
    clip, free, _ = estimate(tally, tail=1.5)
    assert free.low < clip.low < clip.high < free.high
    truth = sum(min(max(value or 0.0, -1e6), HIGH) for value in values) / len(values)
    assert free.low <= truth <= free.high


def test_nothing_is_beyond_the_end_of_the_range() -> None:
    clip, free = estimate(tally_of(INCOME, 4.0, [HIGH * (i + 0.5) / 500 for i in range(500)], 10**6), tail=1.5)
    assert clip.ceiling == HIGH
    assert (free.point, free.low, free.high) == (clip.point, clip.low, clip.high)


@pytest.mark.parametrize("tail", [1, 1.0, 0.5, -2, math.nan, math.inf, 101, True, "1.5"])
def test_a_tail_needs_a_mean(tail: Any) -> None:
    with pytest.raises(hush.EstimateError, match="tail must be a number above 1"):
        estimate(Tally(design(Schema([INCOME]), 1.0)), tail=tail)


def test_a_tail_is_for_wide_numbers() -> None:
    with pytest.raises(hush.EstimateError, match="wide numbers"):
        estimate(Tally(design(Schema([Numeric("x", 0, 1)]), 1.0)), tail=1.5)
    _, free = estimate(Tally(design(Schema([INCOME]), 1.0)), tail=2)
    assert math.isnan(free.point)
    assert (free.low, free.high, free.tail) == (0, HIGH, 2.0)


@pytest.mark.parametrize("number", [INCOME, BALANCE])
def test_one_report_has_a_known_leverage(number: Numeric) -> None:
    """One of n reports moves the mean by leverage/n at most, whatever it says. Here nothing is clipped."""
    plan, n = design(Schema([number]), 1.0), 10**6
    (row,) = leverage(plan)
    values: list[float | None] = [number.low + (number.high - number.low) * i / 400 for i in range(401)]
    tally = tally_of(number, 1.0, values, n)
    before = estimate(tally)[0].point
    for y in range(len(tally.counts[0])):
        counts = [*tally.counts[0]]
        counts[y] += 1
        after = estimate(Tally(plan, n + 1, [n + 1], [counts]))[0].point
        assert abs(after - before) * n <= row.shift
    assert row.shift < 25 * (number.high - number.low)


def test_missing_values_have_a_row() -> None:
    values = [*people(8, 900), *[None] * 100]
    mean, gone = estimate(tally_of(BALANCE, 1.0, values, 80_000))
    assert mean.category is None
    assert gone.category == hush.MISSING
    assert gone.low <= 0.1 <= gone.high


def test_nobody_has_answered() -> None:
    plan = design(Schema([BALANCE]), 1.0)
    mean, gone = estimate(Tally(plan))
    assert math.isnan(mean.point)
    assert (mean.low, mean.high, mean.beyond) == (-1e6, HIGH, 1.0)
    assert math.isnan(gone.point)


def test_the_distribution_of_a_ladder_has_its_quantiles() -> None:
    values = people(9)
    found = hush.distribution(tally_of(INCOME, 4.0, values, 10**6), "income")
    median = found.quantile(0.5)
    rank = sum(value is not None and value <= median for value in values) / len(values)
    assert rank == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 0.02), (4.0, 0.01)])
@pytest.mark.parametrize("shape", ["lognormal", "Pareto"])
def test_quantiles_within_an_octave(shape: str, epsilon: float, most: float) -> None:
    """Without noise only the shape within a rung is left: spreading each knot's share evenly errs by up to .05."""
    parts = [(i + 0.5) / 1000 for i in range(1000)]
    normal = NormalDist(10.5, 0.9)
    values = [math.exp(normal.inv_cdf(q)) if shape == "lognormal" else 5000 / (1 - q) ** 0.6 for q in parts]
    found = hush.distribution(tally_of(INCOME, epsilon, [*values], 10**7), "income")
    assert sum(found.shares) == pytest.approx(1)
    assert min(found.shares) >= 0
    for q in (0.5, 0.75, 0.9, 0.95)[shape == "Pareto" :]:  # half of the Pareto numbers lie in the octave of their edge
        assert sum(value <= found.quantile(q) for value in values) / 1000 == pytest.approx(q, abs=most)


def test_the_distribution_of_a_ladder_has_both_sides() -> None:
    values: list[float | None] = [sign * v for sign in (-0.1, 1.0) for v in (10_000.0, 30_000.0, 60_000.0)]
    found = hush.distribution(tally_of(BALANCE, 4.0, values, 10**7), "balance")
    assert (found.edges[0], found.edges[-1]) == (-1e6, HIGH)
    assert found.quantile(0.25) < 0 < found.quantile(0.75)


# -- narrowing


def test_narrowing_follows_the_people() -> None:
    found = narrow(tally_of(INCOME, 1.0, people(10), 20_000), "income", people=80_000)
    assert (found.low, found.out_of_range, found.scale) == (0, "clip", "linear")
    assert 100_000 < found.high < 2_000_000
    more = narrow(tally_of(INCOME, 1.0, people(10), 20_000), "income", people=8_000_000)
    assert more.high >= found.high


def test_a_narrowed_plan_is_more_precise() -> None:
    """The point of it: with the same people the error of the mean falls many times."""
    first = tally_of(INCOME, 1.0, people(10), 20_000)
    second = design(Schema([narrow(first, "income", people=80_000)]), 1.0, after=first.plan)
    assert second.after == first.plan.id
    wide = design(Schema([Numeric("income", 0, HIGH)]), 1.0)
    guess: dict[str, Any] = {"income": hush.Guess(50_000, 40_000)}
    errors = [hush.predict(plan, 80_000, guesses=guess)[0].stderr for plan in (wide, second)]
    assert errors[1] < errors[0] / 5


def test_people_up_to_the_end_keep_the_range() -> None:
    values: list[float | None] = [HIGH * i / 500 for i in range(501)]
    assert narrow(tally_of(INCOME, 1.0, values, 10**6), "income", people=10**6).high == HIGH


def test_a_pilot_that_saw_too_little_is_refused() -> None:
    values: list[float | None] = [*[0.0] * 995, *[5.0] * 5]
    with pytest.raises(hush.EstimateError, match="'income': the pilot saw too little"):
        narrow(tally_of(INCOME, 1.0, values, 500), "income", people=1000)


def test_only_wide_numbers_are_narrowed() -> None:
    plan = design(Schema([Numeric("x", 0, 1)]), 1.0)
    with pytest.raises(hush.EstimateError, match="'x': only a number with scale"):
        narrow(Tally(plan), "x", people=10)
    with pytest.raises(hush.EstimateError, match="people must be a whole number"):
        narrow(tally_of(INCOME, 1.0, people(1), 100), "income", people=0)
    with pytest.raises(hush.EstimateError, match="nobody has answered the pilot"):
        narrow(Tally(design(Schema([INCOME]), 1.0)), "income", people=10)


# -- predictions


def test_predictions_are_about_the_mean_itself() -> None:
    """With few people a ladder clips low: what is cut off counts as an error."""
    plan = design(Schema([INCOME]), 1.0)
    guess: dict[str, Any] = {"income": hush.Guess(50_000, 45_000)}
    errors = [hush.predict(plan, n, guesses=guess)[0].stderr for n in (100, 10_000, 1_000_000)]
    assert errors[0] > 25_000
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    needed = hush.people_needed(plan, 5_000.0, attribute="income", guesses=guess)
    assert hush.predict(plan, needed, guesses=guess)[0].margin <= 5_000
    assert needed > 10_000


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"scale": "wide"}, 'scale must be "linear" or "log"'),
        ({"unit": 5.0}, 'a unit is for scale="log"'),
        ({"scale": "log", "unit": 0.0}, "the unit must be a number above 0"),
        ({"scale": "log", "unit": 1e9}, "the unit must be a number above 0, and less than high - low"),
        ({"scale": "log", "unit": True}, "the unit must be a number"),
    ],
)
def test_scales_and_units_are_checked(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(hush.SchemaError, match=f"'income': {rule}"):
        Numeric("income", 0, HIGH, **options)


def test_a_unit_sets_the_lowest_knot() -> None:
    short = channel_of(Numeric("income", 0, HIGH, scale="log", unit=10_000.0))
    assert len(short.knots) < len(channel_of(INCOME).knots)
    assert Fraction(short.knots[1], short.knots[-1]) * int(HIGH) <= 10_000
    with pytest.raises(hush.DesignError, match="at most 40 octaves"):
        design(Schema([Numeric("income", 0, HIGH, scale="log", unit=1e-9)]), 1.0)
