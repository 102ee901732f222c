"""The answers that spec/http.md promises, and how a test makes a real collector, or relay, give each of them."""

from __future__ import annotations

import re
import secrets
import socket
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.settings import RelayNamed, Settings
from hush.collector.stores.preview import PreviewStore
from hush.core.sealing import SealedBatch, batch_id, question_info
from hush.device.gradient import gradient, held_out
from hush.device.pilot import pilot
from hush.errors import StoreError
from hush.relay.mixing import seal, seal_text
from hush.server.tally import of_store
from tests import texting
from tests.collector.served import (
    ADMIN,
    BOUGHT,
    FEW,
    HASHES,
    PLAN,
    POINT,
    TOKENS,
    TRAINING,
    Served,
    anybody,
    report_of,
    rows,
    serving,
    stream_of,
)
from tests.relay.relayed import KEY, OCTETS, SECRET, Relayed, relaying

SPECIFIED = Path(__file__).parents[2] / "spec" / "http.md"
ELSEWHERE = {"x-forwarded-for": "203.0.113.7"}  # an address beyond this machine
CLOSED = hush.design(FEW.schema, 2.0, title="closed", k=2)
PAGES = hush.Listed([f"/page/{i}" for i in range(20)], name="specified.txt")
LONG = hush.design(hush.Schema([hush.Categorical("page", PAGES)]), 1.0, title="long")
NUMBERS = hush.Schema([hush.Numeric("a", 0, 1), hush.Numeric("b", 0, 1), hush.Categorical("c", ["x", "y"])])
RELATED = hush.design(
    hush.Schema([*NUMBERS.attributes, hush.Categorical("d", ["p", "q"])]),
    4.0,
    relations=[("c", "d"), ("a", "c"), ("a", "b")],
    ranges=["a"],
)
COURSE = hush.Training.design(POINT, BOUGHT, epsilon=4.0, people=9000, pilot=5 / 9, rounds=4, title="course")
PERSON = {"a": 0.5, "b": -0.5}
NOWHERE = "0" * 64

Line = tuple[str, str]
"""A line of a table of answers: the request, and the status with the kind of problem."""


class Row(NamedTuple):
    """One line: what it says of the answer, and which of the lines about the same request and status it is."""

    line: Line
    number: int
    answer: str
    when: str

    @property
    def status(self) -> int:
        return int(self.line[1].split()[0])

    @property
    def kind(self) -> str:
        return self.line[1].partition(" ")[2]

    @property
    def keys(self) -> set[str] | None:
        """The fields of the object that is answered, if the line has them all."""
        found = re.search(r"`\{(.*)\}`", self.answer)
        return None if found is None or "..." in found[1] else set(re.findall(r'"(\w+)"', found[1]))


def specified(text: str) -> list[Row]:
    """Return all lines of tables with the columns request, answer and if."""
    found: list[Row] = []
    times: dict[Line, int] = defaultdict(int)
    within = False
    for line in text.splitlines():
        if line.startswith("| request | answer | if |"):
            within = True
        elif not line.startswith("|"):
            within = False
        elif within and not line.startswith("|---"):
            request, answer, when = (cell.strip() for cell in line.strip("|").split("|"))
            status = re.match(r"(\d{3})(?: `([a-z-]+)`)?", answer)
            assert status is not None, f"an answer begins with a status: {line}"
            key = re.sub(r" \(role .*\)", "", request.replace("`", "")), " ".join(filter(None, status.groups()))
            found.append(Row(key, times[key], answer, when))
            times[key] += 1
    return found


