"""`hush change`, on real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hush
from tests.cli.test_commands import refused, run

COIN = hush.design(hush.Schema([hush.Categorical("coin", ["heads", "tails"]), hush.Numeric("x", 0, 1)]), 2.0)
OTHER = hush.design(hush.Schema([hush.Categorical("coin", ["heads", "edge"]), hush.Numeric("x", 0, 1)]), 2.0)


def tally(plan: hush.Plan, heads: int) -> str:
    size = plan.questions[1].channel.alphabet.size
    return hush.Tally(plan, 2000, [1000, 1000], [[heads, 1000 - heads], [1000 - size + 1, *[1] * (size - 1)]]).to_json()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with three tallies."""
    monkeypatch.chdir(tmp_path)
    Path("before.json").write_text(tally(COIN, 500))
    Path("after.json").write_text(tally(COIN, 700))
    Path("other.json").write_text(tally(OTHER, 500))


def test_a_table_with_directions() -> None:
    shown = run("change", "before.json", "after.json").stdout
    lines = {tuple(line.split()[:4]): line.split()[-1] for line in shown.splitlines() if "share" in line}
    assert lines == {("coin", "share", "of", "heads"): "up", ("coin", "share", "of", "tails"): "down"}
    assert "not told" in shown
    assert "From 2,000 reports before, and 2,000 after." in shown


def test_for_machines() -> None:
    found: dict[str, Any] = json.loads(run("change", "before.json", "after.json", "--json").stdout)
    assert found["before"] == {"plan": COIN.id, "reports": 2000}
    assert [row["told"] for row in found["rows"]] == ["up", "down", None]
    rows = hush.change(*(hush.Tally.from_json(Path(f"{name}.json").read_text()) for name in ("before", "after")))
    assert [row["low"] for row in found["rows"]] == [row.low for row in rows]
    text = run("change", "before.json", "after.json", "--csv", "--attribute", "coin").stdout
    assert text.startswith("attribute,category,before,after,point,stderr,low,high\ncoin,heads,")
    together = json.loads(run("change", "before.json", "after.json", "--json", "--together").stdout)
    assert together["rows"][0]["low"] <= found["rows"][0]["low"]


def test_plans_that_differ_are_refused_and_others_can_be_named() -> None:
    assert "attribute 'coin': the plans do not ask the same" in refused("change", "before.json", "other.json")
    assert "x" in run("change", "before.json", "other.json", "--attribute", "x").stdout
    assert "no attribute is called 'y'" in refused("change", "before.json", "other.json", "--attribute", "y")
    assert "either --json or --csv" in refused("change", "before.json", "other.json", "--csv", "--json")
    assert "standard input" in refused("change", "-", "-")
