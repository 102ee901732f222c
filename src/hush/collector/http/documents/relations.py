"""Relations between two attributes, and ranges of one."""

from __future__ import annotations

import msgspec


class RelatedRow(msgspec.Struct):
    """A share of a table, the mean of a group, a difference or an association. Numbers that do not exist are null.

    `needed`: as in an `EstimateRow`.
    """

    attribute: str
    category: str | int | None
    by: str
    group: str | int | None
    point: float | None
    stderr: float | None
    low: float | None
    high: float | None
    answers: int
    needed: int | None = None


class RelationDocument(msgspec.Struct):
    """Rows about two attributes, from `reports` reports; or why there are none.

    `what` names them: shares of "all", "rows" or "columns"; "means" or "differences"; "copula" or "moments".
    `intervals`: "each" holds with probability `level`, or all rows "together".
    """

    plan: str
    attribute: str
    by: str
    what: str
    reports: int
    level: float
    rows: list[RelatedRow]
    why: str | None
    intervals: str = "each"


class QuantileRow(msgspec.Struct):
    """The value that a share of the people lie below. `needed`: as in an `EstimateRow`."""

    share: float
    point: float | None
    low: float
    high: float
    needed: int | None = None


class BelowRow(msgspec.Struct):
    """The share of people with at most the value `cut`. `needed`: as in an `EstimateRow`."""

    cut: float
    point: float | None
    stderr: float | None
    low: float
    high: float
    needed: int | None = None


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
