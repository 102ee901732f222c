"""Requests that nobody should send, over real sockets, to a collector that is a process of its own.

`python -m tests.collector.storm --requests 1000000` sends as many as asked. Requests are those of `fuzzing`, in every
framing: with a length or in chunks of any size, with extensions and trailers, in pieces, several at once on a
connection. Those of the first plan are bent on the wire as well, so that their answers may be lost; all others are
judged one by one, and in the end each tally must be that of what was acknowledged. Beside them, attackers keep
connections in all their states. Meanwhile the health check, the memory and the log of the collector are looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from uvloop import run as run_in_loop

from hush.collector import serve
from hush.collector.http.protocol import Protocol
from hush.collector.http.security import hashed
from hush.collector.stores.sqlite import SqliteStore
from hush.server.step import first_round
from tests.collector import newer
from tests.collector.fuzzing import ADMIN, TRAINING, Requests, Sent
from tests.collector.oracle import Oracle
from tests.collector.served import PLAN, PLANS, anybody
from tests.collector.siege import ROOT

LANES = 24  # connections of judged requests at once
ATTACKERS = 4
KEPT = ROOT / "docs" / "measured" / "storm.json"
BENT = PLANS[0]  # its requests are bent on the wire
CHUNKED = b"Transfer-Encoding: chunked\r\n"
PATIENCE = 60.0  # seconds
NEWER = 0.01  # the share of requests about texts, pilots, sealed batches and views


def reads_trailers(self: Protocol, name: bytes, value: bytes) -> None:
    """Take a field of a trailer as a header: as it was."""
    self.headers.append((name.lower(), value))


def run_server(folder: Path, careless: bool) -> None:
    """Serve all plans and a training. A careless collector reads trailers as headers: it must be caught."""
    store = SqliteStore(folder / "hush.db")
    for plan in PLANS:
        store.add_plan(plan, "tallies")
    store.add_training(TRAINING.title, first_round(TRAINING), 300)
    newer.add(store)
    if careless:
        setattr(Protocol, "on_header", reads_trailers)  # noqa: B010 - for mypy, it is another function
    tokens = {"admin": frozenset([hashed(ADMIN)])}
    settings = anybody(tokens=tokens, body_timeout=5.0, held_bytes=64 << 20, sealed_key=newer.SECRET)
    serve.run(store, settings, port=0, ready=lambda url: print(url, flush=True))


@dataclass
class Storm:
    """What is sent, and what is seen."""

    address: tuple[str, int]
    requests: int
    seed: int
    oracle: Oracle = field(default_factory=lambda: Oracle(check_ids=False))
    sent: int = 0
    bent: int = 0  # reports of bent requests that were acknowledged
    attacks: int = 0
    idle: list[float] = field(default_factory=list)  # seconds that health checks took before
    under: list[float] = field(default_factory=list)  # and meanwhile
    memory: list[int] = field(default_factory=list)  # KiB

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        requests = Requests(self.seed)
        self._supply: Iterator[Sent] = iter(requests)
        self.newer = newer.Newer(requests, self.random)

    def _next(self) -> Sent:
        """Return the next request, now and then one of the newer kinds."""
        return self.newer.one() if self.random.random() < NEWER else next(self._supply)

    @property
    def over(self) -> bool:
        return self.sent >= self.requests

    # -- framing

    def frame(self, sent: Sent, *, close: bool) -> bytes:
        """Return a request as it goes over the wire, in a way that must make no difference."""
        draw = self.random
        fields = [(name, value) for name, value in sent.headers if name != b"content-length"]
        trailer = b""
        if draw.random() < 0.3 and sent.body:
            size = draw.choice([1, 7, 100, 5000])
            size = size if len(sent.body) < 2000 * size else 5000
            pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)]
            more = draw.choice([b"", b"", b";a", b";a=b", b';a="b c"'])
            body = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), more, piece) for piece in pieces)
            if draw.random() < 0.4:
                trailer = b"X-Sum: 1\r\n" + draw.choice([b"", b"Hush-Batch: 0\r\n", b"Content-Type: a/b\r\n"])
            sent.trailing = sent.path.endswith("tally") and draw.random() < 0.5
            if sent.trailing:  # a token that comes too late is none: this needs one
                sent.path = sent.path.removesuffix("tally") + "close"
                trailer += b"".join(b"%s: %s\r\n" % pair for pair in fields if pair[0] == b"authorization")
                fields = [pair for pair in fields if pair[0] != b"authorization"]
                sent.headers = fields
            body += b"0\r\n" + trailer + b"\r\n"
            framing = CHUNKED
        else:
            body = sent.body
            framing = b"Content-Length: %d\r\n" % len(body) if body or sent.method == "POST" else b""
        target = sent.path.encode() + (b"?" + sent.query if sent.query else b"")
        head = b"%s %s HTTP/1.1\r\nHost: x\r\n" % (sent.method.encode(), target)
        head += b"".join(b"%s: %s\r\n" % pair for pair in fields) + framing
        return head + (b"Connection: close\r\n" if close else b"") + b"\r\n" + body

    def mangle(self, wire: bytes) -> bytes:
        """Return something else than a request."""
        draw, data = self.random, bytearray(wire)
        for _ in range(draw.choice([1, 1, 2, 5])):
            at = draw.randrange(len(data) + 1)
            match draw.randrange(6):
                case 0 if data:
                    data[at % len(data)] = draw.randrange(256)
                case 1:
                    del data[at:]
                case 2:
                    del data[at : at + draw.choice([1, 2, 16])]
                case 3:
                    odd = [
                        b"\r\n",
                        b"\n",
                        b"\0",
                        b" ",
                        b":",
                        b"\r\n\r\n",
                        b"0\r\n\r\n",
                        b"Content-Length: 3\r\n",
                        CHUNKED,
                    ]
                    data[at:at] = draw.choice([*odd, b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n"])
                case 4:
                    line = wire.find(b"\r\n", at) + 2
                    data[at:at] = wire[line : wire.find(b"\r\n", line) + 2]
                case 5:
                    data += data[at:]
        return bytes(data)

    # -- clients

    async def lane(self) -> None:
        """Send requests, some at once, and judge every answer. What was not answered is sent again."""
        again: list[Sent] = []
        tries = 0
        while not self.over or again:
            group = again or [self._next() for _ in range(self.random.choice([1, 2, 5, 20, 50]))]
            if not again:
                self.sent += len(group)
            bent = [sent for sent in group if sent.plan is BENT and sent.method == "POST"]
            group = [sent for sent in group if sent not in bent]
            for sent in bent:
                await self.bend(sent)
            before = len(group)
            again = await self.judged(group) if group else []
            tries = tries + 1 if len(again) == before else 0
            if again and tries > 5:
                self.oracle.fail("never answered", again[0])
                again = []

    async def judged(self, group: list[Sent]) -> list[Sent]:
        """Return what was not answered."""
        wires = [self.frame(sent, close=sent is group[-1]) for sent in group]
        answered = 0
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(*self.address)
            try:
                for piece in self.pieces(b"".join(wires)):
                    writer.write(piece)
                    await writer.drain()
                for sent in group:
                    status, headers, body = await asyncio.wait_for(read(reader, sent.method), PATIENCE)
                    self._judge(sent, status, headers, body)
                    if sent.trailing and status in (200, 202, 403, 409, 413, 415, 422):
                        self.oracle.fail("a token in a trailer is believed", sent)
                    answered += 1
            finally:
                writer.close()
        return group[answered:]

    def _judge(self, sent: Sent, status: int, headers: dict[bytes, bytes], body: bytes) -> None:
        if sent.plan is None and status == 202 and not sent.path.startswith(f"/trainings/{TRAINING.title}"):
            self.oracle.statuses[status] += 1
            self.newer.note(sent, body)
        else:
            self.oracle.judge(sent, status, headers, body)

    def pieces(self, wire: bytes) -> list[bytes]:
        if self.random.random() < 0.7:
            return [wire]
        cuts = sorted(self.random.randrange(len(wire) + 1) for _ in range(self.random.choice([1, 3, 10])))
        return [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]

    async def bend(self, sent: Sent) -> None:
        """Send what may not be a request, and read what comes: only receipts matter."""
        wire = self.frame(sent, close=True)
        wire = self.mangle(wire) if self.random.random() < 0.8 else wire
        found = b""
        with suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(*self.address)
            writer.write(wire)
            how = self.random.random()
            if how < 0.1:
                writer.transport.abort()  # a reset
            elif how < 0.98:
                writer.write_eof()
            try:
                async with asyncio.timeout(2):
                    found = await reader.read()
            finally:
                writer.transport.abort()
        for part in found.split(b"HTTP/1.1 202 ")[1:]:
            receipt, _ = json.JSONDecoder().raw_decode(part.partition(b"\r\n\r\n")[2].decode())
            self.bent += receipt["reports"] if receipt["new"] else 0

    async def attack(self) -> None:
        """Keep a connection in one of its states for as long as that is possible."""
        post = b"POST /plans/%s/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" % PLAN.id.encode()
        ways = [
            (post + CHUNKED + b"\r\n0\r\nX: ", b"y" * 4096),
            (post + CHUNKED + b"\r\n1;", b"a" * 4096),
            (post + CHUNKED + b"\r\n", b"1\r\nx\r\n" * 500),
            (post + b"Content-Length: 60000\r\n\r\n", b"x"),
            (b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"x" * 65536),
            (b"", b"\r\n" * 1000),
            (b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
            (b"", b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 300),
            (
                b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode(),
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            ),
        ]
        while not self.over:
            start, piece = self.random.choice(ways)
            self.attacks += 1
            with suppress(OSError, TimeoutError):
                _, writer = await asyncio.open_connection(*self.address)
                try:
                    writer.write(start)
                    async with asyncio.timeout(4):
                        for _ in range(40):
                            writer.write(piece)
                            await writer.drain()
                            await asyncio.sleep(0.1)
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.5)

    async def warm(self, first: int = 200) -> None:
        """Send some, so that the collector has loaded whatever it needs before it is measured."""
        self.requests, most = min(first, self.requests), self.requests
        await asyncio.gather(*(self.lane() for _ in range(LANES)))
        self.requests = most

    async def run(self, show: bool) -> None:
        """Send everything else."""
        beside = [asyncio.create_task(self.attack()) for _ in range(ATTACKERS)]
        if show:
            beside.append(asyncio.create_task(self.show()))
        await asyncio.gather(*(self.lane() for _ in range(LANES)))
        for task in beside:
            task.cancel()
        for ended in await asyncio.gather(*beside, return_exceptions=True):
            if isinstance(ended, Exception):
                self.oracle.fail(f"a client failed: {type(ended).__name__} {ended}", None)

    async def show(self) -> None:
        while True:
            await asyncio.sleep(10)
            print(f"{self.sent} sent, {len(self.oracle.failures)} kinds of failures", flush=True)

    # -- what must hold in the end

    def judge(self, store: SqliteStore, log: str) -> None:
        """Compare tallies, times and memory."""
        for plan in PLANS:
            found = store.tally(plan)
            if plan is BENT:
                if found.reports < self.bent:
                    self.oracle.fail("a bent request was acknowledged and is not counted", (found.reports, self.bent))
            elif found != self.oracle.tallies[plan.id]:
                self.oracle.fail(f"the tally of {plan.title!r} is not that of what was acknowledged", found.reports)
        for fault in self.newer.faults(store):
            self.oracle.fail(fault, None)
        people = sum(past.people for past in store.history(TRAINING.title)) + store.live(TRAINING.title).received
        if people != self.oracle.gradients:
            self.oracle.fail("gradients are not those that were acknowledged", (people, self.oracle.gradients))
        usual = statistics.median(self.idle)
        if statistics.median(self.under) > 200 * usual or max(self.under) > 3000 * usual:
            self.oracle.fail("health checks take too long", (usual, statistics.median(self.under), max(self.under)))
        quarter = len(self.memory) // 4
        if quarter > 20 and max(self.memory[-quarter:]) > 1.3 * max(self.memory[: 2 * quarter]) + (32 << 10):
            self.oracle.fail("memory grows", self.memory[:: max(1, quarter // 5)])
        if log:
            self.oracle.fail("something is in the log", log[-2000:])

    def summary(self) -> dict[str, object]:
        """Return what a document says about it."""
        under = sorted(self.under)
        return {
            "requests": self.sent,
            "attacks": self.attacks,
            "counted": self.oracle.new + self.bent + sum(self.newer.reports.values()),
            "statuses": {str(status): count for status, count in sorted(self.oracle.statuses.items())},
            "health_median_ms": round(1e3 * statistics.median(under), 1),
            "health_worst_ms": round(1e3 * under[-1], 1),
            "rss_first": self.memory[0] >> 10,
            "rss_most": max(self.memory) >> 10,
            "rss_last": self.memory[-1] >> 10,
            "failures": {what: count for what, (count, _) in self.oracle.failures.items()},
        }


async def read(reader: asyncio.StreamReader, method: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """Read one answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    status = int(first.split()[1])
    if method == "HEAD" or status in (204, 304):
        return status, headers, b""
    return status, headers, await reader.readexactly(int(headers[b"content-length"]))


