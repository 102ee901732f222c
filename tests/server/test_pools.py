"""Several questions about one attribute: unbiased together, with weights that no answer changes, intervals, bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from hush import Categorical, Numeric, Plan, Schema, Tally, estimate, manipulation
from hush.core.channels import Channel, Output
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands
from hush.planning.assumed import Guess
from hush.planning.predictions import predict
from hush.server.binomial import at_least, at_most
from hush.server.estimates import points
from hush.server.intervals import Pool, Ratio, pool_interval, summarise
from hush.server.manipulations import leverage
from hush.server.sources import sources
from tests.cases import SMALL, related_plan, small_cells, small_rows, small_window

EPSILON = Fraction(2)
SCHEMA = Schema(
    [
        Numeric("x", -1, 1),
        Numeric("y", 0, 10, optional=True),
        Categorical("g", ["a", "b", "c"]),
        Categorical("h", [1, 2]),
    ]
)


def pooled_plan(weights: tuple[int, ...] | None = None) -> Plan:
    """Every attribute is asked in two or three questions, by channels whose laws can be listed."""
    questions = (
        Question(["x"], small_window(EPSILON, 5, 2)),
        Question(["y"], small_window(EPSILON, 9, 2, True)),
        Question(["g"], grr(EPSILON, 3)),
        Question(["h"], grr(EPSILON, 2)),
        Question(["g", "x"], small_rows(EPSILON, 3, 1, 4, 2)),
        Question(["g", "y"], small_rows(EPSILON, 3, 2, 3, 1, True)),
        Question(["g", "h"], small_cells(EPSILON, (3, 2), 2)),
        Question([Bands("x", (0.0,)), "h"], small_cells(EPSILON, (2, 2), 1)),
    )
    return Plan(SCHEMA, EPSILON, 1, questions, weights=weights or (3, 3, 1, 1, 4, 5, 2, 1))


PLAN = pooled_plan()
PEOPLE: list[tuple[Fraction, dict[str, Any]]] = [
    (Fraction(1, 2), {"x": -0.5, "y": 2.5, "g": "a", "h": 1}),
    (Fraction(1, 4), {"x": 0.25, "y": 7.5, "g": "b", "h": 1}),
    (Fraction(1, 8), {"x": 1.0, "y": None, "g": "b", "h": 2}),
    (Fraction(1, 8), {"x": 0.75, "y": None, "g": "a", "h": 2}),
]
TRUTH = {
    ("x", None): 0.03125,
    ("y", None): 12.5 / 3,
    ("y", "(missing)"): 0.25,
    ("g", "a"): 0.625,
    ("g", "b"): 0.375,
    ("g", "c"): 0.0,
    ("h", 1): 0.75,
    ("h", 2): 0.25,
}


def law_of(plan: Plan, index: int) -> dict[Output, Fraction]:
    """The law of an answer of somebody drawn from the people."""
    law: dict[Output, Fraction] = {}
    channel = plan.questions[index].channel
    for share, record in PEOPLE:
        for state, rounded in channel.rounding(plan.seen(index, plan.schema.encode(record))).items():
            for output, chance in channel.law(state).items():
                law[output] = law.get(output, Fraction(0)) + share * rounded * chance
    return law


def counted(channel: Channel, outputs: Sequence[Output], times: Sequence[int]) -> list[int]:
    counts = [0] * channel.alphabet.size
    for output, n in zip(outputs, times, strict=True):
        for member in (output,) if isinstance(output, int) else output:
            counts[member] += n
    return counts


def typical(plan: Plan, answered: Sequence[int]) -> Tally:
    """A tally in proportion to the laws, as nearly as whole numbers can be."""
    counts = []
    for index, n in enumerate(answered):
        law = law_of(plan, index)
        times = [math.floor(n * chance) for chance in law.values()]
        times[0] += n - sum(times)
        counts.append(counted(plan.questions[index].channel, [*law], times))
    return Tally(plan, sum(answered), [*answered], counts)


MANY = [10**13 * (i + 1) for i in range(8)]


@pytest.mark.parametrize("answered", [MANY, MANY[::-1], [10**13] * 4 + [0] * 4, [0] * 4 + [10**13] * 4])
def test_points_are_exactly_unbiased_however_people_are_spread(answered: list[int]) -> None:
    """From expected counts: the truth, whichever questions were answered, and how often."""
    tally = typical(PLAN, answered)
    found = {(row.attribute, row.category): row for row in estimate(tally)}
    assert found.keys() == TRUTH.keys()
    for key, row in found.items():
        assert row.point == pytest.approx(TRUTH[key], abs=1e-6)  # inputs of windows are rounded to 2^-24
        assert row.low <= (row.point if row.category is None else max(row.point, 0.0)) <= row.high
    assert points(tally) == [row.point for row in found.values()]


def test_answers_count_from_all_questions() -> None:
    tally = typical(PLAN, [100 * (i + 1) for i in range(8)])
    answers = {(row.attribute, row.category): row.answers for row in estimate(tally)}
    assert answers["x", None] == 100 + 500
    assert answers["y", None] == answers["y", "(missing)"] == 200 + 600
    assert answers["g", "c"] == 300 + 500 + 600 + 700
    assert answers["h", 2] == 400 + 700 + 800


def drawn(plan: Plan, n: int, random: np.random.Generator) -> Tally:
    """n people answer: counts drawn from the laws."""
    inclusions = np.array([float(p) for p in plan.inclusions])
    answered = [int(k) for k in random.multinomial(n, inclusions)]
    counts = []
    for index, k in enumerate(answered):
        law = _law(plan, index)
        times = [int(c) for c in random.multinomial(k, law[1])]
        counts.append(counted(plan.questions[index].channel, law[0], times))
    return Tally(plan, n, answered, counts)


_laws: dict[tuple[str, int], tuple[list[Output], np.ndarray[Any, Any]]] = {}


def _law(plan: Plan, index: int) -> tuple[list[Output], np.ndarray[Any, Any]]:
    if (plan.id, index) not in _laws:
        law = law_of(plan, index)
        _laws[plan.id, index] = [*law], np.array([float(p) for p in law.values()])
    return _laws[plan.id, index]


def test_weights_follow_from_the_plan_and_the_numbers_of_answers_alone() -> None:
    """Two surveys with the same numbers of answers and other contents; and less noise or more answers weigh more."""
    random = np.random.default_rng(1)
    one = drawn(PLAN, 4000, random)
    other = typical(PLAN, one.answered)
    assert one.counts != other.counts
    pools = 0
    for first, second in zip(sources(PLAN, one), sources(PLAN, other), strict=True):
        pool, again = first.pooled(), second.pooled()
        assert isinstance(pool, Pool)
        assert isinstance(again, Pool)
        assert [weight for weight, _ in pool.parts] == [weight for weight, _ in again.parts]
        assert math.fsum(weight for weight, _ in pool.parts) == pytest.approx(1)
        for (weight, _), source in zip(pool.parts, first.sources, strict=True):
            rest = sum(each.n / each.noise for each in first.sources)
            assert weight == pytest.approx(source.n / source.noise / rest)
        pools += 1
    assert pools == 8


def test_a_pool_is_better_than_its_best_part() -> None:
    tally = typical(PLAN, [10**6] * 8)
    for target in sources(PLAN, tally):
        pool = target.pooled()
        assert isinstance(pool, Pool)
        assert pool.stderr < min(part.stderr for _, part in pool.parts)


def test_people_who_answer_several_questions_are_read_once() -> None:
    """Their answers are not independent: the question about the attribute alone counts."""
    small = SMALL["grr-2"](Fraction(1))
    schema = Schema([Categorical("h", [1, 2]), Categorical("i", [1, 2])])
    questions = (
        Question(["h", "i"], small_cells(Fraction(1), (2, 2), 1)),
        Question(["h"], small),
        Question(["i"], small),
    )
    plan = Plan(schema, Fraction(2), 2, questions)
    for target in sources(plan):
        assert [source.channel for source in target.sources] == [small]
    together = Plan(schema, Fraction(2), 1, questions)
    assert [len(target.sources) for target in sources(together)] == [2] * 4


# -- intervals


def simulated(n: int, surveys: int, seed: int, narrower: float = 1.0) -> dict[Any, int]:
    """How many of the intervals of each target cover the truth."""
    random = np.random.default_rng(seed)
    covered = dict.fromkeys(TRUTH, 0)
    for _ in range(surveys):
        for row in estimate(drawn(PLAN, n, random), refuse=False):
            truth = TRUTH[row.attribute, row.category]
            low, high = (row.point + (end - row.point) * narrower for end in (row.low, row.high))
            covered[row.attribute, row.category] += low <= truth <= high
    return covered


def alarms(covered: dict[Any, int], surveys: int, most: float) -> list[Any]:
    """Targets whose coverage is not from 94 % to `most`: each tail is taken for chance above 1e-7, 16 of them."""
    return [
        key
        for key, count in covered.items()
        if at_most(count, surveys, 0.94) < 1e-7 or at_least(count, surveys, most) < 1e-7
    ]


@pytest.mark.parametrize(("n", "most"), [(4000, 0.965), (400, 0.985)])
def test_intervals_of_pools_cover_as_they_say(n: int, most: float) -> None:
    """At the level 0.95. With few people those of shares are wider, as Clopper and Pearson's are."""
    assert alarms(simulated(n, 200, 2), 200, most) == []


