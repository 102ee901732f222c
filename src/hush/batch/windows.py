"""The draws of windows and mixtures, compiled, in floats that hold whole numbers. `hush.batch.draws` has the others.

Every result provably equals that of integers (`docs/decisions/0010-dealing-words.md`), and one instruction draws
several people. `f` and `guide` are the floats and integers of a channel in `hush.batch.program`. All arrays are
pointers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.batch.draws import ONE, TWO, ZERO, Array
from hush.batch.native import blend, flag, inlined, lesser, public
from hush.batch.program import KNOTS, ROW
from hush.core.channels import window as window_channel

ROUNDING = float(window_channel.ROUNDING)
ROUNDING_BITS = np.uint64(window_channel.ROUNDING.bit_length() - 1)
ROUNDING_MASK = np.uint64(window_channel.ROUNDING - 1)


@inlined
def upper(word: Any) -> float:
    """Return the 40 bits of a word that draw a cell, as an exact float."""
    return np.float64(np.int64(word >> ROUNDING_BITS))


@inlined
def lower(word: Any) -> float:
    """Return the 24 bits of a word that round, as an exact float."""
    return np.float64(np.int64(word & ROUNDING_MASK))


@inlined
def rounded(s: float, fraction: float, word: Any) -> Any:
    """Return the state s or the next one; the lower bits of a word decide."""
    return s + blend(lower(word) + 0.5 < fraction * ROUNDING, 1.0, 0.0)


@inlined
def even_state(u: float, last: float) -> Any:
    """Return the evenly spaced state below an input, and the input's position between it and the next (0 to 1)."""
    position = u * last
    s = lesser(np.floor(position), last - 1.0)
    return s, position - s


@inlined
def knot_state(u: float, f: Array, guide: Array) -> Any:
    """Return the state below an input by its knots, and the input's position between it and the next (0 to 1)."""
    s = guide[np.int64(u * f[6])]
    for _ in range(np.int64(f[7])):
        s += flag(f[KNOTS + TWO * s + TWO] <= u)
    return np.float64(np.int64(s)), (u - f[KNOTS + TWO * s]) * f[KNOTS + TWO * s + ONE]


@inlined
def binned_state(u: float, bins: float, table: Array) -> Any:
    """Return the same as `knot_state`, from a table with a row for each bin."""
    row = ROW * np.int64(u * bins)
    cut = table[row]
    behind = u >= cut
    at = row + 1 + 3 * np.int64(flag(behind))
    return table[at], (u - table[at + 1]) * table[at + 2]


@inlined
def window_parts(s: float, word: Any, width: float, threshold: float, to_inside: float, to_outside: float) -> Any:
    """Return a quotient and a whole number, for the window that starts at s: the cell is the sum of their whole parts.

    The upper bits of a word decide inside or outside, and the cell. The quotient by a step is taken in floats, and its
    whole part is exact: x + 1/2 is at least half a step's inverse away from any multiple of the step, and rounding
    moves the product by less than 2^-12 of that, because x is below 2^40. The sum of both could reach the next whole
    number, so take the whole part first.
    """
    x = upper(word)
    inside = x < threshold
    rest = x - blend(inside, 0.0, threshold)
    quotient = (rest + 0.5) * blend(inside, to_inside, to_outside)
    behind = blend(quotient >= s, width, 0.0)  # outside, cells at or behind the window's start lie behind its end
    return quotient, blend(inside, s, behind)


@inlined
def window_cell(s: float, word: Any, width: float, threshold: float, to_inside: float, to_outside: float) -> Any:
    """Return a cell for the window that starts at s, as a float."""
    quotient, whole = window_parts(s, word, width, threshold, to_inside, to_outside)
    return np.floor(quotient) + whole


@inlined
def part_of(z: Array, word: Any) -> Any:
    """Return where a mixture describes the part that a word chooses. The report shows the part."""
    index = ZERO
    for j in range(np.int64(z[0]) - 1):
        index += flag(word >= z[1 + 4 * j])
    return 1 + 4 * np.int64(public(index))
