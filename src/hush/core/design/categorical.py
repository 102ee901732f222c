"""Channels for categorical attributes, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hush.core.channels import Channel, Subset, Unary
from hush.core.exact import WORD, exp_bounds, largest_threshold

DIGITS = 13  # of a unary channel's q: rounding up by at most 2^-12 of it costs less than a thousandth in variance


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


def _other(bound: Fraction) -> int:
    """Return q = 1/(bound+1) in units of 2^-64, rounded up to few binary digits. A device reads a word for each digit.

    The variance depends on q and on 1/2 - q, so both keep their digits.
    """
    other = math.ceil(WORD / (bound + 1))
    spare = max(min(other, WORD // 2 - other).bit_length() - DIGITS, 0)
    return -(-other >> spare) << spare


@lru_cache(maxsize=1024)
def oue(epsilon: Fraction, size: int) -> Unary:
    """Optimised unary encoding: p = 1/2, q = 1/(e^eps+1) rounded up."""
    return Unary(size, WORD // 2, _other(exp_bounds(epsilon)[0]))


@lru_cache(maxsize=1024)
def sue(epsilon: Fraction, size: int) -> Unary:
    """Symmetric unary encoding (basic one-time RAPPOR): q = 1/(e^(eps/2)+1) rounded up, p = 1-q."""
    other = _other(exp_bounds(epsilon / 2)[0])
    return Unary(size, WORD - other, other)


CATEGORICAL: dict[str, Callable[[Fraction, int], Channel]] = {
    "subset": subset,
    "grr": grr,
    "oue": oue,
    "sue": sue,
}
"""Channels for one categorical attribute."""
