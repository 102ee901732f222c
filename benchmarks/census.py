"""Records in the shape of a census: 6 numbers and 10 categories of 2 to 60 values, drawn anew into the same buffers.

Only the shapes are a census's; the values are simulated. Buffers are filled in place, so that what the generator needs
is known: one piece of records, and one column of scratch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import hush

Array = np.ndarray[Any, Any]

NUMBERS = {
    "age": 100.0,
    "hours": 99.0,
    "weeks": 52.0,
    "commute": 200.0,
    "income": 1_000_000.0,
    "rent": 10_000.0,
}
CATEGORIES = {
    "sex": 2,
    "citizen": 2,
    "tenure": 3,
    "marital": 5,
    "class": 6,
    "race": 9,
    "education": 16,
    "relation": 17,
    "industry": 42,
    "state": 60,
}
PIECE = 1 << 20


def schema(labels: bool = False) -> hush.Schema:
    """Return the schema: numbers from 0 up, and as categories integers or, with labels, strings."""
    numbers = [hush.Numeric(name, 0, high) for name, high in NUMBERS.items()]
    values = {name: [f"v{i}" for i in range(k)] if labels else list(range(k)) for name, k in CATEGORIES.items()}
    return hush.Schema([*numbers, *(hush.Categorical(name, listed) for name, listed in values.items())])


class Census:
    """Buffers for one piece of records, and the truth about all that were drawn."""

    def __init__(self, size: int = PIECE) -> None:
        self.columns: dict[str, Array] = {name: np.zeros(size) for name in NUMBERS}
        self.columns |= {name: np.zeros(size, dtype=np.int64) for name in CATEGORIES}
        self._scratch = np.zeros(size)
        self._generator = np.random.default_rng()
        self._sums = {name: np.zeros(CATEGORIES.get(name, 1)) for name in self.columns}
        self._count = 0

    @property
    def bytes(self) -> int:
        """How much memory the buffers take."""
        return self._scratch.nbytes + sum(column.nbytes for column in self.columns.values())

    def draw(self, n: int) -> dict[str, Array]:
        """Return n new records. They are views of the buffers, and last until the next are drawn."""
        scratch = self._scratch[:n]
        views = {name: column[:n] for name, column in self.columns.items()}
        for name, column in views.items():
            self._generator.random(out=scratch)
            np.multiply(scratch, scratch, out=scratch)  # small values are commoner than large ones
            np.multiply(scratch, NUMBERS.get(name) or CATEGORIES[name], out=scratch)
            column[:] = scratch  # integers: rounded down
            if name in NUMBERS:
                self._sums[name] += column.sum()
            else:
                self._sums[name] += np.bincount(column, minlength=CATEGORIES[name])
        self._count += n
        return views

    def pieces(self, n: int) -> Iterator[dict[str, Array]]:
        """Return n records, piece by piece."""
        size = len(self._scratch)
        for start in range(0, n, size):
            yield self.draw(min(size, n - start))

    def truth(self, attribute: str, category: str | int | None) -> float:
        """Return the mean of a number, or the share of a category, among all records drawn so far."""
        return float(self._sums[attribute][int(category or 0)]) / self._count
