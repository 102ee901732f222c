"""Words from the operating system. The privacy of every report rests on them."""

from __future__ import annotations

import os
import struct

from hush.core.coins import Coins

_BLOCK = struct.Struct("<16Q")


class SystemCoins(Coins):
    """Words from the operating system's cryptographic generator.

    Words are read in small blocks that belong to this object. Make one object for each record, as `randomise`
    does: then threads share nothing, and a fork cannot repeat words.
    """

    __slots__ = ("_block",)

    def __init__(self) -> None:
        self._block: list[int] = []

    def word(self) -> int:
        """Return the next word, uniform in 0..2^64-1."""
        if not self._block:
            self._block = list(_BLOCK.unpack(os.urandom(_BLOCK.size)))
        return self._block.pop()
