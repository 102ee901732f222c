"""Crowds for `experiments.coverage`: what n people report, drawn from the exact law, and whether their interval covers.

No person is simulated. n reports of people who are drawn independently from a population are a multinomial draw from
the average of the channel's laws, so thousands of crowds take a fraction of a second. Whether an interval covers the
truth x is the test that defines it, at x alone; `covers` does that for all crowds at once, and `interval` asks
`hush.server.intervals` for the interval itself, which must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log1p, sqrt
from typing import Any

import numpy as np

from hush import Numeric, Schema, design
from hush.core.channels import Channel, Reading
from hush.core.channels.squares import Squares
from hush.server.binomial import normal, student
from hush.server.intervals import Interval, bounds, proportion, ratio, summarise

Array = np.ndarray[Any, Any]

SKEWED = np.clip(-np.log(1 - (np.arange(60) + 0.5) / 60) * 0.15, 0, 1)


@dataclass(frozen=True)
class People:
    """A population of one number in [0, 1]: positions, how many are at each, and the share of the missing."""

    name: str
    positions: tuple[float, ...]
    shares: tuple[float, ...]
    missing: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the present on the scale [-1, 1]."""
        return 2 * sum(position * share for position, share in zip(self.positions, self.shares, strict=True)) - 1


def populations(n: int) -> dict[str, People]:
    """Return people of many kinds; some have as few at an end as n people may miss."""
    spread = tuple(i / 40 for i in range(41))
    known = [
        People("all at low", (0.0,), (1.0,)),
        People("all at high", (1.0,), (1.0,)),
        People("all at 0.3", (0.3,), (1.0,)),
        People("all in the middle", (0.5,), (1.0,)),
        People("half at each end", (0.0, 1.0), (0.5, 0.5)),
        People("spread", spread, (1 / 41,) * 41),
        People("skewed", tuple(map(float, SKEWED)), (1 / 60,) * 60),
        People("19 to 1 at the ends", (0.0, 1.0), (0.95, 0.05)),
        People("99 at 0.3, 1 at high", (0.3, 1.0), (0.99, 0.01)),
        People("3 at high, others low", (0.0, 1.0), (1 - 3 / n, 3 / n)),
    ]
    return {people.name: people for people in known}


def missings(n: int) -> dict[str, float]:
    """Return shares of the missing."""
    few, half, most = {"none": 0.0, "one": 1 / n}, {"a fifth": 0.2, "half": 0.5}, {"nine tenths": 0.9}
    return few | half | most | {"all but five": 1 - 5 / n, "all but one": 1 - 1 / n}


@lru_cache(maxsize=256)
def channel(kind: str, optional: bool, epsilon: float) -> Channel:
    """Return the channel of a number by the name of its mechanism."""
    return design(Schema([Numeric("x", 0, 1, optional=optional)]), epsilon, numeric=kind).channel("x")


@lru_cache(maxsize=4096)
def _likelihood(kind: str, optional: bool, epsilon: float, u: float | None) -> Array:
    found = np.array(channel(kind, optional, epsilon).likelihood(u), dtype=float)
    return np.asarray(found / found.sum())  # the far tails of additive noise are left out


def law(kind: str, optional: bool, epsilon: float, people: People) -> Array:
    """Return the probability of every output for somebody drawn from a population."""
    total = np.zeros(channel(kind, optional, epsilon).alphabet.size)
    for u, share in zip(people.positions, people.shares, strict=True):
        total += share * _likelihood(kind, optional, epsilon, u)
    if people.missing:
        total = (1 - people.missing) * total + people.missing * _likelihood(kind, optional, epsilon, None)
    return np.asarray(total / total.sum())


@dataclass(frozen=True)
class Target:
    """What is estimated: a value (and a presence) for each output, what is known of their variance, and the truth."""

    values: Array
    presence: Array | None
    squares: Squares
    truth: float

    @classmethod
    def of(cls, reading: Reading, truth: float) -> Target:
        """Return the target of a reading."""
        squares = reading.squares or Squares.of_two(reading.values, (-1.0, 1.0) if reading.symbol is None else (0, 1))
        presence = None if reading.presence is None else np.array(reading.presence)
        return cls(np.array(reading.values), presence, squares, truth)

    def paper(self, inclusion: float) -> Target:
        """Return the target of the paper's estimator: one output more, for those who were not asked."""
        values = np.append(self.values / inclusion, 0.0)
        return Target(values, None, self.squares.scaled(1 / inclusion), self.truth)

    def spread(self, shares: Array) -> float:
        """Return the standard deviation of one report's part in the error, which a normal interval would take."""
        here = np.ones_like(self.values) if self.presence is None else self.presence
        z = self.values - self.truth * here
        return float(np.sqrt(shares @ z**2 - (shares @ z) ** 2) / (shares @ here))

    def covers(self, counts: Array, level: float, *, least: bool = True, unmet: bool = True) -> Array:
        """Tell for every crowd whether its interval covers. The flags leave a term out, for twins."""
        if self.presence is None and len(set(self.values)) == 2:
            return self._covers_two(counts, level)
        here = np.ones_like(self.values) if self.presence is None else self.presence
        z = self.values - self.truth * here
        n = counts.sum(1).astype(float)
        enough = n >= 2
        n = np.where(enough, n, 2.0)
        away = counts @ z / n
        variance = np.maximum(counts @ z**2 - n * away**2, 0) / (n - 1)
        sizes, which = np.unique(n, return_inverse=True)
        t2 = np.array([student(level, float(size) - 1) ** 2 for size in sizes])[which]
        floor, most = self.squares.variances(self.truth)
        first, last = self.squares.ends
        room = np.maximum(np.where(away < 0, last - self.truth - away, away + self.truth - first), 0)
        doubt = t2 * np.maximum(variance, floor * least) - log1p(-level) * unmet * np.abs(away) * room
        plausible = n * away**2 <= np.minimum(doubt, t2 * np.maximum(variance, most)) * (1 + 1e-9)
        return np.asarray(plausible | ~enough | (counts @ here <= 0))

    def _covers_two(self, counts: Array, level: float) -> Array:
        """Do the same for two values: of all crowds with the same count, one is looked at."""
        low, high = self.values.min(), self.values.max()
        pairs = np.stack([counts[:, self.values == high].sum(1), counts.sum(1)], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        chance = (self.truth - low) / (high - low)
        found = []
        for count, n in distinct.tolist():
            first, last = proportion(count, n, level) if n else (0.0, 1.0)
            found.append(first <= chance <= last)
        return np.array(found)[which.ravel()]

    def interval(self, counts: Array, level: float) -> Interval:
        """Return the interval of one crowd, as `hush.estimate` would on the scale of the channel."""
        listed, values = counts.tolist(), self.values.tolist()
        if self.presence is None:
            return bounds(summarise(listed, values, self.squares), level)
        return bounds(ratio(listed, values, self.presence.tolist(), self.squares), level)

    def widening(self, counts: Array, shares: Array, level: float) -> float:
        """Return how much wider a crowd's interval is than a normal one that knows the variance, both in the domain."""
        first, last = self.squares.ends
        margin = normal(level) * self.spread(shares) / sqrt(max(int(counts.sum()), 1))
        low, high = self.interval(counts, level)
        low, high = max(low, first), min(high, last)
        best = min(self.truth + margin, last) - max(self.truth - margin, first)
        return max(high - low, 1e-9) / best
