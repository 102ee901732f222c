"""Questions before answers: which questions an id deals, and that a report of these is as good as any other."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hush import (
    BudgetError,
    Categorical,
    Choices,
    Ledger,
    LedgerError,
    Plan,
    PlanError,
    RecordError,
    Report,
    Schema,
    Series,
    ask,
    design,
)
from hush.core.coins import Coins
from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.core.word_views import Member
from hush.device import family
from hush.device.answered import Person
from hush.device.asking import Asked, answer_from
from hush.testing import SeededCoins
from tests.cases import MIXED, RECORD, related_plan

PLAN = design(MIXED, 8.0, k=2)
ONE = design(MIXED, 4.0, k="weighted", importance={"age": 4, "os": 1})
RELATED = related_plan()
IDS = [bytes([i]) * 16 for i in range(40)]
SIGNATURE = "00" * SIGNATURE_SIZE


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
    tops = range(len(plan.questions) - plan.k, len(plan.questions))
    left = coins.below(math.prod(top + 1 for top in tops))  # few enough for one word
    for top in tops:
        pick = left // math.prod(further + 1 for further in tops if further > top) % (top + 1)
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
    reports = [Asked(PLAN, id_, SIGNATURE).answer(RECORD) for _ in range(8)]
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
        report = Asked(RELATED, i.to_bytes(16, "big"), SIGNATURE).answer(record)
        ((index, _),) = report.answers
        assert [index] == dealt(RELATED, report.id)
        assert Report.decode(RELATED, report.encode()) == Report.from_json(RELATED, report.to_json()) == report
        met.add(index)
    assert len(met) > 10


def test_reports_under_one_ticket_are_fresh() -> None:
    """At epsilon 1/6 for an answer no set of six answers has a probability above (2/3)^6: 19 equal ones 1e-20."""
    plan = design(MIXED, 1.0, k=6)
    assert len({Asked(plan, IDS[0]).answer(RECORD).answers for _ in range(20)}) > 1


@pytest.mark.parametrize("id_", [b"", b"x" * 15, b"x" * 17, "x" * 16, bytearray(16), None])
def test_ids_that_are_none_are_refused(id_: Any) -> None:
    with pytest.raises(PlanError, match="id of a ticket must be 16 bytes"):
        Asked(PLAN, id_).answer(RECORD)


def test_a_bad_record_is_refused_before_any_randomness_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> bytes:
        raise AssertionError("a word was drawn")

    monkeypatch.setattr(os, "urandom", fail)
    for id_ in IDS:  # also those that do not ask about it
        with pytest.raises(RecordError, match="'smokes'"):
            Asked(PLAN, id_).answer(RECORD | {"smokes": "maybe"})


def test_the_signature_is_kept_with_the_report(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=40)
    signature = "0123456789abcdef" * 2
    assert len(bytes.fromhex(signature)) == SIGNATURE_SIZE
    assert ledger.asked(PLAN) is None
    dealt = Asked(PLAN, IDS[3], signature)
    assert ledger.ask(PLAN, dealt) == dealt
    assert ledger.ask(PLAN, Asked(PLAN, IDS[4], signature[::-1])) == dealt, "the first ticket stays"
    report = ledger.randomise(PLAN, RECORD)
    assert report.id == IDS[3]
    assert ledger.randomise(PLAN, RECORD) == report
    again = Ledger(tmp_path / "ledger")
    assert again.asked(PLAN) == dealt
    assert again.report(PLAN) == report
    assert again.ask(PLAN) is None, "there is nothing left to ask"
    again.randomise(ONE, RECORD)
    assert again.asked(ONE) is None
    assert again.spent == PLAN.epsilon + ONE.epsilon


# -- the device's own draw


def part(asked: Asked) -> dict[str, Any]:
    return {attribute.name: RECORD[attribute.name] for attribute in asked.attributes}


@pytest.mark.parametrize("plan", [PLAN, ONE], ids=["two of six", "weighted"])
def test_a_person_is_asked_what_is_reported(plan: Plan) -> None:
    met = set()
    for _ in range(60):
        asked = ask(plan)
        assert asked.ticket is None
        report = asked.answer(part(asked))
        assert report.id != asked.id
        assert tuple(index for index, _ in report.answers) == asked.questions == tuple(dealt(plan, asked.id))
        assert [item.name for item in asked.attributes] == [
            name
            for name in plan.schema.names
            if any(name in plan.questions[index].attributes for index in asked.questions)
        ]
        required = [item.name for item in asked.attributes if not item.optional]
        if required:
            with pytest.raises(RecordError, match=f"{required[0]!r}: is missing"):
                asked.answer({})
        met |= set(asked.questions)
    # a question of weight 1/5 or more is missed by 60 people with a probability below 2e-6; two of six: 3e-11
    assert met == set(range(len(plan.questions)))


def test_the_id_of_a_report_does_not_show_that_its_questions_were_drawn_first(tmp_path: Path) -> None:
    """A relay draws the ids of its own reports apart from their questions: none must be told from those of people.

    An id matches two questions of six with probability 1/15: 20 or more of 60 do so with a probability below 1e-8, and
    12 or more of 20 with one below 1e-8.
    """

    def matching(reports: list[Report]) -> int:
        return sum([index for index, _ in report.answers] == questions_of(PLAN, report.id) for report in reports)

    asked = [ask(PLAN) for _ in range(60)]
    assert matching([one.answer(part(one)) for one in asked]) < 20
    kept = []
    for number in range(20):
        book = Ledger(tmp_path / f"ledger {number}", cap=16)
        drawn = book.ask(PLAN)
        assert drawn is not None
        kept.append(book.randomise(PLAN, part(drawn)))
    assert matching(kept) < 12
    assert matching([Asked(PLAN, os.urandom(16), SIGNATURE).answer(RECORD) for _ in range(60)]) == 60, "tickets do"


def test_all_attributes_of_a_relation_are_asked() -> None:
    record = {"age": 30, "hours": None, "edu": "school", "region": None}
    pairs = 0
    for i in range(100):
        asked = Asked(RELATED, i.to_bytes(16, "big"))
        report = asked.answer({attribute.name: record[attribute.name] for attribute in asked.attributes})
        assert Report.decode(RELATED, report.encode()) == report
        pairs += len(asked.attributes) == 2
    assert pairs > 10


@pytest.mark.parametrize("k", [1, 2, 4])
def test_of_choices_only_the_drawn_values_are_asked(k: int) -> None:
    """A list that leaves out all other values has the same report, word for word."""
    schema = Schema([Choices("uses", ["tv", "radio", "web"], most=2), Categorical("os", ["linux", "mac"])])
    plan = design(schema, 4.0, choices="members", k=k)
    held = ["web", "tv"]
    record = {"uses": held, "os": "mac"}
    narrowed = 0
    for number in range(40):
        asked = Asked(plan, number.to_bytes(16, "big"))
        views = [view for index in asked.questions for view in plan.questions[index].views]
        members = tuple(view.value for view in views if isinstance(view, Member))
        assert asked.members == ({"uses": members} if members else {})
        small: dict[str, Any] = {attribute.name: record[attribute.name] for attribute in asked.attributes}
        if members:
            small["uses"] = [value for value in held if value in members]
            narrowed += len(small["uses"]) < len(held)
        assert answer_from(SeededCoins(number), asked, small) == answer_from(SeededCoins(number), asked, record)
    assert (narrowed > 0) == (k < 4)


def test_of_picks_all_values_are_asked() -> None:
    plan = design(Schema([Choices("uses", ["tv", "radio", "web", "post"], most=2)]), 1.0, choices="picks")
    assert ask(plan).members == {}


def test_what_is_not_asked_changes_nothing() -> None:
    """The report of part of a record is the report of all of it, word for word."""
    for number in range(40):
        asked = Asked(PLAN, number.to_bytes(16, "big"))
        whole = answer_from(SeededCoins(number), asked, RECORD)
        assert answer_from(SeededCoins(number), asked, part(asked)) == whole


def test_a_ledger_asks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=10)
    first = ledger.ask(PLAN)
    assert first is not None
    assert {ledger.ask(PLAN) for _ in range(20)} == {first}  # by chance: at most 15 ** -20
    assert Ledger(tmp_path / "ledger").ask(PLAN) == first
    assert ledger.spent == 0
    report = ledger.randomise(PLAN, part(first))
    assert tuple(index for index, _ in report.answers) == first.questions
    assert ledger.spent == PLAN.epsilon
    assert ledger.ask(PLAN) is None
    with pytest.raises(BudgetError, match="this plan costs"):
        ledger.ask(design(MIXED, 4.0))  # nobody is asked for nothing
    later = replace(PLAN, title="later")
    monkeypatch.setattr(family, "forks", 0)
    drawn = Person("asked").ask(later)
    assert drawn is not None
    assert Person("asked").ask(later) == drawn
    monkeypatch.setattr(family, "forks", 1)
    assert Person("asked").ask(later) == drawn, "what was drawn before a fork stays"
    report = Person("asked").randomise(later, part(drawn))
    assert tuple(index for index, _ in report.answers) == drawn.questions
    assert Person("asked").randomise(later, {}) == report


def test_the_first_draw_stays_even_if_a_ticket_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person may have answered it already, in another process, and nothing else."""
    monkeypatch.setattr(family, "forks", 0)
    plan = replace(PLAN, title="replaced")
    for book in (Ledger(tmp_path / "ledger", cap=20), Person("replaced")):
        own = book.ask(plan)
        assert own is not None
        assert book.ask(plan, Asked(plan, IDS[5], SIGNATURE)) == own
        assert book.asked(plan) == own
        assert tuple(index for index, _ in book.randomise(plan, RECORD).answers) == own.questions


