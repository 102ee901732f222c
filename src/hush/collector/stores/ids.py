"""Which ids were counted: 16 bytes each on disk, 12 in memory, and hardly slower for the billionth than for the first.

A tree of random ids would touch one page of the database for every report, ever colder ones as it grows. Here the ids
of one commit are one row, a *run*, sorted, which is put together with others once (`hush.collector.stores.sqlite_runs`)
and read again at the next start. In memory there is, for every id, a hash of 8 bytes and the number of its run, in
sorted arrays whose sizes double (a log-structured merge tree), so that adding n ids moves each of them about log2(n)
times, and looking one up is a handful of binary searches. If a hash agrees, by chance or because an id is repeated, the
run is read and decides. So the answer is exact. The newest few thousand ids are held as they are: a commit of a few ids
adds them to a set, and the arrays grow by thousands at once.

Merging the largest arrays takes a second for ten million ids, and a commit has no time for that. So large arrays are
merged in steps, a few with every commit. Meanwhile an id is in one of three places, all of them sorted: what is left of
either array, or what is merged (`_Level`). There are more steps than the new ids need, so merges keep up. Room for a
merge is made at once: some 50 milliseconds for ten million ids, as the system clears it.

Ids are chosen by clients, who could choose many with equal hashes to make every look-up read many runs. So the hash
has a random key, new in every process: two ids collide with a probability of about 2^-64, however they are picked
(multilinear hashing: Lemire and Kaser, Strongly Universal String Hashing is Fast, 2014).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from hush.core.report import ID_SIZE

Array = np.ndarray[Any, Any]

HALF = np.uint64(32)
SMALLEST = 1 << 12  # ids of the first level; smaller runs are put together at once
NEWEST = 1 << 12  # ids that are held as they are at most
PIECE = 1 << 12  # ids of a level that are merged in one step
AT_ONCE = 1 << 14  # ids of two levels that are merged at once


def packed(ids: Collection[bytes]) -> bytes:
    """Return ids as a run: sorted, one after the other."""
    return b"".join(sorted(ids))


def holds(run: bytes, id_: bytes) -> bool:
    """Return whether an id is in a run, by halving."""
    low, high = 0, len(run) // ID_SIZE
    while low < high:
        middle = (low + high) // 2
        found = run[middle * ID_SIZE : (middle + 1) * ID_SIZE]
        if found == id_:
            return True
        low, high = (middle + 1, high) if found < id_ else (low, middle)
    return False


class IdIndex:
    """The ids that were counted for one plan. `fetch` returns a run by its number."""

    def __init__(self, fetch: Callable[[int], bytes]) -> None:
        self._fetch = fetch
        self._keys = np.frombuffer(os.urandom(80), dtype=np.uint64).reshape(2, 5)
        self._levels: list[_Level] = []
        self._newest: set[bytes] = set()
        self._runs: list[tuple[int, bytes]] = []  # that have them
        self._settled = 0
        self._owed = 0  # ids that are to be merged now; less than 0 if some were merged in advance

    @property
    def size(self) -> int:
        """How many ids there are."""
        return self._settled + len(self._newest)

    def _hashes(self, ids: bytes) -> Array:
        """Return the hash of each of some ids that stand one after the other."""
        words = np.frombuffer(ids, dtype="<u4").reshape(-1, ID_SIZE // 4).astype(np.uint64)
        high, low = (words @ keys[1:] + keys[0] for keys in self._keys)
        return np.asarray((high >> HALF << HALF) | (low >> HALF))

    def add(self, number: int, run: bytes) -> None:
        """Take in a run. Runs may come in any order, each once."""
        new = len(run) // ID_SIZE
        if new + len(self._newest) > NEWEST:
            self._take([*self._runs, (number, run)])
            self._newest, self._runs = set(), []
        else:
            self._runs.append((number, run))
            self._newest.update([run[start : start + ID_SIZE] for start in range(0, len(run), ID_SIZE)])
        self._advance(new)

    def due(self, new: int) -> list[tuple[int, bytes]]:
        """Return the runs of the newest ids, if these are too many together with `new` more."""
        return self._runs if new + len(self._newest) > NEWEST else []

    def join(self, number: int, run: bytes) -> None:
        """Take in the newest ids once more, as one run that has taken the place of theirs."""
        self._take([(number, run)])
        self._newest, self._runs = set(), []

    def load(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Take in many runs at once: faster than one by one.

        If this fails, either nothing has changed or the ids are found already; the store then reads all runs again.
        """
        if runs:
            self._take(runs)
            self._advance(sum(len(run) // ID_SIZE for _, run in runs))

    def _take(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Make a level of runs, and merge it with others that are small."""
        keys = self._hashes(b"".join(run for _, run in runs))
        sizes = [len(run) // ID_SIZE for _, run in runs]
        numbers = np.repeat(np.array([number for number, _ in runs], dtype=np.uint32), sizes)
        order = np.argsort(keys, kind="stable")
        level = _Level(keys[order], numbers[order])
        kept = len(self._levels)
        while kept and _too_close(self._levels[kept - 1], level) and _together(self._levels[kept - 1], level):
            kept -= 1
            _merge(self._levels[kept].arrays, level.arrays)
            level = self._levels[kept]
            del self._levels[kept + 1 :]  # a failure in the next merge finds the ids in one place
        if kept == len(self._levels):
            self._levels.append(level)
        self._settled += len(keys)

    def _advance(self, new: int) -> None:
        """Go on with merges, the smallest first, and begin those that are due.

        An id is merged once for each doubling from `AT_ONCE` to all ids. There are two steps more, so that merges end
        before the next one is due.
        """
        self._owed += new * (2 + (self._settled // AT_ONCE).bit_length())
        for place in reversed(range(len(self._levels))):
            level = self._levels[place]
            while level.lower is not None and self._owed > 0:
                level.step()
                self._owed -= PIECE
            if place and level.lower is None:
                above = self._levels[place - 1]
                if above.lower is None and _too_close(above, level):
                    above.begin(level)
                    del self._levels[place]
        self._owed = min(self._owed, 0)  # nothing is left to do

    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Return those of some ids that were counted before."""
        found = self._newest.intersection(ids)
        if not ids or not self._levels:
            return found
        keys = self._hashes(b"".join(ids))
        suspects: dict[int, list[bytes]] = {}
        for level, numbers in [part for each in self._levels for part in each.parts()]:
            starts = np.searchsorted(level, keys, side="left")
            inside = np.flatnonzero(starts < len(level))
            for i in inside[level[starts[inside]] == keys[inside]].tolist():
                at = int(starts[i])
                while at < len(level) and level[at] == keys[i]:
                    suspects.setdefault(int(numbers[at]), []).append(ids[i])
                    at += 1
        for number, asked in suspects.items():  # one run in memory at a time
            run = self._fetch(number)
            found.update(id_ for id_ in asked if holds(run, id_))
        return found


class _Level:
    """Sorted hashes and their runs, and a smaller level that is merged into it, from its end on.

    While that lasts, the first `old` ids and the first `new` of the other level are as they were, and the ids behind
    old + new are merged.
    """

    def __init__(self, keys: Array, numbers: Array) -> None:
        self.arrays = keys, numbers
        self.lower: tuple[Array, Array] | None = None
        self._old = self._new = 0

    def __len__(self) -> int:
        """Return how many ids there are, those to be merged included."""
        return len(self.arrays[0])

    def begin(self, lower: _Level) -> None:
        """Begin to merge a level into this one, which makes room for it."""
        old, new = len(self), len(lower)
        _grow(self.arrays, old + new)
        self._old, self._new, self.lower = old, new, lower.arrays

    def step(self) -> None:
        """Merge a piece. If this fails, nothing has changed."""
        assert self.lower is not None
        self._old, self._new = _merge_piece(self.arrays, self.lower, self._old, self._new)
        if not self._new:
            self.lower = None

    def parts(self) -> list[tuple[Array, Array]]:
        """Return the sorted arrays that have all ids."""
        if self.lower is None:
            return [self.arrays]
        old, new = slice(self._old), slice(self._new)
        (keys, numbers), (its, others), merged = self.arrays, self.lower, slice(self._old + self._new, None)
        return [(keys[old], numbers[old]), (its[new], others[new]), (keys[merged], numbers[merged])]


def _too_close(above: _Level, level: _Level) -> bool:
    """Return whether two levels must become one. Otherwise each level is at least twice the next."""
    return len(above) < 2 * len(level) or len(above) + len(level) <= SMALLEST


def _together(above: _Level, level: _Level) -> bool:
    """Return whether two levels are small enough to be merged at once."""
    return above.lower is None and level.lower is None and len(above) + len(level) <= AT_ONCE


def _merge(a: tuple[Array, Array], b: tuple[Array, Array]) -> None:
    """Merge a level into another, which grows where it lies: from its end on, in pieces.

    So a merge takes little more memory than the two levels, and other threads run between two pieces.
    """
    old, new = len(a[0]), len(b[0])
    _grow(a, old + new)
    while new:
        old, new = _merge_piece(a, b, old, new)


def _merge_piece(a: tuple[Array, Array], b: tuple[Array, Array], old: int, new: int) -> tuple[int, int]:
    """Merge the last of the first `new` ids of a level into another, behind its first `old` ones; return what is left.

    Everything that needs memory is done before the first id is moved.
    """
    start = max(0, new - PIECE)
    first = int(np.searchsorted(a[0][:old], b[0][start], side="right"))
    here, there = slice(first, old), slice(start, new)
    places = np.searchsorted(a[0][here], b[0][there], side="right") + np.arange(new - start)
    others = np.ones(old - first + new - start, dtype=bool)
    others[places] = False
    made = [np.empty(len(others), dtype=mine.dtype) for mine in a]
    for mine, its, together in zip(a, b, made, strict=True):
        together[places], together[others] = its[there], mine[here]
    for mine, together in zip(a, made, strict=True):
        mine[first + start : old + new] = together
    return first, start


def _grow(level: tuple[Array, Array], size: int) -> None:
    """Make room at the end of a level. Large arrays are not copied for that, on Linux: their pages are moved."""
    before = len(level[0])
    try:
        for array in level:
            array.resize(size, refcheck=False)
    except MemoryError:
        for array in level:
            array.resize(before, refcheck=False)
        raise
