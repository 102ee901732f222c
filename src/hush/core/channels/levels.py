"""A row of cells with integer levels, and the windows of neighbouring cells that stand for a number.

A window of W of the N cells may start at s = 0..N-W. Levels are antisymmetric (a_y = -a_{N-1-y}) and nondecreasing, and
A(s), the sum of the levels in the window, increases with s. The start s stands for the number mu_s = A(s)/A(N-W), a
quotient of small integers: mu_0 = -1, mu_{N-W} = 1. A number between two of these is rounded at random to one of them,
with the right mean.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal

from hush.core import codec
from hush.core.channels.base import Channel, require, searchable
from hush.errors import PlanError

MAX_SIZE = 1 << 15
MAX_LEVEL = 1 << 30  # so that neighbouring knots stay 2^-47 apart, far more than the 2^-53 of the grid
_UNIT = 1 << 53

Levels = tuple[int, ...] | Literal["even"]


class Levelled(Channel):
    """A channel whose numbers are windows of `width` out of `size` cells.

    `levels` are integers, one for each cell, or "even" for equally spaced ones; only their proportions matter.
    """

    size: int
    width: int
    levels: Levels
    optional: bool

    @property
    def last(self) -> int:
        """The last start of a window."""
        return self.size - self.width

    def _check_levels(self) -> None:
        """Refuse a row of cells that breaks a rule."""
        size = self.size
        codec.integer(size, 2, MAX_SIZE, PlanError, f"the size of a {self.kind} channel")
        codec.integer(self.width, 1, size - 1, PlanError, f"the width of a {self.kind} channel")
        require(type(self.optional) is bool, "optional must be true or false")
        if self.levels == "even":
            return
        levels = self.levels
        require(isinstance(levels, tuple) and len(levels) == size, f"a {self.kind} needs one level per cell")
        for level in levels:
            codec.integer(level, -MAX_LEVEL, MAX_LEVEL, PlanError, f"a level of a {self.kind}")
        require(
            all(a == -b for a, b in zip(levels, reversed(levels), strict=True)),
            "levels must be antisymmetric",
        )
        require(all(a <= b for a, b in pairwise(levels)), "levels must not decrease")
        require(
            all(a < b for a, b in pairwise(self._window_sums)),
            "each window must have a larger sum of levels than the one before",
        )

    @cached_property
    def cell_levels(self) -> tuple[int, ...]:
        """The integers a_y."""
        if self.levels == "even":
            return tuple(range(1 - self.size, self.size, 2))
        return self.levels

    @cached_property
    def _window_sums(self) -> list[int]:
        totals = [0, *accumulate(self.cell_levels)]
        return [totals[s + self.width] - totals[s] for s in range(self.last + 1)]

    @cached_property
    def grid(self) -> tuple[list[float], list[float]]:
        """Knots on the scale [0, 1], as multiples of 2^-53 rounded down, and the inverses of their gaps.

        Every step is exact in binary floating point or rounded once by IEEE 754, so all languages compute the
        same grid.
        """
        total = self._window_sums[-1]
        points = [(a + total) * _UNIT // (2 * total) / _UNIT for a in self._window_sums]
        return points, [1.0 / (b - a) for a, b in pairwise(points)]

    @cached_property
    def _search(self) -> list[float]:
        """The grid, filled up for the search."""
        return [] if self.levels == "even" else searchable(self.grid[0], math.inf)

    def _between(self, u: float) -> tuple[int, float]:
        """Return the state below an input, and the input's position between it and the next (0 to 1)."""
        # Any float leads to a state of the channel, so privacy does not depend on earlier computations.
        if self.levels == "even":
            position = u * self.last
            s = int(min(max(0.0, position), self.last - 1.0))  # 0 for NaN
            return s, position - s
        points, slopes = self.grid
        s = min(max(bisect_right(self._search, u) - 1, 0), self.last - 1)
        return s, (u - points[s]) * slopes[s]
