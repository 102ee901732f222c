"""The kernel of geometry channels: a point for each person, in equally many steps for everybody.

**q = 2^k** (`packed_point`). The digits of a point are the bits of its number, k each, and a sum is an exclusive or.
Products are linear in each factor: that of two digits is the sum of e_i*e_j over their bits i and j that are 1, where
e_i is the digit 2^i. So the sum of the products of all digits of two points takes k^2 parities, of the bits i of one
and j of the other, and to multiply all digits by one takes k products. No step goes from digit to digit.

**Any other q** (`point`). Numbers stay below 2^34, so that a quotient is a product with a reciprocal: (n + 1/2)/d is at
least 1/(2d) away from every whole number, and the error of the product is far less. Divisions of integers could take
longer for some numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, TWO, ZERO, Array, below, either
from hush.batch.native import (
    backwards,
    compiled,
    flag,
    highest,
    inlined,
    ints_at,
    ones,
    pointer,
    shifted,
    shorts_at,
)

HEAD = 9  # integers before the tables
MAX_SHORT = (1 << 15) - 1  # the last category of a column of int16
SIXTEEN = np.uint64(16)
TURNED = np.uint64(64)


@inlined
def divided(number: Any, reciprocal: Any) -> Any:
    """Return the whole quotient of a number, by the reciprocal of the divisor."""
    return np.uint64(np.int64((np.float64(np.int64(number)) + 0.5) * reciprocal))


@inlined
def written(number: Any, q: Any, places: Any, bits: Any, powers: Array, firsts: Array) -> Any:
    """Return the bits of all digits of a point, and how many bits are below its highest digit. q is 2^bits.

    The first point whose highest digit is m has the number (q^m - 1)/(q - 1). So m is the number of whole digits below
    the highest bit of number*(q - 1) + 1. `places` is 2^16 / bits, rounded up, for a quotient of numbers below 64.
    """
    place = (highest(number * (q - ONE) + ONE) * places) >> SIXTEEN
    return number + powers[np.int64(place)] - firsts[np.int64(place)], place * bits


@inlined
def packed_point(z: Array, bits: Any, state: Any, words: Array, at: int, limit: int, places: Any, low: Any) -> Any:
    """Return a point for a category, and the next position. q is 2^bits; `low` has the lowest bit of each digit.

    All positions are those of bits.
    """
    q, t = ONE << bits, z[6]
    powers, firsts = shifted(z, HEAD), shifted(z, HEAD + np.int64(t) + 1)
    products = shifted(z, HEAD + 2 * np.int64(t) + 1 + np.int64(q))
    meets = flag(words[at] < z[0])
    near, at = below(words, at + 1, limit, z[1], z[2])
    far, at = below(words, at, limit, z[3], z[4])
    free, _ = written(near, q, places, bits, powers, firsts)
    number = either(meets, free, far)
    value, place = written(state, q, places, bits, powers, firsts)
    solved = (t - ONE) * bits - place
    below_it = (ONE << solved) - ONE
    number = (number & ~below_it) << bits | (number & below_it)
    turned = backwards(value) >> (TURNED - t * bits)  # the digits in reverse order, and the bits of each digit too
    left = ONE - meets
    for i in range(bits):
        for j in range(bits):
            both = (number >> i) & (turned >> (bits - ONE - j)) & low
            left ^= (ZERO - (np.uint64(ones(both)) & ONE)) & products[np.int64((ONE << i) * q + (ONE << j))]
    number |= left << solved
    top = (highest(number) * places) >> SIXTEEN
    lead = (number >> (top * bits)) & (q - ONE)
    row, found = inverse_of(z, lead) * q, ZERO
    for i in range(bits):
        found ^= ((number >> i) & low) * products[np.int64(row + (ONE << i))]
    return np.int64(found - powers[np.int64(top)] + firsts[np.int64(top)]), at


@inlined
def inverse_of(z: Array, digit: Any) -> Any:
    """Return the inverse of a digit."""
    return z[HEAD + 2 * np.int64(z[6]) + 1 + np.int64(digit)]


@compiled
def point(z: Array, f: Array, state: Any, words: Array, at: int, limit: int, digits: Array) -> Any:
    """Return a point for a category, and the next position. q is no power of 2, or it is 2."""
    threshold, inside, outside, q, t = z[0], z[1], z[3], z[5], np.int64(z[6])
    prime = z[7] == ONE
    powers = shifted(z, HEAD)
    firsts = shifted(z, HEAD + t + 1)
    inverses = shifted(z, HEAD + 2 * t + 1)
    products = shifted(inverses, np.int64(q))
    differences = shifted(products, np.int64(q * q))
    meets = flag(words[at] < threshold)
    near, at = below(words, at + 1, limit, inside, z[2])
    far, at = below(words, at, limit, outside, z[4])
    highest, lower = ZERO, ZERO
    for i in range(1, t):
        highest += flag(state >= firsts[i])
        lower += flag(near >= firsts[i]) & flag(i < t - 1)
    low_place, place = np.int64(lower), np.int64(highest)
    number = either(meets, near + powers[low_place] - firsts[low_place], far)
    value = state + powers[place] - firsts[place]
    solved = t - 1 - place
    upper = divided(number, f[solved])
    number = upper * powers[solved + 1] + number - upper * powers[solved]
    total, left = ZERO, ONE - meets
    for i in range(t):
        rest = divided(number, f[1])
        digit = number - rest * q
        number = rest
        other = divided(value, f[t - 1 - i])
        value -= other * powers[t - 1 - i]
        digits[i] = digit
        if prime:
            total += digit * other
        else:
            left = differences[np.int64(left * q + products[np.int64(digit * q + other)])]
    if prime:
        left += np.uint64(t) * q * q - total
        left -= divided(left, f[1]) * q
    digits[solved] = left
    top, lead = ZERO, ZERO
    for i in range(t):
        here = flag(digits[i] != ZERO)
        top, lead = either(here, np.uint64(i), top), either(here, digits[i], lead)
    inverse, found = inverses[np.int64(lead)], ZERO
    if prime:
        for i in range(t):
            digit = inverse * digits[i]
            found += (digit - divided(digit, f[1]) * q) * powers[i]
    else:
        for i in range(t):
            found += products[np.int64(inverse * q + digits[i])] * powers[i]
    return np.int64(found - powers[np.int64(top)] + firsts[np.int64(top)]), at


@compiled
def geometry_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Points for categories. Those of long lists are in columns of int32."""
    people, places, output, wide = job.people, job.places, job.output, job.integers[8]
    stream, integers, floats, digits = pointer(words), pointer(job.integers), pointer(job.floats), pointer(job.scratch)
    narrow, broad = shorts_at(job.columns[0]), ints_at(job.columns[0])
    bits, count, low, reciprocal = integers[7] >> ONE, np.int64(integers[6]), ZERO, ZERO
    if bits:
        reciprocal = (ONE << SIXTEEN) // bits + ONE
        for i in range(count):
            low |= ONE << (bits * np.uint64(i))
    while done < len(people):
        start = at
        state = np.uint64(np.int64(broad[people[done]]) if wide else np.int64(narrow[people[done]]))
        if bits == TWO:  # the most frequent order: with a known number, the compiler leaves no loops
            value, at = packed_point(integers, TWO, state, stream, at, limit, reciprocal, low)
        elif bits:
            value, at = packed_point(integers, bits, state, stream, at, limit, reciprocal, low)
        else:
            value, at = point(integers, floats, state, stream, at, limit, digits)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at
