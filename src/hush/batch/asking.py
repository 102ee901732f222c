"""The questions that each person answers, and the places of the answers, before any channel is used.

The answers of a chunk are listed question by question, because the kernels read them in that order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, ZERO, Array, below, subset_of
from hush.batch.native import compiled, lowest, pointer


@compiled
def draw_questions(
    count: int,
    k: int,
    weights: Array,
    done: int,
    words: Array,
    at: int,
    limit: int,
    asked: Array,
    counts: Array,
    bits: Array,
    groups: Array,
) -> Any:
    """Write the k questions of each person, in increasing order, and count them; return the next person and place."""
    stream, chosen, several = pointer(words), pointer(bits), pointer(groups)
    total = weights[len(weights) - 1] if len(weights) else np.uint64(count)
    unused = (ZERO - total) % total
    while done * k < len(asked):
        start = at
        if k == 1:
            mass, at = below(stream, at, limit, total, unused)
            index = np.int64(mass)
            if len(weights):
                index = np.searchsorted(weights, mass, side="right")
            asked[done] = index
            if at <= limit:
                counts[index] += 1
        else:
            at = subset_of(stream, at, limit, count, k, several, chosen)
            slot = done * k
            for block in range((count + 63) >> 6):
                remaining = chosen[block]
                while remaining:
                    index = 64 * block + lowest(remaining)
                    asked[slot] = index
                    if at <= limit:
                        counts[index] += 1
                    remaining &= remaining - ONE
                    slot += 1
        if at > limit:
            return done, start
        done += 1
    return done, at


@compiled
def sort_answers(asked: Array, k: int, counts: Array, first_rows: Array, people: Array, places: Array) -> None:
    """List the answers question by question, in order of people: the person and the first row of each answer.

    `counts` has the number of answers to each question, and `first_rows` the first row of every answer (if it is empty,
    the first row is the answer's number).
    """
    next_place = np.empty(len(counts), dtype=np.int64)
    total = 0
    for index in range(len(counts)):
        next_place[index] = total
        total += counts[index]
    person, rank = 0, 0
    for slot in range(len(asked)):
        place = next_place[asked[slot]]
        next_place[asked[slot]] = place + 1
        people[place] = person
        places[place] = first_rows[slot] if len(first_rows) else slot
        rank += 1
        if rank == k:
            rank = 0
            person += 1


@compiled
def spread(asked: Array, rows: Array, first_rows: Array, attribute: Array, part: Array) -> None:
    """Write the question and the part of every row, where answers take several rows."""
    row = 0
    for slot in range(len(asked)):
        first_rows[slot] = row
        for i in range(rows[asked[slot]]):
            attribute[row + i] = asked[slot]
            part[row + i] = i
        row += rows[asked[slot]]
