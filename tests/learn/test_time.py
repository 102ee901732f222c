"""No weights that a server sends make the work of a device depend on how small a gradient is."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from hush.learn import rounds
from hush.learn.rotations import rotate
from tests.learn.cases import first, person

SMALLEST = sys.float_info.min  # smaller numbers are subnormal: on many processors they take a hundred times longer


def rotated(monkeypatch: pytest.MonkeyPatch, weight: float, y: int) -> list[float]:
    """What a device rotates for one person, and what comes out of it."""
    seen: list[float] = []

    def spy(vector: list[float], seed: str) -> list[float]:
        turned = rotate(vector, seed)
        seen.extend([*vector, *turned])
        return turned

    monkeypatch.setattr(rounds, "rotate", spy)
    start = first(loss="logistic")
    round_ = replace(start, weights=(weight,) * len(start.weights))
    round_.record(person([1.0, 0.5, 1e-6]), y)
    assert seen
    return seen


@pytest.mark.parametrize("y", [-1, 1])
@pytest.mark.parametrize("weight", [0.0, 30.0, 140.0, 279.0, 300.0])
def test_no_gradient_is_subnormal(monkeypatch: pytest.MonkeyPatch, weight: float, y: int) -> None:
    assert all(value == 0 or abs(value) >= SMALLEST for value in rotated(monkeypatch, weight, y))


def test_a_gradient_that_is_not_flushed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_TINY", 0.0)
    found = [value for weight in (279.0, 279.5) for y in (-1, 1) for value in rotated(monkeypatch, weight, y)]
    assert any(0 < abs(value) < SMALLEST for value in found)
