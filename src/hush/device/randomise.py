"""The device: a record goes in, a report comes out."""

from __future__ import annotations

from collections.abc import Sequence

from hush.core.channels import Output
from hush.core.coins import Coins
from hush.core.dealing import questions
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Input, Record
from hush.device.coins import SystemCoins
from hush.errors import PlanError


def randomise(plan: Plan, record: Record) -> Report:
    """Return a fresh random report of a record, as private as the plan claims.

    The whole record is checked first; a bad one is refused before any randomness is drawn. Every call draws anew, and
    two reports of the same record cost twice the epsilon. A device that may be asked again must use a `Ledger`, or
    `hush.Client`, which remembers what it has sent.
    """
    if not isinstance(plan, Plan):
        raise PlanError("randomise(plan, record) needs a Plan first")
    return randomise_from(SystemCoins(), plan, record)


def randomise_from(coins: Coins, plan: Plan, record: Record) -> Report:
    """Return a report that is a function of these coins, for tests and vectors.

    It protects nobody unless the words are unpredictable. All code but tests calls `randomise`.
    """
    answers = tuple(answers_from(coins, plan, plan.schema.encode(record)))
    id_ = coins.word().to_bytes(8, "big") + coins.word().to_bytes(8, "big")
    return Report(plan, id_, answers)


def answers_from(coins: Coins, plan: Plan, inputs: Sequence[Input]) -> list[tuple[int, Output]]:
    """Draw the questions for a checked record, and the answers to them. `hush.batch` does this for many records."""
    answers = []
    for index in questions(plan, coins):
        channel = plan.questions[index].channel
        answers.append((index, channel.answer(plan.seen(index, inputs), coins)))
    return answers
