"""The kernels of sets of at most 64 categories or cells, where a set is one word.

They work in blocks of people. First each person gets words, in the order of `spec/wire.md`; then all people of the
block get their first member, all get their next four, and so on. These loops have no branches, so the compiler turns
them into instructions for several people at once. `hush.batch.draws` and `hush.batch.kernels` have the conventions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import (
    GROUP,
    HALF,
    LANES,
    LOWER,
    ONE,
    TWO,
    ZERO,
    Array,
    cell_of,
    drawn,
    insert_into,
    neighbours,
    rounds_up,
    unit,
)
from hush.batch.native import compiled, flag, inlined, mark, pointer, public, shifted, shorts_at, wide

BLOCK = 256  # people whose sets are drawn together
THREE = np.uint64(3)
FOUR = np.uint64(4)


@inlined
def deal(words: Array, at: int, limit: int, threshold: Any, groups: Array, coins: Array, dealt: Array, p: int) -> Any:
    """Give the person p of a block a coin, and a word for each group of members; return the next position."""
    coins[p] = flag(words[at] < threshold)
    at += 1
    for g in range(np.int64(groups[0])):
        dealt[BLOCK * g + p], at = drawn(words, at, limit, shifted(groups, 1 + GROUP * g))
    return at


@inlined
def deal_together(
    words: Array, at: int, threshold: Any, groups: Array, coins: Array, dealt: Array, count: int, taken: int
) -> Any:
    """Give all people of a block their words, `taken` each, if none is drawn again. Return whether that is so.

    Most people take two or three words. Where the compiler knows that, it reads the words of several people at once.
    """
    mine = shifted(words, at)
    if taken == 2:
        return deal_every(mine, threshold, groups, coins, dealt, count, 2)
    if taken == 3:
        return deal_every(mine, threshold, groups, coins, dealt, count, 3)
    return deal_every(mine, threshold, groups, coins, dealt, count, taken)


@inlined
def deal_every(words: Array, threshold: Any, groups: Array, coins: Array, dealt: Array, count: int, taken: int) -> Any:
    """Do the same, from the first word of the block on. `taken` may be a constant."""
    wide()
    again = ZERO
    for p in range(count):
        coins[p] = mark(words[p * taken] < threshold)
    for g in range(np.int64(groups[0])):
        product, excess = groups[2 + GROUP * g], groups[3 + GROUP * g]
        again |= flag(product == ONE)  # which takes no word
        again |= dealt_again(shifted(words, 1 + g), taken, product, excess, shifted(dealt, BLOCK * g), count)
    return public(again) == ZERO


@inlined
def dealt_again(words: Array, taken: int, product: Any, excess: Any, hand: Array, count: int) -> Any:
    """Give all people of a block a word, every `taken`-th; return 1 if one of the words is drawn again, else 0."""
    wide()
    again = ZERO
    for p in range(count):
        word = words[p * taken]
        hand[p] = word
        again |= mark(word * product < excess)
    return again


@inlined
def picked(low: Any, top: Any, factor: Any) -> Any:
    """Return the halves of a word times a factor, of which only the lower 32 bits count, the upper one with its carry.

    Above these bits, the upper half has the pick. So a product takes two of 32 bits: several people at once have no
    others.
    """
    low = (low & LOWER) * factor
    return low, (top & LOWER) * factor + (low >> HALF)


@inlined
def with_member(members: Any, top: Any, last: Any) -> Any:
    """Return a set with a pick, and with the last member, as a bit, if it had the pick already (Floyd)."""
    pick = ONE << (top >> HALF)
    return members | pick | (ZERO - mark(members & pick != ZERO)) & last


@inlined
def draw_sets(
    n: Any, groups: Array, coins: Array, dealt: Array, room: int, tops: Array, found: Array, count: int
) -> None:
    """Write the sets of a block of people, from the words that they were dealt (Floyd's algorithm).

    The words of all people for a group are together, and those for the next one `room` words behind them.

    Members are below n, n + 1, and so on. The first is kept unless the coin is 1: then the true category is in the set,
    which is inserted later. Members are drawn by fours, so that a set stays in a register for longer. Behind the last
    person there may be a few sets that nobody reads.
    """
    wide()
    count = (count + LANES - 1) & -LANES
    if groups[0] == ZERO:  # nothing is drawn, and nothing stays of the block before
        for p in range(count):
            found[p] = ZERO
    for g in range(np.int64(groups[0])):
        words, left = shifted(dealt, room * g), np.int64(groups[1 + GROUP * g])
        if g == 0:
            factor = n & LOWER
            for p in range(count):
                words[p], tops[p] = picked(words[p], words[p] >> HALF, factor)
                found[p] = ONE << (tops[p] >> HALF) & (coins[p] - ONE)
            n += ONE
            left -= 1
        else:
            for p in range(count):
                tops[p] = words[p] >> HALF
        while left >= 4:
            one, two, three, four = n & LOWER, (n + ONE) & LOWER, (n + TWO) & LOWER, (n + THREE) & LOWER
            last = ONE << (n - ONE)
            for p in range(count):
                low, top = picked(words[p], tops[p], one)
                members = with_member(found[p], top, last)
                low, top = picked(low, top, two)
                members = with_member(members, top, last << ONE)
                low, top = picked(low, top, three)
                members = with_member(members, top, last << TWO)
                words[p], tops[p] = picked(low, top, four)
                found[p] = with_member(members, tops[p], last << THREE)
            n += FOUR
            left -= 4
        for _ in range(left):
            factor, last = n & LOWER, ONE << (n - ONE)
            for p in range(count):
                words[p], tops[p] = picked(words[p], tops[p], factor)
                found[p] = with_member(found[p], tops[p], last)
            n += ONE


@compiled
def small_subset_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Subset channels of at most 64 categories."""
    wide()
    people, places, output = pointer(job.people), pointer(job.places), pointer(job.output)
    stream, groups, column = pointer(words), shifted(pointer(job.integers), 3), shorts_at(job.columns[0])
    coins, threshold = pointer(job.scratch), job.integers[2]
    found, tops, dealt = shifted(coins, BLOCK), shifted(coins, 2 * BLOCK), shifted(coins, 3 * BLOCK)
    taken: Any = 1 + np.int64(groups[0])
    while done < len(job.people):
        count = min(BLOCK, len(job.people) - done, (limit - at) // taken)
        if count > 0 and deal_together(stream, at, threshold, groups, coins, dealt, count, taken):
            at += count * taken
        else:
            count = 0
            while count < min(BLOCK, len(job.people) - done):
                end = deal(stream, at, limit, threshold, groups, coins, dealt, count)
                if end > limit:
                    break
                at = end
                count += 1
        if count == 0:
            break
        draw_sets(job.integers[0] - job.integers[1], groups, coins, dealt, BLOCK, tops, found, count)
        if neighbours(people, done, done + count) and neighbours(places, done, done + count):
            states, sets = shifted(column, np.int64(people[done])), shifted(output, np.int64(places[done]))
            for p in range(count):
                sets[p] = np.int64(insert_into(found[p], np.int64(states[p]), coins[p]))
        else:
            for p in range(count):
                state = np.int64(column[people[done + p]])
                output[places[done + p]] = np.int64(insert_into(found[p], state, coins[p]))
        done += count
    return done, at


@compiled
def small_cells_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Sets of at most 64 cells of several attributes."""
    wide()
    people, places, output = pointer(job.people), pointer(job.places), pointer(job.output)
    integers, stream, column = pointer(job.integers), pointer(words), pointer(job.columns)
    low, span, attributes = pointer(job.lows), pointer(job.spans), len(job.columns)
    groups, threshold = shifted(integers, 3 + attributes), job.integers[2]
    coins = pointer(job.scratch)
    found, tops = shifted(coins, BLOCK), shifted(coins, 2 * BLOCK)
    cells, dealt = shifted(coins, 3 * BLOCK), shifted(coins, 4 * BLOCK)
    numbers: Any = 0
    for j in range(attributes):
        numbers += np.int64(integers[3 + j] == ZERO)
    taken: Any = numbers + 1 + np.int64(groups[0])
    while done < len(job.people):
        count = min(BLOCK, len(job.people) - done, (limit - at) // taken)
        if count > 0 and deal_together(stream, at + numbers, threshold, groups, coins, dealt, count, taken):
            cells_of(
                integers, column, low, span, shifted(people, done), shifted(stream, at), taken, cells, count, attributes
            )
            at += count * taken
        else:
            count = 0
            while count < min(BLOCK, len(job.people) - done):
                cell, end = cell_of(integers, column, low, span, people[done + count], stream, at, attributes)
                end = deal(stream, end, limit, threshold, groups, coins, dealt, count)
                if end > limit:
                    break
                cells[count] = np.uint64(cell)
                at = end
                count += 1
        if count == 0:
            break
        draw_sets(job.integers[0] - job.integers[1], groups, coins, dealt, BLOCK, tops, found, count)
        if neighbours(places, done, done + count):
            sets = shifted(output, np.int64(places[done]))
            for p in range(count):
                sets[p] = np.int64(insert_into(found[p], cells[p], coins[p]))
        else:
            for p in range(count):
                output[places[done + p]] = np.int64(insert_into(found[p], cells[p], coins[p]))
        done += count
    return done, at


@inlined
def cells_of(
    z: Array,
    columns: Array,
    lows: Array,
    spans: Array,
    people: Array,
    words: Array,
    taken: int,
    cells: Array,
    count: int,
    attributes: int,
) -> None:
    """Write the cells of a block of people, as `cell_of` would. Everybody has `taken` words."""
    wide()
    near, number = neighbours(people, 0, count), 0
    for p in range(count):
        cells[p] = ZERO
    for j in range(attributes):
        size = z[3 + j] & LOWER
        if size == ZERO:
            for p in range(count):
                up = rounds_up(unit(columns, lows, spans, j, people[p]), words[p * taken + number])
                cells[p] = cells[p] << ONE | up
            number += 1
        elif near:
            states = shifted(shorts_at(columns[j]), np.int64(people[0]))
            for p in range(count):
                cells[p] = (cells[p] & LOWER) * size + np.uint64(states[p])
        else:
            states = shorts_at(columns[j])
            for p in range(count):
                cells[p] = (cells[p] & LOWER) * size + np.uint64(states[people[p]])
