"""Nothing that takes long runs in the loop, and refusals cost no more than acceptances.

Time is that of the processor, of the loop's thread alone, for one callback. It is compared with a piece of work that
takes about five milliseconds on the machines of this year, done in the same process. So neither a slow machine nor a
busy one matters.

The limit for a callback is that piece of work. On two cores with a load of 25, the longest callbacks took .46 of it for
large batches, .32 for odd requests and .23 for readers, as the shortest of three tries: a false alarm needs twice that
in all three. Commits have three pieces, as a commit is measured once: that which ends a round also makes the next one,
which took 1.8 of them, and must be durable together with it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

import hush
from hush import Round, Training, gradient
from hush.collector import formats
from hush.collector.http import documents, views
from hush.collector.serve import make_server
from hush.device.randomise import randomise
from hush.server.changes import Counted
from hush.server.estimates import Wanted
from tests.collector import served as support
from tests.collector.bare import until
from tests.collector.served import BOUGHT, HASHES, Served, anybody, serving

WIDE = hush.design(
    hush.Schema([hush.Categorical(f"c{i}", [f"value {j}" for j in range(150)]) for i in range(20)]), 1.0, title="wide"
)
RECORD = {f"c{i}": "value 7" for i in range(20)}
COLUMNS = [f"x{i}" for i in range(60)]
TRAINING = Training(
    "wide", "logistic", hush.Schema([hush.Numeric(name, -1, 1) for name in COLUMNS]), BOUGHT, 1.0, 4, 1.0
)
PERSON = dict.fromkeys(COLUMNS, 0.5)


def unit() -> float:
    """Return how long a fixed piece of work takes here: about five milliseconds."""
    work = [{"number": i, "text": f"text {i}"} for i in range(3000)]
    found = []
    for _ in range(5):
        start = time.thread_time()
        json.dumps(work)
        found.append(time.thread_time() - start)
    return min(found)


def longest(found: list[float], act: Callable[[], None]) -> float:
    """Return the longest callback while something is done. The shortest of three tries: a machine pauses at times."""

    def once() -> float:
        found.clear()
        act()
        return max(found)

    return min(once() for _ in range(3))


@contextmanager
def watched(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[tuple[Served, list[float]]]:
    """Run a collector; note how long every callback of its loop takes, in units, from when the list is cleared."""
    scale, real, found = unit(), asyncio.events.Handle._run, []
    here = threading.get_ident()

    def run(handle: asyncio.Handle) -> None:
        start = time.thread_time()
        real(handle)
        if threading.get_ident() != here:
            found.append((time.thread_time() - start) / scale)

    def plainly(*arguments: Any, **named: Any) -> Any:
        server = make_server(*arguments, **named)
        server.loop_factory = asyncio.new_event_loop  # whose handles can be watched
        return server

    monkeypatch.setattr(asyncio.events.Handle, "_run", run)
    monkeypatch.setattr(support, "make_server", plainly)
    settings = anybody(tokens={"admin": HASHES["admin"]})
    with serving(path, settings, plans=[WIDE], trainings={TRAINING: 3}, **options) as served:
        until(lambda: served.app.state.collector.is_prepared(WIDE))
        yield served, found


def at_once(actions: list[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(8) as threads:
        return [future.result() for future in [threads.submit(action) for action in actions]]


def read_all(served: Served) -> None:
    """Let readers ask for everything, while reports arrive that make it new."""
    paths = ["estimates", "estimates?format=csv", "tally", "statement", "margins", "manipulation", "timeline"]
    for _ in range(2):
        report = randomise(WIDE, RECORD)
        assert served.post(WIDE, report.encode(), formats.REPORT).status_code == 202
        answers = at_once([partial(served.client.get, served.path(path, WIDE)) for path in paths * 2])
        assert {answer.status_code for answer in answers} <= {200, 503}  # 503: too much is asked for at once
        assert served.client.get("/plans").status_code == 200
        assert served.client.get("/metrics").status_code == 200


def test_readers_do_not_hold_up_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(tmp_path, monkeypatch) as (served, found):
        read_all(served)  # what is imported for the first time is not counted
        assert longest(found, partial(read_all, served)) < 1


def test_a_table_that_is_written_in_the_loop_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: as it was."""

    @wraps(views.Views.estimates)  # which declares the endpoint
    async def estimates(self: views.Views, request: Any) -> Any:
        tally = await self._visible.tally(request)
        document, _ = await self._estimated(Counted(tally), Wanted(), "none")
        return Response(documents.as_csv(document.estimates, tally.plan.schema), media_type="text/csv")

    monkeypatch.setattr(views.Views, "estimates", estimates)
    with watched(tmp_path, monkeypatch) as (served, found):
        read_all(served)
        assert longest(found, partial(read_all, served)) > 2