@dataclass
class At:
    """Collectors and relays of all kinds, started when a line needs them."""

    path: Path
    stack: ExitStack
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def _served(self, name: str, settings: Settings, **named: Any) -> Served:
        folder = self.path / name
        folder.mkdir()
        given = {"plans": [PLAN, CLOSED], "trainings": {}} | named
        found = self.stack.enter_context(serving(folder, settings, **given))
        found.store.close_plan(CLOSED.id)
        return found

    @cached_property
    def open(self) -> Served:
        plans = [PLAN, FEW, CLOSED, LONG, RELATED, texting.PLAN]
        settings = anybody(tokens={"admin": HASHES["admin"]}, by="day", body_timeout=1.0)
        return self._served("open", settings, plans=plans, trainings={TRAINING: 2}, courses=(COURSE,))

    @cached_property
    def strict(self) -> Served:
        """It has tokens, looks at ids within batches, and takes little from one address."""
        settings = Settings(tokens=HASHES, check_ids=True, hosts=anybody().hosts, rate=0.001, burst=12)
        return self._served("strict", settings)

    @cached_property
    def full(self) -> Served:
        return self._served("full", anybody(queue=0, streams=0))

    @cached_property
    def beyond(self) -> Served:
        """It is asked by somebody who is not on this machine."""
        found = self._served("beyond", anybody(streams_each=1), forwarded="127.0.0.1")
        self.stack.enter_context(found.client.stream("GET", found.path("stream", PLAN), headers=ELSEWHERE))
        return found

    @cached_property
    def tickets(self) -> Served:
        return self._served("tickets", anybody(tickets=True, ticket_key=b"k" * 32))

    @cached_property
    def preview(self) -> Served:
        return self._served("preview", anybody(preview=True), plans=[FEW, CLOSED], kind=PreviewStore)

    @cached_property
    def sealed(self) -> Served:
        relay = RelayNamed("https://relay.example.net", 1e-6, own=40)
        return self._served("sealed", anybody(sealed_key=SECRET, sealed_only=True, relay=relay), plans=[FEW, CLOSED])

    @cached_property
    def relay(self) -> Relayed:
        folder = self.path / "relay"
        folder.mkdir()
        found = self.stack.enter_context(relaying(folder, "http://127.0.0.1:9", least=100, most=3, plans=[FEW, CLOSED]))
        found.store.close_plan(CLOSED.id)
        return found

    # -- requests

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.open.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, body: bytes, kind: str = formats.REPORT, **headers: str) -> httpx.Response:
        head = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.open.client.post(path, content=body, headers=head)

    def batch(self, body: bytes | None = None, *, plan: hush.Plan = FEW, **headers: str) -> httpx.Response:
        """Send a sealed batch to the collector of such."""
        sealed = SealedBatch(KEY, 0, (seal(report_of(plan), KEY),)).encode() if body is None else body
        head = {"content-type": "application/vnd.hush.sealed", "hush-batch": batch_id(sealed).hex()} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self.sealed.client.post(self.sealed.path("sealed", plan), content=sealed, headers=head)

    def question(self, body: bytes, **headers: str) -> httpx.Response:
        """Ask the collector of sealed batches whether a plan is closed."""
        head = OCTETS | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.sealed.client.post(self.sealed.path("closed", FEW), content=body, headers=head)

    def failing(
        self, served: Served, method: str, error: Exception, act: Callable[[], httpx.Response]
    ) -> httpx.Response:
        """Ask while a method of the store fails."""

        def fail(*_: object, **__: object) -> None:
            raise error

        with self.patch.context() as patch:
            patch.setattr(served.store, method, fail)
            return act()


Asking = Callable[[At], httpx.Response]
ASKED: dict[Line, list[Asking]] = defaultdict(list)


def asks(request: str, answer: str) -> Callable[[Asking], Asking]:
    """Say that a function makes the request of a line, so that it is answered as the line says."""

    def note(made: Asking) -> Asking:
        ASKED[request, answer].append(made)
        return made

    return note


def simple(request: str, answer: str, path: str, **headers: str) -> None:
    """The same for a GET at the open collector."""
    asks(request, answer)(lambda at: at.get(path, **headers))


def sent(at: At, body: bytes, *, key: str = KEY.public.hex(), plan: hush.Plan = FEW, **headers: str) -> httpx.Response:
    head = OCTETS | {"hush-key": key} | {name.replace("_", "-"): value for name, value in headers.items()}
    return at.relay.client.post(f"/sealed/{plan.id}", content=body, headers=head)


def question_of(plan: hush.Plan) -> bytes:
    return seal_text(bytes(32), KEY, question_info(plan))


P = f"/plans/{PLAN.id}"
REPORT = report_of(PLAN).encode()

# -- what a device does

