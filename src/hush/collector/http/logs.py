"""Bounds on a collector's log: clients can neither fill the disk with lines nor forge lines.

The kind of a line is its text without the values filled in. A few lines of each kind are written in a second; the
others are counted, and the next line of that kind gives their number. Parts of messages may come from clients, so
control characters, line ends and everything that is not ASCII become escapes.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable

LOGGERS = ("hush.collector", "hush.relay", "asyncio")
LINES = 5  # of a kind, in a second
KINDS = 1000  # kinds that are remembered; all others share one bound
LONGEST = 2000  # characters of a value that is filled in


class Bounded(logging.Filter):
    """Lets a few lines of each kind pass in every second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._kinds: dict[str, tuple[int, int, int]] = {}  # the second, lines in it, and those left out since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written, after changing it to its safe form."""
        kind, second = str(record.msg), int(self._clock())
        with self._lock:
            if kind not in self._kinds and len(self._kinds) >= KINDS:
                kind = ""
            since, lines, left = self._kinds.get(kind, (second, 0, 0))
            if second == since and lines >= LINES:
                self._kinds[kind] = since, lines, left + 1
                return False
            self._kinds[kind] = second, lines + 1 if second == since else 1, 0
        more = f" ({left} more like it were left out)" if left else ""
        if record.args:
            record.msg, record.args = visible(record.getMessage()), ()
        # A formatter uses the text of an error if it is set. Its lines are indented, unlike those of any record.
        if record.exc_info and record.exc_info[0] is not None:
            told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            record.exc_text = "\n".join(f"  {visible(line)}" for line in told.split("\n"))
        record.msg = f"{record.msg}{more}"
        return True


def visible(text: str) -> str:
    """Return a text as one line of ASCII, cut if it is too long."""
    written = text.encode("unicode_escape").decode("ascii")
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}... ({len(written)} characters)"


def bound() -> None:
    """Bound the log lines of a collector in this process."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(held, Bounded) for held in logger.filters):
            logger.addFilter(Bounded())
