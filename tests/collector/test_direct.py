"""The short way of reports: the same answers, bytes and counts as the long one, and nothing held behind."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hush
from hush.collector import formats
from hush.collector.http import direct
from hush.collector.settings import Settings
from tests.collector.served import (
    ALL,
    FEW,
    HASHES,
    PLAN,
    TOKENS,
    WIDE,
    Served,
    anybody,
    packed,
    report_of,
    rows,
    serving,
    stream_of,
)

ID = b"i" * 16


def request(
    body: bytes, kind: str = formats.JSON, plan: hush.Plan | str = PLAN, line: str = "", *more: str, host: str = "x"
) -> bytes:
    """Return a request, as it is sent."""
    path = line or f"POST /plans/{plan if isinstance(plan, str) else plan.id}/reports HTTP/1.1"
    head = [path, f"Host: {host}", f"Content-Type: {kind}", *more]
    if not any(name.lower().startswith("transfer-encoding") for name in more):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def report(plan: hush.Plan = PLAN, number: int = 0) -> hush.Report:
    """Return a report with an id of its own, the same whenever it is asked for."""
    return hush.Report(plan, number.to_bytes(16, "big"), REPORTS[plan.id].answers)


REPORTS = {plan.id: report_of(plan) for plan in (PLAN, ALL, WIDE, FEW)}
BATCHES = {
    formats.COLUMNS: packed(PLAN, 50, ID),
    formats.ARROW: stream_of(rows(PLAN, 50)),
    formats.REPORTS: b"r" * 16 + b"".join(report(PLAN, number).encode() for number in range(100, 150)),
}
TEXT = report().to_json().encode()
POST = f"POST /plans/{PLAN.id}/reports"
NAMED = f"Hush-Batch: {(b'a' * 16).hex()}"
SHORT: dict[str, bytes] = {  # requests that go the short way, whatever comes of them
    "new": request(TEXT),
    "again": request(TEXT),
    "binary": request(report(PLAN, 1).encode(), formats.REPORT),
    "all questions": request(report(ALL, 2).to_json().encode(), plan=ALL),
    "wide": request(report(WIDE, 3).encode(), formats.REPORT, WIDE),
    "no JSON": request(b"{"),
    "nothing": request(b""),
    "another plan's": request(report(FEW, 4).to_json().encode()),
    "more fields": request(json.dumps(json.loads(TEXT) | {"more": 1}).encode()),
    "a key twice": request(TEXT[:-1] + b',"hush":2}'),
    "another host": request(TEXT, host="example.org"),
    "columns": request(BATCHES[formats.COLUMNS], formats.COLUMNS),
    "columns again": request(BATCHES[formats.COLUMNS], formats.COLUMNS),
    "Arrow": request(BATCHES[formats.ARROW], formats.ARROW, PLAN, "", NAMED),
    "Arrow without an id": request(BATCHES[formats.ARROW], formats.ARROW),
    "many binary": request(BATCHES[formats.REPORTS], formats.REPORTS),
    "bad columns": request(BATCHES[formats.COLUMNS][:-2] + b"\xff\xff", formats.COLUMNS),
    "cut columns": request(BATCHES[formats.COLUMNS][:-1], formats.COLUMNS),
    "a token": request(
        report(PLAN, 5).to_json().encode(), formats.JSON, PLAN, "", f"Authorization: Bearer {TOKENS['submit']}"
    ),
    "a wrong token": request(report(PLAN, 6).to_json().encode(), formats.JSON, PLAN, "", "Authorization: Bearer x"),
    "a page": request(report(PLAN, 7).to_json().encode(), formats.JSON, PLAN, "", "Origin: https://a.example"),
    "the last": request(report(PLAN, 8).to_json().encode(), formats.JSON, PLAN, "", "Connection: close"),
}
LONG: dict[str, bytes] = {  # requests that need more care
    "an unknown plan": request(TEXT, plan="0" * 64),
    "a query": request(TEXT, line=f"{POST}?a=1 HTTP/1.1"),
    "an old version": request(TEXT, line=f"{POST} HTTP/1.0"),
    "a charset": request(TEXT, "application/json; charset=utf-8"),
    "another type": request(TEXT, "text/plain"),
    "chunked": request(b"5\r\nabcde\r\n0\r\n\r\n", formats.JSON, PLAN, "", "Transfer-Encoding: chunked"),
    "encoded": request(TEXT, formats.JSON, PLAN, "", "Content-Encoding: gzip"),
    "a get": request(b"", line=f"GET /plans/{PLAN.id}/reports HTTP/1.1"),
    "large": request(b" " * 20_000 + TEXT),
    "too large": request(b" " * 70_000 + TEXT),
}


@contextmanager
def spied(monkeypatch: pytest.MonkeyPatch, *, off: bool) -> Iterator[list[bool]]:
    """See which requests go the short way; or let none go it."""
    taken: list[bool] = []
    real, real_find = direct.found, direct.Heads.find

    def found(collector: Any, scope: Any) -> Any:
        way = None if off else real(collector, scope)
        taken.append(way is not None)
        return way

    def find(self: direct.Heads, data: bytes) -> Any:
        known = None if off else real_find(self, data)
        taken.extend([True] * (known is not None))
        return known

    with monkeypatch.context() as patch:
        patch.setattr(direct, "found", found)
        patch.setattr(direct.Heads, "find", find)
        yield taken


def ready(served: Served) -> None:
    """Wait until a collector knows its plans and reads batches in the loop."""
    collector = served.server.config.app.state.collector
    for plan in (PLAN, ALL, WIDE, FEW):
        served.client.post(served.path("reports", plan), content=b"{", headers={"content-type": formats.JSON})
    until(lambda: all(map(collector.is_prepared, (PLAN, ALL, WIDE, FEW))))


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def said(served: Served, data: bytes) -> bytes:
    """Send a request on a connection of its own; return the answer without its date."""
    with socket.create_connection(("127.0.0.1", served.port), 20) as connection:
        connection.sendall(data)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        fields = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"date:")]
        (length,) = [int(line[15:]) for line in fields if line.lower().startswith(b"content-length:")]
        while len(body) < length:
            body += connection.recv(65536)
        return b"\r\n".join(sorted(fields)) + b"\r\n\r\n" + body


SETTINGS: dict[str, Callable[[], Settings]] = {
    "open": lambda: anybody(tokens={"admin": HASHES["admin"]}),
    "tokens": lambda: anybody(tokens=HASHES),
    "pages": lambda: anybody(origins={PLAN.id: frozenset(["https://a.example"]), "*": frozenset(["*"])}),
    "a rate": lambda: anybody(rate=1e-9, burst=12),
    "tickets": lambda: anybody(tickets=True, ticket_key=b"k" * 32),
    "ids": lambda: anybody(check_ids=True),
    "closed": lambda: Settings(hosts=frozenset(["x", "127.0.0.1"])),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_both_ways_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every answer and every count is the same; and the short way is the one that was meant."""
    answers, counts = [], []
    for off in (False, True):
        place = tmp_path / str(off)
        place.mkdir()
        with serving(place, SETTINGS[name]()) as served:
            if name in ("open", "pages", "ids"):
                ready(served)
            else:
                served.client.get(f"/plans/{PLAN.id}", headers={"authorization": f"Bearer {TOKENS['submit']}"})
            with spied(monkeypatch, off=off) as taken:
                answers.append({key: said(served, data) for key, data in (SHORT | LONG).items()})
                if name in ("open", "pages", "ids") and not off:
                    assert taken == [True] * len(SHORT) + [False] * len(LONG)
            counts.append([served.store.tally(plan).to_json() for plan in (PLAN, ALL, WIDE, FEW)])
            assert served.server.bounds.held == 0
    for key in answers[0]:
        assert answers[0][key] == answers[1][key], key
    assert counts[0] == counts[1]
    if name == "open":
        assert b" 202 " in answers[0]["new"]
        assert b'"new":false' in answers[0]["again"]
        assert b'"reports":50' in answers[0]["Arrow"]


