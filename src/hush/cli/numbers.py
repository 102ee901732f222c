"""Numbers on the command line: how they are read, and what an error says to somebody who writes 1.000.000."""

from __future__ import annotations

import re
from typing import Any

import click

_GROUPED = re.compile(r"([+-]?\d{1,3})((?:[.,' \u00a0\u202f]\d{3})+)(?:[.,](\d+))?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_LARGEST = 1e15  # below it a whole number in floating point is written in digits
RULE = "a number has no separators between thousands, and a point before decimals"


def meant(text: str, whole: bool = False) -> str | None:
    """Return how somebody may have to write a number that cannot be read; None if nobody can tell."""
    plain = text.strip()
    if found := _GROUPED.fullmatch(plain):
        first, thousands, decimals = found.groups()
        plain = first + re.sub(r"\D", "", thousands) + ("" if decimals is None else f".{decimals}")
    elif _COMMA.fullmatch(plain):
        plain = plain.replace(",", ".")
    try:
        number = float(plain)
    except ValueError:
        return None
    if not whole:
        return plain
    return str(int(number)) if number.is_integer() and abs(number) < _LARGEST else None


def refusal(text: str, whole: bool = False) -> str:
    """Return why a text is no number, and how to write one."""
    what = "a whole number" if whole else "a number"
    better = meant(text, whole)
    return f"{text!r} is not {what}: " + (f"write {better}; {RULE}" if better else RULE)


class Number(click.types.FloatParamType):
    """A number. Whether it makes sense is a matter of the command."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        try:
            return float(value)
        except ValueError:
            self.fail(refusal(str(value)), param, ctx)


class Whole(click.types.IntParamType):
    """A whole number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        try:
            return int(value)
        except ValueError:
            self.fail(refusal(str(value), whole=True), param, ctx)


class Count(click.IntRange):
    """A whole number from `min` on, or from `min` to `max`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        return super().convert(WHOLE.convert(value, param, ctx), param, ctx)


NUMBER, WHOLE = Number(), Whole()
