"""Audits of functions: textbook mechanisms are caught, honest ones pass.

False alarms: an audit of an honest function fails with probability 1e-6 at most, by construction; words and generators
are seeded here, so a test that passes once passes always.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from experiments.textbook import TextbookPiecewise

import hush
from hush.core.design.categorical import oue
from hush.errors import AuditError
from hush.planning.audits import RandomiserAudit
from hush.planning.audits.features import lowest_bit
from hush.testing import SeededCoins
from tests.cases import SMALL


def piecewise(epsilon: float) -> Callable[[float], float]:
    mechanism, rng = TextbookPiecewise(epsilon), random.Random(1)
    return lambda t: mechanism.draw(t, rng)


def laplace(epsilon: float) -> Callable[[float], float]:
    rng = random.Random(2)
    return lambda t: t + 2 / epsilon * math.log(1 - rng.random()) * rng.choice((-1, 1))


def response(p: float, outputs: tuple[Any, Any] = (0, 1)) -> Callable[[bool], Any]:
    rng = random.Random(3)
    return lambda bit: outputs[bit if rng.random() < p else not bit]


def bound(result: RandomiserAudit, kind: str) -> float:
    return max(attack.lower for attack in result.attacks if attack.kind == kind)


# -- floating point


@pytest.mark.parametrize("mechanism", [piecewise, laplace])
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("inputs", [[-1.0, 1.0], [0.0, 1.0], [0.3, 0.7]])
def test_textbook_mechanisms_leak_through_low_bits(
    mechanism: Callable[[float], Callable[[float], float]], epsilon: float, inputs: list[float]
) -> None:
    result = hush.audit(mechanism(epsilon), inputs, epsilon=epsilon, draws=8000)
    assert not result.passed
    assert bound(result, "low bits") > epsilon + 1  # "well above the claim"
    assert bound(result, "values") <= epsilon  # on paper they are right
    assert "FAILED" in str(result)
    assert "y" in result.failures[0]


def test_the_same_mechanism_without_low_bits_passes() -> None:
    """Rounding to a coarse grid afterwards does not make it private; but this attack no longer sees why."""
    draw = laplace(1.0)
    result = hush.audit(lambda t: round(draw(t) * 8) / 8, [-1.0, 1.0], epsilon=1.0, draws=8000)
    assert result.passed
    assert result.lower > 0.6


def test_impossible_outputs_are_counted() -> None:
    mechanism = TextbookPiecewise(2.0)
    result = hush.audit(piecewise(2.0), [0.0, 1.0], possible=mechanism.possible, draws=1000)
    assert not result.passed
    assert result.lower == math.inf
    assert result.impossible[0].count > 200
    assert "impossible" in result.failures[0]


def test_an_oracle_that_denies_what_happened_is_refused() -> None:
    with pytest.raises(AuditError, match="denies an output"):
        hush.audit(piecewise(2.0), [0.0, 1.0], possible=lambda y, t: y > 0, draws=1000)


@pytest.mark.parametrize(("y", "bit"), [(1.0, 0), (0.75, -2), (12.0, 2), (5e-324, -1074), (-0.5, -1), (0.0, None)])
def test_the_lowest_bit(y: float, bit: int | None) -> None:
    assert lowest_bit(y) == bit


# -- values


@pytest.mark.parametrize(
    "outputs", [(0, 1), (False, True), ("no", "yes"), (0.0, 1.0), ((0,), (1, 1)), (math.nan, 1.0), (0.0, -0.0)]
)
def test_honest_randomised_response_passes_and_the_bound_is_tight(outputs: tuple[Any, Any]) -> None:
    p = math.e / (1 + math.e)
    result = hush.audit(response(p, outputs), [False, True], epsilon=1.0)
    assert result.passed
    assert 0.85 < result.lower <= 1.0


def test_a_truth_that_is_told_too_often_is_caught() -> None:
    """Epsilon is ln(0.8/0.2) = 1.386. With 10,000 draws the bound falls below 1 with probability under 1e-6."""
    result = hush.audit(response(0.8), [False, True], epsilon=1.0)
    assert not result.passed
    assert 1.0 < result.lower <= math.log(4)


def test_who_claims_nothing_is_told_the_bound() -> None:
    result = hush.audit(response(0.8), [False, True])
    assert result.passed
    assert result.lower > 1.2


def test_a_function_that_says_it_all_is_caught_in_all_forms() -> None:
    rng = random.Random(4)
    leaks: list[Callable[[int], Any]] = [
        lambda x: x,
        lambda x: tuple(sorted({x, *rng.sample(range(10, 1000), 20)})),
        lambda x: (*(rng.getrandbits(1) for _ in range(20)), x),
        lambda x: x + rng.random(),
    ]
    for leak in leaks:
        result = hush.audit(leak, [0, 1], epsilon=4.0, draws=8000)
        assert not result.passed
        assert result.lower > 4


@pytest.mark.parametrize("channel", [SMALL["window-16-3"], SMALL["oue-6"], SMALL["laplace"], lambda e: oue(e, 40)])
def test_channels_of_hush_pass_as_functions(channel: Callable[[Fraction], Any]) -> None:
    made, coins = channel(Fraction(2)), SeededCoins(5)
    result = hush.audit(lambda state: made.draw(state, coins), [0, 1, 3], epsilon=2.0, draws=4000)
    assert result.passed
    assert result.lower > 0.8


# -- what is refused


def test_bad_arguments_are_refused() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 1.0)
    refused: list[Callable[[], object]] = [
        lambda: hush.audit(response(0.8), [0]),
        lambda: hush.audit(response(0.8), [0, 1], draws=10),
        lambda: hush.audit(response(0.8), [0, 1], confidence=1.0),
        lambda: hush.audit(response(0.8), [0, 1], epsilon=math.nan),
        lambda: hush.audit(response(0.8)),  # type: ignore[call-overload]
        lambda: hush.audit(plan, [0, 1]),  # type: ignore[call-overload]
        lambda: hush.audit(3, [0, 1]),  # type: ignore[call-overload]
        lambda: hush.audit(lambda x: [x], [0, 1]),
    ]
    for call in refused:
        with pytest.raises(AuditError):
            call()
