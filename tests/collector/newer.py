"""Requests that nobody should send to what a storm of reports leaves out: texts, pilots, sealed batches, views.

Answers are judged by what they may be, and what was acknowledged is counted: reports of texts and answers of the pilot
exactly, sealed reports as the most that can have been counted, as an id that comes again in another batch is left out.
"""

from __future__ import annotations

import json
import random
from typing import Any

import hush
from hush.collector import formats
from hush.collector.http.sealed import SEALED
from hush.collector.stores.base import Store
from hush.core.sealing import SealedBatch, batch_id
from hush.device.pilot import pilot
from hush.device.randomise import randomise
from hush.server.course import begin
from tests.collector.fuzzing import ADMIN, Requests, Sent
from tests.collector.served import BOUGHT, POINT, packed
from tests.relay.relayed import KEY, SCHEMA, SECRET, sealed_reports

TEXTS = hush.design(hush.Schema([hush.Text("job", length=16, alphabet="english")]), 4.0, title="texts")
SEALS = hush.design(SCHEMA, 4.0, title="sealed")
COURSE = hush.Training.design(POINT, BOUGHT, loss="logistic", epsilon=4.0, people=900_000_000, title="a course")
HELD = 4  # bodies of a kind
WIDE = 0.1  # the share of views that are of texts: they take a tenth of a second, if reports come in between
VIEWS = (
    *("", "/current", "/presentation", "/relay", "/ticket", "/tally", "/estimates", "/statement", "/margins"),
    *("/manipulation", "/distribution?attribute=job", "/timeline", "/periods", "/changes?against=x", "/quantiles"),
    *("/crosstab?attribute=job&by=os", "/means?attribute=age&by=os", "/association?attribute=age&by=age"),
    *("/periods?last=9", "/periods?last=0", "/distribution?attribute=%00", "/quantiles?attribute=age&level=1e-9"),
)
OTHER = ("/charts", "/overview", "/trainings", "/metrics", f"/trainings/{COURSE.name}/statement")
STAGES = ("means", "means", "means", "spreads", "shares", "", "x", "means&stage=means", "%00", "%ff")

__all__ = ["COURSE", "KEY", "SEALS", "SECRET", "TEXTS", "Newer", "add"]


def add(store: Store) -> None:
    """Let a store hold what these requests are about."""
    for plan in (TEXTS, SEALS):
        store.add_plan(plan, "tallies")
    store.add_training(COURSE.name, begin(COURSE), COURSE.people, COURSE)


class Newer:
    """A supply of such requests, and what was acknowledged of them."""

    def __init__(self, requests: Requests, chance: random.Random) -> None:
        self._requests, self._random = requests, chance
        self.reports = {TEXTS.id: 0, SEALS.id: 0, COURSE.name: 0}
        stage: Any = begin(COURSE)
        self._kinds = formats.SINGLES
        texts = [randomise(TEXTS, {"job": word}) for word in ("nurse", "", "a" * 16, "baker")]
        answers = [pilot(stage, {"a": 0.5, "b": -0.5}, "yes") for _ in range(HELD)]
        self._good = {
            (where, kind): [
                report.to_json().encode() if kind == formats.JSON else report.encode() for report in reports
            ]
            for where, reports in (("texts", texts), ("pilot", answers))
            for kind in self._kinds
        }
        for where, some in (("texts", texts), ("pilot", answers)):
            bodies = [bytes(16) + b"".join(report.encode() for report in some) for _ in range(HELD)]
            self._good[where, formats.REPORTS] = bodies
        self._good["texts", formats.COLUMNS] = [formats.pack(TEXTS, _rows(20), bytes(16))]
        self._good["pilot", formats.COLUMNS] = [packed(SEALS, 3, bytes(16))]  # of another plan: refused
        self._sealed = [SealedBatch(KEY, 0, tuple(sealed_reports(number, SEALS)[1])).encode() for number in (1, 2, 9)]

    def one(self) -> Sent:
        """Return a request."""
        draw = self._random
        where = draw.choice(["texts", "pilot", "sealed", "view", "view"])
        if where == "view":
            plan = TEXTS if draw.random() < WIDE else SEALS
            path = draw.choice([f"/plans/{plan.id}{view}" for view in VIEWS] + list(OTHER))
            path, _, query = path.partition("?")
            method = draw.choice(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"])
            headers = [(b"authorization", b"Bearer " + ADMIN.encode())] if draw.random() < 0.7 else []
            return Sent(method, path, headers, b"", None, query.encode())
        token = [(b"authorization", b"Bearer " + ADMIN.encode())]
        if where == "sealed":
            body = draw.choice(self._sealed)
            body = self._requests.mutated(body) if draw.random() < 0.6 else body
            id_ = batch_id(body) if draw.random() < 0.8 else draw.randbytes(16)
            headers = [(b"content-type", SEALED.encode()), (b"hush-batch", id_.hex().encode()), *token]
            return Sent("POST", f"/plans/{SEALS.id}/sealed", headers, body)
        kind = draw.choice([*self._kinds, formats.REPORTS, formats.COLUMNS])
        body = self._requests.fresh(kind, draw.choice(self._good[where, kind]))
        body = self._requests.mutated(body) if draw.random() < 0.6 else body
        headers = [(b"content-type", kind.encode()), *token]
        if where == "texts":
            return Sent("POST", f"/plans/{TEXTS.id}/reports", headers, body)
        stage = draw.choice(STAGES)
        return Sent("POST", f"/trainings/{COURSE.name}/pilot", headers, body, query=f"stage={stage}".encode())

    def note(self, sent: Sent, body: bytes) -> None:
        """Count what was acknowledged."""
        receipt = json.loads(body)
        name = sent.path.split("/")[2]
        self.reports[name] += receipt["reports"] if receipt["new"] else 0

    def faults(self, store: Store) -> list[str]:
        """Compare."""
        found = {TEXTS.id: store.tally(TEXTS).reports, COURSE.name: store.live(COURSE.name).received}
        wrong = [f"{name}: {self.reports[name]} acknowledged, {found[name]} held" for name in found]
        wrong = [text for name, text in zip(found, wrong, strict=True) if found[name] != self.reports[name]]
        if not store.tally(SEALS).reports <= self.reports[SEALS.id]:
            wrong.append("more sealed reports are held than were acknowledged")
        return wrong


def _rows(people: int) -> Any:
    from hush import batch

    return batch.randomise(TEXTS, {"job": ["nurse"] * people})
