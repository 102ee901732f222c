"""Requests that are repeated until a collector or a relay answers. A server is believed nothing: answers are bounded in
size and time, redirects are not followed, and what it says in an error becomes one printable line.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import math
import secrets
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from hush.errors import CollectorError, InputError

MAX_ANSWER = 16 << 20
OCTETS = "application/octet-stream"
REPORT = "application/vnd.hush.report"
SEALED = "application/vnd.hush.sealed"
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class Server:
    """A collector or a relay at an address. `attempts` and `pause` limit the retries: pauses roughly double.

    `timeout` bounds how long a connection may be silent, and how long the answer of one attempt may take to arrive.
    """

    def __init__(self, kind: str, url: str, token: str | None, timeout: float, attempts: int, pause: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"the address of a {kind} begins with https:// (or http://)")
        if token is not None and parts.scheme == "http" and not _is_here(parts.hostname):
            raise InputError("a token goes to another machine by https:// only: others could read it on its way")
        self._is_here = _is_here(parts.hostname)
        self._kind, self._url, self._token = kind, url.rstrip("/"), token
        self.timeout, self._attempts, self._pause = timeout, max(1, attempts), pause

    def get(self, path: str, most: int | None = None, timeout: float | None = None) -> bytes:
        """Fetch a document, of at most this number of bytes and in this time if they are given."""
        return self._retry(
            lambda: self._once(urllib.request.Request(self._url + path), most, timeout)  # noqa: S310
        )

    def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
        """Send a body, and return the answer."""
        head = {"Content-Type": content_type, **(headers or {})}
        return self._retry(
            lambda: self._once(urllib.request.Request(self._url + path, body, head, method="POST"))  # noqa: S310
        )

    def _once(self, request: urllib.request.Request, most: int | None = None, timeout: float | None = None) -> bytes:
        most = MAX_ANSWER if most is None else most
        request.add_header("Accept", "application/json")
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        opener = _here if self._is_here else _opener
        with opener.open(request, timeout=self.timeout if timeout is None else timeout) as response:
            data: bytes = response.read(most + 1)
            left = response.length  # the announced length: a partial read raises no error if the answer ends early
        if left and len(data) <= most:
            raise http.client.IncompleteRead(data[:0], left)
        if len(data) > most:
            raise CollectorError(f"the {self._kind}'s answer is too long")
        return data

    def _retry(self, action: Callable[[], bytes]) -> bytes:
        """Repeat an action until it succeeds, is refused for good, or has used all attempts."""
        for attempt in range(1, self._attempts + 1):
            wait = self._pause * 2 ** (attempt - 1) * (0.5 + secrets.randbelow(1 << 20) / (1 << 20))
            try:
                return action()
            except urllib.error.HTTPError as error:
                with error:
                    refused = self._refusal(error)
                if error.code not in RETRIED or attempt == self._attempts:
                    raise refused from None
                wait = max(wait, _seconds(error.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException) as error:
                if attempt == self._attempts:
                    reason = getattr(error, "reason", error)  # the error that urllib wrapped
                    raise CollectorError(f"the {self._kind} cannot be reached: {type(reason).__name__}") from None
            time.sleep(wait)
        raise AssertionError

    def _refusal(self, error: urllib.error.HTTPError) -> CollectorError:
        """Return the server's reason for a refusal, from its problem document."""
        try:
            problem = json.loads(error.read(1 << 16))
            words = [_plain(problem["title"]), _plain(problem.get("detail") or "")]
            kind = _plain(problem["type"]).rpartition(":")[2]
        except (ValueError, KeyError, TypeError, AttributeError, OSError, http.client.HTTPException, RecursionError):
            words, kind = [f"the {self._kind} answered {error.code}"], ""
        return CollectorError(": ".join(word for word in words if word), error.code, kind)


def _is_here(host: str) -> bool:
    """Return whether a host name is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: a report that was sent elsewhere, or became a GET, was not counted here."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


class _Clocked(io.RawIOBase):
    """Reads from a socket until a deadline. The timeout of a socket itself restarts with every byte."""

    def __init__(self, received: socket.socket) -> None:
        self._socket, self._file = received, received.makefile("rb", buffering=0)
        self._end = time.monotonic() + (received.gettimeout() or math.inf)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if left < math.inf:
            self._socket.settimeout(left)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Received:
    """A socket for an answer that must arrive in time as a whole, including its headers."""

    def __init__(self, received: socket.socket) -> None:
        self._socket = received

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_Clocked(self._socket))


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(_Received(sock), *arguments, **named)  # type: ignore[arg-type]


class _Connection(http.client.HTTPConnection):
    response_class = _Response


class _SecureConnection(http.client.HTTPSConnection):
    response_class = _Response


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_Connection, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_SecureConnection, req)


_opener = urllib.request.build_opener(_Stay, _Handler, _SecureHandler)
# To this machine, without the proxy that the environment may name: it would read a token, and is elsewhere.
_here = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay, _Handler, _SecureHandler)


def _plain(text: object) -> str:
    """Return a server's text as one printable line, which is safe to log."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text)[:300])


def _seconds(text: str | None) -> float:
    digits = text is not None and text.isascii() and text.isdigit() and len(text) < 10
    return min(float(text or 0), 60.0) if digits else 0.0
