"""Receipts: the confirmation that a report or a batch has arrived. A receipt for anything else is refused."""

from __future__ import annotations

from dataclasses import dataclass

from hush.core import codec
from hush.errors import CollectorError


@dataclass(frozen=True)
class Receipt:
    """The collector's confirmation that a report is durable.

    `new` is true if this request counted it, and false if an earlier one did. The earlier one may be a try of the same
    call whose answer was lost or came too late. The confirmation of a relay says that it holds the report: the
    collector counts it later, with others.
    """

    id: str
    new: bool


@dataclass(frozen=True)
class SealedReceipt:
    """The collector's confirmation that a sealed batch is durable. `refused` reports of it did not open."""

    id: str
    new: bool
    reports: int
    refused: int


def receipt(data: bytes, sent: bytes) -> Receipt:
    """Read a collector's answer to the report or batch with the id `sent`."""
    id_, new, _ = codec.fields(codec.load(data, CollectorError), ("id", "new", "reports"), CollectorError, "a receipt")
    if id_ != sent.hex() or type(new) is not bool:
        raise CollectorError("the collector's receipt is for something else")
    return Receipt(id_, new)


def sealed_receipt(data: bytes, sent: bytes) -> SealedReceipt:
    """Read a collector's answer to the sealed batch with the id `sent`."""
    answer = codec.load(data, CollectorError)
    found = codec.fields(answer, ("id", "new", "reports", "refused"), CollectorError, "a receipt")
    if found[0] != sent.hex() or [type(value) for value in found[1:]] != [bool, int, int]:
        raise CollectorError("the collector's receipt is for something else")
    return SealedReceipt(*found)


def relay_receipt(data: bytes, sent: bytes) -> Receipt:
    """Read a relay's answer to one sealed report. The relay does not know its id, which is `sent`."""
    held, new = codec.fields(codec.load(data, CollectorError), ("reports", "new"), CollectorError, "a receipt")
    if held != 1 or type(new) is not int:
        raise CollectorError("the relay's receipt is for something else")
    return Receipt(sent.hex(), new == 1)
