"""What a collector bounds: bodies, headers, how long they take, and how often somebody may ask."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hush.collector import formats
from hush.collector.http import protocol, security
from hush.collector.http.forwarded import Proxies
from hush.collector.http.problems import KINDS, Refused
from hush.collector.http.security import RateLimit
from hush.collector.serve import listen
from hush.errors import InputError
from tests.collector.served import (
    FEW,
    HASHES,
    PLAN,
    Served,
    anybody,
    packed,
    problem,
    report_of,
    serving,
)


def head(path: str, *lines: str) -> bytes:
    text = "".join(
        f"{line}\r\n" for line in (f"POST {path} HTTP/1.1", "Host: x", f"Content-Type: {formats.JSON}", *lines)
    )
    return text.encode("latin-1") + b"\r\n"


def answered(data: bytes, kind: str) -> None:
    """Check that raw bytes from a socket are one problem."""
    top, _, body = data.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 %d " % KINDS[kind][0]), data[:200]
    assert b"content-type: application/problem+json" in top
    assert json.loads(body)["type"] == f"urn:hush:problem:{kind}"


def test_bodies_are_bounded(open_: Served) -> None:
    many = open_.post(PLAN, bytes(1 << 18) + b"x", formats.COLUMNS)
    problem(many, "too-large")
    problem(open_.post(PLAN, b" " * 70_000, formats.JSON), "too-large")

    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 10_000

    chunked = open_.client.post(open_.path("reports"), content=chunks(), headers={"content-type": formats.JSON})
    problem(chunked, "too-large")


def test_bodies_without_end_and_absurd_lengths(open_: Served) -> None:
    path = open_.path("reports")
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    answered(open_.raw(head(path, "Transfer-Encoding: chunked"), *[piece] * 40), "too-large")  # it never ends
    answered(open_.raw(head(path, "Content-Length: 999999999999999999")), "too-large")
    answered(open_.raw(head(path, "Content-Length: 900000", "Expect: 100-continue")), "too-large")  # before it is sent
    for length in ("9" * 50, "-1", "1x", "²", "1, 2"):
        answered(open_.raw(head(path, f"Content-Length: {length}")), "bad-request")


def early(served: Served, pieces: int, *lines: str) -> bytes:
    """Send a request that is refused by its token, and its body only when the answer is there; return the answer."""
    with socket.create_connection(("127.0.0.1", served.port), 60) as connection:
        connection.sendall(head(served.path("reports"), f"Content-Length: {pieces << 10}", *lines))
        select.select([connection], [], [], 60)
        for _ in range(pieces):
            connection.sendall(bytes(1 << 10))
        return connection.recv(1 << 16)


def test_a_refusal_is_heard_before_the_body_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that wants the connection closed hears why, and no broken pipe; but not for as long as it likes."""
    with serving(tmp_path, anybody(tokens=HASHES)) as served:
        for lines in ((), ("Connection: close",)):
            for pieces in (1, 500):
                answered(early(served, pieces, *lines), "no-token")
        for bound, value in (("LINGER_BYTES", 1 << 14), ("LINGER_SECONDS", 0.01)):
            monkeypatch.setattr(protocol, bound, value)
            try:
                with socket.create_connection(("127.0.0.1", served.port), 60) as connection:
                    connection.sendall(head(served.path("reports"), "Content-Length: 99999999", "Connection: close"))
                    if bound == "LINGER_BYTES":
                        connection.sendall(bytes(1 << 20))
                    while connection.recv(1 << 16):  # until the collector closes
                        pass
            except ConnectionResetError:
                pass


def test_slow_bodies_are_given_up(open_: Served) -> None:
    start = time.monotonic()
    answered(open_.raw(head(open_.path("reports"), "Content-Length: 100"), b"slow"), "too-slow")
    assert 0.8 < time.monotonic() - start < 8


