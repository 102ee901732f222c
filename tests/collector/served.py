"""A collector on a real socket, in a thread, for as long as a test needs it; and plans and bodies for it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

import hush
from hush import batch
from hush.collector import formats
from hush.collector.http.problems import KINDS
from hush.collector.http.security import hashed
from hush.collector.serve import listen, make_server
from hush.collector.settings import LOCAL, Role, Settings
from hush.collector.stores.sqlite import SqliteStore
from hush.core.training.courses import Course
from hush.core.training.training import Training
from hush.device.randomise import randomise
from hush.server.course import begin
from hush.server.step import first_round

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Categorical("os", ["linux", "mac", "other"]),
        hush.Categorical("shop", [f"shop {i}" for i in range(12)]),
        hush.Numeric("income", 0, 1e5, optional=True),
    ]
)
RECORD: dict[str, Any] = {"age": 41, "os": "mac", "shop": "shop 3", "income": None}
PLAN = hush.design(SCHEMA, 1.0, title="one of four")  # symbols and small sets, k = 1
ALL = hush.design(SCHEMA, 4.0, title="all four", k=4)
WIDE = hush.design(  # a set of 100 members: reports in columns have parts
    hush.Schema([hush.Categorical("town", [f"town {i}" for i in range(100)]), hush.Numeric("x", 0, 1)]),
    1.0,
    title="wide",
    categorical="oue",
)
WIDE_RECORD: dict[str, Any] = {"town": "town 7", "x": 0.25}
FEW = hush.design(  # symbols alone, in 16 bits
    hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])]), 2.0, title="few", k=2
)
FEW_RECORD: dict[str, Any] = {"x": 0.5, "c": "b"}
PLANS = (PLAN, ALL, WIDE, FEW)
POINT = hush.Schema([hush.Numeric("a", -1, 1), hush.Numeric("b", -1, 1)])
BOUGHT = hush.Categorical("bought", ["no", "yes"])
TRAINING = Training("tiny", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
TRAININGS = {TRAINING: 4}

TOKENS: dict[Role, str] = {"submit": "s" * 20, "submit-batch": "b" * 20, "read": "r" * 20, "admin": "a" * 20}
HASHES: dict[Role, frozenset[str]] = {role: frozenset([hashed(token)]) for role, token in TOKENS.items()}
ADMIN = {"authorization": f"Bearer {TOKENS['admin']}"}
EVERYBODY: frozenset[Role] = frozenset(["submit", "submit-batch", "read"])


def anybody(**named: Any) -> Settings:
    """Return settings under which everybody has every role but that of an admin, and those that have tokens; and
    what readers see moves at once.
    """
    usual: dict[str, Any] = {"open": EVERYBODY - set(named.get("tokens", ())), "hosts": LOCAL | {"x"}}
    usual |= {"reveal_every": 0.0, "reveal_least": 0}
    return Settings(**(usual | named))


def record_of(plan: hush.Plan) -> dict[str, Any]:
    return {WIDE.id: WIDE_RECORD, FEW.id: FEW_RECORD}.get(plan.id, RECORD)


def report_of(plan: hush.Plan) -> hush.Report:
    return randomise(plan, record_of(plan))


def rows(plan: hush.Plan, people: int, *, ids: bool = False) -> pa.Table:
    """Return reports of so many people, in columns."""
    record = record_of(plan)
    columns = {name: pa.array([record[name]] * people) for name in plan.schema.names if record[name] is not None}
    columns |= {name: pa.nulls(people, pa.float64()) for name in plan.schema.names if record[name] is None}
    return batch.randomise(plan, pa.table(columns), ids=ids)


def stream_of(table: pa.Table, **options: Any) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def packed(plan: hush.Plan, people: int, id_: bytes) -> bytes:
    return formats.pack(plan, rows(plan, people), id_)


@dataclass
class Served:
    """A running collector."""

    url: str
    store: SqliteStore
    client: httpx.Client
    port: int
    server: Any

    @property
    def app(self) -> Any:
        return self.server.app

    def path(self, what: str = "", plan: hush.Plan = PLAN) -> str:
        return f"/plans/{plan.id}{what and '/'}{what}"

    def post(self, plan: hush.Plan, body: bytes, kind: str, **headers: str) -> httpx.Response:
        head = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(self.path("reports", plan), content=body, headers=head)

    def tally(self, plan: hush.Plan) -> hush.Tally:
        return hush.Tally.from_json(self.client.get(self.path("tally", plan)).content, plan)

    def waiting(self) -> int:
        """Return how many submissions wait for a commit."""
        (found,) = re.findall(r"^hush_waiting (\d+)$", self.client.get("/metrics").text, re.M)
        return int(found)

    def raw(self, *pieces: bytes, timeout: float = 10.0) -> bytes:
        """Send bytes as they are, and return everything that comes back until the collector closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except (BrokenPipeError, ConnectionResetError):
                    break
            found = b""
            try:
                while data := connection.recv(65536):
                    found += data
            except ConnectionResetError:
                pass
            return found


@contextmanager
def serving(
    path: Path,
    settings: Settings | None = None,
    *,
    plans: Sequence[hush.Plan] = PLANS,
    trainings: Mapping[Training, int] = TRAININGS,
    courses: Sequence[Course] = (),
    host: str = "127.0.0.1",
    kind: type[SqliteStore] = SqliteStore,
    **options: Any,
) -> Iterator[Served]:
    """Run a collector with plans and trainings (and the people per round of each), on a free port."""
    store = kind(path / "hush.db")
    for plan in plans:
        store.add_plan(plan)
    for training, people in trainings.items():
        store.add_training(training.title, first_round(training), people)
    for own in (branch for course in courses for branch in course.branches()):
        store.add_training(own.name, begin(own), own.people, own)
    ready = threading.Event()
    server = make_server(store, settings or anybody(stream_interval=0.05), ready=lambda _: ready.set(), **options)
    listening = listen(host, 0)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        assert ready.wait(120)  # on a machine that others use
        # There are no certificates to verify, and reading those of the system takes longer than starting the server.
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False, verify=False) as client:  # noqa: S501
            yield Served(f"http://127.0.0.1:{port}", store, client, port, server)
    finally:
        server.stop()
        thread.join()


def problem(response: httpx.Response, kind: str) -> dict[str, object]:
    """Return a refusal, checked."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    found: dict[str, object] = response.json()
    status, title = KINDS[kind]
    assert (response.status_code, found["status"], found["title"]) == (status, status, title), response.text
    assert found["type"] == f"urn:hush:problem:{kind}"
    return found
