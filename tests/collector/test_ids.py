"""Which ids were counted, against a plain set."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import numpy as np
import pytest

from hush.collector.stores import ids
from hush.collector.stores.ids import IdIndex, holds, packed


@pytest.fixture(params=[0, 50, ids.NEWEST], autouse=True)
def _newest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold none of the newest ids as they are, some, or as many as ever."""
    monkeypatch.setattr(ids, "NEWEST", request.param)


class Runs:
    """Runs by number, as a database has them, and how often one was read."""

    def __init__(self) -> None:
        self.held: dict[int, bytes] = {}
        self.reads = 0

    def fetch(self, number: int) -> bytes:
        self.reads += 1
        return self.held[number]


def filled(sizes: list[int], make: random.Random) -> tuple[IdIndex, Runs, set[bytes]]:
    runs, everything = Runs(), set()
    index = IdIndex(runs.fetch)
    for number, size in enumerate(sizes, 1):
        new = {make.randbytes(16) for _ in range(size)}
        everything |= new
        runs.held[number] = packed(new)
        index.add(number, runs.held[number])
    return index, runs, everything


@pytest.mark.parametrize("sizes", [[1], [1] * 300, [5000, 1, 1, 5000], [10, 1000, 100_000, 3, 7], [4096] * 9])
def test_what_was_added_is_known_and_nothing_else(sizes: list[int]) -> None:
    make = random.Random(1)
    index, runs, everything = filled(sizes, make)
    assert index.size == len(everything) == sum(sizes)
    some = make.sample(sorted(everything), min(len(everything), 200))
    strangers = [make.randbytes(16) for _ in range(200)]
    asked = some + strangers
    make.shuffle(asked)
    assert index.known(asked) == set(some)
    runs.reads = 0
    assert index.known(strangers) == set()
    assert runs.reads == 0  # no run is read for ids that are new


def test_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal hash is not an equal id: in one run, in several, and many of them."""
    monkeypatch.setattr(IdIndex, "_hashes", lambda self, ids: np.zeros(len(ids) // 16, dtype=np.uint64))
    runs = Runs()
    index = IdIndex(runs.fetch)
    prefix = os.urandom(8)
    known = [prefix + bytes([i] * 8) for i in range(50)]
    for number, id_ in enumerate(known, 1):
        runs.held[number] = packed([id_])
        index.add(number, runs.held[number])
    strangers = [prefix + bytes([200 + i] * 8) for i in range(50)]
    assert index.known(known + strangers) == set(known)


def test_ids_that_a_client_picks_do_not_collide() -> None:
    """Ids with equal halves, or of a simple pattern, have different hashes: no run is read for those that are new."""
    runs = Runs()
    index = IdIndex(runs.fetch)
    picked = [b"A" * 8 + i.to_bytes(8, "big") for i in range(5000)] + [
        i.to_bytes(8, "big") + b"A" * 8 for i in range(5000)
    ]
    for number, id_ in enumerate(picked[::2], 1):
        runs.held[number] = packed([id_])
    index.load(list(runs.held.items()))
    assert index.known(picked[1::2]) == set()
    assert runs.reads == 0
    assert index.known(picked) == set(picked[::2])


def test_a_failure_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _, everything = filled([5000, 10], random.Random(4))
    with monkeypatch.context() as patch:
        patch.setattr(ids, "_merge", lambda a, b: 1 / 0)
        patch.setattr(ids, "NEWEST", 0)
        with pytest.raises(ZeroDivisionError):
            index.add(9, packed([bytes(16), *(os.urandom(16) for _ in range(5000))]))
    assert index.known(sorted(everything)) == everything
    assert index.known([bytes(16)]) == set()


def test_loading_gives_the_same_index() -> None:
    make = random.Random(2)
    index, runs, everything = filled([100] * 50 + [3000], make)
    again = IdIndex(runs.fetch)
    again.load(list(runs.held.items()))
    asked = make.sample(sorted(everything), 300) + [make.randbytes(16) for _ in range(300)]
    assert again.size == index.size
    assert again.known(asked) == index.known(asked)


def test_levels_stay_few() -> None:
    """Each level is at least twice the next, so their number is logarithmic, and so is the cost of a look-up."""
    index, _, _ = filled([100] * 2000, random.Random(3))
    assert len(index._levels) <= 10
    for _ in range(100):
        index._advance(1000)  # as if more ids had come: until all merges have ended
    sizes = [len(level) for level in index._levels]
    assert all(a >= 2 * b or a + b <= 4096 for a, b in pairwise(sizes))
    assert len(sizes) <= 10


def test_a_run_is_its_ids_sorted() -> None:
    some = [os.urandom(16) for _ in range(20)]
    run = packed(some)
    assert run == b"".join(sorted(some))
    assert all(holds(run, id_) for id_ in some)
    assert not any(holds(run, os.urandom(16)) for _ in range(100))
    assert not holds(b"", bytes(16))


def test_an_id_takes_twelve_bytes_of_memory() -> None:
    index, _, known = filled([10, 1000, 100_000], random.Random(1))
    assert sum(array.nbytes for level in index._levels for array in level.arrays) == 12 * len(known)
