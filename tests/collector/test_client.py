"""The client on a device: it believes no server, and a report that was made once is counted once."""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http.security import hashed
from hush.collector.submissions import Outcome, Submission
from hush.device.client import Client, Receipt
from hush.device.network import _seconds
from hush.errors import CollectorError
from tests.collector.served import PLAN, RECORD, Served, anybody, packed, report_of, serving
from tests.faking import answer, faking, reset
from tests.test_imports import SOURCE, isolated


def quick(url: str, **options: Any) -> Client:
    """Return a client that soon tries again, but has patience: a busy disk takes seconds for one commit.

    A client that gives up too early sends the report again, and hears truly that it was counted before.
    """
    return Client(url, **({"pause": 0.01, "timeout": 60.0} | options))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


# -- trust


def test_a_plan_is_checked_against_its_id(served: Served) -> None:
    assert quick(served.url).plan(PLAN.id) == PLAN
    assert quick(served.url + "/").plan(PLAN.id) == PLAN
    for id_ in ("", "0" * 63, PLAN.id.upper(), "../" + PLAN.id, PLAN.id + "\n"):
        with pytest.raises(hush.PlanError, match="64 hexadecimal"):
            quick(served.url).plan(id_)


def other_plan() -> bytes:
    return hush.design(PLAN.schema, 8.0, title=PLAN.title).to_json().encode()


def weaker() -> bytes:
    """A plan that says epsilon 1 and spends more."""
    return PLAN.to_json().replace('"epsilon":"1.0"', '"epsilon":"0.5"').encode()


@pytest.mark.parametrize(
    "lie", [other_plan(), weaker(), b"{}", b"", b"[" * 100_000, b"\xff", PLAN.to_json().encode()[:-1]]
)
def test_a_server_that_lies_gets_no_report(lie: bytes) -> None:
    asked = []

    def action(request: BaseHTTPRequestHandler, body: bytes) -> None:
        asked.append(request.command)
        answer(request, 200, lie)

    with faking(action) as url, pytest.raises(hush.PlanError):
        quick(url).answer(PLAN.id, RECORD)
    assert asked == ["GET"]


@pytest.mark.parametrize(
    "receipt",
    [b"{}", b"[]", b"", b'{"id": "x", "new": true, "reports": 1}', b'{"id": "ID", "new": 1, "reports": 1}', b"\xff"],
)
def test_a_receipt_for_something_else_is_none(receipt: bytes) -> None:
    report = report_of(PLAN)
    body = receipt.replace(b"ID", report.id.hex().encode())
    with faking(lambda request, _: answer(request, 202, body)) as url, pytest.raises(CollectorError):
        quick(url).submit(report)


def test_redirects_are_not_followed(served: Served) -> None:
    elsewhere = served.url + served.path()
    for status in (301, 302, 303, 307, 308):
        with (
            faking(lambda request, _, status=status: answer(request, status, b"", location=elsewhere)) as url,  # type: ignore[misc]
            pytest.raises(CollectorError) as refused,
        ):
            quick(url, token="secret").submit(report_of(PLAN))  # noqa: S106
        assert refused.value.status == status


def test_endless_answers_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hush.device.network.MAX_ANSWER", 1000)
    with (
        faking(lambda request, _: answer(request, 200, b"x" * 1001)) as url,
        pytest.raises(CollectorError, match="long"),
    ):
        quick(url).plan(PLAN.id)


def test_an_answer_that_comes_byte_by_byte_is_given_up() -> None:
    """Each byte comes in time; the timeout is for all of them. Without that the server keeps the device for good."""
    sent: list[int] = []

    def drip(request: BaseHTTPRequestHandler, _: bytes) -> None:
        request.send_response(200)
        request.send_header("content-length", "100")
        request.end_headers()
        with suppress(OSError):
            for i in range(100):
                sent.append(i)
                request.wfile.write(b" ")
                time.sleep(0.05)

    with faking(drip) as url, pytest.raises(CollectorError, match="cannot be reached: TimeoutError"):
        quick(url, attempts=1, timeout=0.2).plan(PLAN.id)
    assert len(sent) < 90


