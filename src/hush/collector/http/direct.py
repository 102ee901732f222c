"""The short way of reports: from the parser to the intake and back, in one function call each.

An ASGI application costs a task, an event, several dictionaries and two messages per request, and a framework routes
and wraps on top of that: together more than everything that hush does with a report. So the most frequent request
(`POST /plans/{plan}/reports`: a report or a small batch, with its length announced) is answered within the protocol.
All other requests go the long way, through the application. Both ways check by the same functions, in the same order,
and answer with the same bytes; a test sends the same requests both ways.

uvicorn has an object per request (`cycle`) with an event that it sets when a piece of the body has come, when the body
is complete, and when the client has gone. `Direct` stands in the place of that event.
"""

from __future__ import annotations

import http
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.formats import BATCHES, SINGLES
from hush.collector.http.responses import Ready
from hush.collector.submissions import Outcome, Submission
from hush.core.plan import Plan

if TYPE_CHECKING:
    from hush.collector.http.app import Collector

PREFIX, SUFFIX, ID_LENGTH = "/plans/", "/reports", 64
LONGEST = 1 << 14  # bytes of a body: reading longer ones may take long
KINDS = {kind.encode(): kind for kind in (*SINGLES, *BATCHES)}
# A request with one of these needs more care than this way has.
OTHERS = frozenset((b"expect", b"transfer-encoding", b"content-encoding", b"upgrade", b"trailer", b"te"))
STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in http.HTTPStatus}


def found(collector: Collector, scope: Any) -> tuple[Plan, str] | None:
    """Return plan and content type of a request that may go the short way; None for all others."""
    path = scope["path"]
    if scope["method"] != "POST" or scope["query_string"] or scope["http_version"] != "1.1":
        return None
    if len(path) != len(PREFIX) + ID_LENGTH + len(SUFFIX) or not (path.startswith(PREFIX) and path.endswith(SUFFIX)):
        return None
    plan = collector.known(path[len(PREFIX) : -len(SUFFIX)])
    length, kind, names = b"", None, set()
    for name, value in scope["headers"]:
        if name in OTHERS or name in names:
            return None
        names.add(name)
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            kind = KINDS.get(value)
    if plan is None or kind is None or not length.isdigit() or len(length) > 5 or int(length) > LONGEST:
        return None
    if int(length) > min(collector.settings.max_single, collector.settings.max_body):
        return None
    if kind not in SINGLES and not collector.is_prepared(plan):
        return None
    scope["path_params"] = {"plan": plan.id}
    return plan, kind


class Direct:
    """One request on the short way. `cycle` is uvicorn's, whose event this is."""

    __slots__ = ("_collector", "_cycle", "_kind", "_plan", "_request", "_taken")

    def __init__(self, collector: Collector, cycle: Any, plan: Plan, kind: str) -> None:
        self._collector, self._cycle, self._plan, self._kind = collector, cycle, plan, kind
        self._taken = False

    def set(self) -> None:
        """Look whether the body is complete. If the client has gone before that, nothing is counted."""
        cycle = self._cycle
        if self._taken:
            return
        if cycle.disconnected:
            self._taken = True
            cycle.bounds.release(cycle)
        elif cycle.fault or not cycle.more_body:
            self._taken = True
            self._request = Request(cycle.scope)
            body, cycle.body = bytes(cycle.body), bytearray()
            refused = self._collector.take(self._request, self._plan, self._kind, body, cycle.fault, self._done)
            if refused is not None:
                self._answer(refused)

    def _done(self, submission: Submission, outcome: Outcome | Exception) -> None:
        """Answer: the report is durable, or was not counted."""
        self._answer(self._collector.taken(self._request, submission, outcome))

    def _answer(self, response: Response | Ready) -> None:
        cycle = self._cycle
        cycle.bounds.release(cycle)
        if cycle.disconnected:
            return
        parts = [STATUS[response.status_code]]
        said = False
        for name, value in (*cycle.default_headers, *response.raw_headers):
            parts += (name, b": ", value, b"\r\n")
            said = said or name == b"connection"
        if said:
            cycle.keep_alive = False  # no other value is ever sent
        elif not cycle.keep_alive:
            parts.append(b"connection: close\r\n")
        parts += (b"\r\n", bytes(response.body))
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(b"".join(parts))
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


async def nothing(*_: Any) -> None:
    """Be the application behind a middleware that only changes the scope."""


def at_once(middleware: Callable[..., Any], scope: Any) -> None:
    """Let an ASGI middleware change a scope. It only waits for the application behind it: here `nothing`."""
    step = middleware(scope, None, None)
    try:
        step.send(None)
    except StopIteration:
        return
    raise RuntimeError("a middleware waits")