simple("GET /plans/PLAN", "200", P)
simple("GET /plans/PLAN", "304", P, if_none_match=f'"{PLAN.id}"')
simple("GET /plans/PLAN", "404 not-found", f"/plans/{NOWHERE}")
asks("POST /plans/PLAN/reports with a body and its content type", "202")(lambda at: at.post(f"{P}/reports", REPORT))
asks("POST /plans/PLAN/reports", "404 not-found")(lambda at: at.post(f"/plans/{NOWHERE}/reports", REPORT))
asks("POST /plans/PLAN/reports", "403 preview")(
    lambda at: at.preview.post(FEW, report_of(FEW).encode(), formats.REPORT)
)
asks("POST /plans/PLAN/reports", "409 plan-closed")(
    lambda at: at.post(f"/plans/{CLOSED.id}/reports", hush.randomise(CLOSED, {"x": 0.5, "c": "a"}).encode())
)
asks("POST /plans/PLAN/reports", "415 wrong-type")(lambda at: at.post(f"{P}/reports", REPORT, "text/plain"))
asks("POST /plans/PLAN/reports", "422 bad-report")(lambda at: at.post(f"{P}/reports", REPORT[:-1]))


@asks("POST /plans/PLAN/reports", "409 overlapping")
def _(at: At) -> httpx.Response:
    table, head = rows(PLAN, 2, ids=True), {"authorization": f"Bearer {TOKENS['submit-batch']}"}
    for number in range(2):
        headers = head | {"hush-batch": f"{number:032x}", "content-type": formats.ARROW}
        answer = at.strict.client.post(f"{P}/reports", content=stream_of(table), headers=headers)
    return answer


# -- any request

simple("any", "400 bad-request", f"{P}?x=1")
asks("any", "401 no-token")(lambda at: at.strict.client.get(P))
simple("any", "404 not-found", "/nowhere")
asks("any", "405 bad-method")(lambda at: at.post(P, b""))
asks("any", "413 too-large")(lambda at: at.post(f"{P}/reports", bytes(1 << 17)))
simple("any", "421 wrong-host", P, host="elsewhere.example")
simple("any", "431 headers-too-large", P, x="y" * 70_000)
asks("any", "503 busy")(lambda at: at.full.post(PLAN, REPORT, formats.REPORT))
asks("any", "500 broken")(
    lambda at: at.failing(at.open, "size", ValueError("a mistake"), lambda: at.get("/overview", **ADMIN))
)
asks("any", "503 failed")(
    lambda at: at.failing(
        at.open, "commit", StoreError("no disk"), lambda: at.post(f"{P}/reports", report_of(PLAN).encode())
    )
)


@asks("any", "403 not-allowed")
def _(at: At) -> httpx.Response:
    return at.strict.client.get(f"{P}/estimates", headers={"authorization": f"Bearer {TOKENS['submit']}"})


@asks("any", "408 too-slow")
def _(at: At) -> httpx.Response:
    """Half of a body, and nothing more."""
    head = (
        f"POST {P}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {formats.REPORT}\r\nContent-Length: 27\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", at.open.port), 20) as connection:
        connection.sendall(head.encode() + b"half")
        status, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
    return httpx.Response(int(status.split()[1]), content=body)


@asks("any", "429 too-many")
def _(at: At) -> httpx.Response:
    """Asked last of this collector: it hears nothing more."""
    while (answer := at.strict.client.get("/healthz")).status_code == 200:
        pass
    return answer


simple("GET /healthz", "200", "/healthz")
simple("GET /readyz", "200", "/readyz")
asks("GET /readyz of a relay", "200")(lambda at: at.relay.client.get("/readyz"))
asks("GET /readyz", "503 busy")(lambda at: at.full.client.get("/readyz"))
asks("GET /readyz", "503 failed")(
    lambda at: at.failing(at.tickets, "check", StoreError("no disk"), lambda: at.tickets.client.get("/readyz"))
)

# -- sealed reports: a relay with room for three

asks("GET /plans/PLAN of a relay", "200")(lambda at: at.relay.client.get(f"/plans/{FEW.id}"))
asks("GET /plans/PLAN of a relay", "404 not-found")(lambda at: at.relay.client.get(P))
asks("POST /sealed/PLAN", "202")(lambda at: sent(at, seal(report_of(FEW), KEY)))
asks("POST /sealed/PLAN", "400 bad-request")(lambda at: sent(at, seal(report_of(FEW), KEY), key="12"))
asks("POST /sealed/PLAN", "404 not-found")(lambda at: sent(at, seal(report_of(PLAN), KEY), plan=PLAN))
asks("POST /sealed/PLAN", "409 other-key")(lambda at: sent(at, seal(report_of(FEW), KEY), key="12" * 32))
asks("POST /sealed/PLAN", "409 plan-closed")(lambda at: sent(at, bytes(len(seal(report_of(FEW), KEY))), plan=CLOSED))
asks("POST /sealed/PLAN", "415 wrong-type")(lambda at: sent(at, seal(report_of(FEW), KEY), content_type="text/plain"))
asks("POST /sealed/PLAN", "422 bad-report")(lambda at: sent(at, b"short"))
asks("POST /sealed/PLAN", "507 full")(lambda at: sent(at, b"".join(seal(report_of(FEW), KEY) for _ in range(4))))


