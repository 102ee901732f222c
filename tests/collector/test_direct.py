"""The short way of reports: the same answers, bytes and counts as the long one, and nothing held behind."""

from __future__ import annotations

import json
import random
import re
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.collector import formats
from hush.collector.http import direct
from hush.collector.http.protocol import Protocol
from tests.collector.bare import BATCHES, NAMED, SETTINGS, TEXT, ready, report, request, said, until
from tests.collector.served import ALL, FEW, HASHES, PLAN, TOKENS, WIDE, Served, anybody, serving

POST = f"POST /plans/{PLAN.id}/reports"
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
            until(lambda: served.server.bounds.held == 0)
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


def test_many_refusals_in_a_row_do_not_use_up_the_stack(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait behind a report, and each is refused as soon as its turn comes: not within the one before it."""
    ready(quick)
    depths, real = [], Protocol.write

    def write(self: Protocol, data: bytes) -> None:
        depths.append(sum(1 for _ in traceback.walk_stack(None)))
        real(self, data)

    monkeypatch.setattr(Protocol, "write", write)
    found = quick.raw(request(TEXT) + request(b"{") * 50 + request(b"{", formats.JSON, PLAN, "", "Connection: close"))
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"202"] + [b"422"] * 51
    assert max(depths) < min(depths) + 20


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
