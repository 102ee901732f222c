"""Who the client is behind proxies: what trusted ones say, and nothing that a client could say itself.

Each proxy appends the address that it saw to `X-Forwarded-For`. So the list is read from its end: every address that is
a trusted proxy is passed over, and the next is the client. What stands before it may be made up.

"*" trusts whoever connects, and nobody else: the client is then the last address of the list, which that proxy wrote.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from hush.errors import InputError

SCHEMES = {b"http": "http", b"https": "https"}
EVERYBODY = "*"


class Proxies:
    """The proxies that are trusted: addresses, networks, or "*", with commas between them."""

    def __init__(self, listed: str = "") -> None:
        self._names: set[str] = set()
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for name in filter(None, map(str.strip, listed.split(","))):
            try:
                if "/" in name:
                    self._networks.append(ipaddress.ip_network(name))
                    continue
                if name != EVERYBODY:
                    ipaddress.ip_address(name)
            except ValueError as error:
                raise InputError(f"a trusted proxy is an address, a network or *, not {name!r}: {error}") from None
            self._names.add(name)
        self.everybody = EVERYBODY in self._names

    def __bool__(self) -> bool:
        return bool(self._names or self._networks)

    def trusts(self, address: str) -> bool:
        """Return whether whoever connects from this address is a trusted proxy."""
        return self.everybody or self._listed(address)

    def _listed(self, address: str) -> bool:
        if address in self._names:
            return True
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        plain = getattr(found, "ipv4_mapped", None) or found  # as an IPv6 socket sees an address of IPv4
        return str(plain) in self._names or any(plain in network for network in self._networks)

    def read(self, scope: Any) -> None:
        """Change the client and the scheme of a request to what its proxy says."""
        client = scope["client"]
        if client is None or not self.trusts(client[0]):
            return
        hops: list[str] = []
        for name, value in scope["headers"]:
            if name == b"x-forwarded-for":
                hops += (hop.strip() for hop in value.decode("latin-1").split(","))
            elif name == b"x-forwarded-proto":
                scope["scheme"] = SCHEMES.get(value.strip().lower(), scope["scheme"])
        hops = [hop for hop in hops if hop]
        if hops:
            scope["client"] = (self._client(hops), 0)

    def _client(self, hops: list[str]) -> str:
        if not self.everybody:
            for hop in reversed(hops):
                if not self._listed(hop):
                    return hop
            return hops[0]
        return hops[-1]
