"""The blanket of a plan is the minimum over all records, exactly, and its sampler follows it.

The chi-square tests raise a false alarm with a probability of 1e-6 each; their coins have fixed seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any, ClassVar

import pytest

import hush
from hush.core import blanket as blankets
from hush.core.blanket import Blanket, ChannelBlanket, EvenBlanket, _sums, below, blanket_of
from hush.core.channels import Output, State, Subset
from hush.core.coins import Coins
from hush.core.exact import WORD
from hush.core.plan import Plan
from hush.errors import PlanError
from hush.testing import ListedCoins, SeededCoins
from tests.cases import SMALL, branches
from tests.statistical.test_sampler import chi_square

SCHEMA = hush.Schema(
    [hush.Categorical("c", ["a", "b", "c"]), hush.Categorical("d", ["x", "y"]), hush.Categorical("e", list("pqrs"))]
)
ONE, TWO, ALL = hush.design(SCHEMA, 2.0, k=1), hush.design(SCHEMA, 3.0, k=2), hush.design(SCHEMA, 6.0, k=3)
WEIGHTED = hush.design(SCHEMA, 2.0, k="weighted", importance={"c": 1, "d": 5, "e": 2})
Answers = tuple[tuple[int, Output], ...]


def minimum(plan: Plan) -> dict[Answers, Fraction]:
    """The smallest probability of every report over all records, without the blanket's code."""
    channels = [question.channel for question in plan.questions]
    chosen = list(combinations(range(len(channels)), plan.k))
    weights = [Fraction(1, len(chosen))] * len(chosen)
    if plan.weights is not None:
        weights = [Fraction(weight, sum(plan.weights)) for weight in plan.weights]
    found: dict[Answers, Fraction] = {}
    for states in product(*(channel.states() for channel in channels)):
        laws = [channel.law(state) for channel, state in zip(channels, states, strict=True)]
        for some, weight in zip(chosen, weights, strict=True):
            for outputs in product(*(laws[index] for index in some)):
                answers = tuple(zip(some, outputs, strict=True))
                chance = prod((laws[i][y] for i, y in answers), start=weight)
                found[answers] = min(chance, found.get(answers, Fraction(1)))
    return found


def normalised(weights: dict[Answers, Fraction]) -> dict[Answers, Fraction]:
    total = sum(weights.values(), Fraction(0))
    return {answers: weight / total for answers, weight in weights.items()}


@pytest.mark.parametrize("plan", [ONE, TWO, ALL, WEIGHTED])
def test_it_is_the_minimum_over_all_records(plan: Plan) -> None:
    blanket, law = Blanket(plan), normalised(minimum(plan))
    for index, channel in enumerate(blanket.channels):
        holds = {answers: chance for answers, chance in law.items() if index in dict(answers)}
        answered = sum(holds.values(), Fraction(0))
        assert blanket.answered[index] == answered
        for output, weight in channel.least.items():
            exactly = sum((chance for answers, chance in holds.items() if dict(answers)[index] == output), Fraction(0))
            assert exactly == answered * weight / channel.size
    assert sum(blanket.answered) == plan.k


@pytest.mark.parametrize("plan", [ONE, TWO])
def test_draws_follow_it(plan: Plan) -> None:
    blanket, coins = Blanket(plan), SeededCoins(7)
    counts = Counter(blanket.draw(coins) for _ in range(20_000))
    statistic, limit = chi_square(counts, normalised(minimum(plan)))  # type: ignore[arg-type]
    assert statistic < limit


