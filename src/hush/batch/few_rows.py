"""The kernel of rows channels of at most 64 rows, where the named rows are one word.

It works in blocks of people, as the kernels of `hush.batch.sets` do: everybody gets words, in the order of
`spec/wire.md`; then all get their own cell, then all get their rows, and then all get a cell of their first row, of
their second, and so on. `z` and `f` are the integers and floats of a channel in `hush.batch.program`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import (
    ELEVEN,
    GROUP,
    HALF,
    LANES,
    LOW_SIX,
    LOWER,
    ONE,
    SIX,
    UNIT,
    ZERO,
    Array,
    clamped,
    drawn,
    either,
    fair,
    insert_into,
    neighbours,
    scaled,
)
from hush.batch.native import (
    blend,
    compiled,
    floats_at,
    inlined,
    lowest,
    mark,
    pointer,
    public,
    shifted,
    shorts_at,
    wide,
)
from hush.batch.program import KNOTS
from hush.batch.rows import GUIDE, members_of
from hush.batch.sets import dealt_again, draw_sets, picked
from hush.batch.windows import even_state, knot_state

BLOCK = 64  # people who are drawn together
FEW_KNOTS = 32  # so many are compared with a number one after the other; more are looked up
DENSE = 8  # the most words of a report where one member may be, if each of these words is made of all such members
PARTS = 8  # words of a report that are made for all people of a block, before they are written: a line of the cache
SPARE = 7  # members behind the last one, which are in no word of the report
OWN = 4  # words of a person for the own cell; then those for rows, and for cells
MOST_GROUPS = 19  # of rows and cells, for any channel of at most 64 rows
ROOM = BLOCK * (2 + PARTS + OWN + MOST_GROUPS + 2 * (63 + SPARE))  # words of working memory


@inlined
def deal(words: Array, at: int, limit: int, z: Array, spare: Array, groups: Array, hands: Array, p: int) -> Any:
    """Give the person p of a block words; return the next position."""
    hands[p], hands[BLOCK + p] = words[at], words[at + 1]
    hands[2 * BLOCK + p], at = fair(words, at + 2, limit, z[3], spare[np.int64(z[3])])
    hands[3 * BLOCK + p], at = fair(words, at, limit, z[5], z[6])
    hand = p + OWN * BLOCK
    for _ in range(2):
        for g in range(np.int64(groups[0])):
            hands[hand], at = drawn(words, at, limit, shifted(groups, 1 + GROUP * g))
            hand += BLOCK
        groups = shifted(groups, 1 + GROUP * np.int64(groups[0]))
    return at


@inlined
def deal_together(words: Array, z: Array, spare: Array, groups: Array, hands: Array, count: int, taken: int) -> Any:
    """Give all people of a block their words, `taken` each, if none is drawn again. Return whether that is so."""
    again = dealt_again(words, taken, ZERO, ZERO, hands, count)
    again |= dealt_again(shifted(words, 1), taken, ZERO, ZERO, shifted(hands, BLOCK), count)
    words, hands = shifted(words, 2), shifted(hands, 2 * BLOCK)
    again |= dealt_again(words, taken, z[3], spare[np.int64(z[3])], hands, count)
    words, hands = shifted(words, np.int64(z[3] != ONE)), shifted(hands, BLOCK)
    again |= dealt_again(words, taken, z[5], z[6], hands, count)
    for _ in range(2):
        for g in range(np.int64(groups[0])):
            words, hands = shifted(words, 1), shifted(hands, BLOCK)
            again |= dealt_again(words, taken, groups[2 + GROUP * g], groups[3 + GROUP * g], hands, count)
        groups = shifted(groups, 1 + GROUP * np.int64(groups[0]))
    return public(again) == ZERO


@inlined
def behind(s: float, start: float, rate: float, u: float, state: float, knot: float, slope: float) -> Any:
    """Return a state with its knot and slope, or the state s with its own if the input is not before its knot."""
    yes = start <= u
    return blend(yes, s, state), blend(yes, start, knot), blend(yes, rate, slope)


@inlined
def few_knots(knots: Array, last: int, units: Array, states: Array, work: Array) -> None:
    """Write the states below inputs, and the inputs' positions between those and the next, as `knot_state` does.

    Knots are compared one after the other, by fours: several people at once cannot look anything up.
    """
    wide()
    found, slopes = work, shifted(work, BLOCK)
    first, slope = knots[0], knots[1]
    for p in range(BLOCK):
        states[p], found[p], slopes[p] = 0.0, first, slope
    knots, s, left = shifted(knots, 2), 1.0, last - 1
    while left >= 4:
        one, two, three, four = knots[0], knots[2], knots[4], knots[6]
        a, b, c, d = knots[1], knots[3], knots[5], knots[7]
        for p in range(BLOCK):
            u = units[p]
            state, knot, slope = behind(s, one, a, u, states[p], found[p], slopes[p])
            state, knot, slope = behind(s + 1.0, two, b, u, state, knot, slope)
            state, knot, slope = behind(s + 2.0, three, c, u, state, knot, slope)
            states[p], found[p], slopes[p] = behind(s + 3.0, four, d, u, state, knot, slope)
        knots = shifted(knots, 8)
        s += 4.0
        left -= 4
    for _ in range(left):
        one, a = knots[0], knots[1]
        for p in range(BLOCK):
            states[p], found[p], slopes[p] = behind(s, one, a, units[p], states[p], found[p], slopes[p])
        knots = shifted(knots, 2)
        s += 1.0
    for p in range(BLOCK):
        units[p] = (units[p] - found[p]) * slopes[p]


@inlined
def starts(z: Array, f: Array, values: Array, low: float, span: float, inverse: float, words: Array) -> None:
    """Round the numbers of a block of people, and write the starts of their windows in place of the words.

    Working memory for floats is behind the numbers. Loops always go over a whole block, whatever is behind the last
    person: so no loop over the last few is compiled, in which the compiler would make branches of choices.
    """
    wide()
    units, states = shifted(values, BLOCK), shifted(values, 2 * BLOCK)
    last: Any = np.int64(f[5])
    if inverse:
        for p in range(BLOCK):
            units[p] = scaled(values[p], low, span, inverse)
    else:
        for p in range(BLOCK):
            units[p] = clamped((values[p] - low) / span)
    if f[6] == 0.0:
        for p in range(BLOCK):
            states[p], units[p] = even_state(units[p], f[5])
    elif last <= FEW_KNOTS:
        few_knots(shifted(f, KNOTS), last, units, states, shifted(values, 3 * BLOCK))
    else:
        for p in range(BLOCK):
            states[p], units[p] = knot_state(units[p], f, shifted(z, GUIDE))
    optional = mark(z[11] != ZERO)
    for p in range(BLOCK):
        up = mark(np.float64(np.int64(words[p] >> ELEVEN)) < units[p] * UNIT)
        missing = mark(values[p] != values[p]) & optional
        words[p] = either(missing, z[11], np.uint64(np.int64(states[p])) + up)


@inlined
def own_cells(z: Array, hands: Array, count: int) -> None:
    """Write whether the own row of each person is named, and its cell if it is, in place of a second and a third word.

    The first is the start of the window by now. Integers are below 2^32, so a quotient takes products of 32 bits.
    """
    wide()
    coins, mine, places = shifted(hands, BLOCK), shifted(hands, 2 * BLOCK), shifted(hands, 3 * BLOCK)
    threshold, width, without, beside, last = z[4], z[3] & LOWER, z[5] & LOWER, z[7] & LOWER, z[10]
    low, top, limit = z[8] & LOWER, z[8] >> HALF, z[1] * z[7]
    for p in range(count):
        here = mark(coins[p] < threshold)
        within = picked(mine[p], mine[p] >> HALF, width)[1] >> HALF
        place = picked(places[p], places[p] >> HALF, without)[1] >> HALF
        quotient = picked(low, top, place & LOWER)[1] >> HALF
        rest = place - (quotient & LOWER) * beside
        rest -= (ZERO - mark(rest >= beside)) & beside
        rest += (ZERO - mark(rest >= hands[p])) & width
        cell = either(here, hands[p] + within, rest)
        coins[p] = here | mark(place < limit)
        mine[p] = either(mark(cell > last), last, cell)


@inlined
def member_of(rest: Any, row: Any, mine: Any, cell: Any, group: Any, last: Any) -> Any:
    """Return the word and the bit that a cell of the first of some rows has in the report, or the own cell instead."""
    j = np.uint64(lowest(rest))
    cell = either(mark(cell > last), last, cell)
    member = (j & LOWER) * group + either(mark(j == row), mine, cell)
    return member >> SIX, ONE << (member & LOW_SIX)


@inlined
def draw_members(
    z: Array,
    groups: Array,
    words: Array,
    tops: Array,
    rows: Array,
    own: Array,
    mine: Array,
    parts: Array,
    bits: Array,
    count: int,
) -> None:
    """Write a cell of each named row of a block of people, by fours: its word of the report, and its bit."""
    wide()
    factor, group, last = z[2] & LOWER, z[9] & LOWER, z[10]
    for g in range(np.int64(groups[0])):
        left = np.int64(groups[1 + GROUP * g])
        for p in range(count):
            tops[p] = words[p] >> HALF
        while left >= 4:
            for p in range(count):
                rest, row, cell = rows[p], own[p], mine[p]
                low, top = picked(words[p], tops[p], factor)
                parts[p], bits[p] = member_of(rest, row, cell, top >> HALF, group, last)
                rest &= rest - ONE
                low, top = picked(low, top, factor)
                parts[BLOCK + p], bits[BLOCK + p] = member_of(rest, row, cell, top >> HALF, group, last)
                rest &= rest - ONE
                low, top = picked(low, top, factor)
                parts[2 * BLOCK + p], bits[2 * BLOCK + p] = member_of(rest, row, cell, top >> HALF, group, last)
                rest &= rest - ONE
                low, top = picked(low, top, factor)
                parts[3 * BLOCK + p], bits[3 * BLOCK + p] = member_of(rest, row, cell, top >> HALF, group, last)
                words[p], tops[p], rows[p] = low, top, rest & (rest - ONE)
            parts, bits = shifted(parts, 4 * BLOCK), shifted(bits, 4 * BLOCK)
            left -= 4
        for _ in range(left):
            for p in range(count):
                words[p], tops[p] = picked(words[p], tops[p], factor)
                parts[p], bits[p] = member_of(rows[p], own[p], mine[p], tops[p] >> HALF, group, last)
                rows[p] &= rows[p] - ONE
            parts, bits = shifted(parts, BLOCK), shifted(bits, BLOCK)
        words = shifted(words, BLOCK)


@inlined
def bits_in(parts: Array, bits: Array, part: Any, p: int) -> Any:
    """Return the bits of four members of the person p in a word of the report."""
    one, two = (ZERO - mark(parts[p] == part)) & bits[p], (ZERO - mark(parts[BLOCK + p] == part)) & bits[BLOCK + p]
    three = (ZERO - mark(parts[2 * BLOCK + p] == part)) & bits[2 * BLOCK + p]
    four = (ZERO - mark(parts[3 * BLOCK + p] == part)) & bits[3 * BLOCK + p]
    return one | two | three | four


@inlined
def collect_bits(z: Array, parts: Array, bits: Array, first: int, end: int, found: Array, count: int) -> None:
    """Write the words from `first` to `end` of the reports of a block of people.

    The i-th named row is at least i, and at most i + G - w. So only some members may be in a word. They are looked at
    by fours; behind the last there are more that are in no word.
    """
    wide()
    size, weight, group = np.int64(z[0]), np.int64(z[1]), np.int64(z[9])
    for part in range(first, end):
        start = max(0, 64 * part // group - (size - weight))
        left = min(weight, (64 * part + 63) // group + 1) - start
        where, some, here = shifted(parts, BLOCK * start), shifted(bits, BLOCK * start), np.uint64(part)
        if left > 4:
            for p in range(count):
                more = bits_in(shifted(where, 4 * BLOCK), shifted(some, 4 * BLOCK), here, p)
                found[p] = bits_in(where, some, here, p) | more
        else:
            for p in range(count):
                found[p] = bits_in(where, some, here, p)
        for _ in range(8, left, 4):
            where, some = shifted(where, 4 * BLOCK), shifted(some, 4 * BLOCK)
            for p in range(count):
                more = bits_in(shifted(where, 4 * BLOCK), shifted(some, 4 * BLOCK), here, p)
                found[p] |= more
        found = shifted(found, BLOCK)


@inlined
def write_parts(
    z: Array, parts: Array, bits: Array, found: Array, places: Array, output: Array, real: int, count: int
) -> None:
    """Write the reports of a block of people, some words of all at a time."""
    size = members_of(z)
    for first in range(0, size, PARTS):
        end = min(first + PARTS, size)
        collect_bits(z, parts, bits, first, end, found, count)
        done = 0
        while end - first - done >= 4:
            some = shifted(found, BLOCK * done)
            for p in range(real):
                report = shifted(output, np.int64(places[p]) + first + done)
                report[0], report[1] = np.int64(some[p]), np.int64(some[BLOCK + p])
                report[2], report[3] = np.int64(some[2 * BLOCK + p]), np.int64(some[3 * BLOCK + p])
            done += 4
        for part in range(done, end - first):
            for p in range(real):
                output[places[p] + first + part] = np.int64(found[BLOCK * part + p])


@inlined
def set_members(z: Array, parts: Array, bits: Array, places: Array, output: Array, count: int) -> None:
    """Write the reports of a block of people, member by member."""
    size, weight = members_of(z), np.int64(z[1])
    for p in range(count):
        report = shifted(output, np.int64(places[p]))
        for part in range(size):
            report[part] = 0
        for i in range(weight):
            report[np.int64(parts[BLOCK * i + p])] |= np.int64(bits[BLOCK * i + p])


@compiled
def small_rows_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Rows channels of at most 64 rows."""
    wide()
    people, places, output = pointer(job.people), pointer(job.places), pointer(job.output)
    z, f, stream, spare = pointer(job.integers), pointer(job.floats), pointer(words), pointer(job.excess)
    categories, numbers, values = shorts_at(job.columns[0]), floats_at(job.columns[1]), pointer(job.scratch_floats)
    groups = shifted(z, np.int64(z[12]))
    cells = shifted(groups, 1 + GROUP * np.int64(groups[0]))
    size, weight = np.int64(z[0]), np.int64(z[1])
    own = pointer(job.scratch)
    rows, tops = shifted(own, BLOCK), shifted(own, 2 * BLOCK)
    hands = shifted(own, (2 + PARTS) * BLOCK)
    mine = shifted(hands, 2 * BLOCK)
    row_words = shifted(hands, OWN * BLOCK)
    cell_words = shifted(row_words, BLOCK * np.int64(groups[0]))
    parts = shifted(cell_words, BLOCK * np.int64(cells[0]))
    bits = shifted(parts, BLOCK * (weight + SPARE))
    for i in range(BLOCK * weight, BLOCK * (weight + SPARE)):
        parts[i] = ZERO - ONE
    dense = (size - weight + 1) * np.int64(z[9]) <= 64 * (DENSE - 1)
    taken: Any = 3 + np.int64(z[3] != ONE) + np.int64(groups[0]) + np.int64(cells[0])
    while done < len(job.people):
        count = min(BLOCK, len(job.people) - done, (limit - at) // taken)
        if count > 0 and deal_together(shifted(stream, at), z, spare, groups, hands, count, taken):
            at += count * taken
        else:
            count = 0
            while count < min(BLOCK, len(job.people) - done):
                end = deal(stream, at, limit, z, spare, groups, hands, count)
                if end > limit:
                    break
                at = end
                count += 1
        if count == 0:
            break
        who, where = shifted(people, done), shifted(places, done)
        if neighbours(who, 0, count):
            here, near = shifted(categories, np.int64(who[0])), shifted(numbers, np.int64(who[0]))
            for p in range(count):
                own[p] = np.uint64(here[p])
            for p in range(count):
                values[p] = near[p]
        else:
            for p in range(count):
                own[p], values[p] = np.uint64(categories[who[p]]), numbers[who[p]]
        filled = (count + LANES - 1) & -LANES
        starts(z, f, values, job.lows[1], job.spans[1], job.inverses[1], hands)
        own_cells(z, hands, filled)
        draw_sets(z[0] - z[1], groups, shifted(hands, BLOCK), row_words, BLOCK, tops, rows, filled)
        for p in range(filled):
            rows[p] = insert_into(rows[p], own[p], hands[BLOCK + p])
        draw_members(z, cells, cell_words, tops, rows, own, mine, parts, bits, filled)
        if dense:
            write_parts(z, parts, bits, tops, where, output, count, filled)
        else:
            set_members(z, parts, bits, where, output, count)
        done += count
    return done, at
