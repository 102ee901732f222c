"""The settings of a collector."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hush.collector.periods import Unit
from hush.collector.presentation import Presentation
from hush.errors import InputError

Role = Literal["submit", "submit-batch", "read", "admin"]
ROLES: tuple[Role, ...] = ("submit", "submit-batch", "read", "admin")
IMPLIED: Mapping[Role, frozenset[Role]] = {"submit-batch": frozenset({"submit"}), "admin": frozenset(ROLES)}
"""The roles that a role includes besides itself: a gateway fetches plans too, and an admin may do everything."""

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The host names that a browser on the same machine uses."""


_ADDRESS = re.compile(r"(https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)((?:/[A-Za-z0-9._~-]+)*)")


@dataclass(frozen=True)
class RelayNamed:
    """The relay that people send through, and its operator's word about every batch.

    `crowd`: how many people answer honestly in a batch, at least. `own`: how many reports the relay adds to it. One of
    them is given, or both. `delta`: the probability with which the promise that rests on them may fail.

    The address goes into a page and into its content security policy, so it has no character that could end either.
    """

    url: str
    delta: float
    crowd: int | None = None
    own: int | None = None

    def __post_init__(self) -> None:
        if _ADDRESS.fullmatch(self.url) is None:
            raise InputError(
                "the address of a relay is https://host or https://host:port, as https://relay.example.net"
            )
        if not 0 < self.delta < 1:
            raise InputError("delta of a relay must be a number between 0 and 1, such as 1e-6")
        if self.crowd is None and self.own is None:
            raise InputError(
                "say what the relay does: people who answer honestly in a batch, or own reports that it adds"
            )
        if self.crowd is not None and self.crowd < 2:
            raise InputError("the crowd of a relay must be 2 or more: a batch of one report hides nothing")
        if self.own is not None and self.own < 1:
            raise InputError("own reports of a relay must be 1 or more; leave them out if it adds none")

    @property
    def origin(self) -> str:
        """Its origin, as a content security policy names it."""
        return self._parts[1]

    @property
    def host(self) -> str:
        """Its host name, without a port."""
        return self._parts[2]

    @property
    def _parts(self) -> re.Match[str]:
        found = _ADDRESS.fullmatch(self.url)
        assert found is not None
        return found


@dataclass(frozen=True)
class Settings:
    """How a collector behaves. All sizes are in bytes, all times in seconds.

    `tokens`: SHA-256 hashes (hexadecimal) of the bearer tokens of each role. `open`: the roles that everybody has
    without a token; never that of an admin. A role that is neither open nor has a token is closed. `hosts`: the host
    names that requests may use, without ports and in lower case; `addresses`: numeric ones too. `origins`: which web
    pages may send reports to a plan, by plan id; "*" stands for all other plans. `rate`: reports per second from one
    address, with bursts of `burst`; 0 for no limit. A request counts as one report at least. `check_ids`: check every
    report id within batches too. `answer_timeout`: how long an answer may take to begin,
    after a body has had its time. `reveal_every`, `reveal_least`: numbers that readers see move at most once in
    `reveal_every` seconds, and by at least `reveal_least` reports; both 0: at once. `streams`: how many may be open at
    once. One address may have `streams_each` of them; addresses of this machine, where a proxy may stand for everybody,
    may have all. `health_timeout`: how long a commit may take before the collector counts as not ready; a check of the
    store holds for `health_every`. `stop_timeout`: how long commits may go on at the end. `connections`: how many may
    be open. One address may have `connections_each` of them, with the same exception, also for trusted proxies.
    `held_bytes`: how many bytes of unanswered requests are held in memory; at least `max_body`. `sealed_key`: the
    secret key that opens batches of a relay; without one none are taken. `older_keys`: those that were given out
    before, which open them too. `sealed_only`: nothing else is counted. `relay`: the relay that people send through.
    The form sends there, and the pages name its promise. `by`: count by day or week too; None stores no times.
    `presentations`: how the form presents plans, by plan id. `presented_trainings`: how it presents trainings, by their
    names. `images`: the pictures of presentations, by the names under which they are served. `embed`: the origins of
    sites that may show the form in a frame. `words`: the form's words in further languages, by tag. `preview`: the
    forms say that they are a preview, and send nothing.
    """

    max_body: int = 16 << 20
    max_single: int = 1 << 16
    body_timeout: float = 30.0
    answer_timeout: float = 120.0
    check_ids: bool = False
    tokens: Mapping[Role, frozenset[str]] = field(default_factory=dict)
    open: frozenset[Role] = frozenset()
    hosts: frozenset[str] = LOCAL
    addresses: bool = False
    origins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rate: float = 0.0
    burst: int = 50
    queue: int = 20_000
    queue_bytes: int = 256 << 20
    retry_after: int = 1
    health_timeout: float = 5.0
    health_every: float = 1.0
    stop_timeout: float = 10.0
    stream_interval: float = 1.0
    reveal_every: float = 60.0
    reveal_least: int = 20
    by: Unit | None = None
    streams: int = 100
    streams_each: int = 20
    tickets: bool = False
    ticket_key: bytes = b""
    connections: int = 8192
    connections_each: int = 512
    held_bytes: int = 256 << 20
    sealed_key: bytes = b""
    older_keys: tuple[bytes, ...] = ()
    sealed_only: bool = False
    relay: RelayNamed | None = None
    presentations: Mapping[str, Presentation] = field(default_factory=dict)
    presented_trainings: Mapping[str, Presentation] = field(default_factory=dict)
    images: Mapping[str, bytes] = field(default_factory=dict)
    embed: frozenset[str] = frozenset()
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    preview: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown roles, an open role admin, and negative numbers."""
        if not all(_ADDRESS.fullmatch(origin) and origin.count("/") == 2 for origin in self.embed):
            raise InputError("a site that shows the form is named by its origin, as https://www.example.org")
        unknown = {*self.tokens, *self.open} - set(ROLES)
        if unknown:
            raise InputError(f"a role is one of: {', '.join(ROLES)}")
        if "admin" in self.open:
            raise InputError("the role admin is never open: it needs a token")
        if not (0 <= self.reveal_every < math.inf and self.reveal_least >= 0):
            raise InputError("reveal_every and reveal_least must be 0 or more")
        if self.sealed_only and not self.sealed_key:
            raise InputError("sealed_only needs a sealed_key: nothing could be counted")
        if self.older_keys and not self.sealed_key:
            raise InputError("older_keys need a sealed_key: the one that is given out now")
        if self.sealed_key and self.tickets:  # anybody can send a sealed report, about any question
            raise InputError("a ticket names a report, and a relay hides its sender: take one of both")
        if self.relay is not None:
            if not self.sealed_only:  # whoever sends directly has the local promise alone
                raise InputError("relay needs sealed_only: its promise is false for reports that come directly")
            if self.relay.host in self.hosts - LOCAL:
                raise InputError("the relay and the collector have one host name: somebody else must run the relay")
