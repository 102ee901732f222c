"""From checked columns to rows of reports: threads work on chunks of people, each with its own stream of words."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from hush.batch import numbers, plainly
from hush.batch.asking import draw_questions, sort_answers, spread
from hush.batch.columns import Columns
from hush.batch.kernels import KERNELS, SCRATCH, Job
from hush.batch.keystream import SPARE, Source, Stream
from hush.batch.looks import LOOKS, Look, Scene
from hush.batch.program import Program, Task, compile_plan
from hush.batch.reports import report_schema
from hush.core.plan import Plan
from hush.errors import DesignError

CHUNK = 1 << 17
TOGETHER = 8  # chunks that are done in one piece of work: between chunks, Python finds nothing of its own in the cache
SLAB = 1 << 24  # bytes
MAX_ROWS = 1 << 22  # of a chunk: if one person has many rows, it has fewer people
BLOCK = 1 << 16  # words: 512 KB, so that they are still in the cache when they are used
LEAST = 1 << 9  # words of a block, if fewer are expected
REPEATED = 1 << 6  # people whose rows are written at once, where everybody has as many: more than NumPy's call takes
SEEN = 1 << 13  # people whose records a question looks at at once, through views: 64 KB for each view

_ALL = np.arange(CHUNK, dtype=np.int32)
_FIRST = np.zeros(TOGETHER * CHUNK, dtype=np.int16)  # the attribute of everybody, where there is one question
_FIRST.flags.writeable = False

Array = np.ndarray[Any, Any]
S = TypeVar("S")
T = TypeVar("T")


class Chunk(NamedTuple):
    """Some people of a batch, and the number of their stream."""

    columns: Columns
    start: int
    end: int
    stream: int


class Rows(NamedTuple):
    """Rows of reports as plain arrays. `part` and `ids` are empty where there are none."""

    attribute: Array
    part: Array
    output: Array
    ids: Array


class Workspace:
    """Arrays to work in, kept for the next chunk: fresh memory costs more than the work in it.

    Some hold secrets: words, which determine the noise of a report, and inputs in the clear. Those are cleared when the
    workspace is handed back, and when a larger array replaces one.
    """

    def __init__(self) -> None:
        self._rooms: dict[str, Array] = {}
        self._secrets: dict[str, Array] = {}
        self._used: dict[str, int] = {}
        self._slabs: dict[Any, Array] = {}
        self._given: list[Array] = []

    def room(self, name: str, size: int, kind: Any) -> Array:
        """Return an array of this size for public data, with arbitrary contents."""
        held = self._rooms.get(name)
        if held is None or len(held) < size:
            held = self._rooms[name] = np.zeros(size, dtype=kind)
        return held[:size]

    def secret(self, name: str, size: int, kind: Any) -> Array:
        """Return an array of zeros for secrets, of this size. It is cleared in the end."""
        held = self._secrets.get(name)
        if held is None or len(held) < size:
            return self.larger(name, np.zeros(0, dtype=kind), size)
        self._used[name] = max(self._used.get(name, 0), size)
        return held[:size]

    def larger(self, name: str, kept: Array, size: int) -> Array:
        """Return a larger array for secrets that begins with the kept part of the old one, and clear the old one."""
        held = np.zeros(size, dtype=kept.dtype)
        held[: len(kept)] = kept
        before = self._secrets.get(name)
        self._secrets[name], self._used[name] = held, size
        if before is not None:
            before[:] = 0
        return held

    def fresh(self, size: int, kind: Any) -> Array:
        """Return a new array, cut from a large one: large pieces of memory are cheaper to get from the system."""
        slab = self._slabs.get(kind)
        if slab is None or len(slab) < size:
            slab = np.empty(max(size, SLAB // np.dtype(kind).itemsize), dtype=kind)
        self._slabs[kind] = slab[size:]
        self._given.append(slab[:size])
        return slab[:size]

    def clear(self, *, failed: bool) -> None:
        """Clear the secrets. After a failure, also clear drawn reports: nobody has them, and they are drawn again."""
        for name, size in self._used.items():
            self._secrets[name][:size] = 0
        if failed:
            for held in self._given:
                held[:] = 0
        self._used.clear()
        self._given.clear()


_spare = threading.local()


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Lend a workspace. It belongs to one call at a time, even if a signal handler calls in the middle of another."""
    spare: list[Workspace] = _spare.__dict__.setdefault("workspaces", [])
    try:
        space = spare.pop()
    except IndexError:
        space = Workspace()
    failed = True
    try:
        yield space
        failed = False
    finally:
        space.clear(failed=failed)
        spare.append(space)


