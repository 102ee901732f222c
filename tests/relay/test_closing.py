"""The end of a plan: a relay hears of it on its own schedule, and believes nobody but the owner of the key."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import hush
from hush.collector.http.closed import ClosedHandlers
from hush.collector.opening import Opener
from hush.core.sealing import QUESTION_SIZE, question_info
from hush.device.network import Server
from hush.device.receipts import SealedReceipt
from hush.errors import CollectorError, ReportError
from hush.relay.asking import Asker
from hush.relay.forwarding import Forwarder, Mix
from hush.relay.mixing import seal_text
from hush.relay.store import Refusal, RelayStore
from tests.collector.served import EVERYBODY, HASHES, TOKENS, problem
from tests.relay.relayed import (
    KEY,
    OPENER,
    OTHER,
    PLAN,
    RECORD,
    SECRET,
    collecting,
    device,
    relaying,
    sealed_reports,
    wait_until,
)

OLD = bytes(range(1, 33))


def test_a_closed_plan_is_refused_before_a_batch_is_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A relay with fewer reports than a batch thanked for every further one, for ever."""
    sealed = sealed_reports(4)[1]
    with collecting(tmp_path) as served:
        with relaying(tmp_path, served.url, least=10_000) as relay:
            assert relay.post(b"".join(sealed[:3])).status_code == 202
            assert relay.client.get("/readyz").json() == {"status": "ok"}
            served.store.close_plan(PLAN.id)
            wait_until(lambda: relay.store.is_closed(PLAN.id))
            problem(relay.post(sealed[3]), "plan-closed")
            problem(relay.post(sealed[0]), "plan-closed")
            assert relay.store.held(PLAN.id) == 0
            assert relay.client.get("/readyz").json() == {"status": "ok", "closed": [PLAN.id]}
            assert relay.post(sealed_reports(1, OTHER)[1][0], OTHER).status_code == 202
            client = device(tmp_path, "late", served.url, relay.url)
            with pytest.raises(CollectorError, match="This survey has ended") as refused:
                client.answer(PLAN, RECORD)
            assert (refused.value.status, refused.value.kind) == (409, "plan-closed")
            served.store.close_plan(OTHER.id)
            wait_until(lambda: relay.store.is_closed(OTHER.id))
            problem(relay.client.get("/readyz"), "plan-closed")
        assert f"plan {PLAN.id[:12]} is closed at the collector" in caplog.text
        assert "3 reports that waited are deleted" in caplog.text
    with relaying(tmp_path, "http://127.0.0.1:9", least=10_000) as relay:
        problem(relay.post(sealed[3]), "plan-closed")
        problem(relay.client.get("/readyz"), "plan-closed")


def test_hashes_that_a_kill_has_left_go_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RelayStore(tmp_path / "relay.db", KEY)
    store.commit([(PLAN.id, sealed_reports(4)[1])])
    assert store.make(PLAN.id, 4, 4, b"".join) is not None
    with monkeypatch.context() as patch:
        patch.setattr(RelayStore, "_sweep", lambda *_: False)
        assert store.close_plan(PLAN.id) == 0, "they were in a batch"
    store.close()

    def hashes() -> int:
        with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
            return int(db.execute("select count(*) from once").fetchone()[0])

    assert hashes() == 4
    with relaying(tmp_path, "http://127.0.0.1:9"):
        wait_until(lambda: hashes() == 0)


def test_a_plan_that_was_closed_before_the_start_thanks_nobody(tmp_path: Path) -> None:
    """The relay asks before it listens. It may have a key that the collector gave out before."""
    with collecting(tmp_path, sealed_key=OLD, older_keys=(SECRET,)) as served:
        served.store.close_plan(PLAN.id)
        with relaying(tmp_path, served.url, ask=3600.0) as relay:
            problem(relay.post(sealed_reports(1)[1][0]), "plan-closed")
            assert relay.post(sealed_reports(1, OTHER)[1][0], OTHER).status_code == 202


def test_the_time_of_asking_says_nothing_about_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = ClosedHandlers._is_open

    def noting(self: ClosedHandlers, plan: hush.Plan) -> bool:
        asked.append(plan.id)
        return ask(self, plan)

    monkeypatch.setattr(ClosedHandlers, "_is_open", noting)
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=5, ask=3600.0) as relay:
        for number, sealed in enumerate(sealed_reports(20)[1], start=1):
            assert relay.post(sealed).status_code == 202
            if number % 5 == 0:  # of what comes later, so few may be left that no batch is made
                wait_until(lambda number=number: served.tally(PLAN).people == number)  # type: ignore[misc]
    assert sorted(asked) == sorted([PLAN.id, OTHER.id])


