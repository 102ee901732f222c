"""A reader who asks a collector for everything, after every report; and what such a reader may see."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from hush import Report, Tally
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.settings import Settings
from hush.collector.stores.sqlite import SqliteStore
from hush.device.gradient import gradient
from hush.server.step import first_round
from tests.collector.served import FEW, TRAINING, report_of

PAUSES = (0.0, 0.5, 1.0, 7.0, 80.0)  # seconds between two reports
READ = ("estimates", "estimates?format=csv", "margins", "manipulation", "distribution?attribute=x", "timeline")
COUNTERS = re.compile(r"^(hush_\w+(?:\{[^}]*\})?) ([0-9.e+-]+)$", re.M)


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Sight:
    """What a reader sees at a moment. `life`: how often the collector was started."""

    time: float
    life: int
    tally: Tally
    answers: dict[str, str]
    counters: dict[str, float]


@dataclass
class Watch:
    """A collector to which people send one report after the other, and a reader who asks after each."""

    folder: Path
    settings: Settings
    kind: type[SqliteStore] = SqliteStore
    clock: Clock = field(default_factory=Clock)
    sent: list[Report] = field(default_factory=list)
    seen: list[Sight] = field(default_factory=list)
    life: int = 0

    def run(self, people: int, seed: int) -> None:
        """Start the collector, let so many people answer, each with a gradient too, and stop it."""
        self.life += 1
        asyncio.run(self._run(people, random.Random(seed)))

    async def _run(self, people: int, chance: random.Random) -> None:
        store = self.kind(self.folder / "hush.db")
        store.add_plan(FEW)
        store.add_training(TRAINING.title, first_round(TRAINING), 10_000)
        collector = Collector(store, self.settings, self.clock)
        app = collector.app()
        transport = httpx.ASGITransport(app)
        async with (
            collector.lifespan(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as web,
            _streamed(app) as events,
        ):
            self.seen.append(await self._look(web, events))
            for _ in range(people):
                self.clock.now += chance.choice(PAUSES)
                self.sent.append(report_of(FEW))
                await _post(web, f"/plans/{FEW.id}/reports", self.sent[-1])
                made = gradient(first_round(TRAINING), {"a": 0.5, "b": -0.5}, "yes")
                await _post(web, f"/trainings/{TRAINING.title}/gradients?round=1", made)
                self.seen.append(await self._look(web, events))

    async def _look(self, web: httpx.AsyncClient, events: dict[str, str]) -> Sight:
        found = {what: (await web.get(f"/plans/{FEW.id}/{what}")).text for what in READ}
        for path in ("/plans", "/trainings"):
            found[path] = re.sub(r'"next":\d+', "", (await web.get(path)).text)
        await asyncio.sleep(3 * self.settings.stream_interval)
        found |= {f"stream, {name}": re.sub(r'"next":\d+', "", text) for name, text in events.items()}
        counters = {name: float(value) for name, value in COUNTERS.findall((await web.get("/metrics")).text)}
        counters["people"] = json.loads(found.pop("/trainings"))["trainings"][0]["received"]
        last = await web.get(f"/plans/{FEW.id}/tally")  # so that nothing above can be newer
        return Sight(self.clock.now, self.life, Tally.from_json(last.content, FEW), found, counters)


async def _post(web: httpx.AsyncClient, path: str, report: Report) -> None:
    response = await web.post(path, content=report.encode(), headers={"content-type": formats.REPORT})
    assert response.json()["new"], response.text


@asynccontextmanager
async def _streamed(app: Any) -> AsyncIterator[dict[str, str]]:
    """Read a stream; give the last event of each name."""
    events: dict[str, str] = {}
    ended = asyncio.Event()
    scope = {"type": "http", "method": "GET", "path": f"/plans/{FEW.id}/stream", "query_string": b"view=dashboard"}
    scope |= {"headers": [(b"host", b"localhost")], "client": ("192.0.2.9", 1)}

    async def receive() -> dict[str, Any]:
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        name, _, data = message.get("body", b"").decode().partition("\ndata: ")
        if name.startswith("event: "):
            events[name] = data

    reading = asyncio.create_task(app(scope, receive, send))
    try:
        yield events
    finally:
        ended.set()
        await asyncio.wait([reading], timeout=10)


def rebuilt(seen: list[Sight]) -> list[Tally]:
    """Return what a reader finds by subtraction: what was added from one look to the next, if anything was."""
    pairs = [(after.tally, before.tally) for before, after in pairwise(seen)]
    return [_less(after, before) for after, before in pairs if after != before]


def _less(after: Tally, before: Tally) -> Tally:
    whole, part = json.loads(after.to_json())["tally"], json.loads(before.to_json())["tally"]
    whole["reports"] -= part["reports"]
    whole["answered"] = [a - b for a, b in zip(whole["answered"], part["answered"], strict=True)]
    whole["counts"] = [
        [a - b for a, b in zip(x, y, strict=True)] for x, y in zip(whole["counts"], part["counts"], strict=True)
    ]
    return Tally.from_json(json.dumps({"hush": 2, "plan": json.loads(FEW.to_json()), "tally": whole}), FEW)


def judge(seen: list[Sight], every: float, least: int) -> None:
    """Fail if a reader saw something move too soon, by too few reports, or more often than the tally."""
    moves = [(0.0, 0)]
    for before, after in pairwise(seen):
        if after.tally.reports == before.tally.reports:
            assert after.tally == before.tally
        else:
            moves.append((after.time, after.tally.reports))
    for (then, few), (now, many) in pairwise(moves):
        assert many - few >= least
        assert now - then >= every
    for life in {sight.life for sight in seen}:
        lived = [sight for sight in seen if sight.life == life]
        for name in lived[-1].answers:
            _judge_answers(lived, name)
        _judge_counters(lived, every, least)


def _judge_answers(seen: list[Sight], name: str) -> None:
    """Whatever is computed may come a little later than the tally that it is made of, but not more often."""
    moved = changed = 0
    for before, after in pairwise(seen):
        moved += after.tally.reports != before.tally.reports
        changed += before.answers.get(name, after.answers.get(name)) != after.answers.get(name)
        assert changed <= moved, f"{name} moved by itself"


def _judge_counters(seen: list[Sight], every: float, least: int) -> None:
    names = {name for sight in seen for name in sight.counters}
    for name in names - {"hush_commit_seconds_sum"}:
        moved = [(seen[0].time - every, seen[0].counters.get(name, 0.0))]
        for sight in seen:
            value = sight.counters.get(name, 0.0)
            if value != moved[-1][1]:
                assert abs(value - moved[-1][1]) >= least, name
                assert sight.time - moved[-1][0] >= every, name
                moved.append((sight.time, value))
    for before, after in pairwise(seen):
        if after.counters["hush_committed_total"] == before.counters["hush_committed_total"]:
            assert after.counters["hush_commit_seconds_sum"] == before.counters["hush_commit_seconds_sum"]
