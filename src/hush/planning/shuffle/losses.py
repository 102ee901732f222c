"""Several batches: a pair of laws that reveals at least as much as a batch, and what many of them reveal together.

delta as a function of E = e^epsilon is convex and falls from 1 at E = 0. Take upper bounds of it at E_1 < E_2 < ... and
(0, 1), the largest convex function below these points, and from the last point on a constant. That is not below
delta anywhere. It is the delta of two laws P and Q whose likelihood ratio takes the values E_i: where the slope grows
by q_i, Q has the probability q_i and P has E_i q_i; the constant is what P has where Q has nothing. Such a pair reveals
at least as much as the batch, and products of pairs at least as much as batches one after another, even if later ones
are chosen by what the earlier ones showed (Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via
Characteristic Function, 2022; the points: Doroshenko et al., Connect the Dots, 2022).

The loss of a product is the sum of the losses ln E_i, which are rounded up. So

    delta(epsilon) = E_P (1 - e^(epsilon - loss))_+ + (what P has where Q has nothing),

an integral of `hush.planning.shuffle.integrals`. A contrast is the same with x and z exchanged, so the values of delta
below E = 1 follow from those above: delta(1/E) = 1 - 1/E + delta(E)/E.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from hush.core.exact import exp_bounds
from hush.planning.shuffle.integrals import enclose

POINTS = 48
"""From this many E above 1 on, the next ones are farther apart."""

_STEP = 8.0  # points per standard deviation of the loss
_BITS = 96
_UNIT = Fraction(1, 1 << 64)


@dataclass(frozen=True)
class Loss:
    """The losses of one batch: probabilities under P and losses; and what P has where Q has nothing."""

    law: tuple[tuple[Fraction, Fraction], ...]
    infinite: Fraction


def loss_of(curve: Callable[[Fraction], Fraction], top: float, spread: float, least: Fraction) -> Loss:
    """Return the losses of a batch whose delta is at most `curve`, and 0 from `top` on.

    `spread` is about the standard deviation of the loss: points are a part of it apart, up to where delta is `least`.
    """
    step = Fraction(min(spread / _STEP, top / 8))
    x = Fraction(0)
    points: list[tuple[Fraction, Fraction, Fraction]] = []  # E, a loss that is not below ln E, delta
    while True:
        factor = exp_bounds(x)[0]
        value = curve(factor) if x < top else Fraction(0)
        points.append((factor, x, value))
        if x:  # exp_bounds are within 2^-180, relatively
            points.append((1 / factor, _UNIT - x, 1 - 1 / factor + value / factor))
        if value <= least:
            break
        if len(points) > 2 * POINTS:
            step = step * 9 / 8  # the last points are farther apart, however far there is to go
        x = min(x + step, Fraction(top))
    return _pair(sorted(points))


def _pair(points: Sequence[tuple[Fraction, Fraction, Fraction]]) -> Loss:
    """Return the losses of the largest convex function below the points, and (0, 1)."""
    hull: list[tuple[Fraction, Fraction, Fraction]] = [(Fraction(0), Fraction(0), Fraction(1))]
    for point in points:
        value = _up(min(point[2], Fraction(1)))
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], (point[0], point[1], value)):
            hull.pop()
        hull.append((point[0], point[1], value))
    while len(hull) > 2 and hull[-1][2] >= hull[-2][2]:  # a constant from the lowest point on is lower
        hull.pop()
    slopes = [_slope(a, b) for a, b in pairwise(hull)] + [Fraction(0)]
    law = [
        (factor * (after - before), loss)
        for (factor, loss, _), before, after in zip(hull[1:], slopes, slopes[1:], strict=False)
    ]
    return Loss(tuple((p, loss) for p, loss in law if p), hull[-1][2])


def _up(value: Fraction) -> Fraction:
    """Round up to few bits, so that fractions stay short."""
    return Fraction(math.ceil(value * (1 << _BITS)), 1 << _BITS)


def _slope(a: tuple[Fraction, Fraction, Fraction], b: tuple[Fraction, Fraction, Fraction]) -> Fraction:
    return (b[2] - a[2]) / (b[0] - a[0])


def delta_of(losses: Sequence[tuple[Loss, int]], epsilon: float, fineness: float) -> Fraction:
    """Return an upper bound of delta after n batches of each kind."""
    finite = math.prod(((1 - loss.infinite) ** n for loss, n in losses), start=Fraction(1))
    shift = ([(Fraction(1), -Fraction(epsilon))], 1)
    found = enclose([*((loss.law, n) for loss, n in losses), shift], fineness, offset=1).high
    return min(found + 1 - finite, Fraction(1))