def test_headers_are_bounded(open_: Served) -> None:
    answered(open_.raw(head("/plans", "X-Long: " + "x" * 20_000)), "headers-too-large")
    answered(open_.raw(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"), "headers-too-large")
    answered(open_.raw(head("/plans", *(f"X-{number}: y" for number in range(3000)))), "headers-too-large")
    answered(open_.raw(b"GET / HTTP/1.1\r\nX: ", *[b"x" * 10_000] * 9), "headers-too-large")  # never ends
    answered(open_.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000), "headers-too-large")  # in one piece
    answered(open_.raw(b"this is not HTTP\r\n\r\n"), "bad-request")
    answered(open_.raw(b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n"), "bad-request")
    data = open_.raw(head("/healthz", "X: \xff\xfe", "Content-Length: 0", "Connection: close"))
    answered(data, "bad-method")


def test_headers_must_arrive(open_: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    start = time.monotonic()
    assert open_.raw(b"GET /healthz HTTP/1.1\r\nX: ") == b""
    assert open_.raw() == b""
    assert time.monotonic() - start < 5


def test_requests_on_one_connection(open_: Served) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert open_.raw(one, one, last).count(b"HTTP/1.1 200 OK") == 3
    assert open_.raw(one + one + last).count(b"HTTP/1.1 200 OK") == 3
    large = (
        head(open_.path("reports"), "Content-Length: 60000") + b" " * 60_000
    )  # then the next begins in the same piece
    found = open_.raw(large + last[:20], last[20:])
    assert found.startswith(b"HTTP/1.1 422 ")
    assert found.count(b"HTTP/1.1 200 OK") == 1
    upgrade = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    assert b" 200 OK" in open_.raw(upgrade)


def test_the_rate_limit_by_a_clock() -> None:
    now = [0.0]
    limit = RateLimit(0.5, 3, lambda: now[0])
    for _ in range(3):
        limit.check("192.0.2.1")
    with pytest.raises(Refused) as refused:
        limit.check("192.0.2.1")
    assert refused.value.headers == {"Retry-After": "2"}
    limit.check("192.0.2.2")  # another one is not meant
    now[0] += 1.9
    with pytest.raises(Refused) as refused:
        limit.check("192.0.2.1")
    assert refused.value.headers == {"Retry-After": "1"}
    now[0] += 1  # who comes back when told is let in
    limit.check("192.0.2.1")
    now[0] += 1000
    for _ in range(3):
        limit.check("192.0.2.1")
    with pytest.raises(Refused):
        limit.check("192.0.2.1")


def test_the_rate_limit_is_by_household_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = RateLimit(1, 1, lambda: 0.0)
    limit.check("2001:db8:1:2::3")
    with pytest.raises(Refused):
        limit.check("2001:db8:1:2:ffff::4")
    limit.check("2001:db8:1:3::3")
    limit.check("192.0.2.1")
    with pytest.raises(Refused):
        limit.check("::ffff:192.0.2.1")
    monkeypatch.setattr(security, "MAX_ADDRESSES", 10)
    for number in range(100):
        limit.check(f"198.51.100.{number}")
    assert len(limit._buckets) == 10
    for number in range(20):  # a proxy hands on whatever a client wrote
        limit.check(f"{number} " + "x" * 16_000)
    assert max(map(len, limit._buckets)) <= security.LONGEST
    off = RateLimit(0, 1)
    for _ in range(100):
        off.check("x")


def test_a_batch_takes_as_many_as_it_has() -> None:
    now = [0.0]
    limit = RateLimit(2.0, 10, lambda: now[0])

    def wait_of(act: Callable[[], None]) -> int:
        with pytest.raises(Refused) as refused:
            act()
        return int(refused.value.headers["Retry-After"])

    limit.check("a")
    limit.charge("a", 4)  # 6 are left
    limit.check("a")
    limit.check("a")  # two requests were on their way together
    limit.charge("a", 105)  # of which one is larger than the bucket
    assert wait_of(lambda: limit.charge("a", 105)) == 51, "and the other finds the debt of 100"
    assert wait_of(lambda: limit.check("a")) == 51
    limit.check("b")  # nobody else pays
    now[0] += 50.0
    assert wait_of(lambda: limit.check("a")) == 1
    now[0] += 0.5
    limit.check("a")
    limit.give_back("a", 105)  # it was not counted after all
    limit.give_back("a", 105)
    for _ in range(10):  # and no bucket has more than its size
        limit.check("a")
    wait_of(lambda: limit.check("a"))


def test_the_rate_counts_reports(tmp_path: Path) -> None:
    """Without that one request moves a mean as far as a million: `--rate` would bound requests alone."""
    body = packed(FEW, 60, b"1" * 16)
    with serving(tmp_path, anybody(rate=0.01, burst=10)) as served:
        problem(served.post(FEW, b"no batch", formats.COLUMNS), "bad-report")
        assert served.post(FEW, body, formats.COLUMNS).status_code == 202  # 8 were left: into debt, by 51 in all
        refused = served.post(FEW, packed(FEW, 2, b"2" * 16), formats.COLUMNS)
        problem(refused, "too-many")
        assert 5000 <= int(refused.headers["retry-after"]) <= 5300
        problem(served.client.get("/plans"), "too-many")
        assert served.store.tally(FEW).reports == 60
    with serving(tmp_path, anybody(rate=0.01, burst=10)) as served:  # a batch that was counted before costs one
        for _ in range(5):
            assert served.post(FEW, body, formats.COLUMNS).json()["new"] is False
        assert served.post(FEW, report_of(FEW).encode(), formats.REPORT).status_code == 202


def test_the_rate_limit_and_proxies(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(rate=0.1, burst=3), forwarded="127.0.0.1") as served:
        for address in ("198.51.100.1", "198.51.100.2"):
            head = {"x-forwarded-for": address}
            codes = [served.client.get("/healthz", headers=head).status_code for _ in range(5)]
            assert codes == [200, 200, 200, 429, 429]
        refused = served.client.get("/healthz", headers=head)
        problem(refused, "too-many")
        assert 1 <= int(refused.headers["retry-after"]) <= 10


@pytest.mark.parametrize("way", ["one list", "a line for each", "through two proxies"])
def test_a_client_cannot_choose_the_address_that_counts(tmp_path: Path, way: str) -> None:
    """A proxy adds the address that it sees behind whatever the client has written: that one counts, and no other."""
    with serving(tmp_path, anybody(rate=0.001, burst=2), forwarded="127.0.0.1,10.0.0.7") as served:

        def asked(forged: str) -> int:
            texts = [forged, "203.0.113.7"]
            if way == "a line for each":
                return served.client.get("/healthz", headers=[("x-forwarded-for", text) for text in texts]).status_code
            texts += ["10.0.0.7"] if way == "through two proxies" else []
            return served.client.get("/healthz", headers={"x-forwarded-for": ", ".join(texts)}).status_code

        assert [asked(f"198.51.100.{i}") for i in range(4)] == [200, 200, 429, 429]


def test_everybody_is_no_proxy() -> None:
    """With `*` the first address of the header counted, which is the client's own text."""
    for listed in ("", "127.0.0.1", "127.0.0.1, ::1", "172.30.77.0/24,2001:db8::/32"):
        Proxies(listed)
    for listed in (
        "*",
        "127.0.0.1, *",
        "0.0.0.0/0",
        "::/0",
        "0.0.0.0/1,::1,128.0.0.0/1",
        "::ffff:0:0/96",
        "8000::/1,::/1",
    ):
        with pytest.raises(InputError, match="stands for everybody"):
            Proxies(listed)
    for listed in ("proxy", "127.0.0.1/8", "1.2.3", "unix:"):
        with pytest.raises(InputError, match="is no address and no network"):
            Proxies(listed)


@pytest.mark.parametrize("forwarded", ["127.0.0.1", "192.0.2.1, 127.0.0.0/8"])
def test_a_proxy_of_ipv4_is_known_on_a_socket_of_ipv6(tmp_path: Path, forwarded: str) -> None:
    """There it is ::ffff:127.0.0.1."""
    try:
        listen("::", 0).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(tmp_path, anybody(rate=0.1, burst=2), forwarded=forwarded, host="::") as served:
        for address in ("198.51.100.1", "198.51.100.2"):
            head = {"x-forwarded-for": address}
            assert [served.client.get("/healthz", headers=head).status_code for _ in range(3)] == [200, 200, 429]
    listed = Proxies(" ::1,10.0.0.0/8 ,192.0.2.1,")
    trusted = ["::1", "10.1.2.3", "::ffff:10.1.2.3", "192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"]
    assert all(map(listed.trusts, trusted))
    assert not any(map(listed.trusts, ["::2", "11.1.2.3", "::ffff:192.0.2.2", "", "unix", "10.0.0.0/8"]))
    listed = Proxies("::ffff:192.0.2.1, ::ffff:10.0.0.0/104")  # as the log of such a socket has it
    assert all(map(listed.trusts, ["192.0.2.1", "::ffff:192.0.2.1", "10.1.2.3", "::ffff:10.1.2.3"]))
    assert not any(map(listed.trusts, ["192.0.2.2", "::ffff:192.0.2.2", "11.1.2.3"]))
    assert (bool(Proxies("::1")), bool(Proxies("")), bool(Proxies(" ,"))) == (True, False, False)


def test_forwarded_addresses_are_not_believed_unless_asked(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(rate=0.1, burst=2)) as served:
        codes = [
            served.client.get("/healthz", headers={"x-forwarded-for": f"198.51.100.{i}"}).status_code for i in range(4)
        ]
        assert codes == [200, 200, 429, 429]


def test_what_is_not_there_counts_too(tmp_path: Path) -> None:
    for path, method in (("/nothing", "GET"), ("/plans", "DELETE"), ("/plans", "OPTIONS")):
        with serving(tmp_path, anybody(rate=0.01, burst=3)) as served:
            codes = [served.client.request(method, path).status_code for _ in range(5)]
            assert codes[3:] == [429, 429], (path, codes)
            assert 429 not in codes[:3]


def test_every_method_of_a_path_is_told(open_: Served) -> None:
    wanted = {
        open_.path("tally"): "GET, HEAD, POST",
        open_.path("reports"): "POST",
        open_.path("close"): "POST",
        open_.path(): "GET, HEAD",
        "/plans": "GET, HEAD",
    }
    for path, methods in wanted.items():
        refused = open_.client.delete(path)
        problem(refused, "bad-method")
        assert refused.headers["allow"] == methods
        assert open_.client.options(path).headers["allow"] == methods
