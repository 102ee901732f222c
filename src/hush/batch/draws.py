"""The draws of every channel, compiled: `spec/wire.md`, From words to a report, in the same order of words.

Words are read from an array at a position that every draw moves on. The array has room behind its `limit` for
whatever one person takes, except for words that are rejected and drawn again; loops over those stop at the limit. So
nothing reads past the array, and a person whose position ends up behind the limit is drawn again with more words,
from the beginning.

Words are unsigned throughout, because a product with a signed integer would become a float in Numba. `z` and `f` are
the integers and floats of a channel in `hush.batch.program`. All arrays are pointers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.native import compiled, flag, floats_at, high, inlined, lowest, ones, shorts_at

Array = np.ndarray[Any, Any]

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
TOP = np.uint64(1 << 63)
SIX = np.uint64(6)
LOW_SIX = np.uint64(63)
ELEVEN = np.uint64(11)
UNASKED = 10  # steps of a unary block; each further one is needed once in 2^10 / size times
UNIT = 9007199254740992.0  # 2^53


@inlined
def rounds_up(fraction: float, word: Any) -> Any:
    """Return 1 if a word rounds an input up that is this far on its way, else 0. Not a private step."""
    return flag(np.float64(word >> ELEVEN) < fraction * UNIT)


@inlined
def below(words: Array, at: int, limit: int, n: Any, excess: Any) -> Any:
    """Return a uniform integer below n, and the next position. Lemire: words in the excess are drawn again."""
    word = words[at]
    at += 1
    while word * n < excess and at <= limit:
        word = words[at]
        at += 1
    return high(word, n), at


@inlined
def unit(columns: Array, lows: Array, spans: Array, column: int, row: int) -> Any:
    """Return a number of a column on the scale [0, 1]. The column was checked before."""
    return clamped((floats_at(columns[column])[row] - lows[column]) / spans[column])


@inlined
def unit_or_missing(columns: Array, lows: Array, spans: Array, row: int) -> Any:
    """Return a number of the first column on the scale [0, 1], or NaN if it is missing."""
    value = floats_at(columns[0])[row]
    return clamped((value - lows[0]) / spans[0]) if value == value else value


@inlined
def clamped(u: float) -> float:
    """Return u, or the nearer end of [0, 1]; 0 for NaN.

    Columns were checked, but others may write to memory that is shared with them. Whatever the float, what comes out is
    in range: neither privacy nor any index rests on the check. (Categories are in memory of our own.)
    """
    if not u > 0.0:
        return 0.0
    return 1.0 if u > 1.0 else u


# -- categories


@compiled
def subset_of(words: Array, at: int, limit: int, n: int, size: int, excess: Array, found: Array) -> Any:
    """Write a uniform subset of 0..n-1 of this size as bits, and return the next position (Floyd's algorithm)."""
    for part in range((n + 63) >> 6):
        found[part] = ZERO
    if size == n:
        for member in range(n):
            found[member >> 6] |= ONE << np.uint64(member & 63)
        return at
    for top in range(n - size, n):
        pick, at = below(words, at, limit, np.uint64(top + 1), excess[top + 1])
        if (found[np.int64(pick >> SIX)] >> (pick & LOW_SIX)) & ONE:
            pick = np.uint64(top)
        found[np.int64(pick >> SIX)] |= ONE << (pick & LOW_SIX)
    return at


@compiled
def insert_bit(found: Array, n: int, place: int, bit: Any) -> None:
    """Move all bits from `place` on up by one, and put a bit there. There are n bits before, n + 1 after."""
    last = n >> 6
    part, shift = place >> 6, np.uint64(place & 63)
    if n & 63 == 0:
        found[last] = ZERO
    for i in range(last, part, -1):
        found[i] = found[i] << ONE | found[i - 1] >> LOW_SIX
    below_it = (ONE << shift) - ONE
    word = found[part]
    found[part] = (word & below_it) | (word & ~below_it) << ONE | bit << shift


@inlined
def symbol(words: Array, at: int, limit: int, size: int, threshold: Any, state: int, excess: Array) -> Any:
    """Return one of `size` categories, the true one with its threshold, and the next position.

    The word for another category is read in any case, and counts only if it is needed.
    """
    contains = flag(words[at] < threshold)
    if size == 2:
        return np.int64(np.uint64(state) ^ (contains ^ ONE)), at + 1
    n = np.uint64(size - 1)
    word = words[at + 1]
    at += 2 - np.int64(contains)
    if word * n < excess[size - 1] and not contains:
        pick, at = below(words, at, limit, n, excess[size - 1])
    else:
        pick = high(word, n)
    other = pick + flag(pick >= np.uint64(state))
    return np.int64(other ^ ((other ^ np.uint64(state)) & (ZERO - contains))), at


@inlined
def small_subset(
    words: Array, at: int, limit: int, size: int, weight: int, threshold: Any, state: int, excess: Array
) -> Any:
    """Return a set of `weight` of at most 64 categories as the bits of a word, and the next position.

    Floyd's algorithm for the other members: with the true category it has one step less, the first one.
    """
    contains = flag(words[at] < threshold)
    at += 1
    n = size - 1
    found = ZERO
    if weight == n and not contains:
        found = (ONE << np.uint64(n)) - ONE
    else:
        top = n - weight + np.int64(contains)
        for step in range(weight - np.int64(contains)):
            pick, at = below(words, at, limit, np.uint64(top + step + 1), excess[top + step + 1])
            bit = ONE << pick
            taken = ZERO - flag(found & bit != ZERO)
            found |= bit ^ ((bit ^ (ONE << np.uint64(top + step))) & taken)
    below_it = (ONE << np.uint64(state)) - ONE
    return (found & below_it) | (found & ~below_it) << ONE | contains << np.uint64(state), at


@compiled
def subset(
    words: Array, at: int, limit: int, size: int, weight: int, threshold: Any, state: int, excess: Array, found: Array
) -> Any:
    """Write a set of `weight` of any number of categories as bits, and return the next position."""
    contains = words[at] < threshold
    at = subset_of(words, at + 1, limit, size - 1, weight - np.int64(contains), excess, found)
    insert_bit(found, size - 1, state, np.uint64(contains))
    return at


@inlined
def unary_block(words: Array, at: int, size: int, digits: Any) -> Any:
    """Return `size` bits, each 1 with probability digits/2^64, and the next position.

    Every bit compares a uniform binary fraction, made of one bit of each word, with the digits: it is decided at the
    first digit where they differ. Half of the open bits are decided by each word, so 64 bits take about 7 words. The
    first steps are done in any case, and their words count only while a bit is open: that is cheaper than asking each
    time.
    """
    found = ZERO
    undecided = ALL >> np.uint64(64 - size)
    used = ZERO
    for step in range(UNASKED):
        used += flag((undecided != ZERO) & (digits != ZERO))
        digit = ZERO - (digits >> LOW_SIX)  # all ones, or all zeros
        found |= undecided & ~words[at + step] & digit
        undecided &= ~(words[at + step] ^ digit)
        digits <<= ONE
    at += np.int64(used)
    while undecided != ZERO and digits != ZERO:
        digit = ZERO - (digits >> LOW_SIX)
        found |= undecided & ~words[at] & digit
        undecided &= ~(words[at] ^ digit)
        digits <<= ONE
        at += 1
    return found, at


# -- noise


@compiled
def additive(z: Array, u: float, words: Array, at: int, limit: int) -> Any:
    """Return the output of an additive channel, and the next position."""
    steps, reach, decay, runs = np.int64(z[0]), np.int64(z[1]), z[2], np.int64(z[5])
    position = u * np.float64(steps)
    x = min(np.int64(position), steps - 1)
    x += np.int64(rounds_up(position - np.float64(x), words[at]))
    at += 1
    while True:
        size = 0
        while size <= reach + steps and at <= limit:
            at += 1
            if words[at - 1] >= decay:
                break
            size += steps
        mass, at = below(words, at, limit, z[3], z[4])
        first, last = 0, runs - 1  # the first run whose end exceeds the mass
        while first < last:
            middle = (first + last) >> 1
            if z[6 + 3 * middle] > mass:
                last = middle
            else:
                first = middle + 1
        run = 6 + 3 * first
        start = z[run - 3] if first else ZERO
        size += np.int64(z[run + 2]) + np.int64((mass - start) // z[run + 1])
        negative = words[at] < TOP
        at += 1
        if size or not negative or at > limit:
            output = x + reach + (-size if negative else size)
            return min(max(output, 0), steps + 2 * reach), at


# -- several numbers at once


@compiled
def sign_bits(
    columns: Array, lows: Array, spans: Array, count: int, row: int, words: Array, at: int, bits: Array
) -> Any:
    """Round `count` numbers to signs, plus as a one, into bits; return the next position."""
    for part in range((count + 63) >> 6):
        bits[part] = ZERO
    for j in range(count):
        if rounds_up(unit(columns, lows, spans, j, row), words[at + j]):
            bits[j >> 6] |= ONE << np.uint64(j & 63)
    return at + count


@compiled
def signs(words: Array, at: int, limit: int, size: int, threshold: Any, bits: Array, found: Array) -> Any:
    """Write a corner of the cube, near `bits` with the threshold's probability; return the next position."""
    near = words[at] < threshold
    at += 1
    parts = (size + 63) >> 6
    spare = ALL >> np.uint64(64 * parts - size)
    while True:
        differing = 0
        for part in range(parts):
            found[part] = words[at + part] & (spare if part == parts - 1 else ALL)
            differing += ones(found[part] ^ bits[part])
        at += parts
        if (2 * differing < size) == near or at > limit:
            return at


@compiled
def cube(z: Array, words: Array, at: int, limit: int, excess: Array, bits: Array, chosen: Array, found: Array) -> Any:
    """Write the signs of some dimensions, two bits each; return the next position. The corner is drawn by its rank."""
    size, sample, needed = np.int64(z[0]), np.int64(z[1]), np.int64(z[2])
    at = subset_of(words, at, limit, size, sample, excess, chosen)
    near = np.int64(words[at] < z[3])
    rank, at = below(words, at + 1, limit, z[4 + near], z[6 + near])
    for part in range((2 * size + 63) >> 6):
        found[part] = ZERO
    left = sample
    for part in range((size + 63) >> 6):
        remaining = chosen[part]
        while remaining:
            j = 64 * part + lowest(remaining)
            remaining &= remaining - ONE
            left -= 1
            agreeing = z[8 + left * (sample + 1) + max(needed - 1, 0)]
            if not near:
                agreeing = (ONE << np.uint64(left)) - agreeing
            plus = (bits[part] >> np.uint64(j & 63)) & ONE
            if rank < agreeing:
                needed -= 1
            else:
                rank -= agreeing
                plus ^= ONE
            found[j >> 5] |= (ONE + plus) << np.uint64(2 * (j & 31))
    return at


@compiled
def cell_of(z: Array, columns: Array, lows: Array, spans: Array, row: int, words: Array, at: int, count: int) -> Any:
    """Return the cell of several attributes, after rounding numbers to signs, and the next position."""
    cell = 0
    for j in range(count):
        size = np.int64(z[2 + j])
        if size:
            cell = cell * size + np.int64(shorts_at(columns[j])[row])
        else:
            cell = cell * 2 + np.int64(rounds_up(unit(columns, lows, spans, j, row), words[at]))
            at += 1
    return cell, at
