"""Exact binomial tails, and the bounds of Clopper and Pearson (1934) for any count.

Intervals of rare categories need them, and audits, which accuse somebody with error rates of one in a million: they
hold for every count and far out in the tails. A binomial tail is a regularised incomplete beta function, which has a
continued fraction that loses no digits there, and knows no difference between whole counts and others: predictions
put expected ones in.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = 1e-300


def at_least(count: float, n: float, p: float) -> float:
    """Return the probability that an event of probability p happens at least `count` times in n."""
    if count <= 0:
        return 1.0
    if count > n:
        return 0.0
    return _beta(p, count, n - count + 1)


def at_most(count: float, n: float, p: float) -> float:
    """Return the probability that an event of probability p happens at most `count` times in n."""
    if count < 0:
        return 0.0
    if count >= n:
        return 1.0
    return _beta(1 - p, n - count, count + 1)


def lower_bound(count: float, n: float, miss: float) -> float:
    """Return what the probability of an event exceeds, except with probability `miss`, if it happened so often."""
    return 0.0 if count == 0 else _cross(lambda p: at_least(count, n, p) < miss)[0]


def upper_bound(count: float, n: float, miss: float) -> float:
    """Return what the probability of an event stays below, except with probability `miss`."""
    return 1.0 if count == n else _cross(lambda p: at_most(count, n, p) > miss)[1]


def _cross(before: Callable[[float], bool]) -> tuple[float, float]:
    """Return two neighbouring numbers between which a condition that holds near 0 ceases to hold."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if high - low <= 1e-12 * high or not low < middle < high:
            return low, high
        if before(middle):
            low = middle
        else:
            high = middle


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        # The fraction converges fast on the other side.
        return 1 - _beta(1 - x, b, a)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of I_x(a, b), by the modified method of Lentz."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    m = 0
    while True:
        m += 1
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-13:
            return value


def _away(x: float) -> float:
    """Keep a denominator away from 0."""
    return x if abs(x) > _TINY else _TINY
