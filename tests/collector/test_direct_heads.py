"""Heads of requests that were taken before: known ones change no answer, and others are read afresh."""

from __future__ import annotations

import random
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hush.collector import formats
from hush.collector.http import direct
from tests.collector.bare import BATCHES, ID, NAMED, SETTINGS, TEXT, ready, report, request, said, until
from tests.collector.served import HASHES, PLAN, TOKENS, Served, anybody, serving

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
            collector = served.server.app.state.collector
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
            until(lambda: served.server.bounds.held == 0)
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
