"""Delivery: the two ways of a report, straight to the collector or sealed through a relay.

Sending a report again is harmless. If there is a book, a second try through a relay sends the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from hush.core.report import Report
from hush.core.sealing import CollectorKey
from hush.device.network import OCTETS, REPORT, Server
from hush.device.receipts import Receipt, receipt, relay_receipt
from hush.device.remembering import Book
from hush.device.sealing import seal
from hush.errors import InputError

TICKETED = "a report with a ticket, which names it,"


@dataclass(frozen=True)
class Relayed:
    """A relay, and the key of the collector for which reports are sealed."""

    server: Server
    key: CollectorKey

    def send(self, report: Report, book: Book | None) -> Receipt:
        """Send a report, sealed, until the relay confirms that it holds it."""
        sealed = seal(report, self.key) if book is None else book.sealed(report, self.key)
        return relay_receipt(self.server.send(f"/sealed/{report.plan.id}", sealed, OCTETS), report.id)


@dataclass(frozen=True)
class Delivery:
    """Sends reports to the collector, or to the relay if there is one."""

    collector: Server
    relayed: Relayed | None

    def send(self, report: Report, book: Book | None, ticket: str | None = None) -> Receipt:
        """Send a report until its arrival is confirmed."""
        if self.relayed is None:
            return self.send_directly(report, {} if ticket is None else {"Hush-Ticket": ticket})
        if ticket is not None:  # the collector dealt the id of the report to this device, and would know it again
            self.require_direct(TICKETED)
        return self.relayed.send(report, book)

    def send_directly(self, report: Report, headers: dict[str, str] | None) -> Receipt:
        """Send a report until the collector confirms that it is durable."""
        path = f"/plans/{report.plan.id}/reports"
        return receipt(self.collector.send(path, report.encode(), REPORT, headers), report.id)

    def require_direct(self, what: str) -> None:
        """Refuse what would name the device to the collector, or what no relay takes."""
        if self.relayed is not None:
            raise InputError(f"{what} cannot go through a relay: use a client without one")
