"""From a record to the features of a linear model, using public knowledge only.

A number is scaled from its declared bounds to [-1, 1]. A category with k values becomes k - 1 numbers, one for each
value but the last; at most one of them is 1, the others are 0. If its values have an order, one more number says how
far along the value is, from -1 for the first to 1 for the last: people with neighbouring values then teach the model
about each other. An optional number is 0 where it is missing, and one more feature marks the missing value; the place
of a missing value in an order is 0. Nothing is learnt from the data: bounds and values come from the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hush.core.schema import Categorical, Choices, Input, Numeric, Record, Schema
from hush.core.texts import Text
from hush.errors import DesignError, SchemaError


class Part(NamedTuple):
    """The features from `start` to `end`: a number, or the indicators of a category (all 0 for the last one).

    If the category is ordered, the last feature is the place of its value, from -1 to 1; `values` is their number.
    """

    start: int
    end: int
    number: bool
    ordered: bool = False
    values: int = 0


def place(index: int, values: int) -> float:
    """Return the place of a value among several in order, from -1 to 1. For "missing", behind them all, it is 0."""
    return 2.0 * index / (values - 1) - 1.0 if index < values else 0.0


@dataclass(frozen=True)
class Features:
    """The features that belong to a schema. `ordered` names the categories whose values are listed in their order."""

    schema: Schema
    ordered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in self.schema.attributes:
            if isinstance(one, Text):
                raise SchemaError(f"attribute {one.name!r}: a text cannot be a feature; declare a category")
            if isinstance(one, Choices):
                raise SchemaError(
                    f"attribute {one.name!r}: choices cannot be features; declare a category for each value"
                )
        if type(self.ordered) is not tuple or not all(type(name) is str for name in self.ordered):
            raise DesignError("ordered must be a tuple of names")
        for name in self.ordered:
            attribute = self.schema[name] if name in self.schema.names else None
            if not isinstance(attribute, Categorical) or self.ordered.count(name) > 1:
                raise DesignError("ordered names categories of the schema, each once")
            if len(attribute.values) < 2:
                raise DesignError(f"attribute {name!r}: one value has no order; leave it out of ordered")

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
                if attribute.name in self.ordered:
                    yield f"{attribute.name} (order)"

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The groups of features that belong together."""
        found: list[Part] = []
        start = 0
        for attribute in self.schema.attributes:
            if isinstance(attribute, Numeric):
                more = [Part(start, start + 1, True)]
                more += [Part(start + 1, start + 2, False)] * attribute.optional
            else:
                ordered = attribute.name in self.ordered
                end = start + len(attribute.labels) - 1 + ordered
                more = [Part(start, end, False, ordered, len(attribute.values))]
            found += more
            start = more[-1].end
        return tuple(found)

    def of(self, record: Record) -> list[float]:
        """Return the features of one record. It runs on the device."""
        found: list[float] = []
        for attribute, value in zip(self.schema.attributes, self.schema.encode(record), strict=True):
            found += self._one(attribute, value)
        return found

    def _one(self, attribute: Any, value: Input) -> list[float]:
        if isinstance(attribute, Numeric):
            scaled = 0.0 if value is None else 2.0 * value - 1.0
            return [scaled, float(value is None)] if attribute.optional else [scaled]
        found = [float(value == index) for index in range(len(attribute.labels) - 1)]
        if attribute.name in self.ordered:
            assert isinstance(value, int)
            found.append(place(value, len(attribute.values)))
        return found
