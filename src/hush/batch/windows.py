"""The draws of windows and mixtures, compiled, as `hush.batch.draws` has the others: in floats that hold whole numbers.

Every result is provably the one of integers (`docs/decisions/0010-dealing-words.md`), and several people are drawn by
one instruction. `f` and `guide` are the floats and integers of a channel in `hush.batch.program`. All arrays are
pointers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, TWO, Array, clamped
from hush.batch.native import flag, inlined, shifted
from hush.batch.program import KNOTS
from hush.channels import window as window_channel

ROUNDING = float(window_channel.ROUNDING)
ROUNDING_BITS = np.uint64(window_channel.ROUNDING.bit_length() - 1)
ROUNDING_MASK = np.uint64(window_channel.ROUNDING - 1)


@inlined
def upper(word: Any) -> float:
    """Return the 40 bits of a word that draw a cell, as a float: exactly."""
    return np.float64(np.int64(word >> ROUNDING_BITS))


@inlined
def lower(word: Any) -> float:
    """Return the 24 bits of a word that round, as a float: exactly."""
    return np.float64(np.int64(word & ROUNDING_MASK))


@inlined
def rounded(s: float, fraction: float, word: Any) -> Any:
    """Return the state s, or the next one, by the lower bits of a word."""
    return s + 1.0 if lower(word) + 0.5 < fraction * ROUNDING else s


@inlined
def even_state(u: float, last: float) -> Any:
    """Return the state below an input where states are evenly spaced, and how far it is on the way to the next."""
    position = u * last
    s = min(np.floor(position), last - 1.0)
    return s, position - s


@inlined
def knot_state(u: float, f: Array, guide: Array) -> Any:
    """Return the state below an input by its knots, and how far the input is on the way to the next."""
    s = guide[np.int64(u * f[6])]
    for _ in range(np.int64(f[7])):
        s += flag(f[KNOTS + TWO * s + TWO] <= u)
    return np.float64(np.int64(s)), (u - f[KNOTS + TWO * s]) * f[KNOTS + TWO * s + ONE]


@inlined
def window_cell(s: float, word: Any, width: float, threshold: float, to_inside: float, to_outside: float) -> Any:
    """Return a cell for the window that starts at s: the upper bits of a word say whether it is inside, and which one.

    The quotient by a step is taken in floats, and is exact: x + 1/2 is at least half a step's inverse away from any
    multiple of the step, and rounding moves the product by less than 2^-12 of that, as x is below 2^40.
    """
    x = upper(word)
    inside = x < threshold
    rest = x if inside else x - threshold
    cell = np.floor((rest + 0.5) * (to_inside if inside else to_outside))
    behind = cell + width if cell >= s else cell  # outside, cells at or behind the window's start lie behind its end
    return s + cell if inside else behind


@inlined
def window(f: Array, guide: Array, u: float, word: Any) -> Any:
    """Return the output of any window channel for an input, NaN if it is missing."""
    if u != u and f[8]:
        x = upper(word)
        inside = x < f[2]
        return np.int64(f[0] if inside else np.floor((x - f[2] + 0.5) * f[4]))
    even = f[6] == 0.0  # no guide
    s, fraction = even_state(clamped(u), f[5]) if even else knot_state(clamped(u), f, guide)
    cell = window_cell(rounded(s, fraction, word), word, f[1], f[2], f[3], f[4])
    return np.int64(min(cell, f[0]))  # the cells of "missing" are one output


@inlined
def mixture(z: Array, f: Array, u: float, words: Array, at: int) -> Any:
    """Return the output of a mixture and the next position: a word for the part, one to round and to draw."""
    head = 1
    for _ in range(np.int64(z[0]) - 1):
        if words[at] < z[head]:
            break
        head += 4
    guide, floats = shifted(z, np.int64(z[head + 2])), shifted(f, np.int64(z[head + 3]))
    return np.int64(z[head + 1]) + window(floats, guide, u, words[at + 1]), at + 2
