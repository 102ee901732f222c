"""The draws of every channel, compiled. They follow `spec/wire.md`, "From words to a report", in the order of words.

Words are read from an array at a position that every draw moves on. The array has room behind its `limit` for all words
of one person, except for words that are rejected and drawn again; loops over those stop at the limit. So nothing reads
past the array. A person whose position ends up behind the limit is drawn again from the beginning, with more words.

**Time.** Every draw does the same work for every record and every report: no branch and no loop depends on a record
or a word, except where words are drawn again (`hush.batch.native.public`). Choices are made by arithmetic on a `flag`.

Words are unsigned throughout, because a product with a signed integer would become a float in Numba. `z` and `f` are
the integers and floats of a channel in `hush.batch.program`. All arrays are pointers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.native import (
    compiled,
    flag,
    floats_at,
    fused,
    greater,
    high,
    inlined,
    lesser,
    lowest,
    mark,
    ones,
    public,
    shifted,
    shorts_at,
    wide,
)

Array = np.ndarray[Any, Any]

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
TOP = np.uint64(1 << 63)
SIX = np.uint64(6)
LOW_SIX = np.uint64(63)
ELEVEN = np.uint64(11)
LAST = np.uint64(63)
HALF = np.uint64(32)
LOWER = np.uint64(0xFFFFFFFF)
UNIT = 9007199254740992.0  # 2^53
LANES = 8  # people in a loop over several at once are a multiple of it: then no loop over the last few is compiled
GROUP = 3  # the integers that describe a group of draws


@inlined
def neighbours(rows: Array, start: int, end: int) -> Any:
    """Return whether rows from `start` on are one after the other. They are in order."""
    return end > start and rows[end - 1] - rows[start] == end - start - 1


@inlined
def rounds_up(fraction: float, word: Any) -> Any:
    """Return 1 if a word rounds up an input with this fraction, else 0. This is not a private step."""
    return flag(np.float64(word >> ELEVEN) < fraction * UNIT)


@inlined
def either(yes: Any, first: Any, second: Any) -> Any:
    """Return the first of two integers if a flag is 1, the second if it is 0."""
    return second ^ ((first ^ second) & (ZERO - yes))


@inlined
def fair(words: Array, at: int, limit: int, n: Any, excess: Any) -> Any:
    """Return a word that gives every integer below n equally often, and the next position. Others are drawn again.

    Those are in the excess, 2^64 modulo n (Lemire). For n = 1 there is no draw: the word is read, and left for the next
    draw.
    """
    word = words[at]
    at += np.int64(n != ONE)
    while public(word * n < excess) and at <= limit:
        word = words[at]
        at += 1
    return word, at


@inlined
def below(words: Array, at: int, limit: int, n: Any, excess: Any) -> Any:
    """Return a uniform integer below n, and the next position."""
    word, at = fair(words, at, limit, n, excess)
    return high(word, n), at


@inlined
def drawn(words: Array, at: int, limit: int, group: Array) -> Any:
    """Return a word for a group of integers, and the next position.

    A group is how many integers it has, their product, and 2^64 modulo that (`hush.core.coins`). The first integer,
    below n, is the high half of word*n, and the low half goes on in place of the word. If the product is 1 there is no
    draw, and all integers are 0 whatever the word.
    """
    return fair(words, at, limit, group[1], group[2])


@inlined
def unit(columns: Array, lows: Array, spans: Array, column: int, row: int) -> Any:
    """Return a number of a column on the scale [0, 1]. The column is already checked."""
    return clamped((floats_at(columns[column])[row] - lows[column]) / spans[column])


@inlined
def clamped(u: float) -> Any:
    """Return u, or the nearer end of [0, 1]; 0 for NaN.

    Columns were checked, but other code may write to memory that they share. The result is in range for any float, so
    neither privacy nor any index rests on the check. (Categories are in memory of our own.)
    """
    return lesser(greater(u, 0.0), 1.0)


@inlined
def scaled(value: float, low: float, span: float, inverse: float) -> Any:
    """Return the same as `clamped((value - low) / span)`, given 1/span rounded, without a division.

    The product with the inverse may be one and a half units in the last place off. What is left over corrects it:
    `fused` finds that nearly exactly, so that the second quotient is less than one unit off. Then what is left over is
    exact, and the third is the quotient correctly rounded (Markstein 1990), if nothing underflows. With a moderate span
    that happens for results below 2^-400 alone, and those do not round up whatever they are exactly.
    """
    rest = lesser(greater(value - low, 0.0), span)
    first = rest * inverse
    second = fused(fused(-first, span, rest), inverse, first)
    return fused(fused(-second, span, rest), inverse, second)


# -- categories


@inlined
def add_members(words: Array, at: int, limit: int, n: Any, groups: Array, idle: Any, found: Array) -> Any:
    """Add a member for each integer of some groups: one below n, n + 1, ..., or the last of those if it is in (Floyd).

    The first `idle` integers are drawn, and add nothing. `groups` are their number, and then the groups.
    """
    step = ZERO
    for g in range(np.int64(groups[0])):
        group = shifted(groups, 1 + GROUP * g)
        word, at = drawn(words, at, limit, group)
        for _ in range(np.int64(group[0])):
            pick, word = high(word, n), word * n
            part, last = np.int64(pick >> SIX), n - ONE
            taken = (found[part] >> (pick & LOW_SIX)) & ONE
            found[part] |= flag(step >= idle) << (pick & LOW_SIX)  # changes nothing if it is in the set already
            found[np.int64(last >> SIX)] |= taken << (last & LOW_SIX)
            n += ONE
            step += ONE
    return at


@inlined
def add_bits(words: Array, at: int, limit: int, n: Any, groups: Array, idle: Any) -> Any:
    """Return the same members as `add_members`, of at most 64, as bits of a word, and the next position."""
    found, step = ZERO, ZERO
    for g in range(np.int64(groups[0])):
        group = shifted(groups, 1 + GROUP * g)
        word, at = drawn(words, at, limit, group)
        for _ in range(np.int64(group[0])):
            pick, word = high(word, n), word * n
            found |= flag(step >= idle) << pick | ((found >> pick) & ONE) << (n - ONE)
            n += ONE
            step += ONE
    return found, at


@compiled
def subset_of(words: Array, at: int, limit: int, n: int, size: int, groups: Array, found: Array) -> Any:
    """Write a uniform subset of 0..n-1 of this size as bits, and return the next position."""
    for part in range((n + 63) >> 6):
        found[part] = ZERO
    if size == n:
        for member in range(n):
            found[member >> 6] |= ONE << np.uint64(member & 63)
        return at
    return add_members(words, at, limit, np.uint64(n - size + 1), groups, ZERO, found)


@inlined
def insert_bit(found: Array, parts: int, place: int, bit: Any) -> None:
    """Move all bits from `place` on up by one, and put a bit there. The steps are the same for every place."""
    own, shift = place >> 6, np.uint64(place & 63)
    carry = ZERO
    for part in range(parts):
        word = found[part]
        here = ZERO - flag(part == own)
        before = (ZERO - flag(part < own)) | (here & ((ONE << shift) - ONE))
        moved = (word << ONE | carry) & ~(here & (ONE << shift))
        found[part] = (word & before) | (moved & ~before) | (here & (bit << shift))
        carry = word >> LOW_SIX


@inlined
def symbol(words: Array, at: int, limit: int, size: int, threshold: Any, state: int, excess: Array) -> Any:
    """Return one of `size` categories, the true one with its threshold, and the next position.

    Another category is always drawn, and used only if needed.
    """
    contains = flag(words[at] < threshold)
    pick, at = below(words, at + 1, limit, np.uint64(size - 1), excess[size - 1])
    other = pick + flag(pick >= np.uint64(state))
    return np.int64(either(contains, np.uint64(state), other)), at


@inlined
def symbols_together(
    words: Array, count: int, others: Any, excess: Any, threshold: Any, states: Array, output: Array
) -> Any:
    """Write the symbols of neighbours, as `symbol` would from two words each, if no word is drawn again.

    Return whether that is so. The product with `others`, below 2^32, takes two of 32 bits.
    """
    wide()
    factor, again = others & LOWER, ZERO
    for p in range(count):
        word, state = words[2 * p + 1], np.uint64(states[p])
        low = (word & LOWER) * factor
        top = (word >> HALF) * factor + (low >> HALF)
        again |= mark((top << HALF | low & LOWER) < excess)
        pick = top >> HALF
        other = pick + mark(pick >= state)
        output[p] = np.int64(either(mark(words[2 * p] < threshold), state, other))
    return public(again) == ZERO


@inlined
def insert_into(found: Any, place: Any, bit: Any) -> Any:
    """Move all bits of a word from `place` on up by one, and put a bit there. Adding bits to themselves moves them."""
    return found + (found & (ALL << np.uint64(place))) + (bit << np.uint64(place))


@compiled
def subset(
    words: Array, at: int, limit: int, size: int, weight: int, threshold: Any, state: int, groups: Array, found: Array
) -> Any:
    """Write a set of `weight` of any number of categories as bits, and return the next position."""
    parts = (size + 63) >> 6
    for part in range(parts):
        found[part] = ZERO
    contains = flag(words[at] < threshold)
    at = add_members(words, at + 1, limit, np.uint64(size - weight), groups, contains, found)
    insert_bit(found, parts, state, contains)
    return at


@inlined
def unary_block(words: Array, at: int, digits: Array, count: int) -> Any:
    """Return 64 bits, each 1 if the binary fraction of its digits in `count` words is below that of `digits`.

    It starts at the last digit: a fraction is below if its digit is smaller, or equal and the rest is below. Each of
    `digits` is all ones or all zeros.
    """
    found = ZERO
    for step in range(count):
        digit, other = digits[step], ~words[at + count - 1 - step]
        found = (digit & other) | (found & (digit | other))
    return found


@inlined
def unary_blocks(words: Array, at: int, taken: int, digits: Array, count: int) -> Any:
    """Return the blocks of four people, who have `taken` words each.

    The digits are those of the plan, so there may be a branch on them. What is found is held inverted: then a digit
    takes one operation.
    """
    one, two = shifted(words, at), shifted(words, at + taken)
    three, four = shifted(words, at + 2 * taken), shifted(words, at + 3 * taken)
    a = b = c = d = ALL
    for step in range(count):
        place = count - 1 - step
        if digits[step] != ZERO:
            a &= one[place]
            b &= two[place]
            c &= three[place]
            d &= four[place]
        else:
            a |= one[place]
            b |= two[place]
            c |= three[place]
            d |= four[place]
    return ~a, ~b, ~c, ~d


# -- noise


@compiled
def additive(z: Array, u: float, words: Array, at: int, limit: int) -> Any:
    """Return the output of an additive channel, and the next position. The search for its run takes fixed steps."""
    steps, reach, digits, levels = np.int64(z[0]), np.int64(z[1]), np.int64(z[4]), np.int64(z[5])
    position = u * np.float64(steps)
    x = np.int64(position)
    x -= np.int64(flag(x == steps))
    x += np.int64(rounds_up(position - np.float64(x), words[at]))
    at += 1
    periods = ZERO
    for k in range(digits):
        periods |= flag(words[at + k] < z[6 + k]) << np.uint64(k)
    mass, at = below(words, at + digits, limit, z[2], z[3])
    ends = 6 + digits
    run = 0
    for level in range(levels - 1, -1, -1):  # the first run whose end exceeds the mass
        run += np.int64(flag(z[ends + run + (1 << level) - 1] <= mass)) << level
    row = ends + (1 << levels) - 1 + 4 * run  # the run's start, its weight, the inverse of that, the lengths before
    magnitude = periods * np.uint64(steps) + z[row + 3] + quotient(mass - z[row], z[row + 1], z[row + 2])
    negative = ZERO - flag(words[at] < TOP)
    output = x + reach + np.int64(magnitude ^ negative)  # -1 - magnitude, if it is negative
    return within(output, steps + 2 * reach - 1), at + 1


@inlined
def quotient(n: Any, divisor: Any, inverse: Any) -> Any:
    """Return floor(n / divisor), given floor(2^64 / divisor) (2^64 - 1 for 1). A division would take longer for some n.

    n * inverse / 2^64 is less than 1 below n / divisor, so its whole part is the quotient or 1 less.
    """
    found = high(n, inverse)
    return found + flag(n - found * divisor >= divisor)


@inlined
def within(value: int, last: int) -> Any:
    """Return an integer, or the nearer end of 0..last."""
    held = np.uint64(value) & (flag(value < 0) - ONE)
    return np.int64(either(flag(value > last), np.uint64(last), held))


# -- several numbers at once


@compiled
def sign_bits(
    columns: Array, lows: Array, spans: Array, count: int, row: int, words: Array, at: int, bits: Array
) -> Any:
    """Round `count` numbers to signs, and write them as bits, 1 for plus. Return the next position."""
    for first in range(0, count, 64):
        part = ZERO
        for j in range(first, min(first + 64, count)):
            part |= rounds_up(unit(columns, lows, spans, j, row), words[at + j]) << np.uint64(j - first)
        bits[first >> 6] = part
    return at + count


@inlined
def changed(words: Array, at: int, size: int) -> int:
    """Return how many of `size` signs a corner of the cube changes: the ones among the first `size` bits."""
    total = 0
    for part in range(size >> 6):
        total += ones(words[at + part])
    if size & 63:
        total += ones(words[at + (size >> 6)] << np.uint64(64 - (size & 63)))
    return total


@compiled
def signs(words: Array, at: int, limit: int, size: int, threshold: Any, bits: Array, found: Array) -> Any:
    """Write a corner of the cube, near `bits` with the threshold's probability; return the next position.

    The changed signs are drawn for a near corner and for another, and both sets stay in place among the words.
    """
    parts = (size + 63) >> 6
    near = ZERO - flag(words[at] < threshold)
    few = at + 1
    count = changed(words, few, size)
    while public(2 * count == size) and few <= limit:
        few += parts
        count = changed(words, few, size)
    turn = ZERO - flag(2 * count > size)
    many, turn_many = few, ~turn
    if size & 1 == 0:
        many, turn_many = few + parts, ZERO
        while public(2 * changed(words, many, size) < size) and many <= limit:
            many += parts
    for part in range(parts):
        found[part] = bits[part] ^ (((words[few + part] ^ turn) & near) | ((words[many + part] ^ turn_many) & ~near))
    found[parts - 1] &= ALL >> np.uint64(64 * parts - size)
    return many + parts


@compiled
def cube(z: Array, words: Array, at: int, limit: int, bits: Array, chosen: Array, found: Array) -> Any:
    """Write the signs of some dimensions, two bits each; return the next position. The corner is drawn by its rank.

    The dimensions are drawn without the record, and are in the report. So the loop may depend on them.
    """
    size, sample, needed = np.int64(z[0]), np.int64(z[1]), np.int64(z[2])
    at = subset_of(words, at, limit, size, sample, shifted(z, 8 + sample * (sample + 1)), chosen)
    near = flag(words[at] < z[3])
    other, at = below(words, at + 1, limit, z[4], z[6])
    rank, at = below(words, at, limit, z[5], z[7])
    rank = either(near, rank, other)
    for part in range((2 * size + 63) >> 6):
        found[part] = ZERO
    left = sample
    for part in range((size + 63) >> 6):
        remaining = chosen[part]
        while public(remaining != ZERO):
            j = lowest(remaining)
            remaining &= remaining - ONE
            left -= 1
            among_near = z[8 + left * (sample + 1) + needed]
            agreeing = either(near, among_near, (ONE << np.uint64(left)) - among_near)
            agrees = flag(rank < agreeing)
            needed -= np.int64(agrees & flag(needed > 0))
            rank -= agreeing & (agrees - ONE)
            plus = ((bits[part] >> np.uint64(j)) & ONE) ^ agrees ^ ONE
            found[2 * part + (j >> 5)] |= (ONE + plus) << np.uint64(2 * (j & 31))
    return at


@compiled
def corners(
    z: Array,
    columns: Array,
    lows: Array,
    spans: Array,
    row: int,
    words: Array,
    at: int,
    limit: int,
    excess: Array,
    sizes: Array,
    marks: Array,
) -> Any:
    """Return one of the corners of several numbers, and the next position.

    The m-th largest absolute value is found digit by digit. For integers below 2^63, (a - b) >> 63 is 1 if a < b.
    """
    count, half = np.int64(z[0]), 0.5
    for j in range(count):
        u = unit(columns, lows, spans, j, row)
        sizes[j] = np.uint64(np.int64(greater(u - half, half - u) * 2147483648.0))
        marks[j] = rounds_up(u, words[at]) << ONE
    cut = ZERO
    for digit in range(30, -1, -1):
        trial = cut | ONE << np.uint64(digit)
        reached = ZERO
        for j in range(count):
            reached += (trial - ONE - sizes[j]) >> LAST
        cut = either(flag(reached >= z[1]), trial, cut)
    spare = z[1]
    for j in range(count):
        spare -= (cut - sizes[j]) >> LAST
    for j in range(count):
        equal = flag(sizes[j] == cut) & flag(spare != ZERO)
        marks[j] |= flag(sizes[j] > cut) | equal
        spare -= equal
    near = flag(words[at + 1] < z[2])
    others = 2 * count - np.int64(z[1])
    other, at = below(words, at + 2, limit, np.uint64(others), excess[others])
    rank, at = below(words, at, limit, z[1], excess[np.int64(z[1])])
    rank = either(near, rank, other)
    found = ZERO
    for corner in range(2 * count):
        mark = marks[corner >> 1]
        own = mark & ((mark >> ONE) ^ np.uint64(~corner & 1))
        fits = (own ^ near ^ ONE) & ONE
        found |= np.uint64(corner) & (ZERO - (fits & flag(rank == ZERO)))
        rank -= fits  # behind the one that is taken it is too large to become 0 again
    return np.int64(found), at


@compiled
def cell_of(z: Array, columns: Array, lows: Array, spans: Array, row: int, words: Array, at: int, count: int) -> Any:
    """Return the cell of several attributes, after rounding numbers to signs, and the next position."""
    cell = 0
    for j in range(count):
        size = np.int64(z[3 + j])
        if size:
            cell = cell * size + np.int64(shorts_at(columns[j])[row])
        else:
            cell = cell * 2 + np.int64(rounds_up(unit(columns, lows, spans, j, row), words[at]))
            at += 1
    return cell, at
