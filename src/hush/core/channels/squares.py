"""Bounds of the variance of a channel's values before any report: they hold for every population.

A value is unbiased: for a person whose input is t its mean is t, and its mean square is a number q(t) known from the
law. In a population with mean x, E[value^2] is an average of numbers q(t) over inputs t with mean x. So it lies between
the convex envelope of q at x and the concave one. If q is convex, people who are all alike have the least E[value^2].
Outputs that are rare for every input count in q, even if none of n reports shows them.

**Missing values.** The mean of the present is the ratio of the means of value and presence. For its true value r,
value - r*presence has mean 0. Given a present person with input t its mean square is

    q(t) - 2*r*t*product + r^2*present,    product = E[value*presence | t]/t,    present = E[presence^2 | present],

because `product` is the same for all t: a value is 0 where the presence differs. All terms but the first are linear in
t, so envelopes stay envelopes: at mean r the envelope is that of q at r plus r^2 * (present - 2*product), where
present - 2*product is the `bend`. A missing person has mean 0 and mean square
E[value^2 | missing] + r^2 * E[presence^2 | missing]. So has a person of another group, if the mean is that of a group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Squares:
    """Envelopes of the mean square over the means that a population may have, as points (mean, mean square).

    `bend` and `absent` belong to a ratio: the mean of the present, or of a group. `absent` has E[value^2] and
    E[presence^2] for each kind of people who are not counted. A plain mean has a presence of 1, so its bend is -1.
    Equality is identity: channels keep their objects, and long lists of points are slow to compare.
    """

    lower: tuple[Point, ...]
    upper: tuple[Point, ...]
    bend: float = -1.0
    absent: tuple[Point, ...] = ()

    @classmethod
    def of(cls, points: Iterable[Point], bend: float = -1.0, absent: Sequence[Point] = ()) -> Squares:
        """Return the envelopes of a function that is linear between these points, given in increasing order."""
        listed = list(points)
        lower = _convex(listed)
        upper = [(t, -square) for t, square in _convex([(t, -square) for t, square in listed])]
        return cls(tuple(lower), tuple(upper), bend, tuple(absent))

    @classmethod
    def of_two(cls, values: Sequence[float], ends: Point) -> Squares:
        """Return the envelopes for a value that is one of two: value^2 is linear in it, so the mean decides."""
        a, b = values
        return cls.of((t, (a + b) * t - a * b) for t in ends)

    @property
    def ends(self) -> Point:
        """The least and the largest mean that a population may have."""
        return self.lower[0][0], self.lower[-1][0]

    def scaled(self, weight: float) -> Squares:
        """Return the envelopes for weight*value with probability 1/weight, and 0 otherwise."""
        lower, upper = (tuple((t, weight * square) for t, square in points) for points in (self.lower, self.upper))
        return Squares(lower, upper)

    def variances(self, x: float) -> Point:
        """Return the least and the largest variance of value - x*presence if the mean (of the present) is x."""
        bend = self.bend * x * x
        least, most = between(self.lower, x) + bend, between(self.upper, x) + bend
        for value, presence in self.absent:
            square = value + x * x * presence
            least, most = min(least, square), max(most, square)
        return least, most


def _convex(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex envelope (Andrew's monotone chain)."""
    hull: list[Point] = []
    for t, square in points:
        while len(hull) > 1:
            (t0, square0), (t1, square1) = hull[-2:]
            if (square1 - square0) * (t - t1) < (square - square1) * (t1 - t0):
                break
            hull.pop()
        hull.append((t, square))
    return hull


def between(points: Sequence[Point], x: float) -> float:
    """Return a function that is linear between points, at x within them."""
    right = min(max(bisect_right(points, (x,)), 1), len(points) - 1)
    (t0, square0), (t1, square1) = points[right - 1], points[right]
    if t0 == t1:
        return square1
    return square0 + (square1 - square0) * (x - t0) / (t1 - t0)
