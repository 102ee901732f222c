"""Channels for categorical attributes, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hush.channels import Channel, Subset, Unary
from hush.exact import WORD, exp_bounds, largest_threshold


def _subset(epsilon: Fraction, size: int, weight: int) -> Subset:
    return Subset(size, weight, largest_threshold(exp_bounds(epsilon)[0], weight, size - weight))


def total_variance(channel: Subset | Unary) -> Fraction:
    """Return the variance that the channel adds, summed over all categories. It is the same for all inputs."""
    return channel.variance(1) + (channel.size - 1) * channel.variance(0)


@lru_cache(maxsize=1024)
def subset(epsilon: Fraction, size: int) -> Subset:
    """The subset channel with the weight of least total variance.

    As a function of a real weight w the total variance has one minimum, at size/(e^eps+1), so one of the two
    whole numbers beside it is the best.
    """
    ideal = size / (float(exp_bounds(epsilon)[0]) + 1)
    weights = {min(max(1, weight), size - 1) for weight in (math.floor(ideal), math.ceil(ideal))}
    return min((_subset(epsilon, size, weight) for weight in sorted(weights)), key=total_variance)


@lru_cache(maxsize=1024)
def grr(epsilon: Fraction, size: int) -> Subset:
    """Generalised randomised response: the subset channel with sets of one."""
    return _subset(epsilon, size, 1)


@lru_cache(maxsize=1024)
def oue(epsilon: Fraction, size: int) -> Unary:
    """Optimised unary encoding: p = 1/2, q = 1/(e^eps+1) rounded up."""
    return Unary(size, WORD // 2, math.ceil(WORD / (exp_bounds(epsilon)[0] + 1)))


@lru_cache(maxsize=1024)
def sue(epsilon: Fraction, size: int) -> Unary:
    """Symmetric unary encoding (basic one-time RAPPOR): q = 1/(e^(eps/2)+1) rounded up, p = 1-q."""
    other = math.ceil(WORD / (exp_bounds(epsilon / 2)[0] + 1))
    return Unary(size, WORD - other, other)


CATEGORICAL: dict[str, Callable[[Fraction, int], Channel]] = {
    "subset": subset,
    "grr": grr,
    "oue": oue,
    "sue": sue,
}
"""Channels for one categorical attribute."""
