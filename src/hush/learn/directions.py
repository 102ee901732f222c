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


@inlined
def transform(values: Array) -> None:
    """Apply the Hadamard transform in place, without its scale."""
    half = 1
    while half < len(values):
        for start in range(0, len(values), 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i] = a + b
                values[i + half] = a - b
        half *= 2


@inlined
def kth_largest(values: Array, k: int) -> Any:
    """Return the k-th largest of some integers, which are put into another order (Hoare's selection)."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return values[k - 1]


@inlined
def mark_largest(turned: Array, whole: Array, order: Array, m: Any, marks: Array) -> None:
    """Write 1 for each of the m largest coordinates that is positive, -1 if it is negative, and 0 for the others."""
    total = SHORTEST
    for j in range(len(turned)):
        total += turned[j] * turned[j]
    unit = UNIT / np.sqrt(total)
    for j in range(len(turned)):
        whole[j] = np.int32(min(abs(turned[j]) * unit, UNIT))
        order[j] = whole[j]
    cut = kth_largest(order, m)
    spare = m
    for j in range(len(turned)):
        spare -= whole[j] > cut
    for j in range(len(turned)):
        near = whole[j] > cut or (whole[j] == cut and spare > 0)
        spare -= whole[j] == cut and spare > 0
        marks[j] = (1 if turned[j] > 0 else (-1 if turned[j] < 0 else 0)) if near else 0


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
    turned, marks = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.int8)
    whole, order = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    stream, spare = pointer(words), pointer(excess)
    while done < len(x):
        turned[:] = 0.0
        for slot in range(len(chosen)):
            j = chosen[slot]
            turned[slot] = (x[done, j] - centre[j]) * inverse[j] * first[slot]
        transform(turned)
        for j in range(size):
            turned[j] *= second[j]
        transform(turned)
        mark_largest(turned, whole, order, m, marks)
        length, start = sizes[done], at
        # The channel sees numbers -length, 0 and length, and takes the first of those that are equally large.
        small = np.int64(abs(length) / 2.0 * 2147483648.0) == 0
        missing = m
        for j in range(size):
            missing -= marks[j] != 0 and not small
        ups = (
            rounds_up((1.0 - length) / 2.0, stream[at]),
            rounds_up(0.5, stream[at]),
            rounds_up((1.0 + length) / 2.0, stream[at]),
        )
        near = stream[at + 1] < integers[2]
        other, at = below(stream, at + 2, limit, np.uint64(others), spare[others])
        rank, at = below(stream, at, limit, integers[1], spare[m])
        if at > limit:
            return done, start
        left = np.int64(rank) if near else np.int64(other)
        found: Any = 0
        for j in range(size):
            own = marks[j] != 0 and not small
            if not own and missing > 0:
                own = True
                missing -= 1
            corner = 2 * j + np.int64(ups[marks[j] + 1])
            if near:
                if own:
                    if left == 0:
                        found = corner
                        break
                    left -= 1
            elif left < 2 - own:
                found = corner ^ 1 if own else 2 * j + left
                break
            else:
                left -= 2 - own
        output[done] = found
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
