"""The ledger: one report per plan, a cap on the sum, and no way to lose either."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import BudgetError, Ledger, LedgerError, Plan, RecordError, Series, StoreError, design
from hush.device.coins import SystemCoins
from tests.cases import MIXED, RECORD
from tests.device.at_once import answer, plan


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", cap=2.5)


def test_asking_twice_returns_the_same_report(ledger: Ledger) -> None:
    first = ledger.randomise(plan("a"), RECORD)
    assert ledger.randomise(plan("a"), RECORD) == first
    assert ledger.randomise(plan("a"), RECORD | {"age": 99}) == first  # even if the record has changed
    assert Ledger(ledger.path).randomise(plan("a"), {}) == first
    assert ledger.report(plan("a")) == first
    assert ledger.spent == 1


def test_the_cap_bounds_the_sum(ledger: Ledger) -> None:
    ledger.randomise(plan("a"), RECORD)
    ledger.randomise(plan("b"), RECORD)
    with pytest.raises(BudgetError, match=r"costs 1\.0; of a cap of 2\.5 this device has spent 2\.0"):
        ledger.randomise(plan("c"), RECORD)
    assert ledger.report(plan("c")) is None
    ledger.randomise(plan("c", 0.5), RECORD)
    assert ledger.spent == ledger.cap == Fraction(5, 2)
    with pytest.raises(BudgetError):
        ledger.randomise(plan("d", 0.001), RECORD)
    ledger.randomise(plan("a"), RECORD)  # a retry is free


def test_costs_are_added_exactly(tmp_path: Path) -> None:
    """Ten times 0.1 is 1, though not in floating point."""
    ledger = Ledger(tmp_path / "ledger", cap=1.0)
    for week in range(10):
        ledger.randomise(plan(f"week {week}", 0.1), RECORD)
    assert ledger.spent == 1
    with pytest.raises(BudgetError):
        ledger.randomise(plan("week 10", 0.001), RECORD)


def test_a_refused_plan_draws_no_randomness(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: SystemCoins) -> int:
        raise AssertionError("a word was drawn")

    monkeypatch.setattr(SystemCoins, "word", fail)
    with pytest.raises(BudgetError):
        ledger.randomise(plan("a", 3.0), RECORD)


def test_a_bad_record_leaves_no_trace(ledger: Ledger) -> None:
    with pytest.raises(RecordError):
        ledger.randomise(plan("a"), RECORD | {"age": 1000})
    assert ledger.spent == 0
    ledger.randomise(plan("a"), RECORD)


def test_the_file_holds_no_record(ledger: Ledger) -> None:
    ledger.randomise(plan("a"), RECORD | {"os": "linux"})
    data = ledger.path.read_bytes()
    for text in (b"linux", b"height", b"smokes"):
        assert text not in data


def test_the_file_is_the_owners_only(ledger: Ledger) -> None:
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert [path.name for path in ledger.path.parent.iterdir()] == ["ledger"]


def test_the_cap_is_kept(ledger: Ledger) -> None:
    assert Ledger(ledger.path).cap == Fraction(5, 2)
    assert Ledger(ledger.path, cap=2.5).cap == Fraction(5, 2)
    with pytest.raises(LedgerError, match=r"cap of 2\.5"):
        Ledger(ledger.path, cap=9.0)
    ledger.raise_cap(2.5)  # which changes nothing
    ledger.raise_cap(3.0)
    assert Ledger(ledger.path).cap == 3
    ledger.raise_cap(ledger.cap + Fraction(1, 3))
    assert Ledger(ledger.path).cap == Fraction(10, 3)
    assert "0.0 of 3.33" in repr(ledger)
    with pytest.raises(LedgerError, match="lower"):
        ledger.raise_cap(1.0)


def test_a_new_ledger_needs_a_cap(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="needs a cap"):
        Ledger(tmp_path / "ledger")
    for cap in (0, -1.0, 1000.001, float("nan"), True, "1"):
        with pytest.raises(LedgerError, match="must be a number"):
            Ledger(tmp_path / "ledger", cap=cap)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="cannot be made"):
        Ledger(tmp_path / "nowhere" / "ledger", cap=1.0)
    assert [*tmp_path.iterdir()] == []
    assert Ledger(tmp_path / "ledger", cap=1000).cap == 1000


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"something else entirely, and long enough to be read as a header" * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        Ledger(path)


def test_a_ledger_that_disappears_is_not_made_anew(ledger: Ledger) -> None:
    ledger.path.unlink()
    with pytest.raises(StoreError, match="cannot be used"):
        ledger.randomise(plan("a"), RECORD)
    assert not ledger.path.exists()


def test_a_ledger_stays_the_same_file(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative = Ledger("ledger")
    first = relative.randomise(plan("a"), RECORD)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert relative.randomise(plan("a"), RECORD) == first


def test_paths_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "ledger", tmp_path / ("x" * 300), "a\0b", 5):
        with pytest.raises((LedgerError, StoreError)):
            Ledger(path, cap=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", ["delete from settings", "update settings set cap = 'much'", "update settings set cap = '1/0'"]
)
def test_a_damaged_ledger_is_refused(ledger: Ledger, change: str) -> None:
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(StoreError):
        Ledger(ledger.path)


def test_a_damaged_report_is_the_fault_of_the_ledger(ledger: Ledger) -> None:
    ledger.randomise(plan("a"), RECORD)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("update answers set report = x'00'")
    connection.close()
    with pytest.raises(StoreError, match="report that cannot be read"):
        ledger.randomise(plan("a"), RECORD)


def test_a_newer_version_is_refused(ledger: Ledger) -> None:
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("update settings set version = 2")
    connection.close()
    with pytest.raises(StoreError, match="version 1"):
        ledger.randomise(plan("a"), RECORD)


def test_one_plan_of_a_kind_is_answered(ledger: Ledger) -> None:
    """The kind is how titles begin; what else was answered, before or after, changes nothing."""
    ledger.randomise(plan("shoes", 0.5), RECORD)
    first = ledger.randomise(plan("training, round 1", 0.5), RECORD, once="training")
    ledger.randomise(plan("hats", 0.5), RECORD)
    with pytest.raises(BudgetError, match="another plan of this kind"):
        ledger.randomise(plan("training, round 2", 0.5), RECORD, once="training")
    assert ledger.report(plan("training, round 2", 0.5)) is None
    assert ledger.randomise(plan("training, round 1", 0.5), RECORD, once="training") == first
    assert ledger.spent == Fraction(3, 2)


def following(epsilon: float = 0.5) -> tuple[Plan, Plan]:
    """A plan, and one that follows it."""
    pilot = plan("pilot", epsilon)
    return pilot, design(MIXED, epsilon, title="main", after=pilot)


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_plan_and_one_that_follows_it_one_is_answered(ledger: Ledger, order: int) -> None:
    first, second = following()[::order]
    ledger.randomise(plan("hats", 0.5), RECORD)
    report = ledger.randomise(first, RECORD)
    with pytest.raises(BudgetError, match="belongs to this one"):
        ledger.randomise(second, RECORD)
    opened = Ledger(ledger.path)
    with pytest.raises(BudgetError, match="belongs to this one"):
        Series(opened, "s").randomise(second, RECORD)
    assert opened.report(second) is None
    assert opened.randomise(first, RECORD) == report
    assert opened.spent == 1
    opened.randomise(design(MIXED, 0.5, title="main", after="0" * 64), RECORD)  # it follows another plan


@pytest.mark.parametrize("order", [1, -1])
def test_a_series_answers_one_of_them_too(ledger: Ledger, order: int) -> None:
    first, second = following()[::order]
    Series(ledger, "s").randomise(first, RECORD)
    for device in (ledger, Ledger(ledger.path)):
        with pytest.raises(BudgetError, match="belongs to this one"):
            device.randomise(second, RECORD)


def test_two_that_ask_at_once_answer_one_of_them(tmp_path: Path) -> None:
    """The order of both is left to chance; the ledger lets one of them through."""
    path = tmp_path / "ledger"
    Ledger(path, cap=5)
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(Ledger(path).randomise, one, RECORD) for one in following() * 4]
    reports = [one.result() for one in done if one.exception() is None]
    assert {type(one.exception()) for one in done} == {BudgetError, type(None)}
    assert len({report.id for report in reports}) == 1
    assert Ledger(path).spent == Fraction(1, 2)


def test_a_power_cut_brings_back_no_older_state(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection syncs the folder too, before it does anything else. A new name in a folder is synced at once."""
    said: list[list[str]] = []
    opened: list[sqlite3.Connection] = []
    synced: list[tuple[int, int]] = []
    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        said.append([])
        opened[-1].set_trace_callback(said[-1].append)
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", traced)
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((handle, os.fstat(handle).st_ino)))
    ledger.randomise(plan("a"), RECORD)
    ledger.raise_cap(3)
    assert synced == []
    Ledger(tmp_path / "another", cap=1)
    assert len(said) == 4
    assert all(statements[0] == "pragma synchronous = extra" for statements in said)
    [(handle, inode)] = synced
    assert inode == tmp_path.stat().st_ino
    with pytest.raises(OSError, match="descriptor"):  # nothing stays open
        os.fstat(handle)
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("select 1")


