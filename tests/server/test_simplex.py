"""The nearest shares that are nonnegative and add up to 1, in numbers."""

from __future__ import annotations

import pytest

from hush.server.simplex import simplex


@pytest.mark.parametrize(
    ("points", "shares"),
    [
        ([2.0], [1.0]),
        ([-3.0], [1.0]),
        ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25]),
        ([0.125, 0.125], [0.5, 0.5]),
        ([0.75, 0.75, -0.25, -0.25], [0.5, 0.5, 0.0, 0.0]),
        ([-0.25, 0.875, 0.375], [0.0, 0.75, 0.25]),
        ([0.0, 3.0, 1.0], [0.0, 1.0, 0.0]),
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]),  # the last is where nothing is left of it
        ([0.0, 0.0, 0.0, 0.0], [0.25] * 4),
    ],
)
def test_the_same_is_taken_from_all(points: list[float], shares: list[float]) -> None:
    assert simplex(points) == shares
