"""Which files are meant: names, folders and patterns, each of which must stand for something, and no file twice.

What is left out or counted twice shows in no total, so both are errors. Nothing but the standard library is needed, as
tallies are added where Arrow is not installed.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".arrows", ".feather", ".ipc")

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def find(given: Paths, endings: Sequence[str]) -> list[Path]:
    """Return the files meant: a file is itself, a folder all files in it with these endings, a pattern what fits it.

    They are sorted within a folder or pattern. A folder that fits a pattern stands for its files, each of them once.
    Names that start with `.` or `_` are passed over in folders, as engines use them for notes. A folder or pattern of
    nothing is refused, and a file that is meant twice: its rows would count twice.
    """
    listed = [given] if isinstance(given, str | os.PathLike) else list(given)
    if not listed:
        raise FileNotFoundError(errno.ENOENT, "no files are given")
    found = [file for item in listed for file in _meant(Path(item), endings)]
    seen: set[Path] = set()
    for path in found:
        if path.resolve() in seen:
            raise FileExistsError(errno.EEXIST, "is given more than once", str(path))
        seen.add(path.resolve())
    return found


def _meant(path: Path, endings: Sequence[str]) -> list[Path]:
    matches = [path]
    if glob.has_magic(str(path)) and not path.exists():
        matches = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - a path may be absolute
    # `d/**` fits the folder, the folders in it, and all their files.
    found = list(dict.fromkeys(file for match in matches for file in _within(match, endings)))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no files found", str(path))
    return found


def _within(path: Path, endings: Sequence[str]) -> list[Path]:
    if not path.is_dir():
        if path.is_file() or not path.exists():  # a pipe can be opened only once
            path.open("rb").close()  # an error of Python's names the file
        return [path]
    inside = (file for file in path.rglob("*") if ends(file, endings) and file.is_file())
    return sorted(file for file in inside if not any(part[0] in "._" for part in file.relative_to(path).parts))


def ends(path: Path, endings: Sequence[str]) -> bool:
    """Say whether the name of a file has one of these endings."""
    return path.name.lower().endswith(tuple(endings))
