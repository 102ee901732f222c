"""Delivery: the two ways of a report, straight to the collector or sealed through a relay.

Straight to the collector, sending a report again is harmless: it is counted once, by its id.

**Through a relay it is sealed once.** A relay knows a report again by its bytes. Sealed anew it would be in two
batches, and the collector would see its id in both: it would know whose report it is, if it saw who tried twice. So the
ledger keeps the bytes before they leave. The device sends these and no others, also after the key has changed, and
nothing more once the relay has confirmed that it holds them. A report that may have left sealed is never sent straight
to the collector either.
"""

from __future__ import annotations

from dataclasses import dataclass

from hush.core.report import Report
from hush.core.sealing import CollectorKey, sealed_size
from hush.device.ledger import Ledger
from hush.device.network import OCTETS, REPORT, Server
from hush.device.receipts import Receipt, receipt, relay_receipt
from hush.device.remembering import Book
from hush.errors import CollectorError, InputError, LedgerError

TICKETED = "a report with a ticket, which names it,"
KEEPS = (
    "through a relay a report needs a ledger, which keeps its sealed bytes: give the client one, or keep the bytes of "
    "hush.seal(report, key) yourself and pass them to submit(report, sealed=...)"
)


@dataclass(frozen=True)
class Relayed:
    """A relay, and the key of the collector for which reports are sealed."""

    server: Server
    key: CollectorKey

    def send(self, report: Report, book: Book | None) -> Receipt:
        """Send a report, as it was sealed first, until the relay confirms that it holds it."""
        if not isinstance(book, Ledger):
            raise LedgerError(KEEPS)
        known = book.seal(report, self.key)
        if known.held:
            return Receipt(report.id.hex(), False)
        found = self.send_bytes(report, known.key, known.body)
        book.hold(report)
        return found

    def send_bytes(self, report: Report, key: CollectorKey, body: bytes) -> Receipt:
        """Send the sealed bytes of a report until the relay confirms that it holds them."""
        if len(body) != sealed_size(report.plan):
            raise InputError(f"a sealed report of this plan has {sealed_size(report.plan)} bytes")
        try:
            answer = self.server.send(f"/sealed/{report.plan.id}", body, OCTETS, {"Hush-Key": key.public.hex()})
        except CollectorError as error:
            if error.kind != "other-key":
                raise
            text = (
                "the report is sealed for another key than the relay's: it was not delivered, and is not sealed again"
            )
            raise CollectorError(text, error.status, error.kind) from None
        return relay_receipt(answer, report.id)


@dataclass(frozen=True)
class Delivery:
    """Sends reports to the collector, or to the relay if there is one."""

    collector: Server
    relayed: Relayed | None

    def send(self, report: Report, book: Book | None, ticket: str | None = None) -> Receipt:
        """Send a report until its arrival is confirmed."""
        if self.relayed is None:
            return self.send_directly(report, {} if ticket is None else {"Hush-Ticket": ticket}, book)
        if ticket is not None:  # the collector dealt the id of the report to this device, and would know it again
            self.require_direct(TICKETED)
        return self.relayed.send(report, book)

    def send_directly(self, report: Report, headers: dict[str, str] | None, book: Book | None = None) -> Receipt:
        """Send a report until the collector confirms that it is durable."""
        if isinstance(book, Ledger) and book.sealed(report) is not None:
            raise LedgerError(
                "this report has gone to a relay, sealed: sent to the collector too, it would name itself"
            )
        path = f"/plans/{report.plan.id}/reports"
        return receipt(self.collector.send(path, report.encode(), REPORT, headers), report.id)

    def check_keeps(self, book: Book | None) -> None:
        """Refuse to answer through a relay without a ledger, before anything is drawn."""
        if self.relayed is not None and not isinstance(book, Ledger):
            raise LedgerError(KEEPS)

    def require_direct(self, what: str) -> None:
        """Refuse what would name the device to the collector, or what no relay takes."""
        if self.relayed is not None:
            raise InputError(f"{what} cannot go through a relay: use a client without one")
