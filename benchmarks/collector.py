"""How many reports a collector takes per second, durably, over real sockets: `python benchmarks/collector.py`.

The server is a process of its own, on loopback, with a store in a temporary folder; this process sends. Each loop is
bounded: so many connections, each with one request in flight, for some seconds. Every answer must be a 202, which is
sent after the commit is on disk. On two cores the sender takes one of them.

Figures depend on the machine, so the yardsticks of the same run stand beside them: fsyncs of a small append, copies in
memory, and, in turns with single reports, the two endpoints of `collector_peers.py`. The processor time of the server
and of the sender stands beside every rate: it says which of the two is slow, though others raise it too. Where
PostgreSQL is installed, a collector on it runs in turns with pgbench, which inserts rows of the same size. `--full`
lasts longer and goes on to 20 million stored ids; `--store URL` measures another PostgreSQL; `--keep` writes
docs/measured/collector.json. `--only pgbench` measures that alone, and `--keep` then leaves the other figures there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from census import Census, schema
from measure import MEASURED, ROOT, copying, machine, progress, race, write

from hush import Plan, batch, design, randomise
from hush.collector import formats

BATCH = 1000
CONNECTIONS = {"batches": 16, "single": 64}
PEERED, TURNS = (16, 64), 5
PG_TURNS = 3
PGBENCH = r"""
\set high random(1, 9223372036854775806)
\set low random(1, 9223372036854775806)
insert into reports values (int8send(:high) || int8send(:low), convert_to(repeat('x', SIZE), 'UTF8'));
"""
IDS = [0, 1_000_000, 5_000_000, 20_000_000]
PIECE = 1_000_000
RUN = 200  # ids of one commit, about


class Sender(asyncio.Protocol):
    """One connection with one request in flight."""

    def __init__(
        self, make: Callable[[], bytes], until: float, latencies: list[float], done: asyncio.Future[int]
    ) -> None:
        self._make, self._until, self._latencies, self._done = make, until, latencies, done
        self._count = 0
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._start = time.perf_counter()
        self._transport.write(self._make())

    def data_received(self, data: bytes) -> None:
        """Take an answer: its head and its body may come apart."""
        self._buffer += data
        if b"\r\n\r\n" not in self._buffer or not self._buffer.endswith(b"}"):
            return
        data, self._buffer = self._buffer, b""
        now = time.perf_counter()
        if not data.startswith(b"HTTP/1.1 202"):
            self._done.set_exception(RuntimeError(f"not accepted: {data[:300]!r}"))
            self._transport.close()
            return
        self._latencies.append(now - self._start)
        self._count += 1
        if now < self._until:
            self._send()
        else:
            self._transport.close()
            self._done.set_result(self._count)


def measured(at: Served, make: Callable[[], bytes], connections: int, seconds: float) -> dict[str, float]:
    """Load a server; return rates, latencies, and the processor time of both sides per request."""
    server, sender = spent(at.pid), time.process_time()
    found = asyncio.run(_load(at.port, make, connections, seconds))
    found["server_us"] = round((spent(at.pid) - server) / found["requests"] * 1e6, 1)
    found["sender_us"] = round((time.process_time() - sender) / found["requests"] * 1e6, 1)
    return found


async def _load(port: int, make: Callable[[], bytes], connections: int, seconds: float) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    start = time.perf_counter()
    waiting = []
    for _ in range(connections):
        done: asyncio.Future[int] = loop.create_future()
        await loop.create_connection(partial(Sender, make, start + seconds, latencies, done), "127.0.0.1", port)
        waiting.append(done)
    total = sum(await asyncio.gather(*waiting))
    passed = time.perf_counter() - start
    found = np.sort(np.array(latencies)) * 1e3
    quantiles = {f"p{q:g}": round(float(np.quantile(found, q / 100)), 2) for q in (50, 90, 99, 99.9)}
    return {"per_second": round(total / passed, 1), "requests": total, **quantiles}


def spent(pid: int) -> float:
    """Return how many seconds of a processor a process has used; 0 on systems that do not say."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(pid: int) -> None:
    """Wait until a process that has just started does nothing: a collector prepares what the first batch needs."""
    if not spent(pid):  # on other systems
        time.sleep(5)
        return
    quiet, last = 0, -1.0
    while quiet < 3:
        now = spent(pid)
        quiet, last = (quiet + 1 if now - last <= 0.011 else 0), now
        time.sleep(0.2)


