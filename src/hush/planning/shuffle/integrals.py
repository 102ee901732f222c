r"""The integral of the accountant: what n reports of a crowd hide, enclosed between two fractions.

Let S be a sum of independent random numbers, each with one of a few values: n_i of them from law i. Wanted is E f(S)
for f(x) = x_+ (offset o = 0) or f(x) = (1 - e^-x)_+ (o = 1). For every t > 0,

    E f(S - y) e^(ty) = h(y)   has the Fourier transform   F(u) = M(t + iu) / (s(s + o)),   s = t + iu,

where M is the product of the laws' moment generating functions, each to its power. E f(S) = h(0).

**From above.** Let V be normal with variance v and mean o*v/2, and independent of S. Then E f(S + V) >= E f(S): for
o = 0 by Jensen's inequality. For o = 1 it is Jensen's too, under the measure with density e^-S e^-V: there e^(S+V) has
the mean e^S given S, and E (1 - e^-(S+V))_+ is the average of (e^(S+V) - 1)_+. V multiplies F by e^(v s(s+o)/2), which
falls like e^(-v u^2/2). Poisson's formula says

    (d/2pi) sum over all integers k of F(kd) = sum over all integers m of h(2 pi m/d),

and h is never negative: so the sum on the left, without any bound on its step d, is *at least* h(0). What remains is to
add bounds of the terms that are left out, and of the rounding.

**From below**, for o = 0. E S 1(S+V > 0) <= E S_+, whatever V is. By Stein's lemma it is E (S+V)_+ minus v times the
density of S+V at 0, and the density has the transform M(s) e^(v s^2/2): one more term of the same sum. Its surplus
h(2 pi m/d), m not 0, is bounded by x_+ <= e^(ax)/(ea) for some a above t, and some below.

The parameters t, v, d are chosen by floats, as they decide how tight the result is and never whether it is right; they
are then exact fractions. t is near the minimum of M(t)/(t(t+o)), v is `fineness` times the variance of the tilted sum.
The work does not depend on n, but for about log n steps of a power.

**Rounding.** Values are rounded up by less than 2^-100 of the largest (S grows, and f(S) with it, by at most n times
that). Everything else is computed in units of 2^-128 (`hush.planning.shuffle.fixed`). The k-th rotation of each value
has an error of at most 4k units, phi(u) = M(t+iu)/M(t) of J values 4k + J + 2, its power 2n(4k + J + 6), the normal
factor 2(k+2)^2, the kernel k + 8; the sum over |k| <= K thus at most `_rounding` units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hush.planning.shuffle.fixed import BITS, ONE, PI, Complex, exponential, power, real_power, rotation

Law = Sequence[tuple[Fraction, Fraction]]
"""Probabilities and values. The probabilities add up to 1, or less if the rest counts nothing."""

REACH = 12.0  # the period of h, in standard deviations of the tilted sum
_GRAIN = 100  # values are rounded up to multiples of 2^-_GRAIN of the largest
_CUT = 10  # terms are left out where v u^2/2 > _CUT^2/2: they are below e^-50 < 2^-72
_STEEP = 60.0


@dataclass(frozen=True)
class Enclosure:
    """Bounds of E f(S)."""

    low: Fraction
    high: Fraction


def enclose(laws: Sequence[tuple[Law, int]], fineness: float, offset: int = 0) -> Enclosure:
    """Return bounds of E f(S) for a sum of n numbers of each law. With an offset of 1 the lower bound is 0."""
    if not any(g > 0 for law, _ in laws for _, g in law):
        return Enclosure(Fraction(0), Fraction(0))
    rounded, grain = _rounded(laws)
    numbers = [([(float(p), float(g)) for p, g in law], n) for law, n in rounded]
    tilt = _tilt(numbers, offset)
    curvature = _curvature(numbers, tilt, offset)
    t = Fraction(tilt)
    v = Fraction(min(fineness * curvature, 64 / (tilt * (tilt + offset))))
    period = max(REACH * math.sqrt(curvature), _STEEP / tilt)
    ratio = Fraction(2 * math.pi / period / tilt)  # d/t
    d = ratio * t
    last = math.isqrt(math.ceil(_CUT**2 / (v * d * d))) + 1
    tilted = [_Tilted.of(law, n, t, d) for law, n in rounded]
    total, density = _sums(tilted, v, t, ratio, last, offset)
    people = sum(n for _, n in laws)
    error = Fraction(_rounding(last, people, sum(len(law) for law, _ in laws)), ONE) + Fraction(1 + last, 1 << 71)
    kernel = t * (t + offset)
    size = exponential(v * kernel / 2)
    scale = math.prod((real_power(one.total, one.n, True) for one in tilted), start=Fraction(1)) * size[1]
    high = scale * d / (2 * kernel * PI[0]) * (max(Fraction(total, ONE), Fraction(0)) + error)
    if offset:
        return Enclosure(Fraction(0), high)
    inner = Fraction(total, ONE) - v * kernel * Fraction(density, ONE) - (1 + v * kernel) * error
    least = math.prod((real_power(one.total, one.n, False) for one in tilted), start=Fraction(1)) * size[0]
    low = least * d / (2 * kernel * PI[1]) * max(inner, Fraction(0))
    low -= scale * sum((one.slack for one in tilted), Fraction(0)) / (2 * t)  # x e^(-tx) <= 1/(et)
    low -= people * grain + _surplus(rounded, t, v, d, curvature)
    return Enclosure(max(low, Fraction(0)), high)


@dataclass(frozen=True)
class _Tilted:
    """n numbers of a law, tilted by e^(tg): weights in units, the rotation of each value by one step.

    `total` is the sum of the law times e^(tg), from above; `slack` is n times its relative error.
    """

    still: int
    weights: list[int]
    steps: list[Complex]
    n: int
    total: Fraction
    slack: Fraction

    @classmethod
    def of(cls, law: Law, n: int, t: Fraction, d: Fraction) -> _Tilted:
        bounds = [(p, exponential(t * g)) for p, g in law]
        total = sum((p * high for p, (_, high) in bounds), Fraction(0))
        width = sum((p * (high - low) for p, (low, high) in bounds), Fraction(0))
        weights = [math.floor(p * high / total * ONE) for p, (_, high) in bounds]
        still = sum(weight for weight, (_, g) in zip(weights, law, strict=True) if not g)
        moving = [(weight, rotation(d * g)) for weight, (_, g) in zip(weights, law, strict=True) if g]
        return cls(still, [weight for weight, _ in moving], [step for _, step in moving], n, total, n * width / total)


def _sums(
    laws: Sequence[_Tilted], v: Fraction, t: Fraction, ratio: Fraction, last: int, offset: int
) -> tuple[int, int]:
    """Return the sums over |k| <= last of the real parts of F, and of F without its kernel, both over F's size at 0."""
    d = ratio * t
    places = [[(ONE, 0)] * len(law.steps) for law in laws]
    turn_re, turn_im = rotation(v * d * (2 * t + offset) / 2)
    phase_re, phase_im = ONE, 0
    shrink = math.floor(exponential(-v * d * d)[0] * ONE)
    factor = math.floor(exponential(-v * d * d / 2)[0] * ONE)
    normal = ONE
    one, other = math.floor(ratio * ONE), math.floor(ratio * t / (t + offset) * ONE)
    total, density = ONE, ONE
    for k in range(1, last + 1):
        phase_re, phase_im = (
            phase_re * turn_re - phase_im * turn_im >> BITS,
            phase_re * turn_im + phase_im * turn_re >> BITS,
        )
        normal = normal * factor >> BITS
        factor = factor * shrink >> BITS
        re, im = phase_re * normal >> BITS, phase_im * normal >> BITS
        for i, law in enumerate(laws):
            there = [
                (x * cosine - y * sine >> BITS, x * sine + y * cosine >> BITS)
                for (x, y), (cosine, sine) in zip(places[i], law.steps, strict=True)
            ]
            places[i] = there
            sum_re, sum_im = law.still << BITS, 0
            for weight, (x, y) in zip(law.weights, there, strict=True):
                sum_re += weight * x
                sum_im += weight * y
            phi_re, phi_im = power(sum_re >> BITS, sum_im >> BITS, law.n)
            re, im = re * phi_re - im * phi_im >> BITS, re * phi_im + im * phi_re >> BITS
        # 1/((1 + ia)(1 + ib)) = (1 - ab - i(a + b)) / ((1 + a^2)(1 + b^2))
        a, b = k * one, k * other
        bottom = (ONE + (a * a >> BITS)) * (ONE + (b * b >> BITS)) >> BITS
        total += 2 * (re * (ONE - (a * b >> BITS)) + im * (a + b)) // bottom
        density += 2 * re
    return total, density


