"""The channel of a rotated gradient: corners or cube, the one with the least noise."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from hush.core.channels import Corners, Cube
from hush.core.design.joint import cube
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.core.training.directions import noise, top_sums
from hush.core.training.rotations import padded

NEEDED = 1500


@lru_cache(maxsize=256)
def corners(epsilon: Fraction, size: int) -> Corners:
    """The corners channel with the largest gain. It tries every number of near corners."""
    bound = exp_bounds(epsilon)[0]
    best, found = 0.0, None
    for near, length in enumerate(top_sums(size), 1):
        threshold = largest_threshold(bound, near, 2 * size - near)
        gain = length * (threshold / near - (WORD - threshold) / (2 * size - near))
        if gain > best:
            best, found = gain, Corners(size, near, threshold)
    assert found is not None, "a coin of 64 bits prefers one of 2048 corners for every epsilon of a plan"
    return found


@lru_cache(maxsize=256)
def direction(epsilon: Fraction, size: int) -> Corners | Cube:
    """The better of both: the one whose decoded report has the smaller variance."""
    both: tuple[Corners | Cube, ...] = (corners(epsilon, size), cube(epsilon, size))
    return min(both, key=noise)


def noise_of(epsilon: float, dimensions: int) -> float:
    """Return c: the variance of one coordinate of one person's report, for gradients of length at most 1."""
    return noise(direction(Fraction(repr(float(epsilon))), padded(dimensions)))


def people_needed(epsilon: float, dimensions: int) -> int:
    """Return about how many people a training of this many weights needs: 1500 c d, for the noise c of the channel.

    A round of b people sees a gradient of length s with noise of length R sqrt(c d/b). If gradients are clipped to
    R = 5 s, and there are 60 rounds, noise and gradient are equally long at 5^2 * 60 = 1500 times c d. With fewer
    people the first rounds still learn something; with far fewer, nothing.
    """
    return math.ceil(NEEDED * noise_of(epsilon, dimensions) * dimensions)
