"""Files appear whole, or not at all, and never over what is still needed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hush.files import atomic
from hush.files.atomic import PRIVATE, check_remainders, check_target, replacing, write_once

WAYS = ["nameless", "beside"]


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds in both ways: with files that have no name until they are complete, and without."""
    monkeypatch.chdir(tmp_path)
    Path("old").write_text("old")
    if request.param == "beside":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not nameless_here():
        pytest.skip("this file system has no files without a name")
    return str(request.param)


def nameless_here() -> bool:
    file = atomic._nameless(Path())
    if file is not None:
        file.close()
    return file is not None


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


def test_an_error_names_the_file_that_was_asked_for(way: str) -> None:
    name = "x" * 250  # the name of the file beside it is too long
    for overwrite in (False, True):
        if way == "nameless" and not overwrite:
            continue  # there is no file beside it
        with pytest.raises(OSError, match="name too long") as caught:
            put(name, overwrite=overwrite)
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


# -- kills

KILLED = """
import os, signal, sys
from pathlib import Path
from hush.files.atomic import replacing
if sys.argv[1] == "beside" and hasattr(os, "O_TMPFILE"):
    del os.O_TMPFILE
with replacing(Path(sys.argv[2]), overwrite=True, drawn=True) as file:
    file.write(b"drawn")
    file.flush()
    os.fsync(file.fileno())
    if len(sys.argv) > 3:
        print("ready", flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", KILLED, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603


def kill(way: str, name: str) -> None:
    with start(way, name) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["new", "old"])
def test_a_kill_leaves_nothing_that_others_can_read(way: str, name: str) -> None:
    kill(way, name)
    left = inside() - {"old"}
    assert Path("old").read_text() == "old"
    if way == "nameless":
        assert not left
        put(name, overwrite=True)  # nobody has seen what was drawn
        return
    (remainder,) = left
    assert stat.S_IMODE(Path(remainder).stat().st_mode) == 0o600
    assert Path(remainder).read_text() == "drawn"


def draw(name: str) -> None:
    with replacing(Path(name), overwrite=True, drawn=True) as file:
        file.write(b"again")


def test_what_a_kill_left_is_not_drawn_again_in_silence() -> None:
    kill("beside", "new")
    (remainder,) = inside() - {"old"}
    attempts: list[Callable[[], None]] = [lambda: draw("new"), lambda: check_remainders(Path("new"))]
    for refused in attempts:
        with pytest.raises(FileExistsError, match=r"randomised once already.*epsilon twice.*[Rr]emove it") as caught:
            refused()
        assert caught.value.filename == remainder
    assert inside() == {"old", remainder}
    draw("old")  # it was of another file
    put("new")  # nothing of it is drawn from people
    Path("new").unlink()
    Path(remainder).unlink()
    draw("new")
    assert inside() == {"old", "new"}


def test_a_run_that_lives_is_told_from_one_that_was_killed() -> None:
    pytest.importorskip("fcntl")
    with start("beside", "new", "wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(FileExistsError, match="is being written by another run"):
            draw("new")
        process.communicate()
    with pytest.raises(FileExistsError, match="was killed"):
        draw("new")


def test_names_are_taken_as_they_are_written() -> None:
    for name in (".n*w.0123abcd.part", ".newer.0123abcd.part", ".new.0123abcd.part.part", ".new.0123abcg.part"):
        Path(name).write_text("something else")
    Path(".new.0123abcd.part").touch()  # nothing was drawn into it
    draw("new")
    Path(".n[e]w.0123abcd.part").write_text("drawn")
    with pytest.raises(FileExistsError):
        draw("n[e]w")


def test_a_file_has_the_permissions_of_any_new_one_once_it_is_complete(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o026)
    try:
        with replacing(Path("new"), overwrite=False) as file:
            file.write(b"new")
            if way == "beside":
                (part,) = inside() - {"old"}
                assert stat.S_IMODE(Path(part).stat().st_mode) == 0o600
            assert os.fstat(file.fileno()).st_nlink == (0 if way == "nameless" else 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o640


def test_what_replaces_a_file_is_its_owners_until_it_has_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    replace, seen = Path.replace, []

    def watched(beside: Path, path: Path) -> Path:
        seen.append(stat.S_IMODE(beside.stat().st_mode))
        with pytest.raises(FileExistsError, match=r"epsilon twice|is being written"):
            check_remainders(path)  # a kill at this moment would not pass unnoticed
        return replace(beside, path)

    monkeypatch.setattr(Path, "replace", watched)
    before = os.umask(0o022)
    try:
        put("old", overwrite=True)
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert stat.S_IMODE(Path("old").stat().st_mode) == 0o644


def test_of_two_who_write_at_once_one_is_refused() -> None:
    def both() -> None:
        with replacing(Path("new"), overwrite=False) as file:
            file.write(b"second")
            put("new", b"first")

    with pytest.raises(FileExistsError, match="exists already"):
        both()
    assert Path("new").read_text() == "first"
    Path("dangling").symlink_to("nowhere")
    if nameless_here():
        with pytest.raises(FileExistsError):
            put("dangling")
    assert inside() == {"old", "new", "dangling"}


@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
@pytest.mark.parametrize("name", ["new", "old"])
def test_what_is_private_is_its_owners_whatever_the_umask(mask: int, name: str) -> None:
    before = os.umask(mask)
    try:
        with replacing(Path(name), overwrite=True, mode=PRIVATE) as file:
            file.write(b"a secret")
        assert write_once(Path("key"), b"a key")
        assert write_once(Path("tokens"), b"hashes", mode=0o644)
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(name).stat().st_mode) == stat.S_IMODE(Path("key").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path("tokens").stat().st_mode) == 0o644


def test_of_several_who_write_once_one_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just before the first has the name, another one takes it: everybody reads what that one wrote."""
    link, first = os.link, [True]

    def late(*given: Any, **named: Any) -> None:
        if first.pop() if first else False:
            assert write_once(Path("key"), b"of the faster one")
        link(*given, **named)

    monkeypatch.setattr(os, "link", late)
    assert not write_once(Path("key"), b"of the slower one")
    assert not first
    assert not write_once(Path("key"), b"of one that comes later")
    assert Path("key").read_bytes() == b"of the faster one"
    assert inside() == {"old", "key"}