def _rounding(last: int, people: int, values: int) -> int:
    """Return how many units the sums may be wrong by."""
    each = 2 * people * (4 * last + values + 6) + 2 * (last + 2) ** 2 + 8 * last + 64
    return 4 * last * each


def _rounded(laws: Sequence[tuple[Law, int]]) -> tuple[list[tuple[Law, int]], Fraction]:
    """Return the laws with all values rounded up to multiples of one grain, and the grain."""
    largest = max(abs(g) for law, _ in laws for _, g in law)
    grain = Fraction(2) ** (math.frexp(float(largest))[1] - _GRAIN)
    made: list[tuple[Law, int]] = []
    for law, n in laws:
        found: dict[Fraction, Fraction] = {}
        for p, g in law:
            value = math.ceil(g / grain) * grain
            found[value] = found.get(value, Fraction(0)) + p
        made.append(([(p, g) for g, p in found.items() if p], n))
    return made, grain


def _surplus(laws: Sequence[tuple[Law, int]], t: Fraction, v: Fraction, d: Fraction, curvature: float) -> Fraction:
    """Bound the sum of h(2 pi m/d) over all m but 0, for an offset of 0."""
    away = Fraction(6 / math.sqrt(curvature))
    found = Fraction(0)
    for a in (t + away, max(t - away, t / 2)):
        gap = exponential(-min(abs(a - t) * 2 * PI[0] / d, Fraction(64)))[1]
        if v * a * a > 64 or any(a * g > 64 for law, _ in laws for _, g in law):
            return sum((n * max(g for _, g in law) for law, n in laws), Fraction(0))  # S is no larger
        moment = exponential(v * a * a / 2)[1]
        for law, n in laws:
            moment *= real_power(sum((p * exponential(a * g)[1] for p, g in law), Fraction(0)), n, True)
        found += gap / (1 - gap) * moment / (2 * a)
    return found