class Words:
    """A block of words that is topped up from a stream. Unused words come first again.

    `expected` is about how many words will be needed in all: the last block need not be a whole one. The block belongs
    to a workspace, which clears it: anyone who found the words later could undo the reports.
    """

    def __init__(self, stream: Stream, slack: int, space: Workspace, expected: int = CHUNK) -> None:
        self._stream, self._slack, self._space, self._expected = stream, slack, space, expected
        self.at = self.limit = 0
        self.words = space.secret("words", min(BLOCK, max(expected, LEAST)) + slack + SPARE, np.uint64)

    def refill(self) -> None:
        """Top up the block. If more than half is left, one person may need more than a block: make it larger."""
        left = self.limit - self.at
        room = min(BLOCK, max(left + self._expected, LEAST))
        while left > room // 2:
            room *= 2
        self._expected -= room - left
        if room + self._slack + SPARE > len(self.words):
            self.words = self._space.larger("words", self.words[self.at : self.limit], room + self._slack + SPARE)
        elif left:
            # If the old and the new place overlap, NumPy would make a copy and leave it in memory.
            ctypes.memmove(self.words.ctypes.data, self.words[self.at :].ctypes.data, left * self.words.itemsize)
        self._stream.fill(self.words[left:], room - left)
        self.at, self.limit = 0, room

    def take(self, count: int) -> Array:
        """Return the next words, for public data: nothing clears them."""
        found = np.empty(count, dtype=np.uint64)
        done = 0
        while done < count:
            if self.at == self.limit:
                self.refill()
            size = min(count - done, self.limit - self.at)
            found[done : done + size] = self.words[self.at : self.at + size]
            self.at += size
            done += size
        return found


def randomise_chunk(plan: Plan, chunk: Chunk, source: Source, ids: bool) -> Rows:
    """Randomise the people of a chunk. Its stream supplies all randomness of the rows.

    The words are dealt out in three rounds: for the questions of each person; then question by question, for the people
    who answer it; then for the ids. Everybody gets their own words in the order of `spec/wire.md`.
    """
    with workspace() as space:
        program = compile_plan(plan)
        words = _words_of(program, chunk, source, ids, space)
        kernels = [KERNELS[task.code.kind] for task in program.tasks]
        if plainly.can_draw(plan.schema) and plainly.few((chunk.end - chunk.start) * plan.k, *kernels):
            return _deal_plainly(plan, chunk, words, ids)
        return _deal(plan, chunk, words, ids, space)


def randomise_chunks(plan: Plan, chunks: Sequence[Chunk], source: Source, ids: bool) -> Rows:
    """Randomise the people of neighbouring chunks, each from its own stream (`joined` lists them)."""
    if len(chunks) == 1:
        return randomise_chunk(plan, chunks[0], source, ids)
    with workspace() as space:
        program = compile_plan(plan)
        (task,), first = program.tasks, chunks[0].start
        people = chunks[-1].end - first
        output = space.fresh(people, report_schema(plan).field("output").type.to_pandas_dtype())
        for chunk in chunks:
            words = _words_of(program, chunk, source, ids, space)
            everybody, columns = _ALL[: chunk.end - chunk.start], chunk.columns.addresses(task.columns, chunk.start)
            _answer(task, program.excess, columns, everybody, everybody, output[chunk.start - first :], words, space)
        return Rows(_FIRST[:people], np.empty(0, dtype=np.int16), output, np.empty((0, 2), dtype=np.uint64))


def _words_of(program: Program, chunk: Chunk, source: Source, ids: bool, space: Workspace) -> Words:
    """Return the words of a chunk."""
    expected = (chunk.end - chunk.start) * (program.expected + 2 * ids)
    return Words(source.stream(chunk.stream), 3 * program.words, space, int(expected))


