"""Answering a ticket. `hush.core.dealing` explains the purpose of tickets."""

from __future__ import annotations

from hush.core.dealing import questions_of
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.core.schema import Record
from hush.device.coins import SystemCoins
from hush.errors import PlanError


def answer_ticket(plan: Plan, record: Record, id: bytes) -> Report:  # noqa: A002
    """Return a fresh random report that answers the questions of a ticket, under its id. It runs on the device."""
    if type(id) is not bytes or len(id) != ID_SIZE:
        raise PlanError(f"the id of a ticket must be {ID_SIZE} bytes")
    inputs = plan.schema.encode(record)
    coins = SystemCoins()
    answers = []
    for index in questions_of(plan, id):
        channel = plan.questions[index].channel
        answers.append((index, channel.answer(plan.seen(index, inputs), coins)))
    return Report(plan, id, tuple(answers))
