"""A collector under mixed load for an hour: `python benchmarks/load.py --minutes 60 --keep`.

Single reports, batches and readers come at once, from this process, in closed loops; somebody else asks `/healthz`
twenty times a second, and how long that takes shows whatever holds up the loop. Every second of the run is summed up:
requests, their 99 % latency, the longest health check, and the memory of the server. `--singles N` sends single reports
alone until there are N of them: memory must reach a plateau beside the ids, which take 12 bytes each.

`--keep` writes docs/measured/load.json, with `--singles` singles.json, in which neighbouring seconds are put together:
of requests the sum, of their 99 % latency the median, of the longest and of memory the largest. docs/pictures.py draws
it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from census import Census, schema
from measure import machine, progress, write

from collector import BATCH, packed_batches, server, singles
from hush import Plan, design

PACE = 0.05  # seconds between two health checks
READERS = ("estimates", "estimates?format=csv", "tally", "margins", "timeline")
SAID = 30.0  # seconds between two lines of progress
KEPT = 240  # rows of a file that is kept, at most
FIRST = 5  # seconds in which the collector still warms up


class Loop(asyncio.Protocol):
    """One connection with one request in flight, and a pause between two."""

    def __init__(self, make: Callable[[], bytes], found: list[tuple[float, float]], pause: float) -> None:
        self._make, self._found, self._pause = make, found, pause
        self._buffer = b""
        self._transport: Any = None
        self.refused = 0

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if not self._transport.is_closing():
            self._start = time.perf_counter()
            self._transport.write(self._make())

    def data_received(self, data: bytes) -> None:
        """Take an answer, whose head says how long its body is."""
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if len(body) < int(fields[b"content-length"]):
            return
        self._buffer = b""
        now = time.perf_counter()
        self.refused += not head.startswith((b"HTTP/1.1 2",))
        self._found.append((now, now - self._start))
        if self._pause:
            asyncio.get_running_loop().call_later(self._pause, self._send)
        else:
            self._send()


def memory(pid: int) -> float:
    """Return how many MiB a process has in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def asked(path: str) -> Callable[[], bytes]:
    """Return a maker of one request."""
    text = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    return lambda: text


async def run(port: int, pid: int, plan: Plan, minutes: float, wanted: int) -> dict[str, Any]:
    """Load a collector, and sum up every second."""
    columns = Census(BATCH).draw(BATCH)
    loop = asyncio.get_running_loop()
    found: dict[str, list[tuple[float, float]]] = {"singles": [], "batches": [], "readers": [], "health": []}
    connections: list[tuple[Any, Any]] = []

    async def begin(kind: str, make: Callable[[], bytes], count: int, pause: float = 0.0) -> None:
        for _ in range(count):
            connections.append(await loop.create_connection(partial(Loop, make, found[kind], pause), "127.0.0.1", port))

    alone, together = singles(plan, columns), packed_batches(plan, columns)  # which takes a while
    start = said = time.perf_counter()
    await begin("health", asked("/healthz"), 1, PACE)
    await begin("singles", alone, 64 if wanted else 32)
    if not wanted:
        await begin("batches", together, 4, 0.01)
        for path in READERS:
            await begin("readers", asked(f"/plans/{plan.id}/{path}"), 2, 0.1)
    rows: list[dict[str, float]] = []
    counted = 0
    while time.perf_counter() - start < 60 * minutes or counted < wanted:
        await asyncio.sleep(1.0)
        row: dict[str, float] = {"second": round(time.perf_counter() - start, 1), "rss": round(memory(pid), 1)}
        for kind, seen in found.items():
            times = [took * 1e3 for _, took in seen]
            seen.clear()
            counted += len(times) if kind == "singles" else 0
            row[kind] = len(times)
            row[f"{kind}_p99"] = round(float(np.quantile(times, 0.99)), 2) if times else 0.0
            row[f"{kind}_most"] = round(max(times, default=0.0), 2)
        rows.append(row)
        if time.perf_counter() - said > SAID:
            said = time.perf_counter()
            progress(f"{row['second']:.0f} s, {counted:,} single reports, {row['rss']:.0f} MiB")
    refused = sum(protocol.refused for _, protocol in connections)
    for transport, _ in connections:
        transport.close()
    return {"refused": refused, **summary(rows), "rows": rows}


def reduced(rows: list[dict[str, float]], most: int = KEPT) -> list[dict[str, float]]:
    """Return rows of neighbouring seconds put together."""
    width = -(-len(rows) // most)
    return [_together(rows[start : start + width]) for start in range(0, len(rows), width)]


def _together(some: list[dict[str, float]]) -> dict[str, float]:
    found = {}
    for name in some[0]:
        values = [row[name] for row in some]
        if name in ("singles", "batches", "readers", "health"):
            found[name] = sum(values)
        else:
            found[name] = round(float(np.median(values)), 2) if name.endswith("_p99") else max(values)
    return found


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return what a whole run comes to."""
    later = rows[FIRST:] or rows
    return {
        "seconds": rows[-1]["second"],
        "p99": round(float(np.median([row["singles_p99"] for row in rows])), 1),
        "worst_p99": max(row["singles_p99"] for row in later),
        "health": max(row["health_most"] for row in later),
        "rss_first": later[0]["rss"],
        "rss_half": rows[len(rows) // 2]["rss"],
        "rss_last": rows[-1]["rss"],
        **{kind: sum(row[kind] for row in rows) for kind in ("singles", "batches", "readers")},
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--singles", type=int, default=0, help="send single reports alone, so many")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/load.json, or singles.json")
    options = parser.parse_args()
    plan = design(schema(), 1.0, title=f"load {secrets.token_hex(4)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server(plan, folder, f"sqlite://{folder / 'store.db'}", "--reveal-every", "5s") as at:
            minutes = 0.0 if options.singles else options.minutes
            results = {"machine": machine(), **asyncio.run(run(*at, plan, minutes, options.singles))}
    print(f"{results['singles']:,} single reports in {results['seconds']:.0f} s, {results['refused']} refused")
    print(f"p99 of single reports, median over seconds: {results['p99']} ms")
    print(f"longest health check: {results['health']:.1f} ms, after the first {FIRST} seconds")
    print("memory: {rss_first:.0f} MiB at first, {rss_half:.0f} half-way, {rss_last:.0f} at the end".format(**results))
    results["wanted"] = options.singles
    results["load_after"] = round(os.getloadavg()[0], 2)
    name = "singles" if options.singles else "load"
    write(name, results | {"rows": reduced(results["rows"])}, options.keep)


if __name__ == "__main__":
    main()
