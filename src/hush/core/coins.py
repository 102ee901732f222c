"""Randomness as an argument: words of 64 bits, and exact choices made from them.

Every random choice of a device is a function of words drawn here. So the same words give the same report in every
implementation (`spec/wire.md` fixes their number and order). There is no seed here: seeded words are in
`hush.testing`, which production code must not import.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from hush.core.exact import WORD

BITS, LOW = 64, WORD - 1
GUARD = 1 << 192
"""Added to a product of two words, so that all products are equally long: Python divides short integers faster."""

MOST = 1 << 56
"""The most outcomes that one word draws for several integers: fewer than one word in 256 is drawn again."""


class Group(NamedTuple):
    """Ranges of integers that one word draws together, their product, and 2^64 modulo that."""

    sizes: tuple[int, ...]
    product: int
    excess: int


@lru_cache(maxsize=256)
def groups(sizes: Hashable) -> tuple[Group, ...]:
    """Divide ranges, in their order, into groups: each as long as the product allows, and at least one range."""
    assert isinstance(sizes, range | tuple)
    found: list[list[int]] = []
    for n in sizes:
        if found and prod(found[-1]) * n <= MOST:
            found[-1].append(n)
        else:
            found.append([n])
    return tuple(Group(tuple(group), prod(group), WORD % prod(group)) for group in found)


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
            wide = GUARD + self.word() * n
            if wide & LOW >= excess:
                return (wide >> BITS) & LOW

    def several(self, sizes: Sequence[int]) -> list[int]:
        """Return independent, exactly uniform integers in 0..n-1 for each n of a range or tuple, from few words.

        `below(n_1 * ... * n_m)` has the integers as its digits in a mixed base, n_m the lowest. Its digits need no
        division: the high half of word*n_1 is the first, and the low half goes on in place of the word
        (Brackett-Rozinsky and Lemire, Batched Ranged Random Integer Generation, 2024).
        """
        assert isinstance(sizes, Hashable)
        found = []
        for group, product, excess in groups(sizes):
            word = 0
            if product > 1:
                word = self.word()
                while (GUARD + word * product) & LOW < excess:
                    word = self.word()
            for n in group:
                wide = GUARD + word * n
                word = wide & LOW
                found.append((wide >> BITS) & LOW)
        return found

    def toss(self, threshold: int) -> bool:
        """Return True with probability threshold/2^64."""
        return self.word() < threshold
