"""Running a relay: its parts, a socket and an orderly end, as a collector has them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from hush.collector.http.bounds import SPARE_FILES
from hush.collector.serve import files, run_server, server_of
from hush.collector.settings import Settings
from hush.core.plan import Plan
from hush.device.client import Client
from hush.device.network import Server
from hush.errors import InputError
from hush.relay.app import Relay
from hush.relay.asking import ASK, Asker
from hush.relay.forwarding import Forwarder, Mix
from hush.relay.store import RelayStore

logger = logging.getLogger("hush.relay")

MAX_BODY = 1 << 20  # bytes of a request
TIMEOUT = 120.0  # seconds: a collector opens a large batch before it answers
PATIENCE = 10.0  # seconds for an answer whether a plan is closed
EVERY = 5.0  # seconds between two looks whether enough reports are there


def make_server(
    store: RelayStore,
    plans: Sequence[Plan],
    mix: Mix,
    collector: str,
    settings: Settings,
    *,
    token: str | None = None,
    every: float = EVERY,
    ask: float = ASK,
    forwarded: str = "",
    notice: float = 0.0,
    ready: Callable[[str], None] | None = None,
) -> Any:
    """Return a server of a relay, which takes sockets."""
    if not plans:
        raise InputError("a relay needs a plan")
    for plan in plans:
        mix.check(plan)
        if strange := store.strange(plan.id):
            logger.warning("%d reports wait for a relay with another key (plan %s)", strange, plan.id[:12])
    client = Client(collector, token=token, timeout=TIMEOUT, attempts=1)
    asker = Asker(store, plans, mix.key, Server("collector", collector, token, PATIENCE, 1, 0.0), ask)
    app = Relay(store, plans, mix.key, settings, Forwarder(store, plans, mix, client, asker, every), asker).app()
    return server_of(app, settings, forwarded=forwarded, notice=notice, ready=ready)


def run(
    store: RelayStore,
    plans: Sequence[Plan],
    mix: Mix,
    collector: str,
    settings: Settings,
    *,
    host: str,
    port: int,
    **named: Any,
) -> None:
    """Serve until a signal to stop. Named arguments are those of `make_server`."""
    files(settings.connections + SPARE_FILES)
    run_server(make_server(store, plans, mix, collector, settings, **named), host, port)
