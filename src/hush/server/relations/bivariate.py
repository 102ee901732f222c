"""The bivariate normal distribution: the probability that both of two correlated standard normal numbers are small.

P(X <= a, Y <= b) at correlation r is its value at 0, Phi(a)*Phi(b), plus the integral of the density over correlations
from 0 to r (Plackett 1954). With r = sin(t) the integrand is smooth:

    exp(-(a^2 - 2*a*b*sin(t) + b^2)/(2*cos(t)^2))/(2*pi).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_POINTS = 48


@lru_cache(maxsize=4)
def _legendre(n: int) -> tuple[tuple[float, float], ...]:
    """Return the points and weights of Gauss and Legendre's rule on [-1, 1], by Newton's method."""
    found = []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        while True:
            before, value = 1.0, x
            for k in range(2, n + 1):
                before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
            slope = n * (x * value - before) / (x * x - 1)
            step = value / slope
            x -= step
            if abs(step) < 1e-15:
                break
        found.append((x, 2 / ((1 - x * x) * slope * slope)))
    return tuple(found)


def both_below(a: float, b: float, r: float) -> float:
    """Return the probability that X <= a and Y <= b, for correlation r."""
    if r >= 1:
        return _NORMAL.cdf(min(a, b))
    if r <= -1:
        return max(0.0, _NORMAL.cdf(a) + _NORMAL.cdf(b) - 1)
    half = math.asin(r) / 2
    total = math.fsum(weight * _density(a, b, half * (1 + x)) for x, weight in _legendre(_POINTS))
    return _NORMAL.cdf(a) * _NORMAL.cdf(b) + half * total


def _density(a: float, b: float, t: float) -> float:
    return math.exp(-(a * a - 2 * a * b * math.sin(t) + b * b) / (2 * math.cos(t) ** 2)) / (2 * math.pi)


def slope(a: float, b: float, r: float) -> float:
    """Return the derivative of `both_below` by the correlation."""
    rest = max(1 - r * r, 1e-12)
    return math.exp(-(a * a - 2 * a * b * r + b * b) / (2 * rest)) / (2 * math.pi * math.sqrt(rest))


def given(a: float, b: float, r: float) -> float:
    """Return P(Y <= b | X = a): the derivative of `both_below` by P(X <= a)."""
    return _NORMAL.cdf((b - r * a) / math.sqrt(max(1 - r * r, 1e-12)))
