"""Which proxies may say whose request they hand on (`--forwarded`), and what they say.

A proxy adds the address that it sees to the end of the header X-Forwarded-For. The collector goes back from that end,
past all proxies that it knows, and takes the first address of somebody else. Whatever stands before was written by
that client. So the proxies must be known: if everybody counted as one, as with `*`, it would go past the client's own
address and take a text that the client made up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from hush.errors import InputError

KEPT = 1000  # addresses of proxies that are remembered
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")  # addresses of IPv4, as a socket of IPv6 sees them
SCHEMES = {b"http": "http", b"https": "https"}


class Proxies:
    """The proxies that are trusted: addresses and networks, with commas between them."""

    def __init__(self, listed: str = "") -> None:
        self._networks: list[Network] = []
        for name in filter(None, map(str.strip, listed.split(","))):
            try:
                found = None if name == "*" else _network(name)
            except ValueError:
                raise InputError(
                    f"{name!r} is no address and no network: a proxy is written as 127.0.0.1, a network as "
                    "172.30.77.0/24"
                ) from None
            if found is not None:
                self._networks.append(found)
            if found is None or _is_everybody(self._networks):
                raise InputError(
                    f"{listed} stands for everybody, and clients would choose their own addresses: name the proxy, or "
                    "its network as 172.30.77.0/24"
                )
        self._known: set[str] = set()  # proxies that were seen

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Return whether this is the address of a trusted proxy."""
        if not self._networks:
            return False
        if address in self._known:
            return True
        if not self._listed(address):
            return False
        if len(self._known) < KEPT:
            self._known.add(address)
        return True

    def _listed(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        plain = getattr(found, "ipv4_mapped", None) or found  # as an IPv6 socket sees an address of IPv4
        return any(plain in network for network in self._networks)

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
            scope["client"] = (next((hop for hop in reversed(hops) if not self.trusts(hop)), hops[0]), 0)


def _network(name: str) -> Network:
    """Return an address or network; one of IPv4 as such, however it is written."""
    found = ipaddress.ip_network(name)
    if isinstance(found, ipaddress.IPv6Network) and found.subnet_of(MAPPED):
        return ipaddress.IPv4Network((int(found.network_address) & 0xFFFFFFFF, found.prefixlen - MAPPED.prefixlen))
    return found


def _is_everybody(networks: Sequence[Network]) -> bool:
    """Return whether networks have all addresses together, of one of both kinds."""
    four = [one for one in networks if isinstance(one, ipaddress.IPv4Network)]
    six = [one for one in networks if isinstance(one, ipaddress.IPv6Network)]
    together: list[Network] = [*ipaddress.collapse_addresses(four), *ipaddress.collapse_addresses(six)]
    return any(one.prefixlen == 0 for one in together)
