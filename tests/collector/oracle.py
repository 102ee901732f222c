"""What must hold whatever is sent.

`Oracle` knows what a collector may answer, and counts what was acknowledged as new once more, report by report, by the
scalar code and by parsers of its own.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import hush
from hush import batch
from hush.collector import formats
from hush.collector.http.problems import KINDS
from hush.collector.segments import table_of
from hush.collector.stores.sqlite import SqliteStore
from hush.core.report import sizes
from tests.collector.fuzzing import TRAINING, Sent
from tests.collector.served import PLANS


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
        if receipt["reports"] != tally.reports:  # a relay's own reports count too
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
