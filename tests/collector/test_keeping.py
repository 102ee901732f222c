"""A training over HTTP from end to end, what a collector keeps, and that it answers what it has begun."""

from __future__ import annotations

import re
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import hush
from hush.batch.reports import report_schema
from hush.collector import formats
from hush.device.client import Client
from hush.device.gradient import gradient, held_out
from tests.collector.served import (
    PLAN,
    PLANS,
    TRAINING,
    anybody,
    problem,
    report_of,
    serving,
)


def test_a_training_from_end_to_end(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        collector = Client(served.url)
        assert served.client.get("/trainings").json()["trainings"] == [
            {"name": "tiny", "number": 1, "rounds": 3, "done": False, "wanted": 4, "received": 0, "stage": None}
        ]
        first = collector.round("tiny")
        early = gradient(first, {"a": 1.0, "b": -1.0}, "yes")
        path = "/trainings/tiny/gradients"
        kind = {"content-type": formats.REPORT}
        assert served.client.post(path, params={"round": 1}, content=early.encode(), headers=kind).json()["new"]
        loss = held_out(first, {"a": 1.0, "b": -1.0}, "yes")
        sent = served.client.post(
            "/trainings/tiny/losses",
            params={"round": 1},
            content=loss.to_json(),
            headers={"content-type": formats.JSON},
        )
        assert sent.json()["new"]
        late = gradient(first, {"a": 0.5, "b": 0.5}, "no")
        problem(served.client.post(path, params={"round": 2}, content=early.encode(), headers=kind), "bad-request")
        points = [(1.0, -1.0, "yes"), (-1.0, 1.0, "no"), (0.8, -0.6, "yes"), (-0.2, 0.9, "no")]
        people = [({"a": a, "b": b}, bought) for a, b, bought in points]
        for place in range(11):
            ledger = hush.Ledger(tmp_path / f"{place}.db", cap=4.0)
            device = Client(served.url, ledger=ledger)
            assert device.train("tiny", *people[place % 4]).new
            if place == 2:  # which ended the first round: each person takes part once, whatever the round
                with pytest.raises(hush.BudgetError):
                    device.train("tiny", *people[2])
        assert collector.round("tiny").done
        with pytest.raises(hush.PlanError, match="over"):
            collector.train("tiny", *people[0], epsilon=4.0)
        again = served.client.post(path, params={"round": 1}, content=early.encode(), headers=kind)
        assert (again.status_code, again.json()["new"]) == (202, False)
        problem(served.client.post(path, params={"round": 1}, content=late.encode(), headers=kind), "late")
        problem(
            served.client.post(
                path, params={"round": 1}, content=late.to_json(), headers={"content-type": formats.JSON}
            ),
            "late",
        )
        problem(served.client.post(path, params={"round": 1}, content=b"x", headers=kind), "bad-report")
        for number in ("", "x", "-1", "²", "1" * 10):
            problem(served.client.post(path, params={"round": number}, content=b"", headers=kind), "bad-request")
        problem(served.client.post(path, content=b"", headers=kind), "bad-request")
        problem(served.client.post(path, params={"round": 1}, headers={"content-type": "a/b"}), "wrong-type")
        history = served.client.get("/trainings/tiny/history").json()
        assert history["done"] is True
        assert [(row["number"], row["people"]) for row in history["rounds"]] == [(1, 4), (2, 4), (3, 4)]
        assert history["rounds"][0]["loss"] is not None
        assert history["rounds"][1]["loss"] is None
        assert len(history["result"]) == TRAINING.width


# -- what is kept


def test_neither_addresses_nor_times_are_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, anybody(rate=1e6), forwarded="127.0.0.1") as served:
        for plan in PLANS:
            head = {"x_forwarded_for": "203.0.113.77", "user_agent": "unusual-agent", "cookie": "who=me"}
            assert served.post(plan, report_of(plan).encode(), formats.REPORT, **head).status_code == 202
        served.post(PLAN, b"bad", formats.REPORT, x_forwarded_for="203.0.113.77")
    database = sqlite3.connect(tmp_path / "hush.db")
    columns = database.execute(
        "select m.name, p.name from sqlite_master m join pragma_table_info(m.name) p where m.type = 'table'"
    ).fetchall()
    assert not [name for _, name in columns if re.search("time|date|address|host|agent|client", name)]
    rows_ = [row for (table,) in set(database.execute("select name from sqlite_master where type = 'table'"))
             for row in database.execute(f"select * from {table}")]  # noqa: S608  # fmt: skip
    database.close()
    for value in (value for row in rows_ for value in row):
        # Nothing is a time: no number between 2001 and 2286 in seconds, and no text with a date.
        assert not (isinstance(value, int | float) and 1e9 < value < 1e10)
        assert not (isinstance(value, str) and re.search(r"\b20\d\d-\d\d-\d\d", value))
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    said = capfd.readouterr()
    for trace in ("203.0.113.77", "unusual-agent", "who=me", "127.0.0.1"):
        assert trace.encode() not in everything
        assert trace not in said.out + said.err


def test_requests_in_flight_are_answered_at_the_end(tmp_path: Path) -> None:
    answers: list[httpx.Response] = []
    report = report_of(PLAN)

    def slowly() -> Iterator[bytes]:
        body = report.encode()
        yield body[:10]
        sending.set()
        time.sleep(1.5)
        yield body[10:]

    def send() -> None:
        answers.append(httpx.post(url, content=slowly(), headers={"content-type": formats.REPORT}, timeout=20))

    sending = threading.Event()
    with serving(tmp_path) as served:
        url = served.url + served.path("reports")
        with served.client.stream("GET", served.path("stream")) as stream:  # a stream must not hold it up
            lines = stream.iter_lines()
            next(lines)
            thread = threading.Thread(target=send)
            thread.start()
            assert sending.wait(10)
            time.sleep(0.5)  # a busy collector may not have read any of it yet, and would owe no answer
            start = time.monotonic()
        # Leaving the block asks the server to stop while half of a report is on its way.
    thread.join()
    assert time.monotonic() - start < 10
    assert answers[0].status_code == 202
    assert answers[0].json()["new"] is True
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", served.port), 1)


def test_the_example_of_the_specification() -> None:
    """The bytes in `spec/http.md`, but for the plan's tag and what the plan allows."""
    text = (Path(__file__).parent.parent.parent / "spec" / "http.md").read_text(encoding="utf-8")
    shown = bytes.fromhex("".join(re.findall(r"^    ([0-9a-f ]+)$", text, re.M)))
    plan = hush.design(
        hush.Schema([hush.Categorical("a", list(range(4))), hush.Numeric("b", 0, 1)]), 1.0, categorical="grr"
    )
    table = pa.table([pa.array([0, 1], pa.int16()), pa.array([3, 258], pa.int16())], schema=report_schema(plan))
    made = formats.pack(plan, table, shown[14:30])
    assert made[:6] == shown[:6]
    assert made[6:14].hex() == plan.id[:16]
    assert made[14:] == shown[14:]
