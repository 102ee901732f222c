"""Tickets, as a collector issues and checks them, without a network."""

from __future__ import annotations

import hashlib
import hmac

import pytest

import hush
from hush.collector import tickets
from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.core.report import ID_SIZE
from hush.device.asking import Asked
from hush.device.coins import SystemCoins
from hush.errors import ReportError

SCHEMA = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"]), hush.Categorical("d", ["a", "b"])])
RECORD = {"x": 0.5, "c": "a", "d": "b"}
PLAN, OTHER = (hush.design(SCHEMA, 1.0, title=title, k=1) for title in ("one", "another"))
KEY, OTHER_KEY = bytes(range(32)), bytes(32)


def answered(plan: hush.Plan, id_: bytes, index: int) -> hush.Report:
    """A report under this id that answers this question."""
    answer = plan.questions[index].channel.answer(plan.seen(index, plan.schema.encode(RECORD)), SystemCoins())
    return hush.Report(plan, id_, ((index, answer),))


def test_a_ticket_is_signed_by_the_key_for_one_plan_and_one_id() -> None:
    """As `hmac` says it: so tickets that were issued before a collector was restarted or renewed are still good."""
    id_, signature = tickets.issue(PLAN, KEY)
    assert (len(id_), len(signature)) == (ID_SIZE, SIGNATURE_SIZE)
    text = b"hush ticket " + bytes.fromhex(PLAN.id) + id_
    assert signature == hmac.new(KEY, text, hashlib.sha256).digest()[:SIGNATURE_SIZE]
    tickets.check(PLAN, KEY, Asked(PLAN, id_, signature.hex()).answer(RECORD), signature)


def test_no_two_tickets_are_alike() -> None:
    assert len({tickets.issue(PLAN, KEY)[0] for _ in range(100)}) == 100


def test_what_is_no_ticket_of_this_collector_is_refused() -> None:
    id_, signature = tickets.issue(PLAN, KEY)
    report = Asked(PLAN, id_, signature.hex()).answer(RECORD)
    forged = [
        hmac.digest(OTHER_KEY, b"hush ticket " + bytes.fromhex(PLAN.id) + id_, "sha256")[:SIGNATURE_SIZE],
        tickets.issue(PLAN, KEY)[1],  # of another id
        bytes([signature[0] ^ 1]) + signature[1:],
        signature[:-1],
        b"",
    ]
    for other in forged:
        with pytest.raises(ReportError, match="this report has no ticket of this collector"):
            tickets.check(PLAN, KEY, report, other)
    with pytest.raises(ReportError, match="no ticket"):
        tickets.check(OTHER, KEY, Asked(OTHER, id_, signature.hex()).answer(RECORD), signature)  # it is for one plan


def test_a_ticket_deals_its_questions_and_no_others() -> None:
    id_, signature = tickets.issue(PLAN, KEY)
    for index in range(len(PLAN.questions)):
        report = answered(PLAN, id_, index)
        if [index] == questions_of(PLAN, id_):
            tickets.check(PLAN, KEY, report, signature)
        else:
            with pytest.raises(ReportError, match="answers other questions than its ticket deals"):
                tickets.check(PLAN, KEY, report, signature)
