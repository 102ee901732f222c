"""Several batches, against exact compositions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import pytest

from hush.planning.shuffle.losses import Loss, delta_of, loss_of


def response(ratio: Fraction, e: Fraction) -> Fraction:
    """The delta of randomised response with two outputs, exactly."""
    return max((ratio - e) / (1 + ratio), Fraction(0))


def repeated(ratio: float, times: int, epsilon: float) -> float:
    """The delta of randomised response, several times: the number of true answers is binomial."""
    p = ratio / (1 + ratio)
    found = 0.0
    for i in range(times + 1):
        here, there = p**i * (1 - p) ** (times - i), p ** (times - i) * (1 - p) ** i
        found += comb(times, i) * max(here - math.exp(epsilon) * there, 0.0)
    return found


RATIO = Fraction(5, 4)


def batch() -> Loss:
    return loss_of(lambda e: response(RATIO, e), math.log(RATIO) + 1e-9, 0.22, Fraction(1, 10**12))


def test_a_pair_that_reveals_at_least_as_much() -> None:
    loss = batch()
    assert sum(p for p, _ in loss.law) + loss.infinite == 1
    assert all(p > 0 for p, _ in loss.law)
    for e in (Fraction(1), Fraction(11, 10), Fraction(6, 5), Fraction(4, 5)):
        pair = sum((float(p) * max(1 - float(e) * math.exp(-loss), 0.0) for p, loss in loss.law), 0.0)
        assert pair + float(loss.infinite) >= float(max(response(RATIO, e), 1 - e)) - 1e-12


@pytest.mark.parametrize("times", [1, 4, 30])
def test_many_batches(times: int) -> None:
    for epsilon in (0.1, 0.5, 1.5):  # the last one is more than four batches can lose
        exact = repeated(float(RATIO), times, epsilon)
        found = float(delta_of([(batch(), times)], epsilon, 1e-3))
        assert found >= exact * (1 - 1e-12)
        assert found <= exact * 1.2 + 1e-3


def test_batches_of_two_kinds() -> None:
    one = float(delta_of([(batch(), 30)], 0.5, 1e-3))
    two = float(delta_of([(batch(), 12), (batch(), 18)], 0.5, 1e-3))
    assert abs(one - two) < 1e-3 * one


def test_losses_that_are_rounded_down_are_noticed() -> None:
    """The twin: a loss that is one step too small gives a delta below the truth."""
    loss = batch()
    lower = Loss(tuple((p, x - Fraction(1, 20)) for p, x in loss.law), loss.infinite)
    assert float(delta_of([(lower, 30)], 0.5, 1e-3)) < repeated(float(RATIO), 30, 0.5)


def test_what_only_one_side_can_produce_is_counted() -> None:
    loss = loss_of(lambda e: max(response(RATIO, e), Fraction(1, 50)), 9.0, 0.22, Fraction(1, 50))
    assert loss.infinite >= Fraction(1, 50)
    assert delta_of([(loss, 10)], 5.0, 1e-2) >= 1 - Fraction(49, 50) ** 10