def watch(host: str, port: int, pid: int) -> None:
    """Ask for the health, again and again, and look at the memory: in a process that has nothing else to do."""
    while True:
        begun = time.perf_counter()
        with socket.create_connection((host, port), PATIENCE) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            found = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        took = time.perf_counter() - begun
        assert found.startswith(b"HTTP/1.1 200 "), found
        (size,) = re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        print(took, size, flush=True)
        time.sleep(0.02)


@contextmanager
def watching(address: tuple[str, int], pid: int, path: Path) -> Iterator[list[tuple[float, int]]]:
    """Watch a collector; in the end there are the seconds that each health check took, and its memory in KiB."""
    found: list[tuple[float, int]] = []
    with path.open("w") as output:
        where = ["--watch", address[0], str(address[1]), str(pid)]
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "tests.collector.storm", *where], cwd=ROOT, stdout=output, start_new_session=True
        )
    try:
        while not path.stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        yield found
        assert process.poll() is None, "a health check failed"
    finally:
        process.terminate()
        process.wait()
    for line in path.read_text().splitlines():
        took, size = line.split()
        found.append((float(took), int(size)))


def run(requests: int, seed: int, *, careless: bool = False, show: bool = False) -> Storm:
    """Send so many requests to a collector, and return what was seen."""
    memory = Path("/dev/shm")  # noqa: S108  # a disk would only wait
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        folder = Path(name)
        with (folder / "errors.txt").open("w") as errors:
            command = [sys.executable, "-m", "tests.collector.storm", "--serve", name]
            process = subprocess.Popen(  # noqa: S603
                [*command, "--careless"] if careless else command,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # so that Ctrl-C is for this process alone
            )
        assert process.stdout is not None
        try:
            host, _, port = process.stdout.readline().strip().removeprefix("http://").rpartition(":")
            storm = Storm((host, int(port)), requests, seed)
            run_in_loop(storm.warm())
            with watching(storm.address, process.pid, folder / "idle") as looks:
                time.sleep(3)
            storm.idle = [took for took, _ in looks]
            if show:  # whoever ends it sees how far it came

                def stop(*_: object) -> None:
                    storm.requests = storm.sent

                signal.signal(signal.SIGINT, stop)
                signal.signal(signal.SIGTERM, stop)
            with watching(storm.address, process.pid, folder / "under") as looks:
                run_in_loop(storm.run(show))
            storm.under, storm.memory = [took for took, _ in looks], [size for _, size in looks]
            process.send_signal(signal.SIGTERM)
            if process.wait(PATIENCE):
                storm.oracle.fail("the collector did not end in good order", process.returncode)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        store = SqliteStore(folder / "hush.db")
        storm.judge(store, (folder / "errors.txt").read_text())
        store.close()
        return storm


