"""Audits of plans: right ones pass, and every check has a twin that it catches.

False alarms: these audits run on the operating system's randomness, as they do for everybody. Each of the right plans
fails with probability 1e-8 at most, as that is what is asked for. Power: the twins are wrong by so much that they go
unseen with a smaller probability still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

import hush
from hush import Categorical, Numeric, Plan, Schema, design
from hush.core.channels import Channel, Coins, Geometry, Output, State, Subset, Unary, Window
from hush.core.design.categorical import geometry, oue, subset
from hush.core.design.numeric import duchi
from hush.core.exact import exp_bounds, log_above
from hush.core.plan import Question
from hush.core.schema import Input
from hush.device.randomise import randomise_from
from hush.planning.audits import words
from hush.planning.audits.fits import by_targets
from hush.planning.audits.marks import Marks
from hush.planning.audits.proofs import prove
from hush.server.manipulations import leverage, manipulation
from hush.testing import SeededCoins
from tests.cases import EPSILONS, SMALL, any_record, largest_ratio, plans, small_window

CONFIDENCE = 1 - 1e-8


def plan_of(channel: Channel, epsilon: Fraction = Fraction(1)) -> Plan:
    categories = channel.size if isinstance(channel, Subset | Unary) else 0
    attribute = Categorical("a", list(range(categories))) if categories else Numeric("a", 0, 1)
    return Plan(Schema([attribute]), epsilon, 1, (Question(("a",), channel),))


@pytest.mark.parametrize("name", ["default", "k=3", "multi", "multi-split", "cube", "cells", "laplace", "piecewise"])
def test_plans_pass(name: str) -> None:
    plan = plans()[name]
    result = hush.audit(plan, draws=1500, confidence=CONFIDENCE)
    assert result.passed, str(result)
    assert result.ratio == plan.ratio
    assert exp_bounds(Fraction(result.epsilon))[0] >= result.ratio
    assert result.epsilon <= plan.epsilon * (1 + 1e-12)
    text = str(result)
    assert "nobody's odds" in text
    assert "FAILED" not in text
    for question in plan.questions:
        assert repr(question.attributes[0]) in text


def test_an_audit_reads_well() -> None:
    schema = Schema([Numeric("age", 0, 120), Categorical("os", ["linux", "mac", "other"])])
    result = hush.audit(design(schema, 1.0, numeric="hybrid"), draws=4000, confidence=CONFIDENCE)
    text = str(result)
    assert all(0.3 < question.lower <= 1 for question in result.questions)
    assert "change by more than a factor 2.72." in text
    assert "73.2 % sure" in text
    assert "Proved by enumeration: all 3 outputs under all 3 inputs were compared." in text
    assert "Proved by formula: hush.core.channels.mixture says: Given the part" in text
    assert "One malicious report among n moves the mean of 'age' by" in text


# -- proofs


@pytest.mark.parametrize("name", SMALL)
def test_small_channels_are_proved_by_enumeration(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    proof = prove(channel, [])
    assert proof.method == "enumeration"
    assert proof.flaw is None
    assert proof.ratio == channel.ratio >= largest_ratio(channel, list(channel.states()))


@dataclass(frozen=True)
class Louder(Window):
    """A twin: its law has a window that is twice as likely as its ratio admits."""

    def law(self, state: State) -> dict[Output, Fraction]:
        law = super().law(state)
        top = max(law.values())
        for output, probability in law.items():
            law[output] = 2 * probability if probability == top else probability
        total = sum(law.values())
        return {output: probability / total for output, probability in law.items()}


@dataclass(frozen=True)
class Incomplete(Window):
    """A twin: the probabilities of its law do not add up to 1."""

    def law(self, state: State) -> dict[Output, Fraction]:
        return {output: probability / 2 for output, probability in super().law(state).items()}


@dataclass(frozen=True)
class Exclusive(Window):
    """A twin: its first output is impossible unless the input is the lowest."""

    def law(self, state: State) -> dict[Output, Fraction]:
        law = super().law(state)
        return law if state == 0 else {**law, 0: Fraction(0), 1: law[0] + law[1]}


@pytest.mark.parametrize(
    ("twin", "flaw"),
    [(Louder, "times likelier"), (Incomplete, "add up to 1"), (Exclusive, "no epsilon is large enough")],
)
def test_a_law_that_is_not_private_is_caught(twin: type[Window], flaw: str) -> None:
    right = small_window(Fraction(1), 9, 2)
    result = hush.audit(plan_of(twin(right.size, right.width, right.threshold)), draws=400, confidence=CONFIDENCE)
    assert not result.passed
    assert any(flaw in failure for failure in result.failures)
    if twin is Louder:
        assert result.epsilon > 1.5
        assert any("costs more than epsilon" in failure for failure in result.failures)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_realised_epsilon_is_rounded_up(epsilon: Fraction) -> None:
    ratio = duchi(epsilon).ratio
    above = log_above(ratio)
    assert exp_bounds(Fraction(above))[0] >= ratio
    assert exp_bounds(Fraction(above) * (1 - Fraction(1, 2**48)))[1] < ratio
    assert log_above(Fraction(1)) == 0


def test_numbers_are_written_on_the_safe_side() -> None:
    assert "can become at most 99.97 % sure" in words.odds(Fraction(2980))
    assert words.up(1.0, 6) == "1.000000"
    assert words.up(1.0 + 1e-15, 6) == "1.000001"
    assert words.up(Fraction(271828, 100000), 2) == "2.72"
    assert words.down(0.9999, 3) == "0.999"


# -- channels with too many outputs to list


def a_text(channel: type[Geometry] = Geometry) -> Plan:
    """A plan of a text, whose questions have channels of this class."""
    plan = design(Schema([hush.Text("word", 5, "english", bits=24)]), 2.0)
    found = plan.questions[0].channel
    assert isinstance(found, Geometry)
    made = channel(found.size, found.order, found.digits, found.threshold)
    return replace(plan, questions=tuple(Question(question.views, made) for question in plan.questions))


def test_a_text_is_audited_by_what_reports_support() -> None:
    """It took minutes: each question's 300,000 points were listed three times. The attack is as good as there is."""
    heard: list[tuple[int, int | None, str]] = []
    result = hush.audit(a_text(), draws=4000, confidence=CONFIDENCE, told=lambda *what: heard.append(what))
    assert result.passed, str(result)
    assert len(heard) == len(result.questions) + 1
    assert heard[-1] == (3, 4, "whole reports")
    question = result.questions[0]
    assert question.proof.method == "formula"
    assert question.proof.ratio == a_text().ratio
    assert 1 < question.lower <= 2
    assert any(attack.looked_at == "which of both the output supports" for attack in question.attacks)
    assert result.questions[1].fits is question.fits, "the same channel and the same inputs are sampled once"


