"""How a client puts its parts together: which server is asked for what, and what is kept in which book."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.core import lists
from hush.core.report import ID_SIZE, TAG_SIZE
from hush.core.sealing import batch_id
from hush.device import family
from hush.device.asking import Asked
from hush.device.client import Client, _lasting
from hush.device.receipts import Receipt, SealedReceipt
from hush.errors import BudgetError, CollectorError, InputError, LedgerError, PlanError, RecordError
from tests.collector.pilots import PILOT, SCHEMA
from tests.collector.served import FEW, FEW_RECORD, PLAN, RECORD
from tests.device.clients import Scripted, receipt_of
from tests.device.test_trainings import BOUGHT, CHECK, POINT, ROUND, STAGED, TRAINING
from tests.relay.relayed import KEY, OPENER

INCOME = hush.Numeric("income", 0, 5e4, out_of_range="clip")
SECOND = hush.design(hush.Schema([INCOME, SCHEMA["region"]]), 8.0, k=2, after=PILOT)
INCOMES = {"income": 9e6, "region": "south"}
TICKET = {"id": "0f" * 16, "questions": [0], "signature": "ab" * 16}
DEALT = Asked(PLAN, bytes.fromhex("0f" * 16), "ab" * 16)
FEATURES = {"a": 0.5, "b": -0.25}
START = 1 + TAG_SIZE  # of the id in a report


LOST = CollectorError("the answer is lost")


class Believed(Scripted):
    """A collector that counts every report, and answers all else from a list."""

    def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
        self.answers.insert(0, receipt_of(body[START : START + ID_SIZE]))
        return super().send(path, body, content_type, headers)


class Parts:
    """A client without a network, and its servers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: bytes | Exception, **options: Any) -> None:
        self.made: list[tuple[Any, ...]] = []
        self.collector, self.relay = Believed(*answers), Scripted(*answers)

        def server(kind: str, *given: Any) -> Scripted:
            self.made.append((kind, *given))
            return {"collector": self.collector, "relay": self.relay}[kind]

        monkeypatch.setattr("hush.device.client.Server", server)
        self.client = Client("http://collector", **options)

    @property
    def paths(self) -> list[str]:
        """What the collector was asked for."""
        return [path for path, *_ in self.collector.calls]


def text(plan: hush.Plan) -> bytes:
    return plan.to_json().encode()


def named(plan: hush.Plan) -> bytes:
    return json.dumps({"plan": plan.id}).encode()


def ledger_in(path: Path, name: str = "ledger") -> hush.Ledger:
    return hush.Ledger(path / name, cap=16.0)


# -- servers


def test_the_servers_get_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Parts(monkeypatch).made == [("collector", "http://collector", None, 10.0, 6, 0.5)]
    options: dict[str, Any] = {"token": "secret", "timeout": 3.0, "attempts": 4, "pause": 5.0}
    both = Parts(monkeypatch, relay="http://relay", key=KEY, **options)
    assert both.made == [
        ("collector", "http://collector", "secret", 3.0, 4, 5.0),
        ("relay", "http://relay", None, 3.0, 4, 5.0),  # the token is none of its business
    ]
    for half in ({"relay": "http://relay"}, {"key": KEY}):
        with pytest.raises(InputError, match="go together"):
            Parts(monkeypatch, **half)


