"""A bound for servers that do not answer at all: their sessions are cut, and the waiting threads get an error.

The limits that a server keeps by itself do not help when it is stopped, or when the machine between is gone and the
system has not noticed. One thread looks once in a while whether a session is overdue. It closes the line and not the
session, which belongs to the thread that waits: that one gets an error, as after a restart of the server.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from hush.errors import StoreError

EVERY = 0.5  # seconds between looks


class Line(Protocol):
    """A session that can be cut."""

    def fileno(self) -> int:
        """Return the number of the socket."""


class Watch:
    """Looks after the sessions that wait for an answer."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[Line, float]] = {}
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def over(self, line: Line, seconds: float) -> Iterator[None]:
        """Cut a session if the work in this block takes longer than `seconds`."""
        with self._change:
            if self._closed:
                raise StoreError("this store is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="hush-watch", daemon=True)
                self._thread.start()
            self._due[id(line)] = line, time.monotonic() + seconds
        try:
            yield
        finally:
            with self._change:  # it is not being cut, and may be closed
                del self._due[id(line)]

    def _look(self) -> None:
        with self._change:
            while not self._closed:
                self._change.wait(EVERY)
                now = time.monotonic()
                for line, due in self._due.values():
                    if now > due:
                        _cut(line)

    def close(self) -> None:
        """Cut all sessions that still wait: their work was not acknowledged."""
        with self._change:
            self._closed = True
            self._change.notify()
            for line, _ in self._due.values():
                _cut(line)


def _cut(line: Line) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(line.fileno())) as other:
        other.shutdown(socket.SHUT_RDWR)
