"""The attributes of a record, and the only place where a person's values are read.

`Schema.encode` turns a record into one small input per attribute: a number in [0, 1] for a numeric
attribute, the index of a category for a categorical one, marks for choices, None for a missing number. It checks the
whole record, including the attributes that will not be sampled, and draws no randomness. Its errors name the
attribute and the rule, never the value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hush.core import codec
from hush.core.categorical import (
    MAX_CATEGORIES,
    MAX_CATEGORY,
    NOT_A_STRING,
    NOT_AN_INTEGER,
    OTHER,
    Categorical,
    Points,
)
from hush.core.choices import MAX_CHOICES, NOT_A_LIST, NOT_JSON, REPEATED, Choices
from hush.core.lists import Listed
from hush.core.naming import ABSENT, MAX_CODE, MAX_NAME, MISSING, SHOWN
from hush.core.numeric import INFINITE, NAN, NOT_A_NUMBER, Numeric, short
from hush.core.texts import Text
from hush.errors import RecordError, SchemaError

# Other rooms import attributes and their rules from here: which file holds them is a matter of this one.
__all__ = [
    "ABSENT",
    "INFINITE",
    "KINDS",
    "MAX_ATTRIBUTES",
    "MAX_CATEGORIES",
    "MAX_CATEGORY",
    "MAX_CHOICES",
    "MAX_CODE",
    "MAX_NAME",
    "MISSING",
    "NAN",
    "NOT_AN_INTEGER",
    "NOT_A_LIST",
    "NOT_A_NUMBER",
    "NOT_A_STRING",
    "NOT_JSON",
    "OTHER",
    "REPEATED",
    "Attribute",
    "Categorical",
    "Choices",
    "Input",
    "Numeric",
    "Points",
    "Record",
    "Schema",
    "short",
]

MAX_ATTRIBUTES = 1024
MAX_DIGITS = (
    1 << 17
)  # of the codes of all texts: their tables take 40 MB and a second in Python, and no server decides more

Input = float | int | None
"""The input of a channel for one attribute. (That of choices is bytes: only their views and channel may look at it.)"""

Record = Mapping[str, Any] | Iterable[tuple[str, Any]]

Attribute = Numeric | Categorical | Choices | Text
KINDS: dict[str, type[Numeric] | type[Categorical] | type[Choices] | type[Text]] = {
    kind.kind: kind for kind in (Numeric, Categorical, Choices, Text)
}


def _is_here(attribute: Attribute) -> bool:
    """Tell whether its values are known: a long list may still be missing, which need not matter if nobody asks."""
    values = getattr(attribute, "values", ())
    return not isinstance(values, Listed) or values.here


def _check_codes(codes: Iterable[object]) -> None:
    """Refuse texts whose codes have too many words together."""
    rows = (row for code in codes if isinstance(code, list | tuple) for row in code)
    if sum(len(row) for row in rows if isinstance(row, str)) > MAX_DIGITS:
        raise SchemaError(f"the codes of all texts of a schema have at most {MAX_DIGITS} digits together")


def _is_table(record: object) -> bool:
    """Say whether a record is a table of people: a frame, something that Arrow can read, or a list of records."""
    if hasattr(record, "columns") or hasattr(record, "__arrow_c_stream__"):
        return True
    return isinstance(record, list | tuple) and any(isinstance(item, Mapping) for item in record)


def _pair(item: object) -> tuple[Any, Any]:
    """Return a pair. Texts of two letters, such as names of columns, are none."""
    if not isinstance(item, tuple | list):
        raise TypeError
    name, value = item
    return name, value


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in order."""

    attributes: tuple[Attribute, ...]
    _encoders: dict[str, Callable[[object], Input]] = field(init=False, repr=False, compare=False)
    _named: dict[str, Attribute] = field(init=False, repr=False, compare=False)
    _spared: tuple[Attribute, ...] = field(init=False, repr=False, compare=False)  # those that may be missing

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        if isinstance(attributes, Attribute):
            raise SchemaError("a schema is a list of attributes: hush.Schema([...])")
        listed = tuple(attributes)
        if not 1 <= len(listed) <= MAX_ATTRIBUTES:
            raise SchemaError(f"a schema has 1 to {MAX_ATTRIBUTES} attributes")
        if not all(isinstance(attribute, Attribute) for attribute in listed):
            raise SchemaError("a schema is a list of attributes: Numeric, Categorical, Choices and Text")
        _check_codes(item.code for item in listed if isinstance(item, Text))
        seen: set[str] = set()
        for attribute in listed:
            if attribute.name in seen:
                raise SchemaError(f"attribute {attribute.name!r}: declared more than once")
            seen.add(attribute.name)
        object.__setattr__(self, "attributes", listed)
        object.__setattr__(self, "_encoders", {item.name: item.encode for item in listed})
        object.__setattr__(self, "_named", {item.name: item for item in listed})
        object.__setattr__(self, "_spared", tuple(item for item in listed if item.optional))

    def __len__(self) -> int:
        return len(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        if name in self._named:
            return self._named[name]
        raise SchemaError(f"no attribute is called {name!r}; there are: {self._listed()}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(self._encoders)

    def encode(self, record: Record, asked: Collection[str] | None = None) -> list[Input]:
        """Check a record and return one input per attribute, in the schema's order.

        The record is a mapping, or pairs of name and value (in which a name may not be repeated). With `asked`, only
        these attributes need a value: the input of any other that is left out must not be looked at.

        An optional value that is left out takes the same steps as one that is given, whether it is asked for or not:
        otherwise time would tell missing values from others. Of what may not be missing, the caller decides.
        """
        values = self.read(record)
        if not values.keys() <= self._encoders.keys():
            # The message does not quote the name: in a record with names and values swapped it would be a value.
            raise RecordError(f"the record has an attribute that is not in the schema; there are: {self._listed()}")
        value = values.get
        if asked is None:
            return [encode(value(name)) for name, encode in self._encoders.items()]
        wanted = values.keys() | asked | {item.name for item in self._spared if _is_here(item)}
        return [encode(value(name)) if name in wanted else None for name, encode in self._encoders.items()]

    def read(self, record: Record) -> Mapping[str, Any]:
        """Return a record as a mapping. Code that encodes a record twice needs it: an iterator can be read once."""
        return record if isinstance(record, Mapping) else self._paired(record)

    def _paired(self, record: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if _is_table(record):
            raise RecordError(
                "a record is that of one person, and this is a table: hush.batch.randomise(plan, table) takes many"
            )
        try:
            pairs = [(name, value) for name, value in map(_pair, record)]
        except (TypeError, ValueError):
            pairs = [("", None)]
        for name, value in pairs:
            if not isinstance(name, str) or not name:
                row = ": row.to_dict() is one" if hasattr(record, "to_dict") else ""
                raise RecordError(f"a record must be a mapping, or pairs of name and value{row}")
            if name in values:
                known = f"attribute {name!r}: is" if name in self._encoders else "an attribute is"
                raise RecordError(f"{known} given more than once")
            values[name] = value
        return values

    def _listed(self) -> str:
        return ", ".join(map(repr, self.names[:SHOWN])) + (", ..." if len(self.names) > SHOWN else "")

    def to_json(self) -> list[dict[str, Any]]:
        """Return the schema as JSON values."""
        return [attribute.to_json() for attribute in self.attributes]

    @classmethod
    def from_json(cls, value: Any) -> Schema:
        """Read a schema back, strictly."""
        attributes: list[Attribute] = []
        items = codec.listed(value, SchemaError, "the schema")
        _check_codes(item.get("code") for item in items if isinstance(item, dict))  # before any table is made
        for item in items:
            kind = item.get("kind") if isinstance(item, dict) else None
            if type(kind) is not str or kind not in KINDS:
                raise SchemaError(f"the kind of an attribute must be one of: {', '.join(KINDS)}")
            attributes.append(KINDS[kind].from_json(item))
        return cls(attributes)
