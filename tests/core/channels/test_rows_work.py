"""The rows channel does the same work whatever its coin."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hush.core.channels import Rows
from hush.core.coins import Coins
from hush.core.exact import WORD


class Watched(int):
    """An integer that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        type(self).compared += 1
        return int(self) < other


class Given(Coins):
    """A coin that falls as it is told, and integers that are watched."""

    def __init__(self, here: bool) -> None:
        self._here = here

    def word(self) -> int:
        return 5 if self._here else WORD - 1

    def below(self, n: int) -> int:
        return Watched(n - 1)

    def several(self, sizes: Sequence[int]) -> list[int]:
        return [self.below(n) for n in sizes]


@pytest.mark.parametrize("weight", [1, 3])
def test_both_parts_of_a_condition_are_computed(weight: int) -> None:
    """Someone who knew the coin beside the report would know more than epsilon allows."""
    channel = Rows(5, weight, 8, 3, WORD // 2)
    counts = []
    for here in (True, False):
        Watched.compared = 0
        channel.draw((2, 4), Given(here))
        counts.append(Watched.compared)
    assert counts[0] == counts[1] > 0
