"""Documents as responses, and how long others may keep them."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

EVENTS = "text/event-stream"
SECRET = {"Cache-Control": "no-store"}
IMMUTABLE = "public, max-age=31536000, immutable"


class Ready:
    """A small JSON document as a response, cheaper than a framework's."""

    __slots__ = ("body", "status_code")

    def __init__(self, status: int, body: bytes) -> None:
        self.status_code, self.body = status, body

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers, as they are sent."""
        return [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


def confined(response: Response) -> Response:
    """Return an answer that needed a token: no cache may hand it on, and most answers may not be kept at all."""
    kept = response.headers.get("Cache-Control", "no-store")
    if "no-store" not in kept and "private" not in kept:
        kept = ", ".join(["private", *(part for part in kept.split(", ") if part != "public")])
    response.headers["Cache-Control"] = kept
    return response


def encoded(document: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document as a response."""
    return as_json(msgspec.json.encode(document), status, headers)


def as_json(text: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an encoded document as a response."""
    return Response(text, status, headers, "application/json")
