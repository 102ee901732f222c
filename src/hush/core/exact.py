"""Rational bounds of e^x, and the integer thresholds that follow from them.

Privacy is a comparison with e^epsilon, which is irrational. hush never compares floats here: it encloses
e^epsilon between two rationals and stays below the lower one.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, inf, log1p, nextafter

WORD = 1 << 64
"""Probabilities of coins are integers out of this many."""

_SCALE = 1 << 192  # fixed-point unit of the series; leaves bounds within 2^-180 of e^x, relatively


@lru_cache(maxsize=1024)
def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals (lower, upper) with lower <= e^x <= upper, for 0 <= x <= 64.

    All terms of the Taylor series are positive, so a partial sum of terms rounded down is a lower bound.
    For the upper bound, terms are rounded up. The sum stops at a term of one unit past index 2x. From there on
    every term is at most half of the one before, so all later terms together add at most one unit.
    """
    if not 0 <= x <= 64:
        raise ValueError("exp_bounds is for 0 <= x <= 64")
    p, q = x.numerator, x.denominator
    low = term = _SCALE
    i = 0
    while term:
        i += 1
        term = term * p // (q * i)
        low += term
    high = term = _SCALE
    i = 0
    while term > 1 or i * q < 2 * p:
        i += 1
        term = -(-term * p // (q * i))
        high += term
    return Fraction(low, _SCALE), Fraction(high + 1, _SCALE)


def log_above(ratio: Fraction) -> float:
    """Return a float that is proved to be at least ln(ratio), and at most a few units of the last place more.

    For 1 <= ratio <= e^64. Use it to show people what a ratio costs: it never understates the cost.
    """
    if ratio <= 1:
        return 0.0
    x = log1p(float(ratio - 1)) * (
        1 - 2.0**-50
    )  # the logarithm of the ratio itself would be 0 near 1, far below the result
    while exp_bounds(Fraction(x))[0] < ratio:
        x = nextafter(x, inf)
    return x


def largest_threshold(bound: Fraction, inside: int, outside: int) -> int:
    """Return the largest T < 2^64 for which T/inside <= bound * (2^64 - T)/outside.

    A group of `inside` outputs has probability T/2^64, and the `outside` others have the rest. Each group is
    uniform. So no output is more than `bound` times likelier than one of the other group.
    """
    top = WORD * bound.numerator * inside
    bottom = outside * bound.denominator + bound.numerator * inside
    return top // bottom


def aligned_threshold(bound: Fraction, inside: int, outside: int, unit: int = 1) -> int:
    """Return the largest such T that is divisible by inside*unit, with 2^64 - T divisible by outside*unit.

    One 64-bit word then decides the group *and* a member of it, exactly uniformly and without rejection. The word
    modulo `unit`, a power of two, is uniform too, and independent of both. Such T form an arithmetic progression of
    step lcm(inside, outside) * unit, and exist if and only if gcd(inside, outside) divides 2^64/unit, that is, if it is
    a power of two (and not too large).
    """
    common = gcd(inside, outside)
    words = WORD // unit
    if words % common:
        raise ValueError("gcd(inside, outside) must be a power of two")
    step = inside * outside // common
    other = outside // common
    first = inside * (words // common * pow(inside // common, -1, other) % other)
    largest = largest_threshold(bound, inside, outside) // unit
    if largest < first:
        raise ValueError("no aligned threshold is this small")
    return unit * (first + (largest - first) // step * step)


def log_digits(ratio: Fraction, places: int = 30) -> str:
    """Return ln(ratio), for ratio >= 1, as a decimal with `places` places, rounded up: it is never too small.

    The quotient is rounded up. Decimal logarithms are correctly rounded, so the next number is above the true one.
    """
    if ratio < 1:
        raise ValueError("log_digits is for ratios of 1 or more")
    if ratio == 1:
        return "0"
    context = Context(prec=places + 30, rounding=ROUND_CEILING)
    above = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))).next_plus(context)
    return format(above.quantize(Decimal(f"1e-{places}"), context=context).normalize(context), "f")
