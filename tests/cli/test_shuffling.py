"""`hush shuffle`, and `hush plan --central`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hush import Categorical, Plan, Schema, design, people_needed, predict
from hush.cli import promises
from hush.cli.commands import program
from hush.planning.shuffle import shuffle
from hush.planning.shuffle.designs import LOCAL

ATTRIBUTES = {"attributes": [{"name": "c", "values": ["a", "b", "d", "e"]}]}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program, arguments)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    path.write_text(design(Schema([Categorical("c", range(4))]), 4.0).to_json())
    return str(path)


def test_both_promises_are_printed(plan: str) -> None:
    shown = run("shuffle", plan, "--crowd", "10000", "--delta", "1e-6")
    assert shown.exit_code == 0, shown.output
    assert "anybody, whatever they do" in shown.output
    assert "relay and collector do not work together" in " ".join(shown.output.split())


def test_json_has_the_numbers_of_python(plan: str) -> None:
    found = json.loads(run("shuffle", plan, "--own", "150", "--delta", "1e-6", "--json").output)
    wanted = shuffle(Plan.from_json(Path(plan).read_text()), own=150, delta=1e-6)
    assert found == {
        "plan": wanted.plan.id,
        "epsilon": wanted.epsilon,
        "lower": wanted.lower,
        "delta": 1e-6,
        "local": wanted.local,
        "crowd": None,
        "own": 150,
        "batches": 1,
    }


def test_a_plan_is_designed_for_a_central_promise(tmp_path: Path) -> None:
    schema, output = tmp_path / "schema.json", tmp_path / "plan.json"
    schema.write_text(json.dumps(ATTRIBUTES))
    crowd = ("--central", "1.0", "--delta", "1e-6", "--crowd", "1000")
    shown = run("plan", str(schema), *crowd, "-o", str(output))
    assert shown.exit_code == 0, shown.output
    assert "a collector that sees shuffled batches only" in shown.output
    made = Plan.from_json(output.read_text())
    wanted = design(made.schema, central=1.0, delta=1e-6, crowd=1000)
    assert made == wanted
    assert made.epsilon > 2
    assert shuffle(made, crowd=1000, delta=1e-6).epsilon <= 1.0
    limited = run("plan", str(schema), *crowd, "--local", "1.5", "--json")
    assert Plan.from_json(limited.output).epsilon == 1.5


def test_the_limit_of_the_help_is_that_of_the_design() -> None:
    assert LOCAL == promises.LOCAL


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ([], "--epsilon is missing"),
        (["--epsilon", "1", "--crowd", "100"], "give --central too"),
        (["--central", "1", "--crowd", "100"], "--delta is missing"),
        (["--central", "1", "--delta", "1e-6"], "either crowd"),
        (["--central", "1", "--delta", "1e-6", "--crowd", "9", "--own", "9"], "either crowd"),
        (["--epsilon", "1", "--central", "1", "--delta", "1e-6", "--crowd", "9"], "either --epsilon or --central"),
        (["--epsilon", "1", "--margin", "0.1"], "--margin without a name is for --central"),
        (["--central", "1", "--delta", "1e-6", "--crowd", "9", "--margin", "0.1"], "either --crowd, or --margin"),
        (["--central", "1", "--delta", "1e-6", "--crowd", "9", "--attribute", "c"], "--attribute is for --margin"),
        (["--central", "1", "--delta", "1e-6", "--margin", "0.1", "--attribute", "x"], "no attribute"),
        (["--central", "99", "--delta", "1e-6", "--crowd", "9"], "central must be a number"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(tmp_path: Path, options: list[str], rule: str) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(ATTRIBUTES))
    found = run("plan", str(schema), *options)
    assert found.exit_code == 2
    assert rule in found.output
    assert "Traceback" not in found.output


def test_a_margin_finds_its_crowd(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(ATTRIBUTES))
    # With own reports the plan is the same for every crowd; tests/planning/test_own.py has crowds without them.
    shown = run("plan", str(schema), "--central", "1.0", "--delta", "1e-6", "--own", "40", "--margin", "0.1")
    assert shown.exit_code == 0, shown.output
    needed = people_needed(Schema([Categorical("c", list("abde"))]), 0.1, central=1.0, delta=1e-6, own=40)
    assert f"{needed:,} people are needed for a margin of ±0.1 of every attribute, all in one batch." in shown.output
    assert "the relay adds 40 reports of its own to the batch" in " ".join(shown.output.split())
    assert "anybody, whatever they do" in shown.output


def test_own_reports_are_predicted(plan: str) -> None:
    for own in (0, 200):
        found = json.loads(run("predict", plan, "--people", "1000", "--own", str(own), "--json").output)
        wanted = predict(Plan.from_json(Path(plan).read_text()), 1000, own=own)
        assert found["own"] == own
        assert [row["margin"] for row in found["rows"]] == [row.margin for row in wanted]
    assert "and 200 reports of a relay" in run("predict", plan, "--people", "1000", "--own", "200").output
    assert run("predict", plan, "--people", "9", "--own", "-1").exit_code == 2
    assert run("predict", plan, "--people", "9", "--own", "1", "--picture", "x.svg").exit_code == 2