@pytest.mark.parametrize("line", [b"X-More: 1\r\n", b"", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_headers_that_drip_are_not_waited_for(line: bytes) -> None:
    """Lines, bytes of one line, or answers that are not the last: each comes in time, and the whole never."""
    sent: list[int] = []

    def drip(request: BaseHTTPRequestHandler, _: bytes) -> None:
        with suppress(OSError):
            if not line.startswith(b"HTTP"):
                request.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"" if line else b"X-Long: "))
            for i in range(100):
                sent.append(i)
                request.wfile.write(line or b"a")
                time.sleep(0.05)

    with faking(drip) as url, pytest.raises(CollectorError, match="cannot be reached"):
        quick(url, attempts=1, timeout=0.2).plan(PLAN.id)
    assert len(sent) < 90


def test_a_bad_record_is_refused_before_anything_is_sent() -> None:
    asked = []
    with faking(lambda request, _: asked.append(request.path)) as url:
        for method in ("answer", "answer_ticket"):
            with pytest.raises(hush.RecordError) as refused:
                getattr(quick(url), method)(PLAN, RECORD | {"age": 777})
            assert "777" not in str(refused.value)
    assert not asked


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org", "file:///etc/passwd", "https://", ""])
def test_addresses(url: str) -> None:
    with pytest.raises(hush.InputError, match="https://"):
        Client(url)


# -- questions before answers


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("tickets", [True, False])
def test_a_person_is_asked_what_is_reported(keeps: bool, tickets: bool, tmp_path: Path) -> None:
    key = {"tickets": True, "ticket_key": bytes(32)} if tickets else {}
    with serving(tmp_path, anybody(**key)) as served:
        ledger = hush.Ledger(tmp_path / "answers", cap=8.0) if keeps else None
        collector = quick(served.url, ledger=ledger)
        asked = collector.questions(PLAN.id, ticket=tickets)
        assert asked is not None
        assert (asked.ticket is not None) is tickets
        assert collector.questions(PLAN.id, ticket=tickets) == collector.questions(PLAN) == asked
        record = {attribute.name: RECORD[attribute.name] for attribute in asked.attributes}
        assert 0 < len(record) < len(RECORD)
        for method in (collector.answer, collector.answer_ticket):  # the second sends the first one's report
            receipt = method(PLAN.id, record)
            assert (receipt.id == asked.id.hex()) is tickets
            if not tickets:
                break
        assert collector.questions(PLAN.id) is None
        assert served.store.tally(PLAN).reports == 1


def test_a_collector_without_tickets_says_so(served: Served) -> None:
    with pytest.raises(CollectorError, match="deals no tickets"):
        quick(served.url).answer_ticket(PLAN, RECORD)
    with pytest.raises(CollectorError, match="deals no tickets"):
        quick(served.url).questions(PLAN, ticket=True)


# -- errors


def test_errors_say_what_the_collector_said(served: Served) -> None:
    served.store.close_plan(PLAN.id)
    with pytest.raises(CollectorError, match="takes no more reports") as refused:
        quick(served.url).submit(report_of(PLAN))
    assert (refused.value.status, refused.value.kind) == (409, "plan-closed")
    with pytest.raises(CollectorError) as refused:
        quick(served.url).plan("0" * 64)
    assert (refused.value.status, refused.value.kind) == (404, "not-found")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"title": 3}', b'"x"', b"[" * 50_000, b"\xff"])
def test_errors_that_are_no_problems(body: bytes) -> None:
    with (
        faking(lambda request, _: answer(request, 418, body)) as url,
        pytest.raises(CollectorError, match="418") as refused,
    ):
        quick(url).submit(report_of(PLAN))
    assert (refused.value.status, refused.value.kind) == (418, "")


