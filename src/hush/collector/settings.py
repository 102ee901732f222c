"""What an operator may set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["submit", "read", "admin"]
ROLES: tuple[Role, ...] = ("submit", "read", "admin")


@dataclass(frozen=True)
class Settings:
    """How a collector behaves. All sizes are in bytes, all times in seconds.

    `tokens`: SHA-256 hashes (hexadecimal) of the bearer tokens of each role. Without tokens for a role everybody has
    it, but nobody is an admin. `origins`: which web pages may send reports to a plan, by plan id; "*" stands for all
    other plans. `rate`: requests per second from one address, with bursts of `burst`; 0 for no limit. `check_ids`:
    look at every report id within batches too. `streams`: how many may be open at once, of which one address may have
    `streams_each`; addresses of this machine, where a proxy may stand for everybody, may have all. `health_timeout`:
    how long a commit may take before the collector counts as not ready; a look at the store holds for
    `health_every`. `stop_timeout`: how long commits may go on at the end; the rest was not acknowledged.
    """

    max_body: int = 16 << 20
    max_single: int = 1 << 16
    body_timeout: float = 30.0
    check_ids: bool = False
    tokens: Mapping[Role, frozenset[str]] = field(default_factory=dict)
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
    streams: int = 100
    streams_each: int = 20
    tickets: bool = False
    ticket_key: bytes = b""
