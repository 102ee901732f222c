"""Long lists of values, which a plan names by their hash.

A plan with a million pages does not carry them. It has the name of a public list, the number of its values and the
SHA-256 of its text. Devices and servers get the list as a file, and everybody who reads it checks the hash: another
list could make a device report another page than its person visited.

**The text** of a list is UTF-8, one value on each line, every line with a line feed at its end, in the order of the
categories. In a file, lines may also end as in Windows, the last end may be missing, and a byte order mark may come
first. Nothing else is changed: hash and comparison are of the code points as they are.

A list that was read once is known to the whole process, by its hash: every plan that names it finds it, also a plan
that was read earlier.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from hush.core import codec
from hush.errors import SchemaError

MAX_LISTED = (1 << 22) - 2  # with "other" and "missing", as many as the points of the largest geometry
MAX_BYTES = 1 << 28
MAX_VALUE = 256
RESERVED = ("(missing)", "(other)")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_known: dict[str, tuple[str, ...]] = {}


class Listed(Sequence[str]):
    """A public list of values for `hush.Categorical`, from a file with one value per line, or from a sequence.

    `name` is under what name people get the list: that of the file, unless you give another. A plan carries the name,
    the number of values and their hash (`sha256`). Where a plan is used, read its list before: `hush.Listed(path)` is
    enough.
    """

    __slots__ = ("name", "sha256", "size")
    name: str
    size: int
    sha256: str

    def __init__(self, source: str | os.PathLike[str] | Sequence[str], name: str | None = None) -> None:
        if isinstance(source, str | os.PathLike):
            values = _read(source)
            name = Path(source).name if name is None else name
        else:
            values = tuple(source)
        self.name = _checked_name("list.txt" if name is None else name)
        _check(values, self.name)
        self.size = len(values)
        self.sha256 = hashlib.sha256(text_of(values)).hexdigest()
        _known.setdefault(self.sha256, values)

    @property
    def here(self) -> bool:
        """Whether the values are known to this process."""
        return self.sha256 in _known

    @property
    def values(self) -> tuple[str, ...]:
        """The values, if the list was read."""
        found = _known.get(self.sha256)
        if found is None:
            raise SchemaError(
                f"the list {self.name!r} of {self.size} values is not here: read it with hush.Listed(path). "
                f"Its SHA-256 is {self.sha256}"
            )
        if len(found) != self.size:
            raise SchemaError(f"the list {self.name!r} has {len(found)} values, and the plan says {self.size}")
        return found

    def text(self) -> bytes:
        """Return the text whose hash the plan has."""
        return text_of(self.values)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return a value, or some of them."""
        return self.values[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listed):
            return NotImplemented
        return self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[str, int, str]:
        return self.name, self.size, self.sha256

    def __repr__(self) -> str:
        return f"<Listed {self.name}: {self.size:,} values, {self.sha256[:12]}>"

    # -- how it travels

    def to_json(self) -> dict[str, Any]:
        """Return what a plan says of it."""
        return {"count": self.size, "name": self.name, "sha256": self.sha256}

    @classmethod
    def from_json(cls, value: Any) -> Listed:
        """Read what a plan says of a list. The list itself may still be missing."""
        count, name, sha256 = codec.fields(value, ("count", "name", "sha256"), SchemaError, "a list of values")
        found = cls.__new__(cls)
        found.size = codec.integer(count, 1, MAX_LISTED, SchemaError, "the number of values of a list")
        found.name = _checked_name(name)
        codec.hexadecimal(sha256, 32, SchemaError, "the hash of a list")
        found.sha256 = sha256
        return found


class Labels(Sequence["str | int"]):
    """The values of a list and a few more categories, without copying a million of them."""

    __slots__ = ("_extra", "_listed")

    def __init__(self, listed: Listed, extra: tuple[str, ...]) -> None:
        self._listed, self._extra = listed, extra

    def __len__(self) -> int:
        return self._listed.size + len(self._extra)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return a category, or some of them."""
        if isinstance(place, slice):
            return tuple(self[at] for at in range(*place.indices(len(self))))
        if not -len(self) <= place < len(self):
            raise IndexError("no such category")
        at, count = place % len(self), self._listed.size
        return self._listed[at] if at < count else self._extra[at - count]

    def __iter__(self) -> Iterator[str]:
        yield from self._listed
        yield from self._extra


def listed_in(attributes: Iterable[object]) -> list[Listed]:
    """Return the lists of some attributes, each once."""
    found = (getattr(attribute, "values", None) for attribute in attributes)
    return list(dict.fromkeys(values for values in found if isinstance(values, Listed)))


def fetched(listed: Listed, data: bytes) -> None:
    """Make known the text of a list that came from elsewhere, if it is the very one."""
    if hashlib.sha256(data).hexdigest() != listed.sha256:
        raise SchemaError(f"this is not the list {listed.name!r} of the plan: its hash is another one")
    _check_length(data, listed.name)
    values = _lines(data, listed.name)
    if len(values) != listed.size or text_of(values) != data:
        raise SchemaError(f"the list {listed.name!r} must have {listed.size} lines, and nothing else")
    _check(values, listed.name)
    _known.setdefault(listed.sha256, values)


def text_of(values: Sequence[str]) -> bytes:
    """Return the text of a list: the values, each with a line feed."""
    return "".join(f"{value}\n" for value in values).encode()


def _checked_name(name: object) -> str:
    if type(name) is not str or not _NAME.fullmatch(name):
        raise SchemaError(
            "the name of a list must be 1 to 64 letters, digits, dots, dashes and underscores, and start with no dot"
        )
    return name


def _read(path: str | os.PathLike[str]) -> tuple[str, ...]:
    name = Path(path).name
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SchemaError(f"the list {name!r} cannot be read: {error.strerror}") from None
    # As long as it was read: what is left out below must not make room for the end of a file that is too long.
    _check_length(data, name)
    return _lines(data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"), name)


def _check_length(data: bytes, name: str) -> None:
    if len(data) > MAX_BYTES:
        raise SchemaError(f"the list {name!r} must have at most {MAX_BYTES} bytes")


def _lines(data: bytes, name: str) -> tuple[str, ...]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SchemaError(f"the list {name!r}, line {line}: must be UTF-8") from None
    return tuple(text.removesuffix("\n").split("\n"))


def _check(values: tuple[str, ...], name: str) -> None:
    if not 1 <= len(values) <= MAX_LISTED:
        raise SchemaError(f"the list {name!r} must have 1 to {MAX_LISTED} values")
    for line, value in enumerate(values, 1):
        if type(value) is not str or not 0 < len(value) <= MAX_VALUE or not value.isprintable() or value in RESERVED:
            raise SchemaError(
                f"the list {name!r}, line {line}: a value must be 1 to {MAX_VALUE} printable characters, "
                f"and not {' or '.join(map(repr, RESERVED))}"
            )
    if len(set(values)) != len(values):
        seen: set[str] = set()
        line = next(line for line, value in enumerate(values, 1) if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise SchemaError(f"the list {name!r}, line {line}: the value is repeated")
