"""People in columns: what surveys ask, and what is true of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import hush

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Population:
    """People in columns, with the schema that they answer, and what is true of them."""

    name: str
    schema: hush.Schema
    columns: dict[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def first(self, people: int) -> Population:
        """Return the first of these people, who are in random order."""
        return Population(self.name, self.schema, {name: column[:people] for name, column in self.columns.items()})

    def only(self, names: list[str]) -> Population:
        """Return these people with some of their attributes."""
        schema = hush.Schema([self.schema[name] for name in names])
        return Population(self.name, schema, {name: self.columns[name] for name in names})

    def truth(self) -> dict[tuple[str, Any], float]:
        """Return every mean and frequency, in the attributes' own scales."""
        found: dict[tuple[str, Any], float] = {}
        for attribute in self.schema.attributes:
            column = self.columns[attribute.name]
            if isinstance(attribute, hush.Numeric):
                found[attribute.name, None] = float(column.mean())
                continue
            values, counts = np.unique(column, return_counts=True)
            share = dict(zip(values.tolist(), (counts / len(column)).tolist(), strict=True))
            found |= {(attribute.name, value): share.get(value, 0.0) for value in attribute.values}
        return found