def leaving(at: At, path: str) -> httpx.Response:
    gate = at.relay.server.collector._gate
    gate.ending = True
    try:
        return at.relay.client.get(path)
    finally:
        gate.ending = False


asks("GET /healthz of a relay", "503 busy")(lambda at: leaving(at, "/healthz"))
asks("GET /readyz of a relay", "503 busy")(lambda at: leaving(at, "/readyz"))


@asks("GET /readyz of a relay", "507 full")
def _(at: At) -> httpx.Response:
    while sent(at, seal(report_of(FEW), KEY)).status_code == 202:
        pass
    return at.relay.client.get("/readyz")


@asks("GET /readyz of a relay", "409 plan-closed")
def _(at: At) -> httpx.Response:
    at.relay.store.close_plan(FEW.id)
    return at.relay.client.get("/readyz")


C = "POST /plans/PLAN/closed"
asks(C, "200")(lambda at: at.question(question_of(FEW)))
asks(C, "400 bad-request")(lambda at: at.question(question_of(CLOSED)))
asks(C, "404 not-found")(lambda at: at.post(f"{P}/closed", question_of(PLAN), "application/octet-stream"))
asks(C, "409 other-key")(lambda at: at.question(question_of(FEW), hush_key="12" * 32))
asks(C, "413 too-large")(lambda at: at.question(question_of(FEW) + b"x"))
asks(C, "415 wrong-type")(lambda at: at.question(question_of(FEW), content_type="text/plain"))
S = "POST /plans/PLAN/sealed"
asks(S, "202")(lambda at: at.batch())
asks(S, "400 bad-request")(lambda at: at.batch(hush_batch="12"))
asks(S, "404 not-found")(lambda at: at.post(f"{P}/sealed", b"", "application/vnd.hush.sealed"))
asks(S, "409 other-key")(
    lambda at: at.batch(SealedBatch(hush.CollectorKey(bytes(range(1, 33))), 0, (seal(report_of(FEW), KEY),)).encode())
)
asks(S, "409 plan-closed")(
    lambda at: at.batch(SealedBatch(KEY, 0, (bytes(len(seal(report_of(FEW), KEY))),)).encode(), plan=CLOSED)
)
asks(S, "415 wrong-type")(lambda at: at.batch(content_type="text/plain"))
asks(S, "422 bad-report")(lambda at: at.batch(b"no batch"))
asks("POST /plans/PLAN/reports", "403 sealed-only")(
    lambda at: at.sealed.post(FEW, report_of(FEW).encode(), formats.REPORT)
)
asks("POST /plans/PLAN/tally", "403 sealed-only")(
    lambda at: at.sealed.client.post(at.sealed.path("tally", FEW), content=hush.Tally(FEW).encode())
)
asks("GET /plans/PLAN/relay", "200")(lambda at: at.sealed.client.get(at.sealed.path("relay", FEW)))
asks("GET /plans/PLAN/relay", "404 not-found")(lambda at: at.get(f"{P}/relay"))
asks("GET /plans/PLAN/relay", "409 plan-closed")(lambda at: at.sealed.client.get(at.sealed.path("relay", CLOSED)))

# -- lists, tickets, and what else a device asks

