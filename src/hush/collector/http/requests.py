"""Strict reading of requests: content type, headers, query and body."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from hush.collector.http.endpoints import Parameter
from hush.collector.http.problems import Refused
from hush.collector.settings import Settings
from hush.core.plan import Plan
from hush.server.estimates import Estimates, Wanted
from hush.server.sources import too_long

POSTS: dict[str, Callable[[Estimates], Estimates]] = {
    "none": lambda rows: rows,
    "clip": Estimates.clip,
    "project": Estimates.project,
}
MAX_LEVEL = 0.999999
SHOWN = 200  # shares of a very long list, unless a request asks for more
MAX_NUMBER = 30  # characters of a number
LARGE = 1 << 14  # bytes: larger bodies are decoded beside the loop
CLOSE = {"Connection": "close"}

T = TypeVar("T")

LEVEL = Parameter(
    "level",
    "number",
    "the probability that an interval covers the truth",
    0.95,
    limits={"exclusiveMinimum": 0, "maximum": MAX_LEVEL},
)
ESTIMATOR = Parameter("estimator", "string", "how to estimate", "ratio", ("ratio", "paper"))
INTERVALS = Parameter(
    "intervals",
    "string",
    "whether each interval holds with the level, or all of one attribute's shares, or of a relation's rows, together; "
    "with top, and of long lists, they hold together by default",
    "each",
    ("each", "together"),
)
POST = Parameter("post", "string", "the post-processing of estimates", "none", tuple(POSTS))
FORMAT = Parameter("format", "string", "the format of the answer", "json", ("json", "csv"))
VIEW = Parameter("view", "string", "which events are sent", "estimates", ("estimates", "dashboard"))
SHARE = Parameter("share", "number", "the share of reports that liars sent", 0.01, limits={"minimum": 0, "maximum": 1})
ATTRIBUTE = Parameter("attribute", "string", "the name of a numeric attribute", None, required=True)

TOP = Parameter(
    "top",
    "integer",
    "how many of the largest shares of each attribute; by default all, but 200 of more than 4,096",
    None,
    limits={"minimum": 1, "maximum": 10_000},
)
SEARCH = Parameter(
    "search",
    "string",
    "only shares of categories with this text in their name, whatever the case",
    None,
    limits={"minLength": 1, "maxLength": 256},
)
LAST = Parameter(
    "last", "integer", "the number of periods, counted back from the latest", 30, limits={"minimum": 1, "maximum": 400}
)
AGAINST = Parameter("against", "string", "the id of another plan of this collector", None, required=True)

EITHER = Parameter("attribute", "string", "the name of an attribute", None, required=True)
BY = Parameter("by", "string", "the name of another attribute", None, required=True)
PARTS = Parameter("shares", "string", "of all people, of each row or of each column", "all", ("all", "rows", "columns"))
WHAT = Parameter(
    "what", "string", "the means of groups, or the differences of all pairs of them", "means", ("means", "differences")
)
METHOD = Parameter("method", "string", "how to estimate an association", "copula", ("copula", "moments"))


def named(request: Request, parameter: Parameter) -> str:
    """Return the attribute that a request names."""
    found = request.query_params.get(parameter.name)
    if found is None:
        raise Refused("bad-request", f"name an attribute, as in ?{parameter.name}=age")
    return found


def address(request: Request) -> str:
    """Return the address of the sender, or nothing if it is unknown."""
    client = request.scope.get("client")
    return str(client[0]) if client else ""


def content_type(request: Request) -> str:
    """Return the content type of a request, without parameters. Bodies with a Content-Encoding are refused."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused("wrong-type", "bodies are read as they are, without Content-Encoding")
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_plain(settings: Settings) -> None:
    """Refuse everything but sealed batches, if a collector takes nothing else."""
    if settings.sealed_only:
        raise Refused("sealed-only", "send sealed reports to the relay of this collector")


def check_query(request: Request, known: tuple[str, ...]) -> None:
    """Refuse unknown and repeated parameters: most often they are typing errors."""
    names = [name for name, _ in request.query_params.multi_items()]
    if not set(names) <= set(known):
        raise Refused("bad-request", f"the query may have: {', '.join(known)}" if known else "there is no query here")
    if len(set(names)) != len(names):
        raise Refused("bad-request", "a parameter of the query is there twice")


def choice(request: Request, parameter: Parameter) -> str:
    """Return which of its choices a request gives a parameter."""
    found = request.query_params.get(parameter.name, str(parameter.default))
    if found not in parameter.choices:
        raise Refused("bad-request", f"{parameter.name} must be one of: {', '.join(parameter.choices)}")
    return found


def wanted(request: Request, *plans: Plan) -> Wanted:
    """Return the estimates that a request asks for, of these plans."""
    estimator: Any = choice(request, ESTIMATOR)
    together = intervals(request, *plans) == "together"
    return Wanted(level(request), estimator, together, top(request), search(request), SHOWN)