def test_nothing_takes_the_place_of_a_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise somebody could draw until a harmless question comes."""
    monkeypatch.setattr(family, "forks", 0)
    plan = replace(PLAN, title="kept")
    for book in (Ledger(tmp_path / "ledger", cap=20), Person("kept")):
        with pytest.raises(PlanError, match="another plan"):
            book.ask(plan, Asked(PLAN, IDS[5], SIGNATURE))
        first = book.ask(plan, ask(plan))
        assert first is not None
        assert book.ask(plan, ask(plan)) == first


def test_who_was_asked_one_plan_of_a_pilot_is_asked_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)
    pilot = replace(ONE, title="pilot of two")
    one, two = (replace(ONE, title=title, after=pilot.id) for title in ("first", "second"))
    for book in (Ledger(tmp_path / "ledger", cap=20), Person("followed")):
        assert book.chosen(pilot) is None
        asked = book.ask(one, follow=True)
        assert asked is not None
        assert book.chosen(pilot) == book.chosen(two) == one.id
        assert book.answered(pilot) is None
        assert book.ask(one, follow=True) == asked
        for other in (two, pilot):
            with pytest.raises(BudgetError, match="of the same pilot"):
                book.ask(other, follow=True)
        book.randomise(one, RECORD, follow=True)
        assert book.answered(pilot) == book.chosen(pilot) == one.id
        with pytest.raises(BudgetError):
            book.ask(pilot)


def test_a_series_does_not_answer_other_questions_than_those_that_were_asked(tmp_path: Path) -> None:
    """The record of somebody who was asked one question would say of all others that they are missing."""
    schema = Schema([Categorical(name, ["x", "y"], optional=True) for name in "abcdefgh"])
    plan, ledger = design(schema, 1.0, k=1), Ledger(tmp_path / "ledger", cap=20)
    asked = ledger.ask(plan)
    assert asked is not None
    record = {attribute.name: "x" for attribute in asked.attributes}
    with pytest.raises(LedgerError, match="drawn for one report"):
        Series(ledger, "weekly").randomise(plan, record)
    report = ledger.randomise(plan, record)
    assert Series(ledger, "weekly").randomise(plan, {}) == report


def test_asking_needs_a_plan() -> None:
    with pytest.raises(PlanError, match="needs a Plan"):
        ask("plan.json")  # type: ignore[arg-type]