def _deal_plainly(plan: Plan, chunk: Chunk, words: Words, ids: bool) -> Rows:
    """Do the same without kernels."""
    asked, answers, word = plainly.draw(plan, [array[chunk.start : chunk.end] for array in chunk.columns.arrays], words)
    rows: list[tuple[int, int, int]] = []
    lengths = []
    for mine, found in zip(asked, answers, strict=True):
        before = len(rows)
        for index, output in zip(mine, found, strict=True):
            rows += [(index, part, row) for part, row in enumerate(plainly.rows_of(plan, index, output))]
        lengths.append(len(rows) - before)
    attribute, part, outputs = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    marks = np.empty((0, 2), dtype=np.uint64)
    if ids:
        marks = np.repeat(np.array([(word(), word()) for _ in asked], dtype=np.uint64).reshape(-1, 2), lengths, axis=0)
    schema = report_schema(plan)
    held = part if "part" in schema.names else part[:0]
    kind = schema.field("output").type.to_pandas_dtype()
    return Rows(attribute.astype(np.int16), held.astype(np.int16), outputs.astype(kind), marks)


def _deal(plan: Plan, chunk: Chunk, words: Words, ids: bool, space: Workspace) -> Rows:
    program = compile_plan(plan)
    people = chunk.end - chunk.start
    asked, counts = ask(len(program.tasks), program.k, program.weights, program.groups, people, words, space)
    size = int((counts * program.rows).sum())
    attribute, part, first_rows = asked, np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int32)
    if len(program.tasks) == 1 and program.most_rows > 1:
        attribute, part, first_rows = _spread_one(int(program.rows[0]), people, space)
    elif max(program.rows) > 1:
        attribute, part = space.fresh(size, np.int16), space.fresh(size, np.int16)
        first_rows = np.empty(len(asked), dtype=np.int32)
        spread(asked, program.rows, first_rows, attribute, part)
    who, where = _sorted(program, people, asked, counts, first_rows, space)
    output = space.fresh(size, report_schema(plan).field("output").type.to_pandas_dtype())
    start = 0
    for task, count in zip(program.tasks, counts.tolist(), strict=True):
        end = start + count
        step = SEEN if task.looks else max(count, 1)
        for first in range(start, end, step):
            people_here, places = who[first : min(first + step, end)], where[first : min(first + step, end)]
            if task.looks:
                columns = look(task.looks, chunk, people_here, space)
                people_here = _ALL[: len(people_here)]
            else:
                columns = chunk.columns.addresses(task.columns, chunk.start)
            _answer(task, program.excess, columns, people_here, places, output, words, space)
        start = end
    marks = np.empty((0, 2), dtype=np.uint64)
    if ids:
        lengths = np.add.reduceat(program.rows[asked], np.arange(0, len(asked), program.k))
        marks = np.repeat(words.take(2 * people).reshape(people, 2), lengths, axis=0)
    return Rows(attribute, part, output, marks)


def _answer(
    task: Task,
    excess: Array,
    columns: Array,
    people: Array,
    places: Array,
    output: Array,
    words: Words,
    space: Workspace,
) -> None:
    """Draw the answers of some people to a question, with as many words as they need."""
    job = Job(
        task.code.integers,
        task.code.floats,
        columns,
        *task.bounds,
        excess,
        people,
        places,
        output,
        space.secret("scratch", SCRATCH, np.uint64),
        space.secret("floats", 3 * numbers.BLOCK, np.float64),
    )
    kernel, done = KERNELS[task.code.kind], 0
    while done < len(people):
        done, words.at = kernel(job, done, words.words, words.at, words.limit)
        if done < len(people):
            words.refill()


def look(looks: Sequence[Look], chunk: Chunk, people: Array, space: Workspace) -> Array:
    """Compute what a question sees of some people, a column for each view, and return their addresses."""
    room = space.secret("seen", SEEN * len(looks), np.float64)
    for view, one in enumerate(looks):
        column = room[SEEN * view : SEEN * (view + 1)]
        addresses = chunk.columns.addresses(one.columns, chunk.start)
        LOOKS[one.kind](
            Scene(addresses, one.bounds.lows, one.bounds.spans, one.floats, people, column, column.view(np.int16))
        )
    return np.array([room.ctypes.data + SEEN * view * room.itemsize for view in range(len(looks))], dtype=np.uint64)


def ask(
    count: int, k: int, weights: Array, groups: Array, people: int, words: Words, space: Workspace
) -> tuple[Array, Array]:
    """Draw the k questions of each person, one after the other, and count how often each question is asked."""
    if k == count and not len(weights):
        everything = np.tile(np.arange(count, dtype=np.int16), people) if count > 1 else _FIRST[:people]
        return everything, np.full(count, people)
    asked, counts = space.fresh(people * k, np.int16), np.zeros(count, dtype=np.int64)
    bits = space.secret("scratch", SCRATCH, np.uint64)
    done = 0
    while done < people:
        done, words.at = draw_questions(
            count, k, weights, done, words.words, words.at, words.limit, asked, counts, bits, groups
        )
        if done < people:
            words.refill()
    return asked, counts


