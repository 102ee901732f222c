"""Reports to a tally, on the command line: `hush tally`, by every engine."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import hush
import hush.engines
from hush import engines
from hush.batch.files import tally_files
from hush.cli import files
from tests.cli.collecting import OTHER, PEOPLE, PLAN, collected, lay_out, reports
from tests.cli.test_commands import refused, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a plan, and people."""
    monkeypatch.chdir(tmp_path)
    lay_out()


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
    owns: list[int | None] = []

    def counted(plan: hush.Plan, dataframe: object, own: int | None) -> hush.Tally:
        owns.append(own)
        return tally

    monkeypatch.setattr(engine, "tally", counted, raising=False)
    monkeypatch.setitem(sys.modules, "hush.engines.spark", engine)
    monkeypatch.setitem(vars(hush.engines), "spark", engine)
    run("tally", "plan.json", "reports.parquet", "--engine", "spark", "-o", "same.json")
    run("tally", "plan.json", "s3://bucket/*.parquet", "--engine", "spark", "-o", "more.json")
    run("tally", "plan.json", "s3://bucket/*.parquet", "--engine", "spark", "--own", "7", "-o", "own.json")
    assert given == [("reports.parquet",), ("s3://bucket/*.parquet",), ("s3://bucket/*.parquet",)]
    assert owns == [0, None, 7]  # the files that are here said it themselves
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


# -- what is loaded


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
