"""Long lists on the command line: found beside the schema, the plan and the tally, and refused if they are others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hush
from hush.cli import files
from hush.cli.commands import program
from hush.core import lists
from hush.errors import SchemaError


def folder(path: Path) -> Path:
    (path / "pages.txt").write_text("".join(f"{path}/{i}\n" for i in range(5000)), encoding="utf-8")
    (path / "schema.json").write_text(json.dumps([{"name": "page", "list": "pages.txt"}]), encoding="utf-8")
    plan = CliRunner().invoke(
        program, ["plan", str(path / "schema.json"), "--epsilon", "2", "-o", str(path / "plan.json")]
    )
    assert plan.exit_code == 0, plan.output
    assert "in 2 bytes where a set takes 625" in " ".join(plan.output.split())
    return path


def test_a_list_is_found_beside_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path)
    monkeypatch.setattr(lists, "_known", {})
    plan = files.read_plan(str(path / "plan.json"))
    assert plan.schema["page"].labels[1] == f"{path}/1"  # type: ignore[union-attr]


def test_another_list_is_refused_and_none_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path)
    monkeypatch.setattr(lists, "_known", {})
    (path / "pages.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="another list than the plan names"):
        files.read_plan(str(path / "plan.json"))
    (path / "pages.txt").unlink()
    plan = files.read_plan(str(path / "plan.json"))
    with pytest.raises(SchemaError, match="is not here"):
        plan.schema["page"].encode("x")


def test_shares_are_searched_on_the_command_line(tmp_path: Path) -> None:
    path = folder(tmp_path)
    plan = files.read_plan(str(path / "plan.json"))
    tally = hush.Tally(plan)
    for _ in range(400):  # this page leads by twelve standard deviations
        tally.add(hush.randomise(plan, {"page": f"{path}/7"}))
    (path / "tally.json").write_text(tally.to_json(), encoding="utf-8")

    def read(*options: str) -> Any:
        done = CliRunner().invoke(program, ["estimate", str(path / "tally.json"), "--json", *options])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    def found(*options: str) -> list[str]:
        return [row["category"] for row in read(*options)["rows"]]

    assert found("--top", "1") == [f"{path}/7"]
    both, each, plain = (read(*options) for options in (["--top", "1"], ["--top", "1", "--each"], ["--search", "/7"]))
    assert [one["together"] for one in (both, each, plain, read("--search", "/7", "--together"))] == [1, 0, 0, 1]
    assert both["rows"][0]["low"] < each["rows"][0]["low"] == plain["rows"][0]["low"]
    assert set(found("--search", "/499")) == {f"{path}/499", *(f"{path}/499{i}" for i in range(10))}
    assert found("--search", "/nowhere", "--attribute", "page") == []
    nowhere = ["estimate", str(path / "tally.json"), "--search", "nowhere"]
    assert CliRunner().invoke(program, [*nowhere, "--csv"]).output.startswith("attribute,category,point,")
    done = CliRunner().invoke(program, [*nowhere, "--plot", str(path / "none.svg")])
    assert (done.exit_code, (path / "none.svg").exists()) == (2, False)
    assert "no category has this text" in done.output
    done = CliRunner().invoke(program, ["estimate", str(path / "tally.json"), "--search", "7", "--remedy", "project"])
    assert "leave out --search" in done.output
