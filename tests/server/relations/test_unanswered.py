"""A range of which only some questions were answered, or which few hold: no interval knows what nobody said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate, pairwise

import pytest

import hush
from hush.core.views import Bands

COARSEST = 16.0
"""The first cut of the only question that was answered, which has four bands."""


def designed(optional: bool = False) -> hush.Plan:
    """Return a plan with one range: questions of 4, 16 and 64 bands, and perhaps one about the number itself."""
    return hush.design(hush.Schema([hush.Numeric("x", 0, 64, optional=optional)]), epsilon=4, ranges={"x": 64})


def coarse(plan: hush.Plan, people: Mapping[float | None, Fraction], n: int) -> hush.Tally:
    """Return the tally of the average counts of people who were asked the question with four bands, and no other."""
    asked, counts = [], []
    for question in plan.questions:
        (view,) = question.views
        alone = isinstance(view, Bands) and view.cuts[0] == COARSEST
        look, total = view.look(plan.schema), [Fraction(0)] * question.channel.alphabet.size
        for value, share in people.items():
            law = question.channel.expected([look(plan.schema.encode({"x": value}))])
            total = [a + share * b for a, b in zip(total, law, strict=True)]
        asked.append(n if alone else 0)
        ends = [round(asked[-1] * end) for end in accumulate(total, initial=Fraction(0))]
        counts.append([high - low for low, high in pairwise(ends)])
    assert sum(asked) == n
    return hush.Tally(plan, n, asked, counts)


@pytest.mark.parametrize("optional", [False, True])
def test_between_two_known_cuts_every_share_is_plausible(optional: bool) -> None:
    """Half lie below 16 and half above 48: nobody said whether at the lower or the upper end of their band."""
    tally = coarse(designed(optional), {7.5: Fraction(1, 2), 60.5: Fraction(1, 2)}, 100_000)
    for row in hush.below(tally, "x"):
        least, most = (0.0, 0.5) if row.cut < 16 else (0.5, 0.5) if row.cut <= 48 else (0.5, 1.0)
        assert least - 0.02 < row.low <= least, row
        assert most <= row.high < most + 0.02, row
        assert row.low <= row.point <= row.high
    quarter, middle = hush.quantiles(tally, "x", (0.25, 0.5))
    assert (quarter.low, quarter.high) == (0, 16)
    assert middle.low <= 16 < 48 <= middle.high


def test_what_nobody_said_is_refused() -> None:
    """All lie below 16: a share below 4 or below 8 can be anything."""
    tally = coarse(designed(), {7.5: Fraction(1)}, 100_000)
    unknown, known = hush.below(tally, "x", [8.0, 16.0])
    assert math.isnan(unknown.point)
    assert (unknown.low, unknown.high) == (0, 1)
    assert (unknown.needed or 0) > 100_000
    assert 0.99 < known.low < known.high == 1


@pytest.mark.parametrize("value", [None, 20.0])
def test_one_answer_about_an_optional_number_says_nothing(value: float | None) -> None:
    """One report names a band, and so more than all people there: as a divisor that made an interval narrow."""
    tally = coarse(designed(optional=True), {value: Fraction(1)}, 1)
    for below in hush.below(tally, "x"):
        assert math.isnan(below.point), below
        assert (below.needed or 0) > 1, below
    for quantile in hush.quantiles(tally, "x"):
        assert math.isnan(quantile.point), quantile
        assert (quantile.low, quantile.high) == (0, 64), quantile
