"""Losses: slopes, the exponential, and the best constant."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext

import pytest

from hush import DesignError
from hush.core.training.losses import exponential, loss_named
from tests.learn.cases import LOSSES


@pytest.mark.parametrize("name", LOSSES)
def test_a_slope_is_the_derivative_of_its_loss(name: str) -> None:
    loss = loss_named(name)
    for y in (-1.0, 1.0):
        for score in (-30.0, -2.0, -0.4, 0.0, 0.7, 3.0, 25.0):
            numeric = (loss.value(score + 1e-6, y) - loss.value(score - 1e-6, y)) / 2e-6
            assert loss.slope(score, y) == pytest.approx(numeric, abs=1e-4)
            assert loss.bound is None or abs(loss.slope(score, y)) <= loss.bound
        assert abs(loss.slope(0.0, y)) <= loss.slope_at_zero
        far = 1600.0 * y - 2 * y if name == "squared" else 0.0
        assert loss.slope(800.0 * y, y) == pytest.approx(far, abs=1e-27)
        assert math.isfinite(loss.value(-1e6 * y, y))


def test_the_exponential_is_near_that_of_reals() -> None:
    with localcontext(Context(prec=60)):
        for i in range(-6400, 6401):
            x = i / 100 + i / 7e5
            exact = Decimal(min(max(x, -64.0), 64.0)).exp()
            assert abs(Decimal(exponential(x)) / exact - 1) < Decimal("1e-13")
    assert exponential(0.0) == 1.0
    assert exponential(1e308) == exponential(64.0)
    assert exponential(-1e308) == exponential(-64.0)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_the_constant_of_a_loss_has_the_least_mean_loss(name: str) -> None:
    loss, mean = loss_named(name), 0.3

    def risk(score: float) -> float:
        return (1 + mean) / 2 * loss.value(score, 1.0) + (1 - mean) / 2 * loss.value(score, -1.0)

    best = loss.constant(mean)
    assert risk(best) < min(risk(best - 0.01), risk(best + 0.01))
    assert loss_named("hinge").constant(mean) == pytest.approx(loss_named("logistic").constant(mean) / 2)


def test_an_unknown_loss_is_refused() -> None:
    wrong: list[object] = ["absolute", 3, None, []]
    for name in wrong:
        with pytest.raises(DesignError, match="squared, logistic, hinge"):
            loss_named(name)
