"""The file of a ledger: one SQLite database, and the transactions of `Ledger` and `Series`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

from hush.core.plan import Plan
from hush.core.report import Report
from hush.errors import BudgetError, InputError, StoreError

VERSION = 1
_WAIT = 30.0  # seconds that one process waits for another's transaction

_TABLES = """
create table settings (version integer not null, cap text not null) strict;
create table answers (plan text primary key, title text not null, epsilon text not null, report blob not null) strict;
"""

_FOLLOWED = "create table if not exists followed (plan text primary key, before text not null) strict"


class LedgerFile:
    """The database behind a ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, cap: Fraction) -> None:
        """Make the file under another name and link it into place, so that no process ever sees half a file."""
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.{os.urandom(4).hex()}.new")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = sqlite3.connect(draft)
            try:
                connection.execute("pragma synchronous = extra")
                connection.executescript(_TABLES)
                connection.execute("insert into settings values (?, ?)", (VERSION, str(cap)))
                connection.commit()
            finally:
                connection.close()
            with suppress(FileExistsError):  # another process was faster: use its ledger
                os.link(draft, self.path)
            _sync(self.path.parent)
        except (OSError, ValueError, sqlite3.Error) as error:
            raise StoreError(f"the ledger cannot be made: {error}") from None
        finally:
            with suppress(OSError, ValueError):
                draft.unlink()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction that excludes all others."""
        try:
            # mode=rw: never make an empty file where a ledger used to be.
            address = f"{self.path.as_uri()}?mode=rw"
            connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
            try:
                # extra: SQLite syncs the directory too, so that a power cut cannot bring back an old state.
                connection.execute("pragma synchronous = extra")
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            finally:
                connection.close()  # rolls back uncommitted changes
        except sqlite3.Error as error:
            raise StoreError(f"the ledger cannot be used: {error}") from None

    @staticmethod
    def cap(connection: sqlite3.Connection) -> Fraction:
        """Return the most that all answers together may cost."""
        row = connection.execute("select version, cap from settings").fetchone()
        if row is None or row[0] != VERSION:
            found = "no version" if row is None else f"version {row[0]}"
            raise StoreError(
                f"this ledger is of {found}, and this hush reads version {VERSION}: it is left as it is, for the hush "
                "that wrote it"
            )
        return _fraction(row[1])

    @staticmethod
    def spent(connection: sqlite3.Connection) -> Fraction:
        """Return the cost of all answers together."""
        rows = connection.execute("select epsilon from answers").fetchall()
        return sum((_fraction(epsilon) for (epsilon,) in rows), Fraction(0))

    @staticmethod
    def stored(connection: sqlite3.Connection, plan: Plan) -> Report | None:
        """Return the stored report to a plan, or None if it was not answered."""
        row = connection.execute("select report from answers where plan = ?", (plan.id,)).fetchone()
        try:
            return None if row is None else Report.decode(plan, row[0])
        except InputError:
            raise StoreError("the ledger holds a report that cannot be read") from None

    def afford(self, connection: sqlite3.Connection, cost: Fraction, what: str) -> None:
        """Refuse a cost that would take the total above the cap."""
        cap, spent = self.cap(connection), self.spent(connection)
        if spent + cost > cap:
            raise BudgetError(
                f"{what} costs {float(cost)}; of a cap of {float(cap)} this device has spent {float(spent)}"
            )

    @staticmethod
    def exclude(connection: sqlite3.Connection, plan: Plan) -> None:
        """Refuse a plan that follows one that was answered, or that such a one follows: nobody answers both."""
        connection.execute(_FOLLOWED)
        both = connection.execute(
            "select 1 from answers where plan = ? union all select 1 from followed where before = ?",
            (plan.after, plan.id),
        ).fetchone()
        if both is not None:
            raise BudgetError("this device has answered a plan that belongs to this one, and answers one of both only")

    @staticmethod
    def answered(connection: sqlite3.Connection, plan: Plan) -> str | None:
        """Return the id of the plan that was answered, out of a pilot and all plans that follow it."""
        connection.execute(_FOLLOWED)
        first = plan.after or plan.id
        row = connection.execute(
            "select plan from answers where plan = ? union all select plan from followed where before = ?",
            (first, first),
        ).fetchone()
        return None if row is None else str(row[0])

    @staticmethod
    def enter(connection: sqlite3.Connection, report: Report, cost: Fraction) -> None:
        """Store a report and its cost."""
        plan = report.plan
        row = (plan.id, plan.title, str(cost), report.encode())
        connection.execute("insert into answers values (?, ?, ?, ?)", row)
        if plan.after is not None:
            connection.execute(_FOLLOWED)
            connection.execute("insert or ignore into followed values (?, ?)", (plan.id, plan.after))


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise StoreError("the ledger holds a number that cannot be read") from None


def _sync(folder: Path) -> None:
    """Make sure that a new name in a folder survives a power cut, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
