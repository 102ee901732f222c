"""The collector: a plan that is served, devices that answer it in three languages, and every address about it."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import hush
from hush.collector import formats
from hush.core.kinds import Boolean
from hush.server.relations.related import related
from tests.collector.served import Served
from tests.everything.surfaces.calls import OFTEN
from tests.everything.surfaces.lives import Life, strict
from tests.everything.surfaces.saying import amiss
from tests.web.replaying import BUILT, NODE, WEB

GO = Path(__file__).parents[3] / "clients" / "go"
DEVICES = 3
"""So many people answer by each client, beside a batch from everybody else."""
ENOUGH = (200, 204, 304)
WITHOUT = {
    "/lists/{list}": "is about a list: see below",
    "/plans/{plan}/stream": "is held open: tests/collector",
    "/plans/{plan}/relay": "needs a relay: tests/relay",
    "/plans/{plan}/current": "needs a course of plans: tests/collector",
    "/plans/{plan}/presentation": "needs a presentation: tests/collector",
    "/plans/{plan}/ticket": "needs tickets: tests/collector",
}
"""Addresses that are not asked here, and why."""


class Answers:
    """What a collector says about a life."""

    def __init__(self, life: Life, served: Served, go: Path | None, share: float = 1.0) -> None:
        self.life, self.served, self.go, self.share = life, served, go, share

    def __call__(self) -> Iterator[str]:
        """Yield findings."""
        self.served.store.add_plan(self.life.plan)
        yield from self._answering()
        yield from self._asking()

    def _answering(self) -> Iterator[str]:
        """Let people answer, by every client; all of them are counted."""
        plan, sent = self.life.plan, 0
        some = self.life.records(DEVICES)
        for place, record in enumerate(some):
            client = hush.Client(
                self.served.url, ledger=hush.Ledger(self.life.folder / f"python {place}", 16), attempts=2
            )
            try:
                client.answer(plan.id, record)
                sent += 1
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                yield f"Python: {type(error).__name__}: {error}"
        if self.go is not None:
            yield from self._by_go(some)
            sent += len(some)
        body = formats.pack(plan, hush.batch.randomise(plan, self.life.table, threads=1), bytes(16))
        answer = self.served.post(plan, body, formats.COLUMNS)
        if answer.status_code != 202:
            yield f"POST of columns: {answer.status_code}: {answer.text[:300]}"
            return
        sent += self.life.answering
        counted = self.served.tally(plan).people
        if counted != sent:
            yield f"{counted} reports are counted of {sent}"

    def _by_go(self, some: list[dict[str, Any]]) -> Iterator[str]:
        (self.life.folder / "plan.json").write_text(self.life.plan.to_json(), encoding="utf-8")
        for place, record in enumerate(some):
            path = self.life.folder / f"record {place}.json"
            path.write_text(json.dumps(_plain(self.life.plan.schema, record)), encoding="utf-8")
            ledger = self.life.folder / f"go {place}"
            words = ["-collector", self.served.url, "-plan", self.life.plan.id]
            if not place:
                words[-1] = str(self.life.folder / "plan.json")
                words += [word for path in self._lists() for word in ("-list", str(path))]
            done = subprocess.run(  # noqa: S603
                [str(self.go), *words, "-ledger", str(ledger), "-timeout", "60s", str(path)],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if done.returncode:
                yield f"Go: {done.stderr[-300:]}"

    def _lists(self) -> Iterator[Path]:
        """Write the long lists of the plan to files."""
        for place, listed in enumerate(lists_of(self.life.plan)):
            path = self.life.folder / f"list {place}.txt"
            path.write_text(_text(listed), encoding="utf-8")
            yield path

    def _asking(self) -> Iterator[str]:
        """Ask every address about the plan."""
        plan, client, drawn = self.life.plan, self.served.client, random.Random(f"addresses {self.life.seed}")
        for path in addresses(self.served.client.get("/openapi.json").json(), plan):
            if drawn.random() >= OFTEN * self.share:
                continue
            answer = client.get(path, headers={"accept-language": "de"})
            kind = answer.headers.get("content-type", "")
            if answer.status_code == 400 and "post=project" in path and "some of them" in answer.text:
                continue  # there are long lists: their most frequent values alone are told
            if answer.status_code not in ENOUGH:
                yield f"GET {path}: {answer.status_code}: {answer.text[:300]}"
                continue
            try:
                if "json" in kind:
                    _finite(strict(answer.content))
                elif "csv" in kind:
                    cells = (cell for row in csv.reader(io.StringIO(answer.text)) for cell in row)
                    yield from (f"GET {path}: {wrong}" for wrong in amiss("\n".join(cells)))
            except ValueError as error:
                yield f"GET {path}: {error}"


def addresses(document: dict[str, Any], plan: hush.Plan) -> Iterator[str]:
    """Yield every address about a plan. One that this does not know is an error: it has to be tried, too."""
    of = f"/plans/{plan.id}"
    named = {relation.kind: relation for relation in related(plan)}
    numbers = [
        item for item in plan.schema.attributes if isinstance(item, hush.Numeric) and not isinstance(item, Boolean)
    ]
    texts = [item for item in plan.schema.attributes if isinstance(item, hush.Text)]

    def pair(kind: str, **more: str) -> str:
        relation = named[kind]
        return urlencode({"attribute": relation.attribute, "by": str(relation.by)} | more, quote_via=quote)

    every: dict[str, list[str]] = {
        "/plans/{plan}": [of],
        "/plans/{plan}/tally": [f"{of}/tally"],
        "/plans/{plan}/statement": [f"{of}/statement"],
        "/plans/{plan}/margins": [f"{of}/margins", f"{of}/margins?level=0.5"],
        "/plans/{plan}/timeline": [f"{of}/timeline"],
        "/plans/{plan}/periods": [f"{of}/periods", f"{of}/periods?format=csv"],
        "/plans/{plan}/manipulation": [f"{of}/manipulation", f"{of}/manipulation?share=0.001"],
        "/plans/{plan}/estimates": [
            f"{of}/estimates{more}"
            for more in (
                "",
                "?format=csv",
                "?estimator=paper",
                "?post=clip",
                "?post=project",
                "?top=2&intervals=together",
            )
        ],
        "/plans/{plan}/changes": [f"{of}/changes?against={plan.id}", f"{of}/changes?against={plan.id}&format=csv"],
        "/plans/{plan}/distribution": [f"{of}/distribution?attribute={quote(item.name)}" for item in numbers],
        "/plans/{plan}/frequent": [f"{of}/frequent?attribute={quote(item.name)}" for item in texts],
        "/plans/{plan}/crosstab": [
            f"{of}/crosstab?{pair('table', **more)}"
            for more in ({}, {"shares": "rows"}, {"format": "csv"})
            if "table" in named
        ],
        "/plans/{plan}/means": [
            f"{of}/means?{pair('means', **more)}"
            for more in ({}, {"what": "differences"}, {"format": "csv"})
            if "means" in named
        ],
        "/plans/{plan}/association": [
            f"{of}/association?{pair(kind, **more)}"
            for kind, more in (("association", {}), ("moments", {"method": "moments"}))
            if kind in named
        ],
        "/plans/{plan}/quantiles": [
            f"{of}/quantiles?attribute={quote(relation.attribute)}"
            for relation in related(plan)
            if relation.kind == "range"
        ],
    }
    for path, methods in document["paths"].items():
        if "get" not in methods or "{plan}" not in path or path in WITHOUT:
            continue
        yield from every[path]
    yield from ("/plans", "/metrics", "/survey", "/", "/dashboard")


def lists_of(plan: hush.Plan) -> list[hush.Listed]:
    """Return the long lists that a plan names."""
    named = (getattr(item, "values", None) for item in plan.schema.attributes)
    return [one for one in named if isinstance(one, hush.Listed)]


def _text(listed: hush.Listed) -> str:
    return "".join(f"{value}\n" for value in listed)


def built(folder: Path) -> Path | None:
    """Build the program in Go, if there is Go."""
    if shutil.which("go") is None:
        return None
    path = folder / "hush-answer"
    subprocess.run(  # noqa: S603
        ["go", "build", "-o", str(path), "./cmd/hush-answer"],  # noqa: S607
        cwd=GO,
        check=True,
        capture_output=True,
        timeout=600,
    )
    return path


SCRIPT = """
import { createInterface } from "node:readline";
const hush = await import(process.env.HUSH_MODULE);
const large = await import(new URL("large.js", process.env.HUSH_MODULE)); // the client loads it when a plan needs it
for await (const line of createInterface({ input: process.stdin })) {
  const { plan: text, records, lists } = JSON.parse(line);
  try {
    for (const named of large.listsOf(text)) await large.addList(named, new TextEncoder().encode(lists[named.name]));
    const plan = await hush.Plan.parse(text);
    const reports = records.map((record) => Buffer.from(hush.randomise(plan, record).encode()).toString("hex"));
    console.log(JSON.stringify({ id: plan.id, reports }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
"""


class Browser:
    """The client of browsers, in one process of Node."""

    def __init__(self, folder: Path) -> None:
        path = folder / "randomise.mjs"
        path.write_text(SCRIPT, encoding="utf-8")
        assert NODE is not None
        self._process = subprocess.Popen(  # noqa: S603
            [NODE, str(path)],
            cwd=WEB,
            env={"HUSH_MODULE": BUILT.as_uri(), "PATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, life: Life) -> Iterator[str]:
        """Yield findings: the client reads the plan, and its reports are reports of it."""
        records = [_plain(life.plan.schema, record) for record in life.records(DEVICES)]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lists = {listed.name: _text(listed) for listed in lists_of(life.plan)}
        print(
            json.dumps({"plan": life.plan.to_json(), "records": records, "lists": lists}),
            file=self._process.stdin,
            flush=True,
        )
        found = json.loads(self._process.stdout.readline() or '{"error": "the client has ended"}')
        if "error" in found:
            yield f"browser: {found['error'][:300]}"
            return
        if found["id"] != life.plan.id:
            yield "browser: another plan id"
        tally = hush.Tally(life.plan)
        for report in found["reports"]:
            try:
                tally.add(hush.Report.decode(life.plan, bytes.fromhex(report)))
            except hush.ReportError as error:
                yield f"browser: {error}"

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)


def _plain(schema: hush.Schema, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as JSON has it."""
    found = {}
    for name, value in record.items():
        item = schema[name]
        text = isinstance(item, hush.Date | hush.Time) and value is not None
        found[name] = (
            (value.isoformat(timespec="minutes")[:5] if isinstance(item, hush.Time) else value.isoformat())
            if text
            else value
        )
    return found


def _finite(value: Any) -> None:
    """Refuse words for no number among the texts of a document."""
    if isinstance(value, dict):
        for item in value.values():
            _finite(item)
    elif isinstance(value, list):
        for item in value:
            _finite(item)
    elif isinstance(value, str) and re.search(r"(?<![\w-])(nan|NaN|inf|Infinity|None|undefined)(?![\w-])", value):
        message = f"says {value[:200]!r}"
        raise ValueError(message)
