"""Features of whole tables, as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.columns import Columns, encode
from hush.batch.native import compiled
from hush.core.schema import Numeric
from hush.core.training.features import Features, place

Array = np.ndarray[Any, Any]

SLACK = 1.0 + 1e-6
ROWS = 1024


@compiled
def scale_rows(values: Array, low: Array, factor: Array, scaled: Array) -> int:
    """Write (values - low) * factor - 1, clipped to [-1, 1]; return how many were outside by more than rounding."""
    outside = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = (values[i, j] - low[j]) * factor[j] - 1.0
            outside += abs(value) > SLACK
            scaled[i, j] = min(max(value, -1.0), 1.0)
    return outside


def scaled_rows(values: Array, ends: Array) -> tuple[Array, int]:
    """Return numbers on the scale [-1, 1] of their columns' ends, as a float32 matrix, and how many were clipped."""
    scaled = np.empty(values.shape, dtype=np.float32)
    return scaled, scale_rows(values, ends[:, 0], 2.0 / (ends[:, 1] - ends[:, 0]), scaled)


def feature_matrix(features: Features, table: Any) -> Array:
    """Return the features of a table as a float32 matrix: the same numbers as `Features.of`, for every row.

    Every value is checked, as in `hush.batch`.
    """
    encoded = encode(features.schema, table)
    x = np.empty((encoded.rows, len(features.names)), dtype=np.float32)
    start = 0
    for batch in encoded.batches:
        _fill(x[start : start + batch.rows], features, batch)
        start += batch.rows
    return x


@compiled
def write_numbers(x: Array, column: int, numbers: Array, low: float, high: float, optional: bool) -> None:
    """Write numbers on the scale [-1, 1], 0 for a missing one; if they may be missing, beside it whether it is."""
    for i in range(len(numbers)):
        value = 2.0 * min(max((numbers[i] - low) / (high - low), 0.0), 1.0) - 1.0
        missing = np.isnan(numbers[i])
        x[i, column] = 0.0 if missing else value
        if optional:
            x[i, column + 1] = missing


@compiled
def write_values(x: Array, column: int, codes: Array, count: int) -> None:
    """Write a 1 in the column of each value but the last of a category, and 0 in the others."""
    for i in range(len(codes)):
        for j in range(count):
            x[i, column + j] = 0.0
        if codes[i] < count:
            x[i, column + codes[i]] = 1.0


def _fill(x: Array, features: Features, batch: Columns) -> None:
    for start in range(0, batch.rows, ROWS):  # some rows at a time, which stay in the cache
        part = x[start : start + ROWS]
        column = 0
        for attribute, array in zip(features.schema.attributes, batch.arrays, strict=True):
            some = array[start : start + ROWS]
            if isinstance(attribute, Numeric):
                write_numbers(part, column, some, float(attribute.low), float(attribute.high), attribute.optional)
                column += 1 + attribute.optional
                continue
            count = len(attribute.labels) - 1
            write_values(part, column, some, count)
            column += count
            if attribute.name in features.ordered:
                places = [place(index, len(attribute.values)) for index in range(count + 1)]
                part[:, column] = np.array(places)[some]
                column += 1
