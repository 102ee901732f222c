"""Requests that nobody should send, and what must hold whatever is sent.

`Requests` makes them: good bodies of every content type, and mutations of bodies, headers, paths and queries. `Oracle`
knows what a collector may answer, and counts what was acknowledged as new once more, report by report, by the scalar
code and by parsers of its own. `run` brings both together with an application in this process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

import hush
from hush import batch
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.http.problems import KINDS
from hush.collector.http.security import hashed
from hush.collector.segments import table_of
from hush.collector.stores.sqlite import SqliteStore
from hush.core.report import sizes
from hush.core.training.training import Training
from hush.device.gradient import gradient, held_out
from hush.server.step import first_round
from tests.collector.served import BOUGHT, PLANS, POINT, anybody, packed, report_of, rows, stream_of

ADMIN = "an admin's token"
TRAINING = Training("fuzzed", "logistic", POINT, BOUGHT, 4.0, 2, 1.0)
KINDS_OF_BODIES = (*formats.SINGLES, *formats.BATCHES, formats.TALLY)
CONCURRENT = 48
MAX_READ_AGAIN = 20_000  # requests
INTERESTING = (b"\0", b"\xff", b"\x7f", b"\x80", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80")
TOKENS = (
    b"1e999",
    b"NaN",
    b"-1",
    b"18446744073709551616",
    b"1" * 5000,
    b"null",
    b"{}",
    b"[]",
    b'"',
    b"[[",
    b"\xc3\x28",
)


@dataclass
class Sent:
    """A request: what it is about, if it is about something, and what is sent."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    plan: hush.Plan | None = None
    query: bytes = b""
    pieces: int = 1
    trailing: bool = False  # its token is in a trailer, where it does not count

    def header(self, name: bytes) -> str:
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")


