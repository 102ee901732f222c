"""Answers from memory: what all weeks together tell, by following every path of the code, in Fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hush import Categorical, Choices, Numeric, Plan, Schema, Tally, design
from hush.core.channels import Output, Window
from hush.core.coins import Coins
from hush.core.design.categorical import grr
from hush.core.exact import WORD, exp_bounds
from hush.core.plan import Question
from hush.core.report import Report
from hush.core.schema import Input
from hush.core.views import Bands, Product
from hush.device.memory import Levels, ask, cost_of, define, level, new, recall
from hush.testing import SeededCoins
from tests.cases import Branches, branches, plans, small_cells, small_rows, small_window

MOOD = design(Schema([Categorical("mood", ["good", "fair", "bad"])]), 1.0, categorical="grr")
STEPS = design(Schema([Numeric("steps", 0, 1)]), 1.0, numeric="duchi")


class Notes:
    """A memory in a dictionary. The broken ones forget, or do not tell apart, what `lost` says."""

    def __init__(self, lost: str = "") -> None:
        self.kept: dict[tuple[str, str, str], str] = {}
        self._lost = lost

    def _key(self, kind: str, subject: str, state: str) -> tuple[str, str, str]:
        return kind, "" if self._lost == "subject" else subject, "" if self._lost == "state" else state

    def find(self, kind: str, subject: str, state: str = "") -> str | None:
        return None if kind == self._lost else self.kept.get(self._key(kind, subject, state))

    def keep(self, value: str, kind: str, subject: str, state: str = "") -> None:
        self.kept[self._key(kind, subject, state)] = value


Week = Sequence[Input]
Law = dict[tuple[tuple[int, Output], ...], Fraction]


def answers(coins: Coins, plan: Plan, week: Week, notes: Notes, levels: int = 3) -> tuple[tuple[int, Output], ...]:
    return recall(coins, plan, ask(coins, plan, week, levels_of(plan, levels), notes), notes)


def levels_of(plan: Plan, levels: int = 3) -> Levels:
    """So many levels for each number that a question sees."""
    return tuple(tuple(levels if isinstance(item, Numeric) else None for item in seen) for seen in plan.attributes)


def transcripts(plan: Plan, history: Sequence[Week], lost: str = "") -> Law:
    """The exact law of the answers of all weeks together."""

    def sample(coins: Coins) -> Any:
        notes = Notes(lost)
        return tuple(answer for week in history for answer in answers(coins, plan, week, notes))

    law: Any = branches(sample)
    return dict(law)


def pattern(history: Sequence[object]) -> tuple[int, ...]:
    """Which weeks are equal: for each the first that has the same state."""
    return tuple(history.index(state) for state in history)


def largest_ratio(one: Law, other: Law) -> Fraction | None:
    """The largest ratio of the probabilities of what may be seen; None if something may be seen under `one` alone."""
    if not one.keys() <= other.keys():
        return None
    return max(one[seen] / other[seen] for seen in one)


# -- privacy


def test_histories_with_one_pattern_cost_epsilon_for_each_state() -> None:
    """All pairs of 81 histories of four weeks, and the bound is attained."""
    ratio = MOOD.ratio
    assert ratio <= exp_bounds(Fraction(1))[0]
    laws = {history: transcripts(MOOD, [[state] for state in history]) for history in product(range(3), repeat=4)}
    assert all(sum(law.values()) == 1 for law in laws.values())
    worst: dict[int, Fraction] = {}
    for one, other in product(laws, repeat=2):
        if pattern(one) == pattern(other):
            found = largest_ratio(laws[one], laws[other])
            assert found is not None
            states = len(set(one))
            worst[states] = max(worst.get(states, Fraction(0)), found)
    assert worst == {1: ratio, 2: ratio**2, 3: ratio**3}


def test_fresh_noise_costs_epsilon_for_each_week() -> None:
    """The twin that forgets its answers: four weeks without a change cost four times epsilon."""
    good, bad = (transcripts(MOOD, [[state]] * 4, lost="answer") for state in (0, 2))
    assert largest_ratio(good, bad) == MOOD.ratio**4


def test_a_change_is_not_hidden() -> None:
    """Two different answers are impossible without a change: no factor bounds these odds."""
    same, changed = transcripts(MOOD, [[0], [0]]), transcripts(MOOD, [[0], [1]])
    assert largest_ratio(changed, same) is None
    assert largest_ratio(same, changed) is not None  # the other way it is bounded: equal answers prove nothing
    assert largest_ratio(transcripts(MOOD, [[0], [1], [0]]), transcripts(MOOD, [[0], [1], [2]])) is not None
    assert largest_ratio(transcripts(MOOD, [[0], [1], [2]]), transcripts(MOOD, [[0], [1], [0]])) is None


def test_answers_follow_the_state() -> None:
    """Shares of every week are right on average. The twin with one answer for all states is private, and wrong."""
    decode = MOOD.channel("mood").decode

    def shares(lost: str) -> list[list[Fraction | int]]:
        law = transcripts(MOOD, [[0], [1]], lost)
        return [[sum(p * decode(seen[week][1])[i] for seen, p in law.items()) for i in range(3)] for week in range(2)]

    assert shares("") == [[1, 0, 0], [0, 1, 0]]
    assert shares("state") == [[1, 0, 0], [1, 0, 0]]


TWO = design(Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])]), 1.0, categorical="grr", k=1)
BOTH = design(TWO.schema, 2.0, categorical="grr", k=2)


def worst_of_constants(plan: Plan, lost: str, weeks: int) -> Fraction | None:
    """The largest ratio over all pairs of records that do not change; None if it is not bounded."""
    laws = [transcripts(plan, [record] * weeks, lost) for record in product(range(2), repeat=2)]
    found = [largest_ratio(one, other) for one, other in product(laws, repeat=2)]
    return None if None in found else max(ratio for ratio in found if ratio is not None)


def test_the_questions_are_kept() -> None:
    """The twin that draws them anew asks about both attributes in the end, and costs twice as much."""
    assert worst_of_constants(TWO, "", 2) == TWO.ratio
    assert worst_of_constants(TWO, "questions", 2) == TWO.ratio**2


def test_questions_do_not_share_answers() -> None:
    """The twin whose answers are known by the state alone tells who has the same state twice."""
    assert worst_of_constants(BOTH, "", 2) == BOTH.ratio
    assert worst_of_constants(BOTH, "subject", 1) is None


def test_several_questions_count_their_states_each() -> None:
    laws = {}
    for history in product(product(range(2), repeat=2), repeat=2):
        laws[history] = transcripts(BOTH, history)
    single = BOTH.questions[0].channel.ratio
    for one, other in product(laws, repeat=2):
        patterns = [[pattern([week[i] for week in history]) for i in range(2)] for history in (one, other)]
        if patterns[0] == patterns[1]:
            states = sum(len({week[i] for week in one}) for i in range(2))
            found = largest_ratio(laws[one], laws[other])
            assert found is not None
            assert found <= single**states


# -- views

BANDED = Schema([Numeric("x", 0, 1), Categorical("c", [0, 1])])
SHARED = Plan(
    BANDED,
    Fraction(2),
    2,
    (
        Question([Bands("x", (0.5,))], grr(Fraction(1), 2)),
        Question([Bands("x", (0.25, 0.5)), "c"], small_cells(Fraction(1), (3, 2), 1)),
    ),
)


def test_questions_that_share_a_number_count_the_states_that_they_see() -> None:
    """All pairs of histories of two weeks with the same patterns: each state costs its channel's ratio."""
    records = [(0.125, 0), (0.375, 0), (0.375, 1), (0.75, 1)]
    laws = {history: transcripts(SHARED, history) for history in product(records, repeat=2)}

    def patterns(history: Sequence[Week]) -> list[tuple[int, ...]]:
        return [pattern([SHARED.seen(index, week) for week in history]) for index in range(2)]

    worst = Fraction(0)
    for one, other in product(laws, repeat=2):
        if patterns(one) == patterns(other):
            found = largest_ratio(laws[one], laws[other])
            states = [len(set(each)) for each in patterns(one)]
            allowed = math.prod(q.channel.ratio**m for q, m in zip(SHARED.questions, states, strict=True))
            assert found is not None
            assert found <= allowed
            if states == [1, 1]:
                worst = max(worst, found)
    assert worst == SHARED.ratio  # the bound is attained


