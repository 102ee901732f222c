"""The draws of windows and mixtures, compiled, as `hush.batch.draws` has the others: in floats that hold whole numbers.

Every result is provably the one of integers (`docs/decisions/0010-dealing-words.md`), and several people are drawn by
one instruction. `f` and `guide` are the floats and integers of a channel in `hush.batch.program`. All arrays are
pointers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, TWO, ZERO, Array
from hush.batch.native import blend, flag, inlined, lesser, public
from hush.batch.program import KNOTS
from hush.core.channels import window as window_channel

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
    return s + blend(lower(word) + 0.5 < fraction * ROUNDING, 1.0, 0.0)


@inlined
def even_state(u: float, last: float) -> Any:
    """Return the state below an input where states are evenly spaced, and how far it is on the way to the next."""
    position = u * last
    s = lesser(np.floor(position), last - 1.0)
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
    rest = x - blend(inside, 0.0, threshold)
    cell = np.floor((rest + 0.5) * blend(inside, to_inside, to_outside))
    behind = blend(cell >= s, width, 0.0)  # outside, cells at or behind the window's start lie behind its end
    return cell + blend(inside, s, behind)


@inlined
def part_of(z: Array, word: Any) -> Any:
    """Return where a mixture describes the part that a word chooses: which one is in the report."""
    index = ZERO
    for j in range(np.int64(z[0]) - 1):
        index += flag(word >= z[1 + 4 * j])
    return 1 + 4 * np.int64(public(index))
