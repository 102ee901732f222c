"""What all attributes have in common: a name, and whether a value may be missing."""

from __future__ import annotations

from hush.errors import SchemaError

MAX_NAME = 128
MAX_CODE = (1 << 53) - 1
SHOWN = 8  # how many categories or names a message lists
ABSENT = "is missing, and not declared optional"
MISSING = "(missing)"
"""The category under which the share of missing values is estimated. No attribute may use it as a value."""


def check_name(name: object) -> None:
    """Refuse a name that is not a short printable text."""
    if type(name) is not str or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise SchemaError(f"the name of an attribute must be 1 to {MAX_NAME} printable characters")


def check_flag(flag: object, name: str) -> None:
    """Refuse a flag that is neither True nor False."""
    if type(flag) is not bool:
        raise SchemaError(f"attribute {name!r}: optional must be True or False")
