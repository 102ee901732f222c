"""Documents about a plan: its exact privacy, its margins, and how far liars could move its estimates."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from hush.collector.http.documents import (
    AttributeStatement,
    CentralPromise,
    DistributionDocument,
    Leverage,
    Manipulations,
    MarginRow,
    Margins,
    QuestionStatement,
    RelationStatement,
    RelayPromise,
    ShiftRow,
    Statement,
    finite,
)
from hush.collector.promises import central
from hush.collector.settings import RelayNamed
from hush.core.calendar import Time
from hush.core.exact import log_digits
from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Value
from hush.errors import EstimateError
from hush.planning.predictions import Prospect, by_target
from hush.server.distributions import distribution
from hush.server.estimates import Estimate
from hush.server.manipulations import levers, shifts
from hush.server.relations.related import related
from hush.server.tally import Tally

if TYPE_CHECKING:
    from hush.planning.shuffle import Shuffled

MAX_DIGITS = 2000  # of a ratio that is written down
BINS = 32
DECIMALS = 6  # of a cost in a sentence
PLACES = 4  # of a central epsilon, as `hush shuffle` prints it

Target = tuple[str, str]
"""An attribute and its estimate: "mean", "missing" or "shares"."""


def statement(plan: Plan, relay: RelayPromise | None = None) -> Statement:
    """Return the cost of answering, as exact ratios and as logarithms that are rounded up.

    `relay`: both promises of reports through a relay.
    """
    from hush.planning.audits import words  # what it comes with takes a while to load

    logs: dict[Fraction, str] = {}
    questions = []
    for question, inclusion in zip(plan.questions, plan.inclusions, strict=True):
        ratio = question.channel.ratio
        if ratio not in logs:
            logs[ratio] = log_digits(ratio)
        questions.append(
            QuestionStatement(
                list(question.attributes),
                question.told(plan.schema),
                question.channel.kind,
                _written(ratio),
                logs[ratio],
                str(inclusion),
            )
        )
    factor = plan.ratio
    asked = f"Each person answers {plan.k} of {len(plan.questions)} questions"
    if relay is None:
        sentences = [f"{asked}, which costs {_cost(plan)}.", words.odds(factor)]
    else:
        local, *others = relay.sentences
        sentences = [f"{asked}. {local}", words.odds(factor), *others]
    moved = [
        Leverage(name, what, max(row.shift for row in rows), _width(plan.schema, (name, what)))
        for (name, what), rows in by_target(levers(plan)).items()
    ]
    return Statement(
        plan.id,
        plan.title,
        str(plan.cost),
        _written(factor),
        log_digits(factor),
        plan.k,
        sentences,
        [_described(attribute) for attribute in plan.schema.attributes],
        questions,
        [RelationStatement(*one) for one in related(plan)],
        moved,
        relay,
    )


def relayed(plan: Plan, relay: RelayNamed, key: str) -> RelayPromise:
    """Return both promises of a plan whose reports come through a relay. It takes seconds, the first time.

    `key`: the collector's, in hexadecimal.
    """
    found = central(plan, relay)
    return RelayPromise(
        relay.url,
        key,
        log_digits(plan.ratio),
        [CentralPromise(one.epsilon, one.delta, one.crowd, one.own) for one in found],
        [f"Whatever anybody does, a report costs {_cost(plan)}.", *(_less(one, relay.host) for one in found)],
    )


def _less(found: Shuffled, host: str) -> str:
    """Return the second promise, and the assumption on which it rests."""
    from hush.planning.audits import words

    if found.own is not None:
        crowd = f"the relay adds {found.own:,} reports of its own to every batch"
    else:
        crowd = f"{found.crowd:,} people or more answer honestly in every batch"
    rarely = math.floor(1 / Fraction(repr(found.delta)))
    return (
        f"If the relay {host} and the collector do not work together, and {crowd}, the collector learns less about "
        f"somebody who is in one batch: ε = {words.up(found.epsilon, PLACES)} at most, except with a probability of "
        f"1 in {rarely:,}."
    )


def _cost(plan: Plan) -> str:
    """Return the cost of a report, and the plan's epsilon if that is larger."""
    from hush.planning.audits import words

    told = words.up(Fraction(log_digits(plan.ratio)), DECIMALS)
    allowed = f"{plan.epsilon!r}".removesuffix(".0")
    if Fraction(told.replace(",", "")) >= plan.cost:
        return f"ε = {allowed} at most"
    return f"ε = {told.rstrip('0').removesuffix('.')} at most, of {allowed} that the plan allows"