def test_a_way_that_differs_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a short way that forgets the tokens."""
    monkeypatch.setattr(direct.Direct, "_answer", _careless(direct.Direct._answer))
    with serving(tmp_path, anybody(tokens=HASHES)) as served:
        served.client.get(f"/plans/{PLAN.id}", headers={"authorization": f"Bearer {TOKENS['submit']}"})
        with spied(monkeypatch, off=False):
            short = said(served, SHORT["new"])
        with spied(monkeypatch, off=True):
            long = said(served, SHORT["new"])
    assert short != long


def _careless(answer: Callable[..., None]) -> Callable[..., None]:
    def without_headers(self: Any, response: Any) -> None:
        if "www-authenticate" in response.headers:
            del response.headers["www-authenticate"]
        answer(self, response)

    return without_headers


def test_requests_in_a_row_are_answered_in_their_order(open_: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(open_)
    numbers = range(1000, 1040)
    pieces = []
    for number in numbers:
        pieces.append(request(report(PLAN, number).to_json().encode()))
        if number % 3 == 0:
            pieces.append(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    last = request(report(PLAN, 999).to_json().encode(), formats.JSON, PLAN, "", "Connection: close")
    with spied(monkeypatch, off=False) as taken:
        answer = open_.raw(b"".join(pieces) + last)
    assert sum(taken) == len(numbers) + 1
    found = [int(part[:32], 16) for part in answer.decode().split('"id":"')[1:]]
    assert found == [*numbers, 999]
    assert answer.count(b'"status":"ok"') == sum(number % 3 == 0 for number in numbers)


@pytest.mark.parametrize("cut", [1, 40, 120])
def test_what_never_arrives_is_neither_counted_nor_held(open_: Served, cut: int) -> None:
    ready(open_)
    before = open_.store.tally(FEW).reports
    data = request(report(FEW, 77).to_json().encode(), plan=FEW)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", open_.port), 20) as connection:
            connection.sendall(data[:-cut])
    until(lambda: open_.server.bounds.held == 0)
    assert open_.store.tally(FEW).reports == before


def test_a_slow_body_is_given_up(open_: Served) -> None:
    ready(open_)
    answer = open_.raw(request(report(FEW, 78).to_json().encode(), plan=FEW)[:-5])
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer
    until(lambda: open_.server.bounds.held == 0)


def test_a_client_that_leaves_is_counted_once(open_: Served) -> None:
    """What was complete counts, whether or not somebody waits for the answer."""
    ready(open_)
    before = open_.store.tally(FEW).reports
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", open_.port), 20) as connection:
            connection.sendall(request(report(FEW, 79).to_json().encode(), plan=FEW))
    until(lambda: open_.store.tally(FEW).reports == before + 1 and open_.server.bounds.held == 0)


def test_behind_a_proxy_rates_are_those_of_its_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, anybody(rate=1e-9, burst=3), forwarded="127.0.0.1") as served:
        served.client.get(f"/plans/{PLAN.id}", headers={"x-forwarded-for": "1.2.3.4"})
        with spied(monkeypatch, off=False) as taken:
            found = [
                said(
                    served,
                    request(report(PLAN, n).to_json().encode(), formats.JSON, PLAN, "", f"X-Forwarded-For: {who}"),
                )
                for n, who in enumerate(["5.6.7.8"] * 4 + ["9.9.9.9"])
            ]
    assert all(taken)
    assert [b" 202 " in answer for answer in found] == [True, True, True, False, True]
    assert b" 429 " in found[3]


@pytest.mark.parametrize("plan", [PLAN, ALL, WIDE, FEW], ids=lambda plan: str(plan.title))
def test_the_fast_reading_of_a_report_is_the_strict_one(plan: hush.Plan) -> None:
    """Texts with something inserted, changed or left out: what both read is the same, and neither reads more."""
    chance = random.Random(plan.title)
    text = report(plan, 3).to_json().encode()
    assert formats._canonical(plan, text) == hush.Report.from_json(plan, text)
    inserted = [
        b" ",
        b",",
        b"-",
        b"0",
        b"1",
        b".0",
        b"e0",
        b"[",
        b"]",
        b'"',
        b"\\u0030",
        b"\xff",
        b"true",
        b"NaN",
        b"[[0,0]]",
    ]
    inserted += [b',"hush":2', b'"answers":[[0,0]],', b"99999999999999999999", b"A", b"null"]
    fast = read = 0
    for _ in range(6000):
        body = bytearray(text)
        for _ in range(chance.choice([1, 1, 2])):
            place = chance.randrange(len(body) + 1) if chance.random() < 0.5 else chance.randrange(11, 30)
            end = place + chance.choice([0, 0, 1, 1, 2])
            body[place:end] = chance.choice([*inserted, b""])
        quick = formats._canonical(plan, bytes(body))
        try:
            strict = hush.Report.from_json(plan, bytes(body))
        except hush.ReportError:
            strict = None
        assert quick is None or quick == strict, bytes(body)
        fast, read = fast + (quick is not None), read + (strict is not None)
    assert fast > 10
    assert read > fast  # spaces outside of the answers, say


# -- heads that were taken before

BEARER = f"Authorization: Bearer {TOKENS['submit-batch']}"


def alike(number: int) -> dict[str, bytes]:
    """Return requests whose heads are those of others that are taken, but for the id of a batch."""
    text = report(PLAN, number).to_json().encode()
    id_ = number.to_bytes(16, "big")
    columns = BATCHES[formats.COLUMNS].replace(ID, id_)
    named = f"Hush-Batch: {id_.hex()}"
    return {
        "JSON": request(text),
        "again": request(text),
        "no JSON": request(text[:-1] + b"]"),
        "spaced": request(text.replace(b'"hush":2', b'"hush": ').replace(b'": ', b'":2', 1)),
        "binary": request(report(PLAN, number + 1).encode(), formats.REPORT),
        "columns": request(columns, formats.COLUMNS, PLAN, "", BEARER),
        "columns again": request(columns, formats.COLUMNS, PLAN, "", BEARER),
        "bad columns": request(columns[:-2] + b"\xff\xff", formats.COLUMNS, PLAN, "", BEARER),
        "Arrow": request(BATCHES[formats.ARROW], formats.ARROW, PLAN, "", BEARER, named),
        "Arrow again": request(BATCHES[formats.ARROW], formats.ARROW, PLAN, "", BEARER, named),
        "bad Arrow": request(BATCHES[formats.ARROW][:-8] + bytes(8), formats.ARROW, PLAN, "", BEARER, named),
        "a page": request(
            report(PLAN, number + 2).to_json().encode(), formats.JSON, PLAN, "", "Origin: https://a.example"
        ),
    }


@contextmanager
def hits(monkeypatch: pytest.MonkeyPatch, *, off: bool = False) -> Iterator[list[bool]]:
    """See which requests have a head that was taken before; or let none be known."""
    found: list[bool] = []
    real = direct.Heads.find

    def find(self: direct.Heads, data: bytes) -> Any:
        known = None if off else real(self, data)
        found.append(known is not None)
        return known

    with monkeypatch.context() as patch:
        patch.setattr(direct.Heads, "find", find)
        yield found


@pytest.mark.parametrize("name", ["open", "batch tokens", "pages", "a rate", "ids", "closed"])
def test_known_heads_change_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    few: dict[Any, Any] = {role: HASHES[role] for role in ("submit-batch", "admin")}
    settings = SETTINGS | {"batch tokens": lambda: anybody(tokens=few)}
    answers, counts = [], []
    for off in (False, True):
        place = tmp_path / str(off)
        place.mkdir()
        with serving(place, settings[name]()) as served, hits(monkeypatch, off=off) as found:
            collector = served.server.config.app.state.collector
            served.client.get(f"/plans/{PLAN.id}", headers={"authorization": f"Bearer {TOKENS['admin']}"})
            if name not in ("a rate", "closed"):
                until(lambda collector=collector: collector.is_prepared(PLAN))  # type: ignore[misc]
            found.clear()
            answers.append([{key: said(served, data) for key, data in alike(n).items()} for n in (100, 200)])
            if name in ("open", "batch tokens", "pages") and not off:
                second = found[len(alike(0)) :]
                assert second == [True] * len(second)
            assert off <= (not any(found))
            counts.append(served.store.tally(PLAN).to_json())
            assert served.server.bounds.held == 0
    assert answers[0] == answers[1]
    assert counts[0] == counts[1]


def test_a_head_that_is_known_too_easily_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: of a head that counts as the same whatever its token is."""
    monkeypatch.setattr(direct, "NAMED", re.compile(rb"Bearer ([^\r]*)\r"))
    with serving(tmp_path, anybody(tokens=HASHES)) as served:
        served.client.get(f"/plans/{PLAN.id}", headers={"authorization": f"Bearer {TOKENS['admin']}"})
        texts = [report(PLAN, n).to_json().encode() for n in (1, 2)]
        right, wrong = (f"Authorization: Bearer {token}" for token in (TOKENS["submit"], "x" * len(TOKENS["submit"])))
        assert b" 202 " in said(served, request(texts[0], formats.JSON, PLAN, "", right))
        assert b" 202 " in said(served, request(texts[1], formats.JSON, PLAN, "", wrong))


