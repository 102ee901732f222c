"""Tickets: questions that the collector deals, instead of the device drawing them."""

from __future__ import annotations

from hush.core import codec
from hush.core.dealing import SIGNATURE_SIZE
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.device.asking import Asked
from hush.device.network import Server
from hush.device.remembering import Book
from hush.errors import CollectorError, LedgerError


def fetch_ticket(server: Server, plan: Plan) -> Asked:
    """Return the questions of a new ticket."""
    data = server.get(f"/plans/{plan.id}/ticket")
    if not data:
        raise CollectorError("this collector deals no tickets")
    ticket = codec.load(data, CollectorError)
    id_, _, signature = codec.fields(ticket, ("id", "questions", "signature"), CollectorError, "a ticket")
    id_ = codec.hexadecimal(id_, ID_SIZE, CollectorError, "the id of a ticket")
    signature = codec.hexadecimal(signature, SIGNATURE_SIZE, CollectorError, "the signature of a ticket")
    return Asked(plan, id_, signature.hex())


def needs_ticket(book: Book, plan: Plan) -> bool:
    """Return whether a plan needs a ticket: it is not answered, and its questions are not drawn."""
    if book.answered(plan) == plan.id:
        return False
    kept = book.asked(plan)
    if kept is not None and kept.ticket is None:  # the person may have answered these, and nothing else
        raise LedgerError("the questions of this plan were drawn without a ticket, and the first draw stays")
    return kept is None


def ticket_of(book: Book | None, plan: Plan, id_: bytes) -> str | None:
    """Return the ticket that dealt the report with this id, or None if the device drew its questions itself."""
    asked = None if book is None else book.asked(plan)
    return None if asked is None or asked.id != id_ else asked.ticket
