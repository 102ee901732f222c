"""For every point of a projective geometry, the number of reports that are orthogonal to it.

`hush.core.channels.geometry` says how points are numbered, and when two of them are orthogonal. Here u is a reported
point with the digits u_0..u_(t-1), and v a value's point. Orthogonal means that the sum of all u_i*v_(t-1-i) is 0.

**By digits.** Take digits off u from the lowest on, and put digits onto v from the highest on. Between two such steps
let F[a, z, b] be the number of reports whose remaining digits are a, and whose lower digits, multiplied with the digits
b of v, add up to z. Then F'[a, z, (b, e)] is the sum of F[(a, d), z - d*e, b] over all digits d: that is the whole
algorithm. Both a and b are points of smaller geometries, or 0, so F has about as many entries as there are points; each
takes q additions in each of t steps. The highest digit of a point is 1, so b = 0 is followed by 0 or 1 only, and so is
a = 0.

**Many at once.** A Python integer holds a whole row of counts, side by side, and one addition adds them all. As no
count exceeds the number of reports, nothing carries from one to the next. Rows run over a as long as there are more of
them, and then over b. No library is needed, and the results are exact.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from hush.core.channels.fields import Field, field

FEW = 64  # in larger fields of prime order, rows are turned around instead of looked up
PIECE = 1 << 15
Row = int
"""Counts side by side in one integer, the first one lowest."""
Counts: TypeAlias = "array[int]"


class Lanes:
    """Converts rows of counts between arrays and integers. `n` is the sum of all counts."""

    def __init__(self, n: int) -> None:
        self.code = "I" if n < 1 << 32 and array("I").itemsize == 4 else "Q"
        self.width = array(self.code).itemsize

    def row(self, counts: Counts) -> Row:
        """Return counts as one integer."""
        return int.from_bytes(_little(counts).tobytes(), "little")

    def counts(self, row: Row, size: int) -> Counts:
        """Return the counts of a row."""
        return _little(array(self.code, row.to_bytes(size * self.width, "little")))

    def zeros(self, size: int) -> Counts:
        """Return this number of zeros."""
        return array(self.code, bytes(size * self.width))


def _little(counts: Counts) -> Counts:
    """Return counts with the lowest byte first, from those in the order of this machine, or the other way round."""
    if sys.byteorder == "big":
        counts = counts[:]
        counts.byteswap()
    return counts


def orthogonal(histogram: Iterable[int], order: int, digits: int) -> Counts:
    """Return for every point how many reports are orthogonal to it, from the number of reports of every point."""
    wide = histogram if isinstance(histogram, array) else array("Q", histogram)
    lanes = Lanes(added(wide))
    narrow = lanes.zeros(0)
    for piece in pieces(wide):
        narrow.extend(array(lanes.code, piece))
    return _Space(field(order), digits, lanes, narrow).supports()


def added(counts: Sequence[int]) -> int:
    """Return the sum of many counts."""
    return sum(map(sum, pieces(counts)))


def pieces(counts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield parts of very many counts. Between them other threads may run, such as one that answers requests."""
    for at in range(0, len(counts), PIECE):
        yield counts[at : at + PIECE]