def test_a_number_that_moves_within_its_bands_has_one_state() -> None:
    notes = Notes()
    coins = SeededCoins(9)
    found = {answers(coins, SHARED, [x, 1], notes) for x in (0.3, 0.4, 0.5, 0.26)}
    assert len(found) == 1
    assert sum(kind == "answer" for kind, _, _ in notes.kept) == 2
    assert not any(kind == "dither" for kind, _, _ in notes.kept)  # bands are exact: there is nothing to round
    answers(coins, SHARED, [0.2, 1], notes)  # another band of one question alone
    assert sum(kind == "answer" for kind, _, _ in notes.kept) == 3


def test_a_dither_belongs_to_one_view_and_one_number_of_levels() -> None:
    """A number and its square do not share one; two questions about the same number do: it has one level."""
    schema = Schema([Numeric("x", 0, 1), Categorical("c", [0, 1])])
    square = Product(("x", "x"), (0.0, 0.0), 1.0)
    plan = Plan(
        schema,
        Fraction(3),
        3,
        (
            Question(["x"], small_window(Fraction(1), 5, 2)),
            Question(["c", "x"], small_rows(Fraction(1), 2, 1, 3, 1)),
            Question([square], small_window(Fraction(1), 5, 2)),
        ),
    )
    notes = Notes()
    one, two, other = ask(SeededCoins(3), plan, [0.3, 1], ((3,), (None, 3), (3,)), notes)
    kept = [int(value) for (kind, _, _), value in notes.kept.items() if kind == "dither"]
    assert len(kept) == 2
    assert one.state == f"[{level(0.3, 3, kept[0])}]"
    assert two.state == f"[1,{level(0.3, 3, kept[0])}]"
    assert other.state == f"[{level((0.3 * 0.3 + 1) / 2, 3, kept[1])}]"
    ask(SeededCoins(4), plan, [0.3, 1], ((3,), (None, 5), (3,)), notes)
    assert sum(kind == "dither" for kind, _, _ in notes.kept) == 3  # other levels, another dither


