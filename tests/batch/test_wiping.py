"""Nothing stays in memory that would undo a report: no words, no key, no input in the clear, also after a failure."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hush import batch
from hush.batch import engine, keystream
from hush.batch.columns import encode
from hush.batch.engine import BLOCK, Workspace
from hush.batch.kernels import KERNELS
from hush.batch.keystream import SPARE, Key, Keystream
from hush.testing import SeededStreams
from tests.batch.test_words import PLANS, columns_of, people

Array = np.ndarray[Any, Any]


class Recorded:
    """NumPy for the engine, which remembers the arrays that it makes: also those that are let go."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in ("zeros", "empty"):
            return found

        def made(*arguments: Any, **options: Any) -> Array:
            self.arrays.append(found(*arguments, **options))
            return self.arrays[-1]

        return made

    @property
    def secrets(self) -> list[Array]:
        """The arrays that words or inputs may have been in: reports are of other types."""
        return [array for array in self.arrays if array.dtype in (np.uint64, np.float64)]

    def clear(self) -> bool:
        """Say whether nothing is left in them."""
        return not any(array.any() for array in self.secrets)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.setattr(engine._spare, "workspaces", [], raising=False)
    recorder = Recorded()
    monkeypatch.setattr(engine, "np", recorder)
    return recorder


SECRETIVE = [
    *("default", "unary-65", "cube-70", "signs-70", "laplace", "subset-200", "weighted", "rows 9-3-17-5"),
    *("rows 130-9-8-3 uneven optional", "table of sides and a number", "means by own bands", "product optional"),
]


def draw(name: str, count: int = 150, streams: Any = None) -> Any:
    plan = PLANS[name]
    data = encode(plan.schema, columns_of(plan, people(plan, count, 6)))
    return batch._randomise_from(streams or SeededStreams(3), plan, data, 1, False)


