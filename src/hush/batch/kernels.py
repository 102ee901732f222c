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
    ZERO,
    Array,
    additive,
    cell_of,
    clamped,
    cube,
    sign_bits,
    signs,
    small_subset,
    subset,
    symbol,
    unary_block,
    unit,
)
from hush.batch.native import blend, compiled, flag, floats_at, inlined, lesser, pointer, shifted, shorts_at
from hush.batch.rows import few_rows, many_rows, members_of, one_row, own_cell
from hush.batch.windows import even_state, knot_state, part_of, rounded, window_cell

SCRATCH = 6144  # words of working memory for a kernel
BLOCK = 512  # people whose windows are drawn together
FEW = 3 * BLOCK // 8  # the same for mixtures, which keep more data for each person
SET = 80  # words: enough for a set of 4097 members
WIDEST = 1024  # words: enough for the cells of any rows channel


class Job(NamedTuple):
    """A question and the people who answer it.

    `integers` and `floats` are those of the channel (`hush.batch.program`). `columns` are the addresses of the
    question's columns, `lows` and `spans` their bounds, and `inverses` 1/span where that is exact, else 0. `people` are
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
def even_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Window channels with evenly spaced states and without "missing".

    Each person takes a word, in loops without branches or tables. The compiler turns them into instructions for several
    people at once.
    """
    f, stream = job.floats, pointer(words)
    width, threshold, to_inside, to_outside, last = f[1], f[2], f[3], f[4], f[5]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    end = min(len(job.people), done + limit - at)
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], job.lows[0], job.spans[0], job.inverses[0], job.people, done, count, inputs)
        for i in range(count):
            s, fraction = even_state(inputs[i], last)
            word = stream[at + i]
            cells[i] = window_cell(rounded(s, fraction, word), word, width, threshold, to_inside, to_outside)
        scatter(cells, pointer(job.places), done, count, pointer(job.output))
        done += count
        at += count
    return done, at


@compiled
def window_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """All other window channels: uneven states, or an output for missing values. A word each, in several loops."""
    f, stream, floats, guide = job.floats, pointer(words), pointer(job.floats), pointer(job.integers)
    size, width, threshold, to_inside, to_outside, last = f[0], f[1], f[2], f[3], f[4], f[5]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    end = min(len(job.people), done + limit - at)
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], job.lows[0], job.spans[0], job.inverses[0], job.people, done, count, inputs)
        if f[6]:
            for i in range(count):
                cells[i], inputs[i] = knot_state(inputs[i], floats, guide)
        else:
            for i in range(count):
                cells[i], inputs[i] = even_state(inputs[i], last)
        if f[8]:
            add_missing(job.columns[0], f[8], job.people, done, count, cells)
        for i in range(count):
            word = stream[at + i]
            state = rounded(cells[i], inputs[i], word)
            cells[i] = lesser(window_cell(state, word, width, threshold, to_inside, to_outside), size)
        scatter(cells, pointer(job.places), done, count, pointer(job.output))
        done += count
        at += count
    return done, at


@inlined
def read_units(
    column: Any, low: float, span: float, inverse: float, people: Array, done: int, count: int, inputs: Array
) -> None:
    """Read the numbers of the people who answer, on the scale [0, 1]."""
    source, who = floats_at(column), shifted(pointer(people), done)
    if who[count - 1] - who[0] == count - 1:  # consecutive rows
        source = shifted(source, np.int64(who[0]))
        if inverse:
            for i in range(count):
                inputs[i] = clamped((source[i] - low) * inverse)
        else:
            for i in range(count):
                inputs[i] = clamped((source[i] - low) / span)
    else:
        for i in range(count):
            inputs[i] = clamped((source[who[i]] - low) / span)


@inlined
def scatter(cells: Array, places: Array, done: int, count: int, output: Array) -> None:
    """Write cells to their places."""
    if places[done + count - 1] - places[done] == count - 1:
        output = shifted(output, np.int64(places[done]))
        for i in range(count):
            output[i] = np.int64(cells[i])
    else:
        for i in range(count):
            output[places[done + i]] = np.int64(cells[i])


@inlined
def add_missing(column: Any, start: float, people: Array, done: int, count: int, states: Array) -> None:
    """Move the state of missing values behind all others. It was 0 before, with a fraction of 0 to round."""
    source, who = floats_at(column), shifted(pointer(people), done)
    for i in range(count):
        value = source[who[i]]
        states[i] += blend(value != value, start, 0.0)


