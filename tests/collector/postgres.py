"""A PostgreSQL server of one's own, for as long as a test runs: from the binaries of the system, as Debian has them."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg


def find_binaries() -> Path | None:
    """The folder of initdb and postgres: on the path, or the newest of Debian's."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(_number(path.parent.name)))
    return next((path for path in found if (path / "initdb").exists() and (path / "postgres").exists()), None)


def _number(name: str) -> str:
    match = re.match(r"\d+", name)
    return match.group() if match else "0"


def unprivileged() -> str | None:
    """Whom to run the server as: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


class Server:
    """A server on a Unix socket in a temporary folder, durable as by default."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self._data, self._socket, self._binaries = folder / "data", folder / "socket", binaries
        self._user = unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket.mkdir()
        if self._user is not None:
            for path in (folder, self._socket):
                shutil.chown(path, self._user)
        options = ["-D", str(self._data), "-U", "hush", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
        subprocess.run(  # noqa: S603
            [self._binaries / "initdb", *options], check=True, capture_output=True, cwd=folder, user=self._user
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self._socket}", "-c", "fsync=on"]
        with (self._socket.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [self._binaries / "postgres", "-D", self._data, *options],
                cwd=self._data,
                user=self._user,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def url(self, database: str) -> str:
        return f"postgresql://hush@/{database}?host={self._socket}"

    @property
    def binaries(self) -> Path:
        return self._binaries

    @property
    def data(self) -> Path:
        return self._data

    def log(self) -> bytes:
        """Return what it has logged so far."""
        return (self._socket.parent / "log").read_bytes()

    def database(self) -> str:
        """Return the URL of a database without anything of hush in it."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute("drop schema if exists hush cascade")
        return self.url("postgres")

    def kill(self) -> None:
        """Kill the postmaster and all its children at once."""
        if self._process is None or self._process.poll() is not None:
            return
        os.kill(self._process.pid, signal.SIGSTOP)  # so that it makes no more children
        for pid in [*_children(self._process.pid), self._process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def freeze(self) -> None:
        """Let nothing of it run: lines stay open, and nobody answers."""
        assert self._process is not None
        for pid in [self._process.pid, *_children(self._process.pid)]:
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        for pid in [*_children(self._process.pid), self._process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # "fast": sessions are ended
            self._process.wait(30)

    def restart(self) -> None:
        self.stop()
        self.start()


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


@contextmanager
def running() -> Iterator[Server | None]:
    """A server that runs meanwhile, or None if the machine has no PostgreSQL."""
    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="hush-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), binaries)
        try:
            server.start()
            yield server
        finally:
            server.kill()  # nobody needs what it would write on its way out
