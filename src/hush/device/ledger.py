"""The ledger: a device's memory of what it has answered, and what that cost.

Two reports of one record to the same plan cost twice its epsilon, and averaging many of them reveals the record.
So a device that may be asked again keeps a ledger: asking twice returns the *same* stored report, and a plan
that would take the total above a cap is refused.

It is one SQLite file, so that every answer is a transaction: a report is on disk before it is returned, a crash
leaves either no trace or the whole answer, and two processes that ask at once get one report. It holds reports
(already private), titles and costs, never a record; only a series (`hush.device.series`) must also remember what was
answered for which state. Lose the file and its protection is lost too; it is readable by its owner only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from numbers import Real
from pathlib import Path

from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Record
from hush.device.randomise import randomise
from hush.errors import BudgetError, InputError, LedgerError, StoreError

VERSION = 1
MAX_CAP = 1000
_WAIT = 30.0  # seconds that one process waits for another's transaction

_TABLES = """
create table settings (version integer not null, cap text not null) strict;
create table answers (plan text primary key, title text not null, epsilon text not null, report blob not null) strict;
"""
_TICKETS = "create table if not exists tickets (plan text primary key, signature text not null) strict"


class Ledger:
    """What this device has answered. `cap` bounds the sum of the epsilons of all plans it answers.

    The cap is fixed when the file is made; open it later without one, or with the same. `raise_cap` changes it.
    """

    def __init__(self, path: str | os.PathLike[str], cap: float | Fraction | None = None) -> None:
        try:
            self.path = Path(path).absolute()  # so that it stays the same file if the working directory changes
            exists = self.path.exists()
        except (OSError, ValueError, TypeError):
            raise LedgerError("a ledger needs the path of a file") from None
        wanted = None if cap is None else _cap(cap)
        if not exists:
            if wanted is None:
                raise LedgerError("a new ledger needs a cap: the total epsilon that this device may spend")
            self._create(wanted)
        stored = self.cap
        if wanted is not None and wanted != stored:
            raise LedgerError(f"this ledger has a cap of {float(stored)}: open it without one, or use raise_cap")

    def __repr__(self) -> str:
        return f"<Ledger {self.path}: {float(self.spent)} of {float(self.cap)} spent>"

    def _create(self, cap: Fraction) -> None:
        """Make the file under another name and link it into place, so that nobody ever sees half of one."""
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
            with suppress(FileExistsError):  # another process was faster: its ledger is as good
                os.link(draft, self.path)
            _sync(self.path.parent)
        except (OSError, ValueError, sqlite3.Error) as error:
            raise StoreError(f"the ledger cannot be made: {error}") from None
        finally:
            with suppress(OSError, ValueError):
                draft.unlink()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction that excludes all others: for `hush.device.series` and this file."""
        try:
            # mode=rw: never make an empty file where a ledger used to be.
            address = f"{self.path.as_uri()}?mode=rw"
            connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
            try:
                # extra: the directory is synced too, so that a power cut cannot bring back an old state.
                connection.execute("pragma synchronous = extra")
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            finally:
                connection.close()  # rolls back what was not committed
        except sqlite3.Error as error:
            raise StoreError(f"the ledger cannot be used: {error}") from None

    @property
    def cap(self) -> Fraction:
        """The most that all answers together may cost."""
        with self.transaction() as connection:
            return self._cap(connection)

    @staticmethod
    def _cap(connection: sqlite3.Connection) -> Fraction:
        row = connection.execute("select version, cap from settings").fetchone()
        if row is None or row[0] != VERSION:
            raise StoreError(f"this ledger is not of version {VERSION}")
        return _fraction(row[1])

    @staticmethod
    def _spent(connection: sqlite3.Connection) -> Fraction:
        rows = connection.execute("select epsilon from answers").fetchall()
        return sum((_fraction(epsilon) for (epsilon,) in rows), Fraction(0))

    @property
    def spent(self) -> Fraction:
        """What all answers together have cost, exactly: the sum of their epsilons."""
        with self.transaction() as connection:
            return self._spent(connection)

    def raise_cap(self, cap: float | Fraction) -> None:
        """Allow more to be spent. This weakens the promise that the device has made so far."""
        wanted = _cap(cap)
        with self.transaction() as connection:
            if wanted < self._cap(connection):
                raise LedgerError("raise_cap cannot lower a cap")
            connection.execute("update settings set cap = ?", (str(wanted),))

    def report(self, plan: Plan) -> Report | None:
        """Return the stored report to a plan, or None if it was not answered."""
        with self.transaction() as connection:
            return self.stored(connection, plan)

    @staticmethod
    def stored(connection: sqlite3.Connection, plan: Plan) -> Report | None:
        """Return the same within a transaction."""
        row = connection.execute("select report from answers where plan = ?", (plan.id,)).fetchone()
        try:
            return None if row is None else Report.decode(plan, row[0])
        except InputError:
            raise StoreError("the ledger holds a report that cannot be read") from None

    def ticket(self, plan: Plan) -> str | None:
        """Return the signature of the ticket under which a plan was answered, or None."""
        with self.transaction() as connection:
            connection.execute(_TICKETS)
            row = connection.execute("select signature from tickets where plan = ?", (plan.id,)).fetchone()
        return None if row is None else str(row[0])

    def randomise(
        self,
        plan: Plan,
        record: Record,
        once: str | None = None,
        draw: Callable[[Plan, Record], Report] = randomise,
        ticket: str | None = None,
    ) -> Report:
        """Answer a plan once: return the stored report, or make one and store it before it is returned.

        A plan that would take the total above the cap raises BudgetError, and nothing is drawn or stored. With `once`
        so does a plan if another has been answered whose title begins with it: another round of a training, for one.
        `draw` is for reports under a ticket (`hush.device.tickets`), whose signature is kept with the report.
        """
        with self.transaction() as connection:
            stored = self.stored(connection, plan)
            if stored is not None:
                return stored
            if once is not None:
                titles = connection.execute("select title from answers").fetchall()
                if any(title.startswith(once) for (title,) in titles):
                    raise BudgetError("this device has answered another plan of this kind, and answers one only")
            self.afford(connection, plan.cost, "this plan")
            report = draw(plan, record)
            if ticket is not None:
                connection.execute(_TICKETS)
                connection.execute("insert or replace into tickets values (?, ?)", (plan.id, ticket))
            self.enter(connection, report, plan.cost)
        return report

    def afford(self, connection: sqlite3.Connection, cost: Fraction, what: str) -> None:
        """Refuse what would take the total above the cap."""
        cap, spent = self._cap(connection), self._spent(connection)
        if spent + cost > cap:
            raise BudgetError(
                f"{what} costs {float(cost)}; of a cap of {float(cap)} this device has spent {float(spent)}"
            )

    @staticmethod
    def enter(connection: sqlite3.Connection, report: Report, cost: Fraction) -> None:
        """Store a report, and what it cost."""
        plan = report.plan
        row = (plan.id, plan.title, str(cost), report.encode())
        connection.execute("insert into answers values (?, ?, ?, ?)", row)


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        raise StoreError("the ledger holds a number that cannot be read") from None


def _sync(folder: Path) -> None:
    """Make sure that a new name in a folder survives a power cut, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cap(cap: object) -> Fraction:
    if isinstance(cap, Real) and not isinstance(cap, bool) and 0 < float(cap) <= MAX_CAP:
        return cap if isinstance(cap, Fraction) else Fraction(repr(float(cap)))
    raise LedgerError(f"the cap of a ledger must be a number above 0 and at most {MAX_CAP}")
