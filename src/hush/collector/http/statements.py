"""Documents about a plan: its exact privacy, its margins, and how far liars could move its estimates."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from hush.collector.http.documents import (
    AttributeStatement,
    DistributionDocument,
    Leverage,
    Manipulations,
    MarginRow,
    Margins,
    QuestionStatement,
    RelationStatement,
    ShiftRow,
    Statement,
    finite,
)
from hush.core.exact import log_digits
from hush.core.plan import Plan
from hush.core.schema import Attribute, Numeric, Schema
from hush.core.views import Value
from hush.errors import EstimateError
from hush.planning.predictions import Prospect, by_target
from hush.server.distributions import distribution
from hush.server.estimates import Estimate
from hush.server.manipulations import leverage, manipulation
from hush.server.relations.related import related
from hush.server.tally import Tally

MAX_DIGITS = 2000  # of a ratio that is written down
BINS = 32
DECIMALS = 6  # of a cost in a sentence

Target = tuple[str, str]
"""An attribute and its estimate: "mean", "missing" or "shares"."""


def statement(plan: Plan) -> Statement:
    """Return the cost of answering, as exact ratios and as logarithms that are rounded up."""
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
                question.words,
                question.channel.kind,
                _written(ratio),
                logs[ratio],
                str(inclusion),
            )
        )
    factor = plan.ratio
    sentences = [
        f"Each person answers {plan.k} of {len(plan.questions)} questions, which costs {_cost(plan)}.",
        words.odds(factor),
    ]
    moved = [
        Leverage(name, what, max(row.shift for row in rows), _width(plan.schema, (name, what)))
        for (name, what), rows in by_target(leverage(plan)).items()
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
        return AttributeStatement(attribute.name, attribute.kind, attribute.low, attribute.high, 0, attribute.optional)
    return AttributeStatement(attribute.name, attribute.kind, None, None, len(attribute.labels), attribute.optional)


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
    predicted = by_target(one.prediction(max(tally.reports, 1), level) for one in prospects)
    for target, group in predicted.items():
        expected = max(row.margin for row in group) if tally.reports else math.nan
        width = _width(tally.plan.schema, target)
        found.append(MarginRow(*target, finite(expected), finite(achieved[target]), width))
    return Margins(tally.plan.id, tally.reports, level, found)


def manipulations(tally: Tally, share: float) -> Manipulations:
    """Return how far each estimate can have been moved if this share of the reports was sent by liars."""
    liars = math.ceil(Fraction(repr(share)) * tally.reports)  # the decimal number as written: 0.1 is one tenth
    rows = [
        ShiftRow(name, what, finite(max(row.shift for row in group)), _width(tally.plan.schema, (name, what)))
        for (name, what), group in by_target(manipulation(tally, liars)).items()
    ]
    return Manipulations(tally.plan.id, tally.reports, share, liars, rows)


def spread(tally: Tally, attribute: str) -> DistributionDocument:
    """Return the likeliest distribution of a number, or why there is none."""
    plan = tally.plan
    if attribute in plan.schema.names and not any(Value(attribute) in question.views for question in plan.questions):
        why = f"attribute {attribute!r}: the questions look at it in bands or together with others only"
        return DistributionDocument(plan.id, attribute, tally.reports, 0, [], [], why)
    answers = tally.answered[plan.question(attribute)]
    document = partial(DistributionDocument, plan.id, attribute, tally.reports, answers)
    try:
        found = distribution(tally, attribute, bins=BINS)
    except EstimateError as error:
        return document([], [], str(error))
    return document(list(found.edges), list(found.shares), None)


def _width(schema: Schema, target: Target) -> float:
    """Return the width of the scale on which something is estimated."""
    name, what = target
    field = schema[name]
    return field.high - field.low if isinstance(field, Numeric) and what == "mean" else 1.0
