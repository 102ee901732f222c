"""Errors as RFC 9457 problem documents: their kind, its title, and the details of this case."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "This address does not take such a request"),
    "bad-report": (422, "These are not valid reports of this plan"),
    "not-allowed": (403, "This token does not allow that"),
    "no-token": (401, "A token that is known here is needed"),
    "sealed-only": (403, "This collector takes sealed batches from a relay, and nothing else"),
    "preview": (403, "This collector is a preview: it counts nothing"),
    "other-key": (409, "This is sealed for another key"),
    "not-found": (404, "There is no such thing here"),
    "bad-method": (405, "This address does not take that method"),
    "plan-closed": (409, "This survey has ended: its plan takes no more reports"),
    "overlapping": (409, "The batch holds a report that was counted before"),
    "older": (409, "A later tally of the same store is counted here"),
    "fallen": (409, "The store of this tally has lost reports since its last one"),
    "withdrawn": (409, "What came under the name of this store was withdrawn"),
    "renamed": (409, "Reports of this tally count here under another name of its store, or of a copy of it"),
    "late": (409, "This round is over"),
    "too-large": (413, "The request is too large"),
    "wrong-type": (415, "This content type is not read here"),
    "wrong-host": (421, "The collector does not go by this name"),
    "too-many": (429, "Too many requests from this address"),
    "too-slow": (408, "The body did not arrive in time"),
    "headers-too-large": (431, "The address and headers of the request are too large"),
    "broken": (500, "The collector made a mistake: it was logged, without the content of the request"),
    "full": (507, "There is no room for more reports of this plan"),
    "busy": (503, "The collector is busy: send it again a little later"),
    "failed": (503, "The store, or a tool beside the collector, failed: try again a little later"),
}


class Problem(msgspec.Struct, rename={"kind": "type"}):
    """A problem document."""

    kind: str
    title: str
    status: int
    detail: str = ""


class Refused(Exception):
    """A request that is answered with a problem."""

    def __init__(self, kind: str, detail: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(detail or kind)
        self.kind, self.detail, self.headers = kind, detail, headers or {}

    @property
    def status(self) -> int:
        """The status of the answer."""
        return KINDS[self.kind][0]

    def response(self) -> Response:
        """Return the problem as a response."""
        status, title = KINDS[self.kind]
        body = msgspec.json.encode(Problem(f"urn:hush:problem:{self.kind}", title, status, self.detail))
        # Caches may keep a 404 or 405 by default; but a token, or a plan, may come tomorrow.
        headers = {"Cache-Control": "no-store"} | self.headers
        return Response(body, status, headers, "application/problem+json")