class EvenQuestions(Blanket):
    """A broken twin: it draws the questions as people do, whatever the size of their channels' blankets."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._shares = [1] * len(plan.questions)
        self._sums = [[1, len(plan.questions) - start] for start in range(len(plan.questions) + 1)]


def test_a_draw_of_questions_as_people_do_is_caught() -> None:
    blanket, coins = EvenQuestions(ONE), SeededCoins(7)
    counts = Counter(blanket.draw(coins) for _ in range(20_000))
    statistic, limit = chi_square(counts, normalised(minimum(ONE)))  # type: ignore[arg-type]
    assert statistic > limit


def test_every_report_comes_from_it_with_at_least_its_size() -> None:
    for question in hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 4.0).questions:
        channel = question.channel
        blanket = ChannelBlanket.of(channel)
        assert 0 < blanket.size < 1
        for state in channel.states():
            law = channel.law(state)
            assert all(law[output] >= weight for output, weight in blanket.least.items())


@pytest.mark.parametrize("name", ["grr-5", "subset-9", "oue-2", "cells-sets-2-3", "duchi-optional", "rows-2-1-2-1"])
def test_what_is_said_of_a_channels_blanket_follows_from_its_laws(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    laws = [channel.law(state) for state in channel.states()]
    least = {y: min(law[y] for law in laws) for y in laws[0]}
    total = sum(least.values(), Fraction(0))
    blanket = ChannelBlanket.of(channel)
    assert (blanket.least, blanket.size) == (least, total)
    members = {y: (y,) if isinstance(y, int) else y for y in least}
    for member, chance in enumerate(blanket.chances):
        assert chance == sum((p for y, p in least.items() if member in members[y]), Fraction(0)) / total
    assert blanket.law == pytest.approx({y: float(p / total) for y, p in least.items()})
    sizes = [(len(members[y]), p / total) for y, p in least.items()]
    pairs = sum((p * n * (n - 1) for n, p in sizes), Fraction(0))
    assert blanket.members == pytest.approx((float(sum((p * n for n, p in sizes), Fraction(0))), float(pairs)))


class Listed(Subset):
    """A channel whose states are listed with whatever law."""

    laws: ClassVar[list[dict[Output, Fraction]]]

    def states(self) -> Iterator[State]:
        yield from range(len(self.laws))

    def law(self, state: State) -> dict[Output, Fraction]:
        assert isinstance(state, int)
        return self.laws[state]


def test_outputs_that_somebody_never_reports_are_not_in_it() -> None:
    channel = Listed(4, 1, WORD // 2)
    half, third = Fraction(1, 2), Fraction(1, 3)
    Listed.laws = [{3: half, 1: half}, {1: third, 0: third, 3: third}, {1: half, 0: half}]
    assert ChannelBlanket.of(channel).least == {1: third}
    Listed.laws = Listed.laws[:2]
    assert list(ChannelBlanket.of(channel).least.items()) == [(1, third), (3, third)]


def test_a_plan_without_a_blanket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = ChannelBlanket(ONE.questions[1].channel, {})
    real = ChannelBlanket.of
    monkeypatch.setattr(ChannelBlanket, "of", lambda channel: bare if channel == bare.channel else real(channel))
    with pytest.raises(PlanError, match="has no blanket"):
        Blanket(ONE)


class Nothing:
    """A channel that always says 0."""

    def draw(self, coins: Coins) -> Output:
        return 0


@pytest.mark.parametrize("k", [1, 2, 3])
def test_questions_are_drawn_in_proportion_to_the_product_of_their_shares(k: int) -> None:
    """Every path, for small shares."""
    blanket, shares = Blanket(ONE), [1, 2, 4]
    blanket.plan = hush.design(SCHEMA, 6.0, k=k)
    blanket.channels, blanket._shares, blanket._sums = [Nothing()] * 3, shares, _sums(shares, k)  # type: ignore[list-item]
    weights = {chosen: prod(shares[i] for i in chosen) for chosen in combinations(range(3), k)}
    found: Any = branches(blanket.draw)  # type: ignore[arg-type]
    total = sum(weights.values())
    assert found == {tuple((i, 0) for i in chosen): Fraction(weight, total) for chosen, weight in weights.items()}


def test_channels_draw_in_proportion_to_the_least_probabilities() -> None:
    """Every integer below the common denominator: the words are those that `below` takes as this integer."""
    blanket = ChannelBlanket(ONE.questions[0].channel, {0: Fraction(1, 6), 1: Fraction(1, 4), 2: Fraction(1, 3)})
    counts = Counter(blanket.draw(ListedCoins([(2 * i + 1) * WORD // 18])) for i in range(9))
    assert counts == {0: 2, 1: 3, 2: 4}
    assert [blanket.draw(ListedCoins([(2 * i + 1) * WORD // 18])) for i in range(9)] == [0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_a_table_of_the_largest_size_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three states of four outputs: one state more is too many."""
    monkeypatch.setattr(blankets, "MOST", 12)
    channel = Listed(4, 1, WORD // 2)
    Listed.laws = [dict.fromkeys(range(4), Fraction(1, 4))] * 3
    assert ChannelBlanket.of(channel).size == 1
    Listed.laws = Listed.laws[:1] * 4
    with pytest.raises(PlanError, match="more than 12 entries"):
        ChannelBlanket.of(channel)


def test_a_table_that_is_too_large_is_refused() -> None:
    schema = hush.Schema([hush.Categorical("town", [f"town {i}" for i in range(100)])])
    with pytest.raises(PlanError, match="more than 262144 entries"):
        blanket_of(hush.design(schema, 1.0, categorical="oue"))
    with pytest.raises(PlanError, match="more than 262144 entries"):
        blanket_of(hush.design(hush.Schema([hush.Categorical("town", range(1000))]), 1.0, categorical="geometry"))


@pytest.mark.parametrize("weight", [1, 2, 3, 4])
def test_sets_need_no_table(weight: int) -> None:
    """What the formulas say is what the table says, and draws are uniform: every path of the sampler is tried."""
    channel = Subset(5, weight, WORD // 16 * 15)
    listed, even = ChannelBlanket.of(channel), EvenBlanket(channel, {})
    assert even.size == listed.size
    assert even.chances == listed.chances
    assert even.members == pytest.approx(listed.members)
    assert branches(even.draw) == {output: least / listed.size for output, least in listed.least.items()}


def test_sets_whose_table_is_too_large_are_drawn_too() -> None:
    schema = hush.Schema([hush.Categorical("town", [f"town {i}" for i in range(100)])])
    plan = hush.design(schema, 1.0)
    (blanket,) = blanket_of(plan).channels
    assert isinstance(blanket, EvenBlanket)
    report = hush.Report(plan, bytes(16), blanket_of(plan).draw(SeededCoins(3)))
    assert hush.Report.decode(plan, report.encode()) == report
    with pytest.raises(PlanError, match="more than 262144 entries"):
        _ = blanket.law


def test_numbers_above_a_word_are_drawn_from_several() -> None:
    n = 5 * WORD  # 67 bits: two words, whose lowest 61 bits are dropped
    assert below(ListedCoins([0, 0]), n) == 0
    assert below(ListedCoins([3 << 61, 1 << 61]), n) == (3 << 64) + 1
    assert below(ListedCoins([7 << 61, 0, 1 << 61, 0]), n) == 1 << 64, "one that is too large is drawn again"
    assert below(ListedCoins([5 << 61, 0, 1 << 61, 0]), n) == 1 << 64, "nor may it be n itself"
    assert below(ListedCoins([3, 7]), 1 << 127) == (3 << 64) + 7, "128 bits: two words"
    assert below(ListedCoins([3 << 62]), 10) == 7
    assert below(ListedCoins([5]), WORD) == 5
    assert below(ListedCoins([0, 1]), WORD + 1) == 0, "65 bits of two words"
    assert below(ListedCoins([1 << 63, 0]), WORD + 1) == WORD
    assert below(ListedCoins([1 << 63, 1 << 63, 0, 1 << 63]), WORD + 1) == 1