@pytest.mark.parametrize("block", [1, 7, 100, BLOCK])
@pytest.mark.parametrize("name", SECRETIVE)
def test_every_array_that_held_secrets_is_cleared(
    name: str, block: int, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BLOCK", block)
    for _ in range(2):
        draw(name)
        assert recorded.clear()
    assert len(recorded.secrets) >= 3
    if block == 1 and name != "default":
        assert len(recorded.secrets) > 3 + 3  # the block has grown, and the smaller ones were let go


def test_random_coordinates_of_a_training_leave_no_words(recorded: Recorded) -> None:
    from hush.learn import simulation

    channel = PLANS["cube-70"].questions[0].channel
    simulation._asked(PLANS["cube-70"], channel, 100, SeededStreams(3).stream(0))  # type: ignore[arg-type]
    assert recorded.secrets
    assert recorded.clear()


class Ending:
    """Words that end, as if memory did, or as if somebody pressed Ctrl-C."""

    def __init__(self, fills: int) -> None:
        self._stream, self._left = SeededStreams(3).stream(0), fills

    def stream(self, number: int) -> Ending:
        return self

    def fill(self, words: Array, count: int) -> None:
        self._stream.fill(words, count)
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1


@pytest.mark.parametrize("fills", [0, 1, 3])
def test_a_failure_leaves_neither_secrets_nor_what_was_drawn(
    fills: int, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BLOCK", 100)
    slabs: list[Array] = []
    empty = recorded.empty

    def zeroed(*arguments: Any, **options: Any) -> Array:
        slabs.append(empty(*arguments, **options))
        slabs[-1][:] = 0  # what the system left there is no report
        return slabs[-1]

    monkeypatch.setattr(recorded, "empty", zeroed, raising=False)
    for name in ("default", "unary-65", "cube-70"):
        with pytest.raises(KeyboardInterrupt):
            draw(name, 1000, Ending(fills))
        assert recorded.clear()
        reports = [slab for slab in slabs if slab.nbytes >= engine.SLAB]  # others say where answers go
        assert reports
        assert not any(slab.any() for slab in reports)


def test_a_kernel_that_fails_leaves_no_secrets(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def failing(job: Any, *arguments: Any) -> Any:
        kernel(job, *arguments)
        seen.append(job.scratch_floats.any() or job.scratch.any())
        raise MemoryError

    for name, kind in (("default", "window"), ("signs-70", "signs")):
        kernel = KERNELS[kind]
        monkeypatch.setitem(KERNELS, kind, failing)
        with pytest.raises(MemoryError):
            draw(name)
        assert recorded.clear()
    assert all(seen)  # there was something to be cleared


def test_a_question_that_looks_through_views_leaves_no_inputs(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it saw is among the arrays that are cleared, also if it fails."""
    seen: list[bool] = []
    kernel = KERNELS["small-rows"]

    def failing(job: Any, *arguments: Any) -> Any:
        kernel(job, *arguments)
        room = next(array for array in recorded.secrets if array.ctypes.data == job.columns[0])
        seen.append(bool(room.any()))
        raise MemoryError

    monkeypatch.setitem(KERNELS, "small-rows", failing)
    with pytest.raises(MemoryError):
        draw("means by own bands")
    assert seen == [True]
    assert recorded.clear()


def not_in_the_end(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspace, "clear", lambda self, *, failed: None)


def not_in_growing(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def larger(self: Workspace, name: str, kept: Array, size: int) -> Array:
        held: Array = recorded.zeros(size, dtype=kept.dtype)
        held[: len(kept)] = kept
        self._secrets[name] = held
        return held

    monkeypatch.setattr(Workspace, "larger", larger)


@pytest.mark.parametrize("twin", [not_in_the_end, not_in_growing])
def test_engines_that_do_not_clear_are_caught(
    twin: Callable[[Recorded, pytest.MonkeyPatch], None], recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BLOCK", 7)
    twin(recorded, monkeypatch)
    draw("unary-65")
    assert not recorded.clear()


# -- keys


def test_a_key_is_cleared_when_nobody_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bytes] = []

    class Watched(Key):
        def __del__(self) -> None:
            super().__del__()
            left.append(bytes(self))

    class Twin(Key):
        def __del__(self) -> None:
            left.append(bytes(self))

    for kind, is_cleared in ((Watched, True), (Twin, False)):
        monkeypatch.setattr(keystream, "Key", kind)
        stream = Keystream().stream(0)  # it outlives its keystream, and needs the key as long
        room = np.zeros(10 + SPARE, dtype=np.uint64)
        stream.fill(room, 10)
        assert len(set(room[:10].tolist())) == 10
        del stream
        assert left
        assert (left.pop() == bytes(32)) is is_cleared


def test_what_a_key_was_made_of_is_cleared_unless_it_is_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[bytes] = []

    def memset(address: int, value: int, size: int) -> None:
        cleared.append(ctypes.string_at(address, size))
        set_(address, value, size)
        cleared.append(ctypes.string_at(address, size))

    set_ = ctypes.memset
    monkeypatch.setattr(ctypes, "memset", memset)
    key = Key.drawn()
    assert cleared == [bytes(key), bytes(32)]
    shared = bytes(range(32))
    monkeypatch.setattr(os, "urandom", lambda size: shared)
    assert bytes(Key.drawn()) == shared == bytes(range(32))
    assert len(cleared) == 2


# -- the memory of a whole process

CHILD = """
import os, sys
import numpy as np
from hush import Categorical, Numeric, Schema, batch, design
from hush.batch import engine, keystream

masked, urandom = [], os.urandom

def watched(size):
    drawn = urandom(size)
    masked.append(bytes(byte ^ 0xA5 for byte in drawn))
    return drawn

keystream.fastest()
os.urandom = watched
held = []
{twin}
schema = Schema([Numeric("x", 0, 1), Categorical("c", list(range(70)))])
plan = design(schema, 1.0, categorical="oue", k=2)
batch.randomise(plan, {{"x": np.full(1900, 0.5), "c": np.zeros(1900, int)}}, threads=1)
(key,) = [found for found in masked if len(found) == keystream.KEY_SIZE]
print(keystream.fastest().__name__, key.hex(), flush=True)
sys.stdin.read()
"""

KEEPS_ALL = """
engine.Workspace.clear = lambda self, *, failed: None
stream = keystream.Keystream.stream
keystream.Keystream.stream = lambda self, number: (held.append(self), stream(self, number))[1]
"""


def memory(process: int) -> Iterator[bytes]:
    """Yield all that a process could write to: heaps, stacks and what it has mapped."""
    with Path(f"/proc/{process}/maps").open() as maps, Path(f"/proc/{process}/mem").open("rb", 0) as whole:
        for line in maps:
            span, rights, *_ = line.split()
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw") and "[v" not in line:
                whole.seek(start)
                yield whole.read(end - start)


def left_behind(twin: str) -> tuple[int, int]:
    """Return how many words of its first block, and how many pieces of its key, a process has after randomising."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD).format(twin=twin)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        kind, masked = process.stdout.readline().split()
        key = bytes(byte ^ 0xA5 for byte in bytes.fromhex(masked))
        room = np.zeros(BLOCK + SPARE, dtype=np.uint64)
        getattr(keystream, kind)(key, 0).fill(room, BLOCK)
        first = np.zeros(1 << 22, dtype=bool)
        first[room[:BLOCK] & np.uint64((1 << 22) - 1)] = True
        words = pieces = 0
        try:
            for area in memory(process.pid):
                held = np.frombuffer(area, dtype=np.uint64)
                likely = held[first[held & np.uint64((1 << 22) - 1)]]
                words += int(np.isin(likely, room[:BLOCK]).sum())
                pieces += sum(area.count(key[at : at + 8]) for at in range(0, 32, 8))
        except PermissionError:
            pytest.skip("the memory of another process cannot be read here")
        finally:
            process.communicate()
    return words, pieces


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no such file")
def test_a_process_that_has_randomised_holds_neither_words_nor_key() -> None:
    """Of 65536 words one is found by chance with a probability below 1e-6. A few stay in registers and on the stack."""
    words, pieces = left_behind("")
    assert words <= 8
    assert pieces == 0


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no such file")
def test_a_process_that_keeps_words_or_its_key_is_caught() -> None:
    words, pieces = left_behind(KEEPS_ALL)
    assert words > BLOCK // 2
    assert pieces >= 4
