"""Shares that are nonnegative and add up to 1."""

from __future__ import annotations

from collections.abc import Sequence


def simplex(points: Sequence[float]) -> list[float]:
    """Return the nearest shares that are nonnegative and add up to 1.

    Nearest is meant in the Euclidean sense: the same is taken from every point, and negative ones then become 0.
    """
    total, surplus = 0.0, 0.0
    for rank, point in enumerate(sorted(points, reverse=True), start=1):
        total += point
        candidate = (total - 1) / rank
        if point <= candidate:
            break
        surplus = candidate
    return [max(point - surplus, 0.0) for point in points]