def test_a_token_that_is_wrong_is_refused_after_one_that_is_right(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(tokens=HASHES)) as served:
        served.client.get(f"/plans/{PLAN.id}", headers={"authorization": f"Bearer {TOKENS['admin']}"})
        text = report(PLAN, 1).to_json().encode()
        for token, status in ((TOKENS["submit"], 202), ("x" * len(TOKENS["submit"]), 401), (TOKENS["read"], 403)):
            answer = said(served, request(text, formats.JSON, PLAN, "", f"Authorization: Bearer {token}"))
            assert answer.split(b"HTTP/1.1 ")[1].startswith(str(status).encode())


def test_heads_with_something_changed_are_read_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is inserted, changed or left out in a head that is known: the answer is the parser's."""
    chance = random.Random(17)
    known = request(TEXT, formats.JSON, PLAN, "", NAMED, "Connection: keep-alive")
    end = known.index(b"\r\n\r\n") + 4
    inserted = [b"\r\n", b"\n", b"\r", b" ", b":", b"0", b"1", b"\0", b"a", b"A", b"\xff", b"Host: y\r\n", b"%41", b"?"]
    inserted += [
        b"\r\nHush-Batch: " + b"0" * 32,
        b"\r\nTransfer-Encoding: chunked",
        b"\r\n\r\n",
        b"\r\nContent-Length: 9",
    ]
    changed = []
    for _ in range(250):
        data = bytearray(known)
        start = chance.randrange(end + 1)
        data[start : start + chance.choice([0, 0, 1, 2, 32])] = chance.choice([*inserted, b""])
        changed.append(bytes(data))
    answers = []
    for off in (False, True):
        folder = tmp_path / str(off)
        folder.mkdir()
        with serving(folder, anybody()) as served, hits(monkeypatch, off=off) as found:
            served.client.get(f"/plans/{PLAN.id}")
            assert said(served, known) != said(served, known)  # new, and not new
            answers.append([everything(served, data) for data in changed])
            said(served, known)
            assert found[-1] is not off
    assert answers[0] == answers[1]
    assert len({answer[:12] for answer in answers[0]}) > 3  # of many kinds


