"""A case of a peer runs in a child: its row, or where it stops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments.peers import ROOT, Row, ask, keep, parse, parser

HERE = Path(sys.executable)


def _stand_in(monkeypatch: pytest.MonkeyPatch, code: int, out: str = "", err: str = "") -> list[list[str]]:
    seen: list[list[str]] = []

    def run(command: list[str], **given: Any) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, code, out, err)

    monkeypatch.setattr(subprocess, "run", run)
    return seen


def test_a_child_answers_with_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _stand_in(monkeypatch, 0, 'what a package prints\n{"variance": 2}\n')
    assert ask(HERE, "experiments.words_peers", ("PEM", 4.0, 12), 12, 9) == {"people": 12, "variance": 2}
    assert seen == [[sys.executable, "-m", "experiments.words_peers", "--child", '["PEM", 4.0, 12]']]


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ("Traceback\nMemoryError: ", "it needs more than 4 GiB"),
        ("Traceback\nValueError: a | b", "ValueError: a / b"),
        ("", "no reason given"),
    ],
)
def test_a_child_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, said: str, row: str) -> None:
    _stand_in(monkeypatch, 1, "", said)
    assert ask(HERE, "experiments.large_peers", (), 12, 9) == {"stops": row}


def test_a_child_that_takes_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], timeout: int, **given: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert ask(HERE, "experiments.large_peers", (), 1200, 9) == {"stops": "more than 9 s for 1,200 people"}


def test_a_child_runs_its_case_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def child(*case: Any) -> Row:
        return {"case": case}

    options = parser("about", tmp_path / "rows.json")
    assert parse(options, child, ["--child", "[1, 2]"]) is None
    assert json.loads(capsys.readouterr().out) == {"case": [1, 2]}
    found = parse(options, child, ["--python", sys.executable, "--keep"])
    assert found is not None
    assert found.keep
    with pytest.raises(SystemExit):
        parse(options, child, ["--python", str(tmp_path / "nothing")])
    assert "benchmarks/peers.py" in capsys.readouterr().err
    keep(tmp_path / "rows.json", [{"a": 1}])
    assert json.loads((tmp_path / "rows.json").read_text()) == [{"a": 1}]


def test_a_comparison_starts_where_the_peers_are() -> None:
    """The environment of the peers lacks hush. What a child misses here is the peer."""
    program = "import sys; sys.modules['hush'] = None; from experiments import large_peers, words_peers"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0  # noqa: S603
    found = ask(HERE, "experiments.large_peers", ("pure-ldp, Hadamard", 16, 1.0, 9), 9, 60)
    assert found == {"stops": "ModuleNotFoundError: No module named 'pure_ldp'"}
