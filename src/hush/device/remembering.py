"""Where a client remembers its answers, so that the same plan gets the same report again: a ledger, or this process."""

from __future__ import annotations

from hush.device.answered import Person
from hush.device.ledger import Ledger
from hush.device.series import Series
from hush.errors import LedgerError

Book = Ledger | Person


def choose_book(ledger: Ledger | None, person: str | None, fresh: bool, series: Series | None = None) -> Book | None:
    """Return where answers are remembered: in the ledger, in this process, or nowhere (None)."""
    if series is not None and ledger is not None and ledger.path != series.ledger.path:
        raise LedgerError("the series must be in the collector's own ledger, so that there is one cap")
    if person is None and not fresh:
        return Person() if ledger is None else ledger
    if ledger is not None or series is not None:
        raise LedgerError("a ledger belongs to one person and answers a plan once: omit person and fresh with it")
    if person is not None and fresh:
        raise LedgerError("give either person, which keeps the report, or fresh, which keeps none")
    return None if fresh else Person(person)
