"""Roles and tokens, rate limits, host names, and the web pages that may read answers."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request

from hush.collector.http.problems import Refused
from hush.collector.settings import IMPLIED, Role, Settings

MAX_ADDRESSES = 100_000
LONGEST = 64  # characters of a sender that is no address
HOST = re.compile(r"([^:\[\]]+|\[[0-9a-f:.]+\])(:[0-9]{0,5})?")
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052


def hashed(token: str) -> str:
    """Return the hash of a token. Only hashes are kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_role(settings: Settings, request: Request, role: Role) -> None:
    """Refuse a request whose token does not have a role, unless the role is open.

    A sender without a token, or with an unknown one, is asked for a token (401). A known token without the role is
    refused (403).
    """
    if role in settings.open:
        return
    needed = f"this needs the role {role}"
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused("no-token", needed, {"WWW-Authenticate": "Bearer"})
    given = hashed(token.strip())
    # Every hash is compared, in constant time each, so that the time reveals nothing.
    held = {
        known
        for known, matches in [
            (name, [hmac.compare_digest(given, hash_) for hash_ in sorted(hashes)])
            for name, hashes in settings.tokens.items()
        ]
        if any(matches)
    }
    if not held:
        raise Refused("no-token", needed, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    if not any(role == known or role in IMPLIED.get(known, ()) for known in held):
        raise Refused("not-allowed", needed, {"WWW-Authenticate": 'Bearer error="insufficient_scope"'})


def check_host(settings: Settings, request: Request) -> None:
    """Refuse a request for another host name.

    A page of any name can be made to point at this machine after a browser has loaded it (DNS rebinding); the browser
    then takes the collector for the page's own server, and lets the page read it. But it sends that name along. A
    numeric address cannot be pointed elsewhere. A request without the header comes from no browser.
    """
    given = request.headers.getlist("host")
    if not given:
        return
    name = HOST.fullmatch(given[0].lower())
    if len(given) == 1 and name is not None:
        host = name[1].removesuffix(".")
        if host in settings.hosts or (settings.addresses and _plain(host.strip("[]")) is not None):
            return
    raise Refused("wrong-host", "--host-name gives a collector another name")


class RateLimit:
    """A bucket of reports for each address, refilled at a steady rate. Addresses are kept in memory alone.

    Every request takes one report. A batch takes as many as it has, and may leave the bucket in debt, as it may have
    more than fit in: then everything from this address waits until the debt is paid. Only one batch can do that: the
    next finds the debt, even if it was on its way already.

    An owner of one IPv6 address has 2^64 of them, so buckets belong to a `household`.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Take one request from the bucket of an address, or refuse."""
        if self._rate <= 0:
            return
        self._take(household(address), 1, least=1)

    def charge(self, address: str, reports: int) -> None:
        """Take the reports of a batch, except the one that its request took; refuse if the bucket has debts."""
        if self._rate > 0 and reports > 1:
            self._take(household(address), reports - 1, least=0)

    def give_back(self, address: str, reports: int) -> None:
        """Undo a charge, of a batch that was not counted after all."""
        if self._rate > 0 and reports > 1:
            self._take(household(address), 1 - reports, least=-math.inf)

    def _take(self, sender: str, reports: int, least: float) -> None:
        now = self._clock()
        level, since = self._buckets.pop(sender, (float(self._burst), now))
        level = min(float(self._burst), level + (now - since) * self._rate)
        refused = level < least
        self._buckets[sender] = level if refused else min(float(self._burst), level - reports), now
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        if refused:
            raise Refused("too-many", headers={"Retry-After": str(math.ceil((1 - level) / self._rate))})


def household(address: str) -> str:
    """Return the name of one sender: an address of IPv4, or the first half of one of IPv6.

    Behind a translator (NAT64) everybody has the same first half, and an address of IPv4 in the last 32 bits. A proxy
    may hand on a text that is no address: then its first `LONGEST` characters count.
    """
    whole = _plain(address)
    if not isinstance(whole, ipaddress.IPv6Address):
        return address[:LONGEST] if whole is None else str(whole)
    return str(ipaddress.IPv4Address(whole.packed[12:])) if whole in TRANSLATED else whole.packed[:8].hex()


def is_here(address: str) -> bool:
    """Return whether an address belongs to this machine."""
    whole = _plain(address)
    return whole is not None and whole.is_loopback


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address; None for any other text. An IPv6 socket that takes IPv4 too writes it as ::ffff:a.b.c.d."""
    try:
        whole = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(whole, "ipv4_mapped", None) or whole


def cors_headers(settings: Settings, request: Request, plan_id: str | None) -> dict[str, str]:
    """Return the headers that let a web page of an allowed origin read the answer."""
    if not settings.origins:
        return {}
    origin = request.headers.get("origin")
    allowed = settings.origins.get(plan_id or "", settings.origins.get("*", frozenset()))
    if origin is None or (origin not in allowed and "*" not in allowed):
        return {"Vary": "Origin"}  # so that a cache does not hand this answer to a page that may read it
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
        "Access-Control-Allow-Headers": "content-type, authorization, hush-batch, hush-key, hush-ticket",
        "Access-Control-Expose-Headers": "etag, retry-after",
        "Access-Control-Max-Age": "3600",
        "Vary": "Origin",
    }
