"""Contrasts: what a crowd that reports through the same channel must hide.

Two people's laws R_x and R_z are compared with a measure w of outputs. A *contrast* lists the values of the pair
(R_x/w, R_z/w), each with the measure of the outputs that have it: no more is needed to say what a shuffled batch of
reports reveals about which of the two people is in it (`hush.planning.shuffle`).

**Blanket.** w(y) is the least probability of y under any state, so every person reports from w with probability |w|.

**Order.** A contrast *covers* another one with the same |w| if it is the other one with its pairs spread: each pair
replaced at random, its mean kept. For every e the value R_x/w - e R_z/w is then spread too, so expectations of convex
functions of sums of such values only grow. Two spreads are enough:

- A pair in [1, r] x [1, r] is spread to the four corners, each coordinate by itself.
- As much of (r, r) as of (1, 1) becomes (r, 1) and (1, r). The values are r - re and 1 - e before, r - e and 1 - re
  after. Their sum is the same and the larger one is larger, so this is a spread as well. It stays one if other answers
  of the same report multiply the two coordinates by numbers of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

Output = TypeVar("Output")
Contrast = tuple[tuple[Fraction, Fraction, Fraction], ...]
"""Measures w of outputs, with their values R_x/w and R_z/w."""

_ONE = Fraction(1)


def merged(parts: Iterable[tuple[Fraction, Fraction, Fraction]]) -> Contrast:
    """Return a contrast with each pair of values once, and without outputs of measure 0."""
    found: dict[tuple[Fraction, Fraction], Fraction] = {}
    for weight, a, b in parts:
        if weight:
            found[a, b] = found.get((a, b), Fraction(0)) + weight
    return tuple((weight, a, b) for (a, b), weight in found.items())


def widest(ratio: Fraction, total: Fraction) -> Contrast:
    """Return a contrast that covers those of all pairs, for any channel with this ratio and this |w|.

    R_x/w lies in [1, ratio] and so does R_z/w: spread both to the corners. As R_x adds up to 1, the measure H of the
    outputs where its corner is `ratio` has |w| + (ratio - 1)H = 1; likewise for R_z. Then separate as many as possible.
    """
    high = (1 - total) / (ratio - 1)
    both = max(2 * high - total, Fraction(0))
    apart = high - both
    return merged(
        [
            (apart, ratio, _ONE),
            (apart, _ONE, ratio),
            (both, ratio, ratio),
            (total - 2 * apart - both, _ONE, _ONE),
        ]
    )


def compared(x: Mapping[Output, Fraction], z: Mapping[Output, Fraction], others: Mapping[Output, Fraction]) -> Contrast:
    """Return the contrast of two laws with the law of the others, or with any measure of the outputs."""
    return merged((w, x[y] / w, z[y] / w) for y, w in others.items() if w)
