"""Files that are written as a whole, or not at all, and never over something that is still needed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))  # Windows has no last one
"""Errors of writing: a disk that is full, more than one may have or a file can hold, a broken disk."""


def check_target(
    path: Path, *, overwrite: bool, inputs: Iterable[str | os.PathLike[str]] = (), what: str = "the result"
) -> None:
    """Refuse to write to a path, before any work is done for it.

    `inputs` are read for what is written: none of them may be replaced, whatever it is called. A file that exists is
    replaced only with `overwrite`, and devices and pipes never are.
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
def replacing(path: Path, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Write a file beside, and put it in its place when it is on disk. Of a failure nothing stays."""
    check_target(path, overwrite=overwrite)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    file = _opened(beside, path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        check_target(path, overwrite=overwrite)  # it may have appeared meanwhile
        beside.replace(path)
    except BaseException as error:  # an interrupt too
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None and error.errno in NO_ROOM:
            raise OSError(error.errno, error.strerror, str(path)) from None  # the system does not say which file
        raise
    _sync(path.parent)


def _opened(beside: Path, path: Path) -> IO[bytes]:
    """Open the file beside; an error names the file that was asked for."""
    try:
        return beside.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror or "cannot be written", str(path)) from None


def _sync(folder: Path) -> None:
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