@pytest.mark.parametrize("key", [KEY, KEY.public.hex()])
def test_with_a_relay_the_collector_hears_nothing(monkeypatch: pytest.MonkeyPatch, key: Any, tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    parts = Parts(monkeypatch, text(PLAN), LOST, b'{"new":1,"reports":1}', relay="http://relay", key=key, ledger=ledger)
    with pytest.raises(CollectorError, match="lost"):
        parts.client.answer(PLAN.id, RECORD)
    sent = parts.client.answer(PLAN.id, RECORD)
    (plan, *_), *posts = parts.relay.calls
    assert plan == f"/plans/{PLAN.id}"
    assert [path for path, *_ in posts] == [f"/sealed/{PLAN.id}"] * 2
    assert posts[0] == posts[1]
    report = OPENER.open(PLAN, posts[0][1])
    assert report == ledger.report(PLAN)
    assert sent == Receipt(report.id.hex(), True)
    for again in (parts.client.submit(report), parts.client.answer(PLAN, RECORD)):
        assert again == Receipt(report.id.hex(), False), "the relay has it"
    assert len(parts.relay.calls) == 3
    assert parts.collector.calls == []
    direct = Parts(monkeypatch, ledger=ledger)
    ways: list[Callable[[], object]] = [
        lambda: direct.client.submit(report),
        lambda: direct.client.answer(PLAN, RECORD),
    ]
    for way in ways:
        with pytest.raises(LedgerError, match="would name itself"):
            way()
    assert direct.collector.calls == []


def test_without_a_ledger_a_relay_takes_only_what_its_sender_has_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch, *[b'{"new":1,"reports":1}'] * 2, relay="http://relay", key=KEY)
    report = hush.randomise(PLAN, RECORD)
    body = hush.seal(report, KEY)
    acts: list[Callable[[], object]] = [
        lambda: parts.client.submit(report),
        lambda: parts.client.answer(PLAN.id, RECORD),
        lambda: parts.client.answer(PLAN, RECORD, person="a"),
        lambda: parts.client.answer(PLAN, RECORD, fresh=True),
        lambda: parts.client.questions(PLAN),
    ]
    for act in acts:
        with pytest.raises(LedgerError, match="through a relay a report needs a ledger"):
            act()
    assert parts.relay.calls == []
    for _ in range(2):
        assert parts.client.submit(report, sealed=body) == Receipt(report.id.hex(), True)
    assert parts.relay.calls[0] == parts.relay.calls[1]
    assert parts.relay.calls[0][1] == body
    assert parts.collector.calls == []
    with pytest.raises(InputError, match="goes to a relay"):
        Parts(monkeypatch).client.submit(report, sealed=body)


def test_long_lists_come_from_a_collector_and_not_from_a_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_known", {})
    listed = hush.Listed([f"page {i}" for i in range(20)], "pages.txt")
    plan = hush.design(hush.Schema([hush.Categorical("page", listed)]), 1.0)
    data = listed.text()
    lists._known.clear()
    relayed = Parts(monkeypatch, text(plan), data, relay="http://relay", key=KEY)
    assert relayed.client.plan(plan.id) == plan
    assert len(relayed.relay.calls) == 1
    assert not listed.here
    direct = Parts(monkeypatch, text(plan), data)
    assert direct.client.plan(plan.id) == plan
    assert direct.paths == [f"/plans/{plan.id}", f"/lists/{listed.sha256}"]
    assert listed.here


def test_what_does_not_go_through_a_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Parts(monkeypatch, relay="http://relay", key=KEY).client
    acts: dict[str, Callable[[], object]] = {
        "following a pilot": lambda: client.current(PILOT),
        "a report with a ticket": lambda: client.answer_ticket(PLAN, RECORD),
        "a report with a ticket, which names it,": lambda: client.questions(PLAN, ticket=True),
        "a batch of plain reports": lambda: client.submit_batch(PLAN, b"", bytes(16), "a/b"),
        "a round": lambda: client.round("t"),
        "a gradient": lambda: client.train("t", FEATURES, 1, epsilon=4.0),
        "a batch of gradients": lambda: client.submit_training_batch(ROUND, b"", bytes(16), "a/b"),
    }
    for what, act in acts.items():
        with pytest.raises(InputError, match=f"^{what}.* cannot go through a relay"):
            act()


# -- answers


