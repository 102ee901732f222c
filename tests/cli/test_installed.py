"""What the doctor says of the libraries, SQLite and Java that are here: sound, missing, too old or broken."""

from __future__ import annotations

import sqlite3
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from hush.cli import installed
from hush.cli.checks import Absent, Finding, Noted, Trouble, look
from hush.cli.program import DISTRIBUTION

ROOT = Path(__file__).parent.parent.parent
REQUIRES = [
    "click>=8.1; extra == 'cli'",
    "rich >=13 ; extra == 'cli'",
    'numpy (>=2.0) ; extra == "batch"',
    "hush-ldp[batch,cli]; extra == 'both'",
    "pandas<3,>=2.2; extra == 'spark'",
    "uvloop>=0.20; (sys_platform != 'nowhere') and extra == 'loop'",
    "winloop; sys_platform == 'nowhere' and extra == 'loop'",
    "psycopg[binary]>=3.2; extra == 'postgres'",
]
HERE = {"click": "8.1.7", "rich": "13.0", "numpy": "2.3.1", "pandas": "2.3.3", "uvloop": "0.20", "psycopg": "3.2"}


def looked(**changed: str | None) -> dict[str, Finding]:
    versions = {**HERE, **changed}
    return {finding.name: finding for finding in installed.extras(REQUIRES, versions.get)}


def test_extras_are_complete() -> None:
    found = looked()
    assert list(found) == ["batch", "both", "cli", "loop", "postgres", "spark"]
    assert {finding.state for finding in found.values()} == {"good"}
    assert found["both"].text == "click 8.1.7, numpy 2.3.1, rich 13.0"
    assert found["loop"].text == "uvloop 0.20"


def test_a_missing_package_is_not_wrong() -> None:
    found = looked(rich=None)
    assert found["cli"].state == found["both"].state == "missing"
    assert found["cli"].text == "without rich"
    assert found["cli"].remedy == "pip install 'hush-ldp[cli]'"
    assert found["batch"].state == "good"


def test_what_is_missing_does_not_hide_what_is_too_old() -> None:
    found = looked(rich=None, click="8.0")["cli"]
    assert (found.state, found.text) == ("wrong", "without rich; click 8.0 (needs >=8.1)")
    assert found.remedy == "pip install 'hush-ldp[cli]'"


def test_an_old_or_new_package_is_wrong() -> None:
    found = looked(rich="12.6.0", pandas="3.0.0")
    assert (found["cli"].state, found["cli"].text) == ("wrong", "rich 12.6.0 (needs >=13)")
    assert (found["spark"].state, found["spark"].text) == ("wrong", "pandas 3.0.0 (needs >=2.2, <3)")
    assert looked(numpy="2.1rc1")["batch"].state == "good"
    assert looked(numpy="2.0rc1")["batch"].state == looked(numpy="?")["batch"].state == "wrong"
    assert looked(numpy="1.26.4")["both"].state == "wrong"


def test_the_extras_of_this_package_are_found() -> None:
    """The table of the project and the metadata of the installed package name the same extras."""
    if installed.version_of(DISTRIBUTION) is None:
        pytest.skip("hush runs from its sources here")
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert table["name"] == DISTRIBUTION
    assert [finding.name for finding in installed.extras()] == sorted(table["optional-dependencies"])


def test_metadata_that_nobody_understands_are_named() -> None:
    with pytest.raises(Trouble, match="the metadata of hush cannot be read"):
        list(installed.extras(["!!"]))


def test_hush_from_its_sources_has_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert [finding.state for finding in installed.extras()] == ["note"]
    assert installed.version_of("no-such-package") is None


def test_a_broken_library_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hushbroken.py").write_text("raise ImportError('built for another Python')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed.loading(["click", "no_such_library"]) == "1 of 2 are there, and load"
    with pytest.raises(Trouble, match=r"hushbroken does not load \(ImportError: built for another"):
        installed.loading(["click", "hushbroken"])


def test_sqlite_is_tried() -> None:
    assert "strict" in installed.sqlite()

    class Old:
        def __init__(self, mode: str) -> None:
            self.mode = mode

        def execute(self, text: str) -> Any:
            if text.endswith("strict") and self.mode == "old":
                raise sqlite3.OperationalError
            return self

        def fetchone(self) -> tuple[str]:
            return ("delete",)

        def close(self) -> None: ...

    with pytest.raises(Trouble, match="strict"):
        installed.sqlite(connect=lambda path: Old("old"))
    with pytest.raises(Noted, match="log"):
        installed.sqlite(connect=lambda path: Old("new"))


@pytest.mark.parametrize(
    ("says", "state"),
    [
        ("echo 'openjdk version \"17.0.9\"' >&2", "good"),
        ("echo 'java version \"1.8.0\"' >&2", "wrong"),
        ("true", "wrong"),
    ],
)
def test_java_is_for_spark(says: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "version_of", lambda name: None)
    with pytest.raises(Absent):
        installed.java()
    monkeypatch.setattr(installed, "version_of", lambda name: "4.0.0")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert look("", "", installed.java).state == "wrong"  # there is none
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{says}\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    assert look("", "", installed.java).state == state
