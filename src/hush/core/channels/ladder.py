"""The ladder channel: a number on a wide range, reported as one of N cells, with a knot for every scale.

The public range of an income or a price is far wider than where people are, and the noise of an unbiased mean is in
proportion to the range: no channel can avoid that (docs/wide.md). But the mean of min(t, c), clipped at a known c, has
noise in proportion to c. A ladder serves every c at once.

Knots x_0 < x_1 < ... < x_{S-1} are public: 0, H/2^15, ..., H/4, H/2, H for a range [0, H]. A number between two knots
is rounded at random to one of them, with the right mean; knot k is the state k, and states are windows of W out of
N = S + W - 1 cells (`hush.core.channels.windowed`: privacy, the one word of a draw, missing values). min(t, x_k) is
linear between knots, so its mean is a linear function of the shares of the states, for every knot.

**Decoding.** The law of the outputs is a matrix P with a row for each state; its rows are independent, so
A = (P P')^-1 P has A P' = 1: a report y says A[:, y] of the shares of the states, without bias. P is a multiple of the
windows, a matrix B of small integers, plus a matrix of rank 1, so A follows from (B B')^-1 by Woodbury's formula. The
targets are the means of min(t, x_k) for every knot but the first, as parts of the range; for an optional number then
the share of missing. A server that has seen the reports weighs the outputs by their own law, which is better
(`hush.server.ladders`).

**Two sides.** If the range has both signs, knots rise from the origin on both sides. Nothing else changes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from operator import mul
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output
from hush.core.channels.base import Reading, State, exact_t, require, searchable
from hush.core.channels.window import worst
from hush.core.channels.windowed import Windowed
from hush.errors import PlanError

MAX_STATES = 129
MAX_KNOT = 1 << 44  # so that neighbouring knots stay 2^-44 apart, far more than the 2^-53 of the grid
_UNIT = 1 << 53


@dataclass(frozen=True)
class Ladder(Windowed):
    """Windows of `width` cells, one for each knot; `threshold`/2^64 is the probability of the window.

    `knots` are integers that rise from 0: the last one stands for the upper end of the range.
    """

    knots: tuple[int, ...]
    width: int
    threshold: int
    optional: bool = False
    size: int = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "ladder"
    made: ClassVar[tuple[str, ...]] = ("_steps", "_search")

    def __post_init__(self) -> None:
        require(
            type(self.knots) is tuple and 3 <= len(self.knots) <= MAX_STATES, f"a ladder has 3 to {MAX_STATES} knots"
        )
        for knot in self.knots:
            codec.integer(knot, 0, MAX_KNOT, PlanError, "a knot of a ladder")
        require(self.knots[0] == 0 and all(a < b for a, b in pairwise(self.knots)), "knots must rise from 0")
        codec.integer(self.width, 1, len(self.knots) - 1, PlanError, "the width of a ladder")
        require(type(self.optional) is bool, "optional must be true or false")
        object.__setattr__(self, "size", len(self.knots) + self.width - 1)
        self._check_window()

    # -- definition

    @cached_property
    def places(self) -> tuple[Fraction, ...]:
        """The knots as positions in the range, from 0 to 1."""
        return tuple(Fraction(knot, self.knots[-1]) for knot in self.knots)

    @cached_property
    def grid(self) -> tuple[list[float], list[float]]:
        """Knots on the scale [0, 1], as multiples of 2^-53 rounded down, and the inverses of their gaps."""
        points = [knot * _UNIT // self.knots[-1] / _UNIT for knot in self.knots]
        return points, [1.0 / (b - a) for a, b in pairwise(points)]

    @cached_property
    def _search(self) -> list[float]:
        return searchable(self.grid[0], math.inf)

    def _between(self, u: float) -> tuple[int, float]:
        """Return the state below an input, and the input's position between it and the next (0 to 1)."""
        points, slopes = self.grid
        s = min(max(bisect_right(self._search, u) - 1, 0), self.last - 1)
        return s, (u - points[s]) * slopes[s]

    # -- exact guarantees

    @cached_property
    def table(self) -> list[list[Fraction]]:
        """The law of every state, "missing" last."""
        laws = map(self.law, self.states())
        return [[law[y] for y in range(self.alphabet.size)] for law in laws]

    @cached_property
    def _inverse(self) -> list[list[Fraction]]:
        """The matrix A: for each state, what each output says of its share.

        With q = (1, ..., 1), and W for the merged cells of "missing", P = a B + o 1 q', where o is the probability of a
        cell outside and a + o that of one inside. So P P' = a^2 B B' + U C U' with the columns 1 and B q of U.
        """
        inside, outside = self._inside_probability, self._outside_probability
        gain = inside - outside
        cells = [1] * self.size + [self.width] * self.optional
        windows = [[int(s <= y < s + self.width) for y in range(len(cells))] for s in range(len(self.knots))]
        if self.optional:
            windows.append([0] * self.size + [self.width])
        sums = [sum(map(mul, row, cells)) for row in windows]
        square = [[sum(map(mul, one, other)) for other in windows] for one in windows]
        rows, divisor = _solved(square, [[*row, 1, total] for row, total in zip(windows, sums, strict=True)])
        solved = [[Fraction(value, divisor) for value in row] for row in rows]  # (B B')^-1 of B and of both columns
        sides = [row[-2:] for row in solved]
        plain = [
            [gain * x + outside * one * cell for x, cell in zip(row, cells, strict=False)]
            for row, (one, _) in zip(solved, sides, strict=True)
        ]
        ends = [
            [sum((side[i] for side in sides), Fraction(0)) for i in (0, 1)],
            [sum((total * side[i] for total, side in zip(sums, sides, strict=True)), Fraction(0)) for i in (0, 1)],
        ]
        # C^-1 + U' (B B')^-1 U / a^2, for C = ((o^2 q'q, a o), (a o, 0)).
        cross = gain * outside
        a, b = ends[0][0] / gain**2, ends[0][1] / gain**2 + 1 / cross
        c, d = b, ends[1][1] / gain**2 - outside**2 * sum(map(mul, cells, cells)) / cross**2
        scale = (a * d - b * c) * gain**2
        across = [
            (sum(column, Fraction(0)), sum(map(mul, sums, column), Fraction(0))) for column in zip(*plain, strict=True)
        ]
        mended = [((d * one - b * other) / scale, (a * other - c * one) / scale) for one, other in across]
        return [
            [(x - left * one - right * other) / gain**2 for x, (one, other) in zip(row, mended, strict=True)]
            for row, (left, right) in zip(plain, sides, strict=True)
        ]

    @cached_property
    def _values(self) -> list[tuple[Fraction, ...]]:
        """What each output says of every target."""
        gaps = [b - a for a, b in pairwise(self.places)]
        found = []
        for shares in zip(*self._inverse, strict=True):
            above = accumulate(reversed(shares[1 : len(self.knots)]))  # the share of those at a knot or beyond
            targets = accumulate(map(mul, gaps, reversed([*above])))
            found.append((*targets, *shares[len(self.knots) :]))
        return found

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased value of min(t, knot) for every knot but the first; for an optional number of missing."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        return self._values[output]

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return min(t, knot) for every knot but the first, 0 if missing; for an optional number whether it is."""
        if state is None and self.optional:
            return (*[Fraction(0)] * (len(self.knots) - 1), Fraction(1))
        x = self.places[self._start(state)]
        found = tuple(min(x, c) for c in self.places[1:])
        return (*found, Fraction(0)) if self.optional else found

    @cached_property
    def _knots(self) -> list[tuple[Fraction, Fraction]]:
        """The input of every state on the scale [-1, 1], and the mean square of the value of the unclipped mean."""
        at = len(self.knots) - 2
        values = [2 * targets[at] - 1 for targets in self._values]
        return [
            (2 * x - 1, sum((p * value * value for p, value in zip(row, values, strict=True)), Fraction(0)))
            for x, row in zip(self.places, self.table, strict=False)
        ]

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the unclipped mean's value for a present input t in [-1, 1]."""
        value = exact_t(t)
        for (left, low), (right, high) in pairwise(self._knots):
            if value <= right:
                return low + (high - low) * (value - left) / (right - left) - value * value
        raise AssertionError("knots end at 1")

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t in [-1, 1]."""
        return worst(self._knots)

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return nothing: what a ladder says depends on where people are, and `hush.server.ladders` reads it."""
        return []

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "knots": list(self.knots),
            "width": self.width,
            "threshold": str(self.threshold),
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Ladder:
        """Read a channel back."""
        knots, width, threshold, optional = cls._fields(value, "knots", "width", "threshold", "optional")
        return cls(
            tuple(codec.listed(knots, PlanError, "the knots of a ladder")),
            width,
            codec.big(threshold, PlanError, "a threshold"),
            optional,
        )


def _solved(square: list[list[int]], right: list[list[int]]) -> tuple[list[list[int]], int]:
    """Return X and a divisor d with square*X = d*right, by elimination without fractions (Bareiss 1968)."""
    rows = [[*a, *b] for a, b in zip(square, right, strict=True)]
    n, last = len(rows), 1
    for i in range(n):
        head = rows[i][i]  # the matrix is positive definite: no head is 0
        for j in range(n):
            if j != i:
                factor = rows[j][i]
                rows[j] = [(head * a - factor * b) // last for a, b in zip(rows[j], rows[i], strict=True)]
        last = head
    return [row[n:] for row in rows], last
