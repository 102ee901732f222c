"""Findings of the doctor, a line for each check. A check returns the good news, or raises a trouble."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hush.cli.program import DISTRIBUTION, EXTRAS

GOOD, NOTE, MISSING, WRONG = "good", "note", "missing", "wrong"


class Finding(NamedTuple):
    """The result of one check. `remedy`: how to mend it, if it needs that."""

    part: str
    name: str
    state: str
    text: str
    remedy: str = ""


class Trouble(Exception):
    """Something is wrong. Notes and missing parts are not wrong."""

    state = WRONG

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy


class Noted(Trouble):
    """Something that works but could be better, or that cannot be checked."""

    state = NOTE


class Absent(Trouble):
    """Something that is not installed."""

    state = MISSING


def look(part: str, name: str, check: Callable[[], str]) -> Finding:
    """Check one thing. Any result becomes one line."""
    try:
        return Finding(part, name, GOOD, homely(check()))
    except Trouble as trouble:
        return Finding(part, name, trouble.state, homely(str(trouble)), trouble.remedy)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(library)
        if extra is None:
            return Finding(part, name, WRONG, one_line(error))
        return Finding(part, name, MISSING, f"needs the library {library}", install(extra))
    except Exception as error:  # noqa: BLE001 - every error becomes a line
        return Finding(part, name, WRONG, one_line(error))


def one_line(error: BaseException) -> str:
    """Return the kind of an error and the beginning of its message. The doctor reads nobody's data."""
    text = homely(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def homely(text: str) -> str:
    """Return a text with ~ for the home folder: others read the findings, and need not know the user's name."""
    try:
        home = Path.home()
        homes = {str(home), str(home.resolve())} - {home.anchor}
    except (RuntimeError, OSError):  # there is none
        return text
    for name in sorted(homes, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.~/\\-]){re.escape(name)}(?![\w-]|\.\w)", "~", text)
    return text


def install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
