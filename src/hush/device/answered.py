"""The answers of a process without a ledger: the same plan gets the same report for as long as the process runs.

An application that cannot reach a collector tries again. A server that keeps each report and claims that it failed
could make it try as often as the server likes. If every try drew anew, the average of the reports would approach the
record. So a report is drawn once, and the same one is sent again. All objects and threads of the process share this
memory. It has no cap; a `Ledger` has one, and outlives the process.

**One person.** A second record for the same plan belongs to another person, or to the same person with changed values.
The process must say which: answers with a name (`person=`) are kept by name, and a name has one report for each plan,
even if the record changes.

In a training, the record of a plan follows from the person's values and from weights that the server sends. The values
alone say whether it is the same person. A server that sent other weights to a device that tries again would otherwise
see from its silence whether they change the record, and so learn the values.

**Forks.** A child remembers the draws before the fork, but cannot see the parent's draws after it. So the words of a
report are not drawn: SHAKE-256 computes them from the plan, the name, the record and a secret key, which is made when
hush is imported and which all forked processes share. Parent and child make the same report of the same record, and
independent reports of different records.

A report that excludes others (a training) depends on more than that. Only the process that imported hush makes it; its
children are refused, and need a ledger. Questions that are drawn first, tickets among them, and a plan that follows
another (`Plan.after`) are refused in a child and in a process that has forked: the other process may have answered
without these questions, or the plan before.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Sequence
from typing import NamedTuple

from hush.core.coins import Coins
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Input, Record
from hush.device import family
from hush.device.asking import Asked, answer_from, ask, check_dealt
from hush.device.randomise import randomise_from
from hush.errors import BudgetError, LedgerError

MAX_NAME = 256


class _Answer(NamedTuple):
    report: bytes
    record: bytes
    title: str
    after: str | None


class _Memory:
    """All answers, by person and plan."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.answers: dict[str | None, dict[str, _Answer]] = {}
        self.asked: dict[str | None, dict[str, Asked]] = {}
        self.descriptions: dict[str, str] = {}

    def renew(self) -> None:
        """Start with a free lock: in a child no thread is left that could release the parent's lock."""
        self.lock = threading.RLock()


_memory = _Memory()
if hasattr(os, "register_at_fork"):  # no thread is in the middle of an answer when a child takes its copy
    os.register_at_fork(
        before=lambda: _memory.lock.acquire(),
        after_in_parent=lambda: _memory.lock.release(),
        after_in_child=lambda: _memory.renew(),
    )


