"""Tickets on the device: which questions an id deals, and that a report under one is as good as any other."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hush import Ledger, Plan, PlanError, RecordError, Report, design
from hush.core.coins import Coins
from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.device.tickets import answer_ticket
from tests.cases import MIXED, RECORD, related_plan

PLAN = design(MIXED, 16.0, k=2)
ONE = design(MIXED, 4.0, k="weighted", importance={"age": 4, "os": 1})
RELATED = related_plan()
IDS = [bytes([i]) * 16 for i in range(40)]


class Shake(Coins):
    """The words of a ticket, written down a second time: SHAKE-256 of a prefix, plan, id, and a counter from 1."""

    def __init__(self, plan: Plan, id_: bytes) -> None:
        self._message, self._drawn = b"hush ticket " + bytes.fromhex(plan.id) + id_, 0

    def word(self) -> int:
        self._drawn += 1
        digest = hashlib.shake_256(self._message + bytes([0, 0, self._drawn >> 8, self._drawn & 255])).digest(8)
        return sum(byte << 8 * place for place, byte in enumerate(reversed(digest)))


def dealt(plan: Plan, id_: bytes) -> list[int]:
    coins = Shake(plan, id_)
    if plan.weights is not None:
        left, index = coins.below(sum(plan.weights)), 0
        while left >= plan.weights[index]:
            left -= plan.weights[index]
            index += 1
        return [index]
    chosen: set[int] = set()
    for top in range(len(plan.questions) - plan.k, len(plan.questions)):
        pick = coins.below(top + 1)
        chosen.add(top if pick in chosen else pick)
    return sorted(chosen)


@pytest.mark.parametrize("plan", [PLAN, ONE, RELATED], ids=["two of six", "weighted", "relations"])
def test_questions_follow_from_the_id(plan: Plan) -> None:
    found = [questions_of(plan, id_) for id_ in IDS]
    assert found == [dealt(plan, id_) for id_ in IDS]
    assert len({tuple(questions) for questions in found}) > 3
    assert found == [questions_of(plan, id_) for id_ in IDS]
    assert found != [questions_of(replace(plan, title="another"), id_) for id_ in IDS]


@pytest.mark.parametrize("id_", IDS[:8])
def test_a_report_answers_the_questions_of_its_ticket(id_: bytes) -> None:
    """At epsilon 8 for an answer, another category than the true one is reported with probability 7 e^-8 < 0.003."""
    reports = [answer_ticket(PLAN, RECORD, id_) for _ in range(8)]
    assert {report.id for report in reports} == {id_}
    assert {tuple(question for question, _ in report.answers) for report in reports} == {tuple(dealt(PLAN, id_))}
    assert all(Report.decode(PLAN, report.encode()) == report for report in reports)
    inputs = MIXED.encode(RECORD)
    for place, question in enumerate(dealt(PLAN, id_)):
        if PLAN.questions[question].attributes[0] in ("os", "code", "smokes"):
            true = sum(report.answers[place][1] == inputs[question] for report in reports)
            assert true >= 4  # 5 of 8 are others with a probability below 56 * 0.003^5 = 2e-11, in at most 16 cases


def test_a_ticket_deals_questions_that_share_attributes() -> None:
    """One question each, as its weight says; whatever it sees, missing values too, the report is one of the plan."""
    record = {"age": 30, "hours": None, "edu": "school", "region": None}
    met = set()
    for i in range(200):
        report = answer_ticket(RELATED, record, i.to_bytes(16, "big"))
        ((index, _),) = report.answers
        assert [index] == dealt(RELATED, report.id)
        assert Report.decode(RELATED, report.encode()) == Report.from_json(RELATED, report.to_json()) == report
        met.add(index)
    assert len(met) > 10


def test_reports_under_one_ticket_are_fresh() -> None:
    """At epsilon 1/6 for an answer no set of six answers has a probability above (2/3)^6: 19 equal ones 1e-20."""
    plan = design(MIXED, 1.0, k=6)
    assert len({answer_ticket(plan, RECORD, IDS[0]).answers for _ in range(20)}) > 1


@pytest.mark.parametrize("id_", [b"", b"x" * 15, b"x" * 17, "x" * 16, bytearray(16), None])
def test_ids_that_are_none_are_refused(id_: Any) -> None:
    with pytest.raises(PlanError, match="id of a ticket must be 16 bytes"):
        answer_ticket(PLAN, RECORD, id_)


def test_a_bad_record_is_refused_before_any_randomness_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> bytes:
        raise AssertionError("a word was drawn")

    monkeypatch.setattr(os, "urandom", fail)
    for id_ in IDS:  # also those that do not ask about it
        with pytest.raises(RecordError, match="'smokes'"):
            answer_ticket(PLAN, RECORD | {"smokes": "maybe"}, id_)


def test_the_signature_is_kept_with_the_report(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=40)
    signature = "0123456789abcdef" * 2
    assert len(bytes.fromhex(signature)) == SIGNATURE_SIZE
    assert ledger.ticket(PLAN) is None
    report = ledger.randomise(
        PLAN, RECORD, draw=lambda plan, record: answer_ticket(plan, record, IDS[3]), ticket=signature
    )
    assert report.id == IDS[3]
    assert ledger.randomise(PLAN, RECORD, ticket="another") == report
    again = Ledger(tmp_path / "ledger")
    assert again.ticket(PLAN) == signature
    assert again.report(PLAN) == report
    again.randomise(ONE, RECORD)
    assert again.ticket(ONE) is None
    assert again.ticket(PLAN) == signature
    assert again.spent == 20
    fresh = Ledger(tmp_path / "fresh", cap=40)  # which nobody has asked for a ticket yet
    fresh.randomise(PLAN, RECORD, ticket=signature)
    assert fresh.ticket(PLAN) == signature