def test_a_report_goes_to_its_plan_with_the_headers_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, report = Parts(monkeypatch), hush.randomise(PLAN, RECORD)
    assert parts.client.submit(report, {"X": "y"}) == Receipt(report.id.hex(), True)
    assert parts.client.submit(report).new
    sent = (f"/plans/{PLAN.id}/reports", report.encode(), "application/vnd.hush.report")
    assert parts.collector.calls == [(*sent, {"X": "y"}), (*sent, None)]


def test_batches_go_to_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch)
    body, id_ = bytes(START) + b"0123456789abcdef", b"0123456789abcdef"
    assert parts.client.submit_batch(PLAN, body, id_, "a/b") == Receipt(id_.hex(), True)
    assert parts.client.submit_training_batch(ROUND, body, id_, "c/d") == Receipt(id_.hex(), True)
    assert parts.client.submit_training_batch(ROUND, body, id_, "c/d", losses=True).new
    head = {"Hush-Batch": id_.hex()}
    where = "/trainings/one%20of%2Ftwo%3F"
    assert parts.collector.calls == [
        (f"/plans/{PLAN.id}/reports", body, "a/b", head),
        (f"{where}/gradients?round=1", body, "c/d", head),
        (f"{where}/losses?round=1", body, "c/d", head),
    ]
    said = {"id": batch_id(b"sealed").hex(), "new": False, "reports": 2, "refused": 0}
    parts.collector.send = lambda *_: json.dumps(said).encode()  # type: ignore[method-assign]
    assert parts.client.submit_sealed_batch(PLAN, b"sealed") == SealedReceipt(said["id"], False, 2, 0)  # type: ignore[arg-type]


def test_answers_without_a_book_are_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch)
    receipts = {parts.client.answer(PLAN, RECORD, fresh=True).id for _ in range(3)}
    assert len(receipts) == 3
    assert {parts.client.answer(PLAN, RECORD, person="Pat").id for _ in range(3)} != receipts
    assert len(set(map(str, parts.collector.calls))) == 4


def test_a_series_keeps_its_reports_in_its_own_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    parts, series = Parts(monkeypatch), hush.Series(ledger, "weekly")
    receipt = parts.client.answer(PLAN, RECORD, series=series)
    kept = ledger.report(PLAN)
    assert kept is not None
    assert receipt.id == kept.id.hex()
    with pytest.raises(LedgerError, match="does not follow a pilot"):
        parts.client.answer(PLAN, RECORD, series=series, follow=True)


def test_a_record_that_is_read_once_is_kept() -> None:
    assert _lasting(iter([("x", 1)])) == [("x", 1)]
    for record in (RECORD, [("x", 1)]):
        assert _lasting(record) is record


# -- pilots


