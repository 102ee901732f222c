"""The number of reports over time, in memory alone.

A store's tables have no times of reports on purpose: somebody who knows when a person connected could find their
report. (PostgreSQL writes them into its log all the same: docs/postgres.md.) So a timeline is coarse, is about all
people together, is never written to disk, and is gone when the process ends. Reports count at the time at which readers
see them (`hush.collector.reveals`), not when they arrive. Counts are held in at most 240 spans of equal width; when
they are full, neighbours are merged, and each span becomes twice as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

MAX_SPANS = 240
FIRST_WIDTH = 1.0  # seconds


class Timeline:
    """The reports of one plan that this process has shown, and how many there were before it."""

    def __init__(self, before: int, clock: Callable[[], float] = time.time, width: float = FIRST_WIDTH) -> None:
        self.before, self.width = before, max(width, FIRST_WIDTH)
        self._lock = threading.Lock()
        self.counts: list[int] = []
        self._clock, self.start = clock, clock()
        self._latest = self.start

    def note(self, reports: int) -> None:
        """Count reports that arrived now. If the clock was set back, time stands still here."""
        with self._lock:
            self._latest = max(self._latest, self._clock())
            index = int((self._latest - self.start) / self.width)
            while index >= MAX_SPANS:
                self._merge()
                index = int((self._latest - self.start) / self.width)
            self.counts += [0] * (index + 1 - len(self.counts))
            self.counts[index] += reports

    def _merge(self) -> None:
        pairs = [*self.counts, 0] if len(self.counts) % 2 else self.counts
        self.counts = [a + b for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
        self.width *= 2

    def spans(self) -> tuple[float, list[int]]:
        """Return the width of spans, and the reports in each."""
        with self._lock:
            return self.width, list(self.counts)

    @property
    def counted(self) -> int:
        """How many reports were noted."""
        return sum(self.counts)
