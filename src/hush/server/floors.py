"""The share of the people that a text needs to be found in about every second collection.

A search finds a text if it stands out in *every* question that leads to it: in each prefix question its count must
exceed that question's threshold, and in the last one it must be told from noise. Different people answer the questions,
so the chances multiply. The floor is the share with which their product is one half. (The last test alone is passed
half of the time at about half of this share; all of them together then hardly ever are.)

**Liars** who want to add a text of their choice have to pass the same questions. They need the fewest people if each
question is about as hard for them, so each counts with the share that passes it with the chance 2^(-1/questions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from hush.server.binomial import at_least

EMPTY = 40
"""Prefixes that nobody holds and that are kept all the same, on average, at each step."""

STANDARD_ERRORS = 1.5
"""By so many a prefix must stand out, at least."""

_STEPS = 60  # of a bisection

Passed = Callable[[float], float]
"""How likely a text with this share passes a question."""


@dataclass(frozen=True)
class Hurdle:
    """A question with `n` answers of people, of which at least `least` must support a text.

    A report supports a text that a share s of the people hold with the probability base + rise*s. `added` is the
    variance that own reports of a relay add to one report's answer.
    """

    n: float
    base: float
    rise: float
    least: float
    added: float = 0.0

    def passed(self, share: float) -> float:
        """Return how likely a text with this share passes."""
        chance = min(self.base + self.rise * share, 1.0)
        if not self.added:
            return at_least(math.floor(self.least), round(self.n), chance)
        deviation = math.sqrt(self.n * (chance * (1 - chance) + self.added))
        return NormalDist().cdf((self.n * chance - self.least + 0.5) / deviation)


def outstanding(tries: int) -> float:
    """Return by how many standard errors a prefix must stand out if so many are tried: about `EMPTY` empty ones do."""
    return max(STANDARD_ERRORS, -NormalDist().inv_cdf(min(0.4, EMPTY / max(tries, 1))))


def told_from(n: int, base: float, tail: float) -> int:
    """Return the least count that noise reaches with at most this probability."""
    low, high = math.floor(n * base), n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if at_least(middle, n, base) <= tail:
            high = middle
        else:
            low = middle
    return high


def floor_of(hurdles: Sequence[Passed]) -> float:
    """Return the share that passes all of them in every second collection; 1 if none does."""
    return _share(lambda share: math.prod(passed(share) for passed in hurdles), 0.5)


def shares_of_liars(hurdles: Sequence[Passed]) -> list[float]:
    """Return the share that each question needs, so that all are passed in every second collection."""
    return [_share(passed, 0.5 ** (1 / len(hurdles))) for passed in hurdles]


def _share(passed: Passed, chance: float) -> float:
    """Return the least share that passes with this chance, for a chance that grows with the share."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if passed(middle) < chance:
            low = middle
        else:
            high = middle
        if high - low < 1e-6 * high:
            break
    return high
