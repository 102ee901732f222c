"""Devices that follow a pilot: everybody answers one of its two plans, once, and no report is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import Client, Ledger, RecordError
from hush.core.plan import Plan
from hush.device import family
from hush.device.coins import SystemCoins
from hush.errors import BudgetError, CollectorError, LedgerError, PlanError
from tests.collector.pilots import FIRST, PILOT, SCHEMA, answers, commit, narrowing, record, second_of
from tests.collector.served import anybody
from tests.learn.cases import no_word


def ledger(path: Path, name: str = "answers.db") -> Ledger:
    return Ledger(path / name, cap=16.0)


def test_a_device_follows_to_the_second_plan(tmp_path: Path) -> None:
    with narrowing(tmp_path) as served:
        early = Client(served.url, ledger=ledger(tmp_path, "early"))
        assert early.current(PILOT.id) == PILOT
        assert early.answer(PILOT.id, record(), follow=True).new
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        # The second plan is for those who have answered neither. A record beyond the narrow range is clipped.
        late = Client(served.url, ledger=ledger(tmp_path, "late"))
        assert late.current(PILOT.id) == second
        assert late.answer(PILOT.id, record(9e6), follow=True).new
        assert [store.reports for store in map(served.tally, (PILOT, second))] == [FIRST + 1, 1]
        # Those who have answered send the same report, wherever they are sent, and pay once.
        for device, asked in ((early, PILOT), (early, second), (late, PILOT), (late, second)):
            assert not device.answer(asked.id, record(), follow=True).new
        assert [served.tally(plan).reports for plan in (PILOT, second)] == [FIRST + 1, 1]
        for name in ("early", "late"):
            assert Ledger(tmp_path / name).spent == 8
        # Without following, a plan is the plan that was named.
        with pytest.raises(BudgetError):
            early.answer(second.id, record())
        with pytest.raises(BudgetError):
            late.answer(PILOT.id, record())
        other = Client(served.url, ledger=ledger(tmp_path, "other"))
        assert other.answer(PILOT.id, record()).new


def test_a_report_that_was_drawn_before_the_end_of_the_pilot_is_not_lost(tmp_path: Path) -> None:
    """The device has paid for it, and could not reach the collector until the pilot was over."""
    book = ledger(tmp_path)
    drawn = book.randomise(PILOT, record())
    with narrowing(tmp_path) as served:
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        receipt = Client(served.url, ledger=book).answer(PILOT.id, record(), follow=True)
        assert (receipt.id, receipt.new) == (drawn.id.hex(), True)
        assert [served.tally(plan).reports for plan in (PILOT, second)] == [FIRST + 1, 0]
        assert book.spent == 8


def test_people_without_a_ledger_follow_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)  # other tests fork
    with narrowing(tmp_path) as served:
        device = Client(served.url)
        assert device.answer(PILOT.id, record(), person="early", follow=True).new
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        assert not device.answer(PILOT.id, record(), person="early", follow=True).new
        assert not device.answer(second.id, record(), person="early", follow=True).new
        assert device.answer(PILOT.id, record(), person="late", follow=True).new
        assert not device.answer(PILOT.id, record(), person="late", follow=True).new
        assert device.answer(PILOT.id, record(), fresh=True, follow=True).new
        assert [served.tally(plan).reports for plan in (PILOT, second)] == [FIRST + 1, 2]


def test_tickets_are_followed(tmp_path: Path) -> None:
    with narrowing(tmp_path, anybody(stream_interval=0.02, tickets=True, ticket_key=b"k" * 32)) as served:
        early = Client(served.url, ledger=ledger(tmp_path, "early"))
        assert early.answer_ticket(PILOT.id, record(), follow=True).new
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        late = Client(served.url, ledger=ledger(tmp_path, "late"))
        assert late.answer_ticket(PILOT.id, record(), follow=True).new
        for device in (early, late):
            assert not device.answer_ticket(PILOT.id, record(), follow=True).new
        assert [served.tally(plan).reports for plan in (PILOT, second)] == [FIRST + 1, 1]


def test_a_series_does_not_follow(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    device = Client("http://127.0.0.1:9", ledger=book)
    with pytest.raises(LedgerError, match="does not follow"):
        device.answer(PILOT, record(), series=hush.Series(book, "weekly"), follow=True)


# -- a collector that lies


class Liar(Client):
    """Talks to a collector that answers as a test wishes."""

    def __init__(self, current: Any, *plans: Plan, **named: Any) -> None:
        super().__init__("http://127.0.0.1:9", **named)
        self.named, self.known = current, {plan.id: plan for plan in (PILOT, *plans)}
        self.sent: list[hush.Report] = []
        self._server.get = self.found  # type: ignore[assignment, method-assign]
        self._server.send = self.took  # type: ignore[assignment, method-assign]

    def found(self, path: str) -> bytes:
        if path.endswith("/current"):
            return json.dumps(self.named).encode()
        return self.known[path.rpartition("/")[2]].to_json().encode()

    def took(self, path: str, body: bytes, *_: object) -> bytes:
        report = hush.Report.decode(self.known[path.split("/")[2]], body)
        self.sent.append(report)
        return json.dumps({"id": report.id.hex(), "new": True, "reports": 1}).encode()


def test_nobody_follows_through_a_relay(tmp_path: Path) -> None:
    ledger = hush.Ledger(tmp_path / "ledger", cap=16)
    device = Client("http://127.0.0.1:9", relay="http://127.0.0.1:9", key="09" * 32, ledger=ledger)
    with pytest.raises(hush.InputError, match="cannot go through a relay"):
        device.current(PILOT)
    with pytest.raises(hush.InputError, match="cannot go through a relay"):
        device.answer(PILOT, record(), follow=True)


def narrowed(high: float, **named: Any) -> Plan:
    income = hush.Numeric("income", 0, high, out_of_range=named.pop("rule", "clip"))
    schema = hush.Schema([income, SCHEMA["region"]])
    return hush.design(schema, named.pop("epsilon", 8.0), k=2, after=named.pop("after", PILOT), **named)


ANYTHING: dict[str, Callable[[], Plan]] = {
    "dearer": lambda: narrowed(4e5, epsilon=16.0),
    "after none": lambda: narrowed(4e5, after=None),
    "after another": lambda: narrowed(4e5, after="f" * 64),
    "wider": lambda: narrowed(2e7),
    "refusing": lambda: narrowed(4e5, rule="error"),  # whether a device answers would depend on its income
    "about weights": lambda: hush.design(hush.Schema([hush.Numeric("weight", 0, 200)]), 8.0, after=PILOT),
}


@pytest.mark.parametrize("kind", ANYTHING)
def test_a_device_does_not_follow_to_another_plan(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn, and nothing is spent."""
    plan = ANYTHING[kind]()
    monkeypatch.setattr(SystemCoins, "word", no_word)
    book = ledger(tmp_path)
    device = Liar({"plan": plan.id}, plan, ledger=book)
    with pytest.raises(PlanError):
        device.answer(PILOT.id, record(), follow=True)
    assert book.spent == 0
    assert not device.sent


