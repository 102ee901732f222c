"""Estimates, their changes, their margins and their distributions."""

from __future__ import annotations

import msgspec


class EstimateRow(msgspec.Struct):
    """A mean (no category) or the share of a category. Numbers that do not exist are null.

    `needed`: too few people answered to say anything, and about so many are needed; null if that is not so.
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
    needed: int | None = None


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


class ChangeRow(msgspec.Struct):
    """The change of a mean (no category) or of a share. Numbers that do not exist are null.

    `told`: "up" or "down"; null if the change cannot be told from noise, as its interval contains 0. `needed`: as in an
    `EstimateRow`.
    """

    attribute: str
    category: str | int | None
    before: float | None
    after: float | None
    point: float | None
    stderr: float | None
    low: float
    high: float
    told: str | None
    needed: int | None = None


class PeriodEntry(msgspec.Struct):
    """The reports that readers first saw from the day `first` to the day `last` (UTC, both included).

    `changes`: from the period before to this one; none for the first of all.
    """

    first: str
    last: str
    reports: int
    estimates: list[EstimateRow]
    changes: list[ChangeRow]


class PeriodsDocument(msgspec.Struct):
    """The latest periods of a plan that are over, in order. `by`: "day" or "week"; null if nothing is counted by them.

    `others`: the reports that are in no period that is over. They came in the current one, or before periods were
    counted. `intervals`: as in `Estimates`.
    """

    plan: str
    by: str | None
    level: float
    intervals: str
    others: int
    periods: list[PeriodEntry]


class ChangesDocument(msgspec.Struct):
    """The change from the plan `against` to `plan`, of all attributes that both ask alike.

    `left_out`: why others cannot be compared. `intervals`: as in `Estimates`.
    """

    plan: str
    against: str
    reports: int
    reports_against: int
    level: float
    intervals: str
    changes: list[ChangeRow]
    left_out: list[str]


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
    """The shares of a number between edges, from `answers` answers in `reports` reports; or why there are none.

    `bins`: the values of each bin, in words. A bin of whole numbers holds those from its edge to below the next.
    """

    plan: str
    attribute: str
    reports: int
    answers: int
    edges: list[float]
    shares: list[float]
    bins: list[str]
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