def test_intervals_that_are_too_narrow_are_noticed() -> None:
    """The twin: half as wide."""
    assert len(alarms(simulated(4000, 200, 2, narrower=0.5), 200, 0.965)) == 8


def test_many_surveys_cover_as_they_say() -> None:
    for n, most in ((4000, 0.965), (400, 0.985), (80, 1.0)):
        assert alarms(simulated(n, 4000, 3), 4000, most) == []


@pytest.mark.parametrize("epsilon", [1, 4, 6])
@pytest.mark.parametrize("answered", [(30, 40), (100, 150)])
def test_shares_are_covered_exactly_enough(epsilon: int, answered: tuple[int, int]) -> None:
    """By enumeration: two questions about one of 50 categories, if hardly anybody holds it, or a tenth, or half."""
    channel = grr(Fraction(epsilon), 50)
    p, q = float(channel.p), float(channel.q)
    values = -q / (p - q), (1 - q) / (p - q)
    n = sum(answered)
    for share in (0.0, 0.002, 0.02, 0.1, 0.5):
        chance = q + share * (p - q)
        covered = 0.0
        for count in range(n + 1):
            weight = comb(n, count) * chance**count * (1 - chance) ** (n - count)
            if weight < 1e-9:
                continue
            first = min(count, answered[0])
            split = zip(answered, (first, count - first), strict=True)
            parts = [(k / n, summarise((k - c, c), values)) for k, c in split]
            low, high = pool_interval(Pool(tuple(parts)), 0.95)
            if low <= share <= high:
                covered += weight
        assert covered >= 0.945


