"""The kernels of window channels and their mixtures: one number each, in floats that hold whole numbers.

They work in blocks of people, in loops without branches. The compiler turns those loops into instructions for several
people at once, except where a loop reads tables: such loops do nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import Array, clamped, neighbours, scaled
from hush.batch.native import blend, compiled, flag, floats_at, inlined, lesser, pointer, shifted, wide
from hush.batch.program import CUTS
from hush.batch.windows import binned_state, even_state, knot_state, part_of, rounded, window_cell, window_parts

BLOCK = 512  # people whose windows are drawn together
FEW = 3 * BLOCK // 8  # the same where more data is kept for each person


@compiled
def even_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Window channels with evenly spaced states and without "missing".

    Each person takes a word, in loops without branches or tables. The compiler turns them into instructions for several
    people at once. Where neighbours answer, one loop does all, and nothing is written in between.
    """
    wide()
    f, stream = job.floats, pointer(words)
    width, threshold, to_inside, to_outside, last = f[1], f[2], f[3], f[4], f[5]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    who, places, low, span = pointer(job.people), pointer(job.places), job.lows[0], job.spans[0]
    inverse, end = job.inverses[0], min(len(job.people), done + limit - at)
    if inverse and neighbours(who, done, end) and neighbours(places, done, end):
        source = shifted(floats_at(job.columns[0]), np.int64(who[done]))
        output, drawn = shifted(pointer(job.output), np.int64(places[done])), shifted(stream, at)
        for i in range(end - done):
            word = drawn[i]
            s, fraction = even_state(scaled(source[i], low, span, inverse), last)
            state = rounded(s, fraction, word)
            quotient, whole = window_parts(state, word, width, threshold, to_inside, to_outside)
            output[i] = np.int32(quotient) + np.int32(whole)
        return end, at + end - done
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], low, span, inverse, who, done, count, inputs)
        for i in range(count):
            s, fraction = even_state(inputs[i], last)
            word = stream[at + i]
            cells[i] = window_cell(rounded(s, fraction, word), word, width, threshold, to_inside, to_outside)
        scatter(cells, places, done, count, pointer(job.output))
        done += count
        at += count
    return done, at


