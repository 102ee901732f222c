"""Running the collector: a socket, a process, and an orderly end.

SIGTERM and Ctrl-C stop it gracefully: it takes no new connections, answers requests in flight, and commits the queue.
The time for this is bounded, even if something hangs: all acknowledged reports are durable by then.
"""

from __future__ import annotations

import errno
import gc
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette

from hush.collector.http.app import make_app
from hush.collector.http.bounds import SPARE_FILES, Bounds
from hush.collector.http.protocol import Protocol
from hush.collector.keys import settle
from hush.collector.settings import Settings
from hush.collector.stores.base import Store

logger = logging.getLogger("hush.collector")

BACKLOG = 2048
GRACE = 30  # seconds that requests in flight have
LAST = 30  # seconds for everything else after that; then the process ends in any case
SWITCH = 0.0005  # seconds: the loop and the thread that commits take turns ten times as often as Python's default


class _Server(uvicorn.Server):
    """A server that reports when it listens, and ends in order."""

    def __init__(self, config: uvicorn.Config, bounds: Bounds, ready: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self.bounds, self._ready = bounds, ready
        self.last: threading.Timer | None = None
        self.alone = False  # whether the process has no other purpose

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.alone:
            _settle()
        if self._ready is not None and sockets:
            host, port = sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams, which would go on for ever, then let the requests in flight be answered."""
        if self.last is not None:
            self.last.start()
        app: Any = self.config.app
        app.state.collector.end_streams()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal and drop it, so that an orderly stop has exit code 0."""
        with super().capture_signals():
            try:
                yield
            finally:
                self._captured_signals.clear()


def make_server(
    store: Store, settings: Settings, *, forwarded: str = "", ready: Callable[[str], None] | None = None
) -> _Server:
    """Return a server of a collector, which takes sockets."""
    settle(store, settings)
    return server_of(make_app(store, settings), settings, forwarded=forwarded, ready=ready)


def server_of(
    app: Starlette, settings: Settings, *, forwarded: str = "", ready: Callable[[str], None] | None = None
) -> _Server:
    """Return a server of an application. `forwarded`: proxies that are trusted to name the client's address.

    `app.state.collector` has the parts of it that the protocol calls (`hush.collector.http.direct`), and `end_streams`.
    """
    bounds = Bounds(settings, partial(is_among, proxies(forwarded)), files())
    protocol: Any = partial(Protocol, bounds=bounds)
    config = uvicorn.Config(
        app,
        access_log=False,  # it would hold the addresses of senders, and when they sent
        log_level="warning",
        lifespan="on",
        proxy_headers=bool(forwarded),
        forwarded_allow_ips=proxies(forwarded) or None,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,
        http=protocol,
        ws="none",
    )
    return _Server(config, bounds, ready)


def files(wanted: int = 0) -> int:
    """Return how many files this process may open, after asking for `wanted`; 0 if that is unknown."""
    try:
        import resource
    except ImportError:  # on Windows
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 0
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):  # some systems have less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return most
    return soft


def is_among(listed: str, address: str) -> bool:
    """Return whether a list has this address, or a network that contains it. "*" stands for all."""
    for name in filter(None, listed.split(",")):
        if name in ("*", address):
            return True
        with suppress(ValueError):
            if "/" in name and ipaddress.ip_address(address) in ipaddress.ip_network(name):
                return True
    return False


def proxies(forwarded: str) -> str:
    """Return the trusted proxies. IPv4 addresses are also listed as an IPv6 socket sees them: ::ffff:a.b.c.d."""
    given = [name.strip() for name in forwarded.split(",") if name.strip()]
    return ",".join([*given, *filter(None, map(_mapped, given))])


def _mapped(name: str) -> str:
    address, _, bits = name.partition("/")
    try:
        network = ipaddress.IPv4Network(name)
    except ValueError:  # an address of IPv6, a name, or everybody
        return ""
    return f"::ffff:{address}/{96 + network.prefixlen}" if bits else f"::ffff:{address}"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Port 0 takes a free one. Errors are worded for the operator."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        why = (error.strerror or str(error)).lower()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise OSError(error.errno, f"port {port} cannot be used: {why}; try --port 0") from None
        raise OSError(error.errno, f"the address {host} cannot be used: {why}") from None
    return listening


def run(
    store: Store,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    forwarded: str = "",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal to stop."""
    files(settings.connections + SPARE_FILES)
    run_server(make_server(store, settings, forwarded=forwarded, ready=ready), host, port)


def run_server(server: _Server, host: str, port: int) -> None:
    """Let a server listen until a signal to stop."""
    sys.setswitchinterval(SWITCH)
    server.last = threading.Timer(GRACE + LAST, _give_up)
    server.last.daemon = True
    server.alone = True
    try:
        server.run([listen(host, port)])
    finally:
        server.last.cancel()


def _settle() -> None:
    """Let Python never look again at what is loaded now, as it stays.

    Python looks through all objects for garbage from time to time, and everything else waits for that: 100 ms for the
    modules and kernels of a collector, in the loop more often than not.
    """
    gc.collect()
    gc.freeze()


def _give_up() -> None:
    """End the process when something hangs that cannot be interrupted, such as a disk."""
    logger.error("the collector did not end within %d seconds, and is killed", GRACE + LAST)
    os._exit(1)