def _spread_one(rows: int, people: int, space: Workspace) -> tuple[Array, Array, Array]:
    """Do what `spread` does where there is one question: everybody has as many rows."""
    attribute, part = space.fresh(rows * people, np.int16), space.fresh(rows * people, np.int16)
    attribute[:] = 0
    some = np.tile(np.arange(rows, dtype=np.int16), REPEATED)
    whole = people // REPEATED * len(some)
    part[:whole].reshape(-1, len(some))[:] = some
    part[whole:] = some[: len(part) - whole]
    return attribute, part, np.arange(0, rows * people, rows, dtype=np.int32)


def _sorted(
    program: Program, people: int, asked: Array, counts: Array, first_rows: Array, space: Workspace
) -> tuple[Array, Array]:
    """Return the people who answer, question by question, and the first row of each answer."""
    if len(program.tasks) == 1:
        return _ALL[:people], first_rows if len(first_rows) else _ALL[:people]
    who = space.room("who", len(asked), np.int32)
    where = space.room("where", len(asked), np.int32)
    sort_answers(asked, program.k, counts, first_rows, who, where)
    return who, where


def record_batch(schema: pa.Schema, rows: Rows) -> pa.RecordBatch:
    """Return rows as an Arrow record batch, without copying."""
    arrays = [pa.array(rows.attribute)]
    if "part" in schema.names:
        arrays.append(pa.array(rows.part))
    arrays.append(pa.array(rows.output))
    if "report" in schema.names:
        data = pa.py_buffer(rows.ids.astype(">u8"))  # most significant byte first
        arrays.append(pa.Array.from_buffers(pa.binary(16), len(rows.ids), [None, data]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def chunks_of(plan: Plan, batches: Iterable[Columns]) -> Iterator[Chunk]:
    """Cut batches into chunks, numbered from 0."""
    size = max(1, min(CHUNK, MAX_ROWS // compile_plan(plan).most_rows))
    number = 0
    for columns in batches:
        for start in range(0, columns.rows, size):
            yield Chunk(columns, start, min(start + size, columns.rows), number)
            number += 1


def joined(plan: Plan, chunks: Iterable[Chunk], threads: int, ids: bool) -> Iterator[list[Chunk]]:
    """List chunks that are one piece of work: neighbours, if everybody answers one question in one row.

    Each chunk still has its own stream, so this changes nothing but the time. There is work for all threads.
    """
    program = compile_plan(plan)
    plain = len(program.tasks) == 1 and program.most_rows == 1 and not (ids or len(program.weights))
    most = TOGETHER if plain and not program.tasks[0].looks else 1
    held: list[Chunk] = []
    for chunk in chunks:
        size = min(most, max(1, chunk.columns.rows // (4 * threads * CHUNK))) if threads > 1 else most
        if held and (len(held) >= size or held[-1].columns is not chunk.columns):
            yield held
            held = []
        held.append(chunk)
    if held:
        yield held


def thread_count(threads: int | None) -> int:
    """Return the number of threads: by default the number of cores of this process."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if type(threads) is not int or threads < 1:
        raise DesignError("threads must be an integer of at least 1")
    return threads


def in_order(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """Do the work for all items with this many threads, and yield the results in order, a few at a time."""
    if threads == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def side_by_side(work: Callable[[Iterator[S]], T], items: Iterable[S], threads: int) -> list[T]:
    """Let this thread and others take items, in any order, until none is left. Return the results of all threads.

    A thread that has finished an item takes the next one at once. With `in_order` it would wait for another thread.
    """
    left = deque(items)

    def rest() -> Iterator[S]:
        while left:
            try:
                yield left.popleft()
            except IndexError:  # another thread was faster
                return

    others = min(threads, len(left)) - 1
    if others < 1:
        return [work(rest())]
    with ThreadPoolExecutor(others) as pool:
        try:
            running = [pool.submit(work, rest()) for _ in range(others)]
            return [work(rest()), *(future.result() for future in running)]
        finally:
            left.clear()
