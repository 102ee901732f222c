"""The subset channel: one of K categories, reported as a set of w of them.

With probability T/2^64 the set contains the true category and w-1 others, uniform; otherwise it is a uniform
set of w others. For w = 1 this is generalised randomised response (GRR), and the output is one category.

**Privacy.** There are C(K-1, w-1) sets with the true category and C(K-1, w) without, and their quotient is
w/(K-w). So the ratio is exactly T*(K-w)/((2^64-T)*w).

**Mean.** A category is in the set with probability p = T/2^64 if it is the true one, and with
q = (p*(w-1) + (1-p)*w)/(K-1) if not. So ((1 if in the set) - q)/(p - q) is 1 or 0 on average.

**Variance.** p(1-p)/(p-q)^2 for the true category and q(1-q)/(p-q)^2 for the others. Two categories are in the set
together with probability p(w-1)/(K-1) if one is the true one, and (p(w-1)(w-2) + (1-p)w(w-1))/((K-1)(K-2)) if neither
is (`pairs`): so the covariances of all shares are known exactly, and sums of shares have exact variances.

**The same draws.** Floyd's algorithm for w of the others, started one step later and with an empty set, is the
algorithm for w-1 of them. So the first member is always drawn, and kept if the true category is not in the set.

With w near K/(e^eps+1) it has the least total variance of all eps-LDP channels of a categorical value, up to
the rounding of w: Ye and Barg, Optimal Schemes for Discrete Distribution Estimation under Locally
Differential Privacy (2018); Wang et al., Mutual Information Optimally Local Private Discrete Distribution
Estimation (2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress
from math import comb
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Alphabet, Output, Subsets, Symbols
from hush.core.channels.base import Coins, State, require
from hush.core.channels.indicator import Indicator
from hush.core.exact import WORD
from hush.errors import PlanError


@dataclass(frozen=True)
class Subset(Indicator):
    """Sets of `weight` out of `size` categories; `threshold`/2^64 is the probability of the true one."""

    size: int
    weight: int
    threshold: int

    kind: ClassVar[str] = "subset"

    def __post_init__(self) -> None:
        self._check_size()
        codec.integer(self.weight, 1, self.size - 1, PlanError, "the weight of a subset channel")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a subset channel")
        require(self.ratio > 1, "a set with the true category must be likelier than one without")

    @cached_property
    def alphabet(self) -> Alphabet:
        """The sets of `weight` categories, or simply the categories if `weight` is 1."""
        return Symbols(self.size) if self.weight == 1 else Subsets(self.size, self.weight)

    # -- exact guarantees

    @cached_property
    def p(self) -> Fraction:
        """The probability that the set contains the true category."""
        return Fraction(self.threshold, WORD)

    @cached_property
    def q(self) -> Fraction:
        """The probability that the set contains another given category."""
        return (self.p * (self.weight - 1) + (1 - self.p) * self.weight) / (self.size - 1)

    @cached_property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """The probability that the set contains two given categories: the true one and another, or two others."""
        return pairs_of(self.p, self.size, self.weight)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(self.threshold * (self.size - self.weight), (WORD - self.threshold) * self.weight)

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        true = self._category(state)
        inside = self.p / comb(self.size - 1, self.weight - 1)
        outside = (1 - self.p) / comb(self.size - 1, self.weight)
        if self.weight == 1:
            return {category: inside if category == true else outside for category in range(self.size)}
        return {chosen: inside if true in chosen else outside for chosen in combinations(range(self.size), self.weight)}

    def supported(self, others: int, members: int) -> Fraction:
        """Count the sets with these members and without these others."""
        rest = self.weight - members
        free = self.size - others - members
        return (1 - self.p) * (comb(free, rest) if rest >= 0 else 0) / comb(self.size - 1, self.weight)

    # -- the device

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a set. One word for the coin, and an integer for each member, even if it is not used."""
        assert isinstance(state, int)
        contains = coins.toss(self.threshold)
        first, *picks = coins.several(range(self.size - self.weight, self.size))
        if self.weight == 1:
            other = first + (first >= state)
            return state if contains else other
        marks = bytearray(self.size - 1)
        marks[first] = not contains
        for top, pick in enumerate(picks, self.size - self.weight):
            marks[top if marks[pick] else pick] = 1
        return tuple(compress(range(self.size), b"".join((marks[:state], bytes([contains]), marks[state:]))))

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "weight": self.weight,
            "threshold": str(self.threshold),
        }

    @classmethod
    def from_json(cls, value: Any) -> Subset:
        """Read a channel back."""
        size, weight, threshold = cls._fields(value, "size", "weight", "threshold")
        return cls(size, weight, codec.big(threshold, PlanError, "a threshold"))


def pairs_of(p: Fraction, size: int, weight: int) -> tuple[Fraction, Fraction]:
    """Return the probabilities that a set has two given members: the true one and another, or two others.

    Sets have `weight` of `size` members, and the true one with probability p.
    """
    others = size - 1
    if size == 2:
        return Fraction(0), Fraction(0)
    with_true, without = p * (weight - 1), p * (weight - 1) * (weight - 2) + (1 - p) * weight * (weight - 1)
    return with_true / others, without / (others * (others - 1))
