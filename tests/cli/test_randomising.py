"""People in files to reports, on the command line: `hush randomise`, also if it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyarrow import parquet as pq
from rich.progress import Progress

from hush.batch.csv_files import NOT_WRITTEN
from hush.batch.files import tally_files
from hush.cli import progress
from tests.cli.collecting import PLAN, lay_out
from tests.cli.test_commands import refused, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a plan, and people."""
    monkeypatch.chdir(tmp_path)
    lay_out()


# -- randomise


def test_randomise_writes_reports() -> None:
    result = run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--ids", "--threads", "2")
    size = Path("reports.parquet").stat().st_size
    assert result.output == f"3,000 people, {size:,} bytes of reports. Written to reports.parquet.\n"
    assert pq.read_table("reports.parquet").column_names == ["attribute", "output", "report"]
    assert "exists already" in refused("randomise", "plan.json", "people.parquet", "-o", "reports.parquet")
    run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--overwrite")
    assert pq.read_table("reports.parquet").column_names == ["attribute", "output"]


def test_reports_and_tallies_are_for_their_owner_alone() -> None:
    """What is meant for others, as the plan, has the permissions of any file."""
    before = os.umask(0)
    try:
        run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet")
        for _ in range(2):
            run("tally", "plan.json", "reports.parquet", "-o", "tally.json", "--overwrite")
            assert {Path(name).stat().st_mode & 0o777 for name in ("reports.parquet", "tally.json")} == {0o600}
            Path("tally.json").chmod(0o644)  # one of an older hush
    finally:
        os.umask(before)


def test_randomise_takes_several_files() -> None:
    Path("more.csv").write_text("age,income,os\n41,,mac\n42,7e3,linux\n")
    assert "3,002 people" in run("randomise", "plan.json", "people.parquet", "more.csv", "-o", "reports.arrow").output
    assert tally_files(PLAN, "reports.arrow").reports == 3002


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("age,os\n1,mac\n", "people.csv: column 'income': is not there"),
        ("age,os,income\n777,mac,\n777,mac,3\n", "column 'age': must be from 0.0 to 120.0"),
        ("age,os,income\nseven,mac,\n", f"people.csv: column 'age': {NOT_WRITTEN} (some rows)"),
        ("age,os,income\n7,bsd,\n", "column 'os': must be one of the 3 values declared"),
        ("age,os,income\n7,,\n", "column 'os': is missing, and not declared optional"),
        ("age,os,income\n7\n", "must have as many fields as the header"),
        ("", "people.csv: cannot be read as CSV"),
    ],
)
def test_randomise_refuses_people_and_shows_no_value(text: str, why: str) -> None:
    Path("people.csv").write_text(text)
    line = refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet")
    assert why in line
    for value in ("777", "seven", "bsd"):
        assert value not in line
    assert not list(Path().glob(".*"))
    assert not Path("reports.parquet").exists()


def test_randomise_counts_bad_rows_only_if_asked() -> None:
    said = set()
    for text in ("age,os,income\n777,mac,\n7,mac,3\n7,mac,3\n", "age,os,income\n7,mac,\n777,mac,3\n777,mac,3\n"):
        Path("people.csv").write_text(text)
        said.add(refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet"))
    assert len(said) == 1
    line = refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet", "--count-bad-rows")
    assert line.endswith("(2 of 3 rows)\n")
    assert "exact and private" in " ".join(run("randomise", "--help").output.split())


def test_randomise_refuses_files() -> None:
    assert "absent.csv: no such file" in refused("randomise", "plan.json", "absent.csv", "-o", "reports.parquet")
    assert "no files found" in refused("randomise", "plan.json", "*.feather", "-o", "reports.parquet")
    assert "ends in one of" in refused("randomise", "plan.json", "people.parquet", "-o", "reports.csv")
    line = refused("randomise", "plan.json", "people.parquet", "-o", "nowhere/reports.parquet")
    assert line == "hush: nowhere: there is no such folder to write to\n"
    assert "absent.json" in refused("randomise", "absent.json", "people.parquet", "-o", "reports.parquet")
    line = refused("randomise", "plan.json", "people.parquet", "south*.csv", "-o", "reports.parquet")
    assert line == "hush: south*.csv: no files found\n"


def test_randomise_never_replaces_what_it_reads() -> None:
    Path("plan.arrow").write_text(PLAN.to_json())
    for output in ("./people.parquet", "plan.arrow"):
        before = Path(output).read_bytes()
        line = refused("randomise", "plan.arrow", "people.parquet", "-o", output, "--overwrite")
        assert "the reports must go to another file" in line
        assert Path(output).read_bytes() == before


SLOW = """
import os, signal, sys, time
import hush.batch
from hush.cli import main

signal.signal(signal.SIGHUP, signal.SIG_DFL)
if sys.argv.pop(1) == "beside" and hasattr(os, "O_TMPFILE"):
    del os.O_TMPFILE
draw = hush.batch.randomise_batches

def slow(*arguments, **options):
    yield from draw(*arguments, **options)
    print("drawn", flush=True)
    time.sleep(60)

hush.batch.randomise_batches = slow
main()
"""


def stopped(number: signal.Signals, way: str) -> int:
    """Run `hush randomise` as far as to where all is drawn, send it a signal, and return how it ended."""
    # Whoever runs the tests may ignore the signal, as nohup does, and children would inherit that.
    command = [sys.executable, "-c", SLOW, way, "randomise", "plan.json", "people.parquet", "-o", "reports.arrows"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "drawn\n"
        process.send_signal(number)
        return process.wait(30)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch")
@pytest.mark.parametrize("way", ["nameless", "beside"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_leaves_nothing_behind(number: signal.Signals, way: str) -> None:
    before = set(Path().iterdir())
    assert stopped(number, way) == 128 + number
    assert set(Path().iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files here always have a name")
def test_a_kill_leaves_nothing_behind() -> None:
    before = set(Path().iterdir())
    assert stopped(signal.SIGKILL, "nameless") == -signal.SIGKILL
    assert set(Path().iterdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_where_a_kill_leaves_something_it_is_said_what_another_run_would_cost() -> None:
    before = set(Path().iterdir())
    assert stopped(signal.SIGKILL, "beside") == -signal.SIGKILL
    (left,) = set(Path().iterdir()) - before
    assert left.stat().st_size
    assert left.stat().st_mode & 0o077 == 0
    line = refused("randomise", "plan.json", "people.parquet", "-o", "reports.arrows")
    assert line.startswith(f"hush: {left}: was left by a run that was killed")
    assert "spends their epsilon twice" in line
    left.unlink()
    run("randomise", "plan.json", "people.parquet", "-o", "reports.arrows")


def test_handlers_are_given_back() -> None:
    from hush.cli.program import stopping

    before = signal.getsignal(signal.SIGTERM)
    with stopping():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stopping():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN  # somebody wanted that
    finally:
        signal.signal(signal.SIGTERM, before)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(stopping().__enter__).result()  # another thread can set none
    assert signal.getsignal(signal.SIGTERM) is before


# -- what is shown meanwhile


def test_a_bar_comes_after_a_while_and_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(Progress, "start", lambda self: shown.append(self.tasks[0].description))
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.bar("checking") as tell:
        tell(1, None, "checking")
        time.sleep(0.1)
    assert shown == []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.bar("checking") as tell:
        tell(1, 2, "checking")
        time.sleep(0.3)
        tell(2, 2, "randomising")
    assert shown == ["checking"]
    monkeypatch.setattr(progress, "PATIENCE", 60)
    with progress.bar("checking"):
        pass
    assert shown == ["checking"]
