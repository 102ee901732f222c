"""Every name, folder and pattern stands for files, and no file is meant twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hush.files.paths import find

ENDINGS = (".parquet", ".arrow")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("d/b.parquet", "d/a.arrow", "d/deep/c.parquet", "e/notes.txt", "e/_x.parquet", "e/.y.parquet"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return tmp_path


def found(*given: str) -> list[str]:
    return [path.as_posix() for path in find(given, ENDINGS)]


def test_files_folders_and_patterns() -> None:
    assert found("e/notes.txt") == ["e/notes.txt"]
    assert found("d") == ["d/a.arrow", "d/b.parquet", "d/deep/c.parquet"]
    assert found("d/*.*") == ["d/a.arrow", "d/b.parquet"]
    assert found("*/*.parquet", "d/a.arrow") == ["d/b.parquet", "e/_x.parquet", "d/a.arrow"]
    Path("[x].parquet").touch()
    assert found("[x].parquet") == ["[x].parquet"]  # a file of this name comes before the pattern
    assert find(Path("d/b.parquet"), ENDINGS) == [Path("d/b.parquet")]


@pytest.mark.parametrize("pattern", ["d/**", "d*/**", "d/*", "d*"])
def test_folders_that_fit_a_pattern_stand_for_their_files_once(pattern: str) -> None:
    assert sorted(found(pattern)) == ["d/a.arrow", "d/b.parquet", "d/deep/c.parquet"]


@pytest.mark.parametrize("nothing", ["south*.parquet", "e", "e*", "d/**/x*"])
def test_what_stands_for_nothing_is_refused_whatever_else_there_is(nothing: str) -> None:
    for given in ([nothing], ["d", nothing], [nothing, "d/*.parquet"]):
        with pytest.raises(FileNotFoundError, match="no files found") as caught:
            found(*given)
        assert caught.value.filename == nothing
    with pytest.raises(FileNotFoundError) as caught:
        found("d", "absent.parquet")
    assert caught.value.filename == "absent.parquet"
    with pytest.raises(FileNotFoundError, match="no files are given"):
        found()


def test_a_file_is_meant_once_whatever_it_is_called() -> None:
    Path("link.parquet").symlink_to("d/b.parquet")
    for again in ("d/b.parquet", "./d/b.parquet", "d/../d/b.parquet", str(Path("d/b.parquet").resolve()), "d", "d/b*"):
        with pytest.raises(FileExistsError, match="more than once"):
            found("d/b.parquet", again)
    with pytest.raises(FileExistsError, match="more than once"):
        found("link.parquet", "d/b.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_not_opened() -> None:
    os.mkfifo("pipe.json")
    assert found("pipe.json") == ["pipe.json"]  # opening it would wait for a writer
