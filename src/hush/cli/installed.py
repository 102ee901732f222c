"""Checks of installed software: the extras of this distribution, by its own metadata, and programs beyond pip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

from hush.cli.checks import GOOD, MISSING, WRONG, Absent, Finding, Noted, Trouble, install, one_line
from hush.cli.program import DISTRIBUTION, EXTRAS

JAVA = 17  # the least that Spark 4 runs on
LISTED = 6  # more packages than these are counted


def version_of(name: str) -> str | None:
    """Return the version of an installed package, None if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def extras(
    requires: Iterable[str] | None = None, version: Callable[[str], str | None] = version_of
) -> Iterator[Finding]:
    """Look at every extra of hush: complete, missing something, or with something too old or too new."""
    if requires is None:
        try:
            requires = metadata.requires(DISTRIBUTION) or []
        except metadata.PackageNotFoundError:
            yield Finding(
                "extras", "hush", "note", "hush runs from its sources and is not installed: no list of extras"
            )
            return
    try:
        listed = [Requirement(requirement) for requirement in requires]
    except InvalidRequirement as error:
        raise Trouble(f"the metadata of hush cannot be read: {error}") from None
    names = {name for need in listed for name in re.findall(r"""\bextra == ["']([^"']+)""", str(need.marker))}
    for extra in sorted(names):
        yield _extra(extra, {need.name: need for need in _closure(listed, extra)}, version)


def _closure(listed: list[Requirement], extra: str) -> Iterator[Requirement]:
    """Return the requirements of an extra here, through other extras of hush too."""
    done: set[str] = set()
    waiting = [extra]
    while waiting:
        wanted = waiting.pop()
        if wanted in done:
            continue
        done.add(wanted)
        for need in listed:
            if need.marker is not None and need.marker.evaluate({"extra": wanted}):
                if need.name == DISTRIBUTION:
                    waiting += need.extras
                else:
                    yield need


def _obeys(version: str, need: Requirement) -> bool:
    try:
        return need.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _extra(extra: str, wanted: dict[str, Requirement], version: Callable[[str], str | None]) -> Finding:
    found = {name: version(name) for name in sorted(wanted)}
    lacking = [name for name, here in found.items() if here is None]
    wrong = [
        f"{name} {here} (needs {', '.join(sorted(map(str, wanted[name].specifier), reverse=True))})"
        for name, here in found.items()
        if here is not None and not _obeys(here, wanted[name])
    ]
    texts = ([f"without {', '.join(lacking)}"] if lacking else []) + wrong
    if texts:
        return Finding("extras", extra, WRONG if wrong else MISSING, "; ".join(texts), install(extra))
    pairs = ", ".join(f"{name} {here}" for name, here in found.items())
    return Finding("extras", extra, GOOD, pairs if len(found) <= LISTED else f"{len(found)} packages")


def loading(libraries: Iterable[str] = tuple(EXTRAS)) -> str:
    """Load every library that is there: one that is installed may still be broken, or not fit the others."""
    from importlib import import_module, util

    here = [name for name in libraries if util.find_spec(name) is not None]
    broken = []
    for name in here:
        try:
            import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken library may raise anything
            broken.append(f"{name} does not load ({one_line(error)})")
    if broken:
        raise Trouble("; ".join(broken))
    return f"{len(here)} of {len(tuple(libraries))} are there, and load"


def java() -> str:
    """Look for Java, which Spark runs on."""
    import os
    import shutil
    import subprocess
    from pathlib import Path

    if version_of("pyspark") is None:
        raise Absent("not looked for: only Spark needs it")
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if path is None:
        raise Trouble("Spark is installed, but there is no Java for it", f"install Java {JAVA} or newer")
    result = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    found = re.search(r'version "(\d+)', result.stderr + result.stdout)
    if found is None:
        raise Trouble(f"{path} does not say which version it is")
    if int(found[1]) < JAVA:
        raise Trouble(f"Java {found[1]} is too old for Spark", f"install Java {JAVA} or newer")
    return f"Java {found[1]}"


def postgres() -> str:
    """Look at the library that talks to PostgreSQL. The server is wherever `hush serve --store` says."""
    import psycopg

    number = psycopg.pq.version()
    return f"psycopg {psycopg.__version__} with libpq {number // 10000}.{number % 10000}; the server is not looked for"


def sqlite(folder: str | None = None, connect: Any = None) -> str:
    """Try the features of SQLite that ledgers and collectors need: strict tables, and a write-ahead log."""
    import sqlite3
    from contextlib import closing
    from pathlib import Path
    from tempfile import TemporaryDirectory

    connect = connect or sqlite3.connect
    with TemporaryDirectory(prefix="hush-doctor-", dir=folder) as room, closing(connect(Path(room) / "try.db")) as base:
        try:
            base.execute("create table t (x integer not null) strict")
        except sqlite3.OperationalError:
            raise Trouble(f"SQLite {sqlite3.sqlite_version} has no strict tables: 3.37 has") from None
        if base.execute("pragma journal_mode = wal").fetchone()[0] != "wal":
            raise Noted(f"SQLite {sqlite3.sqlite_version} keeps no write-ahead log in the folder of temporary files")
    return f"SQLite {sqlite3.sqlite_version}: strict tables, write-ahead log"
