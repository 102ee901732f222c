"""A collector in a thread of this process, on embedded storage, for as long as the demo needs it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hush.collector.serve import listen, make_server
from hush.collector.settings import Role, Settings
from hush.collector.stores.sqlite import SqliteStore
from hush.core.plan import Plan
from hush.device.network import Server
from hush.errors import InputError

HOST = "127.0.0.1"
PORT = 8000  # unless it is taken, or another is chosen


class DemoError(InputError):
    """A demo that cannot be run as asked."""


@dataclass(frozen=True)
class Service:
    """A running collector. Its count may be read when it has ended, too."""

    address: str
    plan: Plan
    store: SqliteStore

    def page(self, path: str) -> str:
        """Return the address of a page about the plan."""
        return f"{self.address}{path}?plan={self.plan.id}"

    @property
    def asked(self) -> Server:
        """The collector, as anybody asks it: through no proxy, as it is on this machine."""
        return server_at("collector", self.address)

    @property
    def count(self) -> int:
        """How many reports have arrived, from anybody."""
        return self.store.tally(self.plan).people


@contextmanager
def serving(plan: Plan, file: str | None = None, port: int | None = None, secret: bytes = b"") -> Iterator[Service]:
    """Run a collector for a plan: on a file that stays or on one that goes, on this port or on a free one.

    With a secret key it opens batches of a relay too.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(_socket(port))
        path = Path(file) if file else Path(stack.enter_context(TemporaryDirectory(prefix="hush-demo-"))) / "hush.db"
        store = stack.enter_context(closing(SqliteStore(path)))
        store.add_plan(plan)
        if store.tally(plan).reports:
            raise DemoError(f"{file} has reports of a demo already: take another file, or see it with `hush serve`")
        ready = threading.Event()
        # Nearly everybody is made up here, so visible numbers may move with every report.
        everybody = frozenset[Role](["submit", "submit-batch", "read"])
        settings = Settings(open=everybody, reveal_every=0.0, reveal_least=0, sealed_key=secret)
        server = make_server(store, settings, ready=lambda _: ready.set())
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            while not ready.wait(0.1):
                if not thread.is_alive():
                    raise DemoError("the collector did not start")
            yield Service(f"http://{HOST}:{listening.getsockname()[1]}", plan, store)
        finally:
            server.stop()
            thread.join()


def server_at(kind: str, address: str) -> Server:
    """Return a collector or relay of a demo, which waits long for an answer and asks once."""
    return Server(kind, address, None, timeout=60, attempts=1, pause=0)


def _socket(port: int | None) -> socket.socket:
    try:
        return listen(HOST, PORT if port is None else port)
    except OSError as error:
        if port is None:
            return listen(HOST, 0)
        raise DemoError(error.strerror or str(error)) from None