class Served(NamedTuple):
    """Where a server listens, and which process it is."""

    port: int
    pid: int


@contextmanager
def server(plan: Plan, folder: Path, store: str, *options: str) -> Iterator[Served]:
    """Run a collector."""
    (folder / "plan.json").write_text(plan.to_json())
    command = [
        sys.executable,
        "-m",
        "hush",
        "serve",
        str(folder / "plan.json"),
        "--store",
        store,
        "--port",
        "0",
        "--open",
        "submit,submit-batch,read",
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)", process.stdout.readline())
        assert found is not None, "the collector did not start"
        settle(process.pid)
        yield Served(int(found[1]), process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _head(plan: Plan, kind: str, size: int, extra: str = "") -> bytes:
    return (
        f"POST /plans/{plan.id}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {size}\r\n{extra}\r\n"
    ).encode()


def packed_batches(plan: Plan, columns: dict[str, Any]) -> Callable[[], bytes]:
    """Return a maker of requests with the same reports and ever new batch ids."""
    body = bytearray(formats.pack(plan, batch.randomise(plan, columns), bytes(16)))
    head = _head(plan, formats.COLUMNS, len(body))
    place = slice(formats.HEADER - 20, formats.HEADER - 4)

    def make() -> bytes:
        body[place] = os.urandom(16)
        return head + bytes(body)

    return make


def arrow_batches(plan: Plan, columns: dict[str, Any], ids: bool) -> Callable[[], bytes]:
    """Return a maker of Arrow requests. With ids every request has reports of its own, made beforehand in turns."""
    import io

    import pyarrow as pa

    def stream() -> bytes:
        table = batch.randomise(plan, columns, ids=ids)
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        return out.getvalue()

    held = stream()

    def make() -> bytes:
        body = stream() if ids else held
        return _head(plan, formats.ARROW, len(body), f"Hush-Batch: {secrets.token_hex(16)}\r\n") + body

    return make


def singles(plan: Plan, columns: dict[str, Any]) -> Callable[[], bytes]:
    """Return a maker of single JSON reports with ever new ids."""
    records = [{name: column[i].item() for name, column in columns.items()} for i in range(100)]
    texts = []
    for record in records:
        text = randomise(plan, record).to_json()
        at = text.index('"id":"') + 6
        texts.append((text[:at].encode(), text[at + 32 :].encode()))
    state = [0]

    def make() -> bytes:
        state[0] = (state[0] + 1) % len(texts)
        before, after = texts[state[0]]
        body = before + secrets.token_hex(16).encode() + after
        return _head(plan, formats.JSON, len(body)) + body

    return make


def fsyncs(folder: Path, seconds: float = 1.0) -> float:
    """Return how many small appends per second this disk makes durable, one after the other."""
    count, start = 0, time.perf_counter()
    with (folder / "fsyncs").open("wb") as file:
        while time.perf_counter() - start < seconds:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            count += 1
    return round(count / (time.perf_counter() - start), 1)


def fill_ids(path: Path, have: int, want: int) -> None:
    """Put random ids into a store that is not running, as if so many reports had come before."""
    database = sqlite3.connect(path)
    owner = database.execute("select number from plans").fetchone()[0]
    for start in range(have, want, PIECE):
        ids = sorted(os.urandom(16) for _ in range(min(PIECE, want - start)))
        runs = [b"".join(ids[i :: len(ids) // RUN or 1]) for i in range(len(ids) // RUN or 1)]  # every run is sorted
        with database:
            database.executemany("insert into runs (owner, ids) values (?, ?)", ((owner, run) for run in runs))
        progress(f"  {start + len(ids):,} ids")
    database.execute("pragma wal_checkpoint(truncate)")
    database.close()


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--full", action="store_true", help="longer loops, and up to 20 million stored ids")
    parser.add_argument("--store", help="a PostgreSQL URL, instead of SQLite in a temporary folder")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/collector.json")
    parser.add_argument("--only", choices=["pgbench"], help="measure this alone")
    options = parser.parse_args()
    seconds = 10.0 if options.full else options.seconds
    census = Census(BATCH)
    columns = census.draw(BATCH)
    plan = design(schema(), 1.0, title=f"benchmark {secrets.token_hex(4)}")
    if options.only:
        with tempfile.TemporaryDirectory() as name:
            found = beside_pgbench(plan, columns, Path(name), seconds)
        if options.keep:
            write("collector", json.loads((MEASURED / "collector.json").read_text()) | {"pgbench": found}, True)
        return
    results: dict[str, Any] = {"machine": machine(), "batch": BATCH, "seconds": seconds, "cases": {}, "ids": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = options.store or f"sqlite://{folder / 'store.db'}"
        results["fsyncs_per_second"] = fsyncs(folder)
        results["copy_gb_per_second"] = round(8e-3 / race({"copy": copying(1_000_000)}, 5)["copy"], 2)  # 8 MB
        cases = [
            ("packed batches", packed_batches(plan, columns), CONNECTIONS["batches"]),
            ("Arrow batches", arrow_batches(plan, columns, False), CONNECTIONS["batches"]),
            ("single JSON reports", singles(plan, columns), CONNECTIONS["single"]),
        ]
        with server(plan, folder, url) as at:
            for label, make, connections in cases:
                progress(label)
                measured(at, make, connections, seconds / 4)  # warms up
                found = measured(at, make, connections, seconds)
                found["reports_per_second"] = found["per_second"] * (1 if label.startswith("single") else BATCH)
                results["cases"][label] = found
                say(label, found)
        results["peers"] = against(plan, columns, folder, options.store, seconds / 2)
        if options.store is None:
            for label, flag in (
                ("Arrow batches, ids not checked", ()),
                ("Arrow batches, every id checked", ("--check-ids",)),
            ):
                progress(label)
                other = folder / label.replace(" ", "-")
                other.mkdir()
                with server(plan, other, f"sqlite://{other / 'store.db'}", *flag) as at:
                    found = measured(at, arrow_batches(plan, columns, True), 4, seconds)
                found["reports_per_second"] = found["per_second"] * BATCH
                results["cases"][label] = found
                print(f"{label}: {found['reports_per_second']:,.0f} reports/s (the sender makes new reports meanwhile)")
            results["ids"] = by_ids(plan, columns, folder, seconds, IDS if options.full else IDS[:2])
            results["pgbench"] = beside_pgbench(plan, columns, folder, seconds / 2)
    write("collector", results, options.keep)
    print(json.dumps(results["machine"]))


@contextmanager
def peer(name: str) -> Iterator[Served]:
    """Run an endpoint that hush is compared with."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen([sys.executable, Path(__file__).parent / "collector_peers.py", name, str(port)])  # noqa: S603
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Served(port, process.pid)
    finally:
        process.terminate()
        process.wait(60)


def against(plan: Plan, columns: dict[str, Any], folder: Path, store: str | None, seconds: float) -> dict[str, Any]:
    """Measure single reports in turns with the peers: medians, and their ratios."""
    make = singles(plan, columns)
    rows: dict[str, Any] = {}
    for connections in PEERED:
        found: dict[str, list[float]] = {"nothing": [], "group": [], "hush": []}
        spread: list[float] = []
        costs: dict[str, list[float]] = {name: [] for name in found}
        for turn in range(TURNS):
            for name, rates in found.items():
                progress(f"{name}, {connections} connections, turn {turn + 1} of {TURNS}")
                place = folder / f"{name}-{connections}-{turn}"
                place.mkdir()
                url = store or f"sqlite://{place / 'store.db'}"
                with server(plan, place, url) if name == "hush" else peer(name) as at:
                    measured(at, make, connections, seconds / 4)  # warms up
                    one = measured(at, make, connections, seconds)
                rates.append(one["per_second"])
                costs[name].append(one["server_us"])
                if name == "hush":
                    spread.append(one["p99"] / one["p50"])
        middle = {name: float(np.median(rates)) for name, rates in found.items()}
        rows[str(connections)] = {
            **middle,
            "to_nothing": round(middle["hush"] / middle["nothing"], 2),
            "to_group": round(middle["hush"] / middle["group"], 2),
            "p99_to_p50": round(float(np.median(spread)), 2),
            "server_us": {name: round(float(np.median(some)), 1) for name, some in costs.items()},
        }
        print(f"{connections} connections: {rows[str(connections)]}")
    return rows


def beside_pgbench(plan: Plan, columns: dict[str, Any], folder: Path, seconds: float) -> dict[str, Any]:
    """Measure single reports on PostgreSQL in turns with pgbench, which inserts as many bytes; nothing without it."""
    sys.path.insert(0, str(ROOT))
    from tests.collector import postgres

    binaries = postgres.find_binaries()
    if binaries is None or not (binaries / "pgbench").exists():
        return {}
    make = singles(plan, columns)
    size = len(make().partition(b"\r\n\r\n")[2])
    script = folder / "insert.sql"
    script.write_text(PGBENCH.replace("SIZE", str(size)))
    rows: dict[str, Any] = {}
    with postgres.running() as database:
        assert database is not None
        for connections in PEERED:
            found: dict[str, list[float]] = {"pgbench": [], "hush": []}
            for turn in range(PG_TURNS):
                progress(f"PostgreSQL, {connections} connections, turn {turn + 1} of {PG_TURNS}")
                url = database.database()
                found["pgbench"].append(pgbench(binaries / "pgbench", url, script, connections, seconds))
                place = folder / f"postgres-{connections}-{turn}"
                place.mkdir()
                with server(plan, place, url) as at:
                    measured(at, make, connections, seconds / 4)  # warms up
                    found["hush"].append(measured(at, make, connections, seconds)["per_second"])
            middle = {name: float(np.median(rates)) for name, rates in found.items()}
            ratio = round(middle["hush"] / middle["pgbench"], 2) if middle["pgbench"] else None
            rows[str(connections)] = {**middle, "ratio": ratio, "load": round(os.getloadavg()[0], 2)}
            print(f"PostgreSQL, {connections} connections: {rows[str(connections)]}")
    return rows


def pgbench(program: Path, url: str, script: Path, connections: int, seconds: float) -> float:
    """Return how many rows per second pgbench inserts, each in a transaction of its own."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("drop table if exists reports")
        db.execute("create table reports (id bytea primary key, body bytea not null)")
    lasts = str(max(1, round(seconds)))
    command = [
        str(program),
        "-n",
        "-M",
        "prepared",
        "-c",
        str(connections),
        "-j",
        "2",
        "-T",
        lasts,
        "-f",
        str(script),
        url,
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    found = re.search(r"tps = ([\d.]+)", output)
    return float(found[1]) if found else 0.0  # a disk that stalls for the whole turn: pgbench then prints no rate


def say(label: str, found: dict[str, float]) -> None:
    """Print one line."""
    print(
        f"{label}: {found['reports_per_second']:,.0f} reports/s, p50 {found['p50']} ms, p99 {found['p99']} ms, "
        f"processor time per request: server {found['server_us']:g} us, sender {found['sender_us']:g} us"
    )


def by_ids(plan: Plan, columns: dict[str, Any], folder: Path, seconds: float, sizes: list[int]) -> list[dict[str, Any]]:
    """Measure the rate of single reports as the number of stored ids grows."""
    path = folder / "ids.db"
    rows, have = [], 0
    with server(plan, folder, f"sqlite://{path}"):
        pass
    for size in sizes:
        fill_ids(path, have, size)
        have = size
        bytes_ = path.stat().st_size
        with server(plan, folder, f"sqlite://{path}") as at:
            found = measured(at, singles(plan, columns), CONNECTIONS["single"], seconds)
        have += int(found["requests"])
        rows.append({"ids": size, "bytes": bytes_, **found})
        print(f"{size:,} ids, {bytes_ / max(size, 1):.1f} bytes each")
        say("  single reports", {**found, "reports_per_second": found["per_second"]})
    return rows


if __name__ == "__main__":
    main()
