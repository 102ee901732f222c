"""Tallies of batches in which a relay has mixed reports of its own among those of people.

The relay draws its own reports from the blanket of the plan (`hush.core.blanket`), whose law is known. Nobody but the
relay knows which they are, so nobody can remove them. But the average of their counts is known, and `without` subtracts
it: then every estimate is one of people alone.

**What is left** is the chance in the own reports: their counts differ from the average. All intervals include it.
`hush.estimate` takes the spread of all reports, own ones included, and stretches it to the people (`spread`). Relations
add the variance that the own reports have by their known law (`Among`).
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
from hush.errors import TallyError

MANY = 1 << 40  # own reports: with this number, rounding their counts does not matter


class Counted(NamedTuple):
    """The numbers of a tally."""

    reports: int
    answered: Sequence[int]
    counts: Sequence[Sequence[int]]


def left_over(plan: Plan, counted: Counted, own: int) -> Counted:
    """Return counts without the average of `own` reports of a relay, as integers.

    Counts that would be negative become 0, which moves the points of small tallies a little. Counts that are too small
    for it raise TallyError.
    """
    blanket, reports = blanket_of(plan), counted.reports - own
    wanted = [count - own * chance for count, chance in zip(counted.answered, blanket.answered, strict=True)]
    answered = rounded(wanted, reports * plan.k, reports)
    counts = []
    for index, channel in enumerate(blanket.channels):
        mine = counted.answered[index] - answered[index]  # the answers that are taken for own ones
        left = [count - mine * chance for count, chance in zip(counted.counts[index], channel.chances, strict=True)]
        counts.append(_fitted(channel.channel.alphabet, left, answered[index]))
    return Counted(reports, answered, counts)


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
        return [min(max(round(count), 0), n) for count in wanted]
    return rounded(wanted, n * (alphabet.weight or 1) if isinstance(alphabet, Subsets) else n, n)


def spread(
    point: float, ends: tuple[float, float], whole: tuple[float, float, float], stretch: float
) -> tuple[float, float]:
    """Return the interval of an estimate of people, from its own ends and from `whole`: that of all reports.

    All reports together are a mixture of people and own reports, so `whole` is the point, low and high of a weighted
    mean, and the estimate of people is it times `stretch` (all answers by those of people), minus a known number. The
    interval stretches alike. It is too wide rather than too narrow, as the shares of the mixture are fixed.
    """
    middle, low, high = whole
    return min(ends[0], point - stretch * (middle - low)), max(ends[1], point + stretch * (high - middle))


@dataclass(frozen=True)
class Among:
    """The own reports among the answers to one question: `per` is their average number for each answer of a person.

    Let a report have the value V, with the average v for people and w for own reports. If m own reports with the total
    W are among those of n people, and their average number is M, the estimate is (sum of people's V + W - M*w)/(n+m-M).
    To first order its error is that of people plus (W - m*w + (m-M)*(w-v))/n, so m own reports add

        (M*Var(V of an own report) + Var(m)*(w-v)^2)/n^2.

    `loose` is Var(m)/M. If each report answers one of several questions it is taken as 1: then the sum over pooled
    questions is too large rather than too small, as their numbers m have negative correlations.
    """

    blanket: ChannelBlanket
    per: float
    loose: float

    def added(self, variance: float, mean: float, people: float) -> float:
        """Return what own reports add to the variance of one person's value, from their variance and both averages."""
        return self.per * (variance + self.loose * (mean - people) ** 2)

    @property
    def counts(self) -> list[int]:
        """The average counts of `MANY` own reports, rounded."""
        return [round(MANY * chance) for chance in self.blanket.chances]


def among(plan: Plan, index: int, answered: int, whole: int) -> Among | None:
    """Return the own reports among the answers to a question: of `whole` answers, `answered` are taken for people's."""
    if whole <= answered or not answered:
        return None
    blanket = blanket_of(plan)
    loose = 1.0 if plan.k == 1 < len(plan.questions) else float(1 - blanket.answered[index])
    return Among(blanket.channels[index], (whole - answered) / answered, loose)


def rounded(wanted: Sequence[Fraction], total: int, most: int) -> list[int]:
    """Return integers from 0 to `most` with this total, in proportion to the numbers that are not negative."""
    kept = [max(number, Fraction(0)) for number in wanted]
    whole = sum(kept, Fraction(0))
    if total == 0 or whole == 0:
        if total:
            raise TallyError("these counts are too small to be corrected")
        return [0] * len(kept)
    kept = [number * total / whole for number in kept]
    found = [min(floor(number), most) for number in kept]
    order = sorted(range(len(kept)), key=lambda place: found[place] - kept[place])  # the largest rest first
    while (missing := total - sum(found)) > 0:
        room = [place for place in order if found[place] < most][:missing]
        if not room:
            raise TallyError("these counts are too small to be corrected")
        for place in room:
            found[place] += 1
    return found