def test_a_token_is_needed_to_ask(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without it the relay says why it knows nothing, once and not every few seconds, and goes on."""
    with (
        collecting(tmp_path, tokens=HASHES, open=EVERYBODY - {"submit-batch"}) as served,
        relaying(tmp_path, served.url, plans=[PLAN]) as relay,
    ):
        served.store.close_plan(PLAN.id)
        assert relay.post(sealed_reports(1)[1][0]).status_code == 202
        wait_until(lambda: "a token that is known here is needed" in caplog.text.lower())
        bearer = {"authorization": f"Bearer {TOKENS['submit-batch']}"}
        head = {"content-type": "application/octet-stream", "hush-key": KEY.public.hex()}
        question = seal_text(bytes(range(32)), KEY, question_info(PLAN))
        assert len(question) == QUESTION_SIZE
        url = served.path("closed", PLAN)
        problem(served.client.post(url, content=question, headers=head), "no-token")
        answer = served.client.post(url, content=question, headers=head | bearer)
        assert answer.json() == {"closed": True, "proof": bytes(range(32)).hex()}
        assert answer.headers["cache-control"] == "no-store"
    assert caplog.text.count("does not say whether plan") == 1


def test_a_relay_that_will_end_says_so_and_takes_what_still_comes(tmp_path: Path) -> None:
    """Also at /healthz, which a proxy asks: /readyz of a relay without an open plan would keep the form from people."""
    with relaying(tmp_path, "http://127.0.0.1:9") as relay:
        assert relay.client.get("/healthz").status_code == 200
        relay.server.collector.give_notice()
        for path in ("/healthz", "/readyz"):
            problem(relay.client.get(path), "busy")
        assert relay.post(sealed_reports(1)[1][0]).status_code == 202


# -- whom it believes


@dataclass
class Answering(Server):
    """A collector as somebody on the way to it may answer: with these texts, or refusals."""

    answers: Iterator[str | CollectorError]
    questions: list[bytes] = field(default_factory=list)

    def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
        assert (path, content_type) == (f"/plans/{PLAN.id}/closed", "application/octet-stream")
        assert headers == {"Hush-Key": KEY.public.hex()}
        self.questions.append(body)
        answer = next(self.answers)
        if isinstance(answer, CollectorError):
            raise answer
        return answer.encode()


def asker(store: RelayStore, *answers: str | CollectorError) -> tuple[Asker, Answering]:
    server = Answering(iter(answers))
    return Asker(store, [PLAN], KEY, server, 1.0), server


def proved(opener: Opener, question: bytes, plan: hush.Plan = PLAN) -> str:
    return json.dumps({"closed": True, "proof": opener.prove(plan, question).hex()})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RelayStore]:
    found = RelayStore(tmp_path / "relay.db", KEY)
    found.commit([(PLAN.id, sealed_reports(3)[1])])
    yield found
    found.close()


@pytest.mark.parametrize(
    "answer",
    [
        '{"closed": true, "proof": null}',
        '{"closed": true, "proof": ""}',
        '{"closed": true, "proof": "é"}',
        json.dumps({"closed": True, "proof": bytes(32).hex()}),
        '{"closed": true}',
        "no JSON",
        CollectorError("This survey has ended", 409, "plan-closed"),
        CollectorError("gone", 404, "not-found"),
        CollectorError("broken", 500, "broken"),
        CollectorError("another key", 409, "other-key"),
        CollectorError("the collector cannot be reached"),
    ],
)
def test_nothing_but_a_proof_closes_a_plan(store: RelayStore, answer: str | CollectorError) -> None:
    asking, _ = asker(store, answer)
    with pytest.raises(CollectorError):
        asking.look(PLAN)
    assert not store.is_closed(PLAN.id)
    assert store.held(PLAN.id) == 3


def test_a_proof_holds_for_one_question(store: RelayStore) -> None:
    """What a collector has answered once, before it lost its file perhaps, says nothing about now."""
    asking, server = asker(store, '{"closed": false, "proof": null}')
    assert not asking.look(PLAN)
    earlier = proved(OPENER, server.questions[0])
    asking, server = asker(store, earlier)
    with pytest.raises(CollectorError, match="does not prove it"):
        asking.look(PLAN)
    assert not store.is_closed(PLAN.id)
    assert len({*server.questions}) == 1


def test_a_proof_is_of_one_plan_and_of_the_owner_of_the_key() -> None:
    """A question about one plan cannot be passed on as one about another, and is no sealed report."""
    question = seal_text(bytes(32), KEY, question_info(PLAN))
    assert OPENER.prove(PLAN, question) == bytes(32)
    with pytest.raises(ReportError, match="not a question about the plan"):
        OPENER.prove(OTHER, question)
    with pytest.raises(ReportError, match="not a question about the plan"):
        Opener(OLD).prove(PLAN, question)
    for bad in (b"", question[:-1], sealed_reports(1)[1][0], bytes(QUESTION_SIZE)):
        with pytest.raises(ReportError, match="not a question about the plan"):
            OPENER.prove(PLAN, bad)


def test_a_refused_batch_alone_closes_nothing(store: RelayStore, caplog: pytest.LogCaptureFixture) -> None:
    """Anybody on the way can refuse a batch. The relay asks; without a proof the batch waits."""

    class Refusing(hush.Client):
        def submit_sealed_batch(self, plan: hush.Plan, body: bytes) -> SealedReceipt:
            raise CollectorError("This survey has ended", 409, "plan-closed")

    class Proving(Answering):
        def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
            super().send(path, body, content_type, headers)
            return proved(OPENER, body).encode()

    mix, client = Mix(KEY, 2), Refusing("http://127.0.0.1:9")
    for open_ in ('{"closed": false, "proof": null}', CollectorError("gone", 404)):
        asking, _ = asker(store, open_)
        with pytest.raises(CollectorError):
            Forwarder(store, [PLAN], mix, client, asking, 1.0).forward(PLAN)
        assert not store.is_closed(PLAN.id)
        assert store.batch(PLAN.id) is not None
    proving = Asker(store, [PLAN], KEY, Proving(iter([""])), 1.0)
    with caplog.at_level(logging.ERROR):
        assert not Forwarder(store, [PLAN], mix, client, proving, 1.0).forward(PLAN)
    assert store.is_closed(PLAN.id)
    assert store.commit([(PLAN.id, sealed_reports(1)[1])]) == [Refusal.CLOSED]
