"""The JSON documents of the HTTP interface. `/openapi.json` is made of these types."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

import msgspec

from hush.estimates import Estimate


class PlanEntry(msgspec.Struct):
    """A plan that this collector has."""

    id: str
    title: str
    epsilon: float
    open: bool
    keep: str
    reports: int


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
    n: int


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


class Health(msgspec.Struct):
    """Whether the collector is alive."""

    status: str


def as_csv(rows: Sequence[EstimateRow]) -> str:
    """Return estimates as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = EstimateRow.__struct_fields__
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if (value := getattr(row, name)) is None else value for name in names])
    return out.getvalue()


def estimate_row(row: Estimate) -> EstimateRow:
    """Return an estimate as a document."""
    point, stderr, low, high = (
        value if math.isfinite(value) else None for value in (row.point, row.stderr, row.low, row.high)
    )
    return EstimateRow(row.attribute, row.category, point, stderr, low, high, row.n)