class Requests:
    """An endless supply of requests, the same for the same seed but for the noise in reports."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._good = {
            (plan.id, kind): [self._body(plan, kind) for _ in range(6)] for plan in PLANS for kind in KINDS_OF_BODIES
        }
        self._round = first_round(TRAINING)

    def _id(self) -> bytes:
        return self.random.randbytes(16)

    def _body(self, plan: hush.Plan, kind: str) -> bytes:
        people = self.random.choice([1, 2, 9, 40])
        if kind == formats.JSON:
            return report_of(plan).to_json().encode()
        if kind == formats.REPORT:
            return report_of(plan).encode()
        if kind == formats.REPORTS:
            return self._id() + b"".join(report_of(plan).encode() for _ in range(people))
        if kind == formats.COLUMNS:
            return packed(plan, people, self._id())
        if kind == formats.ARROW:
            return stream_of(rows(plan, people, ids=self.random.random() < 0.5))
        tally = hush.Tally(plan)
        tally.update(report_of(plan) for _ in range(people))
        return tally.to_json().encode() if self.random.random() < 0.5 else tally.encode()

    def _fresh(self, kind: str, body: bytes) -> bytes:
        """Return a good body under a new id, so that it is counted."""
        if kind == formats.JSON and b'"id":"' in body:
            start = body.index(b'"id":"') + 6
            return body[:start] + self._id().hex().encode() + body[start + 32 :]
        if kind == formats.REPORT:
            return body[:9] + self._id() + body[25:]
        if kind == formats.REPORTS:
            return self._id() + body[16:]
        if kind == formats.COLUMNS:
            return body[:14] + self._id() + body[30:]
        return body

    def __iter__(self) -> Iterator[Sent]:
        while True:
            yield self._one()

    def _one(self) -> Sent:
        draw = self.random.random()
        if draw < 0.06:
            return self._odd()
        if draw < 0.12:
            return self._training()
        plan, kind = self.random.choice(PLANS), self.random.choice(KINDS_OF_BODIES)
        body = self.random.choice(self._good[plan.id, kind])
        if self.random.random() < 0.8:
            body = self._fresh(kind, body)
        if self.random.random() < 0.75:
            body = self._mutated(body)
        path = f"/plans/{plan.id}/{'tally' if kind == formats.TALLY else 'reports'}"
        if kind == formats.TALLY and body[:1] == b"{":
            kind = formats.JSON
        headers = [(b"content-type", kind.encode()), (b"authorization", b"Bearer " + ADMIN.encode())]
        if kind == formats.ARROW or path.endswith("tally"):
            headers.append((b"hush-batch", self._id().hex().encode()))
        if self.random.random() < 0.08:
            headers = self._odd_headers(headers)
        return Sent("POST", path, headers, body, plan, pieces=self.random.choice([1, 1, 1, 3]))

    def _training(self) -> Sent:
        point, loss = {"a": self.random.random(), "b": -self.random.random()}, self.random.random() < 0.3
        report = held_out(self._round, point, "yes") if loss else gradient(self._round, point, "yes")
        kind = self.random.choice(formats.SINGLES)
        body = report.to_json().encode() if kind == formats.JSON else report.encode()
        if self.random.random() < 0.6:
            body = self._mutated(body)
        number = self.random.choice(["1", "1", "1", "2", "0", "", "²", "-1", "9" * 40, "1 ", "1&round=1"])
        name = self.random.choice([TRAINING.title, TRAINING.title, TRAINING.title, "nobody", "%00", "%ff"])
        path = f"/trainings/{name}/{'losses' if loss else 'gradients'}"
        return Sent("POST", path, [(b"content-type", kind.encode())], body, query=f"round={number}".encode())

    def _mutated(self, body: bytes) -> bytes:
        data = bytearray(body)
        for _ in range(self.random.choice([1, 1, 1, 2, 4])):
            at = self.random.randrange(len(data) + 1)
            match self.random.randrange(9):
                case 0 if data:
                    data[at % len(data)] ^= 1 << self.random.randrange(8)
                case 1:
                    del data[at:]
                case 2:
                    del data[at : at + self.random.choice([1, 2, 8, 16])]
                case 3:
                    data[at:at] = self.random.randbytes(self.random.choice([1, 2, 8, 16]))
                case 4:
                    piece = self.random.choice(INTERESTING)
                    data[at : at + len(piece)] = piece
                case 5:
                    other = self.random.choice(
                        self._good[self.random.choice(PLANS).id, self.random.choice(KINDS_OF_BODIES)]
                    )
                    data[at:] = other[self.random.randrange(len(other) + 1) :]
                case 6:
                    data[at:at] = self.random.choice(TOKENS)
                case 7:
                    data += data[: self.random.randrange(len(data) + 1)]
                case 8:
                    data = bytearray(self._reworked(bytes(data)))
        return bytes(data)

    def _reworked(self, body: bytes) -> bytes:
        """Return JSON with other values, or any body behind or before brackets."""
        try:
            value = dict(json.loads(body))
            key = self.random.choice([*value, "more"])
        except (ValueError, TypeError, RecursionError):
            return self.random.choice([b"[" * 3000, b'{"a":' * 3000, b"", body + body, body[::-1]])
        value[key] = self.random.choice(
            [0, 1, -1, 2**63, 2**70, 1e308, True, None, "", "0" * 32, [], [[0, 0]], {}, [[0]], [[-1, -1]]]
        )
        text = json.dumps(value)
        return (text.replace("{", f'{{"{key}": 1,', 1) if self.random.random() < 0.2 else text).encode()

    def _odd_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        others: list[tuple[bytes, bytes]] = [
            (
                b"content-type",
                self.random.choice([b"", b"text/plain", b"\xff\xfe", b"application/json;charset=x", b"a/b/c;;;"]),
            ),
            (b"content-type", self.random.choice(KINDS_OF_BODIES).encode()),
            (
                b"content-length",
                self.random.choice([b"9" * 400, "²".encode("latin-1"), b"-1", b"0x10", b"99999999999"]),
            ),
            (b"content-encoding", self.random.choice([b"gzip", b"identity", b"\xff"])),
            (b"hush-batch", self.random.choice([b"", b"\xe9" * 32, b"0" * 31, b"0 " * 16, b"G" * 32, b"F" * 32])),
            (b"hush-ticket", b"0" * 32),
            (
                b"authorization",
                self.random.choice([b"", b"Bearer", b"Bearer \xff\xff", b"Basic eA==", b"bearer  x  y"]),
            ),
            (b"origin", self.random.choice([b"null", b"https://a.example", b"\xff"])),
            (b"if-none-match", b'W/"x", *'),
            (b"accept", self.random.choice([formats.TALLY.encode(), b"*/*", b"\xff"])),
        ]
        chosen = self.random.choice(others)
        return [pair for pair in headers if pair[0] != chosen[0]] + [chosen]

    def _odd(self) -> Sent:
        plan = self.random.choice(PLANS)
        paths = [
            *("/plans", f"/plans/{plan.id}", f"/plans/{plan.id}/estimates", f"/plans/{plan.id}/tally", "/trainings"),
            *(
                f"/plans/{plan.id}/ticket",
                f"/trainings/{TRAINING.title}/round",
                "/healthz",
                "/readyz",
                "/metrics",
                "/openapi.json",
            ),
            *(f"/trainings/{TRAINING.title}/history", f"/plans/{plan.id}%2Freports", f"/plans/{plan.id.upper()}"),
            *(f"/plans/{plan.id}/reports/", "//plans", "/plans/../plans", "/" + "a" * 9000, "/%00", "/%ff%fe"),
            *(f"/plans/{plan.id}/reports", f"/plans//{plan.id}", "", "/plans/%2e"),
        ]
        queries = [
            *[""] * 14,
            *(
                "level=0.5",
                "level=nan",
                "level=1e-320",
                "level=0.9&level=0.9",
                "estimator=paper&post=project",
                "post=clip",
            ),
            *("format=csv", "format=xml", "level=%ff", "a=" + "b" * 2000, "&&&=", "level=0_1", "level=١"),
            "post=project&level=0.999999",
        ]
        path, query = self.random.choice(paths), self.random.choice(queries)
        method = self.random.choice(
            ["GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "POST", "TRACE", "X"]
        )
        headers = self._odd_headers([]) if self.random.random() < 0.5 else []
        return Sent(method, path, headers, b"", plan if path.endswith("reports") else None, query.encode())


# -- what must hold


def counted(plan: hush.Plan, kind: str, body: bytes) -> tuple[hush.Tally, list[bytes]]:
    """Return the tally of an accepted body, and the ids in it, by the scalar code: it raises if the body is bad."""
    tally = hush.Tally(plan)
    if kind == formats.JSON:
        reports = [hush.Report.from_json(plan, body)]
    elif kind == formats.REPORT:
        reports = [hush.Report.decode(plan, body)]
    elif kind == formats.REPORTS:
        reports, rest, (least, most) = [], body[16:], sizes(plan)
        while rest:
            size = next(size for size in range(least, most + 1) if _decodes(plan, rest[:size]))
            reports.append(hush.Report.decode(plan, rest[:size]))
            rest = rest[size:]
    else:
        return _from_rows(plan, *(_packed_rows if kind == formats.COLUMNS else _arrow_rows)(plan, body))
    tally.update(reports)
    return tally, [report.id for report in reports]


def _decodes(plan: hush.Plan, data: bytes) -> bool:
    try:
        hush.Report.decode(plan, data)
    except hush.ReportError:
        return False
    return True


Rows = list[tuple[int, int, int]]


def _packed_rows(plan: hush.Plan, body: bytes) -> tuple[Rows, list[bytes]]:
    """Read packed columns by `spec/http.md`, one integer at a time."""
    assert body[:6] == b"HUSHC1"
    assert body[6:14].hex() == plan.id[:16]
    (count,) = struct.unpack_from("<I", body, 30)
    alphabets = [question.channel.alphabet for question in plan.questions]
    sets = [not hasattr(alphabet, "symbols") and alphabet.__class__.__name__ != "Symbols" for alphabet in alphabets]
    wide = any(is_set and alphabet.size > 64 for is_set, alphabet in zip(sets, alphabets, strict=True))
    letter = "q" if any(sets) else "h" if max(alphabet.size for alphabet in alphabets) <= 1 << 15 else "i"
    at, columns = 34, []
    for code in ("h", "h", letter) if wide else ("h", letter):
        columns.append(struct.unpack_from(f"<{count}{code}", body, at))
        at += count * struct.calcsize(f"<{code}")
    assert at == len(body)
    if not wide:
        columns.insert(1, (0,) * count)
    return list(zip(*columns, strict=True)), []


def _arrow_rows(plan: hush.Plan, body: bytes) -> tuple[Rows, list[bytes]]:
    with pa.ipc.open_stream(body) as stream:
        table = stream.read_all()
    columns = [table.column(name).to_pylist() for name in ("attribute", "output")]
    part = table.column("part").to_pylist() if "part" in table.schema.names else [0] * len(columns[0])
    ids = table.column("report").to_pylist() if "report" in table.schema.names else []
    return list(zip(columns[0], part, columns[1], strict=True)), list(dict.fromkeys(ids))


def _from_rows(plan: hush.Plan, found: Rows, ids: list[bytes]) -> tuple[hush.Tally, list[bytes]]:
    """Count rows of `spec/reports.md`: every answer is checked by its alphabet."""
    answered = [0] * len(plan.questions)
    counts = [[0] * question.channel.alphabet.size for question in plan.questions]
    place = 0
    while place < len(found):
        index, part, output = found[place]
        assert 0 <= index < len(plan.questions)
        assert part == 0
        alphabet = plan.questions[index].channel.alphabet
        value: Any = output
        if type(alphabet).__name__ != "Symbols":
            members: list[int] = []
            for block in range(-(-alphabet.size // 64)):
                again, number, word = found[place + block]
                assert (again, number) == (index, block)
                members += [64 * block + bit for bit in range(64) if word >> bit & 1]
            place += -(-alphabet.size // 64) - 1
            value = tuple(members)
        alphabet.check(value)
        alphabet.count(counts[index], value)
        answered[index] += 1
        place += 1
    assert sum(answered) % plan.k == 0
    return hush.Tally(plan, sum(answered) // plan.k, answered, counts), ids


@dataclass
class Oracle:
    """What was acknowledged, and what went wrong, each kind of mistake once with how often."""

    check_ids: bool
    tallies: dict[str, hush.Tally] = field(default_factory=lambda: {plan.id: hush.Tally(plan) for plan in PLANS})
    seen: set[tuple[str, bytes]] = field(default_factory=set)
    gradients: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    new: int = 0
    failures: dict[str, tuple[int, object]] = field(default_factory=dict)

    def fail(self, what: str, example: object) -> None:
        count, first = self.failures.get(what, (0, example))
        self.failures[what] = count + 1, first

    def judge(self, sent: Sent, status: int, headers: dict[bytes, bytes], body: bytes) -> None:
        """Take an answer."""
        self.statuses[status] += 1
        if status >= 500:
            self.fail(f"status {status} for {sent.header(b'content-type')}", sent)
        if status >= 400 and sent.method != "HEAD":
            problem = json.loads(body)
            if headers[b"content-type"] != b"application/problem+json" or problem["status"] != status:
                self.fail(f"a refusal with {status} that is no problem document", sent)
            elif problem["type"].removeprefix("urn:hush:problem:") not in KINDS:
                self.fail("an unknown kind of problem", sent)
        if status == 202:
            self._acknowledged(sent, json.loads(body))

    def _acknowledged(self, sent: Sent, receipt: dict[str, Any]) -> None:
        if sent.path.startswith("/trainings"):
            self.gradients += receipt["new"] and sent.path.endswith("gradients")
            return
        assert sent.plan is not None
        kind = sent.header(b"content-type").partition(";")[0].strip().lower()
        id_ = bytes.fromhex(receipt["id"])
        try:
            if sent.path.endswith("tally"):
                ids: list[bytes] = []
                if kind == formats.JSON:
                    tally = hush.Tally.from_json(sent.body, sent.plan)
                else:
                    tally = hush.Tally.decode(sent.plan, sent.body)
            else:
                tally, ids = counted(sent.plan, kind, sent.body)
        except Exception as error:  # noqa: BLE001 - any error is a finding
            self.fail(f"accepted what is bad ({kind}): {type(error).__name__}", sent)
            return
        if receipt["reports"] != tally.reports:
            self.fail(f"a receipt with another number of reports ({kind})", sent)
        known = (sent.plan.id, id_) in self.seen
        if receipt["new"]:
            if known:
                self.fail(f"counted twice ({kind})", sent)
            self.new += 1
            self.tallies[sent.plan.id] += tally
            self.seen.add((sent.plan.id, id_))
            if self.check_ids:
                self.seen.update((sent.plan.id, inner) for inner in ids)

    def compare(self, store: SqliteStore) -> None:
        """Compare tallies, between two groups of requests."""
        for plan in PLANS:
            try:
                found = store.tally(plan)
            except hush.StoreError as error:
                self.fail(f"the tally of {plan.title!r} cannot be: {error}", None)
                continue
            if found != self.tallies[plan.id]:
                self.fail(f"the tally of {plan.title!r} is not that of what was acknowledged", None)
                self.tallies[plan.id] = found
        people = sum(past.people for past in store.history(TRAINING.title)) + store.live(TRAINING.title).received
        if people != self.gradients:
            self.fail("gradients are not those that were acknowledged", (people, self.gradients))
            self.gradients = people

    def read_again(self, store: SqliteStore) -> None:
        """Read every stored body as compaction and export do, and count it once more."""
        for plan in PLANS[1:]:
            total = hush.Tally(plan)
            for stored in store.bodies(plan):
                try:
                    table = table_of(plan, stored)
                    total += hush.Tally.decode(plan, stored.body) if table is None else batch.tally(plan, table)
                except Exception as error:  # noqa: BLE001 - any error is a finding
                    self.fail(f"kept what cannot be read ({stored.form}): {type(error).__name__}", stored)
            if total != self.tallies[plan.id]:
                self.fail(f"the bodies of {plan.title!r} are not what was acknowledged", None)


class _Errors(logging.Handler):
    def __init__(self, oracle: Oracle) -> None:
        super().__init__(logging.ERROR)
        self._oracle = oracle

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[1] if record.exc_info else None
        self._oracle.fail(f"an error in the log: {type(kind).__name__} {kind}", record.getMessage())


async def call(app: Any, sent: Sent) -> tuple[int, dict[bytes, bytes], bytes]:
    """Send a request to an application in this process."""
    size = max(1, -(-len(sent.body) // sent.pieces))
    pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)] or [b""]
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1}
        for place, piece in enumerate(pieces)
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": unquote(sent.path),
        "raw_path": sent.path.encode(),
        "query_string": sent.query,
        "root_path": "",
        "headers": sent.headers,
        "client": ("192.0.2.1", 1234),
        "server": ("collector.example", 80),
    }
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    await app(scope, receive, send)
    body = b"".join(answer.get("body", b"") for answer in answers[1:])
    return answers[0]["status"], dict(answers[0]["headers"]), body


def run(
    requests: int,
    seed: int,
    *,
    check_ids: bool = False,
    progress: Callable[[int, Oracle], None] | None = None,
    oracle: Oracle | None = None,
) -> Oracle:
    """Send so many requests, and return the oracle, which may be given, to be looked at if this is interrupted."""
    memory = Path("/dev/shm")  # noqa: S108  # a disk would only wait
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        store = SqliteStore(Path(folder) / "hush.db")
        for plan in PLANS:
            store.add_plan(plan, "tallies" if plan is PLANS[0] else "reports")
        store.add_training(TRAINING.title, first_round(TRAINING), 300)
        settings = anybody(
            check_ids=check_ids,
            tokens={"admin": frozenset([hashed(ADMIN)])},
            origins={"*": frozenset(["https://a.example"])},
        )
        oracle = Oracle(check_ids) if oracle is None else oracle
        logger, handler = logging.getLogger("hush.collector"), _Errors(oracle)
        logger.addHandler(handler)
        try:
            asyncio.run(_drive(Collector(store, settings), store, requests, seed, oracle, progress))
        finally:
            logger.removeHandler(handler)
    return oracle


async def _drive(
    collector: Collector,
    store: SqliteStore,
    requests: int,
    seed: int,
    oracle: Oracle,
    progress: Callable[[int, Oracle], None] | None,
) -> None:
    app = collector.app()
    supply = iter(Requests(seed))
    async with collector.lifespan(app):

        async def one(sent: Sent) -> None:
            try:
                answer = await call(app, sent)
            except Exception as error:  # noqa: BLE001 - any error is a finding
                oracle.fail(f"{type(error).__name__}: {error}", sent)
            else:
                oracle.judge(sent, *answer)

        for done in range(0, requests, CONCURRENT):
            await asyncio.gather(*(one(next(supply)) for _ in range(min(CONCURRENT, requests - done))))
            if done % (CONCURRENT * 20) == 0:
                oracle.compare(store)
                if progress is not None:
                    progress(done, oracle)
        oracle.compare(store)
        if requests <= MAX_READ_AGAIN:
            oracle.read_again(store)
