"""Sums of shares with exact variances, from the counts of reported sets.

A question whose reports are sets (categories, cells of a table, rows) has four probabilities: that the true item is in
the set (p), that another given one is (q), and that two given ones are, with the true one among them (together) or
without it (apart). For weights phi on the items the sum over a set X = sum of phi_i over the set has

    E[X]   = q*S + (p-q)*F,                    S = sum of phi,       F = sum of share_i * phi_i,
    E[X^2] = q*S2 + (p-q)*F2 + 2*together*(S*F - F2) + apart*(S^2 - 2*S*F + 2*F2 - S2),

with S2 = sum of phi^2 and F2 = sum of share_i * phi_i^2. So (X - q*S)/(p-q) is unbiased for F, and its variance is
known from S, S2, F and F2: exactly, if the shares were known; the shares enter by F and F2 only, and are estimated.

**Own reports** of a relay come from the blanket, which treats all items alike: with the probability `one` a given item
is in a set, with `two` two given ones are. So they have E[X] = one*S and E[X^2] = one*S2 + two*(S^2 - S2). What they
add on average is subtracted from the sums, and their variance is added (`hush.server.own`).

**Few people at large epsilons.** With the shares that were estimated, an item that none of n people holds has no
variance at all, though it may be held by a few. So variances are also computed with one person more for each item,
(n*share + 1)/(n + items), and the larger one counts: more persons alone would lessen the variance of a heap. With many
people, or where the noise of the channel decides, that changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hush.core.channels import Cells, Channel, Rows, Subset, Unary
from hush.server.own import Among
from hush.server.simplex import simplex
from hush.server.tally import Tally


class Sums(NamedTuple):
    """The sums over all items of weights and of their squares: plain, and times the shares."""

    s: float
    s2: float
    f: float
    f2: float


def sums(weights: Sequence[float], shares: Sequence[float]) -> Sums:
    """Return the sums of weights on all items."""
    return Sums(
        math.fsum(weights),
        math.fsum(w * w for w in weights),
        math.fsum(w * f for w, f in zip(weights, shares, strict=True)),
        math.fsum(w * w * f for w, f in zip(weights, shares, strict=True)),
    )


class SetLaw(NamedTuple):
    """The four probabilities of a question whose reports are sets."""

    p: float
    q: float
    together: float
    apart: float

    def variance(self, x: Sums) -> float:
        """Return the variance of one report's value for these weights and shares."""
        gap = self.p - self.q
        mean = self.q * x.s + gap * x.f
        square = self.q * x.s2 + gap * x.f2 + 2 * self.together * (x.s * x.f - x.f2)
        square += self.apart * (x.s * x.s - 2 * x.s * x.f + 2 * x.f2 - x.s2)
        return max(square - mean * mean, 0.0) / gap**2


def law_of(channel: Channel) -> SetLaw:
    """Return the law of a channel whose reports are sets; for rows, of the rows that are named."""
    one = channel.whole if isinstance(channel, Cells) else channel
    if isinstance(one, Unary):
        return SetLaw(float(one.p), float(one.q), float(one.p * one.q), float(one.q * one.q))
    assert isinstance(one, Subset | Rows)
    together, apart = map(float, one.pairs)
    return SetLaw(float(one.p), float(one.q), together, apart)


@dataclass(frozen=True)
class Counted:
    """The shares of the items of one question, from n people's reports: unbiased, and fit to be put into variances.

    `counts` are those of all reports, with the `own` ones of a relay.
    """

    law: SetLaw
    counts: tuple[int, ...]
    whole: int
    own: Among | None = None

    @cached_property
    def n(self) -> float:
        """The number of people who answered; with a relay's own reports about how many, and never less than 0."""
        return self.whole if self.own is None else max(self.whole - self.own.number, 0.0)

    @cached_property
    def points(self) -> list[float]:
        """The unbiased shares; they add up to 1 for sets of one size."""
        if not self.n:
            return [math.nan] * len(self.counts)
        gap, taken = self.law.p - self.law.q, 0.0
        if self.own is not None:
            taken = self.own.number * self._blanket[0]
        return [((count - taken) / self.n - self.law.q) / gap for count in self.counts]

    @cached_property
    def shares(self) -> list[float]:
        """The nearest shares that are nonnegative and add up to 1: variances need such."""
        return simplex(self.points) if self.n else [1 / len(self.counts)] * len(self.counts)

    @cached_property
    def fuller(self) -> list[float]:
        """The same shares with one person more for each item."""
        return fuller(self.shares, self.n)

    def value(self, weights: Sequence[float]) -> float:
        """Return the weighted sum of the shares."""
        return math.fsum(w * f for w, f in zip(weights, self.points, strict=True))

    def variance(self, x: Sums) -> float:
        """Return the variance of a weighted sum of the estimated shares."""
        return (self.law.variance(x) + self._added(x)) / self.n if self.n else math.inf

    def _added(self, x: Sums) -> float:
        """Return what own reports add to the variance of one report's value."""
        if self.own is None:
            return 0.0
        (one, two), gap = self._blanket, self.law.p - self.law.q
        mean, square = one * x.s, one * x.s2 + two * (x.s * x.s - x.s2)
        away = (mean - self.law.q * x.s) / gap - x.f
        return self.own.number / self.n * (max(square - mean * mean, 0.0) / gap**2 + self.own.loose * away**2)

    @cached_property
    def _blanket(self) -> tuple[float, float]:
        """The probabilities that an own report has a given item, and two given ones."""
        assert self.own is not None
        (items, pairs), size = self.own.blanket.members, len(self.counts)
        return items / size, pairs / (size * (size - 1))


def fuller(shares: Sequence[float], n: float) -> list[float]:
    """Return the shares of n people with one person more for each item."""
    return [(n * share + 1) / (n + len(shares)) for share in shares]


def counted(tally: Tally, index: int) -> Counted:
    """Return the shares of a question whose reports are sets: of the categories, cells or rows."""
    channel, counts = tally.plan.questions[index].channel, tally.counts[index]
    if isinstance(channel, Rows):
        counts = [sum(counts[at : at + channel.group]) for at in range(0, len(counts), channel.group)]
    return Counted(law_of(channel), tuple(counts), tally.answered[index], tally.among(index))
