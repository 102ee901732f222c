"""A progress bar for work of more than two seconds, if somebody is watching and rich is installed."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

PATIENCE = 2.0  # seconds


class Progress:
    """Shows how many rounds are done. `wanted`: True, False, or None to show it only if stderr is a terminal."""

    def __init__(self, what: str, total: int, wanted: bool | None) -> None:
        self._what, self._total = what, total
        on = sys.stderr.isatty() if wanted is None else wanted
        self._on = on and find_spec("rich") is not None
        self._start = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def advance(self) -> None:
        """Count one more round."""
        self._done += 1
        if not self._on or time.monotonic() - self._start < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
