"""Who may do what, how often, and from which web page."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request

from hush.collector.problems import Refused
from hush.collector.settings import ROLES, Role, Settings

MAX_ADDRESSES = 100_000


def hashed(token: str) -> str:
    """Return the form in which tokens are kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_role(settings: Settings, request: Request, role: Role) -> None:
    """Refuse a request whose token does not have a role. An admin may do everything."""
    allowed = settings.tokens.get(role, frozenset())
    if not allowed and role != "admin":
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused("no-token", headers={"WWW-Authenticate": "Bearer"})
    given = hashed(token.strip())
    # Every hash is compared, in constant time each, so that how long it takes tells nothing.
    matches = [
        hmac.compare_digest(given, known) for known in sorted(allowed | settings.tokens.get("admin", frozenset()))
    ]
    if not any(matches):
        raise Refused("not-allowed")


class RateLimit:
    """A bucket of requests for each address, refilled at a steady rate. Addresses are kept in memory alone."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Take one request from the bucket of an address, or refuse."""
        if self._rate <= 0:
            return
        now = self._clock()
        level, since = self._buckets.pop(address, (float(self._burst), now))
        level = min(float(self._burst), level + (now - since) * self._rate)
        if level < 1:
            self._buckets[address] = level, now
            raise Refused("too-many", headers={"Retry-After": str(max(1, round((1 - level) / self._rate)))})
        self._buckets[address] = level - 1, now
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)


def cors_headers(settings: Settings, request: Request, plan_id: str | None) -> dict[str, str]:
    """Return the headers that let a web page of an allowed origin read the answer."""
    origin = request.headers.get("origin")
    if origin is None:
        return {}
    allowed = settings.origins.get(plan_id or "", settings.origins.get("*", frozenset()))
    if origin not in allowed and "*" not in allowed:
        return {"Vary": "Origin"}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
        "Access-Control-Allow-Headers": "content-type, authorization, hush-batch, hush-ticket",
        "Access-Control-Expose-Headers": "etag, retry-after",
        "Access-Control-Max-Age": "3600",
        "Vary": "Origin",
    }


__all__ = ["ROLES", "RateLimit", "check_role", "cors_headers", "hashed"]
