"""Searches for an epsilon: they end on the side that was proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

COARSE, FINE = 1e-2, 2e-4
"""How much variance the integral may add, relatively: while searching, and in the end."""

TOLERANCE = 1e-4
"""How close the two ends of a search are in the end, relatively."""

Curve = Callable[[float, float], Fraction]
"""A bound of delta that falls with epsilon; the second argument is the fineness."""

_NEAR = 0.4  # a rough search ends if delta is that close, as a logarithm
_TINY = -1e4
_STEPS = 60


def crossing(curve: Curve, target: Fraction, top: float, guess: float) -> tuple[float, float]:
    """Return two epsilons, close together: at the first the curve is above the target, at the second it is not.

    The first is 0 if the curve is nowhere above the target that was looked at; the second is `top` if it always is: at
    `top` delta is 0 for another reason.
    """
    if curve(0.0, COARSE) <= target:
        return 0.0, 0.0
    search = _Search(top)
    x = min(guess, top * (1 - TOLERANCE))
    while len(search.seen) < _STEPS:
        y = search.look(x, log_ratio(curve(x, COARSE), target))
        if abs(y) < _NEAR or search.gap < 1e-2:
            break
        x = search.next()
    search = _Search(top, search.slope)
    while search.gap > TOLERANCE and len(search.seen) < _STEPS:
        search.look(x, log_ratio(curve(x, FINE), target))
        x = search.next()
    return search.low, search.high


class _Search:
    """A bracket of the place where a falling function changes its sign."""

    def __init__(self, top: float, slope: float = 0.0) -> None:
        self.low, self.high, self.slope = 0.0, top, slope
        self.seen: list[tuple[float, float]] = []

    @property
    def gap(self) -> float:
        """How far apart the ends are, relatively."""
        return (self.high - self.low) / self.high

    def look(self, x: float, y: float) -> float:
        """Take in a value of the function."""
        if self.seen and min(y, self.seen[-1][1]) > _TINY and x != self.seen[-1][0]:
            self.slope = (y - self.seen[-1][1]) / (x - self.seen[-1][0])
        elif not self.slope and y > _TINY:
            self.slope = -10 / x  # a first guess for small delta
        self.seen.append((x, y))
        self.low, self.high = (self.low, x) if y <= 0 else (x, self.high)
        return y

    def next(self) -> float:
        """Return the next place: by Newton's method, a little beyond the root on the side that is still open."""
        x, y = self.seen[-1]
        if self.slope < 0 and y > _TINY and len(self.seen) % 6:
            root = x - y / self.slope
            place = root * (1 + 0.4 * TOLERANCE * (1 if y > 0 else -1))
            if self.low < place < self.high:
                return place
        if self.low and self.high / self.low > 4:
            return math.sqrt(self.low * self.high)
        return (self.low + self.high) / 2


def log_ratio(value: Fraction, target: Fraction) -> float:
    """Return ln(value/target), with the right sign; a value that is far too small counts as very small."""
    if value > target:
        return max(math.log(value / target), 1e-300)
    return min(math.log(value / target), -1e-300) if value * 10**300 > target else _TINY


def gaussian(mu: float, delta: float) -> float:
    """Return about the epsilon of a Gaussian mechanism with sensitivity mu: what a large crowd comes to. A guess."""
    bell = NormalDist()
    low, high = 0.0, 64.0

    def found(x: float) -> float:
        return bell.cdf(mu / 2 - x / mu) - math.exp(x) * bell.cdf(-mu / 2 - x / mu)

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) <= delta else (middle, high)
    return high


def sensitivity(epsilon: float, delta: float) -> float:
    """Return about the largest mu, sensitivity by deviation, of a Gaussian mechanism that keeps this promise."""
    low, high = 1e-9, 64.0
    for _ in range(80):
        mu = math.sqrt(low * high)
        low, high = (mu, high) if gaussian(mu, delta) <= epsilon else (low, mu)
    return low
