"""The draws and kernels of the rows channel: a category and a number at once.

`hush.batch.draws` and `hush.batch.kernels` have the conventions, `hush.batch.few_rows` the kernel of at most 64 rows.

The number is rounded and the own cell drawn first; then the rows that the report names; then a cell of each. `z` and
`f` are the integers and floats of a channel in `hush.batch.program`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import (
    GROUP,
    LOW_SIX,
    ONE,
    SIX,
    TOP,
    ZERO,
    Array,
    add_members,
    below,
    clamped,
    drawn,
    either,
    insert_bit,
    quotient,
    rounds_up,
)
from hush.batch.native import compiled, flag, floats_at, high, inlined, lowest, pointer, shifted, shorts_at
from hush.batch.windows import even_state, knot_state

GUIDE = 13  # where the guide of the knots begins
SET = 80  # words: enough for a set of 4097 members
WIDEST = 1024  # words: enough for the cells of any rows channel


@inlined
def members_of(z: Array) -> Any:
    """Return how many words the set of a report takes."""
    return (np.int64(z[0] * z[9]) + 63) >> 6


@inlined
def capped(cell: Any, last: Any) -> Any:
    """Return a cell of a row, where all cells from the last on are one: those of "missing", if there are any."""
    return either(flag(cell > last), last, cell)


@inlined
def own_cell(
    z: Array, f: Array, value: float, low: float, span: float, words: Array, at: int, limit: int, excess: Array
) -> Any:
    """Return whether the own row is named, its cell if it is, and the next position.

    Both a cell in the window and one beside it are drawn.
    """
    u = clamped((value - low) / span)
    if f[6]:
        state, fraction = knot_state(u, f, shifted(z, GUIDE))
    else:
        state, fraction = even_state(u, f[5])
    rounded = np.uint64(np.int64(state)) + rounds_up(fraction, words[at])
    first = either(flag(value != value) & flag(z[11] != ZERO), z[11], rounded)
    here = flag(words[at + 1] < z[4])
    within, at = below(words, at + 2, limit, z[3], excess[np.int64(z[3])])
    place, at = below(words, at, limit, z[5], z[6])
    beside = place - quotient(place, z[7], z[8]) * z[7]
    beside += z[3] * flag(beside >= first)
    named = here | flag(place < z[1] * z[7])
    return named, either(here, first + within, beside), at


@inlined
def one_row(z: Array, row: Any, named: Any, mine: Any, words: Array, at: int, limit: int, excess: Array) -> Any:
    """Return a cell of one row, the own one or another, and the next position."""
    others = np.int64(z[0]) - 1
    pick, at = below(words, at, limit, np.uint64(others), excess[others])
    other = pick + flag(pick >= np.uint64(row))
    cell, at = below(words, at, limit, z[2], excess[np.int64(z[2])])
    chosen = either(named, np.uint64(row), other)
    return np.int64(chosen * z[9] + capped(either(named, mine, cell), z[10])), at


@inlined
def add_cell(z: Array, j: Any, row: int, mine: Any, cell: Any, found: Array) -> None:
    """Add a cell of the row j to a set, or the own cell in its place."""
    member = np.uint64(j) * z[9] + capped(either(flag(np.int64(j) == row), mine, cell), z[10])
    found[np.int64(member >> SIX)] |= ONE << (member & LOW_SIX)


@compiled
def many_rows(
    z: Array,
    row: Any,
    named: Any,
    mine: Any,
    words: Array,
    at: int,
    limit: int,
    groups: Array,
    marks: Array,
    chosen: Array,
    found: Array,
) -> Any:
    """Write a set of cells of any number of rows as bits, and return the next position."""
    size: Any = np.int64(z[0])
    weight: Any = np.int64(z[1])
    parts = (size + 63) >> 6
    for part in range(parts):
        marks[part] = ZERO
    at = add_members(words, at, limit, z[0] - z[1], groups, named, marks)
    insert_bit(marks, parts, row, named)
    list_members(marks, parts, weight, chosen)
    for part in range(members_of(z)):
        found[part] = ZERO
    cells = shifted(groups, 1 + GROUP * np.int64(groups[0]))
    done = 0
    for g in range(np.int64(cells[0])):
        group = shifted(cells, 1 + GROUP * g)
        word, at = drawn(words, at, limit, group)
        for _ in range(np.int64(group[0])):
            add_cell(z, chosen[done], row, mine, high(word, z[2]), found)
            word *= z[2]
            done += 1
    return at


@inlined
def list_members(marks: Array, parts: int, count: int, chosen: Array) -> None:
    """List the `count` members of a set in order. Each step lists one or goes on to the next word, without a branch."""
    part: Any = 0
    at: Any = 0
    rest = marks[0]
    for _ in range(count + parts - 1):
        some = flag(rest != ZERO)
        chosen[at] = np.uint64(64 * part + lowest(rest | TOP))  # overwritten by the next member if there is none
        at += np.int64(some)
        part += np.int64(some ^ ONE)
        rest = either(some, rest & (rest - ONE), marks[part])


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
def rows_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Rows channels of more than 64 rows."""
    people, places, output, work = job.people, job.places, job.output, pointer(job.scratch)
    z, f, stream, spare = pointer(job.integers), pointer(job.floats), pointer(words), pointer(job.excess)
    categories, numbers = shorts_at(job.columns[0]), floats_at(job.columns[1])
    low, span, parts, groups = job.lows[1], job.spans[1], members_of(z), shifted(z, np.int64(z[12]))
    found, marks, chosen = work, shifted(work, WIDEST), shifted(work, WIDEST + SET)
    while done < len(people):
        start, person = at, people[done]
        row = np.int64(categories[person])
        named, mine, at = own_cell(z, f, numbers[person], low, span, stream, at, limit, spare)
        at = many_rows(z, row, named, mine, stream, at, limit, groups, marks, chosen, found)
        if at > limit:
            return done, start
        for part in range(parts):
            output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at
