"""The length of what channels report of a direction: by signs (cube), or by the largest coordinates (corners).

A device rotates its gradient g at random, u = Qg/|g|, and keeps the signs s of the m coordinates whose absolute values
are largest, with 0 for the others. For a uniformly random rotation of D dimensions, E[Q^T s] is a multiple of g/|g| by
symmetry, and that multiple is

    S(D, m) = E[sum of the m largest |u_j|].

For m = D it is `rotations.kappa`. A uniform direction is a vector of D independent normal variables z divided by its
length, and both are independent. So S is the same sum for z, divided by E|z|, where

    E[sum of the m largest |z_j|] = D * integral of z f(z) P(fewer than m of D - 1 others are larger) over z > 0,

f is the density of |z_j|, and the probability is that of a binomial variable. The integral is computed by the
trapezoidal rule after z = exp(x - e^-x), which makes the integrand fall doubly exponentially at both ends: the error is
below 1e-12, relatively, as `tests/core/training/test_directions.py` shows. Nothing is simulated.

**Rotations.** Q is made of two rounds of signs and Hadamard transforms, and is not quite uniform. For a vector with one
entry the coordinates of Qv are sums of D fair signs, and for one with two entries they lie on a coarse lattice, with
many ties. Measured over 20,000 seeds for D = 64, the mean report of a unit vector is off by 0.013 for one entry, by
0.043 (m = 45) to 0.075 (m = 5) in one coordinate for two entries, by 0.01 for six, and by less than 0.005 for 10 or
more. The bias is worst for m = 1, from epsilon 8 on: 0.24 for two entries. Gradients have an entry for every number and
category and one for the intercept, so this matters for models of one or two features. It costs accuracy and no privacy.

**Noise.** A report has one length, whatever it says. If its mean has the length `gain` in units of that, for a gradient
of length R, then the mean of n reports, divided by the gain, has the variance R^2/(gain^2 D n) in each coordinate
(of which the square of the mean is left out). `noise` is 1/(gain^2 D): the smaller, the better the channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from hush.core.channels import Corners, Cube
from hush.core.channels.corners import DIGITS, largest
from hush.core.plan import Plan
from hush.core.training.losses import square
from hush.core.training.rotations import kappa

STEP = 1 / 32
_LARGEST = float(1 << DIGITS)
_TINIEST = 1e-304  # so that a vector of zeros has a length; no other vector of a device is this short
REACH = 160  # steps to both sides: z from 1e-60 to 150


@lru_cache(maxsize=16)
def top_sums(size: int) -> tuple[float, ...]:
    """Return S(size, m) for m = 1, ..., size."""
    columns: list[list[float]] = []
    for i in range(-REACH, REACH + 1):
        x = i * STEP
        z = math.exp(x - math.exp(-x))
        if not 0 < z < 38:  # the density is 0 beyond
            continue
        density = math.sqrt(2 / math.pi) * math.exp(-z * z / 2)
        weight = z * density * z * (1 + math.exp(-x)) * STEP
        columns.append([weight * chance for chance in _at_most(size - 1, math.erfc(z / math.sqrt(2)))])
    length = math.sqrt(2) * math.exp(math.lgamma((size + 1) / 2) - math.lgamma(size / 2))
    return tuple(size / length * math.fsum(row) for row in zip(*columns, strict=True))


def top_sum(size: int, m: int) -> float:
    """Return S(size, m): the mean sum of the m largest absolute coordinates of a random unit vector."""
    return kappa(size) if m == size else top_sums(size)[m - 1]


def _at_most(n: int, p: float) -> list[float]:
    """Return the probabilities that a binomial variable of n trials is at most 0, 1, ..., n."""
    if p >= 1.0:
        return [0.0] * n + [1.0]
    odds, rest = math.log(p) if p else -math.inf, math.log1p(-p)
    found, total = [], 0.0
    for k, ways in enumerate(_choices(n)):
        total += math.exp(ways + (k * odds if k else 0.0) + (n - k) * rest)
        found.append(min(total, 1.0))
    return found


@lru_cache(maxsize=16)
def _choices(n: int) -> list[float]:
    """Return the logarithms of all binomial coefficients of n."""
    logs = [math.lgamma(k + 1) for k in range(n + 1)]
    return [logs[n] - logs[k] - logs[n - k] for k in range(n + 1)]


def kept(plan: Plan) -> int:
    """Return of how many coordinates the channel of a round takes the signs: the m largest for corners, else all."""
    channel = plan.questions[0].channel
    return channel.near if isinstance(channel, Corners) and len(plan.questions) == 1 else len(plan.schema)


def pointed(turned: Sequence[float], length: float, m: int) -> list[float]:
    """Return the signs of the m largest coordinates, times a length, and 0 for the others. It runs on the device.

    Coordinates are compared as integers of 30 bits, in units of the length of the vector; of equal ones the first are
    taken. The work does not depend on the vector.
    """
    total = _TINIEST
    for value in turned:
        total += square(value)  # after a rotation, a number may be far smaller than those before
    unit = _LARGEST / math.sqrt(total)
    marks = largest([int(min(abs(value) * unit, _LARGEST)) for value in turned], m)
    return [length * (mark * ((value > 0) - (value < 0))) for value, mark in zip(turned, marks, strict=True)]


def gain(channel: Corners | Cube) -> float:
    """Return the length of the mean report of a unit vector, in units of the length of a report."""
    bound = float(channel.bound)
    if isinstance(channel, Corners):
        return top_sum(channel.size, channel.near) / bound
    return top_sum(channel.size, channel.size) * math.sqrt(channel.sample) / (channel.size * bound)


def noise(channel: Corners | Cube) -> float:
    """Return the variance of one coordinate of a decoded unit vector, times the number of people."""
    return 1 / (gain(channel) ** 2 * channel.size)
