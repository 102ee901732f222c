"""Estimates on the attribute's own scale, exactly as the channel's law says they should be on average."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hush import MISSING, Categorical, EstimateError, Numeric, Plan, Schema, Tally, design, estimate, manipulation
from hush.core.channels import Subsets
from hush.core.plan import Question
from hush.device.randomise import randomise_from
from hush.server.estimates import domain_of, estimated, points, unbounded
from hush.server.intervals import Sample
from hush.server.manipulations import leverage
from hush.server.sources import targets
from hush.testing import SeededCoins
from tests.cases import MIXED, RECORD, SMALL, any_record, plans


def ideal_counts(channel: Any, mix: dict[Any, Fraction]) -> tuple[int, list[int]]:
    """Counts in proportion to the law of a mix of states: an average crowd, up to rounding of 1e-12."""
    n = 10**15
    size = channel.alphabet.size
    counts = [Fraction(0)] * size
    for state, weight in mix.items():
        for output, probability in channel.law(state).items():
            for symbol in output if isinstance(output, tuple) else (output,):
                counts[symbol] += weight * probability * n
    rounded = [round(count) for count in counts]
    if isinstance(channel.alphabet, Subsets):
        if channel.alphabet.weight:
            rounded[-1] = n * channel.alphabet.weight - sum(rounded[:-1])
    else:
        rounded[-1] = n - sum(rounded[:-1])
    return n, rounded


def single(channel: Any, attribute: Any, mix: dict[Any, Fraction]) -> Tally:
    n, counts = ideal_counts(channel, mix)
    plan = Plan(Schema([attribute]), Fraction(16), 1, (Question((attribute.name,), channel),))
    return Tally(plan, n, [n], [counts])


@pytest.mark.parametrize("name", ["duchi", "window-16-3", "window-uneven", "laplace", "staircase", "mixture"])
def test_means_come_out_on_the_attributes_scale(name: str) -> None:
    channel = SMALL[name](Fraction(8))
    states = [*channel.states()]
    mix = {states[0]: Fraction(3, 4), states[-1]: Fraction(1, 4)}
    (row,) = estimate(single(channel, Numeric("x", 10, 30), mix))
    tolerance = 1e-9 if channel.kind != "additive" else 1e-6  # the short tails of the test channel
    assert row.point == pytest.approx(15, rel=tolerance)
    assert row.low <= row.point <= row.high
    assert (row.attribute, row.category, row.answers) == ("x", None, 10**15)


@pytest.mark.parametrize("name", ["grr-5", "subset-9", "oue-6", "sue-6"])
def test_shares_come_out(name: str) -> None:
    channel: Any = SMALL[name](Fraction(2))
    mix: dict[Any, Fraction] = {0: Fraction(1, 2), 1: Fraction(1, 3), 2: Fraction(1, 6)}
    rows = estimate(single(channel, Categorical("c", range(channel.size)), mix))
    assert [row.category for row in rows] == [*range(channel.size)]
    for row in rows:
        assert row.point == pytest.approx(float(mix.get(row.category, 0)), abs=1e-9)
        assert row.low <= max(row.point, 0.0) <= row.high


@pytest.mark.parametrize("name", ["duchi-optional", "window-9-2-optional", "mixture-optional"])
def test_the_mean_of_the_present_and_the_share_of_the_missing(name: str) -> None:
    channel = SMALL[name](Fraction(3))
    *present, missing = [*channel.states()]
    mix = {present[0]: Fraction(3, 20), present[-1]: Fraction(9, 20), missing: Fraction(2, 5)}
    mean, share = estimate(single(channel, Numeric("x", 0, 100, optional=True), mix))
    assert (mean.category, share.category) == (None, MISSING)
    assert mean.point == pytest.approx(75, rel=1e-9)
    assert share.point == pytest.approx(0.4, rel=1e-9)
    assert mean.low < 75 < mean.high
    assert share.low < 0.4 < share.high


def test_signs_give_all_means_at_once() -> None:
    plan = plans()["multi"]
    channel: Any = plan.channel("a")
    mix = {0b00001: Fraction(1, 2), 0b10101: Fraction(1, 2)}
    n, counts = ideal_counts(channel, mix)
    rows = estimate(Tally(plan, n, [n], [counts]))
    assert [row.attribute for row in rows] == [*"abcde"]
    assert [row.point for row in rows] == pytest.approx([1, -1, 0, -1, 0], abs=1e-9)


def filled(plan: Plan, n: int, seed: int = 1, record: dict[str, Any] | None = None) -> Tally:
    coins, tally = SeededCoins(seed), Tally(plan)
    for _ in range(n):
        tally.add(randomise_from(coins, plan, record or any_record(plan, coins.below)))
    return tally


def test_the_ratio_estimator_divides_by_those_who_answered_the_papers_by_those_expected() -> None:
    plan = design(Schema([Numeric("x", -1, 1), Categorical("c", ["a", "b", "c"])]), 2.0)
    tally = filled(plan, 999, record={"x": 0.8, "c": "b"})
    ratio, paper = estimate(tally), estimate(tally, estimator="paper")
    for index, rows in ((0, slice(0, 1)), (1, slice(1, 4))):
        factor = tally.answered[index] / (999 / 2)
        assert factor != 1
        for ours, theirs in zip(ratio[rows], paper[rows], strict=True):
            assert theirs.point == pytest.approx(ours.point * factor)
            assert theirs.answers == ours.answers == tally.answered[index]
    # The variance that the paper's estimator adds for nothing: (d/k - 1) * mean^2 / n.
    assert paper[0].stderr > ratio[0].stderr
    assert paper[0].stderr ** 2 - ratio[0].stderr ** 2 == pytest.approx(0.64 / 999, rel=0.6)


def test_both_estimators_agree_if_everybody_answers_everything() -> None:
    tally = filled(design(MIXED, 6.0, k="all"), 200, record=RECORD)
    for ours, theirs in zip(estimate(tally), estimate(tally, estimator="paper"), strict=True):
        assert ours == theirs or math.isnan(ours.point)


def test_an_empty_tally_says_that_it_knows_nothing() -> None:
    for row in estimate(Tally(plans()["default"])):
        assert math.isnan(row.point)
        assert math.isinf(row.stderr)
        assert row.answers == 0
        field = MIXED[row.attribute]
        if isinstance(field, Numeric) and row.category is None:
            assert (row.low, row.high) == (field.low, field.high)
        else:
            assert (row.low, row.high) == (0, 1)


def test_one_report_is_hardly_anything() -> None:
    rows = estimate(filled(plans()["default"], 1))
    assert sum(row.answers for row in rows) >= 1
    for row in rows:
        assert row.low <= row.high
        assert row.stderr > 0


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_no_rounding_pushes_an_end_past_the_point(n: int) -> None:
    for name in ("default", "grr", "multi"):
        plan = plans()[name]
        for row in estimate(filled(plan, n, 3), level=0.5):
            low, high = domain(plan.schema[row.attribute], row.category)
            near = min(max(row.point, low), high)
            assert math.isnan(row.point) or row.low <= near <= row.high or row.low <= row.point <= row.high


def domain(attribute: Any, category: object) -> tuple[float, float]:
    return (attribute.low, attribute.high) if isinstance(attribute, Numeric) and category is None else (0.0, 1.0)


def test_intervals_lose_only_what_cannot_be_true() -> None:
    """Within the domain the interval has all of the one that is not cut, so it covers as often. None has width 0."""
    cut = missed = 0
    tallies = {name: filled(plan, 30, 3) for name, plan in plans().items()}
    one = design(Schema([Numeric("x", 0, 1)]), 1.0, numeric="piecewise")
    size = one.questions[0].channel.alphabet.size
    tallies["impossible"] = Tally(one, 1000, [1000], [[0] * (size - 1) + [1000]])  # as no people would answer
    for name, tally in tallies.items():
        plan = tally.plan
        for row, other in zip(estimate(tally, refuse=False), estimated(tally, 0.95), strict=True):
            low, high = domain_of(row, plan.schema)
            assert row.point == other.point or math.isnan(row.point)
            assert low <= row.low <= row.high <= high, name
            assert row.low < row.high or low == high, name
            if other.high < low or other.low > high:
                missed += 1
                continue
            assert row.low <= max(other.low, low), name
            assert row.high >= min(other.high, high), name
            cut += [row.low, row.high] != [other.low, other.high]
    assert cut > 50
    assert missed > 0


def test_rows_come_in_the_order_of_the_schema() -> None:
    rows = estimate(filled(plans()["default"], 50))
    assert [(row.attribute, row.category) for row in rows] == [
        ("age", None),
        ("height", None),
        ("income", None),
        ("income", MISSING),
        *(("os", value) for value in ("linux", "mac", "other")),
        *(("code", value) for value in (1, 2, 3, 5, 8, 13, 21, 34)),
        *(("smokes", value) for value in ("yes", "no", MISSING)),
    ]


def test_a_wider_level_has_wider_intervals() -> None:
    tally = filled(plans()["default"], 2000)
    for narrow, wide in zip(estimate(tally, level=0.8), estimate(tally, level=0.999), strict=True):
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_huge_domains_do_not_overflow() -> None:
    plan = design(Schema([Numeric("x", -8e307, 8e307)]), 4.0)
    (row,) = estimate(filled(plan, 2000, record={"x": 4e307}))
    assert row.low < 4e307 < row.high
    assert math.isfinite(row.high - row.low)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0, 0.9999999999999999, float("nan"), "0.95", None])
def test_levels_are_probabilities(level: Any) -> None:
    with pytest.raises(EstimateError, match="level"):
        estimate(Tally(plans()["default"]), level=level)


def test_estimators_have_names() -> None:
    with pytest.raises(EstimateError, match="needs a Tally"):
        estimate(plans()["default"])  # type: ignore[arg-type]
    with pytest.raises(EstimateError, match="ratio"):
        estimate(Tally(plans()["default"]), estimator="best")  # type: ignore[arg-type]


# -- manipulation


@pytest.mark.parametrize("name", ["default", "titled", "multi", "laplace", "oue", "split"])
def test_malicious_reports_move_no_point_further_than_the_bound(name: str) -> None:
    """Replace reports by the worst ones for each target, and look."""
    plan = plans()[name]
    coins = SeededCoins(9)
    honest = [randomise_from(coins, plan, any_record(plan, coins.below)) for _ in range(300)]
    # Malicious reports: whatever a device may send, concentrated on a few outputs.
    malicious = [randomise_from(SeededCoins(seed % 3), plan, any_record(plan, lambda n: n - 1)) for seed in range(40)]
    clean, dirty = Tally(plan), Tally(plan)
    clean.update(honest)
    dirty.update(honest[40:] + malicious)
    bounds = manipulation(dirty, 40)
    for before, after, bound in zip(estimate(clean), estimate(dirty), bounds, strict=True):
        assert (bound.attribute, bound.category) == (after.attribute, after.category)
        if math.isnan(before.point) or math.isnan(after.point):
            continue
        # The number who answered may have changed too: up to 40 answers more or fewer.
        assert abs(after.point - before.point) <= bound.shift + 40 / max(before.answers, 1) * abs(bound.shift)


def test_the_bound_is_reached() -> None:
    """Duchi with n answers: m of them moved from one end to the other move the mean by 2B*m/n."""
    plan = design(Schema([Numeric("x", 0, 10)]), 1.0, numeric="duchi")
    clean, dirty = Tally(plan, 100, [100], [[60, 40]]), Tally(plan, 100, [100], [[50, 50]])
    (bound,) = manipulation(clean, 10)
    moved = estimate(dirty)[0].point - estimate(clean)[0].point
    assert moved == pytest.approx(bound.shift)
    assert bound.shift == pytest.approx(10 / 100 * 2 * (math.e + 1) / (math.e - 1) * 5)


def test_the_bound_for_the_mean_of_the_present() -> None:
    plan = design(Schema([Numeric("x", 0, 10, optional=True)]), 1.0, numeric="duchi")
    clean = Tally(plan, 1000, [1000], [[400, 350, 250]])
    mean, share = manipulation(clean, 10)
    assert share.category == MISSING
    for change in ([10, -10, 0], [-10, 10, 0], [10, 0, -10], [0, 10, -10], [-10, 0, 10], [0, -10, 10]):
        dirty = Tally(plan, 1000, [1000], [[a + b for a, b in zip(clean.counts[0], change, strict=True)]])
        for bound, before, after in zip((mean, share), estimate(clean), estimate(dirty), strict=True):
            assert abs(after.point - before.point) <= bound.shift * (1 + 1e-9)


def test_without_answers_the_bound_is_infinite() -> None:
    assert all(math.isinf(row.shift) for row in manipulation(Tally(plans()["default"]), 1))
    assert all(row.shift == 0 for row in manipulation(filled(plans()["grr"], 100), 0))
    with pytest.raises(EstimateError, match="whole number"):
        manipulation(Tally(plans()["default"]), -1)


def test_the_papers_estimator_is_bounded_too() -> None:
    tally = filled(plans()["grr"], 100)
    for ours, theirs in zip(manipulation(tally, 5), manipulation(tally, 5, estimator="paper"), strict=True):
        assert 0 < theirs.shift < 20 * ours.shift


def test_points_are_those_of_the_estimates() -> None:
    """The short way gives the same floats, and NaN where nobody has answered."""
    coins = SeededCoins(5)
    for plan in plans().values():
        tally = Tally(plan)
        for _ in range(40):
            tally.add(randomise_from(coins, plan, any_record(plan, coins.below)))
        found, rows = points(tally), estimate(tally, refuse=False)
        assert len(found) == len(rows)
        for point, row in zip(found, rows, strict=True):
            assert point == row.point or (math.isnan(point) and math.isnan(row.point))
        assert all(map(math.isnan, points(Tally(plan))))


@pytest.mark.parametrize("estimator", ["ratio", "paper"])
def test_without_intervals_everything_else_is_the_same(estimator: Any) -> None:
    coins = SeededCoins(6)
    for plan in plans().values():
        tally = Tally(plan)
        for _ in range(40):
            tally.add(randomise_from(coins, plan, any_record(plan, coins.below)))
        for some in (tally, Tally(plan)):
            gone: Any = {"low": math.nan, "high": math.nan, "needed": None}
            rows = [replace(row, **gone) for row in unbounded(some, estimator)]
            expected = [replace(row, **gone) for row in estimate(some, estimator=estimator, refuse=False)]
            assert list(map(repr, rows)) == list(map(repr, expected))  # NaN is not equal to itself, but reads the same


# -- leverage, and the ends of what may be asked


def test_leverage_is_the_range_of_what_one_report_can_say() -> None:
    plan = design(Schema([Numeric("x", 0, 10), Categorical("c", ["a", "b", "c"])]), 1.0, numeric="duchi", k=1)
    bound = float(plan.channel("x").decode(1)[0])
    low, high = sorted(set(plan.channel("c").decode(0)))
    rows = leverage(plan)
    assert [(row.attribute, row.category) for row in rows] == [("x", None), ("c", "a"), ("c", "b"), ("c", "c")]
    assert [row.shift for row in rows] == pytest.approx([2 * bound * 5, *[float(high - low)] * 3])


def test_leverage_on_the_mean_of_the_present_is_that_at_the_worse_end() -> None:
    plan = design(Schema([Numeric("x", 0, 10, optional=True)]), 1.0, numeric="duchi")
    channel = plan.channel("x")
    mean, share = leverage(plan)
    outputs = [channel.decode(y) for y in range(3)]
    ranges = []
    for point in (-1, 1):
        moved = [value - point * (1 - missing) for value, missing in outputs]
        ranges.append(max(moved) - min(moved))
    assert mean.shift == pytest.approx(5 * float(max(ranges)))
    missing = [value for _, value in outputs]
    assert share.shift == pytest.approx(float(max(missing) - min(missing)))
    assert (mean.category, share.category) == (None, MISSING)


def test_no_more_than_all_reports_are_malicious() -> None:
    plan = design(Schema([Numeric("x", 0, 10)]), 1.0, numeric="duchi")
    tally = Tally(plan, 100, [100], [[60, 40]])
    bound = float(plan.channel("x").decode(1)[0])
    shifts = {m: manipulation(tally, m)[0].shift for m in (0, 1, 99, 100, 101, 10**9)}
    for m, shift in shifts.items():
        assert shift == pytest.approx(min(m, 100) / 100 * 2 * bound * 5)
    for junk in (True, 1.0, "1", None, -1):
        with pytest.raises(EstimateError, match="whole number"):
            manipulation(tally, junk)  # type: ignore[arg-type]


def test_the_bound_for_the_present_is_infinite_when_nobody_may_be_left() -> None:
    plan = design(Schema([Numeric("x", 0, 10, optional=True)]), 1.0, numeric="duchi")
    channel, tally = plan.channel("x"), Tally(plan, 1000, [1000], [[400, 350, 250]])
    presence = [float(1 - channel.decode(y)[1]) for y in range(3)]
    values = [float(channel.decode(y)[0]) for y in range(3)]
    present = sum(count * here for count, here in zip(tally.counts[0], presence, strict=True))
    total = sum(count * value for count, value in zip(tally.counts[0], values, strict=True))
    spread = max(presence) - min(presence)
    moved = [value - total / present * here for value, here in zip(values, presence, strict=True)]
    last = math.ceil(present / spread) - 1
    for m in (1, 10, last):
        expected = 5 * m * (max(moved) - min(moved)) / (present - m * spread)
        assert manipulation(tally, m)[0].shift == pytest.approx(expected)
    assert math.isinf(manipulation(tally, last + 1)[0].shift)


def test_the_papers_estimator_counts_those_who_were_not_asked_as_zero() -> None:
    plan = design(Schema([Numeric("x", 0, 10), Numeric("y", 0, 10)]), 1.0, numeric="duchi", k=1)
    tally = Tally(plan, 100, [60, 40], [[36, 24], [10, 30]])
    bound = float(plan.channel("x").decode(1)[0])
    x, y = estimate(tally, estimator="paper")
    assert x.point == pytest.approx(5 + 5 * 2 * (24 - 36) * bound / 100)
    assert y.point == pytest.approx(5 + 5 * 2 * (30 - 10) * bound / 100)
    assert (x.answers, y.answers) == (60, 40)
    for n, row in ((60, x), (40, y)):
        mean = (row.point - 5) / 5
        square = n / 100 * (2 * bound) ** 2
        assert row.stderr == pytest.approx(5 * math.sqrt((square - mean**2) / 99))
    # One report moves a value of 2B to one of -2B.
    assert manipulation(tally, 3, estimator="paper")[0].shift == pytest.approx(5 * 3 / 100 * 4 * bound)
    with pytest.raises(EstimateError, match="paper"):
        manipulation(tally, 3, estimator="other")  # type: ignore[arg-type]


def test_the_ends_of_a_level() -> None:
    tally = filled(plans()["grr"], 50)
    assert len(estimate(tally, level=1 - 1e-9)) == len(estimate(tally, level=1e-12)) == len(estimate(tally))
    for level in (math.nextafter(1 - 1e-9, 1), 0.0, 1):
        with pytest.raises(EstimateError, match="level"):
            estimate(tally, level=level)


def test_scales_of_domains_that_are_not_symmetric() -> None:
    plan = design(Schema([Numeric("x", -2, 10)]), 1.0, numeric="duchi")
    bound = float(plan.channel("x").decode(1)[0])
    tally = Tally(plan, 1000, [1000], [[400, 600]])
    (row,) = estimate(tally)
    assert row.point == points(tally)[0] == pytest.approx(4 + 6 * 0.2 * bound)
    assert row.stderr == pytest.approx(6 * bound * math.sqrt((1 - 0.2**2) / 999))
    assert manipulation(tally, 1)[0].shift == pytest.approx(6 * 2 * bound / 1000)


@pytest.mark.parametrize("name", ["cube", "grr", "oue", "multi", "hybrid", "laplace", "cells"])
def test_the_papers_points_are_averages_of_what_reports_decode_to(name: str) -> None:
    """Over all reports: a question that was not asked counts as 0, one that was as its value over its probability."""
    plan, coins = plans()[name], SeededCoins(8)
    sent = [randomise_from(coins, plan, any_record(plan, coins.below)) for _ in range(60)]
    tally = Tally(plan)
    tally.update(sent)
    rows = iter(estimate(tally, estimator="paper", refuse=False))
    for j, question in enumerate(plan.questions):
        outputs = [output for report in sent for index, output in report.answers if index == j]
        totals = [sum(values) for values in zip(*map(question.channel.decode, outputs), strict=True)]
        for total, row in zip(totals, rows, strict=False):
            attribute = plan.schema[row.attribute]
            point = float(total / plan.inclusions[j] / len(sent))
            if isinstance(attribute, Numeric):
                point = (attribute.low + attribute.high) / 2 + (attribute.high - attribute.low) / 2 * point
            assert row.point == pytest.approx(point)


def test_what_is_known_of_the_variance_is_of_the_values_that_are_averaged() -> None:
    """Half of the people are asked; for the paper's estimator their values count twice, and the others are 0."""
    tally = filled(plans()["hybrid"], 30)
    seen = 0
    for target, other in zip(targets(tally, "ratio"), targets(tally, "paper"), strict=True):
        reading, sample, paper = target.parts[0][2], target.sample, other.sample
        if reading.squares is not None:
            assert isinstance(sample, Sample)
            assert isinstance(paper, Sample)
            assert paper.squares is not None
            assert sample.squares is reading.squares
            assert paper.squares.variances(0.0)[0] == pytest.approx(2 * reading.squares.variances(0.0)[0])
            seen += 1
    assert seen


