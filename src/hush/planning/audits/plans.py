"""The audit of a plan: proofs of its privacy, and tests of its samplers.

Error rates: half of 1 - confidence goes to the comparisons of samplers with their laws, half to the attacks. So a
correct plan fails an audit with probability 1 - confidence at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

from hush.core.channels import Channel, Geometry, Output
from hush.core.exact import exp_bounds, log_above
from hush.core.plan import Plan, Question
from hush.core.schema import MISSING, Attribute, Choices, Input, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Value
from hush.core.word_views import Member
from hush.device.coins import SystemCoins
from hush.device.randomise import randomise
from hush.errors import ReportError
from hush.planning.audits import words
from hush.planning.audits.attacks import Attack, Sample, attacks
from hush.planning.audits.features import Feature
from hush.planning.audits.fits import Fit, by_chi_square, by_targets
from hush.planning.audits.marks import Marks
from hush.planning.audits.proofs import CELLS, Law, Proof, prove
from hush.server.manipulations import Manipulation, levers


@dataclass(frozen=True)
class QuestionAudit:
    """One question: the proof, the sampler, the attacks, and the effect of one malicious report.

    `sees` has the attributes in quotes, or the views in words.
    """

    attributes: tuple[str, ...]
    sees: str
    kind: str
    proof: Proof
    fits: tuple[Fit, ...]
    attacks: tuple[Attack, ...]
    leverage: tuple[Manipulation, ...]

    @property
    def epsilon(self) -> float:
        """The realised epsilon of one answer, rounded up."""
        return self.proof.epsilon

    @property
    def lower(self) -> float:
        """The best lower bound of epsilon from an attack."""
        return max(attack.lower for attack in self.attacks)

    @property
    def failures(self) -> tuple[str, ...]:
        """The faults, in sentences; empty if there are none."""
        found = [self.proof.flaw] if self.proof.flaw else []
        found += [
            f"the sampler does not follow its law for {fit.name} (p = {fit.p_value:.1g})"
            for fit in self.fits
            if not fit.passed
        ]
        found += [f"more leaks than is claimed: {attack}" for attack in self.attacks if attack.lower > self.epsilon]
        return tuple(found)

    @property
    def passed(self) -> bool:
        """Whether there are no faults."""
        return not self.failures


@dataclass(frozen=True)
class PlanAudit:
    """A plan: its questions, the total per record, and attacks on whole reports."""

    plan: Plan
    draws: int
    confidence: float
    questions: tuple[QuestionAudit, ...]
    attacks: tuple[Attack, ...]

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of a whole report: the product of the k largest known ratios."""
        ratios = sorted((question.proof.ratio for question in self.questions), reverse=True)
        return math.prod(ratios[: self.plan.k], start=Fraction(1))

    @cached_property
    def epsilon(self) -> float:
        """The true cost of a report, rounded up."""
        return log_above(self.ratio)

    @property
    def failures(self) -> tuple[str, ...]:
        """The faults, in sentences; empty if there are none."""
        found = [f"{item.sees}: {failure}" for item in self.questions for failure in item.failures]
        if self.ratio > exp_bounds(self.plan.cost)[0]:
            found.append(f"a report costs more than epsilon = {self.plan.epsilon!r}: {words.up(self.epsilon, 6)}")
        found += [f"a whole report leaks more: {item}" for item in self.attacks if item.lower > self.plan.epsilon]
        return tuple(found)

    @property
    def passed(self) -> bool:
        """Whether there are no faults."""
        return not self.failures

    def lines(self) -> Iterator[str]:
        """Yield the audit in sentences."""
        yield from words.plan_lines(self)

    def __str__(self) -> str:
        return "\n".join(self.lines())


Told = Callable[[int, int | None, str], None]
"""What is told of an audit while it runs: how many parts are done, how many there are, and what is looked at."""


def audit_plan(plan: Plan, draws: int, confidence: float, told: Told = lambda *_: None) -> PlanAudit:
    """Audit a plan. Questions with the same channel and the same inputs, such as those of one text, share an audit."""
    probes = [_probes(attributes) for attributes in plan.attributes]
    # One attack on whole reports in each direction, and one for every ordered pair of inputs of a question.
    attacked = 2 + sum(len(names) * (len(names) - 1) for names in probes)
    compared = sum(map(len, probes))
    miss = (1 - confidence) / 2
    rows = levers(plan)
    known: dict[object, _Sampled] = {}
    questions: list[QuestionAudit] = []
    for question, inputs in zip(plan.questions, probes, strict=True):
        told(len(questions), len(probes) + 1, question.words)
        key = question.channel, repr(inputs)
        if key not in known:
            known[key] = _sampled(question.channel, inputs, draws, miss / compared, miss / attacked)
        questions.append(_audit_question(question, plan.schema, known[key], rows))
    told(len(questions), len(probes) + 1, "whole reports")
    return PlanAudit(plan, draws, confidence, tuple(questions), _attack_reports(plan, draws, miss / attacked))


def _attack_reports(plan: Plan, draws: int, miss: float) -> tuple[Attack, ...]:
    """Attack real reports of the client. Return nothing if the client refuses because a sampler made a non-output."""
    try:
        reports = [
            Sample(name, record, [randomise(plan, record).answers for _ in range(draws)])
            for name, record in _records(plan).items()
        ]
    except ReportError:
        return ()
    return attacks(reports, miss)


class _Sampled(NamedTuple):
    """What was found of a channel: its proof, its sampler, and the attacks."""

    proof: Proof
    fits: tuple[Fit, ...]
    attacks: tuple[Attack, ...]


