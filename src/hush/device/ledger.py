"""The ledger: a device's memory of its answers and their cost.

Two reports of one record to the same plan cost twice its epsilon, and averaging many of them reveals the record.
So a device that may be asked again keeps a ledger: a second call returns the *same* stored report, and a plan
that would take the total above a cap is refused.

The ledger is one SQLite file, so every answer is a transaction: a report is on disk before it is returned, a crash
leaves either no trace or the whole answer, and two processes that ask at once get one report. It holds reports
(already private), titles and costs, never a record. Only a series (`hush.device.series`) must also remember the answer
for each state. If the file is lost, so is its protection. Only its owner can read it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import NamedTuple

from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Record
from hush.core.sealing import CollectorKey
from hush.device.asking import Asked, ask, check_dealt
from hush.device.ledger_file import LedgerFile
from hush.device.randomise import randomise
from hush.device.sealing import seal
from hush.errors import BudgetError, LedgerError

MAX_CAP = 1000
_ASKED = (
    "create table if not exists asked "
    "(plan text primary key, first text not null, id blob not null, ticket text) strict"
)
_SEALED = (
    "create table if not exists sealed (report blob, key blob, sealed blob not null, primary key (report, key)) strict"
)
_HELD = "create table if not exists held (report blob primary key) strict"
_TRAININGS = "create table if not exists trainings (title text primary key, description text not null) strict"


class Sealed(NamedTuple):
    """A report as it goes to a relay, and whether a relay has confirmed that it holds it."""

    key: CollectorKey
    body: bytes
    held: bool


class Ledger:
    """The answers of this device. `cap` bounds the sum of the epsilons of all plans it answers.

    The cap is fixed when the file is made. Later, open the file without a cap or with the same one. `raise_cap` changes
    it.
    """

    def __init__(self, path: str | os.PathLike[str], cap: float | Fraction | None = None) -> None:
        try:
            self.path = Path(path).absolute()  # the same file even if the working directory changes
            exists = self.path.exists()
        except (OSError, ValueError, TypeError):
            raise LedgerError("a ledger needs the path of a file") from None
        self._file = LedgerFile(self.path)
        wanted = None if cap is None else _cap(cap)
        if not exists:
            if wanted is None:
                raise LedgerError("a new ledger needs a cap: the total epsilon that this device may spend")
            self._file.create(wanted)
        stored = self.cap
        if wanted is not None and wanted != stored:
            raise LedgerError(f"this ledger has a cap of {float(stored)}: open it without one, or use raise_cap")

    def __repr__(self) -> str:
        return f"<Ledger {self.path}: {float(self.spent)} of {float(self.cap)} spent>"

    @property
    def cap(self) -> Fraction:
        """The most that all answers together may cost."""
        with self._file.transaction() as connection:
            return self._file.cap(connection)

    @property
    def spent(self) -> Fraction:
        """The exact cost of all answers together: the sum of their epsilons."""
        with self._file.transaction() as connection:
            return self._file.spent(connection)

    def raise_cap(self, cap: float | Fraction) -> None:
        """Allow the device to spend more. This weakens the promise that it has made so far."""
        wanted = _cap(cap)
        with self._file.transaction() as connection:
            if wanted < self._file.cap(connection):
                raise LedgerError("raise_cap cannot lower a cap")
            connection.execute("update settings set cap = ?", (str(wanted),))

    def report(self, plan: Plan) -> Report | None:
        """Return the stored report to a plan, or None if it was not answered."""
        with self._file.transaction() as connection:
            return self._file.stored(connection, plan)

    def answered(self, plan: Plan) -> str | None:
        """Return the id of the plan that was answered: this one, its pilot, or a plan that follows the same pilot."""
        with self._file.transaction() as connection:
            return self._file.answered(connection, plan)

    def chosen(self, plan: Plan) -> str | None:
        """Return the id of the plan of a pilot that was answered (see `answered`), or else that was asked."""
        with self._file.transaction() as connection:
            return self._chosen(connection, plan)

    def asked(self, plan: Plan) -> Asked | None:
        """Return the questions of a plan that were drawn by `ask`, or None."""
        with self._file.transaction() as connection:
            return self._asked(connection, plan)

    def ask(self, plan: Plan, dealt: Asked | None = None, follow: bool = False) -> Asked | None:
        """Draw the questions that this device will answer, once, and keep them. None: the plan is answered already.

        A plan that this device may not answer raises BudgetError, so that nobody is asked for nothing. `dealt` are the
        questions of a ticket, in place of the device's own draw. The first draw stays, whichever it was. `follow` is as
        in `randomise`.
        """
        check_dealt(plan, dealt)
        with self._file.transaction() as connection:
            if self._file.stored(connection, plan) is not None:
                return None
            kept = self._asked(connection, plan)
            if kept is not None:
                return kept
            self._file.exclude(connection, plan)
            if follow and self._chosen(connection, plan) not in (None, plan.id):
                raise BudgetError("this device was asked another plan of the same pilot, and answers one only")
            self._file.afford(connection, plan.cost, "this plan")
            asked = ask(plan) if dealt is None else dealt
            row = (plan.id, plan.after or plan.id, asked.id, asked.ticket)
            connection.execute("insert or replace into asked values (?, ?, ?, ?)", row)
        return asked

    @staticmethod
    def _asked(connection: sqlite3.Connection, plan: Plan) -> Asked | None:
        connection.execute(_ASKED)
        row = connection.execute("select id, ticket from asked where plan = ?", (plan.id,)).fetchone()
        return None if row is None else Asked(plan, *row)

    def _chosen(self, connection: sqlite3.Connection, plan: Plan) -> str | None:
        connection.execute(_ASKED)
        first = plan.after or plan.id
        row = connection.execute("select plan from asked where first = ?", (first,)).fetchone()
        return self._file.answered(connection, plan) or (None if row is None else str(row[0]))

    def seal(self, report: Report, key: CollectorKey) -> Sealed:
        """Return a report as it was sealed first, or seal it. It is on disk before it is returned.

        A report is sealed once, whatever the key says later: it may have left. If it left twice, as other bytes, the
        collector would see its id in two batches, and could tell whose it is.
        """
        with self._file.transaction() as connection:
            known = self._sealed(connection, report)
            if known is None:
                known = Sealed(key, seal(report, key), False)
                connection.execute("insert into sealed values (?, ?, ?)", (report.id, key.public, known.body))
        return known

    def sealed(self, report: Report) -> Sealed | None:
        """Return a report as it was sealed, or None."""
        with self._file.transaction() as connection:
            return self._sealed(connection, report)

    def hold(self, report: Report) -> None:
        """Note that a relay holds a report: it is never sent again."""
        with self._file.transaction() as connection:
            connection.execute(_HELD)
            connection.execute("insert or ignore into held values (?)", (report.id,))

    @staticmethod
    def _sealed(connection: sqlite3.Connection, report: Report) -> Sealed | None:
        connection.execute(_SEALED)
        connection.execute(_HELD)
        row = connection.execute(
            "select key, sealed, exists (select 1 from held where held.report = sealed.report) from sealed "
            "where report = ? order by rowid",
            (report.id,),
        ).fetchone()
        return None if row is None else Sealed(CollectorKey(row[0]), bytes(row[1]), bool(row[2]))

    def described(self, title: str, description: str) -> str:
        """Keep the description of a training under its title, unless one is kept already. Return the kept one."""
        with self._file.transaction() as connection:
            connection.execute(_TRAININGS)
            connection.execute("insert or ignore into trainings values (?, ?)", (title, description))
            row = connection.execute("select description from trainings where title = ?", (title,)).fetchone()
        return str(row[0])

    def randomise(
        self, plan: Plan, record: Record, once: str | re.Pattern[str] | None = None, follow: bool = False
    ) -> Report:
        """Answer a plan once: return the stored report, or make one and store it before it is returned.

        If `ask` has drawn questions, the report answers these, and the record may leave out the rest. A plan that would
        take the total above the cap raises BudgetError, and nothing is drawn or stored. With `once`, a plan also raises
        it if the device has answered another plan whose title begins with `once`, a text or a pattern: another round of
        a training, for example.
        With `follow`, a plan also raises it if another plan of the same pilot was answered: two threads or processes
        that follow at once may have been sent to two plans.
        """
        with self._file.transaction() as connection:
            stored = self._file.stored(connection, plan)
            if stored is not None:
                return stored
            if once is not None:
                begins = re.compile(re.escape(once) if isinstance(once, str) else once)
                titles = connection.execute("select title from answers").fetchall()
                if any(begins.match(title) for (title,) in titles):
                    raise BudgetError("this device has answered another plan of this kind, and answers one only")
            self._file.exclude(connection, plan)
            if follow and self._file.answered(connection, plan) is not None:
                raise BudgetError("this device has answered another plan of the same pilot, and answers one only")
            self._file.afford(connection, plan.cost, "this plan")
            asked = self._asked(connection, plan)
            report = randomise(plan, record) if asked is None else asked.answer(record)
            self._file.enter(connection, report, plan.cost)
        return report


def _cap(cap: object) -> Fraction:
    if isinstance(cap, Real) and not isinstance(cap, bool) and 0 < float(cap) <= MAX_CAP:
        return cap if isinstance(cap, Fraction) else Fraction(repr(float(cap)))
    raise LedgerError(f"the cap of a ledger must be a number above 0 and at most {MAX_CAP}")
