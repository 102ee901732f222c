"""The questions that a person answers: the device draws them, or a ticket deals them. Neither depends on the record.

**Tickets.** A lying client can pick the attribute it cares about, and put all its weight on one estimate. If the
server deals the questions by a public coin, a liar is asked about a given attribute with probability k/d only, so m
liars weigh as much on it as m*k/d would otherwise. Honest people lose nothing.

A ticket is a random id, which becomes the report's id, signed by the collector. SHAKE-256 of the id supplies the words
that draw the questions as in `spec/wire.md`. The server could deal an attribute more often than announced. It would
then learn more about that attribute, from everybody at the same epsilon.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from itertools import accumulate

from hush.core.channels import draw_subset
from hush.core.coins import Coins
from hush.core.plan import Plan

SIGNATURE_SIZE = 16
"""How many bytes the signature of a ticket has. A report is sent with the signature."""


def questions(plan: Plan, coins: Coins) -> list[int]:
    """Draw the questions to answer, independently of the record."""
    if plan.weights is None:
        return draw_subset(coins, len(plan.questions), plan.k)
    limits = list(accumulate(plan.weights))
    return [bisect_right(limits, coins.below(limits[-1]))]


class _IdCoins(Coins):
    """Words computed from an id. They are public, so everybody can check which questions the id deals."""

    def __init__(self, plan: Plan, id_: bytes) -> None:
        self._seed = b"hush ticket " + bytes.fromhex(plan.id) + id_
        self._count = 0

    def word(self) -> int:
        """Return the next word."""
        self._count += 1
        return int.from_bytes(hashlib.shake_256(self._seed + self._count.to_bytes(4, "big")).digest(8), "big")


def questions_of(plan: Plan, id: bytes) -> list[int]:  # noqa: A002
    """Return the questions that a ticket deals."""
    return questions(plan, _IdCoins(plan, id))