@pytest.mark.parametrize("keeps", [True, False])
def test_whoever_follows_answers_one_plan_and_stays_with_it(
    keeps: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(family, "forks", 0)  # other tests fork
    book: dict[str, Any] = {"ledger": ledger_in(tmp_path)} if keeps else {}
    who: dict[str, Any] = {} if keeps else {"person": str(tmp_path)}
    parts = Parts(monkeypatch, text(PILOT), named(SECOND), text(SECOND), **book)
    first = parts.client.answer(PILOT.id, INCOMES, follow=True, **who)
    there = [f"/plans/{PILOT.id}", f"/plans/{PILOT.id}/current", f"/plans/{SECOND.id}"]
    assert parts.paths == [*there, f"/plans/{SECOND.id}/reports"]
    for plan in (PILOT, SECOND, PILOT.id, SECOND.id):
        assert parts.client.answer(plan, INCOMES, follow=True, **who).id == first.id
    assert parts.paths[4:] == [f"/plans/{SECOND.id}/reports"] * 4  # nobody is asked again
    with pytest.raises(BudgetError):
        parts.client.answer(PILOT, INCOMES, **who)


def test_who_has_answered_the_pilot_sends_it_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = Parts(monkeypatch, ledger=ledger_in(tmp_path))
    first = parts.client.answer(PILOT, INCOMES)
    assert parts.client.answer(PILOT, INCOMES, follow=True).id == first.id
    assert parts.client.questions(PILOT, follow=True) is None
    assert parts.paths == [f"/plans/{PILOT.id}/reports"] * 2


def test_a_record_is_checked_by_the_pilot_before_the_collector_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch)
    for method in (parts.client.answer, parts.client.answer_ticket):
        for fresh in (True, False):
            with pytest.raises(RecordError):
                method(PILOT, {"income": 2e7, "region": "south"}, follow=True, fresh=fresh)
    assert parts.collector.calls == []


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("plan", [PILOT, SECOND])
def test_the_pilot_decides_whether_a_record_fits_though_questions_were_drawn_of_another_plan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: hush.Plan, kept: bool
) -> None:
    """The second plan alone would clip the income: the collector would learn from a report that it is no larger."""
    book: dict[str, Any] = {"ledger": hush.Ledger(tmp_path / "ledger", cap=8.0)} if kept else {}
    parts = Parts(monkeypatch, named(plan), *([text(plan)] if plan is SECOND else []), **book)
    asked = parts.client.questions(PILOT, follow=True)
    assert asked is not None
    assert asked.plan == plan
    assert "income" in [attribute.name for attribute in asked.attributes]
    before = len(parts.paths)
    for method in (parts.client.answer, parts.client.answer_ticket):
        with pytest.raises(RecordError, match="income"):
            method(PILOT, {"income": 2e7, "region": "south"}, follow=True)
    assert parts.paths[before:] == []
    first = parts.client.answer(PILOT, {"income": 9e6, "region": "south"}, follow=True)
    if kept:  # the kept report, unread
        assert parts.client.answer(PILOT, {"income": 2e7}, follow=True).id == first.id


def test_without_a_book_the_current_plan_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch, named(SECOND), text(SECOND), named(PILOT))
    for plan in (SECOND, PILOT):
        parts.client.answer(PILOT, INCOMES, follow=True, fresh=True)
        assert parts.paths[-1] == f"/plans/{plan.id}/reports"


def test_the_current_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch, text(PILOT), named(SECOND), text(SECOND), named(PILOT))
    assert parts.client.current(PILOT.id) == SECOND
    assert parts.client.current(PILOT) is PILOT


# -- questions and tickets


def test_a_ticket_is_sent_with_its_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ticket = json.dumps(TICKET).encode()
    parts = Parts(monkeypatch, ticket, ticket, ledger=ledger_in(tmp_path))
    for _ in range(2):  # the second sends the same again
        assert parts.client.answer_ticket(PLAN, RECORD) == Receipt("0f" * 16, True)
    assert parts.client.answer(PLAN, RECORD).id == "0f" * 16
    asked, *sent = parts.collector.calls
    assert asked == (f"/plans/{PLAN.id}/ticket", None, None)
    assert sent[0] == sent[1] == sent[2]
    assert sent[0][3] == {"Hush-Ticket": "ab" * 16}
    fresh = Parts(monkeypatch, ticket)
    assert fresh.client.answer_ticket(PLAN, RECORD, fresh=True) == Receipt("0f" * 16, True)
    assert fresh.collector.calls[1][3] == {"Hush-Ticket": "ab" * 16}


def test_a_bad_record_gets_no_ticket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = Parts(monkeypatch, ledger=ledger_in(tmp_path))
    with pytest.raises(RecordError):
        parts.client.answer_ticket(PLAN, RECORD | {"age": 777})
    with pytest.raises(RecordError):
        Parts(monkeypatch).client.answer_ticket(PLAN, RECORD | {"age": 777}, fresh=True)
    assert parts.collector.calls == []


def test_tickets_follow_a_pilot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ticket = json.dumps(TICKET).encode()
    parts = Parts(monkeypatch, named(SECOND), text(SECOND), ticket, ledger=ledger_in(tmp_path))
    for _ in range(2):
        assert parts.client.answer_ticket(PILOT, INCOMES, follow=True).id == "0f" * 16
    end = f"/plans/{SECOND.id}"
    assert parts.paths == [f"/plans/{PILOT.id}/current", end, f"{end}/ticket", f"{end}/reports", f"{end}/reports"]


