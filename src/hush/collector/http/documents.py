"""The JSON documents of the HTTP interface. `/openapi.json` is made of these types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from hush.collector.stores.base import HeldPlan, Live
from hush.server.estimates import Estimate
from hush.show import csv


class Shown(msgspec.Struct):
    """When what readers see moves: at most every so many seconds, and by so many reports at least; both 0: at once.

    `next`: the seconds until it may.
    """

    every: float
    least: int
    next: int


class PlanEntry(msgspec.Struct):
    """A plan that this collector has, and the reports that readers see of it."""

    id: str
    title: str
    epsilon: float
    open: bool
    keep: str
    reports: int
    shown: Shown


class Plans(msgspec.Struct):
    """All plans."""

    plans: list[PlanEntry]


class Receipt(msgspec.Struct):
    """What became of a submission: it is durable now, and was counted once. `new`: by this request."""

    id: str
    new: bool
    reports: int


class EstimateRow(msgspec.Struct):
    """A mean (no category) or the share of a category. Numbers that do not exist are null."""

    attribute: str
    category: str | int | None
    point: float | None
    stderr: float | None
    low: float | None
    high: float | None
    answers: int


class Estimates(msgspec.Struct):
    """Estimates of everything, from so many reports."""

    plan: str
    reports: int
    level: float
    estimator: str
    post: str
    estimates: list[EstimateRow]


class TicketDocument(msgspec.Struct):
    """A ticket: the id that the report must have, the questions that it deals, and its signature for `Hush-Ticket`."""

    id: str
    questions: list[int]
    signature: str


class TrainingEntry(msgspec.Struct):
    """How a training stands."""

    name: str
    number: int
    rounds: int
    done: bool
    wanted: int
    received: int


class Trainings(msgspec.Struct):
    """All trainings."""

    trainings: list[TrainingEntry]


class PastRound(msgspec.Struct):
    """A round that is over: the weights that it was about, and the loss of held-out people."""

    number: int
    weights: list[float]
    people: int
    loss: float | None
    loss_error: float | None


class TrainingHistory(msgspec.Struct):
    """The rounds of a training, and its outcome so far."""

    name: str
    done: bool
    result: list[float]
    rounds: list[PastRound]


class AttributeStatement(msgspec.Struct):
    """An attribute: a number from low to high, or one of so many categories."""

    name: str
    kind: str
    low: float | None
    high: float | None
    categories: int
    optional: bool


class QuestionStatement(msgspec.Struct):
    """What one question costs who answers it.

    `ratio` is the largest ratio of one answer's probability under two values, exactly (null if it has thousands of
    digits), `epsilon` its logarithm, rounded up, `inclusion` the probability that the question is asked.
    """

    attributes: list[str]
    channel: str
    ratio: str | None
    epsilon: str
    inclusion: str


class Leverage(msgspec.Struct):
    """How far one lie moves an estimate ("mean", "missing" or "shares"), times the number of answers."""

    attribute: str
    estimate: str
    shift: float
    scale: float


class Statement(msgspec.Struct):
    """What a plan promises to each person. `allowed` is the plan's epsilon, `epsilon` what a report really costs."""

    plan: str
    title: str
    allowed: str
    ratio: str | None
    epsilon: str
    k: int
    sentences: list[str]
    attributes: list[AttributeStatement]
    questions: list[QuestionStatement]
    leverage: list[Leverage]


class MarginRow(msgspec.Struct):
    """Half of the width of an interval: as predicted for so many people, and as it is. `scale` is the whole width."""

    attribute: str
    estimate: str
    predicted: float | None
    achieved: float | None
    scale: float


class Margins(msgspec.Struct):
    """Predicted and achieved margins; of several shares the largest of each."""

    plan: str
    reports: int
    level: float
    margins: list[MarginRow]


class ShiftRow(msgspec.Struct):
    """How far an estimate can have been moved; null if nothing bounds it."""

    attribute: str
    estimate: str
    shift: float | None
    scale: float


class Manipulations(msgspec.Struct):
    """How far estimates can have been moved if a share of the reports was sent by liars."""

    plan: str
    reports: int
    share: float
    liars: int
    shifts: list[ShiftRow]


class DistributionDocument(msgspec.Struct):
    """The shares of a number between edges, or why there are none: from the `answers` among so many reports."""

    plan: str
    attribute: str
    reports: int
    answers: int
    edges: list[float]
    shares: list[float]
    why: str | None


class TimelineDocument(msgspec.Struct):
    """Reports by the time at which they were shown, in spans of `width` seconds from `start` (seconds since 1970).

    `before`: those shown before this process started; `elsewhere`: those that others counted and it did not notice.
    """

    plan: str
    before: int
    elsewhere: int
    start: float
    width: float
    counts: list[int]


class Charts(msgspec.Struct):
    """Specifications of Vega-Lite for data under the name `rows`, and configurations for light and dark."""

    charts: dict[str, dict[str, Any]]
    themes: dict[str, dict[str, Any]]


class Health(msgspec.Struct):
    """Whether the collector is alive."""

    status: str


def as_csv(rows: Sequence[EstimateRow]) -> str:
    """Return estimates as CSV."""
    names = EstimateRow.__struct_fields__
    return csv.table(names, ([getattr(row, name) for name in names] for row in rows))


def plan_entry(held: HeldPlan, reports: int, shown: Shown) -> PlanEntry:
    """Return a plan of a store as a document."""
    plan = held.plan
    return PlanEntry(plan.id, plan.title, plan.epsilon, held.open, held.keep, reports, shown)


def training_entry(name: str, live: Live, received: int) -> TrainingEntry:
    """Return how a training stands as a document, with the people of its round that readers see."""
    round_ = live.round
    return TrainingEntry(name, round_.number, round_.training.rounds, round_.done, live.wanted, received)


def finite(value: float) -> float | None:
    """Return a number as JSON can have it."""
    return value if math.isfinite(value) else None


def estimate_row(row: Estimate) -> EstimateRow:
    """Return an estimate as a document."""
    point, stderr, low, high = map(finite, (row.point, row.stderr, row.low, row.high))
    return EstimateRow(row.attribute, row.category, point, stderr, low, high, row.answers)
