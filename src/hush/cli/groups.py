"""Options that belong together reach a command as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

Command = Callable[..., None]
Option = Callable[[Command], Command]


def grouped(name: str, kind: type, *options: Option) -> Option:
    """Add options to a command, which receives them as its argument `name`: a dataclass with a field for each."""
    own = [field.name for field in fields(kind)]

    def add(command: Command) -> Command:
        @wraps(command)
        def called(**given: Any) -> None:
            command(**{name: kind(**{field: given.pop(field) for field in own})}, **given)

        made: Command = called
        for option in reversed(options):
            made = option(made)
        return made

    return add
