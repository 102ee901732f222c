"""A relay's own reports on the command line: `hush export`, then `hush tally`, by every engine, and `hush pairs`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hush
from hush.cli import files
from hush.collector.stores.sqlite import SqliteStore
from tests.cli.test_commands import refused, run
from tests.collector.places import columns_batch, plan, tally_batch
from tests.collector.places import reports as made
from tests.collector.test_own_exports import mixed, opened, same


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a store to which a relay has sent."""
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(plan().to_json())


def stored() -> hush.Tally:
    with closing(SqliteStore("hush.db")) as store:
        store.add_plan(plan())
        store.commit([mixed(people=600, own=600), columns_batch(30)])
        return store.tally(plan())


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_export_and_tally_keep_the_own_reports(engine: str) -> None:
    """They counted as people: 1,200 of 600, and no interval held."""
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    whole = stored()
    assert run("export", "-o", "out").output == (
        f"1,230 reports of plan {plan().id[:12]}, 600 of them a relay's own, written to out\n"
    )
    text = run("tally", "plan.json", "out", "--engine", engine, "-o", "tally.json").output
    assert text == "630 reports, and 600 of a relay's own. Written to tally.json.\n"
    assert same(files.read_tally("tally.json"), whole)
    found = json.loads(run("tally", "plan.json", "out", "--engine", engine, "-o", "again.json", "--json").output)
    assert (found["reports"], found["own"]) == (630, 600)
    # Compacted, and added to the tally of somebody else.
    run("compact")
    assert json.loads(run("export", "-o", "later", "--json").output) == {
        "plan": plan().id,
        "reports": 1230,
        "own": 600,
        "in_tallies": 0,
    }
    run("tally", "plan.json", "later", "tally.json", "--engine", engine, "-o", "both.json")
    assert same(files.read_tally("both.json"), whole + whole)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_that_do_not_say_it_are_refused_without_the_number(engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    whole = stored()
    run("export", "-o", "out")
    for file in Path("out").iterdir():
        pq.write_table(pq.read_table(file).replace_schema_metadata(None), file)
    why = refused("tally", "plan.json", "out", "--engine", engine)
    assert "these reports do not say how many of them are a relay's own. Say it, by own=N or --own N" in why
    run("tally", "plan.json", "out", "--own", "600", "--engine", engine, "-o", "tally.json")
    assert same(files.read_tally("tally.json"), whole)
    assert "are said to be a relay's own" in refused("tally", "plan.json", "out", "--own", "9999", "--engine", engine)
    assert "tallies say it themselves" in refused("tally", "plan.json", "tally.json", "--own", "1")
    run("export", "-o", "new")
    assert "do not say it again" in refused("tally", "plan.json", "new", "--own", "600", "--engine", engine)


def test_an_export_names_the_reports_that_it_cannot_have() -> None:
    with closing(SqliteStore("hush.db")) as store:
        store.add_plan(plan())
        store.commit([tally_batch(made(20)), columns_batch(30)])
    result = run("export", "-o", "out")
    assert result.stdout == f"30 reports of plan {plan().id[:12]} written to out\n"
    assert result.stderr == "hush: 20 reports came as tallies, which have no rows: they are not among these\n"


def test_pairs_are_refused_among_own_reports() -> None:
    of = hush.design(hush.Schema([hush.Choices("uses", ["a", "b", "c", "d"], 2)]), 4.0, choices="pairs")
    Path("plan.json").write_text(of.to_json())
    people = [hush.randomise(of, {"uses": ["a"]}) for _ in range(20)]
    for own in (0, 5):
        with closing(SqliteStore(f"{own}.db")) as store:
            store.add_plan(of)
            store.commit([opened(of, people, own)])
        run("export", "--store", f"sqlite://{own}.db", "-o", f"out{own}")
    assert json.loads(run("pairs", "plan.json", "uses", "out0", "--json").output)["reports"] == 20
    assert "5 of these 25 reports are a relay's own" in refused("pairs", "plan.json", "uses", "out5")
