"""Channels for categorical attributes, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hush.core.channels import Channel, Geometry, Subset, Unary
from hush.core.channels.geometry import MAX_POINTS, geometries, points_of
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.core.schema import MAX_CATEGORIES
from hush.errors import DesignError

SLACK = Fraction(1001, 1000)
SHORT = 512
CLOSE = Fraction(102, 100)
DIGITS = 13  # of a unary channel's q: rounding up by at most 2^-12 of it costs less than a thousandth in variance


def _subset(epsilon: Fraction, size: int, weight: int) -> Subset:
    return Subset(size, weight, largest_threshold(exp_bounds(epsilon)[0], weight, size - weight))


def total_variance(channel: Subset | Unary | Geometry) -> Fraction:
    """Return the variance that the channel adds, summed over all categories. It is the same for all inputs."""
    return channel.variance(1) + (channel.size - 1) * channel.variance(0)


@lru_cache(maxsize=1024)
def subset(epsilon: Fraction, size: int) -> Subset:
    """The subset channel with the weight of least total variance.

    As a function of a real weight w the total variance has one minimum, at size/(e^eps+1), so one of the two
    whole numbers beside it is the best.
    """
    if size > MAX_CATEGORIES + 1:
        raise DesignError(f'{size} categories are too many for sets: choose categorical="geometry"')
    ideal = size / (float(exp_bounds(epsilon)[0]) + 1)
    weights = {min(max(1, weight), size - 1) for weight in (math.floor(ideal), math.ceil(ideal))}
    return min((_subset(epsilon, size, weight) for weight in sorted(weights)), key=total_variance)


@lru_cache(maxsize=1024)
def geometry(epsilon: Fraction, size: int, most: int = MAX_POINTS) -> Geometry:
    """The geometry channel with the order of least total variance; of equally good ones, the one with fewest points.

    Orders whose exact variance is within a thousandth of the least count as equally good: a tally has a count for each
    point, so fewer points cost less to send and to read. Geometries of more than `most` points are left out.
    """
    bound = exp_bounds(epsilon)[0]
    found = []
    for order, digits in geometries(size):
        if points_of(order, digits) > most:
            continue
        near, far = points_of(order, digits - 1), order ** (digits - 1)
        found.append(Geometry(size, order, digits, largest_threshold(bound, near, far)))
    if not found:
        raise DesignError(f"a geometry channel is for 5 to {MAX_POINTS} categories")
    least = min(map(total_variance, found))
    return min((one for one in found if total_variance(one) <= least * SLACK), key=lambda one: one.points)


def best(epsilon: Fraction, size: int) -> Subset | Geometry:
    """The subset channel while its reports are short, then the geometry channel if its error is about the same.

    A set of 512 categories takes 64 bytes, a point 2 or 3. Sets of more than 4097 categories are not allowed.
    """
    if size <= SHORT:
        return subset(epsilon, size)
    point = geometry(epsilon, size)
    if size > MAX_CATEGORIES + 1:
        return point
    sets = subset(epsilon, size)
    return point if total_variance(point) <= CLOSE * total_variance(sets) else sets


def least_variance(epsilon: Fraction, size: int) -> Fraction:
    """Return the total variance of the best subset channel, also of more categories than such a channel may have."""
    bound = exp_bounds(epsilon)[0]
    ideal = size / (float(bound) + 1)
    found = []
    for weight in {min(max(1, weight), size - 1) for weight in (math.floor(ideal), math.ceil(ideal))}:
        p = Fraction(largest_threshold(bound, weight, size - weight), WORD)
        q = (p * (weight - 1) + (1 - p) * weight) / (size - 1)
        found.append((p * (1 - p) + (size - 1) * q * (1 - q)) / (p - q) ** 2)
    return min(found)


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
    "geometry": geometry,
    "best": best,
}
"""Channels for one categorical attribute."""