simple("GET /lists/HASH", "200", f"/lists/{PAGES.sha256}")
simple("GET /lists/HASH", "304", f"/lists/{PAGES.sha256}", if_none_match=f'"{PAGES.sha256}"')
simple("GET /lists/HASH", "404 not-found", f"/lists/{NOWHERE}")
asks("GET /plans/PLAN/ticket", "200")(lambda at: at.tickets.client.get(f"{P}/ticket"))
simple("GET /plans/PLAN/ticket", "204", f"{P}/ticket")
asks("POST /plans/PLAN/reports", "400 bad-request")(lambda at: at.tickets.post(PLAN, REPORT, formats.REPORT))
asks("POST /plans/PLAN/reports", "422 bad-report")(
    lambda at: at.tickets.post(PLAN, REPORT, formats.REPORT, hush_ticket="0" * 32)
)
asks("POST /plans/PLAN/reports with a batch", "415 wrong-type")(
    lambda at: at.tickets.post(PLAN, bytes(16) + REPORT, formats.REPORTS)
)
simple("GET /survey", "200", "/survey")
simple("GET /plans/PLAN/current", "200", f"{P}/current")
simple("GET /plans/PLAN/current", "404 not-found", f"/plans/{NOWHERE}/current")
simple("GET /plans/PLAN/presentation", "200", f"{P}/presentation")
simple("GET /plans/PLAN/presentation", "404 not-found", f"/plans/{NOWHERE}/presentation")
simple("GET /trainings/NAME/presentation", "200", "/trainings/tiny/presentation")
simple("GET /trainings/NAME/presentation", "404 not-found", "/trainings/none/presentation")

# -- streams


def streamed(at: At, path: str) -> httpx.Response:
    """The head of an answer that does not end."""
    with at.open.client.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        return httpx.Response(answer.status_code)


asks("GET /plans/PLAN/stream", "200")(lambda at: streamed(at, f"{P}/stream"))
simple("GET /plans/PLAN/stream", "404 not-found", f"/plans/{NOWHERE}/stream")
asks("GET /plans/PLAN/stream", "429 too-many")(lambda at: at.beyond.client.get(f"{P}/stream", headers=ELSEWHERE))
asks("GET /plans/PLAN/stream", "503 busy")(lambda at: at.full.client.get(f"{P}/stream"))
asks("GET /trainings/NAME/stream", "200")(lambda at: streamed(at, "/trainings/tiny/stream"))
simple("GET /trainings/NAME/stream", "404 not-found", "/trainings/none/stream")

# -- trainings


def answer_of(at: At) -> bytes:
    return gradient(hush.Client(at.open.url).round("tiny"), PERSON, "yes").encode()


T, G = "/trainings/tiny", "POST /trainings/NAME/gradients?round=N"
simple("GET /trainings/NAME/round", "200", f"{T}/round")
simple("GET /trainings/NAME/round", "404 not-found", "/trainings/none/round")
simple("GET /trainings/NAME/check", "200", f"{T}/check")
simple("GET /trainings/NAME/check", "400 bad-request", f"/trainings/{COURSE.name}/check")
asks(G, "202")(lambda at: at.post(f"{T}/gradients?round=1", answer_of(at)))
asks(G, "400 bad-request")(lambda at: at.post(f"{T}/gradients?round=99", answer_of(at)))
asks(G, "403 sealed-only")(lambda at: at.sealed.client.post(f"{T}/gradients?round=1", content=b""))
asks(G, "404 not-found")(lambda at: at.post("/trainings/none/gradients?round=1", answer_of(at)))
asks(G, "415 wrong-type")(lambda at: at.post(f"{T}/gradients?round=1", b"", "text/plain"))
asks(G, "422 bad-report")(lambda at: at.post(f"{T}/gradients?round=1", b"no report"))
asks("POST /trainings/NAME/pilot?stage=STAGE", "400 bad-request")(lambda at: at.post(f"{T}/pilot?stage=means", b"x"))


@asks("POST /trainings/NAME/losses?round=N", "202")
def _(at: At) -> httpx.Response:
    check = hush.Check.from_json(at.get(f"{T}/check").content)
    return at.post(f"{T}/losses?round={check.number}", held_out(check, PERSON, "yes").encode())


@asks(G, "409 late")
def _(at: At) -> httpx.Response:
    """Two people make a round."""
    first = hush.Client(at.open.url).round("tiny")
    late = gradient(first, PERSON, "yes").encode()
    while hush.Client(at.open.url).round("tiny").number == first.number:
        at.post(f"{T}/gradients?round={first.number}", answer_of(at))
    return at.post(f"{T}/gradients?round={first.number}", late)


@asks("POST /trainings/NAME/pilot?stage=STAGE", "202")
def _(at: At) -> httpx.Response:
    stage = hush.Client(at.open.url).round(COURSE.name)
    return at.post(f"/trainings/{COURSE.name}/pilot?stage={stage.name}", pilot(stage, PERSON, "yes").encode())


# -- operators and readers


def _one() -> hush.Tally:
    tally = hush.Tally(PLAN)
    tally.add(report_of(PLAN))
    return tally


