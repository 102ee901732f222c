"""Tallies as flat arrays of integers: how many reports, how many answers to each question, and all counts.

Adding two of them is one instruction per few counts, and storing one is copying its bytes.

A vector of batches from a relay has one number more, at its end: how many of the reports are the relay's own. So it is
counted and stored together with them.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from hush.core.channels import Points
from hush.core.channels.sparse import DENSE, Sparse
from hush.core.plan import Plan
from hush.core.report import Report
from hush.errors import StoreError, TallyError
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

FEW = 1 << 13  # counts: writing fewer costs little
PAIR = 12  # bytes of a count and its place
ROW = 256  # bytes that an increment counts for in a store, beside its own


class Layout:
    """The positions of a plan's counts in its vector."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        questions = len(plan.questions)
        sizes = [question.channel.alphabet.size for question in plan.questions]
        self._starts = [1 + questions + start for start in accumulate([0, *sizes])]
        self.size = self._starts[-1]
        self._wide = [isinstance(question.channel.alphabet, Points) for question in plan.questions]

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

    def subtract(self, vector: Array, report: Report) -> None:
        """Undo the counting of a report."""
        one = self.zero()
        self.add(one, report)
        vector[: self.size] -= one

    def vector(self, tally: Tally) -> Array:
        """Return a tally as a vector."""
        parts = [[tally.reports], tally.answered, *tally.counts]
        found = np.concatenate(
            [np.array(part.dense() if isinstance(part, Sparse) else part, dtype=np.int64) for part in parts]
        )
        return self.with_own(found, tally.own)

    def tally(self, vector: Array) -> Tally:
        """Return a vector as a tally, checked."""
        counts = [
            _wide(vector[a:b]) if wide else vector[a:b].tolist()
            for a, b, wide in zip(self._starts, self._starts[1:], self._wide, strict=False)
        ]
        reports = int(vector[0])
        return Tally(self.plan, reports, vector[1 : self._starts[0]].tolist(), counts, min(self.own(vector), reports))

    def is_tally(self, vector: Array) -> bool:
        """Return whether reports can give these counts."""
        if (vector < 0).any() or self.own(vector) > int(vector[0]):
            return False
        try:
            self.tally(vector)
        except TallyError:
            return False
        return True

    def own(self, vector: Array) -> int:
        """Return how many reports of a vector are a relay's own."""
        return int(vector[self.size]) if len(vector) > self.size else 0

    def with_own(self, vector: Array, own: int) -> Array:
        """Return a vector that says how many of its reports are a relay's own."""
        return np.append(vector[: self.size], own) if own else vector

    def people(self, vector: Array) -> int:
        """Return how many reports of a vector are those of people."""
        return max(int(vector[0]) - self.own(vector), 0)

    def encode(self, vector: Array) -> bytes:
        """Return a vector as bytes."""
        return encoded(vector)

    @property
    def is_wide(self) -> bool:
        """Whether few counts are written without all others."""
        return self.size >= FEW

    def room(self, before: int, few: bytes | None) -> int | None:
        """Return how many bytes increments take with one more, given those before; None if it is time to add them."""
        after = before + ROW + len(few or b"")
        return after if few is not None and 4 * after <= 8 * self.size else None

    def encode_few(self, vector: Array) -> bytes | None:
        """Return the counts that are not 0, with their places; None if writing the whole vector takes little more."""
        if not self.is_wide:
            return None
        places = np.flatnonzero(vector)
        if 4 * PAIR * len(places) > vector.nbytes:
            return None
        return places.astype("<u4").tobytes() + vector[places].astype("<i8").tobytes()

    def add_few(self, vector: Array, data: bytes) -> Array:
        """Return a vector with the counts that `encode_few` has written; the vector itself may be used for it."""
        number, rest = divmod(len(data), PAIR)
        places = np.frombuffer(data, dtype="<u4", count=number)
        if rest or (number and places.max() > self.size):
            raise StoreError("stored counts are of another plan")
        if number and places.max() == self.size and len(vector) == self.size:
            vector = np.append(vector, 0)  # own reports of a relay
        vector[places] += np.frombuffer(data, dtype="<i8", offset=4 * number)
        return vector

    def decode(self, data: bytes) -> Array:
        """Return a vector from bytes."""
        self.check_size(len(data))
        return decoded(data)

    def check_size(self, size: int) -> None:
        """Refuse a stored vector that has not as many bytes as one of this plan."""
        if size not in (8 * self.size, 8 * (self.size + 1)):
            raise StoreError("a stored tally is of another plan")


def _wide(counts: Array) -> Sparse | array[int]:
    """Return very many counts for a tally. Most are 0, and going through all of them would take a tenth of a second."""
    places = np.flatnonzero(counts)
    if len(places) > len(counts) // DENSE:
        return array("q", counts.tobytes())
    return Sparse(len(counts), zip(places.tolist(), counts[places].tolist(), strict=True))


def encoded(vector: Array) -> bytes:
    """Return a vector as bytes."""
    return vector.astype("<i8").tobytes()


def packed(vector: Array) -> bytes:
    """Return a vector of any plan as bytes. Of very many counts most are 0, and those are left out."""
    places = np.flatnonzero(vector)
    if PAIR * len(places) >= vector.nbytes:
        return b"\0" + encoded(vector)
    size = len(vector).to_bytes(4, "little")
    return b"\1" + size + places.astype("<u4").tobytes() + vector[places].astype("<i8").tobytes()


def unpacked(data: bytes) -> Array:
    """Return a vector from the bytes of `packed`."""
    if data[:1] == b"\0":
        return decoded(data[1:])
    vector = np.zeros(int.from_bytes(data[1:5], "little"), dtype=np.int64)
    number = (len(data) - 5) // PAIR
    vector[np.frombuffer(data, "<u4", number, 5)] = np.frombuffer(data, "<i8", number, 5 + 4 * number)
    return vector


def decoded(data: bytes) -> Array:
    """Return a vector of any plan from bytes."""
    return np.frombuffer(data, dtype="<i8").astype(np.int64)


def plus(one: Array, two: Array) -> Array:
    """Return the sum of two vectors of one plan; either may count own reports."""
    if len(one) < len(two):
        one, two = two, one
    total: Array = one.copy()
    total[: len(two)] += two
    return total


def minus(one: Array, two: Array) -> Array:
    """Return what was counted from an earlier vector, `two`, to a later one."""
    total: Array = np.append(one, 0) if len(one) < len(two) else one.copy()
    total[: len(two)] -= two
    return total


@lru_cache(maxsize=256)
def layout_of(plan: Plan) -> Layout:
    """Return the layout of a plan."""
    return Layout(plan)
