"""Tickets: the server deals the questions, by a public coin, so that a client cannot pick its own.

A client that lies can choose to lie about the attribute it cares about: all its weight then falls on one estimate. If
the questions are dealt, a liar is asked about a given attribute with probability k/d only, and m liars weigh as much
on it as m*k/d would otherwise. Honest people lose nothing: questions never depend on the record, whoever draws them.

A ticket is a random id, which becomes the report's id, signed by the collector. The questions follow from the id by
SHAKE-256, as if its output were the words of `spec/wire.md` that draw them. The server could deal an attribute more
often than announced; it would learn more about it, from everybody at the same epsilon.
"""

from __future__ import annotations

import hashlib

from hush.client import questions
from hush.coins import Coins, SystemCoins
from hush.errors import PlanError
from hush.plan import Plan
from hush.report import ID_SIZE, Report
from hush.schema import Record

SIGNATURE_SIZE = 16
"""How many bytes the signature of a ticket has, which its report is sent with."""


class _IdCoins(Coins):
    """Words that follow from an id: public, so that everybody can check which questions it deals."""

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


def answer_ticket(plan: Plan, record: Record, id: bytes) -> Report:  # noqa: A002
    """Return a fresh random report that answers the questions of a ticket, under its id: on the device."""
    if type(id) is not bytes or len(id) != ID_SIZE:
        raise PlanError(f"the id of a ticket must be {ID_SIZE} bytes")
    inputs = plan.schema.encode(record)
    coins = SystemCoins()
    answers = []
    for index in questions_of(plan, id):
        channel = plan.questions[index].channel
        answers.append((index, channel.answer(inputs[plan.spans[index]], coins)))
    return Report(plan, id, tuple(answers))
