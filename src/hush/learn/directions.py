"""The corners channel for simulated people: rotation, choice of the largest coordinates and draw in one kernel.

A device makes a record of the signs of its largest coordinates (`hush.core.training.directions.pointed`), and the
channel then finds the largest numbers of the record. The kernel does both at once, and reads the words as the batch
engine does for such records: the outputs are the same, word for word. Its time depends on the people. They are
simulated, and nobody has to hide them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hush.batch.draws import below, rounds_up
from hush.batch.engine import Words, workspace
from hush.batch.keystream import Stream
from hush.batch.native import compiled, inlined, pointer
from hush.batch.program import compile_plan
from hush.core.channels import Corners
from hush.core.plan import Plan

Array = np.ndarray[Any, Any]

UNIT = np.float32(1 << 30)  # of the integers that are compared
SHORTEST = np.float32(1e-30)
LANES = 16  # people who are rotated together


@inlined
def transform(values: Array, size: int) -> None:
    """Apply the Hadamard transform to LANES vectors at once, in place, without its scale.

    The vectors lie side by side: all first coordinates, then all second ones, and so on. Two stages are done in one
    pass over memory, with the additions of one after the other.
    """
    half, end = LANES, size * LANES
    while 2 * half < end:
        for start in range(0, end, 4 * half):
            one, two = values[start : start + half], values[start + half : start + 2 * half]
            three, four = values[start + 2 * half : start + 3 * half], values[start + 3 * half : start + 4 * half]
            for i in range(half):
                a, b = one[i] + two[i], one[i] - two[i]
                c, d = three[i] + four[i], three[i] - four[i]
                one[i], two[i], three[i], four[i] = a + c, b + d, a - c, b - d
        half *= 4
    if half < end:
        one, two = values[:half], values[half:end]
        for i in range(half):
            a, b = one[i], two[i]
            one[i], two[i] = a + b, a - b


@inlined
def turn(
    x: Array, begin: int, count: int, centre: Array, inverse: Array, chosen: Array, first: Array, second: Array,
    turned: Array, units: Array, beside: Array, codes: Array,
) -> None:  # fmt: skip
    """Write the rotated features of some people as integers, a row for each person.

    A coordinate is 0, or one more than its size in units of the person's length over UNIT, with its sign.
    """
    size = len(first)
    turned[:] = 0.0
    people = x[begin : begin + count]
    for slot in range(len(chosen)):
        j = chosen[slot]
        row, middle, factor, sign = turned[slot * LANES : slot * LANES + count], centre[j], inverse[j], first[slot]
        for lane in range(count):
            row[lane] = (people[lane, j] - middle) * factor * sign
    transform(turned, size)
    for j in range(size):
        row = turned[j * LANES : (j + 1) * LANES]
        for lane in range(LANES):
            row[lane] *= second[j]
    transform(turned, size)
    units[:] = SHORTEST
    for j in range(size):
        row = turned[j * LANES : (j + 1) * LANES]
        for lane in range(LANES):
            units[lane] += row[lane] * row[lane]
    for lane in range(LANES):
        units[lane] = UNIT / np.sqrt(units[lane])
    for j in range(size):
        row, side = turned[j * LANES : (j + 1) * LANES], beside[j * LANES : (j + 1) * LANES]
        for lane in range(LANES):
            value = row[lane]
            whole = np.int32(min(abs(value) * units[lane], UNIT))
            side[lane] = whole + 1 if value > 0 else (-(whole + 1) if value < 0 else 0)
    for lane in range(LANES):
        own = codes[lane]
        for j in range(size):
            own[j] = beside[j * LANES + lane]


@inlined
def at_least(values: Array, cut: Any) -> Any:
    """Return how many integers are not below a cut."""
    count = np.int32(0)
    for j in range(len(values)):
        count = np.int32(count + np.int32(values[j] >= cut))
    return np.int64(count)


@inlined
def kth_largest(values: Array, k: int, guess: Any) -> Any:
    """Return the k-th largest of some integers from 0 to UNIT, fastest if it is near the guess.

    `low` has at least k integers not below it, and `high` fewer. A cut between them that has exactly k leaves only the
    smallest of those to be found. Every other try brings the two nearer, and every second one halves their distance.
    """
    low, high, low_count, high_count = np.int64(0), np.int64(UNIT) + 1, np.int64(len(values)), np.int64(0)
    cut, halve = np.int64(guess), False
    while high - low > 1:
        cut = min(max(cut, low + 1), high - 1)
        count = at_least(values, np.int32(cut))
        if count == k:
            least = np.int32(UNIT)
            for j in range(len(values)):
                value = values[j] if values[j] >= cut else np.int32(UNIT)
                least = min(least, value)
            return np.int64(least)
        if count > k:
            low, low_count = cut, count
        else:
            high, high_count = cut, count
        cut = (low + high) >> 1
        if not halve:
            cut = low + np.int64((high - low) * ((low_count - k) / (low_count - high_count)))
        halve = not halve
    return low


@inlined
def mark_largest(codes: Array, m: Any, guess: Any, whole: Array, marks: Array) -> Any:
    """Write 1 for each of the m largest coordinates that is positive, -1 if it is negative, and 0 for the others.

    Return the smallest of the largest.
    """
    for j in range(len(whole)):
        whole[j] = np.int32(max(abs(codes[j]) - 1, 0))
    cut = kth_largest(whole, m, guess)
    for j in range(len(whole)):
        sign = 1 if codes[j] > 0 else (-1 if codes[j] < 0 else 0)
        marks[j] = sign if whole[j] >= cut else 0
    extra, j = at_least(whole, np.int32(cut)) - m, len(whole)
    while extra > 0:  # of those that are equally large the last are too many
        j -= 1
        if whole[j] == cut:
            marks[j] = 0
            extra -= 1
    return cut


@inlined
def corner_at(marks: Array, ups: Array, m: Any, small: bool, near: bool, left: Any) -> Any:
    """Return a near corner, or one of the others, by its place among them.

    The channel sees numbers -length, 0 and length, and takes the first of those that are equally large.
    """
    missing = m
    if small:
        marks[:] = 0
    else:
        count = np.int32(0)
        for j in range(len(marks)):
            count = np.int32(count + np.int32(marks[j] != 0))
        missing -= np.int64(count)
    found: Any = 0
    for j in range(len(marks)):
        own = marks[j] != 0
        if not own and missing > 0:
            own = True
            missing -= 1
        if near:
            if own:
                if left == 0:
                    found = 2 * j + np.int64(ups[marks[j] + 1])
                    break
                left -= 1
        elif left < 2 - own:
            found = (2 * j + np.int64(ups[marks[j] + 1])) ^ 1 if own else 2 * j + left
            break
        else:
            left -= 2 - own
    return found


@compiled
def draw_corners(
    x: Array,
    centre: Array,
    inverse: Array,
    sizes: Array,
    chosen: Array,
    first: Array,
    second: Array,
    integers: Array,
    excess: Array,
    done: int,
    words: Array,
    at: int,
    limit: int,
    output: Array,
) -> Any:
    """Draw the corners of people from one on, until the words run out; return how many are done and the position."""
    size, m = len(first), np.int64(integers[1])
    others = 2 * size - m
    turned, units = np.empty(size * LANES, dtype=np.float32), np.empty(LANES, dtype=np.float32)
    beside, codes = np.empty(size * LANES, dtype=np.int32), np.empty((LANES, size), dtype=np.int32)
    whole, marks, ups = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int8), np.empty(3, dtype=np.int64)
    stream, spare = pointer(words), pointer(excess)
    guess = np.int64(0)
    while done < len(x):
        count = min(LANES, len(x) - done)
        turn(x, done, count, centre, inverse, chosen, first, second, turned, units, beside, codes)
        for lane in range(count):
            length, start = sizes[done], at
            ups[0] = rounds_up((1.0 - length) / 2.0, stream[at])
            ups[1] = rounds_up(0.5, stream[at])
            ups[2] = rounds_up((1.0 + length) / 2.0, stream[at])
            near = stream[at + 1] < integers[2]
            other, at = below(stream, at + 2, limit, np.uint64(others), spare[others])
            rank, at = below(stream, at, limit, integers[1], spare[m])
            if at > limit:
                return done, start
            guess = mark_largest(codes[lane], m, guess, whole, marks)
            small = np.int64(abs(length) / 2.0 * 2147483648.0) == 0
            left = np.int64(rank) if near else np.int64(other)
            output[done] = corner_at(marks, ups, m, small, near, left)
            done += 1
    return done, at


def outputs(
    plan: Plan,
    channel: Corners,
    x: Array,
    centre: Array,
    inverse: Array,
    sizes: Array,
    chosen: Array,
    signs: tuple[Sequence[float], Sequence[float]],
    stream: Stream,
) -> Array:
    """Return the corners that people report of their rotated gradients, whose lengths are `sizes` with a sign."""
    program = compile_plan(plan)
    first, second = (np.array(one, dtype=np.float32) for one in signs)
    output, done = np.empty(len(x), dtype=np.int64), 0
    integers = np.array([channel.size, channel.near, channel.threshold], dtype=np.uint64)
    with workspace() as space:
        words = Words(stream, 3 * program.words, space)
        while done < len(x):
            done, words.at = draw_corners(
                x, centre, inverse, sizes, chosen, first, second, integers, program.excess, done,
                words.words, words.at, words.limit, output,
            )  # fmt: skip
            if done < len(x):
                words.refill()
    return output