# -- numbers


class Representatives(Branches):
    """Words by classes that the code cannot tell apart: the first is a dither, the others are for the channel."""

    def __init__(self, path: list[int], channel: Window, dithers: Sequence[Fraction]) -> None:
        super().__init__(path, 0)
        ends = [*dithers[1:], Fraction(1)]
        half = 1 << 23  # the lower 24 bits round, and all that is rounded here is half way
        share = Fraction(channel.threshold, WORD)
        self._dithers = [(int(low * WORD), high - low) for low, high in zip(dithers, ends, strict=True)]
        self._words = [
            (start + offset, weight / 2)
            for start, weight in ((0, share), (channel.threshold, 1 - share))
            for offset in (0, half)
        ]
        self._drawn = 0

    def word(self) -> int:
        classes = self._words if self._drawn else self._dithers
        self._drawn += 1
        return classes[self._choose([weight for _, weight in classes])][0]


POINTS = (0.0, 0.25, 0.625, 1.0)
DITHERS = (Fraction(0), Fraction(1, 2), Fraction(3, 4))  # where 2x + u passes an integer, for these points


def dither_of(notes: Notes) -> str:
    """The only dither that is kept."""
    (found,) = (value for (kind, _, _), value in notes.kept.items() if kind == "dither")
    return found


def number_laws(weeks: int) -> dict[tuple[float, ...], dict[Fraction, Law]]:
    """For every history, given every class of the dither, the exact law of all answers (times that of the class)."""
    channel = STEPS.channel("steps")
    assert isinstance(channel, Window)
    result = {}
    for history in product(POINTS, repeat=weeks):
        laws: dict[Fraction, Law] = {dither: {} for dither in DITHERS}
        path: list[int] = []
        while True:
            coins, notes = Representatives(path, channel, DITHERS), Notes()
            seen = tuple(answer for x in history for answer in answers(coins, STEPS, [x], notes))
            law = laws[Fraction(int(dither_of(notes)), WORD)]
            law[seen] = law.get(seen, Fraction(0)) + coins.probability
            while path and path[-1] + 1 == coins.widths[len(path) - 1]:
                path.pop()
            if not path:
                break
            path[-1] += 1
        result[history] = laws
    return result


def test_numbers_cost_epsilon_for_each_level_that_they_visit() -> None:
    """Whoever knows the dither too: all pairs of 64 histories of three weeks whose levels have the same pattern."""
    laws = number_laws(3)
    compared = 0
    for dither in DITHERS:
        levels = {history: [level(x, 3, int(dither * WORD)) for x in history] for history in laws}
        for one, other in product(laws, repeat=2):
            if pattern(levels[one]) == pattern(levels[other]):
                found = largest_ratio(laws[one][dither], laws[other][dither])
                assert found is not None
                assert found <= STEPS.ratio ** len(set(levels[one]))
                compared += 1
    assert compared > 1000


