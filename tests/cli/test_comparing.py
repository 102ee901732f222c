"""`hush compare`: tables, JSON, CSV and pictures, with a warning each time."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import hush
from hush.batch import comparing
from hush.cli import comparing as command
from tests.cli.test_commands import refused, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{18 + i % 70},{('mac', 'linux')[i % 2]}" for i in range(200)]
    Path("people.csv").write_text("\n".join(["age,system", *rows]) + "\n")
    Path("schema.json").write_text(
        json.dumps([{"name": "age", "low": 0, "high": 120}, {"name": "system", "values": ["mac", "linux"]}])
    )


SMALL = ("compare", "people.csv", "--repetitions", "2", "--seed", "3", "--designs", "hush, hybrid")


def test_a_table_a_picture_and_a_warning() -> None:
    found = run(*SMALL, "--epsilon", "1, 2", "--plot", "errors.svg")
    for words in ("age", "mean", "system", "shares", "hybrid", "epsilon 2", "200 people"):
        assert words in found.stdout
    assert (comparing.WARNING in found.stdout, found.stderr) == (True, "")
    assert "not private" in Path("errors.svg").read_text()


def test_for_machines() -> None:
    schema = ("--epsilon", "1", "--schema", "schema.json")
    said = run(*SMALL, *schema, "--json")
    assert "not private" in said.stderr
    found = json.loads(said.stdout)
    fields = hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("system", ["mac", "linux"])])
    same = hush.compare("people.csv", [1], schema=fields, designs=["hush", "hybrid"], repetitions=2, seed=3)
    assert [row["error"] for row in found["rows"]] == [row.error for row in same]
    lines = list(csv.DictReader(run(*SMALL, *schema, "--csv").stdout.splitlines()))
    assert [float(line["error"]) for line in lines] == [row.error for row in same]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "1,x"], "--epsilon: 'x' is not a number"),
        (["--epsilon", "0"], "epsilon must be"),
        (["--designs", "sketch"], "designs must be some of: hush"),
        (["--json", "--csv"], "either --json or --csv"),
        (["--schema", "people.csv"], "people.csv"),
    ],
)
def test_bad_options_are_refused(options: list[str], words: str) -> None:
    assert words in refused("compare", "people.csv", *options)


def test_the_help_knows_every_design() -> None:
    assert tuple(comparing.DESIGNS) == command.DESIGNS
    assert ",".join(comparing.USUAL) == command.USUAL
