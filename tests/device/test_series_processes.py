"""Processes that use a series at once, and some that are killed; a device needs the standard library alone."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import hush
from hush import Ledger, Series
from tests.device.weeks import rows, weekly


def answer(path: str, weeks: list[int], queue: Any) -> None:
    series = Series(Ledger(path, cap=5), "mood")
    queue.put({week: series.randomise(weekly(week), {"mood": ["good", "bad"][week % 2]}).encode() for week in weeks})


def test_processes_that_ask_at_once_have_one_memory(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    weeks = list(range(8))
    workers = [
        context.Process(target=answer, args=(str(tmp_path / "ledger"), weeks[i:] + weeks[:i], queue)) for i in range(3)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert results[0] == results[1] == results[2]
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.spent == 2
    assert len(rows(ledger)) == 2
    for parity in (0, 1):
        decoded = [hush.Report.decode(weekly(week), results[0][week]) for week in weeks if week % 2 == parity]
        assert len({report.answers for report in decoded}) == 1


KILLED = """
import sys, hush
schema = hush.Schema([hush.Categorical("mood", ["m%d" % i for i in range(100)])])
series = hush.Series(hush.Ledger(sys.argv[1], cap=1000), "mood")
week = int(sys.argv[2])
while True:
    report = series.randomise(hush.design(schema, 1.0, title=str(week)), {"mood": "m%d" % (week % 100)})
    print(week, report.encode().hex(), flush=True)
    week += 1
"""


def test_what_was_sent_is_remembered_after_kill_9(tmp_path: Path) -> None:
    """Every week is a new state. An answer that was returned is in the memory, with its cost, and nothing else is."""
    path = tmp_path / "ledger"
    seen = 0
    for round_ in range(3):
        worker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", KILLED, str(path), str(seen)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )
        assert worker.stdout is not None
        for _ in range(3 + round_):
            assert worker.stdout.readline().endswith("\n")
            seen += 1
        worker.send_signal(signal.SIGKILL)
        seen += worker.stdout.read().count("\n")
        worker.wait()
        worker.stdout.close()
        ledger = Ledger(path)
        history = Series(ledger, "mood").history()
        assert history.states == history.reports == ledger.spent == history.spent
        assert 0 <= history.reports - seen <= 1  # at most the one that was not yet returned
        seen = history.reports


def test_a_device_needs_the_standard_library_alone(tmp_path: Path) -> None:
    source = str(Path(hush.__file__).parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {source!r}); import hush\n"
        "series = hush.Series(hush.Ledger(sys.argv[1], cap=1), 'a')\n"
        "plan = hush.design(hush.Schema([hush.Categorical('c', ['x', 'y'])]), 1.0)\n"
        "series.randomise(plan, {'c': 'x'})\n"
        "print('random' in sys.modules, 'hush.server.tally' in sys.modules, 'hush.testing' in sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "ledger")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert result.stdout.split() == ["False", "False", "False"]
