"""Files appear whole, or not at all, and never over what is still needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hush.atomic import check_target, replacing


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("old").write_text("old")
    return tmp_path


def inside() -> set[str]:
    return {path.name for path in Path().iterdir()}


def put(name: str, text: bytes = b"new", *, overwrite: bool = False) -> None:
    with replacing(Path(name), overwrite=overwrite) as file:
        file.write(text)


def test_a_file_is_there_when_it_is_complete() -> None:
    with replacing(Path("new"), overwrite=False) as file:
        file.write(b"new")
        assert "new" not in inside()
    assert Path("new").read_text() == "new"
    put("old", overwrite=True)
    assert Path("old").read_text() == "new"
    assert inside() == {"old", "new"}


def test_what_exists_is_kept_unless_asked() -> None:
    for name in ("old", "./old", "../" + Path.cwd().name + "/old"):
        with pytest.raises(FileExistsError, match="exists already"):
            put(name)
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError):
        put("folder", overwrite=True)
    with pytest.raises(FileExistsError, match="no plain file"):
        check_target(Path(os.devnull), overwrite=True)
    assert Path("old").read_text() == "old"


def test_what_is_read_is_never_replaced() -> None:
    Path("link").symlink_to("old")
    os.link("old", "hard")
    for name in ("old", "./old", "link", "hard"):
        for overwrite in (False, True):
            with pytest.raises(FileExistsError, match="is read, so the sum must go to another file"):
                check_target(Path(name), overwrite=overwrite, inputs=["-", "absent", "old"], what="the sum")


def test_a_folder_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        check_target(Path("nowhere/new"), overwrite=False)
    assert caught.value.filename == "nowhere"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="no files can be written") as refused:
        check_target(Path("new"), overwrite=False)
    assert refused.value.filename == "."


def test_an_error_names_the_file_that_was_asked_for() -> None:
    name = "x" * 250  # the name of the file beside it is too long
    with pytest.raises(OSError, match="name too long") as caught:
        put(name)
    assert caught.value.filename == name
    assert inside() == {"old"}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_of_a_failure_nothing_stays(error: type[BaseException]) -> None:
    def fail() -> None:
        with replacing(Path("old"), overwrite=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert inside() == {"old"}
    assert Path("old").read_text() == "old"