def test_a_file_system_without_links_has_files_all_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    if way == "nameless":
        with pytest.raises(PermissionError, match="key"):
            write_once(Path("key"), b"a key")
        return
    assert write_once(Path("key"), b"a key")
    assert not write_once(Path("key"), b"another")
    assert Path("key").read_bytes() == b"a key"
    assert inside() == {"old", "key"}


def test_of_several_without_links_one_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system that has neither links nor files without a name."""
    monkeypatch.setattr("hush.files.atomic._nameless", lambda _: None)

    def refuse(*_: Any, **__: Any) -> None:
        if Path("key").exists():
            raise FileExistsError
        barrier.wait(60)  # all of them have looked, and nobody has the name
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as several:
        won = list(several.map(lambda one: write_once(Path("key"), one), [b"one", b"two", b"six", b"ten"]))
    assert sum(won) == 1
    assert Path("key").read_bytes() == [b"one", b"two", b"six", b"ten"][won.index(True)]
    assert inside() == {"old", "key"}


def test_what_is_written_once_is_on_disk_before_it_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its name is on disk before anybody uses it: also before those use it who came second."""
    real, seen = os.fsync, list[str]()

    def watched(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        seen.append("folder" if folder else "file")
        assert Path("key").exists() == folder
        assert folder or os.fstat(handle).st_size == len(b"a key")
        real(handle)

    monkeypatch.setattr(os, "fsync", watched)
    assert write_once(Path("key"), b"a key")
    assert seen == ["file", "folder"]
    assert not write_once(Path("key"), b"another")
    assert seen == ["file", "folder", "folder"]


def test_without_a_way_to_name_it_no_nameless_file_is_made(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "nameless":
        exists = Path.exists
        monkeypatch.setattr(Path, "exists", lambda path: not str(path).startswith("/proc/") and exists(path))
        assert not nameless_here()
    put("new")
    assert Path("new").read_text() == "new"


def test_a_file_that_cannot_be_named_is_an_error_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "not permitted")

    if not nameless_here():
        pytest.skip("there are no files without a name")
    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(PermissionError, match="not permitted") as caught:
        put("new")
    assert caught.value.filename == "new"
    assert inside() == {"old"}