def test_numbers_that_do_not_move_cost_epsilon_once() -> None:
    """Without knowing the dither: the mixture over it."""
    laws = {}
    for history, parts in number_laws(2).items():
        laws[history] = {
            seen: sum((law.get(seen, Fraction(0)) for law in parts.values()), Fraction(0))
            for law in parts.values()
            for seen in law
        }
    still = [law for (first, second), law in laws.items() if first == second]
    assert max(largest_ratio(one, other) or math.inf for one, other in product(still, repeat=2)) == STEPS.ratio
    moved = laws[0.25, 0.625]
    assert largest_ratio(moved, laws[0.25, 0.25]) is None  # and those that move show that they did


def test_every_week_is_right_on_average() -> None:
    channel = STEPS.channel("steps")
    for history, parts in number_laws(2).items():
        for week, x in enumerate(history):
            mean = sum(p * channel.decode(seen[week][1])[0] for law in parts.values() for seen, p in law.items())
            assert mean == 2 * Fraction(x) - 1


def words_up(x: float, levels: int) -> int:
    """How many dithers round up, by bisection: the level does not decrease with the dither."""
    bottom, low, high = level(x, levels, 0), 0, WORD
    while low < high:
        middle = (low + high) // 2
        if level(x, levels, middle) > bottom:
            high = middle
        else:
            low = middle + 1
    return WORD - low


@pytest.mark.parametrize("levels", [2, 3, 5, 17, 1025])
def test_dithers_round_right_on_average(levels: int) -> None:
    coins = SeededCoins(1)
    points = [0.0, 1.0, 0.5, 5e-324, 1 - 2**-53, 0.1, 1 / 3] + [coins.word() / WORD for _ in range(200)]
    for x in points:
        below = math.floor(Fraction(x) * (levels - 1))
        part = Fraction(x) * (levels - 1) - below
        assert level(x, levels, 0) == below
        assert level(x, levels, WORD - 1) in (below, below + 1)
        assert words_up(x, levels) == math.floor(part * WORD)
        assert 0 <= level(x, levels, WORD - 1) < levels
    for _ in range(20):
        dither = coins.word()
        found = [level(x, levels, dither) for x in sorted(points)]
        assert found == sorted(found)
        assert set(found) <= set(range(levels))


def test_a_kept_dither_meets_each_level_once() -> None:
    """Up and down for a year: three levels at most. A dither that is drawn anew gives a still number two states."""
    coins, kept, forgotten = SeededCoins(2), Notes(), Notes("dither")
    for week in range(52):
        answers(coins, STEPS, [0.5 + 0.5 * math.sin(week)], kept)
        answers(coins, STEPS, [0.25], forgotten)
    assert sum(kind == "answer" for kind, _, _ in kept.kept) == 3
    assert sum(kind == "answer" for kind, _, _ in forgotten.kept) == 2


