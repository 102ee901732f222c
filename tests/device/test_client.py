"""The client on a device: it believes no server, and a report that was made once is counted once."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

import hush
from hush.collector import formats
from hush.collector.http.security import hashed
from hush.collector.submissions import Result, Submission
from hush.device.receipts import Receipt
from hush.errors import CollectorError
from tests.collector.served import PLAN, RECORD, Served, anybody, packed, report_of, serving
from tests.device.clients import forwarded, quick
from tests.faking import answer, faking, reset
from tests.test_imports import SOURCE, isolated

# -- trust


def test_a_plan_is_checked_against_its_id(served: Served) -> None:
    assert quick(served.url).plan(PLAN.id) == PLAN
    assert quick(served.url + "/").plan(PLAN.id) == PLAN
    for id_ in ("", "0" * 63, PLAN.id.upper(), "../" + PLAN.id, PLAN.id + "\n"):
        with pytest.raises(hush.PlanError, match="64 hexadecimal"):
            quick(served.url).plan(id_)


def other_plan() -> bytes:
    return hush.design(PLAN.schema, 2.0, title=PLAN.title, k=1).to_json().encode()


def weaker() -> bytes:
    """A plan that says epsilon 1 and spends more."""
    return PLAN.to_json().replace('"epsilon":"1.0"', '"epsilon":"0.5"').encode()


@pytest.mark.parametrize(
    "lie", [other_plan(), weaker(), b"{}", b"", b"[" * 100_000, b"\xff", PLAN.to_json().encode()[:-1]]
)
def test_a_server_that_lies_gets_no_report(lie: bytes) -> None:
    asked = []

    def action(request: BaseHTTPRequestHandler, body: bytes) -> None:
        asked.append(request.command)
        answer(request, 200, lie)

    with faking(action) as url, pytest.raises(hush.PlanError):
        quick(url).answer(PLAN.id, RECORD)
    assert asked == ["GET"]


@pytest.mark.parametrize(
    "receipt",
    [b"{}", b"[]", b"", b'{"id": "x", "new": true, "reports": 1}', b'{"id": "ID", "new": 1, "reports": 1}', b"\xff"],
)
def test_a_receipt_for_something_else_is_none(receipt: bytes) -> None:
    report = report_of(PLAN)
    body = receipt.replace(b"ID", report.id.hex().encode())
    with faking(lambda request, _: answer(request, 202, body)) as url, pytest.raises(CollectorError):
        quick(url).submit(report)


def test_a_bad_record_is_refused_before_anything_is_sent() -> None:
    asked = []
    with faking(lambda request, _: asked.append(request.path)) as url:
        for method in ("answer", "answer_ticket"):
            with pytest.raises(hush.RecordError) as refused:
                getattr(quick(url), method)(PLAN, RECORD | {"age": 777})
            assert "777" not in str(refused.value)
    assert not asked


def test_a_plan_of_another_schema_is_refused_before_the_record_is_read(served: Served) -> None:
    """Whatever the record is, so that it tells nothing: a server cannot find a number by moving its bounds."""
    collector = quick(served.url)
    other = hush.Schema([hush.Numeric("age", 0, 41)])
    for method in (collector.answer, collector.answer_ticket):
        for record in (RECORD, {"age": 41}, {"age": 42}, {}):
            with pytest.raises(hush.PlanError, match="another schema"):
                method(PLAN.id, record, schema=other)
    assert served.tally(PLAN).reports == 0
    assert collector.answer(PLAN.id, RECORD, schema=PLAN.schema).new


def test_no_private_value_in_any_message(served: Served) -> None:
    record = RECORD | {"age": 83.25, "os": "other", "shop": "shop 11", "income": 61234.5}
    messages = []
    served.store.close_plan(PLAN.id)
    for url in (served.url, "http://127.0.0.1:9"):
        with pytest.raises(CollectorError) as refused:
            quick(url, attempts=1).answer(PLAN, record)
        messages += [str(refused.value), repr(refused.value)]
    for value in ("83.25", "other", "shop 11", "61234"):
        assert not any(value in message for message in messages)


# -- once


DEVICE = """
import hush, sys
from hush.device.client import Client
collector = Client(sys.argv[1], ledger=hush.Ledger(sys.argv[2], cap=1.0), attempts=1)
try:
    print(collector.answer(sys.argv[3], {"age": 41, "os": "mac", "shop": "shop 3", "income": None}).new)
except hush.HushError as error:
    print(type(error).__name__, error.kind if isinstance(error, hush.NetworkError) else error)