def _handed(at: Any, *counted: int, renamed: bool = False, withdrawn: bool = False) -> httpx.Response:
    """Hand on tallies of one store, and return the last answer. A tally has so many equal reports; -1: another one."""
    one = other = report_of(PLAN)
    while other.answers == one.answers:
        other = report_of(PLAN)
    names, answer = [secrets.token_bytes(16)], httpx.Response(200)
    for number in counted:
        if renamed and answer.status_code == 202:
            names.insert(0, secrets.token_bytes(16))
        if withdrawn and answer.status_code == 202:
            answer = at.post(f"{P}/withdraw/{names[0].hex()}", b"", **ADMIN)
        if number:
            tally = hush.Tally(PLAN)
            tally.update([one] * number if number > 0 else [other])
            answer = at.post(f"{P}/tally", of_store(tally, names).encode(), formats.TALLY)
    return answer


simple("GET /plans", "200", "/plans")
simple("GET /metrics", "200", "/metrics")
asks("POST /plans/PLAN/close", "200")(lambda at: at.post(f"/plans/{CLOSED.id}/close", b"", **ADMIN))
asks("POST /plans/PLAN/close", "404 not-found")(lambda at: at.post(f"/plans/{NOWHERE}/close", b"", **ADMIN))
asks("POST /plans/PLAN/tally", "202")(
    lambda at: at.post(f"{P}/tally", _one().encode(), formats.TALLY, hush_batch="5" * 32)
)
asks("POST /plans/PLAN/tally", "400 bad-request")(lambda at: at.post(f"{P}/tally", _one().encode(), formats.TALLY))
asks("POST /plans/PLAN/tally", "409 older")(lambda at: _handed(at, 20, 12))
asks("POST /plans/PLAN/tally", "409 fallen")(lambda at: _handed(at, 20, -1))
asks("POST /plans/PLAN/tally", "409 renamed")(lambda at: _handed(at, 20, 12, renamed=True))
asks("POST /plans/PLAN/tally", "409 withdrawn")(lambda at: _handed(at, 20, 20, withdrawn=True))
asks("POST /plans/PLAN/tally", "415 wrong-type")(lambda at: at.post(f"{P}/tally", b"", "text/plain"))
asks("POST /plans/PLAN/tally", "422 bad-report")(lambda at: at.post(f"{P}/tally", b"no tally", formats.TALLY))
W = "POST /plans/PLAN/withdraw/NAME"
asks(W, "202")(lambda at: _handed(at, 20, 0, withdrawn=True))
asks(W, "404 not-found")(lambda at: at.post(f"{P}/withdraw/{'7' * 32}", b"", **ADMIN))
asks(W, "409 plan-closed")(lambda at: at.post(f"/plans/{CLOSED.id}/withdraw/{'7' * 32}", b"", **ADMIN))
simple("GET /plans/PLAN/periods", "200", f"{P}/periods")
simple("GET /plans/PLAN/changes?against=OTHER", "200", f"{P}/changes?against={FEW.id}")
simple("GET /plans/PLAN/changes?against=OTHER", "404 not-found", f"{P}/changes?against={NOWHERE}")
simple("GET /overview", "200", "/overview", **ADMIN)
for what, query in {
    "crosstab": "attribute=c&by=d",
    "means": "attribute=a&by=c",
    "association": "attribute=a&by=b",
}.items():
    simple(f"GET /plans/PLAN/{what}?attribute=A&by=B", "200", f"/plans/{RELATED.id}/{what}?{query}")
    simple(f"GET /plans/PLAN/{what}?attribute=A&by=B", "404 not-found", f"/plans/{FEW.id}/{what}?attribute=x&by=c")
simple("GET /plans/PLAN/quantiles?attribute=A", "200", f"/plans/{RELATED.id}/quantiles?attribute=a")
simple("GET /plans/PLAN/quantiles?attribute=A", "404 not-found", f"/plans/{FEW.id}/quantiles?attribute=x")
TEXT = texting.PLAN.schema.names[0]
simple("GET /plans/PLAN/frequent?attribute=A", "200", f"/plans/{texting.PLAN.id}/frequent?attribute={TEXT}")
simple("GET /plans/PLAN/frequent?attribute=A", "404 not-found", f"{P}/frequent?attribute=os")
simple("GET /plans/PLAN/estimates", "200", f"{P}/estimates")
simple("GET /plans/PLAN/estimates", "400 bad-request", f"{P}/estimates?post=project&top=1")