@compiled
def mixture_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Mixtures of windows: two words each. It first gathers the numbers of each person's part."""
    z, f, stream, source = pointer(job.integers), pointer(job.floats), pointer(words), floats_at(job.columns[0])
    low, span, people = job.lows[0], job.spans[0], job.people
    room = pointer(job.scratch_floats)
    cells, fractions, sizes, widths = room, shifted(room, FEW), shifted(room, 2 * FEW), shifted(room, 3 * FEW)
    thresholds, inner, outer = shifted(room, 4 * FEW), shifted(room, 5 * FEW), shifted(room, 6 * FEW)
    firsts = shifted(room, 7 * FEW)
    end = min(len(people), done + (limit - at) // 2)
    while done < end:
        count = min(FEW, end - done)
        for i in range(count):
            head = part_of(z, stream[at + 2 * i])
            guide, part = shifted(z, np.int64(z[head + 2])), shifted(f, np.int64(z[head + 3]))
            value = source[people[done + i]]
            u = clamped((value - low) / span)
            if part[6]:
                state, fractions[i] = knot_state(u, part, guide)
            else:
                state, fractions[i] = even_state(u, part[5])
            cells[i] = state + part[8] * np.float64(np.int64(flag(value != value)))
            sizes[i], widths[i], thresholds[i], inner[i], outer[i] = part[0], part[1], part[2], part[3], part[4]
            firsts[i] = np.float64(np.int64(z[head + 1]))
        for i in range(count):
            word = stream[at + 2 * i + 1]
            state = rounded(cells[i], fractions[i], word)
            cell = window_cell(state, word, widths[i], thresholds[i], inner[i], outer[i])
            cells[i] = firsts[i] + lesser(cell, sizes[i])
        scatter(cells, pointer(job.places), done, count, pointer(job.output))
        done += count
        at += 2 * count
    return done, at


@compiled
def symbol_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of one category: randomised response."""
    people, places, output = job.people, job.places, job.output
    stream, spare, column = pointer(words), pointer(job.excess), shorts_at(job.columns[0])
    size, threshold = np.int64(job.integers[0]), job.integers[2]
    while done < len(people):
        start = at
        value, at = symbol(stream, at, limit, size, threshold, np.int64(column[people[done]]), spare)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at


@compiled
def small_subset_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of at most 64 categories: the set is one word."""
    people, places, output = job.people, job.places, job.output
    stream, spare, column = pointer(words), pointer(job.excess), shorts_at(job.columns[0])
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        state = np.int64(column[people[done]])
        bits, at = small_subset(stream, at, limit, size, weight, threshold, state, spare)
        if at > limit:
            return done, start
        output[places[done]] = np.int64(bits)
        done += 1
    return done, at


@compiled
def subset_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of more than 64 categories."""
    people, places, output = job.people, job.places, job.output
    stream, spare, column, found = pointer(words), pointer(job.excess), shorts_at(job.columns[0]), pointer(job.scratch)
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        state = np.int64(column[people[done]])
        at = subset(stream, at, limit, size, weight, threshold, state, spare, found)
        if at > limit:
            return done, start
        for part in range((size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def unary_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Unary channels: one bit for each category. The last word draws the bit of the true one."""
    people, places = job.people, job.places
    stream, column, out = pointer(words), shorts_at(job.columns[0]), pointer(job.output)
    size, threshold, count = np.int64(job.integers[0]), job.integers[1], np.int64(job.integers[2])
    digits = shifted(pointer(job.integers), 3)
    parts = (size + 63) >> 6
    taken = parts * count + 1
    end = min(len(people), done + (limit - at) // taken)
    while done < end:
        state, place = np.int64(column[people[done]]), places[done]
        own, shift, true = state >> 6, np.uint64(state & 63), flag(stream[at + taken - 1] < threshold)
        for part in range(parts):
            here = flag(part == own) << shift
            bits = (unary_block(stream, at + part * count, digits, count) & ~here) | (here & (ZERO - true))
            out[place + part] = np.int64(bits & (ALL >> np.uint64(max(64 * part + 64 - size, 0))))
        done += 1
        at += taken
    return done, at


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
def small_cells_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Sets of at most 64 cells of several attributes: the set is one word."""
    people, places, output = job.people, job.places, job.output
    integers, stream, spare, column = pointer(job.integers), pointer(words), pointer(job.excess), pointer(job.columns)
    low, span, count = pointer(job.lows), pointer(job.spans), len(job.columns)
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        cell, at = cell_of(integers, column, low, span, people[done], stream, at, count)
        bits, at = small_subset(stream, at, limit, size, weight, threshold, cell, spare)
        if at > limit:
            return done, start
        output[places[done]] = np.int64(bits)
        done += 1
    return done, at


@compiled
def cells_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Sets of more than 64 cells of several attributes."""
    people, places, output, found = job.people, job.places, job.output, pointer(job.scratch)
    integers, stream, spare, column = pointer(job.integers), pointer(words), pointer(job.excess), pointer(job.columns)
    low, span, count = pointer(job.lows), pointer(job.spans), len(job.columns)
    size, weight, threshold = np.int64(job.integers[0]), np.int64(job.integers[1]), job.integers[2]
    while done < len(people):
        start = at
        cell, at = cell_of(integers, column, low, span, people[done], stream, at, count)
        at = subset(stream, at, limit, size, weight, threshold, cell, spare, found)
        if at > limit:
            return done, start
        for part in range((size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def row_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Rows channels whose reports name one row, with a cell of it."""
    people, places, output = job.people, job.places, job.output
    z, f, stream, spare = pointer(job.integers), pointer(job.floats), pointer(words), pointer(job.excess)
    categories, numbers = shorts_at(job.columns[0]), floats_at(job.columns[1])
    low, span = job.lows[1], job.spans[1]
    while done < len(people):
        start, person = at, people[done]
        row = np.int64(categories[person])
        named, mine, at = own_cell(z, f, numbers[person], low, span, stream, at, limit, spare)
        value, at = one_row(z, row, named, mine, stream, at, limit, spare)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at


@compiled
def small_rows_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Rows channels of at most 64 rows: the named rows are one word."""
    people, places, output, found = job.people, job.places, job.output, pointer(job.scratch)
    z, f, stream, spare = pointer(job.integers), pointer(job.floats), pointer(words), pointer(job.excess)
    categories, numbers = shorts_at(job.columns[0]), floats_at(job.columns[1])
    low, span, parts = job.lows[1], job.spans[1], members_of(z)
    while done < len(people):
        start, person = at, people[done]
        row = np.int64(categories[person])
        named, mine, at = own_cell(z, f, numbers[person], low, span, stream, at, limit, spare)
        at = few_rows(z, row, named, mine, stream, at, limit, spare, found)
        if at > limit:
            return done, start
        for part in range(parts):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


@compiled
def rows_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Rows channels of more than 64 rows."""
    people, places, output, work = job.people, job.places, job.output, pointer(job.scratch)
    z, f, stream, spare = pointer(job.integers), pointer(job.floats), pointer(words), pointer(job.excess)
    categories, numbers = shorts_at(job.columns[0]), floats_at(job.columns[1])
    low, span, parts = job.lows[1], job.spans[1], members_of(z)
    found, marks, chosen = work, shifted(work, WIDEST), shifted(work, WIDEST + SET)
    while done < len(people):
        start, person = at, people[done]
        row = np.int64(categories[person])
        named, mine, at = own_cell(z, f, numbers[person], low, span, stream, at, limit, spare)
        at = many_rows(z, row, named, mine, stream, at, limit, spare, marks, chosen, found)
        if at > limit:
            return done, start
        for part in range(parts):
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
    integers, stream, spare, column = pointer(job.integers), pointer(words), pointer(job.excess), pointer(job.columns)
    low, span, work = pointer(job.lows), pointer(job.spans), pointer(job.scratch)
    bits, chosen, found = work, shifted(work, SET), shifted(work, 2 * SET)
    size = np.int64(job.integers[0])
    while done < len(people):
        start = at
        at = sign_bits(column, low, span, size, people[done], stream, at, bits)
        at = cube(integers, stream, at, limit, spare, bits, chosen, found)
        if at > limit:
            return done, start
        for part in range((2 * size + 63) >> 6):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at


KERNELS: dict[str, Callable[..., Any]] = {
    "even": even_kernel,
    "window": window_kernel,
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
}
