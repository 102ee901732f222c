"""From a record to the features of a linear model, using public knowledge only.

A number is scaled from its declared bounds to [-1, 1]. A category with k values becomes k - 1 numbers, one for each
value but the last; at most one of them is 1, the others are 0. An optional number is 0 where it is missing, and one
more feature marks the missing value. Nothing is learnt from the data: bounds and values come from the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hush.core.schema import Input, Numeric, Record, Schema


class Part(NamedTuple):
    """The features from `start` to `end`: a number, or the indicators of a category (all 0 for the last one)."""

    start: int
    end: int
    number: bool


@dataclass(frozen=True)
class Features:
    """The features that belong to a schema."""

    schema: Schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each feature."""
        return tuple(self._names())

    def _names(self) -> Iterator[str]:
        for attribute in self.schema.attributes:
            if isinstance(attribute, Numeric):
                yield attribute.name
                if attribute.optional:
                    yield f"{attribute.name}=(missing)"
            else:
                yield from (f"{attribute.name}={label}" for label in attribute.labels[:-1])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The groups of features that belong together."""
        found: list[Part] = []
        start = 0
        for attribute in self.schema.attributes:
            number = isinstance(attribute, Numeric)
            sizes = [1] * (1 + attribute.optional) if isinstance(attribute, Numeric) else [len(attribute.labels) - 1]
            for size in sizes:
                found.append(Part(start, start + size, number))
                start += size
                number = False
        return tuple(found)

    def of(self, record: Record) -> list[float]:
        """Return the features of one record. It runs on the device."""
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
