"""Restarts behind HAProxy: two collectors end and start again, one after the other, and every request is answered.

    python -m tests.collector.restarts                         30,000 requests, 16 senders, HAProxy's own defaults
    python -m tests.collector.restarts --notice 0s             as it was: some of them fail
    python -m tests.collector.restarts --store postgresql://...

The proxy is the one that docs/operate.md shows. Each sender has a connection of its own, and sends the next report when
the last is answered. Every answer must be a 202, and every report must be counted once.
"""

from __future__ import annotations

import argparse
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import hush
from hush.collector import formats
from hush.collector.stores.opening import open_store
from tests.collector.served import PLAN, report_of

ROOT = Path(__file__).parent.parent.parent
HOST = "reports.example.org"
BLOCK = re.compile(r"```text\n(defaults\n.*?)```", re.S)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def configuration(front: int, backs: list[int], checks: str = "", retries: int = 3) -> str:
    """Return the proxy's configuration as it is documented, with other addresses."""
    (text,) = BLOCK.findall((ROOT / "docs" / "operate.md").read_text(encoding="utf-8"))
    text = text.replace("mode http\n", f"mode http\n    retries {retries}\n", 1)
    text = re.sub(r"bind .*", f"bind 127.0.0.1:{front}", text)
    for number, back in enumerate(backs):
        text = re.sub(rf"(server \w+) 10\.0\.0\.{number + 1}:8000 check", rf"\1 127.0.0.1:{back} check {checks}", text)
    assert "10.0.0" not in text
    return f"global\n    log stderr format raw local0\n{text}"


@dataclass
class Restarts:
    """Two collectors behind a proxy."""

    folder: Path
    store: str = ""
    notice: str | None = None  # as --notice has it; None: the default
    checks: str = ""  # how the proxy checks, if not as by default
    retries: int = 3  # HAProxy's default
    answers: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.front, self.backs = free_port(), [free_port(), free_port()]
        self.stores = [self.store or f"sqlite://{self.folder / name}.db" for name in ("one", "two")]
        (self.folder / "plan.json").write_text(PLAN.to_json())
        self.over = threading.Event()
        self._lock = threading.Lock()

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start a collector, and return when it listens."""
        options = ["--store", self.stores[number], "--port", str(self.backs[number]), "--host-name", HOST]
        options += ["--forwarded", "127.0.0.1", "--open", "submit"]
        if self.notice is not None:
            options += ["--notice", self.notice]
        command = [sys.executable, "-m", "hush", "serve", str(self.folder / "plan.json"), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        return process

    @contextmanager
    def proxy(self) -> Iterator[None]:
        """Run HAProxy."""
        program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
        assert program is not None, "this needs HAProxy (Debian: apt-get install haproxy)"
        file = self.folder / "haproxy.cfg"
        file.write_text(configuration(self.front, self.backs, self.checks, self.retries))
        process = subprocess.Popen([program, "-f", str(file), "-db"], stderr=subprocess.DEVNULL)  # noqa: S603
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)

    def send(self) -> None:
        """Send reports until it is over, each when the last was answered."""
        raw = report_of(PLAN).encode()
        connection: socket.socket | None = None
        while not self.over.is_set():
            body = raw[:9] + secrets.token_bytes(16) + raw[25:]
            head = f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {formats.REPORT}\r\n"
            answer = b""
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", self.front), 30)
                connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                while not answer.endswith(b"}"):
                    data = connection.recv(1 << 16)
                    if not data:
                        break
                    answer += data
                said = answer[9:12].decode() or "nothing"
            except OSError as error:
                said = type(error).__name__
            if connection is not None and (not answer or b"connection: close" in answer.lower()):
                connection.close()
                connection = None
            with self._lock:
                self.answers[said] += 1
                if said != "202" and len(self.examples) < 5:
                    self.examples.append(f"{said}: {answer[-200:]!r}")
        if connection is not None:
            connection.close()

    def ready(self, number: int) -> bool:
        """Return whether a collector says that it is ready, as the proxy asks."""
        try:
            with socket.create_connection(("127.0.0.1", self.backs[number]), 5) as connection:
                connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                return connection.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def run(self, restarts: int, requests: int, senders: int, seen: float) -> None:
        """Restart the collectors in turns. `seen`: the seconds after which the proxy knows that one is back."""
        with ExitStack() as stack:
            processes = [self.start(number) for number in range(2)]
            stack.callback(kill, processes)
            stack.enter_context(self.proxy())
            time.sleep(seen)
            threads = [threading.Thread(target=self.send) for _ in range(senders)]
            for thread in threads:
                thread.start()
            try:
                for turn in range(restarts):
                    number = turn % 2
                    processes[number].send_signal(signal.SIGTERM)
                    assert ended(processes[number]) == 0
                    processes[number] = self.start(number)
                    assert self.ready(number)
                    time.sleep(seen)
                while self.answers.total() < requests:
                    time.sleep(0.1)
            finally:
                self.over.set()
                for thread in threads:
                    thread.join()
            for process in processes:
                process.send_signal(signal.SIGINT)
            for process in processes:
                assert ended(process) == 0

    def counted(self) -> int:
        """Return how many reports were counted."""
        total = 0
        for url in dict.fromkeys(self.stores):
            store = open_store(url)
            try:
                total += store.tally(hush.Plan.from_json(PLAN.to_json())).reports
            finally:
                store.close()
        return total


def kill(processes: list[subprocess.Popen[str]]) -> None:
    """End all processes that are left."""
    for process in processes:
        process.kill()
        ended(process)


def ended(process: subprocess.Popen[str]) -> int:
    """Wait for a process, and return its exit code."""
    assert process.stdout is not None
    process.stdout.close()
    return process.wait(90)


def main() -> None:
    """Restart, send, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=30_000)
    parser.add_argument("--restarts", type=int, default=4)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--notice", help="as --notice of `hush serve` has it")
    parser.add_argument("--store", default="", help="one PostgreSQL for both, in place of a SQLite file for each")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = Restarts(Path(folder), asked.store, asked.notice)
        found.run(asked.restarts, asked.requests, asked.senders, seen=6.0)
        print(f"{asked.restarts} restarts, {found.answers.total():,} requests: {dict(found.answers)}")
        print(f"{found.counted():,} reports counted")
        for example in found.examples:
            print(f"  {example}")
        sys.exit(found.answers["202"] != found.answers.total() or found.counted() != found.answers["202"])


if __name__ == "__main__":
    main()