def test_one_answer_to_a_question_does_not_end_all_doubt() -> None:
    """One report shows no variance, which is no reason for an interval without width."""
    wide = typical(PLAN, [1000, 1000, 1, 1, 0, 0, 0, 0])
    for extra in ([1000, 1000, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1000, 1000, 1000, 1]):
        for row, single in zip(estimate(typical(PLAN, extra)), estimate(wide), strict=True):
            assert row.stderr > 0
            assert row.high - row.low > 0.5 * (single.high - single.low) / math.sqrt(
                max(row.answers / single.answers, 1)
            )


def test_a_pool_of_nobody_has_the_bounds_of_the_domain() -> None:
    for row in estimate(Tally(PLAN)):
        assert math.isnan(row.point)
        low, high = {"x": (-1, 1), "y": (0, 10)}.get(row.attribute, (0, 1)) if row.category is None else (0, 1)
        assert (row.low, row.high) == (low, high)


def test_relations_of_a_design_are_estimated() -> None:
    plan = related_plan()
    rows = estimate(Tally(plan))
    assert [(row.attribute, row.category) for row in rows][:3] == [
        ("age", None),
        ("hours", None),
        ("hours", "(missing)"),
    ]
    assert len(rows) == 1 + 2 + 3 + 3
    asked = {target.attribute.name: len(target.sources) for target in sources(plan)}
    assert asked == {"age": 2, "hours": 2, "edu": 4, "region": 3}


# -- malicious reports


def coin_plan(optional: bool) -> Plan:
    """Two questions about one attribute with few outputs each, and other noise."""
    if optional:
        schema = Schema([Numeric("x", -1, 1, optional=True), Categorical("g", [1, 2])])
        first = Question(["x"], small_window(Fraction(4), 2, 1, True))
        return Plan(schema, Fraction(4), 1, (first, Question(["g", "x"], small_rows(Fraction(3), 2, 1, 2, 1, True))))
    schema = Schema([Categorical("g", [1, 2]), Categorical("h", [1, 2])])
    asked = (Question(["g"], grr(Fraction(3), 2)), Question(["g", "h"], small_cells(Fraction(2), (2, 2), 1)))
    return Plan(schema, Fraction(4), 1, asked)


def tally_of(plan: Plan, reports: Sequence[tuple[int, int]]) -> Tally:
    counts = [[0] * question.channel.alphabet.size for question in plan.questions]
    for index, output in reports:
        counts[index][output] += 1
    return Tally(plan, len(reports), [sum(vector) for vector in counts], counts)


def largest_moves(plan: Plan, honest: int, malicious: int, rounds: int) -> int:
    """Compare every small survey with all that it could have been without its malicious reports. Count comparisons."""
    symbols = [(i, y) for i, question in enumerate(plan.questions) for y in range(question.channel.alphabet.size)]
    compared = 0
    random = np.random.default_rng(5)
    for _ in range(rounds):
        base = [symbols[i] for i in random.integers(len(symbols), size=honest)]
        for sent in product(symbols, repeat=malicious):
            seen = tally_of(plan, [*base, *sent])
            bounds = [row.shift for row in manipulation(seen, malicious)]
            at = points(seen)
            for other in product(symbols, repeat=malicious):
                moved = points(tally_of(plan, [*base, *other]))
                for here, there, bound in zip(at, moved, bounds, strict=True):
                    if not math.isnan(here) and not math.isnan(there):
                        assert abs(here - there) <= bound * (1 + 1e-9) + 1e-12
                        compared += 1
    return compared


