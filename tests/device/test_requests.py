"""Requests of a device, without a network: what is asked, when it is tried again, and what is read of an answer."""

from __future__ import annotations

import http.client
import io
import json
import math
import urllib.error
import urllib.request
from email.message import Message
from typing import Any

import pytest

from hush.device import network
from hush.device.network import OCTETS, REPORT, SEALED, Server, _Clocked, _plain, _seconds
from hush.errors import CollectorError, InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *((None, 0), ("", 0), ("0", 0), ("5", 5), ("59", 59), ("61", 60), ("999", 60), ("9" * 9, 60)),
        *(("²", 0), ("-1", 0), ("1e9", 0), ("9" * 10, 0), ("9" * 30, 0), ("1.5", 0)),
    ],
)
def test_how_long_to_wait(text: str | None, seconds: float) -> None:
    assert _seconds(text) == seconds


class Response(io.BytesIO):
    """An answer, and how much of it was announced and is still to come."""

    def __init__(self, data: bytes, length: int | None = 0) -> None:
        super().__init__(data)
        self.length, self.most = length, list[int]()

    def read(self, most: int | None = None) -> bytes:
        self.most.append(most or -1)
        return super().read(most)


class Opener:
    """Opens requests, and answers them in order: errors are raised."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers, self.asked = list(answers), list[tuple[urllib.request.Request, float]]()

    def open(self, request: urllib.request.Request, timeout: float) -> Response:
        self.asked.append((request, timeout))
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def opened(
    monkeypatch: pytest.MonkeyPatch, *answers: Response | Exception, attempts: int = 1, token: str | None = None
) -> tuple[Server, Opener, list[float]]:
    """A server whose requests are answered so, and how long it pauses."""
    opener, slept = Opener(*answers), list[float]()
    monkeypatch.setattr("hush.device.network._opener", opener)
    monkeypatch.setattr("hush.device.network.time.sleep", slept.append)
    return Server("relay", "https://there/hush//", token, 7.0, attempts, 1.0), opener, slept


def refused_by(status: int, body: bytes = b"", **headers: str) -> urllib.error.HTTPError:
    head = Message()
    for name, value in headers.items():
        head[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://there", status, "no", head, io.BytesIO(body))


def test_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    server, opener, _ = opened(monkeypatch, *(Response(b"yes") for _ in range(4)), token="secret")  # noqa: S106
    assert server.get("/plans/1") == b"yes"
    assert server.get("/lists/1", 3, 600.0) == b"yes"
    assert server.send("/reports", b"body", "a/b") == b"yes"
    assert server.send("/reports", b"body", "a/b", {"Hush-Ticket": "t"}) == b"yes"
    found = [
        (asked.full_url, asked.get_method(), asked.data, dict(asked.header_items()), timeout)
        for asked, timeout in opener.asked
    ]
    head = {"Accept": "application/json", "Authorization": "Bearer secret"}
    sent = head | {"Content-type": "a/b"}
    assert found == [
        ("https://there/hush/plans/1", "GET", None, head, 7.0),
        ("https://there/hush/lists/1", "GET", None, head, 600.0),
        ("https://there/hush/reports", "POST", b"body", sent, 7.0),
        ("https://there/hush/reports", "POST", b"body", sent | {"Hush-ticket": "t"}, 7.0),
    ]
    plain, opener, _ = opened(monkeypatch, Response(b""))
    plain.get("/")
    assert dict(opener.asked[0][0].header_items()) == {"Accept": "application/json"}
    assert (OCTETS, REPORT, SEALED) == (
        "application/octet-stream",
        "application/vnd.hush.report",
        "application/vnd.hush.sealed",
    )


def test_how_long_an_answer_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, whole, long = Response(b"x"), Response(b"x" * 100), Response(b"x" * 101, 5)
    server, _, _ = opened(monkeypatch, usual, whole, long)
    server.get("/")
    assert usual.most == [16 * 1024 * 1024 + 1]
    assert server.get("/", 100) == b"x" * 100
    assert whole.most == [101]
    with pytest.raises(CollectorError, match="the relay's answer is too long"):
        server.get("/", 100)


def test_an_answer_that_ends_early_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for left, found in ((1, b"abc"), (0, b"ab"), (None, b"ab")):
        for most in (3, None):
            server, opener, slept = opened(monkeypatch, Response(b"ab", left), Response(b"abc"), attempts=2)
            assert server.get("/", most) == found
            assert len(opener.asked) == len(slept) + 1 == len(found) - 1
    server, _, _ = opened(monkeypatch, Response(b"ab", 1))
    with pytest.raises(CollectorError, match="cannot be reached: IncompleteRead"):
        server.get("/", 2)  # as long as it may be, and more was announced


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    server, opener, slept = opened(monkeypatch, refused_by(status, Retry_After="3"), Response(b"yes"), attempts=2)
    assert server.get("/") == b"yes"
    assert len(opener.asked) == 2
    assert slept == [3.0]


@pytest.mark.parametrize("status", [400, 404, 407, 409, 424, 426, 428, 430, 499, 501, 505])
def test_what_is_refused_for_good_is_not(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    server, opener, slept = opened(monkeypatch, refused_by(status), attempts=3)
    with pytest.raises(CollectorError, match=f"^the relay answered {status}$") as refused:
        server.get("/")
    assert refused.value.status == status
    assert len(opener.asked) == 1
    assert slept == []


@pytest.mark.parametrize(("draw", "factor"), [(0, 0.5), ((1 << 20) - 1, 1.5 - 2**-20)])
def test_pauses_are_spread(monkeypatch: pytest.MonkeyPatch, draw: int, factor: float) -> None:
    """So that devices which failed together do not come back together."""
    asked: list[int] = []

    def randbelow(most: int) -> int:
        asked.append(most)
        return draw

    monkeypatch.setattr("hush.device.network.secrets.randbelow", randbelow)
    server, _, slept = opened(monkeypatch, *(TimeoutError() for _ in range(4)), attempts=4)
    with pytest.raises(CollectorError, match=r"^the relay cannot be reached: TimeoutError$"):
        server.get("/")
    assert slept == [factor, 2 * factor, 4 * factor]
    assert set(asked) == {1 << 20}


def test_at_least_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    server, _, _ = opened(monkeypatch, Response(b"yes"), attempts=0)
    assert server.get("/") == b"yes"


def test_the_reason_is_that_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, name in (
        (urllib.error.URLError(ConnectionResetError()), "ConnectionResetError"),
        (http.client.BadStatusLine("x"), "BadStatusLine"),
    ):
        server, _, _ = opened(monkeypatch, error)
        with pytest.raises(CollectorError, match=f": {name}$"):
            server.get("/")


def test_a_refusal_is_read_as_far_as_it_may_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"title": "No.", "type": "urn:hush:problem:closed", "detail": "Why not?", "more": ""}
    for length, words, kind in ((65_536, "No.: Why not?", "closed"), (65_537, "the relay answered 410", "")):
        said["more"] = ""
        said["more"] = "x" * (length - len(json.dumps(said)))
        server, _, _ = opened(monkeypatch, refused_by(410, json.dumps(said).encode()))
        with pytest.raises(CollectorError) as refused:
            server.get("/")
        assert (str(refused.value), refused.value.status, refused.value.kind) == (words, 410, kind)
    server, _, _ = opened(monkeypatch, refused_by(410, b'{"title": "No.", "type": "gone"}'))
    with pytest.raises(CollectorError, match=r"^No\.$") as refused:
        server.get("/")
    assert refused.value.kind == "gone"


def test_a_line_of_a_server_is_short() -> None:
    assert _plain("a\tb\u2028" + "c" * 400) == "a b " + "c" * 296
    assert _plain(3) == "3"


class Socket:
    """A socket with a timeout, whose bytes are there at once."""

    def __init__(self, timeout: float | None, data: bytes = b"abcdef") -> None:
        self.timeout, self.set, self.data = timeout, list[float](), data

    def gettimeout(self) -> float | None:
        return self.timeout

    def settimeout(self, seconds: float) -> None:
        self.set.append(seconds)

    def makefile(self, mode: str, buffering: int) -> Any:
        assert (mode, buffering) == ("rb", 0)
        return io.BytesIO(self.data)


def test_a_socket_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("hush.device.network.time.monotonic", lambda: now[0])
    received, buffer = Socket(5.0), bytearray(2)
    clocked = _Clocked(received)  # type: ignore[arg-type]
    for now[0] in (100.0, 103.0, 104.5):
        assert clocked.readinto(buffer) == 2
    assert received.set == [5.0, 2.0, 0.5]
    assert bytes(buffer) == b"ef"
    for now[0] in (105.0, 106.0):
        with pytest.raises(TimeoutError):
            clocked.readinto(buffer)
    assert clocked.readable()
    clocked.close()
    assert clocked.closed
    assert clocked._file.closed
    endless = Socket(None)
    assert _Clocked(endless).readinto(buffer) == 2  # type: ignore[arg-type]
    assert endless.set == []
    assert math.isinf(_Clocked(endless)._end)  # type: ignore[arg-type]


def test_answers_are_read_by_that_deadline() -> None:
    received = Socket(5.0, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nyes")
    response = network._Response(received)  # type: ignore[arg-type]
    response.begin()
    assert response.read() == b"ye"
    assert 4 < received.set[0] <= 5


@pytest.mark.parametrize(
    ("handler", "way", "connection"),
    [("_Handler", "http_open", "_Connection"), ("_SecureHandler", "https_open", "_SecureConnection")],
)
def test_connections_of_both_kinds_have_it(
    monkeypatch: pytest.MonkeyPatch, handler: str, way: str, connection: str
) -> None:
    kind = getattr(network, handler)
    monkeypatch.setattr(kind, "do_open", lambda _, *given: given)
    assert getattr(kind(), way)("request") == (getattr(network, connection), "request")
    assert getattr(network, connection).response_class is network._Response


def test_an_address_has_a_scheme_and_a_host() -> None:
    for url in ("http://there", "https://there:99/hush/"):
        Server("relay", url, None, 1.0, 1, 1.0)
    for url in ("there", "ftp://there", "https://", "http:there", "httpss://there"):
        with pytest.raises(InputError, match=r"^the address of a relay begins with https://"):
            Server("relay", url, None, 1.0, 1, 1.0)