def everything(served: Served, data: bytes) -> bytes:
    """Send bytes and say that there are no more; return all answers, without their dates, and without what depends on
    whether the end came before the answer.
    """
    with socket.create_connection(("127.0.0.1", served.port), 20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
    return re.sub(rb"(date: [^\r]*|connection: close)\r\n", b"", answer)


@pytest.mark.parametrize("cuts", [[1], [50], [-1], [-2], [10, 200]])
def test_known_heads_may_come_in_pieces(open_: Served, cuts: list[int]) -> None:
    ready(open_)
    with socket.create_connection(("127.0.0.1", open_.port), 20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(2000, 2006):
            data = request(report(PLAN, number).to_json().encode())
            pieces = [data] if number % 2 else [data[a:b] for a, b in pairwise([0, *cuts, len(data)])]
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.02)
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            assert f'"id":"{number:032x}"'.encode() in answer


def test_known_heads_within_pipelines_keep_their_order(open_: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that comes while another is being answered waits, whatever is known of it."""
    ready(open_)
    numbers = range(3000, 3030)
    with hits(monkeypatch) as found, socket.create_connection(("127.0.0.1", open_.port), 20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in numbers:
            connection.sendall(request(report(PLAN, number).to_json().encode()))
            time.sleep(0.0005 * (number % 4))
        answer = b""
        while answer.count(b'"id":"') < len(numbers) or not answer.endswith(b"}"):
            answer += connection.recv(65536)
    assert [int(part[:32], 16) for part in answer.decode().split('"id":"')[1:]] == [*numbers]
    assert any(found)


def test_heads_that_are_kept_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "KEPT_HEADS", 5)
    heads = direct.Heads()
    way: Any = SimpleNamespace(plan=PLAN, kind=formats.JSON, scope={"headers": []})
    requests = [request(TEXT, formats.JSON, PLAN, "", f"X: {n}") for n in range(20)]
    for data in requests:
        heads.keep(data, len(TEXT), 0, way)
    assert [heads.find(data) is not None for data in requests] == [False] * 15 + [True] * 5
    long = request(TEXT, formats.JSON, PLAN, "", f"X: {'x' * direct.MAX_HEAD}")
    heads.keep(long, len(TEXT), 0, way)
    assert heads.find(long) is None


def test_heads_that_are_kept_have_no_token() -> None:
    heads = direct.Heads()
    headers = [(b"host", b"x"), (b"authorization", f"Bearer {TOKENS['submit-batch']}".encode()), (b"x", b"y")]
    way: Any = SimpleNamespace(plan=PLAN, kind=formats.JSON, scope={"headers": headers})
    heads.keep(request(TEXT, formats.JSON, PLAN, "", BEARER, "X: y"), len(TEXT), 0, way)
    assert "b'y'" in repr(vars(heads))
    assert TOKENS["submit-batch"] not in repr(vars(heads))
