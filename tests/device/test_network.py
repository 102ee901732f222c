"""Requests of a device: it believes no server, tries again, and gives up in the end."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

import pytest

import hush
from hush.device.client import Client
from hush.device.receipts import Receipt
from hush.errors import CollectorError
from tests.collector.served import PLAN, Served, report_of
from tests.device.clients import forwarded, hang, quick
from tests.faking import answer, faking, reset


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org", "file:///etc/passwd", "https://", ""])
def test_addresses(url: str) -> None:
    with pytest.raises(hush.InputError, match="https://"):
        Client(url)


def test_a_token_goes_to_another_machine_by_https_only() -> None:
    """A name that only begins like this machine's is another machine."""
    for url in (
        "http://127.0.0.1:1",
        "http://127.1.2.3",
        "http://[::1]:80/hush",
        "http://localhost",
        "https://a.example",
    ):
        assert Client(url, token="secret") is not None  # noqa: S106
    for url in (
        "http://a.example",
        "http://10.0.0.1",
        "http://127.0.0.1.example",
        "http://localhost.example",
        "http://[::2]",
    ):
        with pytest.raises(hush.InputError, match="by https:// only"):
            Client(url, token="secret")  # noqa: S106
        assert Client(url) is not None
        assert Client(url, relay="http://127.0.0.1:1", key="07" * 32) is not None


def test_this_machine_is_asked_through_no_proxy(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token would go to the proxy that the environment names; here nobody listens there."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert quick(served.url, token="secret").plan(PLAN.id) == PLAN  # noqa: S106


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


def test_what_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        with pytest.raises(CollectorError, match="ConnectionRefusedError") as refused:
            quick(f"http://127.0.0.1:{closed.getsockname()[1]}", attempts=2).submit(report_of(PLAN))
    assert refused.value.status is None
    with faking(hang) as url, pytest.raises(CollectorError, match="TimeoutError"):
        quick(url, attempts=2, timeout=0.1).submit(report_of(PLAN))


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


def test_requests_to_this_machine_go_through_no_proxy(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment may name one: it is on another machine, and would read a token."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert quick(served.url).submit(report_of(PLAN)).new
