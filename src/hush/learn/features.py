"""From a record to the features of a linear model, by public knowledge alone.

A number is scaled from its declared bounds to [-1, 1]. A category with k values becomes k - 1 numbers, one for each value
but the last, of which at most one is 1. An optional number is 0 where it is missing, and has one more feature that says
so. Nothing is learnt from the data: bounds and values come from the schema. One person's features have a length of at
most the square root of the number of attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hush.schema import Input, Numeric, Record, Schema


@dataclass(frozen=True)
class Features:
    """The features that belong to a schema."""

    schema: Schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each feature is about."""
        return tuple(self._names())

    def _names(self) -> Iterator[str]:
        for attribute in self.schema.attributes:
            if isinstance(attribute, Numeric):
                yield attribute.name
                if attribute.optional:
                    yield f"{attribute.name}=(missing)"
            else:
                yield from (f"{attribute.name}={label}" for label in attribute.labels[:-1])

    @property
    def bound(self) -> float:
        """The largest length that the features of a person may have."""
        return math.sqrt(len(self.schema))

    def of(self, record: Record) -> list[float]:
        """Return the features of one record: on the device."""
        found: list[float] = []
        for attribute, value in zip(self.schema.attributes, self.schema.encode(record), strict=True):
            found += self._one(attribute, value)
        return found

    @staticmethod
    def _one(attribute: Any, value: Input) -> list[float]:
        if isinstance(attribute, Numeric):
            scaled = 0.0 if value is None else 2.0 * value - 1.0
            return [scaled, float(value is None)] if attribute.optional else [scaled]
        return [float(value == index) for index in range(len(attribute.labels) - 1)]

    def matrix(self, table: Any) -> Any:
        """Return the features of a whole table as a float32 matrix. Every value is checked, as in `hush.batch`."""
        import numpy as np

        from hush.batch.columns import encode

        encoded = encode(self.schema, table)
        x = np.empty((encoded.rows, len(self.names)), dtype=np.float32)
        start = 0
        for batch in encoded.batches:
            part = x[start : start + batch.rows]
            column = 0
            for attribute, array in zip(self.schema.attributes, batch.arrays, strict=True):
                if isinstance(attribute, Numeric):
                    u = np.clip((array - attribute.low) / (attribute.high - attribute.low), 0.0, 1.0)
                    part[:, column] = np.nan_to_num(2.0 * u - 1.0)
                    column += 1
                    if attribute.optional:
                        part[:, column] = np.isnan(array)
                        column += 1
                else:
                    for index in range(len(attribute.labels) - 1):
                        part[:, column] = array == index
                        column += 1
            start += batch.rows
        return x
