"""Log lines of a collector, in bounds: nobody fills the disk with them, or writes into them what others take for lines.

A kind of line is its text without what is filled in. Of each kind a few are written in a second; the others are
counted, and the next line of that kind says how many they were. What a line holds is written visibly: control
characters, line ends and whatever is not ASCII become escapes, as parts of messages may come from clients.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable

LOGGERS = ("hush.collector", "uvicorn.error")
LINES = 5  # of a kind, in a second
KINDS = 1000  # that are remembered: more are bounded together
LONGEST = 2000  # characters of what is filled in


class Bounded(logging.Filter):
    """Lets a few lines of each kind pass in every second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._kinds: dict[str, tuple[int, int, int]] = {}  # the second, lines in it, and those left out since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written, as it may be written then."""
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
        # A formatter takes the text of an error that is there already. Its lines stand further in than any record.
        if record.exc_info and record.exc_info[0] is not None:
            told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            record.exc_text = "\n".join(f"  {visible(line)}" for line in told.split("\n"))
        record.msg = f"{record.msg}{more}"
        return True


def visible(text: str) -> str:
    """Return a text that is one line, of ASCII, and not endless."""
    written = text.encode("unicode_escape").decode("ascii")
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}... ({len(written)} characters)"


def bound() -> None:
    """Bound the log lines of a collector in this process."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(held, Bounded) for held in logger.filters):
            logger.addFilter(Bounded())
