"""Tallies of batches in which a relay has mixed reports of its own among those of people.

The relay draws its own reports from the blanket of the plan (`hush.core.blanket`), whose law is known. Nobody but the
relay knows which they are, so nobody can remove them, and a tally keeps all reports. But what they add on average is
known, and every estimate subtracts it from the sums that it is made of (`hush.server.intervals.people_of`): from the
number of answers, the sum of the values and the sum of their squares. Counts are never corrected one by one: a count
below zero would have to be cut, and that would move means to the middle.

**What is left** is the chance in the own reports. Let a report have the value V, with the average v for people and w
for own reports. If m own reports with the total W are among those of n people, and their average number is M, the
estimate is (sum of people's V + W - M*w)/(n + m - M). To first order its error is that of people plus
(W - m*w + (m - M)*(w - v))/n, so m own reports add

    (M*Var(V of an own report) + Var(m)*(w - v)^2)/n^2,

exactly known but for v, which an interval tries for every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import NamedTuple

from hush.core.blanket import ChannelBlanket, blanket_of
from hush.core.channels.alphabet import Alphabet, Grouped, Subsets
from hush.core.plan import Plan

MANY = 1 << 40  # own reports: with this number, rounding their counts does not matter


class Counted(NamedTuple):
    """The numbers of a tally."""

    reports: int
    answered: Sequence[int]
    counts: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Among:
    """The own reports among the answers to one question: `number` of them on average.

    `loose` is the variance of their number, as a part of the average. If each report answers one of several questions
    it is taken as 1: then the sum over pooled questions is too large rather than too small, as their numbers have
    negative correlations.
    """

    blanket: ChannelBlanket
    number: float
    loose: float

    @property
    def counts(self) -> list[int]:
        """The average counts of `MANY` own reports, rounded."""
        return [round(MANY * chance) for chance in self.blanket.chances]


def among(plan: Plan, index: int, own: int) -> Among | None:
    """Return the own reports among the answers to a question, if there are `own` in all; None without any."""
    if not own:
        return None
    blanket = blanket_of(plan)
    asked = blanket.answered[index]
    loose = 1.0 if plan.k == 1 < len(plan.questions) else float(1 - asked)
    return Among(blanket.channels[index], float(own * asked), loose)


def expected(plan: Plan, own: int) -> Counted:
    """Return the counts that `own` reports of a relay have on average, as integers."""
    blanket = blanket_of(plan)
    answered = rounded([own * chance for chance in blanket.answered], own * plan.k, own)
    counts = []
    for channel, n in zip(blanket.channels, answered, strict=True):
        counts.append(_fitted(channel.channel.alphabet, [n * chance for chance in channel.chances], n))
    return Counted(own, answered, counts)


def _fitted(alphabet: Alphabet, wanted: Sequence[Fraction], n: int) -> list[int]:
    """Return counts of n outputs that are close to these."""
    if isinstance(alphabet, Grouped) and alphabet.weight == alphabet.size // alphabet.group:  # one of every group
        starts = range(0, alphabet.size, alphabet.group)
        return [count for at in starts for count in rounded(wanted[at : at + alphabet.group], n, n)]
    if isinstance(alphabet, Subsets) and alphabet.weight is None:  # any set: the counts have no common sum
        return [min(round(count), n) for count in wanted]
    return rounded(wanted, n * (alphabet.weight or 1) if isinstance(alphabet, Subsets) else n, n)


def rounded(wanted: Sequence[Fraction], total: int, most: int) -> list[int]:
    """Return integers up to `most` with this total, in proportion to these numbers, which are not negative."""
    whole = sum(wanted, Fraction(0))
    if not total or not whole:
        return [0] * len(wanted)
    kept = [number * total / whole for number in wanted]
    found = [min(floor(number), most) for number in kept]
    order = sorted(range(len(kept)), key=lambda place: found[place] - kept[place])  # the largest rest first
    while (missing := total - sum(found)) > 0:
        for place in [place for place in order if found[place] < most][:missing]:
            found[place] += 1
    return found
