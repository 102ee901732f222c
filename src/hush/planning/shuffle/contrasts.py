"""The contrasts of a whole plan: k of d questions, drawn on the device.

A report names the questions that were drawn and answers them. Questions are drawn in the same way for all records, and
given the questions the answers are independent. So the contrast of two records is a mixture, over sets of questions, of
products of the questions' contrasts, and a product is covered if each factor is (`hush.core.channels.contrast`). The
blanket of the plan is made of the questions' blankets in the same way. Two records may differ in every answer.

If questions share attributes, not every combination of states belongs to a record. That leaves the upper bound true. A
lower bound needs real data sets: there, answers to all questions but some that share no attribute are thrown away,
which can only hide more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from hush.core.channels.contrast import Contrast, merged, widest
from hush.core.plan import Plan, Question

MOST = 20_000
"""A contrast with more values than this is not computed: of several answers that are all different."""

_NOTHING: Contrast = ((Fraction(1), Fraction(1), Fraction(1)),)


class TooManyError(Exception):
    """A contrast has too many values."""


def blanket_of(plan: Plan) -> Contrast:
    """Return a contrast with the plan's blanket that covers those of all pairs of records."""
    known = {question.channel: question.channel.blanket() for question in plan.questions}
    parts = [known[question.channel] for question in plan.questions]
    try:
        return _drawn(plan, parts)
    except TooManyError:
        totals = [sum((w for w, _, _ in part), Fraction(0)) for part in parts]
        sums = [Fraction(1)] + [Fraction(0)] * plan.k  # the elementary symmetric polynomials of the totals
        for total in totals:
            for m in range(plan.k, 0, -1):
                sums[m] += total * sums[m - 1]
        return widest(plan.ratio, sums[plan.k] / comb(len(parts), plan.k))


def is_tight(plan: Plan) -> bool:
    """Say whether two records have the very contrast of the blanket."""
    names = [name for question in plan.questions for name in question.attributes]
    free = len(set(names)) == len(names) and all(map(_free, plan.questions))
    return free and plan.k == 1 and all(question.channel.tight for question in plan.questions)


def crowd_of(plan: Plan) -> Contrast:
    """Return the exact contrast of two records for a data set in which all the others have a third record."""
    known = {question.channel: max(question.channel.crowds(), key=chi_square) for question in plan.questions}
    parts = [known[question.channel] for question in plan.questions]
    weights = [float(share) * chi_square(part) for share, part in zip(plan.inclusions, parts, strict=True)]
    used: set[str] = set()
    kept: list[int] = []
    for index in sorted(range(len(parts)), key=lambda i: -weights[i]):
        question = plan.questions[index]
        if _free(question) and used.isdisjoint(question.attributes):
            kept.append(index)
            used.update(question.attributes)
    while True:
        try:
            return _drawn(plan, [part if i in kept else _NOTHING for i, part in enumerate(parts)])
        except TooManyError:
            kept = kept[: len(kept) // 2]


def _free(question: Question) -> bool:
    """Say whether any combination of what the question sees belongs to a record: no two views look at the same."""
    return sum(len(view.of) for view in question.views) == len(question.attributes)


def chi_square(contrast: Contrast) -> float:
    """Return the sum of (R_x - R_z)^2/w: in a large crowd it alone decides how well a person is hidden."""
    return float(sum((w * (a - b) ** 2 for w, a, b in contrast), Fraction(0)))


def only(contrast: Contrast) -> Contrast:
    """Return the contrast with the blanket itself as a law: reports that a relay draws from it hide a person."""
    total = sum((w for w, _, _ in contrast), Fraction(0))
    return tuple((w / total, a * total, b * total) for w, a, b in contrast)


def _drawn(plan: Plan, parts: Sequence[Contrast]) -> Contrast:
    """Return the contrast of a report that answers k of the questions with these contrasts."""
    if plan.k == 1:
        return merged((share * w, a, b) for share, part in zip(plan.inclusions, parts, strict=True) for w, a, b in part)
    kinds: dict[frozenset[tuple[Fraction, Fraction, Fraction]], int] = {}
    for part in parts:
        kinds[frozenset(part)] = kinds.get(frozenset(part), 0) + 1
    # By the number of questions so far: the sum over all sets of questions of the products of their contrasts.
    sums: dict[int, Contrast] = {0: _NOTHING}
    for kind, count in kinds.items():
        after: dict[int, list[tuple[Fraction, Fraction, Fraction]]] = {m: list(part) for m, part in sums.items()}
        powers: Contrast = _NOTHING
        for more in range(1, min(count, plan.k) + 1):
            powers = _product(powers, tuple(kind))
            for m, part in sums.items():
                if m + more <= plan.k:
                    ways = comb(count, more)
                    after.setdefault(m + more, []).extend((ways * w, a, b) for w, a, b in _product(part, powers))
        sums = {m: merged(part) for m, part in after.items()}
    sets = comb(len(parts), plan.k)
    return tuple((w / sets, a, b) for w, a, b in sums[plan.k])


def _product(one: Contrast, other: Contrast) -> Contrast:
    """Return the contrast of two independent answers in one report."""
    if len(one) * len(other) > 4 * MOST:
        raise TooManyError
    found = merged((w * v, a * c, b * d) for w, a, b in one for v, c, d in other)
    if len(found) > MOST:
        raise TooManyError
    return found
