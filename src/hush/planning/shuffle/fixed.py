"""Numbers in fixed point: integers that count units of 2^-128. Every function states its error in units.

Python's integers are exact, so a rounding happens only where a product is shifted back, and it is one unit at most. A
complex number is a pair of integers. All complex numbers here have a modulus of at most 1, up to their error, so an
error never grows by multiplication: the errors of two factors add up, and rounding adds at most 2 units.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hush.core.exact import exp_bounds

BITS = 128
ONE = 1 << BITS
_GUARD = 64
_HALVINGS = 40
_FLOOR = -(1 << 14)  # powers below 2^_FLOOR are taken as that, or as 0

PI = (Fraction(3141592653589793, 10**15), Fraction(3141592653589794, 10**15))
"""Bounds of pi."""

Complex = tuple[int, int]


def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of e^x for x <= 64, within 2^-150 of it, relatively (if it is not below 2^-16000)."""
    if x >= 0:
        return exp_bounds(x)
    parts = math.ceil(-x / 64)
    low, high = exp_bounds(-x / parts)
    if parts == 1:
        return 1 / high, 1 / low
    return real_power(1 / high, parts, False), real_power(1 / low, parts, True)


def rotation(angle: Fraction) -> Complex:
    """Return e^(i angle), with an error of at most 2 units.

    The series is summed at the angle divided by 2^m, with 64 bits more, and squared m times. It has fewer than 2^6
    terms of an error of 2, a square doubles the error and adds 2, so the error is below 2^(m+8) of these finer units.
    """
    halvings = max(0, math.ceil(abs(angle)).bit_length() + 1)
    if halvings > _HALVINGS:
        raise ValueError("an angle must be below 2^38")
    bits = BITS + _GUARD
    x = math.floor(angle * (1 << bits) / (1 << halvings))
    total = [0, 0]
    term, j = 1 << bits, 0
    while term not in (0, -1):
        total[j & 1] += term if j & 2 == 0 else -term
        j += 1
        term = (term * x >> bits) // j
    re, im = total
    for _ in range(halvings):
        re, im = (re + im) * (re - im) >> bits, re * im >> bits - 1
    return re >> _GUARD, im >> _GUARD


def power(re: int, im: int, n: int) -> Complex:
    """Return the n-th power. An error of e in the base becomes at most 2n(e + 4) (if that is far below ONE)."""
    out_re, out_im = ONE, 0
    while True:
        if n & 1:
            out_re, out_im = out_re * re - out_im * im >> BITS, out_re * im + out_im * re >> BITS
        n >>= 1
        if not n:
            return out_re, out_im
        re, im = (re + im) * (re - im) >> BITS, re * im >> BITS - 1
        if -2 < re < 2 and -2 < im < 2:  # every later factor is at most 1, so the whole is at most 3 units
            return 0, 0


def real_power(base: Fraction, n: int, up: bool) -> Fraction:
    """Return a bound of base^n for base > 0, from above or below. It is tight unless it is below 2^-16000."""
    bits = 192
    mantissa, exponent = _shortened(base.numerator, 0, bits, up)
    bottom, below = _shortened(base.denominator, 0, bits, not up)
    mantissa, shift = (mantissa << 2 * bits), exponent - below - 2 * bits
    mantissa = -(-mantissa // bottom) if up else mantissa // bottom
    square = _shortened(mantissa, shift, bits, up)
    result = (1, 0)
    while n:
        if n & 1:
            result = _shortened(result[0] * square[0], result[1] + square[1], bits, up)
        n >>= 1
        square = _shortened(square[0] * square[0], 2 * square[1], bits, up)
        if square[0].bit_length() + square[1] < _FLOOR and n:
            return Fraction(1, 1 << -_FLOOR) if up else Fraction(0)
    mantissa, exponent = result
    if mantissa.bit_length() + exponent < _FLOOR:
        return Fraction(1, 1 << -_FLOOR) if up else Fraction(0)
    return Fraction(mantissa) * Fraction(2) ** exponent


def _shortened(mantissa: int, exponent: int, bits: int, up: bool) -> tuple[int, int]:
    """Return mantissa*2^exponent with fewer bits, rounded up or down."""
    extra = mantissa.bit_length() - bits
    if extra <= 0:
        return mantissa, exponent
    return (-(-mantissa >> extra) if up else mantissa >> extra), exponent + extra
