"""Which ids were counted: 16 bytes each on disk, 12 in memory, and the same speed for the first and the billionth.

A tree of random ids would touch one page of the database for every report, ever colder ones as it grows. Here the ids
of one commit are one row, a *run*, sorted, which is written once and read only again at the next start. In memory
there is, for every id, its first 8 bytes and the number of its run, in sorted arrays whose sizes double (a
log-structured merge tree), so that adding n ids moves each of them about log2(n) times, and looking one up is a
handful of binary searches. Eight bytes may be equal by chance; then, and for true repetitions, the run is read and
decides. So the answer is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from hush.collector.submissions import ID_SIZE

Array = np.ndarray[Any, Any]

SMALLEST = 1 << 12  # ids of the first level; smaller runs are put together at once


def packed(ids: Collection[bytes]) -> bytes:
    """Return ids as a run: sorted, one after the other."""
    return b"".join(sorted(ids))


def unpacked(run: bytes) -> Iterator[bytes]:
    """Return the ids of a run."""
    return (run[start : start + ID_SIZE] for start in range(0, len(run), ID_SIZE))


def prefixes(run: bytes) -> Array:
    """Return the first 8 bytes of each id of a run, as integers: sorted, as the run is."""
    return np.frombuffer(run, dtype=">u8")[::2].astype(np.uint64)


class IdIndex:
    """The ids that were counted for one plan. `fetch` returns a run by its number."""

    def __init__(self, fetch: Callable[[int], bytes]) -> None:
        self._fetch = fetch
        self._levels: list[tuple[Array, Array]] = []
        self.size = 0

    def add(self, number: int, run: bytes) -> None:
        """Take in a run. Runs may come in any order, each once."""
        found = prefixes(run)
        self.size += len(found)
        level = found, np.full(len(found), number, dtype=np.uint32)
        # Levels shrink from left to right, each at least twice the next; those that would break that are merged.
        while self._levels and (
            len(self._levels[-1][0]) < 2 * len(level[0]) or len(self._levels[-1][0]) + len(level[0]) <= SMALLEST
        ):
            level = _merged(self._levels.pop(), level)
        self._levels.append(level)

    def load(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Take in many runs at once: faster than one by one."""
        if not runs:
            return
        keys = np.concatenate([prefixes(run) for _, run in runs])
        numbers = np.repeat(
            np.array([number for number, _ in runs], dtype=np.uint32),
            np.array([len(run) // ID_SIZE for _, run in runs]),
        )
        order = np.argsort(keys, kind="stable")
        self.size += len(keys)
        level = keys[order], numbers[order]
        while self._levels and len(self._levels[-1][0]) < 2 * len(level[0]):
            level = _merged(self._levels.pop(), level)
        self._levels.append(level)

    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Return those of some ids that were counted before."""
        if not ids or not self._levels:
            return set()
        keys = np.frombuffer(b"".join(ids), dtype=">u8")[::2].astype(np.uint64)
        found: set[bytes] = set()
        runs: dict[int, frozenset[bytes]] = {}
        for level, numbers in self._levels:
            starts = np.searchsorted(level, keys, side="left")
            inside = np.flatnonzero(starts < len(level))
            for i in inside[level[starts[inside]] == keys[inside]].tolist():
                at = int(starts[i])
                while at < len(level) and level[at] == keys[i]:
                    number = int(numbers[at])
                    if number not in runs:
                        runs[number] = frozenset(unpacked(self._fetch(number)))
                    if ids[i] in runs[number]:
                        found.add(ids[i])
                    at += 1
        return found


def _merged(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return two levels as one. A stable sort of two sorted halves is a merge."""
    keys = np.concatenate([a[0], b[0]])
    order = np.argsort(keys, kind="stable")
    return keys[order], np.concatenate([a[1], b[1]])[order]
