"""The standard streams in all states that a shell can leave them in: closed, full, without a reader, not UTF-8."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def prepare() -> None:
    """Give streams that are closed somewhere to go, and let no name be unprintable.

    A program that is started with `>&-` has no standard output. Its place in the table of files is taken here, so that
    no file that is opened later is mistaken for it.
    """
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names of files may be any bytes


def is_unicode() -> bool:
    """Say whether the standard output can show every letter."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def visible(text: str) -> str:
    """Return a text that does nothing to a terminal: characters that are not printable become escapes (`\\x1b`).

    Names of files may hold anything, and somebody else may have chosen them.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def abandon() -> bool:
    """Drop text that a stream could not write, or Python would try again at its end; return if it was the output."""
    lost = False
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            lost = lost or stream is sys.stdout
            _discard(stream)
    return lost


def _discard(stream: object) -> None:
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
    except (OSError, ValueError):  # it is no file: nobody will write to it again
        pass
