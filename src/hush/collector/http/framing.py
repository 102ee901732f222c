"""Heads of requests that everybody reads in the same way, and refusals where no application is reached."""

from __future__ import annotations

from collections.abc import Sequence

from hush.collector.http.problems import Refused

ONCE = (
    *(b"host", b"authorization", b"content-type", b"content-length", b"content-encoding", b"expect", b"origin"),
    *(b"hush-batch", b"hush-key", b"hush-ticket"),
)
STATUS = {
    400: b"400 Bad Request",
    429: b"429 Too Many Requests",
    431: b"431 Request Header Fields Too Large",
    503: b"503 Service Unavailable",
}


def check_head(version: str, url: bytes, headers: Sequence[tuple[bytes, bytes]], *, upgrades: bool) -> None:
    """Refuse a request that a proxy in front might read in another way. `upgrades`: it asks for another protocol."""
    names = [name for name, _ in headers]
    if version not in ("1.1", "1.0"):
        raise Refused("bad-request", "versions 1.1 and 1.0 of HTTP are spoken here")
    if version == "1.1" and b"host" not in names:
        raise Refused("bad-request", "the header Host is missing")
    if len(set(names)) != len(names):
        for name in ONCE:
            if names.count(name) > 1:
                raise Refused("bad-request", f"the header {name.decode()} is there twice")
    if b"transfer-encoding" in names:
        coding = headers[names.index(b"transfer-encoding")][1]
        if version == "1.0" or coding.lower() != b"chunked":
            raise Refused("bad-request", "bodies may be chunked (in HTTP/1.1), and have no other transfer coding")
    if not url.startswith((b"/", b"http://", b"https://")):
        raise Refused("bad-request", "the target of a request is a path")
    if not url.startswith(b"/"):  # a proxy goes by this host, and access is checked by the header
        place = url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
        if b"host" in names and place.lower() != headers[names.index(b"host")][1].strip().lower():
            raise Refused("bad-request", "the target of a request names another host than the header Host")
    if upgrades and (b"transfer-encoding" in names or b"content-length" in names):
        raise Refused("bad-request", "a request that asks for another protocol has no body here")


def refusal(refused: Refused) -> bytes:
    """Return an answer with a problem, after which the connection is closed."""
    response = refused.response()
    head = b"HTTP/1.1 " + STATUS[response.status_code] + b"\r\nconnection: close\r\n"
    for name, value in response.raw_headers:
        head += name + b": " + value + b"\r\n"
    return head + b"\r\n" + bytes(response.body)