def test_expected_levels_of_a_number_that_moves() -> None:
    """A number that has been anywhere between two points meets 1 + (g-1) times their distance levels, on average."""
    for levels, low, high in [(2, 0.25, 0.5), (3, 0.125, 0.75), (9, 0.5, 0.53125)]:
        grid = 1 << 12  # fine enough that every threshold is met exactly
        met = [
            level(high, levels, u * (WORD // grid)) - level(low, levels, u * (WORD // grid)) + 1 for u in range(grid)
        ]
        assert Fraction(sum(met), grid) == 1 + (levels - 1) * (Fraction(high) - Fraction(low))


# -- costs


def test_new_answers_cost_no_more_than_the_plan_and_no_less_than_they_tell() -> None:
    for name, plan in plans().items():
        for index, question in enumerate(plan.questions):
            cost = cost_of(plan, [index])
            assert question.channel.ratio <= exp_bounds(cost)[0], name
            assert cost <= plan.cost
        assert cost_of(plan, []) == 0
        if plan.k == len(plan.questions):
            assert cost_of(plan, range(plan.k)) <= plan.cost
    plan = plans()["k=3"]
    assert [cost_of(plan, range(n)) for n in range(4)] == [0, Fraction(4, 3), Fraction(8, 3), 4]
    uneven = plans()["multi-split"]  # two numbers in one question, two categories in one each
    costs = [cost_of(uneven, [i]) for i in range(3)]
    assert all(
        0 <= share - cost < 1e-4 for share, cost in zip((1, 0.5, 0.5), costs, strict=True)
    )  # thresholds are round
    assert cost_of(uneven, range(3)) == sum(costs)


@pytest.mark.parametrize("name", plans())
def test_every_channel_can_be_repeated(name: str) -> None:
    plan = plans()[name]
    coins, notes = SeededCoins(3), Notes()
    record: list[Any] = [
        0.5 if isinstance(item, Numeric) else bytes(len(item.values)) if isinstance(item, Choices) else 0
        for item in plan.schema.attributes
    ]
    first = ask(coins, plan, record, levels_of(plan), notes)
    assert new(first, notes) == [item.index for item in first]
    found = recall(coins, plan, first, notes)
    assert new(first, notes) == []
    assert {answers(coins, plan, record, notes) for _ in range(5)} == {found}
    Report(plan, bytes(16), found)


# -- what is asked, and of which definitions


def test_a_state_has_all_attributes_of_its_question() -> None:
    """Categories and what is missing stand beside levels; a level stands for its share of the way."""
    schema = Schema([Categorical("c", [0, 1]), Numeric("x", 0, 1), Categorical("d", [0, 1, 2]), Numeric("y", 0, 1)])
    plan = design(schema, 4.0, joint=[("c", "x"), ("d", "y")], k=2)
    assert [question.attributes for question in plan.questions] == [("c", "x"), ("d", "y")]
    for x, y in product((0.0, 0.3, 0.75, 1.0), repeat=2):
        notes = Notes()
        first, second = ask(SeededCoins(6), plan, [1, x, 2, y], ((None, 5), (None, 3)), notes)
        kept = [int(value) for (kind, _, _), value in notes.kept.items() if kind == "dither"]
        levels = [level(x, 5, kept[0]), level(y, 3, kept[1])]
        assert [first.state, second.state] == [f"[1,{levels[0]}]", f"[2,{levels[1]}]"]
        assert first.inputs == (1, levels[0] / 4)
        assert second.inputs == (2, levels[1] / 2)
    both = design(Schema([Numeric("x", 0, 1, optional=True)]), 1.0)
    (missing,) = ask(SeededCoins(7), both, [None], ((3,),), Notes())
    assert (missing.inputs, missing.state) == ((None,), "[null]")


def test_definitions_are_kept_and_another_one_is_named() -> None:
    notes = Notes()
    assert define(TWO, notes) is None
    assert [(kind, subject) for kind, subject, _ in notes.kept] == [("attribute", "a"), ("attribute", "b")]
    kept = dict(notes.kept)
    assert define(BOTH, notes) is None  # another epsilon, the same attributes
    wider = design(Schema([*TWO.schema.attributes, Numeric("x", 0, 1)]), 1.0)
    other = design(Schema([Categorical("a", [0, 1]), Categorical("b", [1, 0])]), 1.0)
    assert define(other, notes) == "b"
    assert notes.kept == kept
    assert define(wider, notes) is None
    assert notes.kept.keys() - kept.keys() == {("attribute", "x", "")}


# -- attacks and estimates


def test_averaging_a_year_finds_the_value_only_if_the_noise_is_fresh() -> None:
    """Guess what was answered most often. 500 devices, 52 weeks, epsilon = 1.

    Fresh: two wrong categories, and each beats the right one with probability (1 - (sqrt p - sqrt q)^2)^52 < 0.008 at
    most (Chernoff), so that 460 right guesses are missed with a probability below 1e-6. From memory a guess is right
    with probability p, as from one report: 5 standard deviations, 6e-7 false alarms. The words are seeded.
    """
    devices, weeks = 500, 52
    law = MOOD.channel("mood").law(0)
    p, q = float(law[0]), float(law[1])
    assert 2 * (1 - (math.sqrt(p) - math.sqrt(q)) ** 2) ** weeks < 0.016
    coins = SeededCoins(4)
    right = {"": 0, "answer": 0}
    for lost in right:
        for device in range(devices):
            notes, truth = Notes(lost), device % 3
            seen = [answers(coins, MOOD, [truth], notes)[0][1] for _ in range(weeks)]
            right[lost] += max(range(3), key=seen.count) == truth
    assert right["answer"] >= 460
    assert abs(right[""] - devices * p) <= 5 * math.sqrt(devices * p * (1 - p))


def test_weeks_share_their_noise() -> None:
    """Nobody changes: every week has the same counts, and an average over weeks is no better than one week."""
    coins = SeededCoins(5)
    notes = [Notes() for _ in range(50)]
    tallies = []
    for _ in range(3):
        tally = Tally(MOOD)
        tally.update(Report(MOOD, bytes(16), answers(coins, MOOD, [i % 3], kept)) for i, kept in enumerate(notes))
        tallies.append(tally)
    assert tallies[0] == tallies[1] == tallies[2]
