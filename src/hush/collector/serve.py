"""Running the collector: a socket, a process, and an end in good order.

SIGTERM and Ctrl-C stop it gracefully: no new connections, requests in flight are answered, what waits is committed.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

import uvicorn

from hush.collector.app import make_app
from hush.collector.settings import Settings
from hush.collector.stores import Store

BACKLOG = 2048
GRACE = 30  # seconds that requests in flight have
SWITCH = 0.0005  # seconds: the loop and the thread that commits take turns ten times as often as Python's default


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self._ready is not None and sockets:
            host, port = sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def run(
    store: Store,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    forwarded: str = "",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal says stop. Port 0 takes a free one; `forwarded` are proxies that say who a client is."""
    config = uvicorn.Config(
        make_app(store, settings),
        access_log=False,  # it would hold addresses and times of those who send reports
        log_level="warning",
        lifespan="on",
        proxy_headers=bool(forwarded),
        forwarded_allow_ips=forwarded or None,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=1 << 14,
    )
    sys.setswitchinterval(SWITCH)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    listening.listen(BACKLOG)
    _Server(config, ready).run([listening])