def intervals(request: Request, *plans: Plan) -> str:
    """Return whether intervals hold together: those of the largest of many shares do, unless the request says how."""
    selects = TOP.name in request.query_params or any(map(too_long, plans))
    return "together" if selects and INTERVALS.name not in request.query_params else choice(request, INTERVALS)


def level(request: Request) -> float:
    """Return the level of intervals that a request asks for."""
    found = _number(request, LEVEL)
    if not 0 < found <= MAX_LEVEL:
        raise Refused("bad-request", f"level must be a number above 0 and at most {MAX_LEVEL}")
    return found


def share(request: Request) -> float:
    """Return the share of liars that a request asks about."""
    found = _number(request, SHARE)
    if not 0 <= found <= 1:
        raise Refused("bad-request", "share must be a number from 0 to 1")
    return found


def top(request: Request) -> int | None:
    """Return how many shares a request asks for, if it says so."""
    text = request.query_params.get(TOP.name)
    if text is None:
        return None
    found = natural(text, TOP.name)
    if not 1 <= found <= TOP.limits["maximum"]:
        raise Refused("bad-request", f"top must be a number from 1 to {TOP.limits['maximum']}")
    return found


def search(request: Request) -> str | None:
    """Return the text that names of categories shall contain, if a request says so."""
    found = request.query_params.get(SEARCH.name)
    if found is not None and not 1 <= len(found) <= SEARCH.limits["maxLength"]:
        raise Refused("bad-request", f"search must have 1 to {SEARCH.limits['maxLength']} characters")
    return found


def last(request: Request) -> int:
    """Return how many periods a request asks for."""
    found = natural(request.query_params.get(LAST.name, str(LAST.default)), LAST.name)
    if not 1 <= found <= LAST.limits["maximum"]:
        raise Refused("bad-request", f"last must be a number from 1 to {LAST.limits['maximum']}")
    return found


def against(request: Request) -> str:
    """Return the id of the plan that a request compares with."""
    found = request.query_params.get(AGAINST.name)
    if found is None:
        raise Refused("bad-request", "name another plan of this collector, as in ?against=ID")
    return found


def _number(request: Request, parameter: Parameter) -> float:
    """Return the number that a request gives a parameter, or NaN for anything else."""
    text = request.query_params.get(parameter.name, str(parameter.default))
    try:
        return float(text) if text.isascii() and "_" not in text and len(text) <= MAX_NUMBER else math.nan
    except ValueError:
        return math.nan


def natural(text: str, what: str) -> int:
    """Return a number from 0 to 999999999, written in digits."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise Refused("bad-request", f"{what} must be a number of at most nine digits")
    return int(text)


def hexadecimal(request: Request, header: str, size: int) -> bytes:
    """Return the bytes that a header holds in hexadecimal."""
    text = request.headers.get(header, "")
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != size or data.hex() != text.lower():
        raise Refused("bad-request", f"the header {header} must be {2 * size} hexadecimal digits")
    return data


def has_tag(request: Request, tag: str) -> bool:
    """Return whether a client has the content with this tag."""
    parts = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    return "*" in parts or f'"{tag}"' in {part.removeprefix("W/") for part in parts}


def accepts_gzip(request: Request) -> bool:
    """Return whether a client accepts gzip, with a weight above 0."""
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    return False


async def body(request: Request, most: int, settings: Settings) -> bytes:
    """Read a body, within its limits on size and time.

    The protocol reads and drops the rest of a refused body, and keeps the time limit. On a server without that
    protocol, this function keeps it.
    """
    length = request.headers.get("content-length", "").strip()
    if length.isascii() and length.isdigit() and (len(length) > 15 or int(length) > most):
        raise _too_large(most)
    if "hush.bounded" in request.scope.get("extensions", ()):
        return await _read(request, most, settings)
    try:
        async with asyncio.timeout(settings.body_timeout):
            return await _read(request, most, settings)
    except TimeoutError:
        raise Refused("too-slow", headers=CLOSE) from None


async def _read(request: Request, most: int, settings: Settings) -> bytes:
    found: bytes | bytearray = b""
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            kind = message.get("refused")
            if kind is None:
                raise ClientDisconnect
            raise broken_off(kind, settings)
        piece, more = message.get("body", b""), message.get("more_body", False)
        if len(found) + len(piece) > most:
            raise _too_large(most)
        if not found:
            found = piece
        elif piece:  # in one buffer, as very many small pieces would take many times their size
            found = bytearray(found) if isinstance(found, bytes) else found
            found += piece
    return bytes(found)


async def decoded(quick: bool, read: Callable[..., T], *arguments: Any) -> T:
    """Decode a body: within the loop if that is quick, otherwise in a thread, so that other requests need not wait."""
    return read(*arguments) if quick else await asyncio.to_thread(read, *arguments)


def broken_off(kind: str, settings: Settings) -> Refused:
    """Return the refusal of a body that the protocol has broken off."""
    return Refused(kind, headers=CLOSE | ({"Retry-After": str(settings.retry_after)} if kind == "busy" else {}))


def _too_large(most: int) -> Refused:
    return Refused("too-large", f"at most {most} bytes are read here", CLOSE)
