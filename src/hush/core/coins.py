"""Randomness as an argument: words of 64 bits, and exact choices made from them.

Every random choice of a device is a function of words drawn here. So the same words give the same report in every
implementation (`spec/wire.md` fixes their number and order). There is no seed here: seeded words are in
`hush.testing`, which production code must not import.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from hush.core.exact import WORD


class Coins(ABC):
    """A source of independent uniform 64-bit words."""

    @abstractmethod
    def word(self) -> int:
        """Return the next word, uniform in 0..2^64-1."""

    def below(self, n: int) -> int:
        """Return an exactly uniform integer in 0..n-1, for 1 <= n <= 2^64. No word is drawn if n = 1.

        The high half of word*n is the answer, unless the low half is below 2^64 mod n. Those words would make
        some answers likelier than others, so another is drawn in their place (Lemire, Fast Random Integer
        Generation in an Interval, 2019). The number of words reveals nothing about the answer: every answer is
        equally likely after any number of words.
        """
        if not 1 <= n <= WORD:
            raise ValueError("below(n) is for 1 <= n <= 2^64")
        if n == 1:
            return 0
        excess = WORD % n
        while True:
            found, rest = divmod(self.word() * n, WORD)
            if rest >= excess:
                return found

    def toss(self, threshold: int) -> bool:
        """Return True with probability threshold/2^64."""
        return self.word() < threshold