@pytest.mark.parametrize("good", [True, False])
def test_large_batches_do_not_hold_up_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: bool) -> None:
    one = randomise(WIDE, RECORD).encode()

    def batch() -> None:
        pieces = [one[:9] + secrets.token_bytes(16) + one[25:] for _ in range(60_000)]
        body = secrets.token_bytes(16) + b"".join(pieces if good else [*pieces, b"\7"])
        assert served.post(WIDE, body, formats.REPORTS).status_code == (202 if good else 422)

    with watched(tmp_path, monkeypatch) as (served, found):
        served.post(WIDE, secrets.token_bytes(16) + one, formats.REPORTS)
        assert longest(found, batch) < 1


def ask(path: str, body: bytes = b"") -> bytes:
    """Return a request: of a training's report, if it has a body."""
    head = f"Content-Type: {formats.JSON}\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: x\r\n{head}Connection: close\r\n\r\n".encode() + body


LONG = json.dumps({"id": "0" * 32} | {f"{i:x}": {} for i in range(6_500)}, separators=(",", ":")).encode()
HOSTILE = {
    "escapes in a path": (ask("/" + "%" * 16_000), 431),
    "parameters of a query": (ask("/healthz?" + "a&" * 8_000), 431),
    "escapes in a query": (ask("/healthz?" + "%" * 16_000), 431),
    "escapes that are none": (ask("/healthz?" + "%" * 4_000), 431),
    "a long address": (ask("/healthz?" + "%41" * 1_300), 400),
    "a gradient": (ask("/trainings/wide/gradients?round=1", LONG), 422),
    "a gradient of a round that is gone": (ask("/trainings/wide/gradients?round=0", LONG), 409),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_requests_do_not_hold_up_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    request, status = HOSTILE[name]
    with watched(tmp_path, monkeypatch) as (served, found):
        served.raw(ask("/healthz"))
        served.raw(ask("/trainings/wide/gradients?round=1", b"{}"))

        def send() -> None:
            assert served.raw(request).startswith(f"HTTP/1.1 {status} ".encode())

        assert longest(found, send) < 1


def test_a_refused_batch_costs_no_more_than_one_that_is_counted() -> None:
    """It was read one report at a time, before the last one was found to be wrong."""
    one = randomise(WIDE, RECORD).encode()
    pieces = b"".join(one[:9] + secrets.token_bytes(16) + one[25:] for _ in range(20_000))
    head = secrets.token_bytes(16)
    formats.reports(WIDE, head + pieces, False)
    times = {"good": 9.0, "bad": 9.0, "one by one": 9.0}
    for _ in range(3):
        start = time.thread_time()
        formats.reports(WIDE, head + pieces, False)
        times["good"] = min(times["good"], time.thread_time() - start)
        start = time.thread_time()
        with pytest.raises(hush.ReportError):
            formats.reports(WIDE, head + pieces + b"\7", False)
        times["bad"] = min(times["bad"], time.thread_time() - start)
    start = time.thread_time()
    formats.split(WIDE, pieces)
    times["one by one"] = time.thread_time() - start
    assert times["bad"] < 2 * times["good"]
    assert times["good"] < times["one by one"] / 3


def test_the_end_of_a_round_does_not_hold_up_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is computed when the collector starts. The first start designs the round, the second reads it."""
    tries = []
    for number in range(3):  # a machine pauses at times
        (folder := tmp_path / f"{number}").mkdir()
        tries.append(longest_commit(folder, monkeypatch))
        if tries[-1] < 3 * unit():
            return
    raise AssertionError(f"commits took {tries} seconds, {unit()} being a unit")


def longest_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the processor time of the longest commit of two rounds, with a restart between them."""
    spent: list[float] = []
    for restart in (False, True):
        with watched(folder, monkeypatch) as (served, found):
            round_ = Round.from_json(served.client.get("/trainings/wide/round").content)
            real = served.store.commit

            def commit(*arguments: Any, real: Any = real) -> Any:
                start = time.thread_time()
                try:
                    return real(*arguments)
                finally:
                    spent.append(time.thread_time() - start)

            monkeypatch.setattr(served.store, "commit", commit)
            found.clear()
            for _ in range(3):
                path = f"/trainings/wide/gradients?round={round_.number}"
                report = gradient(round_, PERSON, "yes").encode()
                answer = served.client.post(path, content=report, headers={"content-type": formats.REPORT})
                assert answer.status_code == 202
            assert served.store.live("wide").round.number == 2 + restart
            assert max(found) < 1
    return max(spent)
