"""Exact binomial tails, the bounds of Clopper and Pearson (1934) for any count, and Student's quantiles (1908).

Intervals of rare categories need them, and so do audits, whose error rates are one in a million. They hold for every
count and far out in the tails. A binomial tail is a regularised incomplete beta function. Its continued fraction loses
no digits there, and also works for counts that are not whole: predictions use expected counts. A tail of Student's
distribution is such a function too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_MANY = 500  # from this many degrees of freedom an expansion is precise, and logarithms of gamma are not


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
    """Return a lower bound of an event's probability, after `count` of n. It errs with probability `miss` at most."""
    return 0.0 if count == 0 else _cross(lambda p: at_least(count, n, p) < miss)[0]


def upper_bound(count: float, n: float, miss: float) -> float:
    """Return an upper bound of an event's probability, after `count` of n. It errs with probability `miss` at most."""
    return 1.0 if count == n else _cross(lambda p: at_most(count, n, p) > miss)[1]


def normal(level: float) -> float:
    """Return the half-width of a normal interval of this level, in standard errors."""
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=4096)
def student(level: float, freedom: float) -> float:
    """Return the half-width of a Student interval of this level, in estimated standard errors."""
    if freedom >= _MANY:  # Cornish and Fisher (1937)
        z = normal(level)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / freedom + second / freedom**2 + third / freedom**3
    # With x = t^2/(freedom + t^2), P(|T| <= t) is I_x(1/2, freedom/2). The smaller of x and 1 - x keeps its digits.
    if level < 0.5:
        x, _ = _cross(lambda x: _beta(x, 0.5, freedom / 2) < level)
        return math.sqrt(freedom * x / (1 - x))
    x, _ = _cross(lambda x: _beta(x, freedom / 2, 0.5) < 1 - level)
    return math.sqrt(freedom * (1 - x) / x)


def beta(x: float, a: float, b: float) -> float:
    """Return the share of a beta distribution with these parameters that lies below x."""
    return _beta(x, a, b)


def _cross(before: Callable[[float], bool]) -> tuple[float, float]:
    """Return the two neighbouring numbers between which a condition that holds near 0 stops holding."""
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
