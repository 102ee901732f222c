"""Channels that report several attributes together, with the whole epsilon.

Each report then covers more attributes, at the price of more noise about each. That pays from epsilon 2 or 3 on, if
people's values differ a lot; docs/joint.md has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import prod

from hush.core.channels import Cells, Cube
from hush.core.channels.cells import MAX_CELLS
from hush.core.channels.cube import MAX_SAMPLE, agreeing_corners
from hush.core.design.categorical import subset
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.errors import DesignError


def person_variance(channel: Cube) -> Fraction:
    """Return the worst variance of an estimated mean, times the number of people asked: B^2 divided by the share.

    The ratio estimator divides by the number of reports about the attribute, a share k/d of the people asked.
    """
    return channel.worst_variance / channel.share


@lru_cache(maxsize=256)
def cube(epsilon: Fraction, size: int, sample: int | None = None) -> Cube:
    """The sign-cube with the smallest worst variance per person asked. It tries every sample and agreement.

    With a `sample` only the agreement is chosen.
    """
    most = min(size, MAX_SAMPLE)
    if sample is not None and not 1 <= sample <= most:
        raise DesignError(f"the sample must be from 1 to {most}")
    samples = range(1, most + 1) if sample is None else (sample,)
    return min((channel for k in samples for channel in _cubes(epsilon, size, k)), key=person_variance)


def _cubes(epsilon: Fraction, size: int, sample: int) -> Iterator[Cube]:
    for agree in range(sample // 2 + 1, sample + 1):
        near = agreeing_corners(sample, agree)
        threshold = largest_threshold(exp_bounds(epsilon)[0], near, (1 << sample) - near)
        # If very few corners are near, the largest threshold may not make them likelier: no such channel exists.
        if threshold * ((1 << sample) - near) > (WORD - threshold) * near:
            yield Cube(size, sample, agree, threshold)


@lru_cache(maxsize=256)
def cells(epsilon: Fraction, sizes: tuple[int | None, ...]) -> Cells:
    """Sets of cells of a table, for its margins. `sizes`: the number of categories, or None for a number."""
    weights = {1, _checked_table(epsilon, sizes)}
    return min((_cells(epsilon, sizes, weight) for weight in sorted(weights)), key=_margins)


def _cells(epsilon: Fraction, sizes: tuple[int | None, ...], weight: int) -> Cells:
    count = prod(2 if size is None else size for size in sizes)
    return Cells(sizes, weight, largest_threshold(exp_bounds(epsilon)[0], weight, count - weight))


def _margins(channel: Cells) -> Fraction:
    """Return the sum of the variances of all attributes, for equal shares of categories."""
    shares = (Fraction(0) if size is None else Fraction(1, size) for size in channel.sizes)
    return sum((channel.variance_of(j, share) for j, share in enumerate(shares)), Fraction(0))


def _checked_table(epsilon: Fraction, sizes: tuple[int | None, ...]) -> int:
    """Return the weight of least error of the cells."""
    count = prod(2 if size is None else size for size in sizes)
    if not 2 <= count <= MAX_CELLS:
        raise DesignError(f"attributes that are reported together may have at most {MAX_CELLS} cells, not {count}")
    return subset(epsilon, count).weight


@lru_cache(maxsize=1024)
def table(epsilon: Fraction, sizes: tuple[int, ...]) -> Cells:
    """The table of two or more categories whose cells have the least total variance."""
    return _cells(epsilon, sizes, _checked_table(epsilon, sizes))
