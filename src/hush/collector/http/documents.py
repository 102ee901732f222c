"""The JSON documents of the HTTP interface. `/openapi.json` is made of these types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from hush.collector.stores.base import HeldPlan, Live
from hush.server.estimates import Estimate
from hush.server.relations.rows import Related
from hush.show import csv


class Shown(msgspec.Struct):
    """When the numbers that readers see move: at most once in `every` seconds, by at least `least` reports.

    Both 0: at once. `next`: the seconds until they may move.
    """

    every: float
    least: int
    next: int


class CentralPromise(msgspec.Struct):
    """An upper bound of the collector's knowledge about a person in one batch, if the relay does not work with it.

    It is `epsilon`, except with the probability `delta`. It rests on a `crowd` of people who answer honestly in the
    batch, or on `own` reports that the relay adds to it; the other one is null.
    """

    epsilon: float
    delta: float
    crowd: int | None
    own: int | None


class RelayPromise(msgspec.Struct):
    """Both promises of a plan whose reports come through a relay. Never show one of them alone.

    `local` is an epsilon that holds whatever anybody does. Each of `central` holds if relay and collector do not work
    together. `sentences` say the same in words. `url` is the relay's, and `key` the collector's: devices have both
    built in, and do not take them from here.
    """

    url: str
    key: str
    local: str
    central: list[CentralPromise]
    sentences: list[str]


class PlanEntry(msgspec.Struct):
    """A plan that this collector has, and the reports that readers see of it.

    `after`: the pilot that it follows. `next`: the plan that follows this pilot. Both are ids, or null. `own`: the
    number of a relay's own reports that came with them; their average was subtracted. `relay`: both promises of its
    reports, if they come through a relay; null without one.
    """

    id: str
    title: str
    epsilon: float
    open: bool
    keep: str
    reports: int
    shown: Shown
    after: str | None = None
    next: str | None = None
    own: int = 0
    relay: RelayPromise | None = None


class Current(msgspec.Struct):
    """The id of the plan to answer now: the plan itself, or the one that follows it."""

    plan: str


class Plans(msgspec.Struct):
    """All plans."""

    plans: list[PlanEntry]


class Overview(msgspec.Struct):
    """The state of a collector, for those who operate it.

    `budget`: the epsilon that one person can spend on all open plans; of a pilot and the plan that follows it, only the
    dearer one counts. `storage`: the bytes of the store, or null if they are unknown. `waiting`: submissions that are
    not committed yet.
    """

    plans: list[PlanEntry]
    budget: float
    storage: int | None
    waiting: int


class Receipt(msgspec.Struct):
    """A receipt: the submission is durable, and was counted once. `new`: by this request."""

    id: str
    new: bool
    reports: int


class SealedReceipt(msgspec.Struct):
    """A receipt of a sealed batch: it is durable, and was counted once. `new`: by this request.

    `reports` of the batch did open, each id once, and `refused` did not.
    """

    id: str
    new: bool
    reports: int
    refused: int


class EstimateRow(msgspec.Struct):
    """A mean (no category) or the share of a category. Numbers that do not exist are null.

    The mean of a wide number is that of its values clipped to `floor`..`ceiling`, and `beyond` is an upper bound of the
    share of people outside.
    """

    attribute: str
    category: str | int | None
    point: float | None
    stderr: float | None
    low: float | None
    high: float | None
    answers: int
    floor: float | None = None
    ceiling: float | None = None
    beyond: float | None = None


class Estimates(msgspec.Struct):
    """All estimates of a plan. `after` and `next`: as in a `PlanEntry`.

    `intervals`: "each" holds with probability `level`, or all shares of one attribute "together".
    """

    plan: str
    reports: int
    level: float
    estimator: str
    post: str
    estimates: list[EstimateRow]
    after: str | None = None
    next: str | None = None
    intervals: str = "each"


class TicketDocument(msgspec.Struct):
    """A ticket: the id that the report must have, the questions that it deals, and its signature for `Hush-Ticket`."""

    id: str
    questions: list[int]
    signature: str


class TrainingEntry(msgspec.Struct):
    """The state of a training."""

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
    """A round that is over: its weights, and the loss of held-out people."""

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
    """An attribute: a number from low to high, or one of some categories."""

    name: str
    kind: str
    low: float | None
    high: float | None
    categories: int
    optional: bool


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


class MarginRow(msgspec.Struct):
    """Half of an interval's width, as predicted and as achieved. `scale` is the width of the whole scale."""

    attribute: str
    estimate: str
    predicted: float | None
    achieved: float | None
    scale: float


