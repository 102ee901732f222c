"""From people in files to estimates, on the command line: `hush randomise`, `tally` and `estimate`."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from rich.progress import Progress

import hush
import hush.engines
from hush import engines, plots
from hush.batch.files import tally_files
from hush.cli import files, progress
from hush.show import tables
from tests.cli.test_commands import refused, run

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Numeric("income", 0, 1e5, optional=True),
        hush.Categorical("os", ["linux", "mac", "other"]),
    ]
)
PLAN = hush.design(SCHEMA, 1.0, title="spring")
OTHER = hush.design(SCHEMA, 1.0, title="autumn")
PEOPLE = 3000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a folder with a plan, and people."""
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(PLAN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    columns = {"os": ["mac", "linux", "mac"] * 1000, "income": [3e4, 2e4, None] * 1000, "age": [40.0] * PEOPLE}
    pq.write_table(pa.table(columns), "people.parquet")
    return tmp_path


def reports(path: str = "reports.parquet") -> str:
    run("randomise", "plan.json", "people.parquet", "-o", path)
    return path


def collected(path: str = "tally.json") -> hush.Tally:
    run("tally", "plan.json", reports(), "-o", path)
    return files.read_tally(path)


# -- randomise


def test_randomise_writes_reports() -> None:
    result = run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--ids", "--threads", "2")
    size = Path("reports.parquet").stat().st_size
    assert result.output == f"3,000 people, {size:,} bytes of reports. Written to reports.parquet.\n"
    assert pq.read_table("reports.parquet").column_names == ["attribute", "output", "report"]
    assert "exists already" in refused("randomise", "plan.json", "people.parquet", "-o", "reports.parquet")
    run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--overwrite")
    assert pq.read_table("reports.parquet").column_names == ["attribute", "output"]


def test_randomise_takes_several_files() -> None:
    Path("more.csv").write_text("age,income,os\n41,,mac\n42,7e3,linux\n")
    assert "3,002 people" in run("randomise", "plan.json", "people.parquet", "more.csv", "-o", "reports.arrow").output
    assert tally_files(PLAN, "reports.arrow").reports == 3002


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("age,os\n1,mac\n", "people.csv: column 'income': is not there"),
        ("age,os,income\n777,mac,\n777,mac,3\n", "column 'age': must be from 0.0 to 120.0"),
        ("age,os,income\nseven,mac,\n", "people.csv: column 'age': must be a finite number (some rows)"),
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


# -- tally


def test_tally_holds_the_plan_and_all_reports() -> None:
    reports("a.parquet")
    reports("b.arrow")
    assert run("tally", "plan.json", "*.parquet", "b.arrow", "-o", "t.json", code=2).exception  # people are no reports
    text = run("tally", "plan.json", "a.parquet", "b.arrow", "-o", "tally.json").output
    assert text == "6,000 reports. Written to tally.json.\n"
    whole = json.loads(Path("tally.json").read_text())
    assert whole == {"hush": 2, "plan": json.loads(PLAN.to_json()), "tally": whole["tally"]}
    assert hush.Tally.from_json(Path("tally.json").read_text()) == tally_files(PLAN, ["a.parquet", "b.arrow"])
    assert run("tally", "plan.json", "a.parquet", "b.arrow").output == Path("tally.json").read_text()


def test_tallies_are_added_to_reports_and_to_each_other() -> None:
    first = collected("north.json")
    Path("south.json").write_text(first.to_json())  # a program writes what the command line writes
    assert Path("south.json").read_bytes() == Path("north.json").read_bytes()
    run("tally", "plan.json", "*th.json", "reports.parquet", "-o", "all.json")
    assert files.read_tally("all.json") == first + first + first
    run("tally", "plan.json", "-", "-o", "again.json", stdin=first.to_json())
    assert files.read_tally("again.json") == first


def test_duckdb_gives_the_same_tally() -> None:
    pytest.importorskip("hush.engines.duckdb", exc_type=ImportError)
    tally = collected()
    run("tally", "plan.json", "*ports.parquet", "--engine", "duckdb", "--threads", "1", "-o", "same.json")
    assert files.read_tally("same.json") == tally
    assert "another plan" in refused("tally", "other.json", "reports.parquet", "--engine", "duckdb")


def test_spark_is_given_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself is tested with its engine; here it is enough that the right files come there."""
    tally = collected()
    given: list[Any] = []
    session = SimpleNamespace(read=SimpleNamespace(parquet=lambda *paths: given.append(paths)))
    builder = SimpleNamespace(appName=lambda name: SimpleNamespace(getOrCreate=lambda: session))
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", ModuleType("pyspark.sql"))
    monkeypatch.setattr(sys.modules["pyspark.sql"], "SparkSession", SimpleNamespace(builder=builder), raising=False)
    engine = ModuleType("hush.engines.spark")
    monkeypatch.setattr(engine, "tally", lambda plan, dataframe: tally, raising=False)
    monkeypatch.setitem(sys.modules, "hush.engines.spark", engine)
    monkeypatch.setitem(vars(hush.engines), "spark", engine)
    run("tally", "plan.json", "reports.parquet", "--engine", "spark", "-o", "same.json")
    run("tally", "plan.json", "s3://bucket/*.parquet", "--engine", "spark", "-o", "more.json")
    assert given == [("reports.parquet",), ("s3://bucket/*.parquet",)]
    assert "another plan" in refused("tally", "other.json", "reports.parquet", "--engine", "spark")


def test_tally_refuses() -> None:
    tally = collected()
    assert "another plan" in refused("tally", "other.json", "reports.parquet")
    assert "tally.json" in refused("tally", "other.json", "tally.json")
    assert "tally.json: this tally belongs to another plan" in refused("tally", "other.json", "tally.json")
    Path("bare.json").write_text(json.dumps(json.loads(tally.to_json())["tally"]))
    assert "fields hush, plan, tally" in refused("tally", "plan.json", "bare.json")
    Path("bare.json").unlink()
    assert "more than once" in refused("tally", "plan.json", "tally.json", "*.json")
    assert "more than once" in refused("tally", "plan.json", "reports.parquet", "./reports.parquet")
    assert "another file" in refused("tally", "plan.json", "tally.json", "-o", "tally.json")
    assert "no files found" in refused("tally", "plan.json", "*.feather")
    assert "absent.parquet: no such file" in refused("tally", "plan.json", "absent.parquet")
    Path("empty").mkdir()
    for nothing in ("south*.parquet", "south*.json", "empty"):
        for engine in ("memory", "duckdb", "spark"):
            line = refused("tally", "plan.json", "reports.parquet", nothing, "--engine", engine)
            assert line == f"hush: {nothing}: no files found\n"
    assert "attribute" in refused("tally", "plan.json", "people.parquet")


def test_a_tally_is_added_once_whatever_it_is_called() -> None:
    collected()
    Path("link.json").symlink_to("tally.json")
    for again in ("./tally.json", str(Path("tally.json").resolve()), "link.json", "*y.json"):
        assert "more than once" in refused("tally", "plan.json", "tally.json", again)
    for away in ("-", "s3://bucket/x.parquet"):
        assert "more than once" in refused("tally", "plan.json", away, away, "--engine", "spark")


def test_a_tally_replaces_nothing_unless_asked_and_never_what_it_reads() -> None:
    tally = collected()
    kept = {path: path.read_bytes() for path in Path().iterdir()}
    for output in ("tally.json", "./tally.json", "other.json"):
        assert "exists already" in refused("tally", "plan.json", "reports.parquet", "-o", output)
    for output in ("tally.json", "./tally.json", "plan.json", "./plan.json", "reports.parquet"):
        for options in ([], ["--overwrite"]):
            line = refused("tally", "plan.json", "tally.json", "reports.parquet", "-o", output, *options)
            assert "the tally must go to another file" in line
    assert "nowhere: there is no such folder" in refused("tally", "plan.json", "tally.json", "-o", "nowhere/t.json")
    assert {path: path.read_bytes() for path in Path().iterdir()} == kept
    Path("old.json").write_text("old")
    run("tally", "plan.json", "tally.json", "-o", "./old.json", "--overwrite")
    assert files.read_tally("old.json") == tally


def test_a_tally_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    collected()
    Path("old.json").write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "no space left" in refused("tally", "plan.json", "tally.json", "-o", "old.json", "--overwrite")
    assert "no space left" in refused("tally", "plan.json", "tally.json", "-o", "new.json")
    assert Path("old.json").read_text() == "old"
    assert not list(Path().glob(".*"))
    assert not Path("new.json").exists()


def test_a_folder_has_the_same_files_for_every_engine() -> None:
    pytest.importorskip("hush.engines.duckdb", exc_type=ImportError)
    Path("reports/deep").mkdir(parents=True)
    reports("reports/a.parquet")
    reports("reports/deep/b.parquet")
    for given in ("reports", "reports/**", "rep*"):
        whole = run("tally", "plan.json", given).output
        assert hush.Tally.from_json(whole, PLAN).reports == 2 * PEOPLE
        assert run("tally", "plan.json", given, "--engine", "duckdb").output == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: whole.update(hush=1),
        lambda whole: whole.update(hush=3),
        lambda whole: whole.update(hush=True),
        lambda whole: whole.update(more=1),
        lambda whole: whole.pop("plan"),
        lambda whole: whole.update(plan=json.loads(OTHER.to_json())),
        lambda whole: whole["plan"].update(epsilon="0.5"),
        lambda whole: whole["plan"]["schema"][0].update(high=0),
        lambda whole: whole["tally"].update(n=1),
        lambda whole: whole["tally"]["counts"][0].append(0),
        lambda whole: whole.update(tally=3),
    ],
)
def test_a_tally_is_checked_in_full(change: Any) -> None:
    collected()
    whole = json.loads(Path("tally.json").read_text())
    change(whole)
    Path("tally.json").write_text(json.dumps(whole))
    assert "tally.json: " in refused("estimate", "tally.json")


def test_numbers_that_json_cannot_write_are_refused() -> None:
    text = collected().to_json().replace('"high":120.0', '"high":1e999')
    Path("tally.json").write_text(text)
    assert "tally.json: a number is not finite" in refused("estimate", "tally.json")


# -- estimate


def test_estimate_says_what_the_library_says() -> None:
    tally = collected()
    found = json.loads(run("estimate", "tally.json", "--json").output)
    assert found["rows"] == [vars(row) for row in hush.estimate(tally)]
    assert (found["plan"], found["reports"], found["level"]) == (PLAN.id, 3000, 0.95)
    options = ["--level", "0.5", "--estimator", "paper", "--remedy", "project", "--attribute", "os", "--json"]
    rows = hush.estimate(tally, level=0.5, estimator="paper").project()
    found = json.loads(run("estimate", "tally.json", *options).output)
    assert found["rows"] == [vars(row) for row in rows if row.attribute == "os"]
    rows = hush.estimate(tally).clip()
    assert json.loads(run("estimate", "tally.json", "--remedy", "clip", "--json").output)["rows"] == list(
        map(vars, rows)
    )


def test_estimate_prints_csv() -> None:
    tally = collected()
    rows = list(csv.DictReader(io.StringIO(run("estimate", "tally.json", "--csv").output)))
    assert [float(row["point"]) for row in rows] == [row.point for row in hush.estimate(tally)]
    assert [row["category"] for row in rows] == ["", "", hush.MISSING, "linux", "mac", "other"]


def test_estimate_prints_a_table() -> None:
    tally = hush.Tally(PLAN)
    empty = tally.to_json()
    text = run("estimate", "-", stdin=empty).output
    assert "unknown" in text
    assert "From 0 reports" in text
    assert json.loads(run("estimate", "-", "--json", stdin=empty).output)["rows"][0]["point"] is None
    collected()
    text = run("estimate", "tally.json", "--level", "0.9").output
    for word in (
        "age",
        "mean",
        "share of (missing)",
        "share of linux",
        "90 % interval",
        "From 3,000 reports",
        "spring",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ((44.2157, 43.23, 45.2), ["44.22", "43.23", "45.20"]),
        ((38256.4, 36476.0, 40032.2), ["38,256", "36,476", "40,032"]),
        ((-0.00123, -0.0110, 0.0080), ["-0.0012", "-0.0110", "0.0080"]),
        ((float("nan"), 0.0, 1.0), ["unknown", "0.00", "1.00"]),
        ((3.0, 3.0, 3.0), ["3", "3", "3"]),
    ],
)
def test_numbers_have_as_many_digits_as_their_interval_is_worth(bounds: tuple[float, ...], shown: list[str]) -> None:
    _, low, high = bounds
    assert list(map(tables.within(low, high), bounds)) == shown


def test_estimate_takes_a_tally_of_the_plan_that_is_named() -> None:
    collected()
    assert run("estimate", "tally.json").output == run("estimate", "tally.json", "--plan", "plan.json").output
    assert "another" in refused("estimate", "tally.json", "--plan", "other.json")


def test_estimate_refuses() -> None:
    collected()
    assert "level" in refused("estimate", "tally.json", "--level", "1")
    assert "shoe" in refused("estimate", "tally.json", "--attribute", "shoe")
    assert "either" in refused("estimate", "tally.json", "--json", "--csv")
    assert "absent.json: no such file" in refused("estimate", "absent.json")
    assert "this is a plan, not a tally" in refused("estimate", "plan.json")


def test_estimate_draws() -> None:
    collected()
    run("estimate", "tally.json", "--picture", "a.svg")
    assert Path("a.svg").read_text().startswith("<svg")
    Path("empty.json").write_text(hush.Tally(PLAN).to_json())
    assert "nobody" in run("estimate", "empty.json", "--picture", "b.svg", code=2).stderr


# -- what is loaded, and what is shown meanwhile


@pytest.mark.parametrize(
    ("library", "extra", "command"),
    [
        ("pyarrow", "batch", ["randomise", "plan.json", "people.parquet", "-o", "r.parquet"]),
        ("numba", "batch", ["randomise", "plan.json", "people.parquet", "-o", "r.parquet"]),
        ("pyarrow", "batch", ["tally", "plan.json", "reports.parquet"]),
        ("duckdb", "duckdb", ["tally", "plan.json", "reports.parquet", "--engine", "duckdb"]),
        ("pyspark", "spark", ["tally", "plan.json", "reports.parquet", "--engine", "spark"]),
    ],
)
def test_a_missing_library_says_what_to_install(
    library: str, extra: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "duckdb":
        pytest.importorskip("hush.engines.duckdb", exc_type=ImportError)
    for name in list(sys.modules):
        if name.split(".")[0] == library or name.startswith(("hush.batch", "hush.engines.")):
            monkeypatch.delitem(sys.modules, name)
    for module, name in ((hush, "batch"), (engines, "duckdb"), (engines, "spark")):
        monkeypatch.delitem(vars(module), name, raising=False)  # asking for the attribute would load it
    monkeypatch.setitem(sys.modules, library, None)
    Path("reports.parquet").touch()
    assert f"this needs the library {library}: pip install 'hush-ldp[{extra}]'" in refused(*command)


def test_tallies_are_added_and_estimated_without_any_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    collected()
    for library in ("pyarrow", "numpy", "numba"):
        for name in list(sys.modules):
            if name.split(".")[0] == library or name.startswith("hush.batch"):
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, library, None)
    run("tally", "plan.json", "tally.json", "-o", "sum.json")
    run("estimate", "sum.json")


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


# -- pictures


def test_pictures_show_estimates() -> None:
    many = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", list(range(40)))])
    rows = [hush.Estimate("x", None, 0.5, 0.1, -0.3, 0.7, 9)]
    rows += [hush.Estimate("c", i, i / 780, 0.1, i / 780 - 0.1, i / 780 + 0.1, 9) for i in range(40)]
    drawn = plots.estimates(rows, many, level=0.9).to_dict()
    values = [row for part in drawn["datasets"].values() for row in part]
    assert {"what": "mean", "point": 0.5, "low": -0.3, "high": 0.7, "start": 0.0, "end": 1.0} in values
    assert [row["what"] for row in values if row["what"] != "mean"] == [str(i) for i in range(8, 40)]
    assert "8 smaller ones" in json.dumps(drawn)
    assert "90 %" in json.dumps(drawn)
    rows = [hush.Estimate(f"x{i}", None, 0.5, 0.1, 0.3, 0.7, 9) for i in range(plots.MAX_PANELS + 1)]
    with pytest.raises(hush.DesignError, match="too many"):
        plots.estimates(rows, hush.Schema([hush.Numeric(row.attribute, 0, 1) for row in rows]))


def test_pictures_of_many_attributes_are_several_pages() -> None:
    schema = hush.Schema([hush.Numeric(f"x{i}", 0, 1) for i in range(plots.MAX_PANELS + 1)])
    counted = hush.Tally(hush.design(schema, 16.0, k="all"))
    counted.add(hush.randomise(counted.plan, dict.fromkeys(schema.names, 0.5)))
    Path("many.json").write_text(counted.to_json())
    said = run("estimate", "many.json", "--plot", "many.svg", "--csv")
    assert "2 pages: many.svg, many-2.svg" in said.stderr
    assert "x0" in Path("many.svg").read_text()
    assert "x16" in Path("many-2.svg").read_text()