def test_what_a_server_says_is_one_printable_line() -> None:
    body = json.dumps({"title": "a\nb\x1b[31m", "type": "urn:x:k\ni", "detail": "d" * 9999}).encode()
    with faking(lambda request, _: answer(request, 400, body)) as url, pytest.raises(CollectorError) as refused:
        quick(url).submit(report_of(PLAN))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 700
    assert refused.value.kind.isprintable()


def test_no_private_value_in_any_message(served: Served) -> None:
    record = RECORD | {"age": 83.25, "os": "other", "shop": "shop 11", "income": 61234.5}
    messages = []
    served.store.close_plan(PLAN.id)
    for url in (served.url, "http://127.0.0.1:9"):
        with pytest.raises(CollectorError) as refused:
            quick(url, attempts=1).answer(PLAN, record)
        messages += [str(refused.value), repr(refused.value)]
    for value in ("83.25", "other", "shop 11", "61234"):
        assert not any(value in message for message in messages)


# -- again and again


def test_it_tries_again_and_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("hush.device.network.time.sleep", slept.append)
    monkeypatch.setattr("hush.device.network.secrets.randbelow", lambda most: most // 2)
    tries: list[bytes] = []

    def busy(request: BaseHTTPRequestHandler, body: bytes) -> None:
        tries.append(body)
        answer(request, 503, b"", retry_after="7" if len(tries) == 2 else "soon")

    report = report_of(PLAN)
    with faking(busy) as url, pytest.raises(CollectorError, match="503"):
        Client(url, attempts=5, pause=0.5).submit(report)
    assert tries == [report.encode()] * 5
    assert slept == [0.5, 7.0, 2.0, 4.0]  # twice as long each time, or as long as it was told


@pytest.mark.parametrize(
    ("text", "seconds"), [(None, 0), ("5", 5), ("999", 60), ("²", 0), ("-1", 0), ("1e9", 0), ("9" * 30, 0)]
)
def test_how_long_to_wait(text: str | None, seconds: float) -> None:
    assert _seconds(text) == seconds


def test_what_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        with pytest.raises(CollectorError, match="ConnectionRefusedError") as refused:
            quick(f"http://127.0.0.1:{closed.getsockname()[1]}", attempts=2).submit(report_of(PLAN))
    assert refused.value.status is None
    with faking(hang) as url, pytest.raises(CollectorError, match="TimeoutError"):
        quick(url, attempts=2, timeout=0.1).submit(report_of(PLAN))


def hang(request: BaseHTTPRequestHandler, _: bytes = b"") -> None:
    """Answer nothing until the client has gone."""
    request.connection.recv(1)
    request.close_connection = True


def forwarded(served: Served, request: BaseHTTPRequestHandler, body: bytes) -> httpx.Response:
    return served.client.request(
        request.command, request.path, content=body, headers={"content-type": request.headers.get("content-type", "")}
    )


@pytest.mark.parametrize("commit", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", ["reset", "503", "slow", "half", "garbage"])
def test_a_flaky_network_counts_once(served: Served, commit: bool, way: str) -> None:
    """The network fails twice, before the collector has counted or after it, in every way that it knows."""
    tries: list[bytes] = []

    def action(request: BaseHTTPRequestHandler, body: bytes) -> None:
        tries.append(body)
        if len(tries) == 2:
            device._server.timeout = 60.0  # for the next try, which is answered, however busy this machine is
        if len(tries) > 2:
            found = forwarded(served, request, body)
            return answer(request, found.status_code, found.content)
        if commit:
            assert forwarded(served, request, body).status_code == 202
        if way == "reset":
            reset(request)
        elif way == "503":
            answer(request, 503, b"")
        elif way == "slow":
            hang(request)
        elif way == "half":
            request.send_response(202)
            request.send_header("content-length", "500")
            request.end_headers()
            request.wfile.write(b'{"id"')
            request.close_connection = True
        else:
            request.wfile.write(b"!!!\r\n\r\n")
            request.close_connection = True
        return None

    report = report_of(PLAN)
    with faking(action) as url:
        device = quick(url, timeout=0.25 if way == "slow" else 60.0)
        receipt = device.submit(report)
    assert receipt == Receipt(report.id.hex(), new=not commit)
    assert len(tries) == 3
    assert set(tries) == {report.encode()}
    wanted = hush.Tally(PLAN)
    wanted.add(report)
    assert served.tally(PLAN) == wanted


DEVICE = """
import hush, sys
from hush.device.client import Client
collector = Client(sys.argv[1], ledger=hush.Ledger(sys.argv[2], cap=1.0), attempts=1)
try:
    print(collector.answer(sys.argv[3], {"age": 41, "os": "mac", "shop": "shop 3", "income": None}).new)
except hush.HushError as error:
    print(type(error).__name__, error.kind if isinstance(error, hush.NetworkError) else error)
"""


def test_a_device_that_starts_again_sends_the_same_report(served: Served, tmp_path: Path) -> None:
    """The collector counts, the answer is lost, and the program ends: the next run sends the same report."""
    sent: list[bytes] = []

    def lossy(request: BaseHTTPRequestHandler, body: bytes) -> None:
        found = forwarded(served, request, body)
        if request.command == "POST":
            sent.append(body)
            return reset(request)
        return answer(request, found.status_code, found.content)

    def device(url: str) -> str:
        program = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{DEVICE}"
        command = [sys.executable, "-I", "-S", "-c", program, url, str(tmp_path / "ledger.db"), PLAN.id]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    with faking(lossy) as url:
        assert device(url) == device(url) == "CollectorError"
    assert device(served.url) == "False"  # counted by the first run
    assert sent[0] == sent[1]
    assert served.tally(PLAN).reports == 1


def test_a_ledger_bounds_what_is_answered(served: Served, tmp_path: Path) -> None:
    collector = quick(served.url, ledger=hush.Ledger(tmp_path / "ledger.db", cap=0.5))
    with pytest.raises(hush.BudgetError):
        collector.answer(PLAN.id, RECORD)
    assert served.tally(PLAN).reports == 0


def test_a_plan_of_another_schema_is_refused_before_the_record_is_read(served: Served) -> None:
    """Whatever the record is, so that it tells nothing: a server cannot find a number by moving its bounds."""
    collector = quick(served.url)
    other = hush.Schema([hush.Numeric("age", 0, 41)])
    for method in (collector.answer, collector.answer_ticket):
        for record in (RECORD, {"age": 41}, {"age": 42}, {}):
            with pytest.raises(hush.PlanError, match="another schema"):
                method(PLAN.id, record, schema=other)
    assert served.tally(PLAN).reports == 0
    assert collector.answer(PLAN.id, RECORD, schema=PLAN.schema).new


def test_a_series_answers_from_memory(tmp_path: Path) -> None:
    """Three weeks of one state are three reports with one answer, and cost its epsilon once."""
    weeks = [dataclasses.replace(PLAN, title=f"week {week}") for week in range(3)]
    with serving(tmp_path, plans=weeks) as served:
        ledger = hush.Ledger(tmp_path / "ledger.db", cap=1.0)
        series, collector = hush.Series(ledger, "weekly"), quick(served.url, ledger=ledger)
        receipts = [collector.answer(plan.id, RECORD, series=series) for plan in weeks]
        assert all(receipt.new for receipt in receipts)
        assert collector.answer(weeks[0], RECORD, series=series) == Receipt(receipts[0].id, new=False)
        assert [served.tally(plan).reports for plan in weeks] == [1, 1, 1]
        assert len({ledger.report(plan).answers for plan in weeks}) == 1  # type: ignore[union-attr]
        assert ledger.spent == PLAN.cost
        elsewhere = hush.Series(hush.Ledger(tmp_path / "other.db", cap=1.0), "weekly")
        with pytest.raises(hush.LedgerError, match="own ledger"):
            collector.answer(weeks[1], RECORD, series=elsewhere)
        assert quick(served.url).answer(weeks[1], RECORD, series=elsewhere).new  # no ledger but that of the series


def test_tickets_and_the_ledger(tmp_path: Path) -> None:
    """A report under a ticket is kept with it: asked again, the device sends both again, and spends nothing more."""
    with serving(tmp_path, anybody(tickets=True, ticket_key=b"k" * 32)) as served:
        for _ in range(3):
            assert quick(served.url).answer_ticket(PLAN, RECORD, fresh=True).new
        with pytest.raises(CollectorError) as refused:
            quick(served.url).answer(PLAN, RECORD)
        assert refused.value.kind == "bad-request"
        ledger = hush.Ledger(tmp_path / "ledger.db", cap=1.0)
        first = quick(served.url, ledger=ledger).answer_ticket(PLAN.id, RECORD)
        again = quick(served.url, ledger=hush.Ledger(tmp_path / "ledger.db", cap=1.0)).answer_ticket(PLAN.id, RECORD)
        assert first.new
        assert again == Receipt(first.id, new=False)
        assert ledger.spent == 1
        assert served.tally(PLAN).reports == 4
        with pytest.raises(hush.BudgetError):
            quick(served.url, ledger=hush.Ledger(tmp_path / "low.db", cap=0.5)).answer_ticket(PLAN, RECORD)


@pytest.mark.parametrize("ticket", [{}, [], {"id": "x", "questions": [], "signature": "y"}, {"id": 3}, None])
def test_tickets_that_are_none(ticket: object) -> None:
    body = json.dumps(ticket).encode()
    with faking(lambda request, _: answer(request, 200, body)) as url, pytest.raises(CollectorError):
        quick(url).answer_ticket(PLAN, RECORD)


def test_batches_and_tokens(tmp_path: Path) -> None:
    settings = anybody(tokens={"submit": frozenset([hashed("let me in")])})
    with serving(tmp_path, settings) as served:
        body = packed(PLAN, 20, b"0123456789abcdef")
        with pytest.raises(CollectorError) as refused:
            quick(served.url).submit_batch(PLAN, body, b"0123456789abcdef", formats.COLUMNS)
        assert refused.value.status == 401
        collector = quick(served.url, token="let me in")  # noqa: S106
        for new in (True, False):
            assert collector.submit_batch(PLAN, body, b"0123456789abcdef", formats.COLUMNS).new is new


def test_an_answer_that_comes_too_late_is_no_second_report(tmp_path: Path) -> None:
    """A disk that is slow makes the client try again. It is counted once, and the receipt is that of the second try."""
    tries, go = [], threading.Event()
    with serving(tmp_path) as served:
        commit, device = served.store.commit, quick(served.url, timeout=0.25)

        def slow(submissions: Sequence[Submission]) -> list[Outcome]:
            tries.append(len(submissions))
            if len(tries) == 1:
                device._server.timeout = 60.0  # for the next try
                assert go.wait(60)
            return commit(submissions)

        served.store.commit = slow  # type: ignore[method-assign]
        report = report_of(PLAN)
        with ThreadPoolExecutor(1) as thread:
            receipt = thread.submit(device.submit, report)
            while not tries or served.waiting() == 0:  # the first is being committed, and the second waits behind it
                time.sleep(0.01)
            go.set()
            assert receipt.result() == Receipt(report.id.hex(), new=False)
        assert tries == [1, 1]
        assert served.tally(PLAN).reports == 1


# -- what it needs


def test_the_standard_library_is_enough() -> None:
    loaded = isolated("import hush.device.randomise; hush.Client; print(*sys.modules)").split()
    assert "hush.device.client" in loaded
    assert not {"hush.server.tally", "hush.server.estimates", "numpy", "hush.collector"} & set(loaded)


def test_most_devices_do_not_load_it() -> None:
    loaded = isolated("import hush; hush.randomise, hush.Ledger; print(*sys.modules)").split()
    assert not {"hush.device.client", "urllib.request", "http.client"} & set(loaded)
