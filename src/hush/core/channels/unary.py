"""The unary channel: one of K categories, reported as one noisy bit for each.

The bit of the true category is 1 with probability p = P/2^64, every other bit with q = Q/2^64, independently.

**Privacy.** Two inputs differ in two bits. An output with a 1 at one and a 0 at the other has the largest ratio,
exactly p(1-q)/(q(1-p)).

**Mean and variance.** As for every channel of `hush.core.channels.indicator`: the variance is p(1-p)/(p-q)^2 for the
true category and q(1-q)/(p-q)^2 for the others.

**Few words.** Up to 64 bits with probability q are made at once, from the binary digits of q, highest first: a word
supplies one digit of 64 uniform numbers, which are compared with q. All digits are read, down to the last 1 of Q, even
if all comparisons are decided earlier, so the number of words reveals nothing about the bits. `hush.core.design`
rounds q to few digits (about 15), and 64 bits take as many words. The probability is Q/2^64 exactly.

OUE (optimised unary encoding: Wang, Blocki, Li and Jha, USENIX Security 2017) has p = 1/2, q = 1/(e^eps+1).
SUE (symmetric: basic one-time RAPPOR, Erlingsson et al. 2014) has p = 1-q, q = 1/(e^(eps/2)+1). Both round q up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Subsets, members
from hush.core.channels.base import Coins, State, require
from hush.core.channels.indicator import Indicator
from hush.core.exact import WORD
from hush.errors import PlanError


@dataclass(frozen=True)
class Unary(Indicator):
    """One bit for each of `size` categories: 1 with probability true/2^64 for the true one, else other/2^64."""

    size: int
    true: int
    other: int

    kind: ClassVar[str] = "unary"
    made: ClassVar[tuple[str, ...]] = ("_digits",)

    def __post_init__(self) -> None:
        self._check_size()
        codec.integer(self.true, 1, WORD - 1, PlanError, "the threshold of the true bit")
        codec.integer(self.other, 1, WORD - 1, PlanError, "the threshold of the other bits")
        require(self.other < self.true, "the true bit must be likelier to be 1 than the others")

    @cached_property
    def alphabet(self) -> Subsets:
        """The sets of categories whose bit is 1."""
        return Subsets(self.size)

    # -- exact guarantees

    @cached_property
    def p(self) -> Fraction:
        """The probability that the bit of the true category is 1."""
        return Fraction(self.true, WORD)

    @cached_property
    def q(self) -> Fraction:
        """The probability that the bit of another category is 1."""
        return Fraction(self.other, WORD)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(self.true * (WORD - self.other), self.other * (WORD - self.true))

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output: 2^size of them."""
        true = self._category(state)
        law: dict[Output, Fraction] = {}
        for bits in product((0, 1), repeat=self.size):
            probability = Fraction(1)
            for category, bit in enumerate(bits):
                one = self.p if category == true else self.q
                probability *= one if bit else 1 - one
            law[tuple(category for category, bit in enumerate(bits) if bit)] = probability
        return law

    def supported(self, others: int, members: int) -> Fraction:
        """The other bits are free, so their probabilities add up to 1."""
        return (1 - self.p) * self.q**members * (1 - self.q) ** (others - 1)

    @property
    def always(self) -> Fraction:
        """The output whose bits are all 1."""
        return (1 - self.p) * self.q**self.size / (1 - self.q)

    # -- the device

    @cached_property
    def _digits(self) -> tuple[bool, ...]:
        """The binary digits of Q/2^64, highest first, down to the last 1."""
        return tuple(digit == "1" for digit in f"{self.other:064b}".rstrip("0"))

    def draw(self, state: State, coins: Coins) -> Output:
        """Return the set of categories with a 1: draw all bits with q, then draw the true one again with p."""
        assert isinstance(state, int)
        bits = bytearray()
        for start in range(0, self.size, 64):
            bits += self._block(min(64, self.size - start), coins).to_bytes(8, "little")
        mask = 1 << (state & 7)
        bits[state >> 3] = bits[state >> 3] & ~mask | mask * coins.toss(self.true)
        return members(int.from_bytes(bits, "little"))

    def _block(self, size: int, coins: Coins) -> int:
        """Return `size` independent bits, each 1 with probability other/2^64."""
        ones, undecided = 0, (1 << size) - 1
        for digit in self._digits:
            word = coins.word()
            ones |= undecided & ~word & -digit
            undecided &= word ^ (digit - 1)
        return ones

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {"kind": self.kind, "size": self.size, "true": str(self.true), "other": str(self.other)}

    @classmethod
    def from_json(cls, value: Any) -> Unary:
        """Read a channel back."""
        size, true, other = cls._fields(value, "size", "true", "other")
        return cls(size, codec.big(true, PlanError, "a threshold"), codec.big(other, PlanError, "a threshold"))
