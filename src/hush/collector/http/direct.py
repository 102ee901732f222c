"""The short way of reports: from the parser to the intake and back, in one function call each.

An ASGI application costs a task, an event, several dictionaries and two messages per request, and a framework routes
and wraps on top of that: together more than everything that hush does with a report. So the most frequent request
(`POST /plans/{plan}/reports`: a report or a small batch, with its length announced) is answered within the protocol.
A relay's most frequent request goes a short way too (`Place`). All other requests go the long way, through the
application. Both ways check by the same functions, in the same order, and answer with the same bytes; a test sends the
same requests both ways.

A client sends nearly the same head (request line and headers) with every report. Parsing and checking the same bytes
again gives the same result, as the settings of a collector do not change: so `Heads` keeps the results, for requests
that arrive whole and alone. Limits on senders, the body, and everything after it are not part of that result.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.formats import BATCHES, SINGLES
from hush.collector.http.exchanges import Exchange
from hush.collector.http.responses import Ready
from hush.collector.submissions import Result, Submission
from hush.core.plan import Plan

if TYPE_CHECKING:
    from hush.collector.http.app import Collector
    from hush.collector.http.protocol import Protocol

ID_LENGTH = 64
LONGEST = 1 << 14  # bytes of a body: reading longer ones may take long
BATCH, TOKEN = b"hush-batch", b"authorization"
OF_CONNECTION = ("client", "server", "scheme")  # what differs where the head is the same
# A request with one of these needs more care than this way has.
OTHERS = frozenset((b"expect", b"transfer-encoding", b"content-encoding", b"upgrade", b"trailer", b"te"))
KEPT_HEADS, MAX_HEAD = 1024, 1 << 10  # how many, and of how many bytes at most
BLANK = b"\r\n\r\n"
NAMED = re.compile(rb"\r\n[Hh]ush-[Bb]atch: ([0-9a-f]{32})\r\n")  # a new one in every batch


class Place(NamedTuple):
    """Which requests go the short way: the path before and after the id of a plan, and the content types."""

    prefix: str
    suffix: str
    kinds: dict[bytes, str]


REPORTS = Place("/plans/", "/reports", {kind.encode(): kind for kind in (*SINGLES, *BATCHES)})


def found(collector: Collector, scope: Any) -> tuple[Plan, str] | None:
    """Return plan and content type of a request that may go the short way; None for all others."""
    path, place = scope["path"], collector.place
    if scope["method"] != "POST" or scope["query_string"] or scope["http_version"] != "1.1":
        return None
    before, after = len(place.prefix), len(place.prefix) + ID_LENGTH
    if len(path) != after + len(place.suffix) or not (path.startswith(place.prefix) and path.endswith(place.suffix)):
        return None
    plan = collector.known(path[before:after])
    length, kind, names = b"", None, set()
    for name, value in scope["headers"]:
        if name in OTHERS or name in names:
            return None
        names.add(name)
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            kind = place.kinds.get(value)
    if plan is None or kind is None or not length.isdigit() or len(length) > 5 or int(length) > LONGEST:
        return None
    if int(length) > min(collector.settings.max_single, collector.settings.max_body):
        return None
    if kind not in SINGLES and not collector.is_prepared(plan):
        return None
    scope["path_params"] = {"plan": plan.id}
    return plan, kind


class Head(NamedTuple):
    """A head that was read before, with what it says."""

    plan: Plan
    kind: str
    length: int  # bytes of its body
    size: int  # bytes of its own, as they were counted
    scope: dict[str, Any]  # as ASGI has it, without anything about the connection


class Heads:
    """Heads of requests that were taken, by a hash with a random key: so no token is kept.

    The id of a batch may differ: where it is 32 hexadecimal digits, whichever they are changes nothing in how the rest
    is read.
    """

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._held: OrderedDict[bytes, Head] = OrderedDict()

    def find(self, data: bytes) -> tuple[Head, bytes, bytes] | None:
        """Return what is known of a request that is whole, the id of its batch or nothing, and its body."""
        end = data.find(BLANK, 0, MAX_HEAD) + len(BLANK)
        if end < len(BLANK) or not self._held:
            return None
        head, id_ = _unnamed(data[:end])
        known = self._held.get(blake2b(head, digest_size=16, key=self._key).digest())
        if known is None or len(data) != end + known.length:
            return None
        return known, id_, data[end:]

    def keep(self, data: bytes, length: int, size: int, way: Direct) -> None:
        """Keep the head of a request that was taken; its body has `length` bytes."""
        end = len(data) - length
        if not data.startswith(b"POST ") or data.find(BLANK, 0, MAX_HEAD) + len(BLANK) != end:
            return
        head, id_ = _unnamed(data[:end])
        scope = {name: value for name, value in way.scope.items() if name not in OF_CONNECTION}
        # Nobody asks for the token again, and the id is another one each time.
        kept = [(name, b"" if id_ and name == BATCH else value) for name, value in scope["headers"] if name != TOKEN]
        scope["headers"] = kept
        key = blake2b(head, digest_size=16, key=self._key).digest()
        self._held[key] = Head(way.plan, way.kind, length, size, scope)
        if len(self._held) > KEPT_HEADS:
            self._held.popitem(last=False)


def _unnamed(head: bytes) -> tuple[bytes, bytes]:
    """Return a head without the id of its batch, and that id."""
    found = NAMED.search(head)
    if found is None:
        return head, b""
    return head[: found.start(1)] + head[found.end(1) :], found[1]


class Direct(Exchange):
    """One request on the short way. `known`: its head was taken before."""

    accepted = False  # by the intake

    def __init__(
        self, connection: Protocol, scope: Any, keep_alive: bool, plan: Plan, kind: str, known: bool = False
    ) -> None:
        super().__init__(connection, scope, keep_alive)
        self.plan, self.kind, self._known = plan, kind, known
        self._waits = True  # for its turn, and for the rest of its body
        self._begun = False

    def begin(self) -> None:
        """Take the request if its body is complete already."""
        self._begun = True
        self.hear()

    def hear(self) -> None:
        """Look whether the body is complete. If the client has gone before that, nothing is counted."""
        if not self._waits or not self._begun:
            return
        if self.gone:
            self._waits = False
            self.connection.bounds.release(self)
        elif self.fault or not self.more_body:
            body, self.body = bytes(self.body), bytearray()
            self.take(body)

    def take(self, body: bytes) -> None:
        """Take a request that is complete, or was broken off."""
        self._waits = False
        request = self._request = Request(self.scope)
        collector = self.connection.server.collector
        refused = collector.take(request, self.plan, self.kind, body, self.fault, self._done, known=self._known)
        if refused is None:
            self.accepted = True
        else:
            self._answer(refused)

    def _done(self, submission: Submission, outcome: Result | Exception) -> None:
        """Answer: the report is durable, or was not counted."""
        self._answer(self.connection.server.collector.taken(self._request, submission, outcome))

    def _answer(self, response: Response | Ready) -> None:
        self.connection.bounds.release(self)
        if self.gone:
            return
        self.started = True
        parts = self.head(response.status_code, response.raw_headers)
        self.connection.write(b"".join((*parts, b"\r\n", bytes(response.body))))
        self.end()
