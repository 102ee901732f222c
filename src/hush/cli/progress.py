"""A bar on the standard error for work of more than two seconds, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

PATIENCE = 2.0  # seconds


@contextmanager
def bar(stage: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Yield a function to call with the rows done, their total, and the current work."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task(stage, total=None)
    # A clock starts it, not the first rows: they may come late, after something was compiled.
    clock = Timer(PATIENCE, shown.start)
    clock.daemon = True
    clock.start()
    try:
        yield lambda done, total, stage: shown.update(task, completed=done, total=total, description=stage)
    finally:
        clock.cancel()
        clock.join()
        shown.stop()
