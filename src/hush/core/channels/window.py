"""The window channel: one number, reported as one of N cells.

A window of W neighbouring cells may start at s = 0..N-W. Given s, with probability T/2^64 the output is
uniform in the window, otherwise uniform outside. Cell y has an integer level a_y; levels are antisymmetric
(a_y = -a_{N-1-y}) and nondecreasing.

**Privacy**, the one word of a draw and missing values are those of `hush.core.channels.windowed`.

**Mean.** Let A(s) be the sum of the levels in the window. All levels add up to 0, so those outside add up to -A(s):

    E[a | s] = A(s) * c,    c = T/(2^64 W) - (2^64-T)/(2^64 O).

A(s) increases with s and A(N-W) = -A(0). So the value of a cell is a_y / (c*A(N-W)), and the state s stands
for the input mu_s = A(s)/A(N-W), a quotient of small integers: mu_0 = -1, mu_{N-W} = 1. A real input
between two of these is rounded at random to one of them, with the right mean.

**Variance.** For an input t between mu_s and mu_{s+1}, E[value^2] is linear in t, and the variance is that
minus t^2: concave pieces, whose maximum is found exactly.

**Missing values.** The level of their output is 0, and the mean level is 0 for the state "missing" too. So the sum of
values estimates the sum of the present, and the count of output N estimates the share of the missing. Both come from
one report with the whole epsilon.

Instances (`hush.core.design`): Duchi, Jordan and Wainwright's one-dimensional mechanism is N=2, W=1. The Piecewise
Mechanism of Wang et al. (ICDE 2019) is the limit of equally spaced levels with W/N near 1/(e^(eps/2)+1);
Zhao et al. (2020) take 1/(e^(eps/3)+1).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output
from hush.core.channels.base import Reading, State, exact_t
from hush.core.channels.levels import Levelled, Levels
from hush.core.channels.squares import Squares
from hush.core.channels.windowed import ROUNDING as ROUNDING
from hush.core.channels.windowed import Windowed
from hush.errors import PlanError


@dataclass(frozen=True)
class Window(Levelled, Windowed):
    """A window of `width` out of `size` cells; `threshold`/2^64 is the probability of the window.

    `levels` are integers, one for each cell, or "even" for equally spaced ones; only their proportions matter.
    """

    size: int
    width: int
    threshold: int
    levels: Levels = "even"
    optional: bool = False

    kind: ClassVar[str] = "window"
    made: ClassVar[tuple[str, ...]] = ("_steps", "_search")

    def __post_init__(self) -> None:
        self._check_levels()
        self._check_window()

    # -- definition

    @cached_property
    def _gain(self) -> Fraction:
        """The divisor that turns a level into a value: c*A(N-W)."""
        return (self._inside_probability - self._outside_probability) * self._window_sums[-1]

    # -- exact guarantees

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the value of a cell; for an optional attribute also the value for "missing"."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        level = self.cell_levels[output] / self._gain if output < self.size else Fraction(0)
        if not self.optional:
            return (level,)
        missing = self._inside_probability * self.width
        present = self._outside_probability * self.width
        return level, ((output == self.size) - present) / (missing - present)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return mu_s (0 if missing); for an optional attribute also 1 if missing and 0 if not."""
        if state is None and self.optional:
            return Fraction(0), Fraction(1)
        mean = Fraction(self._window_sums[self._start(state)], self._window_sums[-1])
        return (mean, Fraction(0)) if self.optional else (mean,)

    @cached_property
    def knots(self) -> list[tuple[Fraction, Fraction]]:
        """The input mu_s of every state, and the mean square of the value."""
        squares = [0, *accumulate(a * a for a in self.cell_levels)]
        inside, outside, scale = self._inside_probability, self._outside_probability, self._gain**2
        extra, base = (inside - outside) / scale, squares[-1] * outside / scale
        total = self._window_sums[-1]
        return [
            (Fraction(a, total), base + (squares[s + self.width] - squares[s]) * extra)
            for s, a in enumerate(self._window_sums)
        ]

    def mean_square(self, t: Fraction) -> Fraction:
        """Return E[value^2] for a present input t: linear between knots."""
        right = min(max(bisect_right(self.knots, t, key=lambda knot: knot[0]), 1), self.last)
        (left_t, left), (right_t, right_square) = self.knots[right - 1], self.knots[right]
        return left + (right_square - left) * (t - left_t) / (right_t - left_t)

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the value for a present input t in [-1, 1], rounding included."""
        value = exact_t(t)
        return self.mean_square(value) - value * value

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t in [-1, 1]."""
        return worst(self.knots)

    # -- the server

    @cached_property
    def decoded(self) -> tuple[list[float], ...]:
        """The values of all outputs for every target, as floats."""
        targets = zip(*map(self.decode, range(self.alphabet.size)), strict=True)
        return tuple([float(value) for value in target] for target in targets)

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean; for an optional attribute the mean of the present and the share of missing."""
        levels, *missing = self.decoded
        if not missing:
            return [Reading(0, None, counts, levels, squares=self.squares)]
        absent, missed = missing[0][0], missing[0][-1]
        return [
            Reading(0, None, counts, levels, [1 - value for value in missing[0]], self.squares),
            Reading(0, 0, (n - counts[-1], counts[-1]), (absent, missed)),
        ]

    @cached_property
    def squares(self) -> Squares:
        """Bounds of the variance of the mean (or of the mean of the present) before any report."""
        points = [(float(t), float(square)) for t, square in self.knots]
        if not self.optional:
            return Squares.of(points)
        levels, missing = self.decoded
        here, gone = 1 - missing[0], 1 - missing[-1]
        absent = float(self._outside_probability) * math.fsum(level * level for level in levels)
        # Two values with mean 1 (for somebody present) or 0 have the mean square sum * mean - product.
        return Squares.of(points, gone - here - here * gone, [(absent, -here * gone)])

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "width": self.width,
            "threshold": str(self.threshold),
            "levels": self.levels if self.levels == "even" else list(self.levels),
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Window:
        """Read a channel back."""
        names = ("size", "width", "threshold", "levels", "optional")
        size, width, threshold, levels, optional = cls._fields(value, *names)
        if levels != "even":
            levels = tuple(codec.listed(levels, PlanError, 'levels (if not "even")'))
        return cls(size, width, codec.big(threshold, PlanError, "a threshold"), levels, optional)


def worst(knots: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Return the maximum over t of f(t) - t^2, where f is linear between the given points (t, f(t))."""
    best = max(square - t * t for t, square in knots)
    for (left_t, left), (right_t, right) in pairwise(knots):
        slope = (right - left) / (right_t - left_t)
        top = slope / 2
        if left_t < top < right_t:
            best = max(best, left + slope * (top - left_t) - top * top)
    return best
