"""Files of keys: made once, safe on disk before anybody is told, and for their owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hush.cli import listening
from hush.cli.listening import key_of
from hush.cli.program import Refused


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_key_is_on_disk_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is lost in a power cut was pinned by devices meanwhile."""
    real, seen = os.fsync, list[str]()

    def watched(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        seen.append("folder" if folder else "file")
        assert Path("key").exists() == folder, "nobody sees a file that is not complete"
        real(handle)

    monkeypatch.setattr(os, "fsync", watched)
    made = key_of(Path("key"), "tickets")
    assert seen[:2] == ["file", "folder"]
    seen.clear()
    assert key_of(Path("key"), "tickets") == made
    assert "folder" in seen, "another process may have made it, and may not have come so far"


def test_those_that_start_at_once_use_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just before the first names its file, a second one starts, and is ready."""
    link, others = os.link, list[bytes]()

    def late(*given: object, **named: object) -> None:
        if not others:
            others.append(b"")
            others.append(key_of(Path("key"), "tickets"))
        link(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", late)
    assert key_of(Path("key"), "tickets") == others[1] == bytes.fromhex(Path("key").read_text())
    assert [path.name for path in Path().iterdir()] == ["key"]


@pytest.mark.parametrize("mask", [0, 0o777])
def test_a_key_is_for_its_owner_alone(mask: int) -> None:
    before = os.umask(mask)
    try:
        key_of(Path("key"), "tickets")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("key").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", [b"", b"\n", b"ab" * 31 + b"a", b"\0" * 65, b"\xff" * 64, b"0" * 64])
def test_a_file_that_was_cut_short_says_what_to_do(text: bytes) -> None:
    """It is left as it is: only its owner knows whether the key was given out. Zeros are no secret."""
    Path("key").write_bytes(text)
    with pytest.raises(
        Refused, match=r"the key of tickets must be 64 .* key has something else.*bring it back.*remove it"
    ):
        key_of(Path("key"), "tickets")
    assert Path("key").read_bytes() == text


def test_a_key_that_was_given_out_before_is_not_made() -> None:
    for name in ("absent", "folder/key"):
        with pytest.raises(Refused, match="cannot be read or made"):
            key_of(Path(name), "sealed reports", make=name != "absent")
    Path("dangling").symlink_to("nowhere")
    with pytest.raises(Refused, match="cannot be read or made"):
        key_of(Path("dangling"), "sealed reports")
    assert {path.name for path in Path().iterdir()} == {"dangling"}


def test_a_public_key_is_written_as_a_whole_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    listening.write_public(Path("key.pub"), "ab")
    Path("key.pub").write_text("a")  # cut short
    listening.write_public(Path("key.pub"), "ab")
    assert Path("key.pub").read_text() == "ab\n"
    monkeypatch.setattr(os, "access", lambda *_: False)  # a folder of secrets that nobody may write to
    listening.write_public(Path("key.pub"), "ab")
    with pytest.raises(PermissionError):
        listening.write_public(Path("key.pub"), "cd")