@compiled
def knotted_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Window channels with uneven states, at most one knot in each bin of the guide, and without "missing".

    One loop reads the table of bins, one person after the other. The others are arithmetic, for several at once.
    """
    wide()
    f, stream, table = job.floats, pointer(words), shifted(pointer(job.floats), CUTS)
    width, threshold, to_inside, to_outside, bins = f[1], f[2], f[3], f[4], f[6]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    who, places, low, span = pointer(job.people), pointer(job.places), job.lows[0], job.spans[0]
    inverse, end = job.inverses[0], min(len(job.people), done + limit - at)
    near = neighbours(places, done, end)
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], low, span, inverse, who, done, count, inputs)
        for i in range(count):
            cells[i], inputs[i] = binned_state(inputs[i], bins, table)
        if near:
            output, drawn = shifted(pointer(job.output), np.int64(places[done])), shifted(stream, at)
            for i in range(count):
                state = rounded(cells[i], inputs[i], drawn[i])
                quotient, whole = window_parts(state, drawn[i], width, threshold, to_inside, to_outside)
                output[i] = np.int32(quotient) + np.int32(whole)
        else:
            for i in range(count):
                word = stream[at + i]
                state = rounded(cells[i], inputs[i], word)
                cells[i] = window_cell(state, word, width, threshold, to_inside, to_outside)
            scatter(cells, places, done, count, pointer(job.output))
        done += count
        at += count
    return done, at


@compiled
def window_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """All other window channels: knots close together, or an output for missing values. A word each."""
    f, stream, floats, guide = job.floats, pointer(words), pointer(job.floats), pointer(job.integers)
    size, width, threshold, to_inside, to_outside, last = f[0], f[1], f[2], f[3], f[4], f[5]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    end = min(len(job.people), done + limit - at)
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], job.lows[0], job.spans[0], job.inverses[0], pointer(job.people), done, count, inputs)
        if f[6]:
            for i in range(count):
                cells[i], inputs[i] = knot_state(inputs[i], floats, guide)
        else:
            for i in range(count):
                cells[i], inputs[i] = even_state(inputs[i], last)
        if f[8]:
            add_missing(job.columns[0], f[8], pointer(job.people), done, count, cells)
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
    wide()
    source, who = floats_at(column), shifted(people, done)
    if neighbours(people, done, done + count):
        source = shifted(source, np.int64(who[0]))
        if inverse:
            for i in range(count):
                inputs[i] = scaled(source[i], low, span, inverse)
        else:
            for i in range(count):
                inputs[i] = clamped((source[i] - low) / span)
    else:
        for i in range(count):
            inputs[i] = clamped((source[who[i]] - low) / span)


@inlined
def scatter(cells: Array, places: Array, done: int, count: int, output: Array) -> None:
    """Write cells to their places."""
    wide()
    if neighbours(places, done, done + count):
        output = shifted(output, np.int64(places[done]))
        for i in range(count):
            output[i] = np.int32(cells[i])
    else:
        for i in range(count):
            output[places[done + i]] = np.int32(cells[i])


@inlined
def add_missing(column: Any, start: float, people: Array, done: int, count: int, states: Array) -> None:
    """Move the state of missing values behind all others. It was 0 before, with a fraction of 0 to round."""
    source, who = floats_at(column), shifted(people, done)
    for i in range(count):
        value = source[who[i]]
        states[i] += blend(value != value, start, 0.0)


@compiled
def hybrid_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Mixtures of two windows with evenly spaced states and without "missing": two words each."""
    wide()
    z, f, stream = job.integers, pointer(job.floats), pointer(words)
    share, first = z[1], np.float64(np.int64(z[6]))
    other = shifted(f, np.int64(z[8]))
    mine = f[1], f[2], f[3], f[4], f[5]
    others = other[1], other[2], other[3], other[4], other[5]
    inputs, cells = pointer(job.scratch_floats), shifted(pointer(job.scratch_floats), BLOCK)
    who, places, low, span = pointer(job.people), pointer(job.places), job.lows[0], job.spans[0]
    inverse, end = job.inverses[0], min(len(job.people), done + (limit - at) // 2)
    if inverse and neighbours(who, done, end) and neighbours(places, done, end):
        source = shifted(floats_at(job.columns[0]), np.int64(who[done]))
        output, drawn = shifted(pointer(job.output), np.int64(places[done])), shifted(stream, at)
        for i in range(end - done):
            u = scaled(source[i], low, span, inverse)
            one, word = drawn[2 * i] < share, drawn[2 * i + 1]
            quotient, whole = hybrid_parts(u, one, word, mine, others, first)
            output[i] = np.int32(quotient) + np.int32(whole)
        return end, at + 2 * (end - done)
    while done < end:
        count = min(BLOCK, end - done)
        read_units(job.columns[0], low, span, inverse, who, done, count, inputs)
        for i in range(count):
            one, word = stream[at + 2 * i] < share, stream[at + 2 * i + 1]
            quotient, whole = hybrid_parts(inputs[i], one, word, mine, others, first)
            cells[i] = np.floor(quotient) + whole
        scatter(cells, places, done, count, pointer(job.output))
        done += count
        at += 2 * count
    return done, at


@inlined
def hybrid_parts(u: float, one: Any, word: Any, mine: Any, others: Any, first: float) -> Any:
    """Return the same as `window_parts`, of the first of two windows or of the other one behind it.

    Both have five numbers.
    """
    width, threshold = blend(one, mine[0], others[0]), blend(one, mine[1], others[1])
    to_inside, to_outside = blend(one, mine[2], others[2]), blend(one, mine[3], others[3])
    s, fraction = even_state(u, blend(one, mine[4], others[4]))
    state = rounded(s, fraction, word)
    quotient, whole = window_parts(state, word, width, threshold, to_inside, to_outside)
    return quotient, whole + blend(one, 0.0, first)


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
