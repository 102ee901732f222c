"""What one batch reveals: delta as a function of e^epsilon, from above and from below.

Theorem (Balle, Bell, Gascon and Nissim, The Privacy Blanket of the Shuffle Model, 2019). Let w(y) be at most the
probability of the report y under any record. In a shuffled batch of n reports, for two records x and z of one person,

    delta <= E (G_1 + ... + G_n)_+ / n,    G = (R_x(y) - e^epsilon R_z(y)) / w(y) with probability w(y), else 0.

Each of the others reports from w with probability |w|, else from the rest of their law. Tell the collector who does
the latter, and what they report: a multiset of draws from w and one from R_x or R_z remains. With w = R_s it is an
equation, for the data sets in which all others have the record s. So it gives lower bounds, too: of what anybody
could prove. For m reports that a relay draws from w/|w|, whatever all others report, n is m + 1 and w is w/|w|.

By the order of contrasts, one contrast replaces all pairs of records. e^epsilon is a fraction: one that is not above
for the upper bound, as G grows when it falls, and one that is not below for the lower bound.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hush.core.channels.contrast import Contrast
from hush.planning.shuffle.integrals import Law, enclose

VALUES = 64
"""More values of G than this are made fewer, on the safe side."""


def above(contrast: Contrast, n: int, factor: Fraction, fineness: float) -> Fraction:
    """Return an upper bound of delta for e^epsilon = factor."""
    return min(enclose([(_spread(_values(contrast, factor)), n)], fineness).high / n, Fraction(1))


def below(contrast: Contrast, n: int, factor: Fraction, fineness: float) -> Fraction:
    """Return a lower bound of delta for e^epsilon = factor, if the contrast is exact."""
    return enclose([(_joined(_values(contrast, factor)), n)], fineness).low / n


def _values(contrast: Contrast, factor: Fraction) -> Law:
    """Return the law of G, from the smallest value to the largest."""
    found: dict[Fraction, Fraction] = {Fraction(0): 1 - sum((w for w, _, _ in contrast), Fraction(0))}
    for w, a, b in contrast:
        value = a - factor * b
        found[value] = found.get(value, Fraction(0)) + w
    return [(p, g) for g, p in sorted(found.items()) if p]


def _marks(law: Law) -> list[int]:
    """Return the places of some values: the ends, 0, and about equally many per part of E G^2 on either side of 0."""
    marks = {0, len(law) - 1}
    for side in (range(len(law)), range(len(law) - 1, -1, -1)):  # the far ends first: they matter most
        places = [i for i in side if (law[i][1] < 0) == (side.step > 0)]
        weights = [float(law[i][0]) * float(law[i][1]) ** 2 for i in places]
        whole, so_far, count = sum(weights) or 1.0, 0.0, 0
        for i, weight in zip(places, weights, strict=True):
            so_far += weight
            if so_far * (VALUES // 2 - 2) >= count * whole or not law[i][1]:
                marks.add(i)
                count += 1
    return sorted(marks)


def _spread(law: Law) -> Law:
    """Return fewer values: the others are split between their neighbours, with the same mean. Sums are spread."""
    if len(law) <= VALUES:
        return law
    marks = _marks(law)
    found = {i: law[i][0] for i in marks}
    for low, high in pairwise(marks):
        left, right = law[low][1], law[high][1]
        for p, g in law[low + 1 : high]:
            up = (g - left) / (right - left)
            found[low] += p * (1 - up)
            found[high] += p * up
    return [(p, law[i][1]) for i, p in found.items()]


def _joined(law: Law) -> Law:
    """Return fewer values: neighbours are replaced by their mean. Sums are less spread."""
    if len(law) <= VALUES:
        return law
    found = []
    marks = _marks(law)
    for low, high in zip([-1, *marks], [*marks, len(law)], strict=True):
        group = law[low + 1 : high + 1]
        total = sum((p for p, _ in group), Fraction(0))
        if total:
            found.append((total, sum((p * g for p, g in group), Fraction(0)) / total))
    return found
