"""Finding files by names, folders and patterns. Each must stand for at least one file, and no file may occur twice.

A total would not show that a file was left out or counted twice, so both are errors. This needs the standard library
only, because tallies are added where Arrow is not installed.
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
    """Return the files: a file itself, all files of a folder with these endings, or the matches of a pattern.

    They are sorted within a folder or pattern. A folder that matches a pattern stands for its files, each of them once.
    In folders, names that start with `.` or `_` are skipped: engines use them for notes. A folder or pattern without
    files is refused, and so is a file that occurs twice: its rows would count twice.
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
    # `d/**` matches the folder, the folders in it, and all their files.
    found = list(dict.fromkeys(file for match in matches for file in _within(match, endings)))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no files found", str(path))
    return found


def _within(path: Path, endings: Sequence[str]) -> list[Path]:
    if not path.is_dir():
        if path.is_file() or not path.exists():  # a pipe can be opened only once
            path.open("rb").close()  # Python's own error names the file
        return [path]
    inside = (file for file in path.rglob("*") if ends(file, endings) and file.is_file())
    return sorted(file for file in inside if not any(part[0] in "._" for part in file.relative_to(path).parts))


def ends(path: Path, endings: Sequence[str]) -> bool:
    """Return whether the name of a file has one of these endings."""
    return path.name.lower().endswith(tuple(endings))
