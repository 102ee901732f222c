"""Writing files as a whole or not at all, and never over a file that is still needed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))  # Windows has no last one
"""Errors of writing: a full disk, a quota or a file size that is exceeded, a broken disk."""

PRIVATE = 0o600
"""The permissions of what holds reports, tallies, ids, keys or tokens."""

_PART = ".part"
_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
_REMAINS = (
    "was left by a run that was killed: the people in it have been randomised once already. If anybody else could read "
    "it, randomising them again spends their epsilon twice. Remove it to go on"
)


def check_target(
    path: Path, *, overwrite: bool, inputs: Iterable[str | os.PathLike[str]] = (), what: str = "the result"
) -> None:
    """Refuse a path that must not be written, before any work is done.

    The `inputs` of the work must not be replaced, under whatever name. An existing file is replaced only with
    `overwrite`, and a device or pipe never is.
    """
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no files can be written to this folder", str(folder))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
    if not path.exists():
        return
    if any(Path(item).exists() and path.samefile(item) for item in inputs):
        raise FileExistsError(errno.EEXIST, f"is read, so {what} must go to another file", str(path))
    if not path.is_file():
        raise FileExistsError(errno.EEXIST, "is no plain file, and is not replaced", str(path))
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "exists already, and is not overwritten unless asked", str(path))


@contextmanager
def replacing(path: Path, *, overwrite: bool, drawn: bool = False, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Write a file without a name, and name it when it is on disk. A failure or a kill leaves nothing behind.

    Not every system has files without a name. Elsewhere the file is written beside its target under another name,
    readable by its owner only, and a kill leaves it there. With `drawn`, for reports drawn from people, such a
    remainder is refused before anything is drawn again. `mode` are its permissions, whatever the umask (`PRIVATE` for
    reports, tallies and keys); without it they are those of any new file.

    If several write the same new file at once, one of them does, and the others get a FileExistsError.
    """
    check_target(path, overwrite=overwrite)
    if drawn:
        check_remainders(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART}")
    if overwrite:
        _check_name(beside, path)
    file = _nameless(path.parent)
    nameless, usual = file is not None, 0
    if file is None:
        file, usual = _opened(beside, path)
    try:
        with file:
            yield file
            file.flush()
            if nameless and mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            if nameless:
                _name(file, beside, path, overwrite)
        if not nameless:
            _move(beside, path, overwrite)
            with suppress(OSError):  # not earlier: under its other name only its owner may read it
                path.chmod(usual if mode is None else mode)
    except BaseException as error:  # an interrupt too
        with suppress(OSError):  # the first error is more useful
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None and error.errno in NO_ROOM:
            raise OSError(error.errno, error.strerror, str(path)) from None  # the system's error does not name the file
        raise
    sync(path.parent)


def write_once(path: Path, data: bytes, *, mode: int = PRIVATE) -> bool:
    """Write a file that must not be lost, unless there is one. Return whether this call has written it.

    Of several that do so at once one wins. When this returns, the file is complete, and it and its name are on disk,
    whoever wrote it. (On a file system without links, such as FAT, it may still be empty for another one's moment.)
    """
    try:
        with replacing(path, overwrite=False, mode=mode) as file:
            file.write(data)
    except FileExistsError:
        sync(path.parent)
        return False
    return True


def check_remainders(path: Path) -> None:
    """Refuse to draw for a file if an earlier run was killed and left its reports.

    People whose reports are drawn again have two reports, and anyone who sees both learns twice as much about them.
    Only the owner knows whether anybody has seen the first ones, so this function removes nothing.
    """
    remainder = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}{re.escape(_PART)}")
    for found in sorted(path.parent.iterdir()):
        if remainder.fullmatch(found.name) is None:
            continue
        with suppress(FileNotFoundError):  # its run has just ended
            if _is_held(found):
                raise FileExistsError(errno.EEXIST, "is being written by another run at this moment", str(found))
            if found.stat().st_size:  # an empty file has no reports
                raise FileExistsError(errno.EEXIST, _REMAINS, str(found))


def _check_name(beside: Path, path: Path) -> None:
    """Refuse a name too long for the temporary one, before anything is written."""
    try:
        os.lstat(beside)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _nameless(folder: Path) -> IO[bytes] | None:
    """Open a file that has no name and disappears with its process. Return None where the system has no such files.

    Nobody else can open it, so it may have the permissions of the result from the start.
    """
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:
        return None  # this file system has none; any other problem will appear for the temporary file too
    if not Path(f"/proc/self/fd/{handle}").exists():
        os.close(handle)
        return None  # it could not be named
    return os.fdopen(handle, "wb")


def _name(file: IO[bytes], beside: Path, path: Path, overwrite: bool) -> None:
    """Name a nameless file. If the name is taken and may be replaced, the file has another name for a moment."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # Only with a folder's handle does Python link the file behind /proc/self/fd, not that link itself.
        source = f"/proc/self/fd/{file.fileno()}"
        try:
            os.link(source, path.name, dst_dir_fd=folder)
        except FileExistsError:
            check_target(path, overwrite=overwrite)  # it may have appeared meanwhile
            if not overwrite:
                raise FileExistsError(errno.EEXIST, "exists already, and is not overwritten", str(path)) from None
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            os.fchmod(file.fileno(), 0o600)  # until it has its own name: a kill may come in between
            os.link(source, beside.name, dst_dir_fd=folder)
            _move(beside, path, overwrite)
            os.fchmod(file.fileno(), mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(folder)


def _move(beside: Path, path: Path, overwrite: bool) -> None:
    check_target(path, overwrite=overwrite)  # it may have appeared meanwhile
    if not overwrite:
        try:
            os.link(beside, path)  # of several that get here at once, one has the name
        except FileExistsError:
            raise FileExistsError(errno.EEXIST, "exists already, and is not overwritten", str(path)) from None
        except OSError:  # this file system has no links: one of several gets an empty file, and then fills it
            _claim(path)
        else:
            beside.unlink()
            return
    beside.replace(path)


def _claim(path: Path) -> None:
    """Make an empty file, unless there is one."""
    try:
        os.close(os.open(path, _NEW, 0o600))
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "exists already, and is not overwritten", str(path)) from None


def _opened(beside: Path, path: Path) -> tuple[IO[bytes], int]:
    """Open the temporary file for its owner only, and return it with the permissions that a new file would have.

    An error names the target. The permissions of a new file depend on the process and on the folder, so a separate
    empty file is made to find them: anyone who opened it could go on reading it once it had contents.
    """
    try:
        handle = os.open(beside, _NEW, 0o666)
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
        finally:
            os.close(handle)
        beside.unlink()
        handle = os.open(beside, _NEW, 0o600)
    except OSError as error:
        raise OSError(error.errno, error.strerror or "cannot be written", str(path)) from None
    _hold(handle)
    return os.fdopen(handle, "wb"), mode


def _hold(handle: int) -> bool:
    """Lock an open file until it is closed, even by a kill. Return whether that was possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_held(path: Path) -> bool:
    """Return whether a live process has locked a file, as far as the system knows."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return fcntl is not None and not _hold(handle)
    finally:
        os.close(handle)


def sync(folder: Path) -> None:
    """Put the new name on disk, where folders can be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