@pytest.mark.parametrize("answer", [{}, {"plan": "x"}, {"plan": 7}, {"plan": PILOT.id, "more": 1}, [], {"plan": None}])
def test_an_odd_answer_is_refused(answer: Any, tmp_path: Path) -> None:
    with pytest.raises(CollectorError):
        Liar(answer, ledger=ledger(tmp_path)).answer(PILOT.id, record(), follow=True)


def test_a_collector_cannot_ask_again_with_another_second_plan(tmp_path: Path) -> None:
    """Plans that follow the same pilot do not exclude each other, so a device that follows sticks to the first."""
    plans = [narrowed(high) for high in (1e5, 2e5, 4e5)]
    book = ledger(tmp_path)
    device = Liar({"plan": plans[0].id}, *plans, ledger=book)
    for plan in (*plans, PILOT):
        device.named = {"plan": plan.id}
        device.answer(PILOT.id, record(), follow=True)
        device.answer(plan.id, record(), follow=True)
    assert len(set(device.sent)) == 1
    assert book.spent == 8
    unbound = Liar({"plan": plans[1].id}, *plans, ledger=book)
    unbound.answer(plans[1].id, record())  # the twin: without following, the second plans cost twice
    assert book.spent == 16


class Meanwhile(Liar):
    """While it asks for the current plan, another process of the same device follows, to another second plan."""

    def __init__(self, plan: Plan, other: Liar, **named: Any) -> None:
        super().__init__({"plan": plan.id}, plan, **named)
        self.other = other

    def current(self, plan: Plan | str) -> Plan:
        found = super().current(plan)
        self.other.answer(PILOT.id, record(), follow=True)
        return found


@pytest.mark.parametrize("keeps", [True, False])
def test_a_collector_cannot_send_two_processes_to_two_second_plans(
    keeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "forks", 0)
    one, two = narrowed(1e5, title=f"one, {keeps}"), narrowed(2e5, title=f"two, {keeps}")
    named: dict[str, Any] = {"ledger": ledger(tmp_path)} if keeps else {}
    person: dict[str, Any] = {} if keeps else {"person": "of two processes"}
    other = Liar({"plan": one.id}, one, **named)
    monkeypatch.setattr(other, "answer", partial(other.answer, **person))
    late = Meanwhile(two, other, **named)
    late.known |= other.known
    with pytest.raises(BudgetError, match="of the same pilot"):
        late.answer(PILOT.id, record(), follow=True, **person)
    late.answer(PILOT.id, record(), follow=True, **person)  # tried again, it sends the report that was drawn
    assert late.sent == other.sent
    assert [report.plan for report in other.sent] == [one]


def test_a_record_that_does_not_fit_is_refused_by_the_pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the collector is asked for anything: its range decides nothing."""
    monkeypatch.setattr(SystemCoins, "word", no_word)
    device = Liar({"plan": PILOT.id}, ledger=ledger(tmp_path))
    monkeypatch.setattr(device, "current", lambda _: pytest.fail("the collector was asked"))
    for income in (-1.0, 1e8, None):
        with pytest.raises(RecordError, match="'income'"):
            device.answer(PILOT.id, {"income": income, "region": "south"}, follow=True)
    with pytest.raises(PlanError, match="another schema"):
        device.answer(PILOT.id, record(), schema=hush.Schema([SCHEMA["region"]]), follow=True)
