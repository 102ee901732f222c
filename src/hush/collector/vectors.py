"""Tallies as flat arrays of integers: how many reports, how many answers to each question, and all counts.

Adding two of them is one instruction per few counts, and storing one is copying its bytes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from hush.core.plan import Plan
from hush.core.report import Report
from hush.errors import StoreError
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]


class Layout:
    """The positions of a plan's counts in its vector."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        questions = len(plan.questions)
        sizes = [question.channel.alphabet.size for question in plan.questions]
        self._starts = [1 + questions + start for start in accumulate([0, *sizes])]
        self.size = self._starts[-1]

    def zero(self) -> Array:
        """Return the vector of an empty tally."""
        return np.zeros(self.size, dtype=np.int64)

    def add(self, vector: Array, report: Report) -> None:
        """Count one report."""
        vector[0] += 1
        for index, output in report.answers:
            vector[1 + index] += 1
            alphabet = self.plan.questions[index].channel.alphabet
            counts: Any = vector[self._starts[index] : self._starts[index + 1]]  # a view
            alphabet.count(counts, output)

    def vector(self, tally: Tally) -> Array:
        """Return a tally as a vector."""
        parts = [[tally.reports], tally.answered, *tally.counts]
        return np.array([count for part in parts for count in part], dtype=np.int64)

    def tally(self, vector: Array) -> Tally:
        """Return a vector as a tally, checked."""
        counts = [vector[a:b].tolist() for a, b in zip(self._starts, self._starts[1:], strict=False)]
        return Tally(self.plan, int(vector[0]), vector[1 : self._starts[0]].tolist(), counts)

    def encode(self, vector: Array) -> bytes:
        """Return a vector as bytes."""
        return vector.astype("<i8").tobytes()

    def decode(self, data: bytes) -> Array:
        """Return a vector from bytes."""
        vector = np.frombuffer(data, dtype="<i8").astype(np.int64)
        if len(vector) != self.size:
            raise StoreError("a stored tally is of another plan")
        return vector


@lru_cache(maxsize=256)
def layout_of(plan: Plan) -> Layout:
    """Return the layout of a plan."""
    return Layout(plan)
