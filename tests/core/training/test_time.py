"""No weights that a server sends make the work of a device depend on how small a gradient is."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import pytest

from hush.core.training import training
from hush.core.training.rotations import rotate
from hush.device import gradient as gradients
from hush.device.gradient import gradient_record, loss_record
from tests.learn.cases import first, person

SMALLEST = sys.float_info.min  # smaller numbers are subnormal: on many processors they take a hundred times longer


def rotated(monkeypatch: pytest.MonkeyPatch, weight: float, y: int) -> list[float]:
    """What a device rotates for one person, and what comes out of it."""
    seen: list[float] = []

    def spy(vector: list[float], seed: str) -> list[float]:
        turned = rotate(vector, seed)
        seen.extend([*vector, *turned])
        return turned

    monkeypatch.setattr(gradients, "rotate", spy)
    start = first(loss="logistic")
    round_ = replace(start, weights=(weight,) * len(start.weights))
    gradient_record(round_, person([1.0, 0.5, 1e-6]), y)
    assert seen
    return seen


@pytest.mark.parametrize("y", [-1, 1])
@pytest.mark.parametrize("weight", [0.0, 30.0, 140.0, 279.0, 300.0])
def test_no_gradient_is_subnormal(monkeypatch: pytest.MonkeyPatch, weight: float, y: int) -> None:
    assert all(value == 0 or abs(value) >= SMALLEST for value in rotated(monkeypatch, weight, y))


def test_a_gradient_that_is_not_flushed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_TINY", 0.0)
    found = [value for weight in (279.0, 279.5) for y in (-1, 1) for value in rotated(monkeypatch, weight, y)]
    assert any(0 < abs(value) < SMALLEST for value in found)


class Number:
    """A number that is multiplied and added, and refuses to be looked at."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: Number) -> Number:
        return Number(self.value * other.value)

    def __radd__(self, other: float) -> Number:
        return Number(other + self.value)

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value)

    def _refuse(self, *_: object) -> bool:
        raise AssertionError("looked at a number")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __abs__ = __float__ = _refuse


def test_sums_look_at_no_number() -> None:
    numbers: Any = [Number(value) for value in (1024.0, 1.0, -0.5, 0.0)]
    found: Any = training.dot(numbers, numbers)
    assert found.value == 1024.0**2 + 1.25
    with pytest.raises(AssertionError, match="looked"):  # more precise, at a price that depends on the numbers
        math.fsum(a * b for a, b in zip(numbers, numbers, strict=True))


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-200])
def test_no_product_with_a_weight_is_subnormal(monkeypatch: pytest.MonkeyPatch, weight: float) -> None:
    seen: list[float] = []

    def spy(a: list[float], b: list[float]) -> float:
        seen.extend(x * y for x, y in zip(a, b, strict=True))
        return training.dot(a, b)

    monkeypatch.setattr(gradients, "dot", spy)
    start = first(loss="logistic")
    round_ = replace(start, weights=(weight,) * len(start.weights), average=(weight,) * len(start.weights))
    gradient_record(round_, person([1.0, 0.5, 1e-6]), 1)
    loss_record(round_, person([1.0, 0.5, 1e-6]), 1)
    assert seen
    assert all(value == 0 or abs(value) >= SMALLEST for value in seen)
