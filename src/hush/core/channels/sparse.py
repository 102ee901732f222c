"""A vector of very many counts, most of which are 0.

It keeps the counts that are not 0 in a dictionary, and all of them in an array once there are so many of them that the
array is smaller. So it never takes more than about 24 bytes for each place, and 8 if all are counted.

Written down, a run of m zeros is -m: `[-5, 1, 2, -1]` are nine counts, seven of them 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from typing import Any, TypeAlias, overload

from hush.errors import TallyError

DENSE = 16  # an entry of a dictionary takes about as much memory as so many places of an array
Row: TypeAlias = "array[int]"


class Sparse(MutableSequence[int]):
    """Counts of `size` symbols, as a sequence of fixed length."""

    __slots__ = ("_all", "_few", "_size")

    def __init__(self, size: int, counts: Iterable[tuple[int, int]] = ()) -> None:
        self._size = size
        self._few: dict[int, int] = {}
        self._all: Row | None = None
        for place, count in counts:
            self[place] = count

    @classmethod
    def of(cls, values: Sequence[int]) -> Sparse:
        """Return the counts of a sequence, which must be integers below 2^63."""
        if isinstance(values, Sparse):
            return values.copy()
        found = cls(len(values))
        if not isinstance(values, array) and set(map(type, values)) - {int}:
            raise TallyError("counts must be integers")
        try:
            found._all = array("q", values)
        except OverflowError:
            raise TallyError("counts must be integers below 2^63") from None
        if found._all.count(0) > len(values) - len(values) // DENSE:
            found._few = {place: count for place, count in enumerate(found._all) if count}
            found._all = None
        return found

    def copy(self) -> Sparse:
        """Return an independent copy."""
        found = Sparse(self._size)
        found._few = dict(self._few)
        found._all = None if self._all is None else self._all[:]
        return found

    def __len__(self) -> int:
        return self._size

    def _place(self, place: int) -> int:
        if not -self._size <= place < self._size:
            raise IndexError("no such count")
        return place % self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return a count, or a list of some."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(self._size))]
        return self._few.get(self._place(place), 0) if self._all is None else self._all[place]

    def __setitem__(self, place: Any, count: Any) -> None:
        """Set a count."""
        place = self._place(place)
        if self._all is not None:
            self._all[place] = count
        elif count:
            self._few[place] = count
            if len(self._few) > self._size // DENSE:
                self._all, self._few = self.dense(), {}
        else:
            self._few.pop(place, None)

    def __delitem__(self, place: Any) -> None:
        """Refuse: the length is fixed."""
        raise TypeError("the number of counts is fixed")

    def insert(self, index: int, value: int) -> None:
        """Refuse: the length is fixed."""
        raise TypeError("the number of counts is fixed")

    def __iter__(self) -> Iterator[int]:
        if self._all is not None:
            return iter(self._all)
        return iter(self.dense())

    def dense(self) -> Row:
        """Return all counts as an array."""
        if self._all is not None:
            return self._all[:]
        found = array("q", bytes(8 * self._size))
        for place, count in self._few.items():
            found[place] = count
        return found

    def items(self) -> list[tuple[int, int]]:
        """Return places and counts that are not 0, in the order of places."""
        if self._all is not None:
            return [(place, count) for place, count in enumerate(self._all) if count]
        return sorted(self._few.items())

    def met(self) -> int:
        """Return how many counts are not 0."""
        return len(self._few) if self._all is None else self._size - self._all.count(0)

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(self._few.values() if self._all is None else self._all)

    def least(self) -> int:
        """Return the smallest count, or 0 if none is below."""
        return min(0, min(self._few.values() if self._all is None else self._all, default=0))

    def __add__(self, other: Sparse) -> Sparse:
        if not isinstance(other, Sparse) or len(other) != len(self):
            return NotImplemented
        large, small = (self, other) if other._all is None else (other, self)
        found = large.copy()
        for place, count in small.items():
            found[place] += count
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparse):
            return NotImplemented
        return self._size == other._size and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"<Sparse {self._size} counts, {len(self.items())} of them not 0>"

    # -- how it travels

    def runs(self) -> list[int]:
        """Return the counts with -m for each run of m zeros."""
        found, next_ = [], 0
        for place, count in self.items():
            if place > next_:
                found.append(next_ - place)
            found.append(count)
            next_ = place + 1
        return [*found, next_ - self._size] if next_ < self._size else found

    @classmethod
    def from_runs(cls, size: int, runs: Iterable[int]) -> Sparse:
        """Read such a list. One that can be written in a shorter way is refused."""
        found, place, zeros = cls(size), 0, False
        for count in runs:
            if type(count) is not int or count == 0 or not -size <= count < 1 << 63 or (zeros and count < 0):
                raise TallyError("counts of points must be positive, with -m for each run of m zeros")
            zeros = count < 0
            if place + max(1, -count) > size:
                break
            if not zeros:
                found[place] = count
            place += max(1, -count)
        else:
            if place == size:
                return found
        raise TallyError(f"the counts of points must be {size}, runs of zeros included")
