"""Tallies of many reports at once: this module holds and checks the counts of the kernels in `hush.batch.counters`.

Every row that `spec/reports.md` refuses is counted as a fault, by question and rule, and becomes an error at the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from hush.batch import plainly
from hush.batch.counters import (
    ABREAST,
    ANY_SET,
    FAULTS,
    GROUP,
    LANES,
    MANY,
    MOST_PARTS,
    OUTSIDE,
    PLANES,
    SYMBOL,
    WRONG_PARTS,
    count_parts,
    count_rows,
    count_symbols,
    count_whole,
    count_words,
    empty_planes,
    find_faults,
)
from hush.batch.piles import MOST, ROOM, empty_piles, pile_rows
from hush.core.channels import Grouped, Points, Subsets
from hush.core.columnar import WORD_BITS, named, parts, pieces
from hush.core.plan import Plan
from hush.errors import ReportError
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

MAX_ROOM = 1 << 20  # places for the symbols of all questions, equally many for each
FEW = 1 << 12  # places of symbols; beyond them one histogram is enough
MAX_HELD = 1 << 30  # rows that are counted in 32 bits before they are added up


class Counts:
    """A tally in the making. Rows of one answer must come in order; otherwise the order does not matter."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        alphabets = [question.channel.alphabet for question in plan.questions]
        self._wide = [isinstance(alphabet, Points) for alphabet in alphabets]
        self._sizes = np.array([alphabet.size for alphabet in alphabets], dtype=np.int64)
        self._starts = np.array([0, *accumulate(self._sizes)], dtype=np.int64)
        self._rows = np.array(parts(plan), dtype=np.int64)
        self._weights = np.array([_weight(alphabet) for alphabet in alphabets], dtype=np.int64)
        self._bits = max(int(size) - 1 for size in self._sizes).bit_length()
        sets = bool((self._weights != SYMBOL).any())
        self._mixed = sets or len(alphabets) << self._bits > MAX_ROOM  # then rows are checked by question
        self._piled = self._mixed and int(self._rows.max()) == 1 and 1 < len(alphabets) <= MOST
        held = np.where(self._weights == SYMBOL, 0, self._rows)
        self._slots = np.cumsum(held) - held
        slots = int(held.sum())
        masks = [
            _masks(alphabet, part) for alphabet, count in zip(alphabets, held, strict=True) for part in range(count)
        ]
        self._masks = np.array(masks, dtype=np.uint64).reshape(slots, 4)
        self._answered = np.zeros(len(alphabets), dtype=np.int64)
        self._counts = np.zeros((1, self._starts[-1]), dtype=np.int64)
        room = 0 if self._mixed else len(alphabets) << self._bits
        # 32 bits are half as large as 64, for the cache.
        self._symbols = np.zeros((1 if room > FEW else 2, room), dtype=np.int32)
        self._held = 0
        self._planes = np.zeros((slots, PLANES), dtype=np.uint64)
        self._waiting = np.zeros((slots, GROUP), dtype=np.uint64)
        self._lanes = np.zeros(PLANES * LANES, dtype=np.uint64)
        self._fills = np.zeros(slots, dtype=np.int64)
        self._groups = np.zeros(slots, dtype=np.int64)
        self._open = np.zeros(4, dtype=np.int64)
        self._faults = np.zeros((len(alphabets) + 1, len(FAULTS)), dtype=np.int64)
        # For whole batches: the same numbers, in few arrays.
        self._plan = np.zeros((5, len(alphabets) + 1), dtype=np.int64)
        for row, numbers in enumerate((self._sizes, self._starts, self._rows, self._weights, self._slots)):
            self._plan[row, : len(numbers)] = numbers
        self._room = np.zeros((2, slots), dtype=np.int64)
        self._heights = np.zeros(len(alphabets), dtype=np.int64)
        self._rounds = np.zeros(len(alphabets), dtype=np.int64)
        self._piles = np.zeros(0, dtype=np.uint64)
        self._abreast = np.zeros(0, dtype=np.uint64)
        self._size = 1 + len(alphabets) + int(self._starts[-1])

    def add(self, attribute: Array, part: Array, output: Array) -> None:
        """Count rows. `part` is empty where the format has no such column."""
        done = 0
        kernel = pile_rows if self._piled else count_rows if self._mixed else count_symbols
        if plainly.few(len(attribute), kernel):
            plainly.count_rows(
                attribute,
                part,
                output,
                self._sizes,
                self._starts,
                self._rows,
                self._weights,
                self._slots,
                self._masks,
                self._answered,
                self._counts[0],
                self._open,
                self._faults,
            )
            return
        if self._piled:
            if not len(self._piles):  # a vector of a small batch needs none
                self._piles = np.zeros(len(self._sizes) * ROOM, dtype=np.uint64)
                self._abreast = np.zeros(len(self._sizes) * PLANES * ABREAST, dtype=np.uint64)
            pile_rows(attribute, output, *self._heaped())
            return
        if self._weights[0] != SYMBOL and len(self._sizes) == 1 and not len(part) and not attribute.any():
            done = count_words(
                output,
                self._sizes[0],
                self._weights[0],
                self._masks,
                self._answered,
                self._counts[0],
                self._lanes,
                self._planes,
                self._groups,
                self._faults,
            )
        elif len(self._sizes) == 1 and 1 < self._rows[0] <= MOST_PARTS and len(part) >= MANY and not self._open[1]:
            done = count_parts(
                attribute,
                part,
                output,
                self._sizes[0],
                self._rows[0],
                self._weights[0],
                self._masks,
                self._answered,
                self._counts[0],
            )
        if self._mixed:
            count_rows(
                attribute[done:],
                part[done:],
                output[done:],
                self._sizes,
                self._starts,
                self._rows,
                self._weights,
                self._slots,
                self._masks,
                self._answered,
                self._counts[0],
                self._planes,
                self._waiting,
                self._fills,
                self._groups,
                self._open,
                self._faults,
            )
            return
        if self._held + len(attribute) > MAX_HELD:
            self.read_out()
        self._held += len(attribute)
        if count_symbols(attribute, output, len(self._sizes), self._bits, self._symbols):
            find_faults(attribute, output, len(self._sizes), self._bits, self._faults)

    def _heaped(self) -> tuple[Array, ...]:
        """Return the plan, and everything that counting on piles changes."""
        return (
            self._plan,
            self._masks,
            self._piles,
            self._heights,
            self._rounds,
            self._abreast,
            self._counts[0],
            self._answered,
            self._faults,
        )

    def whole(self, attribute: Array, part: Array, output: Array) -> Array | None:
        """Return the vector of one batch, as `add` and `drain` would, or None if they would find a fault.

        It is for many small batches. Drain earlier counts first.
        """
        vector = np.zeros(self._size, dtype=np.int64)
        good = count_whole(
            attribute,
            part,
            output,
            self._plan,
            self._masks,
            self.plan.k,
            self._planes,
            self._waiting,
            self._room,
            self._faults,
            vector,
        )
        return vector if good else None

    def read_out(self) -> None:
        """Move the counts of symbols, of piles and of the upright counters into plain counters."""
        if self._held:
            room = self._symbols.sum(axis=0, dtype=np.int64).reshape(len(self._sizes), -1)
            known = room[np.arange(room.shape[1]) < self._sizes[:, None]]
            self._counts[0] += known
            # The others are counts of symbols outside the alphabet.
            self._faults[:-1, OUTSIDE] += room.sum(axis=1) - np.add.reduceat(known, self._starts[:-1])
            self._symbols[:] = 0
            self._held = 0
        if self._piled:
            if self._heights.any() or self._rounds.any():
                empty_piles(*self._heaped())
            return
        if len(self._planes) and (self._fills.any() or self._groups.any() or not plainly.few(0, empty_planes)):
            empty_planes(
                self._weights,
                self._rows,
                self._slots,
                self._starts,
                self._planes,
                self._waiting,
                self._fills,
                self._groups,
                self._counts[0],
            )

    def absorb(self, other: Counts) -> None:
        """Add the counts of another."""
        other.read_out()
        self._counts += other._counts
        self._answered += other._answered
        self._faults += other._faults

    def tally(self) -> Tally:
        """Return the tally, or raise an error that names a fault and its number of rows."""
        reports, answered, counts = self._totals()
        vectors: list[Any] = [
            array("q", counts[a:b].tobytes()) if wide else counts[a:b].tolist()
            for a, b, wide in zip(self._starts[:-1], self._starts[1:], self._wide, strict=True)
        ]
        if self._mixed or any(self._wide):
            return Tally(self.plan, reports, answered.tolist(), vectors)
        # A tally would look at every count again; but here they add up to the answers, which are their sums.
        found = Tally(self.plan)
        found.reports, found.answered, found.counts = reports, answered.tolist(), vectors
        return found

    def drain(self) -> Array:
        """Return the number of reports, the answers and the counts as one vector, and start again from zero.

        Where `tally` raises an error, so does this, and the counts are forgotten too.
        """
        try:
            reports, answered, counts = self._totals()
            return np.concatenate([[reports], answered, counts])
        finally:
            for array in (self._counts, self._answered, self._faults, self._open, self._fills, self._groups):
                array[:] = 0
            for array in (self._planes, self._heights, self._rounds, self._abreast):
                array[:] = 0
            self._symbols[:] = 0
            self._held = 0

    def _totals(self) -> tuple[int, Array, Array]:
        """Return the number of reports, the answers to each question, and all counts, checked."""
        self.read_out()
        self._check()
        counts = self._counts[0]
        answered = self._answered if self._mixed else np.add.reduceat(counts, self._starts[:-1])
        reports, left = divmod(int(answered.sum()), self.plan.k)
        if left:
            raise ReportError(f"the number of answers must be a multiple of {self.plan.k}: every report has that many")
        if int(answered.max()) > reports:
            most = int(answered.argmax())
            raise ReportError(f"{named(self.plan, most)}: is answered more often than there are reports")
        return reports, answered, counts

    def _check(self) -> None:
        if self._open[1]:
            self._faults[self._open[0], WRONG_PARTS] += 1
        if not self._faults.any():
            return
        index, rule = np.argwhere(self._faults)[0].tolist()
        where = named(self.plan, index) if index < len(self._sizes) else "reports"
        raise ReportError(f"{where}: {FAULTS[rule]} ({int(self._faults[index, rule])} rows)")


def total(several: Sequence[Counts]) -> Tally:
    """Return the tally of several counts together."""
    first, *others = several
    for other in others:
        first.absorb(other)
    return first.tally()


def _weight(alphabet: Any) -> int:
    """Return the code of an alphabet for `count_rows`."""
    if not isinstance(alphabet, Subsets):
        return SYMBOL
    if alphabet.weight is None:
        return ANY_SET
    return alphabet.weight


def _masks(alphabet: Any, part: int) -> tuple[int, int, int, int]:
    """Return the masks of a part of a set for `count_rows`. Those of a set without groups find no fault."""
    whole = (1 << WORD_BITS) - 1
    if not isinstance(alphabet, Grouped):
        return whole, whole, 0, 0
    group, first = alphabet.group, WORD_BITS * part
    tops, starts = pieces(group, first)
    begun, end = -first % group, first + WORD_BITS
    before = whole if begun > WORD_BITS else (1 << begun) - 1
    after = whole & ~((1 << max(end - end % group - first, 0)) - 1) if end < alphabet.size else 0
    return tops, starts, before, after
