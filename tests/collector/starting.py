"""A collector in a process of its own that notes what its first requests load, compile and hold up.

`python -m tests.collector.starting FOLDER TWIN` serves the store of a folder. It prints its address, and at its end one
line of JSON (`Noted`). A twin is a collector as it would be without a part of its preparation.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numba.core.dispatcher import Dispatcher

from hush.collector import formats, serve
from hush.collector.http.preparing import Preparing
from hush.collector.settings import LOCAL, Settings
from hush.collector.stores.sqlite import SqliteStore

PIECES, TRIES = 3000, 5


class Noted(TypedDict):
    """What happened from when the collector said that it listens until it ended."""

    modules: list[str]  # that were imported
    compiled: list[str]  # kernels, as often as they were compiled or loaded for another type of array
    longest: float  # callback of the loop, in units of about five milliseconds of processor time
    looked_at: float  # the share of all objects that a search for garbage looks at


def unit() -> float:
    """Return how long a fixed piece of work takes here: about five milliseconds of processor time."""
    work = [{"number": i, "text": f"text {i}"} for i in range(PIECES)]
    found = []
    for _ in range(TRIES):
        start = time.thread_time()
        json.dumps(work)
        found.append(time.thread_time() - start)
    return min(found)


def kernels() -> list[str]:
    """Return the names of all kernels, each as often as there are types of arrays that it is compiled for."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("hush.batch.")]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return [kernel.py_func.__name__ for kernel in found.values() for _ in kernel.signatures]


def views(plan: Any, body: bytes, rows: int) -> dict[str, Any]:
    """Return packed columns as views of the body, which cannot be written to: as it was."""
    found, start = {}, formats.HEADER
    for name, kind in formats._types(plan).items():
        found[name] = np.frombuffer(body, dtype=kind, count=rows, offset=start)
        start += rows * kind.itemsize
    return found


def main(folder: str, twin: str) -> None:
    """Serve until a signal to stop."""
    scale, real, found = unit(), asyncio.events.Handle._run, [0.0]
    before: dict[str, Any] = {}

    def run(handle: asyncio.Handle) -> None:
        listening, start = bool(before), time.thread_time()
        real(handle)
        if listening:
            found.append((time.thread_time() - start) / scale)

    def ready(address: str) -> None:
        before.update(modules=set(sys.modules), kernels=kernels())
        if twin == "views":
            formats._columns = views
        print(address, flush=True)

    if twin == "unprepared":
        Preparing.load = lambda self: None  # type: ignore[method-assign]
    elif twin == "unfrozen":
        serve._settle = lambda: None
    settings = Settings(
        open=frozenset(["submit", "submit-batch", "read"]), hosts=LOCAL, reveal_every=0.0, reveal_least=0
    )
    server = serve.make_server(SqliteStore(Path(folder) / "hush.db"), settings, ready=ready)
    server.loop_factory = asyncio.new_event_loop  # whose handles can be watched
    setattr(asyncio.events.Handle, "_run", run)  # noqa: B010 - for mypy, a method has another type
    serve.run_server(server, "127.0.0.1", 0)
    compiled = kernels()
    for name in before["kernels"]:
        compiled.remove(name)
    seen = len(gc.get_objects())
    noted: Noted = {
        "modules": sorted(set(sys.modules) - before["modules"]),
        "compiled": compiled,
        "longest": max(found),
        "looked_at": seen / (seen + gc.get_freeze_count()),
    }
    print(json.dumps(noted))


if __name__ == "__main__":
    main(*sys.argv[1:])