"""


def test_a_device_that_starts_again_sends_the_same_report(served: Served, tmp_path: Path) -> None:
    """The collector counts, the answer is lost, and the program ends: the next run sends the same report."""
    sent: list[bytes] = []

    def lossy(request: BaseHTTPRequestHandler, body: bytes) -> None:
        found = forwarded(served, request, body)
        if request.command == "POST":
            sent.append(body)
            return reset(request)
        return answer(request, found.status_code, found.content)

    def device(url: str) -> str:
        program = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{DEVICE}"
        command = [sys.executable, "-I", "-S", "-c", program, url, str(tmp_path / "ledger.db"), PLAN.id]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    with faking(lossy) as url:
        assert device(url) == device(url) == "CollectorError"
    assert device(served.url) == "False"  # counted by the first run
    assert sent[0] == sent[1]
    assert served.tally(PLAN).reports == 1


def test_a_ledger_bounds_what_is_answered(served: Served, tmp_path: Path) -> None:
    collector = quick(served.url, ledger=hush.Ledger(tmp_path / "ledger.db", cap=0.5))
    with pytest.raises(hush.BudgetError):
        collector.answer(PLAN.id, RECORD)
    assert served.tally(PLAN).reports == 0


def test_a_series_answers_from_memory(tmp_path: Path) -> None:
    """Three weeks of one state are three reports with one answer, and cost its epsilon once."""
    weeks = [dataclasses.replace(PLAN, title=f"week {week}") for week in range(3)]
    with serving(tmp_path, plans=weeks) as served:
        ledger = hush.Ledger(tmp_path / "ledger.db", cap=1.0)
        series, collector = hush.Series(ledger, "weekly"), quick(served.url, ledger=ledger)
        receipts = [collector.answer(plan.id, RECORD, series=series) for plan in weeks]
        assert all(receipt.new for receipt in receipts)
        assert collector.answer(weeks[0], RECORD, series=series) == Receipt(receipts[0].id, new=False)
        assert [served.tally(plan).reports for plan in weeks] == [1, 1, 1]
        assert len({ledger.report(plan).answers for plan in weeks}) == 1  # type: ignore[union-attr]
        assert ledger.spent == PLAN.cost
        elsewhere = hush.Series(hush.Ledger(tmp_path / "other.db", cap=1.0), "weekly")
        with pytest.raises(hush.LedgerError, match="own ledger"):
            collector.answer(weeks[1], RECORD, series=elsewhere)
        assert quick(served.url).answer(weeks[1], RECORD, series=elsewhere).new  # no ledger but that of the series


def test_an_answer_that_comes_too_late_is_no_second_report(tmp_path: Path) -> None:
    """A disk that is slow makes the client try again. It is counted once, and the receipt is that of the second try."""
    tries, go = [], threading.Event()
    with serving(tmp_path) as served:
        commit, device = served.store.commit, quick(served.url, timeout=0.25)

        def slow(submissions: Sequence[Submission]) -> list[Result]:
            tries.append(len(submissions))
            if len(tries) == 1:
                device._server.timeout = 60.0  # for the next try
                assert go.wait(60)
            return commit(submissions)

        served.store.commit = slow  # type: ignore[method-assign]
        report = report_of(PLAN)
        with ThreadPoolExecutor(1) as thread:
            receipt = thread.submit(device.submit, report)
            while not tries or served.waiting() == 0:  # the first is being committed, and the second waits behind it
                time.sleep(0.01)
            go.set()
            assert receipt.result() == Receipt(report.id.hex(), new=False)
        assert tries == [1, 1]
        assert served.tally(PLAN).reports == 1


def test_batches_and_tokens(tmp_path: Path) -> None:
    settings = anybody(tokens={"submit": frozenset([hashed("let me in")])})
    with serving(tmp_path, settings) as served:
        body = packed(PLAN, 20, b"0123456789abcdef")
        with pytest.raises(CollectorError) as refused:
            quick(served.url).submit_batch(PLAN, body, b"0123456789abcdef", formats.COLUMNS)
        assert refused.value.status == 401
        collector = quick(served.url, token="let me in")  # noqa: S106
        for new in (True, False):
            assert collector.submit_batch(PLAN, body, b"0123456789abcdef", formats.COLUMNS).new is new


# -- what it needs


def test_the_standard_library_is_enough() -> None:
    loaded = isolated("import hush.device.randomise; hush.Client; print(*sys.modules)").split()
    assert "hush.device.client" in loaded
    assert not {"hush.server.tally", "hush.server.estimates", "numpy", "hush.collector"} & set(loaded)


def test_most_devices_do_not_load_it() -> None:
    loaded = isolated("import hush; hush.randomise, hush.Ledger; print(*sys.modules)").split()
    assert not {"hush.device.client", "urllib.request", "http.client"} & set(loaded)