class Margins(msgspec.Struct):
    """Predicted and achieved margins. An attribute with several shares has the largest of each."""

    plan: str
    reports: int
    level: float
    margins: list[MarginRow]


class ShiftRow(msgspec.Struct):
    """How far liars can have moved an estimate; null if nothing bounds it."""

    attribute: str
    estimate: str
    shift: float | None
    scale: float


class Manipulations(msgspec.Struct):
    """How far estimates can have been moved if liars sent a share of the reports."""

    plan: str
    reports: int
    share: float
    liars: int
    shifts: list[ShiftRow]


class DistributionDocument(msgspec.Struct):
    """The shares of a number between edges, from `answers` answers in `reports` reports; or why there are none."""

    plan: str
    attribute: str
    reports: int
    answers: int
    edges: list[float]
    shares: list[float]
    why: str | None


class RelatedRow(msgspec.Struct):
    """A share of a table, the mean of a group, a difference or an association. Numbers that do not exist are null."""

    attribute: str
    category: str | int | None
    by: str
    group: str | int | None
    point: float | None
    stderr: float | None
    low: float | None
    high: float | None
    answers: int


class RelationDocument(msgspec.Struct):
    """Rows about two attributes, from `reports` reports; or why there are none.

    `what` names them: shares of "all", "rows" or "columns"; "means" or "differences"; "copula" or "moments".
    """

    plan: str
    attribute: str
    by: str
    what: str
    reports: int
    level: float
    rows: list[RelatedRow]
    why: str | None


class QuantileRow(msgspec.Struct):
    """The value that a share of the people lie below."""

    share: float
    point: float | None
    low: float
    high: float


class BelowRow(msgspec.Struct):
    """The share of people with at most the value `cut`."""

    cut: float
    point: float | None
    stderr: float | None
    low: float
    high: float


class RangeDocument(msgspec.Struct):
    """Quantiles of a number and the shares below its cuts, from `answers` answers; or why there are none."""

    plan: str
    attribute: str
    reports: int
    level: float
    answers: int
    quantiles: list[QuantileRow]
    below: list[BelowRow]
    why: str | None


class TimelineDocument(msgspec.Struct):
    """Reports by the time at which they were shown, in spans of `width` seconds from `start` (seconds since 1970).

    `before`: those shown before this process started; `elsewhere`: those that only other processes noticed.
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


def as_csv(rows: Sequence[msgspec.Struct], kind: type[msgspec.Struct] = EstimateRow) -> str:
    """Return rows of one kind as CSV. How wide numbers are clipped is left out if there are none."""
    rare = [name for name in ("floor", "ceiling", "beyond") if all(getattr(row, name, None) is None for row in rows)]
    names = [name for name in kind.__struct_fields__ if name not in rare]
    return csv.table(names, ([getattr(row, name) for name in names] for row in rows))


def plan_entry(
    held: HeldPlan, reports: int, shown: Shown, second: str | None, own: int = 0, relay: RelayPromise | None = None
) -> PlanEntry:
    """Return a plan of a store as a document.

    `second`: the plan that follows it. `own`: reports of a relay's own that came with those of people. `relay`: both
    promises of reports through a relay.
    """
    plan, keep = held.plan, held.keep
    return PlanEntry(plan.id, plan.title, plan.epsilon, held.open, keep, reports, shown, plan.after, second, own, relay)


def training_entry(name: str, live: Live, received: int) -> TrainingEntry:
    """Return the state of a training as a document, with the number of people that readers see."""
    round_ = live.round
    return TrainingEntry(name, round_.number, round_.training.rounds, round_.done, live.wanted, received)


def finite(value: float) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def estimate_row(row: Estimate) -> EstimateRow:
    """Return an estimate as a document."""
    point, stderr, low, high = map(finite, (row.point, row.stderr, row.low, row.high))
    clipped = row.floor, row.ceiling, row.beyond
    return EstimateRow(row.attribute, row.category, point, stderr, low, high, row.answers, *clipped)


def related_row(row: Related) -> RelatedRow:
    """Return an estimate of a relation as a document."""
    point, stderr, low, high = map(finite, (row.point, row.stderr, row.low, row.high))
    return RelatedRow(row.attribute, row.category, row.by, row.group, point, stderr, low, high, row.answers)