@pytest.mark.parametrize(("honest", "malicious", "rounds"), [(5, 1, 12), (1, 2, 1), (0, 1, 1), (0, 2, 1)])
def test_no_malicious_reports_move_a_pooled_share_further(honest: int, malicious: int, rounds: int) -> None:
    """Every replacement of every malicious report is tried, by answers to the same question or to another."""
    assert largest_moves(coin_plan(False), honest, malicious, rounds) > 50


def test_nor_a_pooled_mean_of_the_present() -> None:
    assert largest_moves(coin_plan(True), 12, 1, 4) > 500


def test_a_bound_by_the_worst_source_alone_is_broken() -> None:
    """The twin: two reports to two questions, both malicious, move more than either alone could."""
    plan = coin_plan(False)
    seen, other = tally_of(plan, [(0, 0), (1, 0)]), tally_of(plan, [(0, 1), (1, 3)])
    (target, *_) = sources(plan, seen)
    pool = target.pooled()
    assert isinstance(pool, Pool)
    alone = max(weight * (part.largest - part.smallest) for weight, part in pool.parts)  # type: ignore[union-attr]
    moved = abs(points(seen)[0] - points(other)[0])
    assert alone < moved <= manipulation(seen, 2)[0].shift


def test_leverage_is_what_one_of_many_reports_can_move() -> None:
    """With answers as the plan expects them, and a point anywhere in the domain."""
    tally = typical(PLAN, [round(10**7 * float(p)) for p in PLAN.inclusions])
    for row, most, seen in zip(manipulation(tally, 1), leverage(PLAN), estimate(tally), strict=True):
        assert (row.attribute, row.category) == (most.attribute, most.category)
        present = 0.75 if (row.attribute, row.category) == ("y", None) else 1.0
        moved = row.shift * seen.answers * present
        assert 0.3 * most.shift <= moved <= 1.001 * most.shift


def test_ratios_are_pooled_as_a_ratio_of_pools() -> None:
    """So that a part whose share of the present is not above 0 by chance does no harm."""
    pool = sources(PLAN, typical(PLAN, [10**6] * 8))[1].pooled()
    assert isinstance(pool, Pool)
    (w0, one), (w1, other) = pool.parts
    assert isinstance(one, Ratio)
    assert isinstance(other, Ratio)
    bad = replace(other, denominator=replace(other.denominator, mean=-0.001))
    mixed = Pool(((w0, one), (w1, bad)))
    expected = (w0 * one.numerator.mean + w1 * bad.numerator.mean) / (w0 * one.denominator.mean - w1 * 0.001)
    assert mixed.point == pytest.approx(expected)
    assert math.isnan(Pool(((0.5, bad), (0.5, bad))).point)
    assert Pool(((0.5, bad), (0.5, bad))).stderr == math.inf


def test_the_papers_estimator_pools_as_the_other() -> None:
    tally = typical(PLAN, [1000] * 8)
    assert [*estimate(tally, estimator="paper")] == [*estimate(tally)]
    assert manipulation(tally, 3, estimator="paper")[0] == manipulation(tally, 3)[0]


def test_predictions_of_pools_come_true() -> None:
    """From expected counts: shares exactly, means to within a tenth and never too low; the worst case is worse."""
    n = 10**6
    tally = typical(PLAN, [round(n * float(p)) for p in PLAN.inclusions])
    guesses: dict[str, Any] = {"g": {"a": 0.625, "b": 0.375}, "h": {1: 0.75, 2: 0.25}}
    for name in ("x", "y"):
        present = [(float(share), record[name]) for share, record in PEOPLE if record[name] is not None]
        here = math.fsum(share for share, _ in present)
        mean = math.fsum(share * value for share, value in present) / here
        spread = math.sqrt(math.fsum(share * (value - mean) ** 2 for share, value in present) / here)
        guesses[name] = Guess(mean, spread, 1 - here)
    rows = zip(estimate(tally), predict(PLAN, n, guesses=guesses), predict(PLAN, n), strict=True)
    for row, guessed, worst in rows:
        assert (row.attribute, row.category) == (guessed.attribute, guessed.category)
        assert guessed.answers == pytest.approx(row.answers, rel=1e-4)
        most = 1.1 if row.category is None else 1.001
        # The interval of a share of 0 is laid around 0 and cut there: its upper half remains.
        half = (row.high - row.low) / 2 if row.low > 0 or row.category is None else row.high - max(row.point, 0.0)
        for said, found in ((guessed.stderr, row.stderr), (guessed.margin, half)):
            assert 0.995 * found <= said <= most * found
        assert worst.stderr >= guessed.stderr