def main() -> int:
    """Send very many requests, and say what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--keep", action="store_true", help="write docs/measured/storm.json")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--watch", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--careless", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.watch:
        with suppress(KeyboardInterrupt):
            watch(asked.watch[0], int(asked.watch[1]), int(asked.watch[2]))
        return 0
    if asked.serve:
        run_server(Path(asked.serve), asked.careless)
        return 0
    begun = time.monotonic()
    load = os.getloadavg()[0]
    storm = run(asked.requests, asked.seed, show=True)
    seconds = time.monotonic() - begun
    print(f"{storm.sent} requests and {storm.attacks} attacks in {seconds:.0f} seconds")
    print(f"{storm.oracle.new} judged and counted, {storm.bent} reports bent and counted")
    print(f"answers: {dict(sorted(storm.oracle.statuses.items()))}")
    for what, took in (("idle", storm.idle), ("meanwhile", storm.under)):
        half, most = statistics.median(took), sorted(took)[len(took) * 99 // 100]
        print(f"health checks, {what}: median {1e3 * half:.1f} ms, 99 % {1e3 * most:.1f}, worst {1e3 * max(took):.1f}")
    print(
        f"memory: {storm.memory[0] >> 10} MiB, {max(storm.memory) >> 10} at most, {storm.memory[-1] >> 10} in the end"
    )
    for what, (count, example) in storm.oracle.failures.items():
        print(f"{count} times {what}: {example!r}"[:2000])
    if asked.keep:
        KEPT.write_text(
            json.dumps(storm.summary() | {"seconds": round(seconds), "load": round(load, 2)}, indent=1) + "\n"
        )
    return int(bool(storm.oracle.failures))


if __name__ == "__main__":
    sys.exit(main())
