"""Documents as responses, and how long others may keep them."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

EVENTS = "text/event-stream"
SECRET = {"Cache-Control": "no-store"}
IMMUTABLE = "public, max-age=31536000, immutable"


def confined(response: Response) -> Response:
    """Return an answer for which a token was needed: no cache may hand it to others, and most may not keep it."""
    kept = response.headers.get("Cache-Control", "no-store")
    if "no-store" not in kept and "private" not in kept:
        kept = ", ".join(["private", *(part for part in kept.split(", ") if part != "public")])
    response.headers["Cache-Control"] = kept
    return response


def encoded(document: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document as a response."""
    return as_json(msgspec.json.encode(document), status, headers)


def as_json(text: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document that was encoded before as a response."""
    return Response(text, status, headers, "application/json")