def test_processes_that_ask_at_once_get_one_report(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    titles = [f"plan {i}" for i in range(8)]
    workers = [
        context.Process(target=answer, args=(str(tmp_path / "ledger"), titles[i:] + titles[:i], queue))
        for i in range(4)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.spent == 5
    for title in titles:
        answers = {result[title] for result in results} - {None}
        stored = ledger.report(plan(title))
        assert answers <= {stored.encode()} if stored else not answers
    assert sum(ledger.report(plan(title)) is not None for title in titles) == 5


KILLED = """
import sys, hush
from tests.cases import MIXED, RECORD
from tests.device.at_once import answer, plan
ledger = hush.Ledger(sys.argv[1], cap=1000)
i = int(sys.argv[2])
while True:
    report = ledger.randomise(hush.design(MIXED, 1.0, title=str(i)), RECORD)
    print(i, report.encode().hex(), flush=True)
    i += 1
"""


def test_what_was_returned_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    seen: dict[int, str] = {}
    for round_ in range(3):
        worker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", KILLED, str(path), str(len(seen))],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )
        assert worker.stdout is not None
        for _ in range(3 + round_):
            index, report = worker.stdout.readline().split()
            seen[int(index)] = report
        worker.send_signal(signal.SIGKILL)
        for line in worker.stdout.read().splitlines():
            if len(fields := line.split()) == 2 and len(fields[1]) == len(report):
                seen[int(fields[0])] = fields[1]
        worker.wait()
        worker.stdout.close()
        ledger = Ledger(path)
        for number, encoded in seen.items():
            stored = ledger.report(plan(str(number)))
            assert stored is not None
            assert stored.encode().hex() == encoded
        assert 0 <= ledger.spent - len(seen) <= 1  # at most the one that was not yet returned
        if ledger.spent > len(seen):
            stored = ledger.report(plan(str(len(seen))))
            assert stored is not None
            seen[len(seen)] = stored.encode().hex()


def test_averaging_gains_nothing(ledger: Ledger) -> None:
    reports = {ledger.randomise(plan("a"), RECORD).encode() for _ in range(20)}
    assert len(reports) == 1
    assert len({hush.randomise(plan("a"), RECORD).encode() for _ in range(20)}) == 20


def test_a_ledger_knows_which_plan_of_a_pilot_it_has_answered(tmp_path: Path) -> None:
    pilot, stranger = (design(MIXED, 1.0, title=title) for title in ("pilot", "stranger"))
    seconds = [design(MIXED, 1.0, title=title, after=pilot) for title in ("one", "two")]
    for number, answered in enumerate((pilot, *seconds)):
        book = Ledger(tmp_path / str(number), cap=4)
        book.randomise(stranger, RECORD)
        assert [book.answered(plan) for plan in (pilot, *seconds)] == [None] * 3
        book.randomise(answered, RECORD)
        assert [book.answered(plan) for plan in (pilot, *seconds)] == [answered.id] * 3
        assert book.answered(stranger) == stranger.id


def test_who_follows_answers_one_plan_of_a_pilot(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=20)
    one, two, three = (design(MIXED, 1.0, title=title, after=plan("pilot")) for title in ("one", "two", "three"))
    ledger.randomise(one, RECORD, follow=True)
    with pytest.raises(BudgetError, match="has answered another plan of the same pilot"):
        ledger.randomise(two, RECORD, follow=True)
    with pytest.raises(BudgetError, match="was asked another plan of the same pilot"):
        ledger.ask(two, follow=True)
    assert ledger.spent == 1
    ledger.randomise(two, RECORD)  # who does not follow may answer all
    assert ledger.ask(three) is not None


KEYS = [hush.CollectorKey(point.to_bytes(32, "little")) for point in (9, 16)]


def test_a_report_is_sealed_once_whatever_the_key(ledger: Ledger) -> None:
    reports = [ledger.randomise(plan(title), RECORD) for title in "ab"]
    assert [ledger.sealed(report) for report in reports] == [None, None]
    sealed = [ledger.seal(report, KEYS[0]) for report in reports]
    assert len({one.body for one in sealed}) == 2
    assert [(one.key, one.held, len(one.body)) for one in sealed] == [
        (KEYS[0], False, len(hush.seal(reports[0], KEYS[0])))
    ] * 2
    again = Ledger(ledger.path)
    for key in KEYS:
        assert [again.seal(report, key) for report in reports] == sealed
    again.hold(reports[1])
    again.hold(reports[1])
    assert ledger.sealed(reports[0]) == sealed[0]
    assert ledger.seal(reports[1], KEYS[1]) == again.sealed(reports[1]) == sealed[1]._replace(held=True)


def test_what_an_older_ledger_has_sealed_stays(ledger: Ledger) -> None:
    """It could have a report for several keys. The first is the one that may have left first."""
    report = ledger.randomise(plan("a"), RECORD)
    with sqlite3.connect(ledger.path) as db:
        db.execute(
            "create table sealed (report blob, key blob, sealed blob not null, primary key (report, key)) strict"
        )
        for key, body in zip(KEYS[::-1], (b"first", b"second"), strict=True):
            db.execute("insert into sealed values (?, ?, ?)", (report.id, key.public, body))
    db.close()
    assert ledger.seal(report, KEYS[0]) == (KEYS[1], b"first", False)


def test_the_first_description_of_a_training_stays(ledger: Ledger) -> None:
    assert ledger.described("steps", "1") == "1"
    assert Ledger(ledger.path).described("steps", "2") == "1"
    assert ledger.described("others", "2") == "2"
    assert ledger.described("steps", "3") == "1"


def test_a_new_ledger_has_answered_nothing(ledger: Ledger) -> None:
    assert ledger.answered(plan("a")) is None
    assert ledger.report(plan("a")) is None
    assert ledger.spent == 0
