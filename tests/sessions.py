"""Replays a page: files are written, Python is run, sessions are typed into a shell, and what they print is compared.

Blocks run in the order of the page, in one folder. What stands in a comment right above a block says more:

    <!-- file: schema.json -->   the block is the text of a file, which is written
    <!-- numbers vary -->        any number will do where the page shows one, and any id
    <!-- printed -->             the block is what the Python before it printed
    <!-- printed; numbers vary -->

In what is printed `...` stands for anything. PLAN stands for the id of `plan.json`. A command that ends in `&` goes on
beside the others, and `kill %1` ends it. The port 8000 may be taken: a free one is put in its place.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import hush

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?:^<!-- ([^\n]*?) -->\n)?^(`{3,})([^\n]*)\n(.*?)^\2$", re.M | re.S)
NUMBER = re.compile(
    r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
)  # 1,000 too, but not the 1,2 of CSV
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# For machines without the program: what the pages ask of it, by Python's own SQLite.
SQLITE = "import sqlite3, sys; [print(*row, sep='|') for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])]"


# Pages of docs/ that are played as a whole, with the fewest commands that they show.
PLAYED = {
    "../README.md": 0,
    "tutorial.md": 8,
    "telemetry.md": 5,
    "backfill.md": 6,
    "train.md": 2,
    "operate.md": 10,
    "deploy.md": 6,
    "collector.md": 10,
    "relay.md": 6,
    "shuffle.md": 0,
}
POSTGRES = "postgres.md"  # and one that needs a server of its own


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, the comment above it, and its line."""

    kind: str
    text: str
    mark: str
    line: int

    @property
    def printed(self) -> bool:
        """Whether this is what the Python before it printed."""
        return self.mark.startswith("printed")

    @property
    def varies(self) -> bool:
        """Whether its numbers are others in every run."""
        return self.mark.endswith("numbers vary")

    @property
    def file(self) -> str:
        """The file whose text this is, or nothing."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[3].strip(), found[4], found[1] or "", text.count("\n", 0, found.start(2)) + 1)
        for found in BLOCK.finditer(text)
    ]


def numberless(text: str) -> str:
    """Return a text in which numbers, ids and the lengths of lines are alike."""
    text = re.sub(r"\b[0-9a-f]{12,64}\b", "0", text)
    return re.sub(r"─+|-{5,}", "─", NUMBER.sub("0", text))


def _free_ports(*shown: str) -> dict[str, str]:
    """Return a free port for each that a page shows; none that the system deals out, as a page may come back to it."""
    found: dict[str, str] = {}
    while len(found) < len(shown):
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            if str(port) not in found.values():
                found[shown[len(found)]] = str(port)
    return found


class Session:
    """A shell and a Python, in the current folder, in which `hush` and `python` are those of the tests."""

    def __init__(self, words: Mapping[str, str] | None = None, path: Sequence[Path] = ()) -> None:
        self._words = {**_free_ports("8000", "8001"), **(words or {})}
        self._servers: list[subprocess.Popen[str]] = []
        self._namespace: dict[str, object] = {}
        self._environment = self._made(path)
        self._printed = ""
        self.commands = 0

    def _made(self, path: Sequence[Path]) -> dict[str, str]:
        tools = Path.cwd() / ".tools"
        tools.mkdir()
        programs = {"hush": [sys.executable, "-m", "hush"], "python": [sys.executable]}
        if shutil.which("sqlite3") is None:
            programs["sqlite3"] = [sys.executable, "-c", SQLITE]
        for name, command in programs.items():
            (tools / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            (tools / name).chmod(0o755)
        folders = os.pathsep.join(map(str, (tools, *path, os.environ["PATH"])))
        source = str(Path(hush.__file__).parent.parent)
        return {**os.environ, "PATH": folders, "PYTHONPATH": source, "COLUMNS": "160"}

    def said(self, text: str) -> str:
        """Return a text of a page as it is here."""
        for word, here in self._words.items():
            text = text.replace(word, here)
        with contextlib.suppress(FileNotFoundError):
            text = re.sub(r"\bPLAN\b", hush.Plan.from_json(Path("plan.json").read_text()).id, text)
        return text

    def play(self, page: Path) -> None:
        """Run a page from top to bottom."""
        self._printed = ""
        for block in blocks_of(page):
            if block.file:
                Path(block.file).write_text(self.said(block.text), encoding="utf-8")
            elif block.kind == "python":
                code = compile("\n" * block.line + self.said(block.text), str(page), "exec")
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(code, self._namespace)  # noqa: S102
                self._printed = printed.getvalue()
            elif block.printed:
                self._compare(block, "the Python above", block.text, self._printed)
            elif block.kind == "console":
                self._type(block)

    def _type(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, _, wanted = part.partition("\n")
            found = self._run(self.said(command), wanted)
            self._compare(block, command, self.said(wanted), found)
            self.commands += 1

    def _compare(self, block: Block, command: str, wanted: str, found: str) -> None:
        if block.varies:
            wanted, found = numberless(wanted), numberless(found)
        assert doctest.OutputChecker().check_output(wanted, found, FLAGS), (block.line, command, found)

    def _run(self, command: str, wanted: str) -> str:
        if command == "kill %1":
            server = self._servers.pop(0)
            server.terminate()
            assert server.wait(30) == 0
            assert server.stdout is not None
            server.stdout.close()
            return ""
        if command.endswith("&"):
            server = subprocess.Popen(  # noqa: S602
                f"exec {command.removesuffix('&')}",
                shell=True,
                stdout=subprocess.PIPE,
                text=True,
                env=self._environment,
            )
            self._servers.append(server)
            assert server.stdout is not None
            return "".join(server.stdout.readline() for _ in wanted.strip().splitlines())
        result = subprocess.run(  # noqa: S602
            command, shell=True, capture_output=True, text=True, timeout=120, check=False, env=self._environment
        )
        return result.stdout + result.stderr

    def close(self) -> None:
        """End what still runs."""
        for server in self._servers:
            server.kill()
            server.communicate()
