"""The device: a record goes in, a report comes out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from hush.channels import Output, draw_subset
from hush.coins import Coins, SystemCoins
from hush.errors import PlanError
from hush.plan import Plan
from hush.report import Report
from hush.schema import Input, Record

if TYPE_CHECKING:
    from hush.remote import Collector as Collector


def randomise(plan: Plan, record: Record) -> Report:
    """Return a fresh random report of a record, as private as the plan says.

    The whole record is checked first; a bad one is refused before any randomness is drawn. Every call draws anew, and
    two reports of the same record cost twice the epsilon: a device that may be asked again uses a `Ledger`, or
    `hush.client.Collector`, which remembers what it has sent.
    """
    if not isinstance(plan, Plan):
        raise PlanError("randomise(plan, record) needs a Plan first")
    return randomise_from(SystemCoins(), plan, record)


def randomise_from(coins: Coins, plan: Plan, record: Record) -> Report:
    """Return a report that is a function of these coins: for tests and vectors.

    Nobody is protected unless the words are unpredictable. Everything but tests calls `randomise`.
    """
    answers = tuple(answers_from(coins, plan, plan.schema.encode(record)))
    id_ = coins.word().to_bytes(8, "big") + coins.word().to_bytes(8, "big")
    return Report(plan, id_, answers)


def answers_from(coins: Coins, plan: Plan, inputs: Sequence[Input]) -> list[tuple[int, Output]]:
    """Draw the questions for a checked record, and the answers to them. `hush.batch` does the same for many."""
    answers = []
    for index in questions(plan, coins):
        channel = plan.questions[index].channel
        answers.append((index, channel.answer(inputs[plan.spans[index]], coins)))
    return answers


def questions(plan: Plan, coins: Coins) -> list[int]:
    """Draw the questions to answer. It does not depend on the record."""
    if plan.weights is None:
        return draw_subset(coins, len(plan.questions), plan.k)
    limits = list(accumulate(plan.weights))
    return [bisect_right(limits, coins.below(limits[-1]))]


def __getattr__(name: str) -> object:
    """`hush.client.Collector`, loaded when it is used: most devices hand their reports to something else."""
    if name == "Collector":
        from importlib import import_module

        return import_module("hush.remote").Collector
    raise AttributeError(f"module 'hush.client' has no attribute {name!r}")
