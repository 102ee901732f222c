"""Readers of a collector behind a relay see whole batches: nothing that they can read moves by one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from hush.collector import formats
from tests.collector.served import Served
from tests.relay.relayed import PLAN, collecting, device, relaying, sealed_reports, wait_until

BATCH = 6
READ = ("tally", "estimates", "margins", "manipulation", "timeline", "statement", "distribution?attribute=age")


class Watcher:
    """A reader who asks for everything, and keeps each answer that is new."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.seen: dict[str, list[str]] = {}
        self.look()

    def look(self) -> None:
        for what in (*(self._served.path(name, PLAN) for name in READ), "/plans", "/metrics"):
            answer = self._served.client.get(what)
            assert answer.status_code == 200, what
            text = answer.text if what != "/metrics" else metric(answer)
            if text not in self.seen.setdefault(what, []):
                self.seen[what].append(text)

    @property
    def counts(self) -> list[int]:
        """The numbers of reports that the list of plans has shown."""
        shown: list[Any] = [httpx.Response(200, text=text).json()["plans"] for text in self.seen["/plans"]]
        return [next(entry["reports"] for entry in plans if entry["id"] == PLAN.id) for plans in shown]


def metric(answer: httpx.Response) -> str:
    """The metrics that count reports; those of requests count the watcher's own."""
    return "\n".join(line for line in answer.text.splitlines() if line.startswith("hush_reports_total"))


def test_readers_see_whole_batches(tmp_path: Path) -> None:
    """Even if everything that is counted is shown at once."""
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=BATCH, own=4) as relay:
        watcher = Watcher(served)
        for number in (1, 2):
            for sealed in sealed_reports(BATCH)[1]:
                watcher.look()
                assert relay.post(sealed).status_code == 202
            wait_until(lambda number=number: served.tally(PLAN).people == number * BATCH)  # type: ignore[misc]
            watcher.look()
        assert watcher.counts == [0, BATCH, 2 * BATCH]
        for what, texts in watcher.seen.items():
            assert len(texts) <= 3, f"{what} moved between two batches"


def test_the_watcher_sees_single_reports(tmp_path: Path) -> None:
    """The twin: without a relay the same reader sees each of them."""
    with collecting(tmp_path, sealed_only=False) as served:
        watcher = Watcher(served)
        for report in sealed_reports(BATCH)[0]:
            assert served.post(PLAN, report.encode(), formats.REPORT).status_code == 202
            watcher.look()
        assert watcher.counts == list(range(BATCH + 1))


def test_a_stream_moves_by_batches(tmp_path: Path) -> None:
    with (
        collecting(tmp_path, stream_interval=0.01) as served,
        relaying(tmp_path, served.url, least=BATCH, own=4) as relay,
        served.client.stream("GET", served.path("stream", PLAN)) as answer,
    ):
        lines = (line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))

        def reports() -> int:
            return int(httpx.Response(200, text=next(lines)).json()["reports"])

        assert reports() == 0
        for person in range(BATCH):
            assert device(tmp_path, f"seen {person}", served.url, relay.url).answer(PLAN, {"age": 41, "os": "mac"}).new
        assert reports() == BATCH, "the next event has the whole batch"