class _Space:
    """The steps of the algorithm, from `done` = 0 digits to all of them.

    Of F, the part with a = 0 is `ended`, a row over b. Its z is 0: no digit follows that could change another sum, so
    others are left out. The part with b = 0 is `rest[a - 1]`, with `whole` for a = 0 (its z is 0). All others are in
    `rows`: in `rows[b - 1][z]`, a row over a, or, once `turned`, in `rows[a - 1][z]`, a row over b.
    """

    def __init__(self, over: Field, digits: int, lanes: Lanes, histogram: Counts) -> None:
        self.field, self.q, self.digits, self.lanes = over, over.order, digits, lanes
        self.done, self.turned = 0, False
        self.rest, self.whole = histogram, 0
        self.ended: Row = 0
        self.rows: list[list[Row]] = []

    def points(self, digits: int) -> int:
        """Return how many points have at most this number of digits."""
        return int(self.q**digits - 1) // (self.q - 1)

    def supports(self) -> Counts:
        """Return the counts of all points v."""
        while self.done < self.digits:
            self.step()
        return self.lanes.counts(self.ended, self.points(self.digits))

    def step(self) -> None:
        """Take the next digit off u, and put the next onto v."""
        ahead, behind = self.points(self.digits - self.done - 1), self.points(self.done)  # the numbers of new a, old b
        if not self.turned and behind >= ahead:
            self.turn()
        ended = self._ended(behind)
        if self.done + 1 < self.digits:
            self.rows = self._over_b(ahead, behind) if self.turned else self._over_a(ahead)
        parts = [self.lanes.row(self.rest[1 + d :: self.q]) for d in range(self.q)]
        self.whole += self.rest[0]
        self.rest = self.lanes.counts(sum(parts), ahead)
        self.ended = ended
        self.done += 1

    def turn(self) -> None:
        """Exchange rows over a for rows over b."""
        size, lanes = self.points(self.digits - self.done), self.lanes
        flat = [lanes.zeros(0) for _ in range(self.q)]
        for row in self.rows:
            for z, counts in enumerate(row):
                flat[z].extend(lanes.counts(counts, size))
        self.rows = [[lanes.row(flat[z][a::size]) for z in range(self.q)] for a in range(size)]
        self.turned = True

    def _first(self, z: int) -> Row:
        """Return the row over b where a is 1."""
        if self.turned:
            return self.rows[0][z]
        mask = (1 << 8 * self.lanes.width) - 1
        return self.lanes.row(array(self.lanes.code, [row[z] & mask for row in self.rows]))

    def _ended(self, behind: int) -> Row:
        """Return the new part with a = 0: the next digit of u is 0 after 0, or 1 after 1."""
        found = self.lanes.zeros(1 + behind * self.q)
        found[0] = self.whole
        if behind:
            for e in range(self.q):
                row = self.ended + self._first(self.field.against(0, (1,), (e,)))
                found[1 + e :: self.q] = self.lanes.counts(row, behind)
        return self.lanes.row(found)

    def _over_a(self, ahead: int) -> list[list[Row]]:
        """Return the new rows over a, from old ones."""
        lanes, q = self.lanes, self.q
        found = [[lanes.row(self.rest[1 + z :: q]) for z in range(q)]]  # where the first digit of v is 1
        for row in self.rows:
            counts = [lanes.counts(one, 1 + ahead * q) for one in row]
            found += self._sums([[lanes.row(one[1 + d :: q]) for one in counts] for d in range(q)], ahead)
        return found

    def _over_b(self, ahead: int, behind: int) -> list[list[Row]]:
        """Return the new rows over b, from old ones."""
        lanes, q = self.lanes, self.q
        found = []
        for a in range(ahead):
            first = 1 + a * q
            sums = self._sums(self.rows[first : first + q], behind)
            new = []
            for z in range(q):
                counts = lanes.zeros(1 + behind * q)
                counts[0] = self.rest[first + z]
                for e in range(q):
                    counts[1 + e :: q] = lanes.counts(sums[e][z], behind)
                new.append(lanes.row(counts))
            found.append(new)
        return found

    def _sums(self, rows: Sequence[Sequence[Row]], size: int) -> list[list[Row]]:
        """Return for every e and z the sum over d of rows[d][z - d*e]. The rows have this size."""
        if self.field.degree == 1 and (size == 1 or self.q > FEW):
            return self._turned_sums(rows, size)
        return [
            [sum([row[at] for row, at in zip(rows, places, strict=True)]) for places in of_z]
            for of_z in before(self.field)
        ]

    def _turned_sums(self, rows: Sequence[Sequence[Row]], size: int) -> list[list[Row]]:
        """Do the same with rows over z too. In a field of prime order, z - d*e turns them around by d*e places."""
        width, q = size * self.lanes.width, self.q
        whole = [int.from_bytes(b"".join(one.to_bytes(width, "little") for one in row), "little") for row in rows]
        twice = [row | row << 8 * width * q for row in whole]
        found = []
        for e in range(q):
            total = sum(row >> 8 * width * (-d * e % q) for d, row in enumerate(twice))
            data = total.to_bytes(2 * width * q, "little")  # only the first half of it means something
            found.append([int.from_bytes(data[at : at + width], "little") for at in range(0, width * q, width)])
        return found


@lru_cache(maxsize=4)
def before(over: Field) -> list[list[list[int]]]:
    """Return for digits e of v, and for z, from which z each digit d of u leads to it: z - d*e."""
    every = range(over.order)
    return [[[over.against(z, (d,), (e,)) for d in every] for z in every] for e in every]
