"""The blanket of a plan is the minimum over all records, exactly, and its sampler follows it.

The chi-square tests raise a false alarm with a probability of 1e-6 each; their coins have fixed seeds.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest

import hush
from hush.core.blanket import MOST, Blanket, ChannelBlanket, below, blanket_of
from hush.core.channels import Output
from hush.core.exact import WORD
from hush.core.plan import Plan
from hush.errors import PlanError
from hush.testing import ListedCoins, SeededCoins
from tests.statistical.test_sampler import chi_square

SCHEMA = hush.Schema(
    [hush.Categorical("c", ["a", "b", "c"]), hush.Categorical("d", ["x", "y"]), hush.Categorical("e", list("pqrs"))]
)
ONE, TWO = hush.design(SCHEMA, 2.0, k=1), hush.design(SCHEMA, 3.0, k=2)
Answers = tuple[tuple[int, Output], ...]


def minimum(plan: Plan) -> dict[Answers, Fraction]:
    """The smallest probability of every report over all records, without the blanket's code."""
    channels = [question.channel for question in plan.questions]
    chosen = list(combinations(range(len(channels)), plan.k))
    found: dict[Answers, Fraction] = {}
    for states in product(*(channel.states() for channel in channels)):
        laws = [channel.law(state) for channel, state in zip(channels, states, strict=True)]
        for some in chosen:
            for outputs in product(*(laws[index] for index in some)):
                answers = tuple(zip(some, outputs, strict=True))
                chance = prod((laws[i][y] for i, y in answers), start=Fraction(1, len(chosen)))
                found[answers] = min(chance, found.get(answers, Fraction(1)))
    return found


def normalised(weights: dict[Answers, Fraction]) -> dict[Answers, Fraction]:
    total = sum(weights.values(), Fraction(0))
    return {answers: weight / total for answers, weight in weights.items()}


@pytest.mark.parametrize("plan", [ONE, TWO])
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


def test_a_table_that_is_too_large_is_refused() -> None:
    schema = hush.Schema([hush.Categorical("town", [f"town {i}" for i in range(100)])])
    with pytest.raises(PlanError, match=f"more than {MOST} entries"):
        blanket_of(hush.design(schema, 1.0))


def test_numbers_above_a_word_are_drawn_from_several() -> None:
    n = 5 * WORD  # 67 bits: two words, whose lowest 61 bits are dropped
    assert below(ListedCoins([0, 0]), n) == 0
    assert below(ListedCoins([3 << 61, 1 << 61]), n) == (3 << 64) + 1
    assert below(ListedCoins([7 << 61, 0, 1 << 61, 0]), n) == 1 << 64, "one that is too large is drawn again"
    assert below(ListedCoins([3 << 62]), 10) == 7