@pytest.mark.parametrize("name", ["duchi", "grr"])
def test_two_values_are_three_for_the_papers_estimator(name: str) -> None:
    """The variance of a question asked of a quarter: 4*E[value^2] - mean^2, which the mean decides."""
    attributes = [Numeric(f"x{i}", 0, 1) for i in range(4)]
    plan = design(Schema(attributes), 4.0, k=1, numeric="duchi")
    mean = 0.0
    if name == "grr":
        plan = design(Schema([Categorical(f"c{i}", range(2)) for i in range(4)]), 4.0, k=1, categorical="grr")
        mean = 0.5
    sample = next(targets(filled(plan, 30), "paper")).sample
    assert isinstance(sample, Sample)
    assert sample.squares is not None
    assert sample.squares.ends == ((-1, 1) if name == "duchi" else (0, 1))
    low, high = sample.smallest / 4, sample.largest / 4
    square = (low + high) * mean - low * high
    assert [*sample.squares.variances(mean)] == pytest.approx([4 * square - mean**2] * 2)


def test_a_ratio_beyond_the_domain_is_bounded_too() -> None:
    """By chance the mean of the present may lie outside; then the output for "missing" moves it most."""
    plan = design(Schema([Numeric("x", -1, 1, optional=True)]), 1.0, numeric="duchi")
    channel = plan.channel("x")
    outputs = [tuple(map(float, channel.decode(y))) for y in range(3)]
    infinite = 0
    for extra in range(12):
        counts = [10, 900 + extra, 90]
        tally = Tally(plan, sum(counts), [sum(counts)], [counts])
        value = sum(count * v for count, (v, _) in zip(counts, outputs, strict=True))
        here = sum(count * (1 - m) for count, (_, m) in zip(counts, outputs, strict=True))
        assert value / here > 1
        moved = [v - value / here * (1 - m) for v, m in outputs]
        assert moved[2] == max(moved)
        spread = max(m for _, m in outputs) - min(m for _, m in outputs)
        last = math.ceil(here / spread) - 1
        for m in (1, last):
            expected = m * (max(moved) - min(moved)) / (here - m * spread)
            assert manipulation(tally, m)[0].shift == pytest.approx(expected)
        assert math.isinf(manipulation(tally, last + 1)[0].shift)
        infinite += -1 < here - (last + 1) * spread < 0
    assert infinite  # by less than one report's worth too


def test_intervals_of_the_paper_are_mirrored_with_the_reports() -> None:
    """Of signs, and of few of them: what may be missing counts as much at one end of the domain as at the other."""
    plan = design(Schema([Numeric(name, -1, 1) for name in "abcde"]), 2.0, numeric="cube")
    counts = [5, 0, 0, 1, 1, 1, 0, 2, 0, 0]
    mirrored = [counts[place ^ 1] for place in range(10)]
    rows, others = (
        estimate(Tally(plan, 5, [5], [each]), estimator="paper", refuse=False) for each in (counts, mirrored)
    )
    for row, other in zip(rows, others, strict=True):
        assert [-other.high, -other.low] == pytest.approx([row.low, row.high], abs=1e-9)
        assert other.point == pytest.approx(-row.point)
