"""Shares that are nonnegative and add up to 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def simplex(points: Sequence[float]) -> list[float]:
    """Return the nearest shares that are nonnegative and add up to 1.

    Nearest is meant in the Euclidean sense: the same is taken from every point, and negative ones then become 0.
    What is taken lets the largest ones, however many, keep a sum of 1. With too few or too many of them it is less.
    """
    totals = enumerate(accumulate(sorted(points, reverse=True)), start=1)
    surplus = max((total - 1) / rank for rank, total in totals)
    return [max(point - surplus, 0.0) for point in points]
