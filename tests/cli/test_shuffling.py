"""`hush shuffle`, and `hush plan --central`."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hush import Categorical, Plan, Schema, design
from hush.cli import shuffling
from hush.cli.commands import program
from hush.planning.shuffle import design_shuffled, shuffle

ATTRIBUTES = {"attributes": [{"name": "c", "values": ["a", "b", "d", "e"]}]}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program, arguments)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    path.write_text(design(Schema([Categorical("c", range(4))]), 4.0).to_json())
    return str(path)


def test_both_promises_are_printed(plan: str) -> None:
    shown = run("shuffle", plan, "--people", "10000", "--delta", "1e-6")
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
        "people": None,
        "own": 150,
        "batches": 1,
    }


def test_a_plan_is_designed_for_a_central_promise(tmp_path: Path) -> None:
    schema, output = tmp_path / "schema.json", tmp_path / "plan.json"
    schema.write_text(json.dumps(ATTRIBUTES))
    crowd = ("--central", "1.0", "--delta", "1e-6", "--people", "1000")
    shown = run("plan", str(schema), *crowd, "-o", str(output))
    assert shown.exit_code == 0, shown.output
    assert "a collector that sees shuffled batches only" in shown.output
    made = Plan.from_json(output.read_text())
    wanted = design_shuffled(made.schema, 1.0, delta=1e-6, people=1000)
    assert made == wanted
    assert made.epsilon > 2
    assert shuffle(made, people=1000, delta=1e-6).epsilon <= 1.0
    limited = run("plan", str(schema), *crowd, "--epsilon", "1.5", "--json")
    assert Plan.from_json(limited.output).epsilon == 1.5


def test_the_limit_of_the_help_is_that_of_the_design() -> None:
    assert inspect.signature(design_shuffled).parameters["local"].default == shuffling.LOCAL


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ([], "--epsilon is missing"),
        (["--epsilon", "1", "--people", "100"], "give --central too"),
        (["--central", "1", "--people", "100"], "--delta is missing"),
        (["--central", "1", "--delta", "1e-6"], "either people"),
        (["--central", "1", "--delta", "1e-6", "--people", "9", "--own", "9"], "either people"),
        (["--central", "99", "--delta", "1e-6", "--people", "9"], "central must be a number"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(tmp_path: Path, options: list[str], rule: str) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(ATTRIBUTES))
    found = run("plan", str(schema), *options)
    assert found.exit_code == 2
    assert rule in found.output
    assert "Traceback" not in found.output
