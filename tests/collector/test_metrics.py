"""What a reader of `/metrics` and `/overview` sees at once, and what only with the tally that readers see."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from hush.collector import formats
from hush.collector.http.metrics import FAMILIES, Metrics
from hush.errors import StoreError
from tests.collector.served import ADMIN, FEW, HASHES, PLAN, Served, anybody, report_of, serving

HOUR = {"reveal_every": 3600.0, "reveal_least": 20, "tokens": {"admin": HASHES["admin"]}}

Ask = Callable[[Served], httpx.Response]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(**HOUR)) as found:
        yield found


def text(served: Served) -> str:
    return served.client.get("/metrics").text


def lines(served: Served) -> dict[str, str]:
    found = (line.rpartition(" ") for line in text(served).splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in found}


def away(*_: object) -> NoReturn:
    raise StoreError("the disk is gone")


def post(served: Served) -> httpx.Response:
    return served.post(PLAN, report_of(PLAN).encode(), formats.REPORT)


def test_failures_of_the_collector_show_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """However seldom readers see reports: 15 answers of 503, of which the first was not the first look."""
    assert 'status="503"' not in text(served)
    monkeypatch.setattr(served.store, "commit", away)
    for number in range(1, 16):
        assert post(served).status_code == 503
        assert lines(served)['hush_responses_total{status="503"}'] == str(number)


# Whatever a person's device may do, and what else could show by itself that it did.
BY_PEOPLE: dict[str, Ask] = {
    "a report": post,
    "a bad report": lambda at: at.post(PLAN, b"x", formats.REPORT),
    "another type": lambda at: at.post(PLAN, b"x", "text/plain"),
    "a report that is too large": lambda at: at.post(PLAN, bytes(1 << 17), formats.REPORT),
    "a plan": lambda at: at.client.get(f"/plans/{PLAN.id}"),
    "a plan that is not here": lambda at: at.client.get(f"/plans/{'0' * 64}"),
    "a plan again": lambda at: at.client.get(f"/plans/{PLAN.id}", headers={"if-none-match": f'"{PLAN.id}"'}),
    "a token that is unknown": lambda at: at.client.get("/overview", headers={"authorization": "Bearer x"}),
    "another name": lambda at: at.client.get("/plans", headers={"host": "other.example.org"}),
    "a query that is not read": lambda at: at.client.get("/plans?x=1"),
    "a closed plan": lambda at: at.post(FEW, report_of(FEW).encode(), formats.REPORT),
}


@pytest.mark.parametrize("what", BY_PEOPLE)
def test_nothing_that_a_person_does_shows_at_once(served: Served, what: str) -> None:
    """A reader has brought every counter to the edge of a step, and looks twice a second."""
    served.store.close_plan(FEW.id)
    metrics: Metrics = served.app.state.collector.desk._metrics
    metrics.responses.update(dict.fromkeys(range(200, 500), 19) | {405: 0, 431: 0})
    metrics.submissions[PLAN.id, "report", "new"] = metrics.reports[PLAN.id] = 19
    before, seen = text(served), served.client.get("/overview", headers=ADMIN).json()
    assert BY_PEOPLE[what](served).status_code < 500
    assert text(served) == before
    now = served.client.get("/overview", headers=ADMIN).json()
    assert (now["waiting"], now["storage"]) == (seen["waiting"], seen["storage"])


def test_where_readers_see_everything_at_once_each_report_shows(tmp_path: Path) -> None:
    """The twin: without the rule, the same looks see a report."""
    with serving(tmp_path, anybody(tokens=HOUR["tokens"])) as served:
        before, seen = text(served), served.client.get("/overview", headers=ADMIN).json()
        assert post(served).status_code == 202
        assert text(served) != before
        assert served.client.get("/overview", headers=ADMIN).json()["storage"] > seen["storage"]


def test_refusals_that_no_device_meets_show_at_once(served: Served) -> None:
    assert 'status="405"' not in text(served)
    served.client.put("/plans")
    assert lines(served)['hush_responses_total{status="405"}'] == "1"


def test_answers_of_the_connection_itself_show_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No handler has seen these requests: headers that are too long, and more connections than are allowed."""
    with serving(tmp_path, anybody(**HOUR)) as served:
        assert b" 431 " in served.raw(b"GET /%s HTTP/1.1\r\n\r\n" % (b"x" * 5000))
        assert lines(served)['hush_responses_total{status="431"}'] == "1"
        monkeypatch.setattr(served.server.bounds, "admit", lambda *_: "busy")
        for number in (1, 2, 3):
            assert b" 503 " in served.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert served.app.state.collector.desk._metrics.responses[503] == number
        monkeypatch.undo()
        assert lines(served)['hush_responses_total{status="503"}'] == "3"


def test_a_queue_shows_when_it_is_full_and_not_before(tmp_path: Path) -> None:
    """Its length moves with one report. That it is full, and a commit late, anybody can read off /readyz."""
    began, go = threading.Event(), threading.Event()
    settings = anybody(**HOUR, queue=2, health_timeout=0.05)
    with serving(tmp_path, settings) as served, ThreadPoolExecutor(3) as people:
        before, commit = text(served), served.store.commit
        assert "\nhush_queue_full 0\nhush_" not in before  # one metric after the other, each with its help

        def held(submissions: Any) -> Any:
            began.set()
            assert go.wait(60)
            return commit(submissions)

        served.store.commit = held  # type: ignore[method-assign]
        sent = [people.submit(post, served)]
        assert began.wait(60)
        while lines(served)["hush_commit_late"] == "0":
            assert served.client.get("/readyz").status_code in (200, 503)
        assert served.client.get("/readyz").status_code == 503
        sent.append(people.submit(post, served))
        intake = served.app.state.collector.desk.intake
        while intake.waiting < 1:
            pass
        assert lines(served)["hush_queue_full"] == "0"
        assert lines(served)["hush_waiting"] == "0"
        assert served.client.get("/overview", headers=ADMIN).json()["waiting"] == 0
        sent.append(people.submit(post, served))
        while intake.waiting < 2:
            pass
        assert lines(served)["hush_queue_full"] == "1"
        go.set()
        assert [one.result(60).status_code for one in sent] == [202] * 3
        assert lines(served)["hush_queue_full"] == "0"


def test_every_metric_is_of_one_sort() -> None:
    """Both sorts together are all metrics, each in one place, and the responses alone have lines of both."""
    metrics = Metrics(20)
    metrics.responses.update({404: 20, 405: 1, 503: 1})
    people = metrics.of_people(0)
    whole = metrics.text(people, full=False, late=False)
    names = [line.split()[2] for line in whole.splitlines() if line.startswith("# TYPE")]
    assert names == [family.name for family in FAMILIES]
    own = metrics.text({}, full=False, late=False)
    found = {line.split("{")[0].split()[0] for line in own.splitlines() if not line.startswith("#")}
    assert found | set(people) == set(names)
    assert found & set(people) == {"hush_responses_total"}
    assert [line for line in whole.splitlines() if line.startswith("hush_responses")] == [
        'hush_responses_total{status="404"} 20',
        'hush_responses_total{status="405"} 1',
        'hush_responses_total{status="503"} 1',
    ]
