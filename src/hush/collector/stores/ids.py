"""Which ids were counted: 16 bytes each on disk, 12 in memory, and hardly slower for the billionth than for the first.

A tree of random ids would touch one page of the database for every report, ever colder ones as it grows. Here the ids
of one commit are one row, a *run*, sorted, which is written once and read only again at the next start. In memory
there is, for every id, a hash of 8 bytes and the number of its run, in sorted arrays whose sizes double (a
log-structured merge tree), so that adding n ids moves each of them about log2(n) times, and looking one up is a
handful of binary searches. If a hash agrees, by chance or because an id is repeated, the run is read and decides. So
the answer is exact. The newest few thousand ids are held as they are: a commit of a few ids adds them to a set, and the
arrays grow by thousands at once.

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
PIECE = 1 << 14  # ids of a level that are merged at once


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
        self._levels: list[tuple[Array, Array]] = []
        self._newest: set[bytes] = set()
        self._runs: list[tuple[int, bytes]] = []  # that have them
        self._settled = 0

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
        if len(run) // ID_SIZE + len(self._newest) > NEWEST:
            self.load([*self._runs, (number, run)])
            self._newest, self._runs = set(), []
            return
        self._runs.append((number, run))
        self._newest.update([run[start : start + ID_SIZE] for start in range(0, len(run), ID_SIZE)])

    def load(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Take in many runs at once: faster than one by one.

        If this fails, either nothing has changed or the ids are found already; the store then reads all runs again.
        """
        if not runs:
            return
        keys = self._hashes(b"".join(run for _, run in runs))
        sizes = [len(run) // ID_SIZE for _, run in runs]
        numbers = np.repeat(np.array([number for number, _ in runs], dtype=np.uint32), sizes)
        order = np.argsort(keys, kind="stable")
        level = keys[order], numbers[order]
        # Levels shrink from left to right, each at least twice the next; those that would break that are merged.
        kept = len(self._levels)
        while kept and (
            len(self._levels[kept - 1][0]) < 2 * len(level[0])
            or len(self._levels[kept - 1][0]) + len(level[0]) <= SMALLEST
        ):
            kept -= 1
            _merge(self._levels[kept], level)
            level = self._levels[kept]
            del self._levels[kept + 1 :]  # a failure in the next merge finds the ids in one place
        if kept == len(self._levels):
            self._levels.append(level)
        self._settled += len(keys)

    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Return those of some ids that were counted before."""
        found = self._newest.intersection(ids)
        if not ids or not self._levels:
            return found
        keys = self._hashes(b"".join(ids))
        suspects: dict[int, list[bytes]] = {}
        for level, numbers in self._levels:
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


def _merge(a: tuple[Array, Array], b: tuple[Array, Array]) -> None:
    """Merge a level into another, which grows where it lies: from its end on, in pieces.

    So a merge takes little more memory than the two levels, and other threads run between two pieces.
    """
    old, new = len(a[0]), len(b[0])
    _grow(a, old + new)
    while new:
        start = max(0, new - PIECE)
        first = int(np.searchsorted(a[0][:old], b[0][start], side="right"))
        here, there = slice(first, old), slice(start, new)
        places = np.searchsorted(a[0][here], b[0][there], side="right") + np.arange(new - start)
        others = np.ones(old - first + new - start, dtype=bool)
        others[places] = False
        for mine, its in zip(a, b, strict=True):
            together = np.empty(len(others), dtype=mine.dtype)
            together[places], together[others] = its[there], mine[here]
            mine[first + start : old + new] = together
        old, new = first, start


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
