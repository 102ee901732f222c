"""The names of the stores whose reports a tally has.

A collector hands its whole tally on, again and again, and whoever adds two of them would count people twice. So a store
has a random name, made with it, and its tally carries that name, and those that it had before: a store that is restored
from a copy takes a new one, as it may count again what the lost one had handed on.

`Stores` has the names of each store, the newest first. A sum of tallies has those of all its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.core import codec
from hush.errors import TallyError

NAME_SIZE = 16
MOST = 4096  # names in one tally

Stores = tuple[tuple[bytes, ...], ...]


def checked(stores: Sequence[Sequence[bytes]]) -> Stores:
    """Return the names of stores, in order; refuse names of another size, and a name that is there twice."""
    found = tuple(sorted(tuple(names) for names in stores))
    names = [name for each in found for name in each]
    if not all(found) or any(type(name) is not bytes or len(name) != NAME_SIZE for name in names):
        raise TallyError(f"a store has one name or more, of {NAME_SIZE} bytes each")
    if len(set(names)) != len(names):
        raise TallyError("a name of a store stands in a tally once")
    if len(names) > MOST:
        raise TallyError(f"a tally has at most {MOST} names of stores")
    return found


def joined(one: Stores, two: Stores) -> Stores:
    """Return the names in a sum of tallies. Two of one store are refused: their reports would count twice."""
    if twice := common(one, two):
        raise TallyError(
            f"both tallies have reports of the store {twice.hex()}, which would count twice: take the later one alone"
        )
    return checked((*one, *two)) if one and two else one or two


def common(one: Stores, two: Stores) -> bytes | None:
    """Return a name that is in both, or None."""
    names = {name for each in one for name in each}
    return next((name for each in two for name in each if name in names), None)


def written(stores: Stores) -> list[list[str]]:
    """Return names for JSON."""
    return [[name.hex() for name in names] for names in stores]


def read(value: Any) -> Stores:
    """Read names from JSON: those of one store at least, in order."""
    found = tuple(
        tuple(
            codec.hexadecimal(name, NAME_SIZE, TallyError, "the name of a store")
            for name in codec.listed(names, TallyError, "the names of a store")
        )
        for names in codec.listed(value, TallyError, "stores")
    )
    return _ordered(found)


def packed(stores: Stores) -> bytes:
    """Return names as bytes: how many stores, and for each how many names, and these."""
    parts = [codec.varint(len(stores))]
    for names in stores:
        parts += [codec.varint(len(names)), *names]
    return b"".join(parts)


def unpacked(cursor: codec.Cursor) -> Stores:
    """Read names from bytes."""
    found = tuple(
        tuple(cursor.take(NAME_SIZE) for _ in range(_few(cursor.varint()))) for _ in range(_few(cursor.varint()))
    )
    return _ordered(found)


def _few(number: int) -> int:
    if number > MOST:
        raise TallyError(f"a tally has at most {MOST} names of stores")
    return number


def _ordered(found: Stores) -> Stores:
    if not found or checked(found) != found:
        raise TallyError("stores must be one or more, in the order of their names")
    return found