def _sampled(
    channel: Channel, inputs: dict[str, Sequence[Input]], draws: int, fit_miss: float, attack_miss: float
) -> _Sampled:
    """Prove a channel's ratio, run its sampler, and attack it."""
    coins = SystemCoins()
    listed = channel.alphabet.outputs <= max(CELLS, channel.alphabet.size)
    marks: Marks | None = None
    if isinstance(channel, Geometry) and channel.alphabet.outputs > CELLS:  # too many points to list
        marks = Marks(channel, [_category(values) for values in inputs.values()])

    samples, laws, fits = [], {}, []
    for name, values in inputs.items():
        again = partial(_answers, channel, values, coins, draws)
        if marks is not None:
            category = _category(values)
            laws[name] = marks.law(category)
            sample = Sample(name, values, again())
            fits.append(_by_marks(name, marks, sample.outputs, again, laws[name], fit_miss))
        elif listed:
            laws[name] = _law(channel, values)
            sample = Sample(name, values, again())
            fits.append(by_chi_square(name, sample.outputs, again, laws[name], fit_miss))
        else:
            state = channel.state(values, coins)
            sample = Sample(name, values, [channel.draw(state, coins) for _ in range(draws)])
            fits.append(by_targets(name, sample.outputs, channel, state, fit_miss))
        samples.append(sample)

    def likelihood(a: Sample, b: Sample) -> list[Feature]:
        if marks is not None:
            return [marks.feature(_category(a.input), _category(b.input))]
        return [_likelihood(laws[a.name], laws[b.name])] if listed else []

    return _Sampled(prove(channel, list(laws.values())), tuple(fits), attacks(samples, attack_miss, likelihood))


def _category(values: Any) -> int:
    (category,) = values
    assert isinstance(category, int)
    return category


def _by_marks(
    name: str,
    marks: Marks,
    outputs: Sequence[Output],
    again: Callable[[], Sequence[Output]],
    law: Law,
    miss: float,
) -> Fit:
    """Compare a sampler with the law of its marks, and for other categories: the worse of both."""
    try:
        for output in outputs:
            marks.channel.alphabet.check(output)
        first = by_chi_square(name, marks.seen(outputs), lambda: marks.seen(again()), law, miss / 2)
        return min(first, marks.fit(name, outputs, miss / 2), key=lambda fit: (fit.passed, fit.p_value))
    except ReportError:
        return Fit(name, "targets", 0.0, False)


def _audit_question(question: Question, schema: Schema, found: _Sampled, rows: Sequence[Manipulation]) -> QuestionAudit:
    return QuestionAudit(
        question.attributes,
        words.quoted(question.attributes) if question.plain else question.told(schema),
        question.channel.kind,
        *found,
        tuple(row for row in rows if not {Value(row.attribute), _member(row)}.isdisjoint(question.views)),
    )


def _member(row: Manipulation) -> Member | None:
    """Return the view of the value that a row is about, if it is one of choices."""
    return Member(row.attribute, row.category) if isinstance(row.category, str) else None


def _likelihood(ours: Law, theirs: Law) -> Feature:
    """The true likelihood ratio, rounded so that equal ratios compare equal. No event distinguishes better."""
    table = {
        output: round(math.log(probability / theirs[output]), 9)
        for output, probability in ours.items()
        if probability > 0 and theirs.get(output, 0) > 0
    }
    return Feature("the likelihood of the output", "values", table.get)


def _answers(channel: Channel, values: Sequence[Input], coins: SystemCoins, draws: int) -> list[Output]:
    return [channel.answer(values, coins) for _ in range(draws)]


def _law(channel: Channel, values: Sequence[Input]) -> dict[Output, Fraction]:
    """Return the exact law of a device's answer, including the rounding."""
    law: dict[Output, Fraction] = {}
    for state, chance in channel.rounding(values).items():
        for output, probability in channel.law(state).items():
            law[output] = law.get(output, Fraction(0)) + chance * probability
    return law


def _probes(attributes: Sequence[Attribute]) -> dict[str, Sequence[Input]]:
    """Return inputs for the sampler, by name: the extremes, one between, and missing."""
    first = attributes[0]
    if isinstance(first, Choices):
        lists = {"none": [], repr(first.values[0]): first.values[:1], "as many as one may": first.values[-first.most :]}
        probes: dict[str, Sequence[Input]] = {name: [first.encode(held)] for name, held in lists.items()}
        return probes | ({MISSING: [first.encode(None)]} if first.optional else {})
    if len(attributes) > 1 or isinstance(first, Numeric):
        found: dict[str, Sequence[Input]] = {}
        for name, u in (("lowest", 0.0), ("highest", 1.0), ("middle", 0.5)):
            values = [u if isinstance(item, Numeric) else round(u * (len(item.labels) - 1)) for item in attributes]
            if values not in found.values():
                found[name] = values
        if any(isinstance(item, Numeric) and item.optional for item in attributes):
            found[MISSING] = [None if isinstance(item, Numeric) and item.optional else 0 for item in attributes]
        return found
    indices = sorted({0, 1, len(first.labels) - 1})
    return {repr(first.labels[index]): [index] for index in indices}


def _records(plan: Plan) -> dict[str, dict[str, object]]:
    """Return two records that differ in every attribute."""
    ends: dict[str, dict[str, object]] = {"one record": {}, "another": {}}
    for end, record in zip((0, -1), ends.values(), strict=True):
        for item in plan.schema.attributes:
            choices: Sequence[object] = item.examples if isinstance(item, Numeric) else item.values
            if isinstance(item, Text):
                choices = ("", item.longest)
            if isinstance(item, Choices):
                choices = ((), item.values[: item.most])
            if item.optional:
                choices = (*choices, None)
            record[item.name] = choices[end]
    return ends
