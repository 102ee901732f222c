"""How ids are merged, and the memory that they take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hush.collector.stores import ids
from hush.collector.stores.ids import IdIndex, packed

FEW = 2 * ids.AT_ONCE + 4 * ids.PIECE  # ids that a run may move


@pytest.mark.parametrize("size", [200_000, 100_000, 3])
@pytest.mark.parametrize("values", [1 << 63, 1 << 17, 1])
def test_levels_are_merged_in_order(size: int, values: int) -> None:
    """Levels with different keys, with some that are equal, or with one key alone."""
    chance = np.random.default_rng(5)
    keys = [np.sort(chance.integers(0, values, some, dtype=np.uint64)) for some in (200_000, size)]
    a, b = ((some, np.arange(len(some), dtype=np.uint32)) for some in keys)
    together, numbers = np.concatenate(keys), np.concatenate([a[1], b[1]])
    ids._merge(a, b)
    order = np.argsort(together, kind="stable")
    assert (a[0] == together[order]).all()
    assert (a[1] == numbers[order]).all()


def test_a_merge_takes_little_more_memory_than_the_ids() -> None:
    """A level grows where it lies. Its copy would take 12 bytes for each id more."""
    chance = np.random.default_rng(5)
    keys = [np.sort(chance.integers(0, 1 << 63, some, dtype=np.uint64)) for some in (2_000_000, 1_000_000)]
    a, b = ((some, np.arange(len(some), dtype=np.uint32)) for some in keys)
    tracemalloc.start()
    ids._merge(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 3_000_000 + (4 << 20)


def test_no_room_for_a_merge_changes_nothing() -> None:
    class Stubborn(np.ndarray[Any, Any]):
        def resize(self, *_: Any, **__: Any) -> None:
            raise MemoryError

    keys, numbers = np.arange(10, dtype=np.uint64), np.arange(10, dtype=np.uint32)
    grown = keys.copy()
    with pytest.raises(MemoryError):
        ids._grow((grown, numbers.view(Stubborn)), 20)
    assert (grown == keys).all()


def test_a_failure_in_a_later_merge_finds_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of several merges has changed a level: ids are still found, and none that was not added."""
    monkeypatch.setattr(ids, "NEWEST", 0)
    monkeypatch.setattr(ids, "AT_ONCE", 1 << 16)
    held: dict[int, bytes] = {}
    index, everything = IdIndex(held.__getitem__), set()
    for number, size in enumerate([40_000, 15_000, 6000]):
        held[number] = packed(some := {os.urandom(16) for _ in range(size)})
        index.add(number, held[number])
        everything |= some
    assert len(index._levels) == 3
    new = {os.urandom(16) for _ in range(9000)}
    held[9] = packed(new)
    merge, merges = ids._merge, [1, 0]

    def failing(a: Any, b: Any) -> None:
        if not merges.pop(0):
            raise MemoryError
        merge(a, b)

    with monkeypatch.context() as patch:
        patch.setattr(ids, "_merge", failing)
        with pytest.raises(MemoryError):
            index.add(9, held[9])
    assert index.known(sorted(everything)) == everything
    assert index.known([os.urandom(16) for _ in range(100)]) == set()


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_memory_is_that_of_the_ids() -> None:
    """`benchmarks/ids.py` with fewer ids: whatever else is taken does not grow with them."""
    code = "import ids, json; print(json.dumps(ids.watched(ids.alone(1_500_000), 1_500_000)))"
    folder = Path(__file__).parents[2] / "benchmarks"
    command = [sys.executable, "-c", code]
    rows = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    assert rows[-1]["ids"] >= 1_500_000
    assert max(row["taken"] - row["formula"] for row in rows) < 32
    assert max(row["peak"] - 2 * row["formula"] for row in rows) < 32


def moved_by_each(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], IdIndex, list[bytes]]:
    """Return how many ids each run has moved, the index, and some ids of each run, which were known at all times."""
    moved, real = [0], ids._merge_piece

    def counted(a: Any, b: Any, old: int, new: int) -> tuple[int, int]:
        left = real(a, b, old, new)
        moved[-1] += old + new - sum(left)
        return left

    monkeypatch.setattr(ids, "_merge_piece", counted)
    held: dict[int, bytes] = {}
    index, some = IdIndex(held.__getitem__), []
    for number, size in enumerate(sizes):
        held[number] = packed(new := [os.urandom(16) for _ in range(size)])
        moved.append(0)
        index.add(number, held[number])
        some.append(new[0])
        if number % 50 == 0:
            assert index.known(some) == set(some)
            assert index.known([os.urandom(16) for _ in range(50)]) == set()
    return moved, index, some


def test_no_commit_waits_for_a_large_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ids there are, a run moves few of them; all are found while levels are merged, and levels stay few.

    Hashes are random, so a piece of a level has about as many of another as their sizes say: at most twice its own, and
    a tenth more.
    """
    moved, index, _ = moved_by_each([200] * 3000, monkeypatch)
    assert max(moved) < FEW
    assert sum(moved) > 3 * index.size, "levels are merged all the same"
    assert len([part for level in index._levels for part in level.parts()]) < 15


def test_an_index_that_merges_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: as it was."""
    monkeypatch.setattr(ids, "AT_ONCE", 1 << 60)
    moved, _, _ = moved_by_each([200] * 3000, monkeypatch)
    assert max(moved) > 4 * FEW


@pytest.mark.parametrize("sizes", [[100_000, 60_000, 1, 1, 1], [40_000] * 12, [1, 200_000, 7, 90_000]])
def test_large_runs_are_known_while_they_are_merged(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    _, index, some = moved_by_each(sizes, monkeypatch)
    assert index.known(some) == set(some)
    assert index.size == sum(sizes)
    for _ in range(200):
        index._advance(1000)
    assert all(level.lower is None for level in index._levels)
    assert index.known(some) == set(some)
    for level in index._levels:
        assert (level.arrays[0][1:] >= level.arrays[0][:-1]).all()
