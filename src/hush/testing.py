"""Predictable words, for tests, vectors and simulations only.

A report made from these words protects nobody. No module of hush imports this one: `make check` fails if
one does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from hush.core.coins import Coins


class SeededCoins(Coins):
    """Words of a statistical generator with a seed. They protect nobody."""

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)

    def word(self) -> int:
        """Return the next word."""
        return self._generator.getrandbits(64)


class ListedCoins(Coins):
    """Words from a list; `left` is the number of words not drawn. They protect nobody."""

    def __init__(self, words: Iterable[int]) -> None:
        self._words = list(words)[::-1]

    def word(self) -> int:
        """Return the next word of the list."""
        if not self._words:
            raise LookupError("the list of words is used up")
        return self._words.pop()

    @property
    def left(self) -> int:
        """How many words were not drawn."""
        return len(self._words)


class RecordedCoins(Coins):
    """Passes words on from another source and keeps them in `words`, to make vectors."""

    def __init__(self, source: Coins) -> None:
        self._source = source
        self.words: list[int] = []

    def word(self) -> int:
        """Return the next word of the source, and remember it."""
        self.words.append(self._source.word())
        return self.words[-1]


class SeededStreams:
    """Streams of words for `hush.batch`, from a statistical generator with a seed. They protect nobody.

    With `edges`, a quarter of the words come from that list: the awkward words of a test.
    """

    def __init__(self, seed: int, edges: Sequence[int] = ()) -> None:
        self._seed = seed
        self._edges = edges

    def stream(self, number: int) -> SeededStream:
        """Return the stream of this number, from its beginning."""
        return SeededStream(f"{self._seed}/{number}", self._edges)


class SeededStream(Coins):
    """One of these streams, as words one by one or in bulk."""

    def __init__(self, seed: str, edges: Sequence[int]) -> None:
        self._generator = random.Random(seed)
        self._edges = edges

    def word(self) -> int:
        """Return the next word."""
        if self._edges and self._generator.getrandbits(2) == 0:
            return self._generator.choice(self._edges)
        return self._generator.getrandbits(64)

    def fill(self, words: Any, count: int) -> None:
        """Write the next `count` words to the front of an array."""
        for i in range(count):
            words[i] = self.word()
