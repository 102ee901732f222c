"""The kernels: for each kind of channel, the loop over the people who answer a question.

All have the same arguments: a job, how many of its people are done, and words from a position on. A kernel returns
the new number of people done, and the new position. If the words run out, it stops before the first person who did not
get enough, and is called again with more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hush.batch.draws import (
    ALL,
    LANES,
    Array,
    additive,
    cell_of,
    corners,
    cube,
    neighbours,
    sign_bits,
    signs,
    subset,
    symbol,
    symbols_together,
    unary_block,
    unary_blocks,
    unit,
)
from hush.batch.few_rows import ROOM, small_rows_kernel
from hush.batch.native import compiled, flag, inlined, pointer, shifted, shorts_at, wide
from hush.batch.numbers import even_kernel, hybrid_kernel, knotted_kernel, mixture_kernel, window_kernel
from hush.batch.picks import picks_kernel
from hush.batch.points import geometry_kernel
from hush.batch.rows import SET, WIDEST, row_kernel, rows_kernel
from hush.batch.sets import small_cells_kernel, small_subset_kernel

SYMBOLS = 1 << 10  # people whose symbols are drawn together
SCRATCH = max(ROOM, WIDEST + SET + 4097)  # words of working memory for a kernel: rows channels need the most


class Job(NamedTuple):
    """A question and the people who answer it.

    `integers` and `floats` are those of the channel (`hush.batch.program`). `columns` are the addresses of the
    question's columns, `lows` and `spans` their bounds, and `inverses` 1/span, or 0 if none is used. `people` are
    the rows of the people who answer, and `places` the places of their answers in `output`. `excess[n]` is 2^64 mod n.
    """

    integers: Array
    floats: Array
    columns: Array
    lows: Array
    spans: Array
    inverses: Array
    excess: Array
    people: Array
    places: Array
    output: Array
    scratch: Array
    scratch_floats: Array


@compiled
def symbol_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of one category: randomised response.

    Neighbours are drawn in loops without branches, with two words each. The last few are drawn one by one, and so is a
    block with a word that is drawn again, which hardly ever happens, or where everybody takes a single word.
    """
    wide()
    people, places, output = pointer(job.people), pointer(job.places), pointer(job.output)
    stream, spare, column = pointer(words), pointer(job.excess), shorts_at(job.columns[0])
    size, threshold = np.int64(job.integers[0]), job.integers[2]
    others, excess = np.uint64(size - 1), spare[size - 1]
    while done < len(job.people):
        count = min(SYMBOLS, len(job.people) - done, (limit - at) // 2) // LANES * LANES
        near = neighbours(people, done, done + count) and neighbours(places, done, done + count)
        if near and size > 2:
            states, symbols = shifted(column, np.int64(people[done])), shifted(output, np.int64(places[done]))
            if symbols_together(shifted(stream, at), count, others, excess, threshold, states, symbols):
                done += count
                at += 2 * count
                continue
        for _ in range(min(SYMBOLS, len(job.people) - done)):
            start = at
            value, at = symbol(stream, at, limit, size, threshold, np.int64(column[people[done]]), spare)
            if at > limit:
                return done, start
            output[places[done]] = value
            done += 1
    return done, at


@compiled
def subset_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of more than 64 categories."""
    people, places, output = job.people, job.places, job.output
    stream, groups, column = pointer(words), shifted(pointer(job.integers), 3), shorts_at(job.columns[0])
    found = pointer(job.scratch)
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        state = np.int64(column[people[done]])
        at = subset(stream, at, limit, size, weight, threshold, state, groups, found)
        if at > limit:
            return done, start
        for part in range((size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def unary_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Unary channels: one bit for each category. The last word draws the bit of the true one."""
    people, places = pointer(job.people), pointer(job.places)
    stream, column, out = pointer(words), shorts_at(job.columns[0]), pointer(job.output)
    size, threshold, count = np.int64(job.integers[0]), job.integers[1], np.int64(job.integers[2])
    digits = shifted(pointer(job.integers), 3)
    parts = (size + 63) >> 6
    taken = parts * count + 1
    end = min(len(job.people), done + (limit - at) // taken)
    while done + 4 <= end:
        for part in range(parts):
            a, b, c, d = unary_blocks(stream, at + part * count, taken, digits, count)
            kept = ALL >> np.uint64(max(64 * part + 64 - size, 0))
            for i, drawn in enumerate((a, b, c, d)):
                true = flag(stream[at + taken * (i + 1) - 1] < threshold)
                bits = with_truth(drawn, np.int64(column[people[done + i]]), part, true)
                out[places[done + i] + part] = np.int64(bits & kept)
        done += 4
        at += 4 * taken
    while done < end:
        state, true = np.int64(column[people[done]]), flag(stream[at + taken - 1] < threshold)
        for part in range(parts):
            bits = with_truth(unary_block(stream, at + part * count, digits, count), state, part, true)
            out[places[done] + part] = np.int64(bits & (ALL >> np.uint64(max(64 * part + 64 - size, 0))))
        done += 1
        at += taken
    return done, at


@inlined
def with_truth(bits: Any, state: int, part: int, true: Any) -> Any:
    """Return 64 bits with the bit of the true category, if it is among them, in its place."""
    shift = np.uint64(state & 63)
    mine = flag(part == state >> 6)
    return (bits & ~(mine << shift)) | (mine & true) << shift


@compiled
def additive_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Additive noise."""
    people, places, output = job.people, job.places, job.output
    integers, stream, column = pointer(job.integers), pointer(words), pointer(job.columns)
    low, span = pointer(job.lows), pointer(job.spans)
    while done < len(people):
        start = at
        value, at = additive(integers, unit(column, low, span, 0, people[done]), stream, at, limit)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at


@compiled
def cell_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Cells of several attributes, then randomised response."""
    people, places, output = job.people, job.places, job.output
    integers, stream, spare, column = pointer(job.integers), pointer(words), pointer(job.excess), pointer(job.columns)
    low, span, count = pointer(job.lows), pointer(job.spans), len(job.columns)
    size, threshold = np.int64(job.integers[0]), job.integers[2]
    while done < len(people):
        start = at
        cell, at = cell_of(integers, column, low, span, people[done], stream, at, count)
        value, at = symbol(stream, at, limit, size, threshold, cell, spare)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at


@compiled
def cells_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Sets of more than 64 cells of several attributes."""
    people, places, output, found = job.people, job.places, job.output, pointer(job.scratch)
    integers, stream, column = pointer(job.integers), pointer(words), pointer(job.columns)
    low, span, count = pointer(job.lows), pointer(job.spans), len(job.columns)
    groups = shifted(integers, 3 + count)
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        cell, at = cell_of(integers, column, low, span, people[done], stream, at, count)
        at = subset(stream, at, limit, size, weight, threshold, cell, groups, found)
        if at > limit:
            return done, start
        for part in range((size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def signs_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Signs of all numbers of the question."""
    people, places, output = job.people, job.places, job.output
    stream, column, low, span = pointer(words), pointer(job.columns), pointer(job.lows), pointer(job.spans)
    bits, found = pointer(job.scratch), shifted(pointer(job.scratch), SET)
    size = np.int64(job.integers[0])
    while done < len(people):
        start = at
        at = sign_bits(column, low, span, size, people[done], stream, at, bits)
        at = signs(stream, at, limit, size, job.integers[1], bits, found)
        if at > limit:
            return done, start
        for part in range((size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def cube_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Signs of some numbers of the question."""
    people, places, output = job.people, job.places, job.output
    integers, stream, column = pointer(job.integers), pointer(words), pointer(job.columns)
    low, span, work = pointer(job.lows), pointer(job.spans), pointer(job.scratch)
    bits, chosen, found = work, shifted(work, SET), shifted(work, 2 * SET)
    size = np.int64(job.integers[0])
    while done < len(people):
        start = at
        at = sign_bits(column, low, span, size, people[done], stream, at, bits)
        at = cube(integers, stream, at, limit, bits, chosen, found)
        if at > limit:
            return done, start
        for part in range((2 * size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def corners_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """One signed dimension of the numbers of the question."""
    people, places, output = job.people, job.places, job.output
    integers, stream, spare, column = pointer(job.integers), pointer(words), pointer(job.excess), pointer(job.columns)
    low, span, sizes = pointer(job.lows), pointer(job.spans), pointer(job.scratch)
    marks = shifted(sizes, WIDEST)
    while done < len(people):
        start = at
        value, at = corners(integers, column, low, span, people[done], stream, at, limit, spare, sizes, marks)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at


KERNELS: dict[str, Callable[..., Any]] = {
    "even": even_kernel,
    "knotted": knotted_kernel,
    "window": window_kernel,
    "hybrid": hybrid_kernel,
    "mixture": mixture_kernel,
    "symbol": symbol_kernel,
    "small-subset": small_subset_kernel,
    "subset": subset_kernel,
    "unary": unary_kernel,
    "additive": additive_kernel,
    "cell": cell_kernel,
    "small-cells": small_cells_kernel,
    "cells": cells_kernel,
    "row": row_kernel,
    "small-rows": small_rows_kernel,
    "rows": rows_kernel,
    "signs": signs_kernel,
    "cube": cube_kernel,
    "picks": picks_kernel,
    "corners": corners_kernel,
    "geometry": geometry_kernel,
}