# -- parameters, by floats


def _mean(law: Sequence[tuple[float, float]], t: float) -> tuple[float, float]:
    """Return the mean and the variance of a tilted law."""
    top = max(t * g for _, g in law)
    weights = [p * math.exp(t * g - top) for p, g in law]
    total = math.fsum(weights)
    mean = math.fsum(w * g for w, (_, g) in zip(weights, law, strict=True)) / total
    return mean, math.fsum(w * (g - mean) ** 2 for w, (_, g) in zip(weights, law, strict=True)) / total


def _tilt(laws: Sequence[tuple[Sequence[tuple[float, float]], int]], offset: int) -> float:
    """Return about the t with the least M(t)/(t(t+o)), where t times the largest value is at most 60."""

    def slope(t: float) -> float:
        return math.fsum(n * _mean(law, t)[0] for law, n in laws) - 1 / t - 1 / (t + offset)

    largest = max(abs(g) for law, _ in laws for _, g in law)
    most = 60 / max(g for law, _ in laws for _, g in law)
    low, high = 2.0**-60 / largest, most
    if slope(high) < 0:
        return high
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high


def _curvature(laws: Sequence[tuple[Sequence[tuple[float, float]], int]], t: float, offset: int) -> float:
    """Return the second derivative of ln M(t)/(t(t+o)): the variance of the tilted sum, and that of the kernel."""
    return math.fsum(n * _mean(law, t)[1] for law, n in laws) + 1 / t**2 + 1 / (t + offset) ** 2
