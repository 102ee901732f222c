"""Running the collector: a socket, a process, and an orderly end (`hush.collector.http.server`).

The time of each step is bounded, even if something hangs: all acknowledged reports are durable by then.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from starlette.applications import Starlette

from hush.collector.http.app import make_app
from hush.collector.http.bounds import SPARE_FILES, Bounds
from hush.collector.http.forwarded import Proxies
from hush.collector.http.server import BACKLOG, Server
from hush.collector.keys import settle
from hush.collector.settings import Settings
from hush.collector.stores.base import Store

logger = logging.getLogger("hush.collector")

NOTICE = 7.0
"""Seconds: a proxy that asks every two seconds, and believes the third answer, has noticed by then (HAProxy's own
defaults), and one more."""
GRACE = 30  # seconds that requests in flight have
LAST = 30  # seconds for everything else after that; then the process ends in any case
SWITCH = 0.0005  # seconds: the loop and the thread that commits take turns ten times as often as Python's default


def make_server(
    store: Store,
    settings: Settings,
    *,
    forwarded: str = "",
    notice: float = 0.0,
    ready: Callable[[str], None] | None = None,
) -> Server:
    """Return a server of a collector, which takes sockets."""
    settle(store, settings)
    return server_of(make_app(store, settings), settings, forwarded=forwarded, notice=notice, ready=ready)


def server_of(
    app: Starlette,
    settings: Settings,
    *,
    forwarded: str = "",
    notice: float = 0.0,
    ready: Callable[[str], None] | None = None,
) -> Server:
    """Return a server of an application. `forwarded`: proxies that are trusted to name the client's address.

    `notice`: seconds for which it serves on after SIGTERM, so that proxies notice.
    """
    proxies = Proxies(forwarded)
    return Server(app, Bounds(settings, proxies.trusts, files()), proxies, notice=notice, grace=GRACE, ready=ready)


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
    notice: float = 0.0,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal to stop."""
    files(settings.connections + SPARE_FILES)
    run_server(make_server(store, settings, forwarded=forwarded, notice=notice, ready=ready), host, port)


def run_server(server: Server, host: str, port: int) -> None:
    """Let a server listen until a signal to stop."""
    sys.setswitchinterval(SWITCH)
    last = threading.Timer(GRACE + LAST, _give_up)
    last.daemon = True
    server.ending, server.ready = last.start, _settled(server.ready)
    try:
        server.run([listen(host, port)])
    finally:
        last.cancel()


def _settled(ready: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return what is called when the server listens: here the process has no other purpose."""

    def settled(address: str) -> None:
        _settle()
        if ready is not None:
            ready(address)

    return settled


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