def _described(attribute: Attribute) -> AttributeStatement:
    if isinstance(attribute, Numeric):
        holds = "" if attribute.kind == Numeric.kind else attribute.kind
        ends = attribute.low, attribute.high
        step = attribute.step if isinstance(attribute, Time) else None
        return AttributeStatement(attribute.name, Numeric.kind, *ends, 0, attribute.optional, holds, step)
    holds, size = "" if attribute.kind == Categorical.kind else attribute.kind, len(attribute.labels)
    return AttributeStatement(attribute.name, Categorical.kind, None, None, size, attribute.optional, holds)


def _written(ratio: Fraction) -> str | None:
    """Return a ratio as p/q, unless it is very long."""
    bits = ratio.numerator.bit_length() + ratio.denominator.bit_length()
    return str(ratio) if bits * math.log10(2) < MAX_DIGITS else None


def margins(tally: Tally, level: float, rows: list[Estimate], prospects: list[Prospect]) -> Margins:
    """Return predicted margins beside achieved ones: of several shares the largest of each."""
    found = []
    achieved = {
        target: max((row.high - row.low) / 2 for row in group) if not math.isnan(group[0].point) else math.nan
        for target, group in by_target(rows).items()
    }
    predicted = by_target(one.prediction(max(tally.people, 1), level) for one in prospects)
    for target, group in predicted.items():
        expected = max(row.margin for row in group) if tally.people else math.nan
        width = _width(tally.plan.schema, target)
        found.append(MarginRow(*target, finite(expected), finite(achieved[target]), width))
    return Margins(tally.plan.id, tally.people, level, found)


def manipulations(tally: Tally, share: float) -> Manipulations:
    """Return how far each estimate can have been moved if this share of the reports was sent by liars."""
    liars = math.ceil(Fraction(repr(share)) * tally.people)  # the decimal number as written: 0.1 is one tenth
    rows = [
        ShiftRow(name, what, finite(max(row.shift for row in group)), _width(tally.plan.schema, (name, what)))
        for (name, what), group in by_target(shifts(tally, liars)).items()
    ]
    return Manipulations(tally.plan.id, tally.people, share, liars, rows)


def spread(tally: Tally, attribute: str) -> DistributionDocument:
    """Return the likeliest distribution of a number, or why there is none."""
    plan = tally.plan
    if attribute in plan.schema.names and not any(Value(attribute) in question.views for question in plan.questions):
        why = f"attribute {attribute!r}: the questions look at it in bands or together with others only"
        if isinstance(plan.schema[attribute], Text):
            why = f"attribute {attribute!r}: is a text; /frequent has those that many people hold"
        return DistributionDocument(plan.id, attribute, tally.people, 0, [], [], [], why)
    answers = tally.answers(plan.question(attribute))
    document = partial(DistributionDocument, plan.id, attribute, tally.people, answers)
    try:
        found = distribution(tally, attribute, bins=BINS)
    except EstimateError as error:
        return document([], [], [], str(error))
    return document(list(found.edges), list(found.shares), list(found.bins), None)


def _width(schema: Schema, target: Target) -> float:
    """Return the width of the scale on which something is estimated."""
    name, what = target
    field = schema[name]
    return field.high - field.low if isinstance(field, Numeric) and what == "mean" else 1.0
