"""A plan's promise to each person."""

from __future__ import annotations

import msgspec

from hush.collector.http.documents.plans import RelayPromise


class AttributeStatement(msgspec.Struct):
    """An attribute: a number from low to high, one of some categories, or any of some values (choices).

    `holds`: its kind of question, as boolean, integer or choices; empty for a plain number or a list of categories. The
    numbers of a date are days since 1970-01-01, those of a time of day steps since midnight; `step`: their seconds.
    """

    name: str
    kind: str
    low: float | None
    high: float | None
    categories: int
    optional: bool
    holds: str
    step: int | None = None


class QuestionStatement(msgspec.Struct):
    """The privacy cost of answering one question.

    `ratio` is the largest ratio of one answer's probability under two values, exactly (null if it has thousands of
    digits), `epsilon` its logarithm, rounded up, `inclusion` the probability that the question is asked. `asks` says in
    words what it looks at, as "age in 4 bands, income".
    """

    attributes: list[str]
    asks: str
    channel: str
    ratio: str | None
    epsilon: str
    inclusion: str


class RelationStatement(msgspec.Struct):
    """A relation that a plan asks about: "table", "means", "association", "moments", or "range" (without `by`)."""

    kind: str
    attribute: str
    by: str | None


class Leverage(msgspec.Struct):
    """How far one lie moves an estimate ("mean", "missing" or "shares"), times the number of answers."""

    attribute: str
    estimate: str
    shift: float
    scale: float


class Statement(msgspec.Struct):
    """A plan's promise to each person. `allowed` is the plan's epsilon, `epsilon` the actual cost of a report.

    `relay`: as in a `PlanEntry`; its sentences are among the others.
    """

    plan: str
    title: str
    allowed: str
    ratio: str | None
    epsilon: str
    k: int
    sentences: list[str]
    attributes: list[AttributeStatement]
    questions: list[QuestionStatement]
    relations: list[RelationStatement]
    leverage: list[Leverage]
    relay: RelayPromise | None = None
