"""Rows of estimates as documents and as CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from hush.collector.http.documents.estimates import ChangeRow, EstimateRow
from hush.collector.http.documents.relations import RelatedRow
from hush.core.schema import Schema
from hush.server.changes import Change
from hush.server.estimates import Estimate
from hush.server.relations.rows import Related
from hush.show import csv
from hush.show.rows import worded


def as_csv(
    rows: Sequence[Any],
    schema: Schema,
    kind: type[msgspec.Struct] = EstimateRow,
    spans: Sequence[tuple[str, str]] | None = None,
) -> str:
    """Return rows of one kind as CSV: dates and times of day as texts; clips and refusals only if there are some.

    `spans`: the first and the last day of each row's period, which become the first two columns.
    """
    scaled = () if kind is RelatedRow and not all(row.group is not None for row in rows) else _SCALED[kind]

    def cell(row: Any, name: str) -> Any:
        value = getattr(row, name)
        return worded(schema, row.attribute, value) if name in scaled and row.category is None else value

    rare = [name for name in _RARE if all(getattr(row, name, None) is None for row in rows)]
    names = [name for name in kind.__struct_fields__ if name not in rare]
    cells = ([cell(row, name) for name in names] for row in rows)
    if spans is None:
        return csv.table(names, cells)
    return csv.table(["first", "last", *names], ([*span, *row] for span, row in zip(spans, cells, strict=True)))


_RARE = ("floor", "ceiling", "beyond", "needed")
"""The columns that are left out if no row has a value there."""

_SCALED: dict[type[msgspec.Struct], tuple[str, ...]] = {
    EstimateRow: ("point", "low", "high", "floor", "ceiling"),
    ChangeRow: ("before", "after"),
    RelatedRow: ("point", "low", "high"),  # the means of groups
}
"""The columns that are values of their attribute, in rows without a category."""


def finite(value: float) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def estimate_row(row: Estimate) -> EstimateRow:
    """Return an estimate as a document."""
    point, stderr, low, high = map(finite, (row.point, row.stderr, row.low, row.high))
    clipped = row.floor, row.ceiling, row.beyond
    return EstimateRow(row.attribute, row.category, point, stderr, low, high, row.answers, *clipped, row.needed)


def change_row(row: Change) -> ChangeRow:
    """Return a change as a document."""
    before, after, point, stderr = map(finite, (row.before, row.after, row.point, row.stderr))
    ends = row.low, row.high
    return ChangeRow(row.attribute, row.category, before, after, point, stderr, *ends, row.told, row.needed)


def related_row(row: Related) -> RelatedRow:
    """Return an estimate of a relation as a document."""
    point, stderr, low, high = map(finite, (row.point, row.stderr, row.low, row.high))
    names = row.attribute, row.category, row.by, row.group
    return RelatedRow(*names, point, stderr, low, high, row.answers, row.needed)
