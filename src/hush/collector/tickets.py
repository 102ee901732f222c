"""Tickets, as the collector issues and checks them. `hush.device.asking` explains their purpose.

The collector stores nothing when it issues a ticket: it recognises the signature later. A ticket counts once, because
its id is the report's.
"""

from __future__ import annotations

import hmac
import secrets

from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.errors import ReportError


def issue(plan: Plan, key: bytes) -> tuple[bytes, bytes]:
    """Return a new ticket: an id and its signature."""
    id_ = secrets.token_bytes(ID_SIZE)
    return id_, _signature(plan, key, id_)


def check(plan: Plan, key: bytes, report: Report, signature: bytes) -> None:
    """Refuse a report without a ticket of this collector, or with answers to other questions than its ticket deals."""
    if not hmac.compare_digest(_signature(plan, key, report.id), signature):
        raise ReportError("this report has no ticket of this collector")
    if [index for index, _ in report.answers] != questions_of(plan, report.id):
        raise ReportError("this report answers other questions than its ticket deals")


def _signature(plan: Plan, key: bytes, id_: bytes) -> bytes:
    return hmac.digest(key, b"hush ticket " + bytes.fromhex(plan.id) + id_, "sha256")[:SIGNATURE_SIZE]
