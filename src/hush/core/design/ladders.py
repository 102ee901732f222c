"""The ladder of a wide number: its knots, and the width of its windows.

Knots halve from the far end of the range towards the origin, down to about `unit`, the size of numbers that need not be
told apart: 15 times by default. From epsilon 2 on they are twice as dense, which makes quantiles finer at little cost.
The width of a window is a share of the knots that falls with epsilon, as found by a search (docs/wide.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from hush.core.channels.ladder import Ladder
from hush.core.channels.window import ROUNDING
from hush.core.exact import aligned_threshold, exp_bounds
from hush.core.schema import Numeric
from hush.errors import DesignError

OCTAVES = 15
"""How often the range is halved, if no unit is given."""

MOST = 40
_SCALE = 1 << 40  # the last knot
_DENSE = 2.0  # from this epsilon on there are two knots in an octave
_WIDTHS = ((0.5, 0.42), (1.0, 0.35), (2.0, 0.24), (4.0, 0.15))  # of a window, as a share of the knots


def ladder(epsilon: Fraction, number: Numeric) -> Ladder:
    """Return the ladder of a number."""
    return _ladder(epsilon, number.low, number.high, number.unit, number.optional)


@lru_cache(maxsize=256)
def _ladder(epsilon: Fraction, low: float, high: float, unit: float | None, optional: bool) -> Ladder:
    per_octave = 2 if epsilon >= _DENSE else 1
    origin = min(max(0.0, low), high)
    places = {0.0, 1.0, (origin - low) / (high - low)}
    for end in (low, high):
        reach = abs(end - origin)
        if not reach:
            continue
        octaves = OCTAVES if unit is None else math.ceil(math.log2(max(reach / unit, 2.0)))
        if octaves > MOST:
            raise DesignError(f"a ladder has at most {MOST} octaves: choose a larger unit")
        for step in range(octaves * per_octave + 1):
            place = origin + (end - origin) * 2.0 ** (-step / per_octave)
            places.add((place - low) / (high - low))
    knots = tuple(sorted({round(place * _SCALE) for place in places}))
    width = _width(float(epsilon), len(knots), optional)
    outside = len(knots) + width - 1 if optional else len(knots) - 1
    return Ladder(knots, width, aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING), optional)


def _width(epsilon: float, states: int, optional: bool) -> int:
    """Return the width of a window, near the share that is best, for which an aligned threshold exists."""
    share = _WIDTHS[-1][1]
    for (left, a), (right, b) in pairwise(_WIDTHS):
        if epsilon <= right:
            share = a + (b - a) * max(epsilon - left, 0.0) / (right - left)
            break
    ideal = max(2.0, states * share)

    def fits(width: int) -> bool:
        common = math.gcd(width, states + width - 1 if optional else states - 1)
        return 1 <= width < states and common & (common - 1) == 0

    return min((width for width in range(1, states) if fits(width)), key=lambda width: abs(width - ideal))
