"""The kernel of geometry channels: a point for each person, in equally many steps for everybody.

Numbers stay below 2^34, so that a quotient is a product with a reciprocal: (n + 1/2)/d is at least 1/(2d) away from
every whole number, and the error of the product is far less. Divisions of integers could take longer for some numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, ZERO, Array, below, either
from hush.batch.native import compiled, flag, inlined, ints_at, pointer, shifted, shorts_at

HEAD = 9  # integers before the tables
MAX_SHORT = (1 << 15) - 1  # the last category of a column of int16


@inlined
def divided(number: Any, reciprocal: Any) -> Any:
    """Return the whole quotient of a number, by the reciprocal of the divisor."""
    return np.uint64(np.int64((np.float64(np.int64(number)) + 0.5) * reciprocal))


@compiled
def point(z: Array, f: Array, state: Any, words: Array, at: int, limit: int, digits: Array) -> Any:
    """Return a point for a category, and the next position."""
    threshold, inside, outside, q, t = z[0], z[1], z[3], z[5], np.int64(z[6])
    prime, bits = z[7] == ONE, z[7] >> ONE
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
    if bits:  # q is a power of 2, and a sum is an exclusive or
        for i in range(t):
            digit = (number >> (bits * np.uint64(i))) & (q - ONE)
            other = (value >> (bits * np.uint64(t - 1 - i))) & (q - ONE)
            digits[i] = digit
            left ^= products[np.int64(digit << bits | other)]
    else:
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
    while done < len(people):
        start = at
        state = np.int64(broad[people[done]]) if wide else np.int64(narrow[people[done]])
        value, at = point(integers, floats, np.uint64(state), stream, at, limit, digits)
        if at > limit:
            return done, start
        output[places[done]] = value
        done += 1
    return done, at
