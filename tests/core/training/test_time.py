"""No weights that a server sends make the work of a device depend on how small a gradient is."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import hush
from hush.core.training import training
from hush.core.training.rotations import rotate
from hush.device import gradient as gradients
from hush.device.gradient import gradient_record, loss_record
from tests.learn.cases import first, person

SMALLEST = sys.float_info.min  # smaller numbers are subnormal: on many processors they take a hundred times longer


def rotated(monkeypatch: pytest.MonkeyPatch, weight: float, y: int, scale: float = 1e100) -> list[float]:
    """What a device rotates for one person, and what comes out of it."""
    seen: list[float] = []

    def spy(vector: list[float], seed: str) -> list[float]:
        turned = rotate(vector, seed)
        seen.extend([*vector, *turned])
        return turned

    monkeypatch.setattr(gradients, "rotate", spy)
    start = first(loss="logistic", scale=(1.0, 1.0, scale))
    round_ = replace(start, weights=(weight,) * len(start.weights))
    gradient_record(round_, person([1.0, 0.5, 1e-6]), y)
    assert seen
    return seen


@pytest.mark.parametrize("y", [-1, 1])
@pytest.mark.parametrize("weight", [0.0, 20.0, 30.0, 40.0, 300.0])
def test_no_gradient_is_subnormal(monkeypatch: pytest.MonkeyPatch, weight: float, y: int) -> None:
    assert all(value == 0 or abs(value) >= SMALLEST for value in rotated(monkeypatch, weight, y))


def test_a_gradient_of_any_scale_that_is_not_flushed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_TINY", 0.0)
    monkeypatch.setattr(training, "SIZES", (0.0, math.inf))
    found = [value for weight in (18.0, 20.0) for y in (-1, 1) for value in rotated(monkeypatch, weight, y, 1e290)]
    assert any(0 < abs(value) < SMALLEST for value in found)


def steps(own: training.Training, values: Sequence[float]) -> list[float]:
    """All numbers on the way from features to inputs, before anything is flushed."""
    assert own.centre is not None
    assert own.scale is not None
    moved = [a - b for a, b in zip(values, own.centre, strict=True)]
    return [*moved, *(a / b for a, b in zip(moved, own.scale, strict=True))]


@pytest.mark.parametrize("centre", [0.0, 1e-100, -1e-100, 0.3, -1e100])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_no_centre_and_no_scale_make_subnormal_features(centre: float, scale: float) -> None:
    own = first(centre=(centre,) * 3, scale=(scale,) * 3).training
    near = math.nextafter(centre, 1.0) if 2.0**-53 < abs(centre) < 1 else 1.0
    for value in (0.0, 1.0, -1.0, 2.0**-53, centre if abs(centre) < 1 else 0.0, near):
        assert all(x == 0 or SMALLEST <= abs(x) < math.inf for x in steps(own, [value] * 3))


@pytest.mark.parametrize(
    "setting", [{"centre": (1e-101, 0.0, 0.0)}, {"scale": (1.0, 1.0, 1.1e100)}, {"scale": (1.0, 1.0, 9e-101)}]
)
def test_centres_and_scales_that_could_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(hush.DesignError, match=next(iter(setting))):
        first(**setting)


def test_a_centre_of_any_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SIZES", (0.0, math.inf))
    own = first(centre=(1e-310,) * 3, scale=(1.0,) * 3).training
    assert any(0 < abs(x) < SMALLEST for x in steps(own, [0.0] * 3))


@pytest.mark.parametrize("setting", [{"gradient": "duchi"}, {}])
@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e300, 1.7e308])
def test_no_bound_and_no_radius_make_subnormal_quotients(setting: dict[str, Any], size: float) -> None:
    start = first(loss="hinge", bound=size, radius=size, **setting)
    for y in (-1, 1):
        found = gradient_record(start, person([1.0, 0.5, 1e-6]), y).values()
        assert all(value == 0 or abs(value) >= SMALLEST for value in found)
        assert any(found)


@pytest.mark.parametrize("cap", [1e-300, 1e-150, 1.0, 1e150, 1e300])
@pytest.mark.parametrize("weight", [0.0, 1e-160, 3e-152, 1e-80, 1e-70, 1.0, 1e40])
def test_no_cap_and_no_weights_make_a_subnormal_loss_or_quotient(cap: float, weight: float) -> None:
    for loss in ("squared", "logistic", "hinge"):
        start = first(loss=loss, cap=cap)
        round_ = replace(start, weights=(weight,) * len(start.weights))
        for x in ([0.0, 0.0, 0.0], [1.0, 0.5, 1e-6]):
            value = loss_record(round_, person(x), 0.0 if loss == "squared" else 1)["loss"]
            assert value == 0 or min(value, value / cap) >= SMALLEST


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
