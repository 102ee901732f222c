"""Plans, people and tallies that the tests of relations share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import hush

People = Mapping[Any, Fraction]
"""The share of the people with each tuple of inputs of a whole record."""

MANY = 10**15  # people of an expected tally: rounding counts to whole numbers must not matter


def expected(plan: hush.Plan, people: People, n: int = MANY) -> hush.Tally:
    """Return the tally of the average counts, as if exactly these people had answered every question."""
    counts = []
    for question in plan.questions:
        looks = [view.look(plan.schema) for view in question.views]
        total = [Fraction(0)] * question.channel.alphabet.size
        for record, share in people.items():
            seen = [look(record) for look in looks]
            total = [a + share * b for a, b in zip(total, question.channel.expected(seen), strict=True)]
        ends = [round(n * end) for end in accumulate(total, initial=Fraction(0))]  # so that counts add up
        counts.append([high - low for low, high in pairwise(ends)])
    asked = [n] * len(plan.questions)
    return hush.Tally(plan, sum(asked), asked, counts)


def shares(weights: Sequence[int], records: Sequence[tuple[Any, ...]]) -> dict[Any, Fraction]:
    """Return people in proportion to weights."""
    return {record: Fraction(weight, sum(weights)) for record, weight in zip(records, weights, strict=True)}
