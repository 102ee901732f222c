"""A process without a ledger answers a plan once: for all collectors, threads and forks, and each person by name."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.core.dealing import questions_of
from hush.core.training.rounds import Round
from hush.core.training.training import Training
from hush.device import answered, family
from hush.device.answered import Person
from hush.device.client import Client
from hush.device.gradient import gradient
from hush.device.randomise import randomise_from
from hush.errors import CollectorError
from hush.server.step import first_round, step
from hush.testing import ListedCoins
from tests.faking import answer, faking

NUMBER = hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 4.0)
PAIR = hush.design(hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])]), 1.0)
POINT = hush.Schema([hush.Numeric("a", -1, 1), hush.Numeric("b", -1, 1)])
RECORD = {"x": 0.25, "c": "a"}
TRIES = 400


def collector(url: str = "http://127.0.0.1:9", **options: Any) -> Client:
    return Client(url, **({"attempts": 1, "pause": 0.001} | options))


class Hostile:
    """A server that keeps every report and says that it failed. It deals as many tickets as it is asked for."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.tickets: list[bytes] = []
        self.signatures: list[str | None] = []
        self.round: Round | None = None

    def __call__(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.path.endswith("/ticket"):
            self.tickets.append(len(self.tickets).to_bytes(16, "big"))
            questions = questions_of(PAIR, self.tickets[-1])
            ticket = {"id": self.tickets[-1].hex(), "questions": questions, "signature": self.tickets[-1].hex()}
            return answer(request, 200, json.dumps(ticket).encode())
        if request.path.endswith("/round"):
            assert self.round is not None
            return answer(request, 200, self.round.to_json().encode())
        self.bodies.append(body)
        self.signatures.append(request.headers.get("hush-ticket"))
        return answer(request, 500, b"")


def retried(act: Callable[[], object], times: int = TRIES) -> None:
    """Do what an application does that sees an error: try again."""
    for _ in range(times):
        with pytest.raises(CollectorError):
            act()


def read(plan: hush.Plan, bodies: list[bytes]) -> float:
    """Return what the server makes of the reports that it has kept: their mean."""
    tally = hush.Tally(plan)
    tally.update(hush.Report.decode(plan, body) for body in bodies)
    return hush.estimate(tally, refuse=False)[0].point


# -- the attack


@pytest.mark.parametrize("x", [0.1, 0.9])
def test_a_server_that_fails_on_purpose_reads_nobody(x: float) -> None:
    """400 tries of fresh draws give the number away; by default they are one report, and the average of one report.

    The values that reports stand for lie within `width`. By Hoeffding's inequality the mean of 400 independent ones is
    off by 0.18 or more with probability 2 exp(-2 * 400 * 0.18^2 / width^2), below 1e-6: that is the false-alarm rate.
    That 400 fresh reports have one id, or two, has probability 400^2 / 2^129.
    """
    width = 1.27
    channel = NUMBER.questions[0].channel
    values = [
        read(NUMBER, [hush.Report(NUMBER, bytes(16), ((0, cell),)).encode()]) for cell in (0, channel.alphabet.size - 1)
    ]
    assert max(values) - min(values) <= width
    assert 2 * math.exp(-2 * TRIES * 0.18**2 / width**2) < 1e-6
    fooled, kept = Hostile(), Hostile()
    with faking(fooled) as url:
        retried(lambda: collector(url).answer(NUMBER, {"x": x}, fresh=True))
    with faking(kept) as url:
        retried(lambda: collector(url).answer(NUMBER, {"x": x}))
    assert len(fooled.bodies) == len(kept.bodies) == TRIES
    assert len(set(fooled.bodies)) == TRIES
    assert abs(read(NUMBER, fooled.bodies) - x) < 0.18
    assert len(set(kept.bodies)) == 1
    assert read(NUMBER, kept.bodies) == pytest.approx(read(NUMBER, kept.bodies[:1]))


def test_tickets_are_not_a_way_around() -> None:
    """A try that failed asks for no other ticket, which would deal other questions and draw other answers."""
    fooled, kept = Hostile(), Hostile()
    with faking(fooled) as url:
        retried(lambda: collector(url).answer_ticket(PAIR, RECORD, fresh=True), 10)
    with faking(kept) as url:
        retried(lambda: collector(url).answer_ticket(PAIR, RECORD), 10)
    assert len(fooled.tickets) == len(set(fooled.bodies)) == 10
    assert len(kept.tickets) == len(set(kept.bodies)) == 1
    assert set(kept.signatures) == {kept.tickets[0].hex()}


def test_a_ticket_does_not_deal_questions_that_the_person_was_not_asked() -> None:
    """The record has the one answer that was asked for. For another question, the rest would count as missing."""
    schema = hush.Schema([hush.Numeric(name, 0, 1, optional=True) for name in "abcdefgh"])
    plan, server = hush.design(schema, 1.0, k=1), Hostile()
    with faking(server) as url:
        asked = collector(url).questions(plan)
        assert asked is not None
        name = asked.attributes[0].name
        for record in ({name: 0.5}, {}):  # whatever the record holds
            with pytest.raises(hush.LedgerError, match="drawn without a ticket"):
                collector(url).answer_ticket(plan, record)
        with pytest.raises(hush.LedgerError, match="drawn without a ticket"):
            collector(url).questions(plan, ticket=True)
        assert server.tickets == server.bodies == []
        retried(lambda: collector(url).answer(plan, {name: 0.5}), 2)
        assert len(set(server.bodies)) == 1


def test_a_report_with_a_ticket_does_not_go_through_a_relay(tmp_path: Path) -> None:
    """The collector dealt its id to this device, so mixing would hide nothing."""
    server = Hostile()
    with faking(server) as url:
        ledger = hush.Ledger(tmp_path / "ledger", cap=16)
        hush.Client(url, ledger=ledger, attempts=1).questions(PAIR, ticket=True)
        relayed = hush.Client(url, relay=url, key="09" * 32, ledger=ledger, attempts=1)
        with pytest.raises(hush.InputError, match="cannot go through a relay"):
            relayed.answer(PAIR, RECORD)
        assert server.bodies == []


@pytest.mark.parametrize("follow", [True, False])
def test_a_record_may_be_an_iterator(follow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked, and then encoded: a second reading would find nothing, and report everything as missing.

    At epsilon 16 a category is reported as another one with a probability below 3e-7.
    """
    schema = hush.Schema([hush.Categorical("c", ["x", "y"], optional=True)])
    plan, server = hush.design(schema, 16.0, title=str(follow)), Hostile()
    monkeypatch.setattr(hush.Client, "current", lambda _, plan: plan)
    with faking(server) as url:
        retried(lambda: collector(url).answer(plan, iter([("c", "y")]), follow=follow), 1)
    assert hush.Report.decode(plan, server.bodies[0]).answers == ((0, 1),)


def test_trainings_are_not_a_way_around() -> None:
    """One gradient in a training, whatever round the server shows; another person says who it is."""
    server = Hostile()
    training = Training("t", "logistic", POINT, hush.Categorical("y", [0, 1]), 4.0, 3, 1.0)
    server.round = first_round(training)
    with faking(server) as url:
        retried(lambda: collector(url).train("t", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0), 10)
        assert len(set(server.bodies)) == 1
        with pytest.raises(hush.LedgerError, match="person="):
            collector(url).train("t", {"a": 0.5, "b": -0.5}, 1, epsilon=4.0)
        retried(lambda: collector(url).train("t", {"a": 0.5, "b": -0.5}, 1, epsilon=4.0, person="Bo"), 10)
        assert len(set(server.bodies)) == 2
        tally = hush.Tally(server.round.plan)
        tally.add(gradient(server.round, {"a": 0.5, "b": 0.5}, 1))
        server.round = step(server.round, tally)
        with pytest.raises(hush.BudgetError, match=r"one only is answered.*person="):
            collector(url).train("t", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0)
        with pytest.raises(hush.BudgetError, match=r"one only is answered$"):
            collector(url).train("t", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0, person="Bo")
        assert len(server.bodies) == 20
        retried(lambda: collector(url).train("t", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0, fresh=True), 10)
        assert len(set(server.bodies)) == 12


@pytest.mark.parametrize("kept", [True, False])
def test_seeds_are_not_a_way_around(kept: bool, tmp_path: Path) -> None:
    """A server that sends another seed after each failure has one report, and hears nothing more."""
    ledger = hush.Ledger(tmp_path / "ledger", cap=100) if kept else None
    server, label = Hostile(), hush.Categorical("y", [0, 1])
    with faking(server) as url:
        for seed in ("a", "b", "b]: ", "c"):
            server.round = first_round(Training("seeds", "logistic", POINT, label, 4.0, 3, 1.0, seed=seed))
            with pytest.raises(CollectorError if seed == "a" else hush.BudgetError):
                collector(url, ledger=ledger).train("seeds", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0)
    assert len(server.bodies) == 1


def test_a_server_describes_a_training_once_in_a_process() -> None:
    """Without a ledger too: other bounds under the same title are refused before the record is looked at."""
    server = Hostile()
    label = hush.Categorical("y", [0, 1])
    server.round = first_round(Training("described", "logistic", POINT, label, 4.0, 3, 1.0))
    wider = hush.Schema([hush.Numeric("a", -1, 1), hush.Numeric("b", -1, 0.25)])
    with faking(server) as url:
        retried(lambda: collector(url).train("described", {"a": 0.5, "b": 0.5}, 1, epsilon=4.0, person="Di"), 1)
        server.round = first_round(Training("described", "logistic", wider, label, 4.0, 3, 1.0))
        for b in (0.5, 0.0):
            with pytest.raises(hush.LedgerError, match="other features"):
                collector(url).train("described", {"a": 0.5, "b": b}, 1, epsilon=4.0, person="Ed")


def test_plain_functions_draw_anew() -> None:
    first = first_round(Training("t", "logistic", POINT, hush.Categorical("y", [0, 1]), 4.0, 3, 1.0))
    assert len({hush.randomise(PAIR, RECORD).id for _ in range(20)}) == 20
    assert len({gradient(first, {"a": 0.5, "b": 0.5}, 1).id for _ in range(20)}) == 20


# -- one memory


def test_threads_and_collectors_share_it() -> None:
    server, start = Hostile(), threading.Barrier(8)

    def one(url: str) -> None:
        start.wait()
        retried(lambda: collector(url).answer(PAIR, RECORD), 5)

    with faking(server) as url, ThreadPoolExecutor(8) as threads:
        list(threads.map(one, [url] * 8))
    assert len(server.bodies) == 40
    assert len(set(server.bodies)) == 1


def test_threads_that_take_tickets_at_once_send_one() -> None:
    server, start = Hostile(), threading.Barrier(4)

    def one(url: str) -> None:
        start.wait()
        retried(lambda: collector(url).answer_ticket(PAIR, RECORD), 3)

    with faking(server) as url, ThreadPoolExecutor(4) as threads:
        list(threads.map(one, [url] * 4))
    assert len(set(zip(server.bodies, server.signatures, strict=True))) == 1


def test_another_record_needs_a_name() -> None:
    server = Hostile()
    with faking(server) as url:
        retried(lambda: collector(url).answer(PAIR, RECORD), 1)
        retried(lambda: collector(url).answer(PAIR, [("c", "a"), ("x", 0.25)]), 1)  # the same one, written otherwise
        for method in (collector(url).answer, collector(url).answer_ticket):
            with pytest.raises(hush.LedgerError, match="person=") as refused:
                method(PAIR, {"x": 0.777, "c": "a"})
            assert "777" not in str(refused.value)
        assert len(server.bodies) == 2
        for name in ("Ann", "Bo", "Ann"):
            retried(lambda name=name: collector(url).answer(PAIR, {"x": 0.777, "c": "a"}, person=name), 2)  # type: ignore[misc]
        retried(lambda: collector(url).answer(PAIR, {"x": 0.1, "c": "b"}, person="Ann"), 1)  # she has changed
        retried(lambda: collector(url).answer(PAIR, RECORD), 1)
        with pytest.raises(hush.RecordError):
            collector(url).answer(PAIR, {"x": 7}, person="Cy")
    found = Counter(server.bodies)
    assert sorted(found.values()) == [2, 3, 5]


def test_other_plans_are_other_answers() -> None:
    server = Hostile()
    with faking(server) as url:
        retried(lambda: collector(url).answer(PAIR, RECORD), 2)
        retried(lambda: collector(url).answer(NUMBER, {"x": 0.25}), 2)
    assert sorted(Counter(server.bodies).values()) == [2, 2]


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_plan_and_one_that_follows_it_one_is_answered(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)
    schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])])
    pilot = hush.design(schema, 1.0, title=f"pilot {order}")
    first, second = [pilot, hush.design(schema, 1.0, title=f"main {order}", after=pilot)][::order]
    report = Person().randomise(first, RECORD)
    with pytest.raises(hush.BudgetError, match="belongs to this one"):
        Person().randomise(second, RECORD)
    assert Person().randomise(first, RECORD) == report
    Person("another").randomise(second, RECORD)


def test_a_ledger_is_one_persons(tmp_path: Path) -> None:
    ledger = hush.Ledger(tmp_path / "ledger", cap=10.0)
    for options in ({"person": "Ann"}, {"fresh": True}):
        with pytest.raises(hush.LedgerError, match="one person"):
            collector(ledger=ledger).answer(PAIR, RECORD, **options)
        with pytest.raises(hush.LedgerError, match="one person"):
            collector(ledger=ledger).answer_ticket(PAIR, RECORD, **options)
        with pytest.raises(hush.LedgerError, match="one person"):
            collector(ledger=ledger).train("t", {"a": 0.5}, 1, **options)
        with pytest.raises(hush.LedgerError, match="one person"):
            collector().answer(PAIR, RECORD, series=hush.Series(ledger, "weekly"), **options)
    with pytest.raises(hush.LedgerError, match="either person"):
        collector().answer(PAIR, RECORD, person="Ann", fresh=True)
    for name in ("", "x" * 257, 7):
        with pytest.raises(hush.LedgerError, match="person must be"):
            collector().answer(PAIR, RECORD, person=name)  # type: ignore[arg-type]
    assert ledger.spent == 0


def test_names_have_a_length() -> None:
    assert Person("x" * 256).randomise(PAIR, RECORD) != Person("\ud800").randomise(PAIR, RECORD)
    for name in ("", "x" * 257, 5, b"x"):
        with pytest.raises(hush.LedgerError, match="person must be 1 to 256 characters"):
            Person(name)  # type: ignore[arg-type]


# -- the words


def test_a_report_follows_from_the_key_the_plan_the_name_and_the_record() -> None:
    """By SHAKE-256, twice: a secret of all that, then a word for each number from 1 on."""
    for name in (None, "Ann"):
        text = repr(("words", PAIR.id, name, [0.25, 0])).encode()
        secret = hashlib.shake_256(b"hush answer " + family.KEY + text).digest(32)
        blocks = (hashlib.shake_256(secret + i.to_bytes(8, "big")).digest(8) for i in range(1, 99))
        expected = randomise_from(ListedCoins([int.from_bytes(block, "big") for block in blocks]), PAIR, RECORD)
        assert Person(name).randomise(PAIR, RECORD) == expected


PEOPLE = 4_000
FALSE_ALARM = 1e-6
COIN = hush.design(hush.Schema([hush.Categorical("c", ["a", "b"])]), 1.0, categorical="grr")


def drawn(value: str) -> list[int]:
    answered._memory.answers.clear()
    return [int(Person(str(i)).randomise(COIN, {"c": value}).answers[0][1]) for i in range(PEOPLE)]  # type: ignore[arg-type]


def is_law(observed: Counter[int]) -> bool:
    """Compare with the exact law: one degree of freedom, and the normal tail at 4.9 is below 1e-6 on both sides."""
    chance = float(COIN.law("c", "a")[0])
    return abs(observed[0] - PEOPLE * chance) < 4.9 * math.sqrt(PEOPLE * chance * (1 - chance))


def are_independent(one: list[int], two: list[int]) -> bool:
    """Correlate two rows of answers: its root of n multiple is normal, and below 4.9 but with probability 1e-6."""
    n = len(one)
    first, second = sum(one) / n, sum(two) / n
    covariance = sum((a - first) * (b - second) for a, b in zip(one, two, strict=True)) / n
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    return abs(covariance) < 4.9 / math.sqrt(n) * spread


def test_reports_have_the_law_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many people, and of two records of each; words that forget the name, or the record, are caught."""
    one, two = drawn("a"), drawn("b")
    assert is_law(Counter(one))
    assert not is_law(Counter(two))  # of another record
    assert are_independent(one, two)
    secret = answered._secret
    monkeypatch.setattr(answered, "_secret", lambda purpose, plan, name, inputs: secret(purpose, plan, "", inputs))
    assert not is_law(Counter(drawn("a")))
    monkeypatch.setattr(answered, "_secret", lambda purpose, plan, name, inputs: secret(purpose, plan, name, []))
    assert not are_independent(drawn("a"), drawn("b"))


def test_words_differ_by_all_that_they_depend_on() -> None:
    records: list[list[float | int | None]] = [[0.5, 1], [0.5, 0], [0.5, None], [1, 1], [0.0, 1], [1e-20, 1]]
    seen = {
        answered._secret(purpose, plan, name, inputs)
        for purpose in ("words", "record")
        for plan in (PAIR, NUMBER)
        for name in (None, "", "None", "Ann")
        for inputs in records
    }
    assert len(seen) == 2 * 2 * 4 * 6
    assert answered._secret("words", PAIR, None, [-0.0, 1]) == answered._secret("words", PAIR, None, [0.0, 1])


def test_a_person_keeps_to_the_plan_of_a_pilot_that_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)  # other tests fork
    pilot, stranger = (hush.design(PAIR.schema, 1.0, title=title) for title in ("the pilot", "a stranger"))
    seconds = [hush.design(PAIR.schema, 1.0, title=title, after=pilot) for title in ("one", "two")]
    for number, first in enumerate((pilot, *seconds)):
        person = Person(f"of a pilot, {number}")
        person.randomise(stranger, RECORD)
        assert [person.answered(plan) for plan in (pilot, *seconds)] == [None] * 3
        person.randomise(first, RECORD)
        assert [person.answered(plan) for plan in (pilot, *seconds)] == [first.id] * 3
        assert person.answered(stranger) == stranger.id
    assert Person("nobody").answered(pilot) is None


def test_a_person_answers_one_plan_of_a_pilot_if_they_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)  # other tests fork
    pilot = hush.design(PAIR.schema, 1.0, title="a pilot with followers")
    one, two = (hush.design(PAIR.schema, 1.0, title=title, after=pilot) for title in ("follows", "follows too"))
    person = Person("a follower")
    person.randomise(one, RECORD, follow=True)
    with pytest.raises(hush.BudgetError, match="another plan of the same pilot has been answered"):
        person.randomise(two, RECORD, follow=True)
    with pytest.raises(hush.BudgetError, match="another plan of the same pilot was asked"):
        person.ask(two, follow=True)
    with pytest.raises(hush.BudgetError, match="belongs to this one"):
        person.ask(pilot)
    assert person.ask(two) is not None  # who does not follow may answer both
    assert person.randomise(two, RECORD).plan is two


def test_what_was_not_asked_may_change_and_what_was_asked_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report does not depend on what was not asked."""
    monkeypatch.setattr(family, "forks", 0)  # other tests fork
    plan = hush.design(PAIR.schema, 1.0, k=1, title="asked for one")
    asked = Person().ask(plan)
    assert asked is not None
    (name,) = (attribute.name for attribute in asked.attributes)
    other = {"x": 0.75, "c": "b"}
    report = Person().randomise(plan, RECORD)
    assert Person().randomise(plan, other | {name: RECORD[name]}) == report
    with pytest.raises(hush.LedgerError, match="another record"):
        Person().randomise(plan, RECORD | {name: other[name]})
