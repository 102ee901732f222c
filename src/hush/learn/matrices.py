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


def _fill(x: Array, features: Features, batch: Columns) -> None:
    column = 0
    for attribute, array in zip(features.schema.attributes, batch.arrays, strict=True):
        if isinstance(attribute, Numeric):
            u = np.clip((array - attribute.low) / (attribute.high - attribute.low), 0.0, 1.0)
            x[:, column] = np.nan_to_num(2.0 * u - 1.0)
            column += 1
            if attribute.optional:
                x[:, column] = np.isnan(array)
                column += 1
        else:
            for index in range(len(attribute.labels) - 1):
                x[:, column] = array == index
                column += 1
            if attribute.name in features.ordered:
                places = [place(index, len(attribute.values)) for index in range(len(attribute.labels))]
                x[:, column] = np.array(places)[array]
                column += 1
