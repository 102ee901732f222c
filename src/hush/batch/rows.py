"""The draws of the rows channel, compiled: a category and a number at once. `hush.batch.draws` has the conventions.

The number is rounded and the own cell drawn first; then the rows that the report names; then a cell of each. `z` and
`f` are the integers and floats of a channel in `hush.batch.program`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import (
    LOW_SIX,
    ONE,
    SIX,
    TOP,
    ZERO,
    Array,
    add_members,
    below,
    clamped,
    either,
    insert_bit,
    quotient,
    rounds_up,
)
from hush.batch.native import compiled, flag, inlined, lowest, shifted
from hush.batch.windows import even_state, knot_state

GUIDE = 12  # where the guide of the knots begins


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
def one_row(z: Array, row: int, named: Any, mine: Any, words: Array, at: int, limit: int, excess: Array) -> Any:
    """Return a cell of one row, the own one or another, and the next position."""
    others = np.int64(z[0]) - 1
    pick, at = below(words, at, limit, np.uint64(others), excess[others])
    other = pick + flag(pick >= np.uint64(row))
    cell, at = below(words, at, limit, z[2], excess[np.int64(z[2])])
    chosen = either(named, np.uint64(row), other)
    return np.int64(chosen * z[9] + capped(either(named, mine, cell), z[10])), at


@inlined
def add_cell(
    z: Array, j: Any, row: int, mine: Any, words: Array, at: int, limit: int, excess: Array, found: Array
) -> Any:
    """Draw a cell of the row j, add it to a set (or the own cell in its place), and return the next position."""
    cell, at = below(words, at, limit, z[2], excess[np.int64(z[2])])
    member = np.uint64(j) * z[9] + capped(either(flag(np.int64(j) == row), mine, cell), z[10])
    found[np.int64(member >> SIX)] |= ONE << (member & LOW_SIX)
    return at


@compiled
def few_rows(
    z: Array, row: int, named: Any, mine: Any, words: Array, at: int, limit: int, excess: Array, found: Array
) -> Any:
    """Write a set of cells of at most 64 rows as bits, and return the next position. The rows are one word."""
    size, weight = np.int64(z[0]), np.int64(z[1])
    first, at = below(words, at, limit, np.uint64(size - weight), excess[size - weight])
    rows = (named ^ ONE) << first
    for t in range(size - weight, size - 1):
        pick, at = below(words, at, limit, np.uint64(t + 1), excess[t + 1])
        taken = (rows >> pick) & ONE
        rows |= ONE << pick | taken << np.uint64(t)
    below_it = (ONE << np.uint64(row)) - ONE
    rows = (rows & below_it) | (rows & ~below_it) << ONE | named << np.uint64(row)
    for part in range(members_of(z)):
        found[part] = ZERO
    for _ in range(weight):
        at = add_cell(z, lowest(rows), row, mine, words, at, limit, excess, found)
        rows &= rows - ONE
    return at


@compiled
def many_rows(
    z: Array,
    row: int,
    named: Any,
    mine: Any,
    words: Array,
    at: int,
    limit: int,
    excess: Array,
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
    first, at = below(words, at, limit, np.uint64(size - weight), excess[size - weight])
    marks[np.int64(first >> SIX)] = (named ^ ONE) << (first & LOW_SIX)
    at = add_members(words, at, limit, size - weight, size - 1, excess, marks)
    insert_bit(marks, parts, row, named)
    list_members(marks, parts, weight, chosen)
    for part in range(members_of(z)):
        found[part] = ZERO
    for i in range(weight):
        at = add_cell(z, chosen[i], row, mine, words, at, limit, excess, found)
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
