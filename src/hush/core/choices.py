"""Some of a list of values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from hush.core import codec
from hush.core.categorical import Categorical
from hush.core.finders import Texts
from hush.core.lists import Listed
from hush.core.naming import ABSENT, MISSING, SHOWN
from hush.errors import RecordError, SchemaError

MAX_CHOICES = 1024
SEPARATOR = ";"  # of choices, where they are written as one text: in CSV, and on the command line

# The rules for a value, as error messages word them. `hush.batch` uses the same words for whole columns.
NOT_A_LIST = "must be a list of strings, some of those declared"
NOT_JSON = 'must be a JSON list of strings, such as ["a", "b"]'
REPEATED = "must not list a value twice"


@dataclass(frozen=True)
class Choices:
    """Some of a list of values, which are strings: the answer to "which of these do you use?".

    A person holds any number of them, none included, but at most `most` (by default all). `most` is public, and the
    smaller it is, the more precise the estimates can be; a longer list is refused. With `optional=True` a value may be
    missing (None, or no entry), which is not the same as none of the list.
    """

    name: str
    values: tuple[str, ...]
    most: int
    optional: bool = False

    kind: ClassVar[str] = "choices"
    _find: Callable[[Any], int | None] = field(init=False, repr=False, compare=False)

    def __init__(self, name: str, values: Sequence[str], most: int | None = None, optional: bool = False) -> None:
        listed = Categorical(name, values, optional).values
        if isinstance(listed, Listed):
            raise SchemaError(f"attribute {name!r}: choices are listed in the plan itself, at most {MAX_CHOICES}")
        if not 2 <= len(listed) <= MAX_CHOICES or not all(isinstance(value, str) for value in listed):
            raise SchemaError(f"attribute {name!r}: choices are 2 to {MAX_CHOICES} strings")
        if most is None:
            most = len(listed)
        if type(most) is not int or not 1 <= most <= len(listed):
            raise SchemaError(f"attribute {name!r}: most must be a whole number from 1 to the number of values")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "optional", optional)
        object.__setattr__(self, "_find", Texts(listed))  # type: ignore[arg-type]

    @cached_property
    def plain(self) -> bool:
        """Whether a text may have its values with `;` between them: none is empty, has one or begins with `[`."""
        return all(value and SEPARATOR not in value and not value.startswith("[") for value in self.values)

    def split(self, text: str) -> list[str] | None:
        """Return the list that a text stands for, in CSV or on the command line; None if it is no JSON list.

        A text that begins with `[` is a JSON list of strings. Any other has values with `;` between them, but only if
        no value makes that doubtful. An empty text is an empty list.
        """
        if not text:
            return []
        if self.plain and not text.startswith("["):
            return [value for value in text.split(SEPARATOR) if value]
        try:
            found = json.loads(text)
            if not isinstance(found, list) or not all(isinstance(value, str) for value in found):
                return None
            "".join(found).encode()  # an escape may stand for half a character, which no column takes
        except (ValueError, RecursionError):
            return None
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """The values whose shares are estimated, `MISSING` last if the attribute is optional."""
        return (*self.values, MISSING) if self.optional else self.values

    def encode(self, value: object) -> Any:
        """Return bytes, one for each value: 1 if it is in the list, 0 if not; all of them are 2 if the list is missing.

        A shorter list takes as many steps as one of `most` values.
        """
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        held = self._listed(() if missing else value)
        count, spare, repeated = len(held), len(self.values), 0
        marks = bytearray(spare + 1)  # the last one is for the values that fill up the list
        for place, item in enumerate(held + [self.values[0]] * (self.most - count)):
            if not isinstance(item, str):
                raise RecordError(f"attribute {self.name!r}: {NOT_A_LIST}")
            found = self._find(str.__str__(item))  # the plain text: a subclass may define its own comparison
            if found is None:
                raise RecordError(f"attribute {self.name!r}: {self.undeclared}")
            found = found if place < count else spare
            repeated |= marks[found] & (place < count)
            marks[found] = 1
        if repeated:
            raise RecordError(f"attribute {self.name!r}: {REPEATED}")
        marks.pop()
        return (bytes(marks), b"\2" * len(marks))[missing]

    def _listed(self, value: object) -> list[Any]:
        if hasattr(value, "tolist"):  # an array, of numpy or pandas
            value = value.tolist()
        if not isinstance(value, list | tuple | Set):
            raise RecordError(f"attribute {self.name!r}: {NOT_A_LIST}")
        if len(value) > self.most:
            raise RecordError(f"attribute {self.name!r}: {self.too_many}")
        return list(value)

    @property
    def undeclared(self) -> str:
        """The rule for a value that is not in the list."""
        shown = ", ".join(map(repr, self.values[:SHOWN])) + (", ..." if len(self.values) > SHOWN else "")
        return f"must list some of the {len(self.values)} values declared: {shown}"

    @property
    def too_many(self) -> str:
        """The rule for a list that is too long."""
        return f"must list at most {self.most} values"

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "values": list(self.values),
            "most": self.most,
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Choices:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "values", "most", "optional")
        _, name, values, most, optional = codec.fields(value, names, SchemaError, "an attribute of choices")
        if type(most) is not int:
            raise SchemaError("most must be an integer")
        return cls(name, codec.listed(values, SchemaError, "values"), most, optional)
