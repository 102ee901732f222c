"""Requests that nobody should send.

`Requests` makes them: good bodies of every content type, and mutations of bodies, headers, paths and queries.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import hush
from hush.collector import formats
from hush.core.training.training import Training
from hush.device.gradient import gradient, held_out
from hush.server.step import first_round
from tests.collector.served import BOUGHT, PLANS, POINT, packed, report_of, rows, stream_of

ADMIN = "an admin's token"
TRAINING = Training("fuzzed", "logistic", POINT, BOUGHT, 4.0, 2, 1.0)
KINDS_OF_BODIES = (*formats.SINGLES, *formats.BATCHES, formats.TALLY)
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

    def fresh(self, kind: str, body: bytes) -> bytes:
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
            body = self.fresh(kind, body)
        if self.random.random() < 0.75:
            body = self.mutated(body)
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
            body = self.mutated(body)
        number = self.random.choice(["1", "1", "1", "2", "0", "", "²", "-1", "9" * 40, "1 ", "1&round=1"])
        name = self.random.choice([TRAINING.title, TRAINING.title, TRAINING.title, "nobody", "%00", "%ff"])
        path = f"/trainings/{name}/{'losses' if loss else 'gradients'}"
        return Sent("POST", path, [(b"content-type", kind.encode())], body, query=f"round={number}".encode())

    def mutated(self, body: bytes) -> bytes:
        """Return a body with some bytes changed."""
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