@dataclass(frozen=True)
class Loud(Geometry):
    """A twin: a third of the reports that do not support the true category are drawn again."""

    def draw(self, state: State, coins: Coins) -> Output:
        output = super().draw(state, coins)
        while coins.below(3) == 0 and not self.marks(output, [self.vector(int(state))])[0]:  # type: ignore[call-overload]
            output = super().draw(state, coins)
        return output


@dataclass(frozen=True)
class Narrow(Geometry):
    """A twin: it never draws some points, and is right about the categories that are probed."""

    def draw(self, state: State, coins: Coins) -> Output:
        output = super().draw(state, coins)
        other = self.vector(self.size * 5 // 16)
        while self.marks(output, [other])[0]:
            output = super().draw(state, coins)
        return output


@dataclass(frozen=True)
class Outside(Geometry):
    """A twin: one draw in ten is no output."""

    def draw(self, state: State, coins: Coins) -> Output:
        return super().draw(state, coins) if coins.below(10) else self.points


@pytest.mark.parametrize("twin", [Loud, Narrow, Outside])
def test_a_wrong_sampler_of_points_is_caught(twin: type[Geometry]) -> None:
    result = hush.audit(a_text(twin), draws=4000, confidence=CONFIDENCE)
    assert not result.passed
    assert any("the sampler does not follow its law" in failure for failure in result.failures)


def test_the_law_of_marks_is_that_of_the_points() -> None:
    """Enumerated for a small geometry."""
    channel = geometry(Fraction(1), 60)
    assert channel.points < 1000
    marks = Marks(channel, [0, 1, 59])
    for category in (0, 1, 59):
        law: dict[Output, Fraction] = {}
        for output, chance in channel.law(category).items():
            (mark,) = marks.seen([output])
            law[mark] = law.get(mark, Fraction(0)) + chance
        assert law == marks.law(category)


# -- samplers


@dataclass(frozen=True)
class Deviating(Window):
    """A twin: one draw in ten tells the truth."""

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        if coins.below(10) == 0:
            state = self.state(inputs, coins)
            assert isinstance(state, int)
            return state
        return super().answer(inputs, coins)


@dataclass(frozen=True)
class Stray(Window):
    """A twin: it sometimes reports what is not an output."""

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        return -1 if coins.below(10) == 0 else super().answer(inputs, coins)


@dataclass(frozen=True)
class Naked(Window):
    """A twin: it forgets to randomise."""

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        state = self.state(inputs, coins)
        assert isinstance(state, int)
        return state


@pytest.mark.parametrize("twin", [Deviating, Stray, Naked])
def test_a_sampler_that_deviates_is_caught(twin: type[Window]) -> None:
    right = small_window(Fraction(1), 9, 2)
    result = hush.audit(plan_of(twin(right.size, right.width, right.threshold)), draws=4000, confidence=CONFIDENCE)
    assert any("does not follow its law" in failure for failure in result.failures)
    if twin is Stray:
        assert "the client refuses to make a report" in str(result)
    if twin is Naked:
        assert any("more leaks than is claimed" in failure for failure in result.failures)
        assert any("a whole report leaks more" in failure for failure in result.failures)


def test_laws_too_long_to_list_are_compared_by_targets() -> None:
    """Seeded. The twin's other bits are 30 % likelier than they should be."""
    right = oue(Fraction(1), 40)
    wrong = Unary(right.size, right.true, right.other + right.other // 10 * 3)
    for channel, passes in ((right, True), (wrong, False)):
        coins = SeededCoins(1)
        outputs = [channel.draw(7, coins) for _ in range(3000)]
        assert by_targets("7", outputs, right, 7, 1e-6).passed is passes
    assert not by_targets("7", [(1, 40)], right, 7, 1e-6).passed
    result = hush.audit(plan_of(subset(Fraction(1), 60)), draws=2000, confidence=CONFIDENCE)
    assert result.passed
    assert result.questions[0].fits[0].method == "targets"


# -- leverage


@pytest.mark.parametrize("name", ["default", "multi", "laplace", "oue"])
def test_leverage_is_what_one_report_does_among_many(name: str) -> None:
    plan = plans()[name]
    tally = hush.Tally(plan)
    coins = SeededCoins(1)
    for _ in range(3000):
        tally.add(randomise_from(coins, plan, any_record(plan, coins.below)))
    answered = {
        attribute.name: n
        for attributes, n in zip(plan.attributes, tally.answered, strict=True)
        for attribute in attributes
    }
    for one, exact in zip(leverage(plan), manipulation(tally, 1), strict=True):
        assert (one.attribute, one.category) == (exact.attribute, exact.category)
        ratio = one.shift / answered[one.attribute] / exact.shift
        if one.attribute == "income" and one.category is None:
            assert 0.3 < ratio < 3  # to first order, if all are present
        else:
            assert ratio == pytest.approx(1)
