"""Counting rows of several questions: rows are laid on piles, one for each question, and a pile is counted at once.

One row after the other would take a branch for each, on its question, which processors cannot foresee. To lay a word
on a pile takes none. A pile of sets is counted by upright counters (`hush.batch.counters`) for several words at once,
and so is one of symbols of at most 64: a symbol is the set of itself. Larger alphabets get a histogram.

Piles may stay until the next rows come: their order does not matter. Rows of sets in several parts depend on their
order, and `count_rows` counts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.counters import (
    ABREAST,
    FULL,
    OUTSIDE,
    PLANES,
    ROUND,
    SPARE_BITS,
    SYMBOL,
    UNKNOWN,
    WRONG_SET,
    add_lanes,
    find_bad,
    read_lanes,
)
from hush.batch.draws import ONE, ZERO
from hush.batch.native import compiled, inlined, pointer, shifted

Array = np.ndarray[Any, Any]

STEP = 512  # rows after which high piles are counted
HEIGHT = 2 * STEP  # words that a pile can have
ROOM = HEIGHT + 40  # the distance of piles: a power of two would put them all into the same few places of the cache
MOST = 256  # questions that have piles: those of more would not fit the cache
BITS = 64


@inlined
def lay(attribute: Array, output: Array, start: int, end: int, questions: Any, piles: Array, heights: Array) -> Any:
    """Lay the words of some rows on the piles of their questions. Return how many are of no question.

    Neighbours of one question would wait for each other at the height of their pile, so they are laid together.
    """
    least, most = np.uint16(attribute[start]), np.uint16(attribute[start])
    for i in range(start, end):  # negative numbers are too large when read as unsigned
        least, most = min(least, np.uint16(attribute[i])), max(most, np.uint16(attribute[i]))
    if least == most and most < questions:
        pile = shifted(piles, np.int64(most) * ROOM + heights[most] - start)
        for i in range(start, end):
            pile[i] = np.uint64(output[i])
        heights[most] += end - start
    elif most < questions:
        for i in range(start, end):
            index = np.int64(attribute[i])
            height = heights[index]
            piles[index * ROOM + height] = np.uint64(output[i])
            heights[index] = height + 1
    else:
        return lay_known(attribute, output, start, end, questions, piles, heights)
    return 0


@inlined
def lay_known(
    attribute: Array, output: Array, start: int, end: int, questions: Any, piles: Array, heights: Array
) -> Any:
    """Do the same if some rows are of no question."""
    unknown = 0
    for i in range(start, end):
        index = np.int64(attribute[i])
        if np.uint16(attribute[i]) < questions:
            piles[index * ROOM + heights[index]] = np.uint64(output[i])
            heights[index] += 1
        else:
            unknown += 1
    return unknown


@inlined
def count_large(pile: Array, height: int, size: Any, counts: Array) -> Any:
    """Count symbols of a large alphabet. Return how many are outside it."""
    outside = 0
    for i in range(height):
        if pile[i] < size:
            counts[np.int64(pile[i])] += 1
        else:
            outside += 1
    return outside


@inlined
def to_sets(pile: Array, height: int, size: Any) -> Any:
    """Replace symbols by sets of one member, and those outside the alphabet by the empty set. Return how many."""
    outside = ZERO
    for i in range(height):
        good = np.uint64(pile[i] < size)
        outside += ONE - good
        pile[i] = good << (pile[i] & np.uint64(BITS - 1))
    return np.int64(outside)


@compiled
def count_pile(
    index: int,
    last: bool,
    plan: Array,
    masks: Array,
    piles: Array,
    heights: Array,
    rounds: Array,
    lanes: Array,
    counts: Array,
    answered: Array,
    faults: Array,
) -> None:
    """Count a pile, and leave what does not fill a round on it. The last time, leave nothing."""
    size, weight = plan[0, index], plan[3, index]
    found, pile = shifted(pointer(counts), plan[1, index]), shifted(pointer(piles), ROOM * index)
    planes, height = shifted(pointer(lanes), PLANES * ABREAST * index), heights[index]
    done = height if last else height // ROUND * ROUND
    answered[index] += done
    if weight == SYMBOL and size > BITS:
        faults[index, OUTSIDE] += count_large(pile, done, np.uint64(size), found)
    else:
        if weight == SYMBOL:
            faults[index, OUTSIDE] += to_sets(pile, done, np.uint64(size))
        else:
            bad_spare, bad_set = find_bad(pile, done, size, weight, shifted(pointer(masks), 4 * plan[4, index]))
            faults[index, SPARE_BITS] += bad_spare
            faults[index, WRONG_SET] += bad_set
        for i in range(done, (done + ROUND - 1) // ROUND * ROUND if last else done):
            pile[i] = ZERO  # adds nothing
        for first in range(0, done, ROUND):
            add_lanes(planes, shifted(pile, first), ABREAST)
            rounds[index] += 1
            if rounds[index] == FULL:
                read_lanes(planes, found, size, ABREAST)
                rounds[index] = 0
        if last:
            read_lanes(planes, found, size, ABREAST)
            rounds[index] = 0
    for i in range(done, height):
        pile[i - done] = pile[i]
    heights[index] = height - done


@compiled
def pile_rows(
    attribute: Array,
    output: Array,
    plan: Array,
    masks: Array,
    piles: Array,
    heights: Array,
    rounds: Array,
    lanes: Array,
    counts: Array,
    answered: Array,
    faults: Array,
) -> None:
    """Count rows of a plan whose questions have one part each. `plan` has sizes, starts, rows, weights and slots.

    Some rows stay on the piles. `rounds` says how often a pile was added to its upright counters.
    """
    which, outputs, laps, tops = pointer(attribute), pointer(output), pointer(piles), pointer(heights)
    questions, start = len(heights), 0
    while start < len(attribute):
        end = min(start + STEP, len(attribute))
        faults[questions, UNKNOWN] += lay(which, outputs, start, end, np.uint16(questions), laps, tops)
        for index in range(questions):
            if heights[index] > HEIGHT - STEP:
                count_pile(index, False, plan, masks, piles, heights, rounds, lanes, counts, answered, faults)
        start = end


@compiled
def empty_piles(
    plan: Array,
    masks: Array,
    piles: Array,
    heights: Array,
    rounds: Array,
    lanes: Array,
    counts: Array,
    answered: Array,
    faults: Array,
) -> None:
    """Count what is left on the piles."""
    for index in range(len(heights)):
        count_pile(index, True, plan, masks, piles, heights, rounds, lanes, counts, answered, faults)
