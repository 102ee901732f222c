"""Questions before answers, and tickets, from a collector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.device import family
from hush.device.answered import Person
from hush.device.asking import Asked
from hush.device.receipts import Receipt
from hush.device.tickets import fetch_ticket, needs_ticket, ticket_of
from hush.errors import CollectorError, LedgerError
from tests.collector.served import PLAN, RECORD, Served, anybody, serving
from tests.device.clients import Scripted, quick
from tests.faking import answer, faking


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("tickets", [True, False])
def test_a_person_is_asked_what_is_reported(keeps: bool, tickets: bool, tmp_path: Path) -> None:
    key = {"tickets": True, "ticket_key": bytes(32)} if tickets else {}
    with serving(tmp_path, anybody(**key)) as served:
        ledger = hush.Ledger(tmp_path / "answers", cap=8.0) if keeps else None
        collector = quick(served.url, ledger=ledger)
        asked = collector.questions(PLAN.id, ticket=tickets)
        assert asked is not None
        assert (asked.ticket is not None) is tickets
        assert collector.questions(PLAN.id, ticket=tickets) == collector.questions(PLAN) == asked
        record = {attribute.name: RECORD[attribute.name] for attribute in asked.attributes}
        assert 0 < len(record) < len(RECORD)
        for method in (collector.answer, collector.answer_ticket):  # the second sends the first one's report
            receipt = method(PLAN.id, record)
            assert (receipt.id == asked.id.hex()) is tickets
            if not tickets:
                break
        assert collector.questions(PLAN.id) is None
        assert served.store.tally(PLAN).reports == 1


def test_a_collector_without_tickets_says_so(served: Served) -> None:
    with pytest.raises(CollectorError, match="deals no tickets"):
        quick(served.url).answer_ticket(PLAN, RECORD)
    with pytest.raises(CollectorError, match="deals no tickets"):
        quick(served.url).questions(PLAN, ticket=True)


def test_tickets_and_the_ledger(tmp_path: Path) -> None:
    """A report under a ticket is kept with it: asked again, the device sends both again, and spends nothing more."""
    with serving(tmp_path, anybody(tickets=True, ticket_key=b"k" * 32)) as served:
        for _ in range(3):
            assert quick(served.url).answer_ticket(PLAN, RECORD, fresh=True).new
        with pytest.raises(CollectorError) as refused:
            quick(served.url).answer(PLAN, RECORD)
        assert refused.value.kind == "bad-request"
        ledger = hush.Ledger(tmp_path / "ledger.db", cap=1.0)
        first = quick(served.url, ledger=ledger).answer_ticket(PLAN.id, RECORD)
        again = quick(served.url, ledger=hush.Ledger(tmp_path / "ledger.db", cap=1.0)).answer_ticket(PLAN.id, RECORD)
        assert first.new
        assert again == Receipt(first.id, new=False)
        assert ledger.spent == 1
        assert served.tally(PLAN).reports == 4
        with pytest.raises(hush.BudgetError):
            quick(served.url, ledger=hush.Ledger(tmp_path / "low.db", cap=0.5)).answer_ticket(PLAN, RECORD)


@pytest.mark.parametrize("ticket", [{}, [], {"id": "x", "questions": [], "signature": "y"}, {"id": 3}, None])
def test_tickets_that_are_none(ticket: object) -> None:
    body = json.dumps(ticket).encode()
    with faking(lambda request, _: answer(request, 200, body)) as url, pytest.raises(CollectorError):
        quick(url).answer_ticket(PLAN, RECORD)


# -- one by one

ID, SIGNATURE = "0f" * 16, "ab" * 16
TICKET = {"id": ID, "questions": [0], "signature": SIGNATURE}


def test_a_ticket_is_fetched_and_read() -> None:
    server = Scripted(json.dumps(TICKET).encode())
    assert fetch_ticket(server, PLAN) == Asked(PLAN, bytes.fromhex(ID), SIGNATURE)
    assert server.calls == [(f"/plans/{PLAN.id}/ticket", None, None)]


@pytest.mark.parametrize(
    "change",
    [
        *({"id": id_} for id_ in (ID[:-2], ID + "00", ID.upper(), 3, None)),
        *({"signature": signature} for signature in (SIGNATURE[:-2], SIGNATURE + "00", SIGNATURE.upper(), 3, None)),
        {"more": 1},
    ],
)
def test_a_ticket_that_is_none_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(CollectorError):
        fetch_ticket(Scripted(json.dumps(TICKET | change).encode()), PLAN)


def test_no_ticket_is_said_to_be_none() -> None:
    with pytest.raises(CollectorError, match="deals no tickets"):
        fetch_ticket(Scripted(b""), PLAN)


@pytest.mark.parametrize("keeps", [True, False])
def test_when_a_ticket_is_needed(keeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until there is one, or an answer. Questions that were drawn without one stay as they are."""
    monkeypatch.setattr(family, "forks", 0)  # other tests fork

    def book(name: str) -> hush.Ledger | Person:
        return hush.Ledger(tmp_path / name, cap=8.0) if keeps else Person(f"{name} {tmp_path}")

    dealt = Asked(PLAN, bytes.fromhex(ID), SIGNATURE)
    with_ticket, drawn, answered = book("ticket"), book("drawn"), book("answered")
    assert needs_ticket(with_ticket, PLAN) is True
    with_ticket.ask(PLAN, dealt)
    assert needs_ticket(with_ticket, PLAN) is False
    drawn.ask(PLAN)
    with pytest.raises(LedgerError, match="drawn without a ticket"):
        needs_ticket(drawn, PLAN)
    answered.randomise(PLAN, RECORD)
    assert needs_ticket(answered, PLAN) is False
    drawn.randomise(PLAN, RECORD)
    assert needs_ticket(drawn, PLAN) is False  # it is answered: the report is sent again
    assert ticket_of(with_ticket, PLAN, bytes.fromhex(ID)) == SIGNATURE
    assert ticket_of(with_ticket, PLAN, bytes(16)) is None
    assert ticket_of(answered, PLAN, bytes.fromhex(ID)) is None
    assert ticket_of(None, PLAN, bytes.fromhex(ID)) is None


def test_a_plan_that_follows_an_answered_one_needs_a_ticket_still(tmp_path: Path) -> None:
    """Answered means this plan, and not the other one of its pilot."""
    schema = hush.Schema([hush.Numeric("x", 0, 1)])
    pilot = hush.design(schema, 1.0, title="pilot")
    second = hush.design(schema, 1.0, title="second", after=pilot)
    ledger = hush.Ledger(tmp_path / "ledger", cap=8.0)
    ledger.randomise(pilot, {"x": 0.5})
    assert needs_ticket(ledger, pilot) is False
    assert needs_ticket(ledger, second) is True
