"""The integral, against exact sums; and its stated errors, against the same with twice the digits."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.planning.shuffle import fixed, integrals
from hush.planning.shuffle.fixed import ONE, exponential, power, real_power, rotation
from hush.planning.shuffle.integrals import Law, enclose


def sums(laws: list[tuple[Law, int]]) -> dict[Fraction, Fraction]:
    """The exact law of a sum."""
    total = {Fraction(0): Fraction(1)}
    for law, n in laws:
        for _ in range(n):
            after: dict[Fraction, Fraction] = defaultdict(Fraction)
            for s, p in total.items():
                for q, g in law:
                    after[s + g] += p * q
            total = after
    return total


def positive_part(laws: list[tuple[Law, int]]) -> Fraction:
    return sum((p * s for s, p in sums(laws).items() if s > 0), Fraction(0))


def random_law(source: random.Random) -> Law:
    weights = [source.randint(1, 30) for _ in range(source.choice((2, 3, 4)))]
    values = [Fraction(source.randint(-60, 30), source.choice((1, 3, 7, 16))) for _ in weights]
    values[0] = abs(values[0]) + 1
    return [(Fraction(w, sum(weights)), g) for w, g in zip(weights, values, strict=True)]


@pytest.mark.parametrize("fineness", [1e-1, 1e-2, 1e-3])
def test_the_exact_value_is_enclosed(fineness: float) -> None:
    source = random.Random(3)
    for _ in range(25):
        law, n = random_law(source), source.choice((1, 2, 3, 5, 8))
        exact, found = positive_part([(law, n)]), enclose([(law, n)], fineness)
        assert 0 <= found.low <= exact <= found.high


def test_bounds_close_in() -> None:
    law = [(Fraction(1, 5), Fraction(3)), (Fraction(3, 10), Fraction(1, 7)), (Fraction(1, 2), Fraction(-2))]
    exact = positive_part([(law, 12)])
    gaps = [found.high - found.low for found in (enclose([(law, 12)], f) for f in (1e-2, 1e-3, 1e-4))]
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]
    assert gaps[2] < exact / 500


def test_values_that_are_rounded_down_are_noticed() -> None:
    """The twin: with values rounded down instead of up by a 64th of the largest, the bound is below the truth."""
    law = [(Fraction(1, 5), Fraction(301, 100)), (Fraction(4, 5), Fraction(-1))]
    exact = positive_part([(law, 6)])
    assert enclose([(law, 6)], 1e-5).high >= exact
    lowered = [(p, Fraction(math.floor(g * 16), 16)) for p, g in law]
    assert enclose([(lowered, 6)], 1e-5).high < exact


def test_losses_of_several_laws() -> None:
    """With an offset of 1: two kinds of randomised response, one after another."""
    laws = []
    for ratio, n in ((Fraction(3), 3), (Fraction(3, 2), 2)):
        loss = Fraction(math.log(ratio))
        laws.append(([(ratio / (1 + ratio), loss), (1 / (1 + ratio), -loss)], n))
    for epsilon in (0.3, 1.0, 2.5):
        shift = ([(Fraction(1), Fraction(-epsilon))], 1)
        exact = sum(float(p) * -math.expm1(-float(s)) for s, p in sums([*laws, shift]).items() if s > 0)
        found = float(enclose([*laws, shift], 1e-4, offset=1).high)
        assert exact <= found * (1 + 1e-12)
        assert found <= exact * 1.02


def test_nothing_positive_is_nothing() -> None:
    found = enclose([([(Fraction(1), Fraction(-1))], 5)], 1e-2)
    assert found.low == found.high == 0


def test_crowds_of_any_size_take_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terms: list[int] = []
    original = integrals._sums

    def counted(laws: Any, v: Fraction, t: Fraction, ratio: Fraction, last: int, offset: int) -> tuple[int, int]:
        terms.append(last)
        return original(laws, v, t, ratio, last, offset)

    monkeypatch.setattr(integrals, "_sums", counted)
    for n in (10**4, 10**8, 10**12):
        e = 1 + Fraction(4, math.isqrt(n))
        law = [(Fraction(1, 50), 20 - e), (Fraction(1, 50), 1 - 20 * e), (Fraction(1, 5), 1 - e)]
        law.append((1 - sum((p for p, _ in law), Fraction(0)), Fraction(0)))
        assert enclose([(law, n)], 1e-2).high > 0
    assert max(terms) < 1.2 * min(terms)


# -- the stated errors


def test_sums_are_within_the_stated_error_of_twice_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(4)
    last = 60

    def both(law: Law, n: int) -> tuple[int, int]:
        t, v, ratio = Fraction(1, 8), Fraction(1, 64), Fraction(1, 5)
        tilted = [integrals._Tilted.of(law, n, t, t * ratio)]
        return integrals._sums(tilted, v, t, ratio, last, 0)

    for n in (1, 7, 1000, 10**6, 10**9):
        law = random_law(source)
        short = both(law, n)
        with monkeypatch.context() as patched:
            for module in (fixed, integrals):
                patched.setattr(module, "BITS", 256)
                patched.setattr(module, "ONE", 1 << 256)
            long = both(law, n)
        spare = integrals._rounding(last, n, len(law))
        for one, other in zip(short, long, strict=True):
            assert abs((one << 128) - other) <= spare << 128
        assert spare < ONE >> 40


@given(st.fractions(-1000, 1000, max_denominator=10**6))
def test_rotations(angle: Fraction) -> None:
    re, im = rotation(angle)
    assert abs(re / ONE - math.cos(float(angle))) < 1e-12
    assert abs(im / ONE - math.sin(float(angle))) < 1e-12
    half = rotation(angle / 2)
    square = half[0] ** 2 - half[1] ** 2 >> 128, 2 * half[0] * half[1] >> 128
    assert max(abs(square[0] - re), abs(square[1] - im)) <= 2 + 2 * 2 + 2


def test_an_angle_that_is_too_large() -> None:
    with pytest.raises(ValueError, match="below"):
        rotation(Fraction(1 << 60))


@given(st.integers(1, 5000), st.fractions(0, 7, max_denominator=1000))
def test_powers_of_rotations(n: int, angle: Fraction) -> None:
    base, whole = rotation(angle), rotation(n * angle)
    found = power(*base, n)
    assert max(abs(found[0] - whole[0]), abs(found[1] - whole[1])) <= 2 * n * (2 + 4) + 2


@given(st.fractions(Fraction(1, 1000), 3, max_denominator=10**9), st.integers(0, 300))
def test_real_powers(base: Fraction, n: int) -> None:
    exact = base**n
    low, high = real_power(base, n, False), real_power(base, n, True)
    assert low <= exact <= high
    assert high - low <= exact / 10**40


def test_tiny_powers_stay_short() -> None:
    assert real_power(Fraction(1, 2), 10**9, False) == 0
    assert 0 < real_power(Fraction(1, 2), 10**9, True) < Fraction(1, 2**16000)


@given(st.fractions(-700, 60, max_denominator=10**6))
def test_exponentials(x: Fraction) -> None:
    low, high = exponential(x)
    assert low <= Fraction(math.exp(x)) * (1 + Fraction(1, 2**40))
    assert high >= Fraction(math.exp(x)) * (1 - Fraction(1, 2**40))
    assert low <= high
