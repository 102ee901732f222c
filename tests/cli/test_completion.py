"""Completion: scripts for shells, what they are answered, and that it is quick."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import hush
from hush.cli import channels, schemas
from hush.cli.commands import program
from hush.core.design import BLOCK, CATEGORICAL, NUMERIC
from tests.cli.test_commands import ATTRIBUTES, run

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = hush.design(schemas.friendly(ATTRIBUTES), 1.0)
    Path("plan.json").write_text(plan.to_json())
    Path("tally.json").write_text(hush.Tally(plan).to_json())


def completed(words: str) -> list[str]:
    """Return what bash is answered for a line, of which the last word is to be completed."""
    parts = words.split(" ")
    env = {"_HUSH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(parts) - 1)}
    result = CliRunner().invoke(program, prog_name="hush", env=env)
    return [line.removeprefix("plain,") for line in result.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_printed(shell: str) -> None:
    text = run("completion", shell).output
    assert f"_HUSH_COMPLETE={shell}_complete" in text
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True, check=False)  # noqa: S603
        assert (checked.returncode, checked.stderr) == (0, "")


def test_other_shells_are_refused() -> None:
    result = CliRunner().invoke(program, ["completion", "csh"])
    assert result.exit_code == 2
    assert "bash" in result.stderr


def test_scripts_need_no_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for shell in SHELLS:
        run("completion", shell)


def test_commands_and_options_are_completed() -> None:
    assert sorted(completed("hush ")) == sorted(program.commands)
    assert completed("hush pr") == ["predict"]
    assert "--epsilon" in completed("hush plan schema.json --")
    assert completed("hush completion ") == list(SHELLS)
    assert completed("hush tally plan.json --engine d") == ["duckdb"]


def test_names_are_completed() -> None:
    assert completed("hush plan s.json --numeric ") == list(channels.NUMERIC)
    assert completed("hush plan s.json --categorical o") == ["oue"]
    assert completed("hush law plan.json ") == ["age", "os"]
    assert completed("hush law plan.json os --value ") == ["linux", "mac", "other", "(missing)"]
    assert completed("hush law plan.json age --value ") == []
    assert completed("hush predict plan.json --attribute a") == ["age"]
    assert completed("hush estimate tally.json --attribute ") == ["age", "os"]
    assert completed("hush token r") == ["read"]
    assert completed("hush serve --keep t") == ["tallies"]


def test_the_lists_of_mechanisms_are_complete() -> None:
    assert set(channels.NUMERIC) == {*NUMERIC, *BLOCK}
    assert set(channels.CATEGORICAL) == set(CATEGORICAL)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("hush plan sch", "file,sch"),
        ("hush audit pl", "file,pl"),
        ("hush randomise plan.json p", "file,p"),
        ("hush tally plan.json --output t", "file,t"),
        ("hush export --output o", "dir,o"),
    ],
)
def test_files_are_left_to_the_shell(line: str, answer: str) -> None:
    assert completed(line) == [answer]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": 3}', '{"plan": 3}', '{"schema": [3, {"name": 4}]}', "\udcff", '{"schema": {}}']
)
def test_what_cannot_be_read_has_no_completions(text: str) -> None:
    Path("plan.json").write_bytes(os.fsencode(text))
    assert completed("hush law plan.json ") == []
    assert completed("hush law absent.json ") == []
    assert completed("hush law . ") == []


def test_completion_loads_nothing_heavy() -> None:
    for line in ("hush ", "hush plan s.json --numeric ", "hush law plan.json "):
        code = "import sys; from hush.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
        env = os.environ | {"_HUSH_COMPLETE": "bash_complete", "COMP_WORDS": line}
        env["COMP_CWORD"] = str(len(line.split(" ")) - 1)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)  # noqa: S603
        assert result.stdout
        loaded = set(result.stderr.split())
        heavy = {
            "altair",
            "rich",
            "numpy",
            "numba",
            "pyarrow",
            "hush.core.plan",
            "hush.core.schema",
            "hush.core.design",
            "fractions",
        }
        assert not loaded & heavy, line


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes(tmp_path: Path) -> None:
    """The whole way: a real bash loads the script and is asked to complete."""
    (tmp_path / "hush").write_text(f'#!/bin/sh\nexec {sys.executable} -m hush "$@"\n')
    (tmp_path / "hush").chmod(0o755)
    script = (
        'eval "$(hush completion bash)"; COMP_WORDS=(hush law plan.json o); COMP_CWORD=3; '
        'COMP_LINE="hush law plan.json o"; _hush_completion hush; echo "${COMPREPLY[@]}"'
    )
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(hush.__file__).parents[1])}
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=env)  # noqa: S603, S607
    assert (result.stdout, result.stderr) == ("os\n", "")