def test_questions_are_drawn_or_dealt_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = Parts(monkeypatch, json.dumps(TICKET).encode(), ledger=ledger_in(tmp_path))
    assert parts.client.questions(PLAN, ticket=True) == DEALT
    assert parts.client.questions(PLAN, ticket=True) == parts.client.questions(PLAN) == DEALT
    assert parts.paths == [f"/plans/{PLAN.id}/ticket"]
    own = Parts(monkeypatch, ledger=ledger_in(tmp_path, "own"))
    asked = own.client.questions(FEW)
    assert asked is not None
    assert asked.ticket is None
    assert own.client.questions(FEW) == asked
    own.client.answer(FEW, FEW_RECORD)
    assert own.client.questions(FEW) is None
    assert own.paths == [f"/plans/{FEW.id}/reports"]


def test_questions_follow_a_pilot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = Parts(monkeypatch, named(SECOND), text(SECOND), ledger=ledger_in(tmp_path))
    asked = parts.client.questions(PILOT, follow=True)
    assert asked is not None
    assert asked.plan == SECOND
    assert parts.client.questions(PILOT, follow=True) == asked  # and nobody is asked again
    assert len(parts.paths) == 2
    assert parts.client.answer(PILOT, INCOMES, follow=True).new
    assert parts.paths[2:] == [f"/plans/{SECOND.id}/reports"]


def test_another_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Parts(monkeypatch, text(PLAN)).client
    for method in (client.answer, client.answer_ticket):
        with pytest.raises(PlanError, match="another schema"):
            method(PLAN.id, RECORD, schema=POINT)
    with pytest.raises(PlanError, match="another schema"):
        client.questions(PLAN, schema=POINT, person="Sam")
    assert client.questions(PLAN, schema=PLAN.schema, person="Sam") is not None


# -- trainings


def test_taking_part_in_a_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = ROUND.to_json().encode()
    parts = Parts(monkeypatch, *[said] * 3, CHECK.to_json().encode(), *[said] * 4)
    assert parts.client.round("one of/two?") == ROUND
    for given in ({"fresh": True}, {"person": "Tam"}, {"fresh": True, "check": True}):
        receipt = parts.client.train(TRAINING, FEATURES, 1, epsilon=4.0, **given)
        path, body, kind, headers = parts.collector.calls[-1]
        assert path.endswith("/losses?round=1" if given.get("check") else "/gradients?round=1")
        assert parts.collector.calls[-2][0].endswith("/check" if given.get("check") else "/round")
        assert (receipt, kind, headers) == (
            Receipt(body[START : START + ID_SIZE].hex(), True),
            "application/vnd.hush.report",
            None,
        )
    again = parts.client.train(TRAINING.name, FEATURES, 1, epsilon=4.0, person="Tam")
    assert again.id == parts.collector.calls[4][1][START : START + ID_SIZE].hex()
    with pytest.raises(BudgetError, match="more epsilon"):
        parts.client.train(TRAINING, FEATURES, 1, epsilon=3.9, person="Una")
    with pytest.raises(LedgerError, match="needs a ledger"):
        parts.client.train(TRAINING, FEATURES, 1, person="Una")
    kept = Parts(monkeypatch, said, ledger=ledger_in(tmp_path))
    assert kept.client.train(TRAINING, FEATURES, 1).new  # a ledger has a cap


def test_a_stage_is_answered_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BOUGHT.values == (0, 1)
    parts = Parts(monkeypatch, STAGED.to_json().encode())
    parts.client.train("staged", FEATURES, 1, epsilon=4.0, fresh=True)
    assert parts.paths == ["/trainings/staged/round", "/trainings/staged/pilot?stage=means"]