class Person:
    """One person's answers in this process: the user of the device, or one of several people by name.

    It has the methods of a `Ledger` that answer plans. It seals nothing: what is sent to a relay must outlive the
    process.
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and (type(name) is not str or not 0 < len(name) <= MAX_NAME):
            raise LedgerError(f"person must be 1 to {MAX_NAME} characters: a name by which this process knows someone")
        self._name = name

    def answered(self, plan: Plan) -> str | None:
        """Return the id of the plan that was answered: this one, its pilot, or a plan that follows the same pilot."""
        first = plan.after or plan.id
        with _memory.lock:
            mine = _memory.answers.get(self._name, {})
            return next((id_ for id_, held in mine.items() if (held.after or id_) == first), None)

    def chosen(self, plan: Plan) -> str | None:
        """Return the id of the plan of a pilot that was answered (see `answered`), or else that was asked."""
        first = plan.after or plan.id
        with _memory.lock:
            mine = _memory.asked.get(self._name, {})
            return self.answered(plan) or next(
                (id_ for id_, held in mine.items() if (held.plan.after or id_) == first), None
            )

    def asked(self, plan: Plan) -> Asked | None:
        """Return the questions of a plan that were drawn by `ask`, or None."""
        with _memory.lock:
            return _memory.asked.get(self._name, {}).get(plan.id)

    def ask(self, plan: Plan, dealt: Asked | None = None, follow: bool = False) -> Asked | None:
        """Draw the questions that will be answered, once. See `Ledger.ask`."""
        check_dealt(plan, dealt)
        with _memory.lock:
            mine = _memory.answers.setdefault(self._name, {})
            if plan.id in mine:
                return None
            drawn = _memory.asked.setdefault(self._name, {})
            kept = drawn.get(plan.id)
            if kept is not None:
                return kept
            self._exclude(plan)
            if follow and self.chosen(plan) not in (None, plan.id):
                raise BudgetError("another plan of the same pilot was asked, and one only is answered")
            if not family.alone():  # another process may have answered without these questions
                raise LedgerError("after a fork, questions are drawn and tickets taken only with a ledger")
            drawn[plan.id] = ask(plan) if dealt is None else dealt
            return drawn[plan.id]

    def _exclude(self, plan: Plan) -> None:
        mine = _memory.answers.get(self._name, {})
        if plan.after in mine or any(answer.after == plan.id for answer in mine.values()):
            raise BudgetError("a plan that belongs to this one has been answered, and one of both only is answered")
        if plan.after is not None and not family.alone():
            raise LedgerError("after a fork, a plan that follows another is answered only with a ledger")

    def described(self, title: str, description: str) -> str:
        """Return the first description of a training with this title in this process: this one, if there was none."""
        with _memory.lock:
            return _memory.descriptions.setdefault(title, description)

    def randomise(
        self,
        plan: Plan,
        record: Record,
        once: str | re.Pattern[str] | None = None,
        follow: bool = False,
        own: Sequence[object] | None = None,
    ) -> Report:
        """Answer a plan once: return the earlier report, or make one. See `Ledger.randomise`.

        `own` are the person's own values, where `record` was computed from them and from what a server sent.
        """
        with _memory.lock:
            mine = _memory.answers.setdefault(self._name, {})
            held = mine.get(plan.id)
            if held is not None and self._name is not None:
                return Report.decode(plan, held.report)
            asked, record = self.asked(plan), plan.schema.read(record)
            inputs = _inputs(plan, record, asked)
            tag = _secret("record", plan, self._name, inputs if own is None else own)
            if held is not None:
                if held.record != tag:
                    raise LedgerError(f"this process has answered this plan with another record: {_REMEDY}")
                return Report.decode(plan, held.report)
            self._exclude(plan)
            if follow and self.answered(plan) is not None:
                raise BudgetError("another plan of the same pilot has been answered, and one only is answered")
            begins = re.compile(re.escape(once) if isinstance(once, str) else once or "")
            if once is not None and any(begins.match(answer.title) for answer in mine.values()):
                remedy = f"; if it was another person: {_REMEDY}" if self._name is None else ""
                raise BudgetError(f"another plan of this kind has been answered, and one only is answered{remedy}")
            if once is not None and not family.first():
                raise LedgerError("a process that was forked trains only with a ledger")
            if asked is None:
                report = randomise_from(_Words(_secret("words", plan, self._name, inputs)), plan, record)
            else:
                words = _Words(_secret(f"words {asked.id.hex()}", plan, self._name, inputs))
                report = answer_from(words, asked, record)
            mine[plan.id] = _Answer(report.encode(), tag, plan.title, plan.after)
        return report


def _inputs(plan: Plan, record: Record, asked: Asked | None) -> list[Input]:
    """Return what a report can depend on: the inputs of all attributes, or of those that were asked."""
    if asked is None:
        return plan.schema.encode(record)
    names = {attribute.name for attribute in asked.attributes}
    inputs = plan.schema.encode(record, names)
    return [value if name in names else None for name, value in zip(plan.schema.names, inputs, strict=True)]


_REMEDY = "name each person (person=...), or give each a ledger; fresh=True draws anew, and costs epsilon again"


class _Words(Coins):
    """Words computed from a secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret, self._count = secret, 0

    def word(self) -> int:
        """Return the next word."""
        self._count += 1
        return int.from_bytes(hashlib.shake_256(self._secret + self._count.to_bytes(8, "big")).digest(8), "big")


def _secret(purpose: str, plan: Plan, name: str | None, inputs: Sequence[object]) -> bytes:
    """Return 32 bytes that look random without the key, and differ for different arguments."""
    values = [value + 0 if isinstance(value, float | int) else value for value in inputs]  # -0.0 is 0.0
    text = repr((purpose, plan.id, name, values)).encode()  # repr escapes a lone surrogate in a name
    return hashlib.shake_256(b"hush answer " + family.KEY + text).digest(32)
