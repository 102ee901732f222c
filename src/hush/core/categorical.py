"""One of a list of values, and one of many points that have no names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from hush.core import codec
from hush.core.finders import Codes, Later, Texts
from hush.core.lists import Labels, Listed
from hush.core.naming import ABSENT, MAX_CODE, MISSING, SHOWN, check_flag, check_name
from hush.errors import RecordError, SchemaError

MAX_CATEGORIES = 4096
MAX_CATEGORY = 256

OTHER = "(other)"
"""The category of all values that are not listed, where an attribute has one."""

# The rules for a value, as error messages word them. `hush.batch` uses the same words for whole columns.
NOT_A_STRING = "must be a string, one of those declared"
NOT_AN_INTEGER = "must be an integer, one of those declared"


@dataclass(frozen=True)
class Categorical:
    """One of a list of values: all strings, or all integers. More than 4096 strings are a `hush.Listed`.

    With `optional=True` a missing value (None, or no entry) is one more category. With `other=True` all strings that
    are not listed count as one more category, `OTHER`. The device does so, and never sends such a string.
    """

    name: str
    values: tuple[str, ...] | tuple[int, ...] | Listed
    optional: bool = False
    other: bool = False

    kind: ClassVar[str] = "categorical"
    _find: Callable[[Any], int | None] = field(init=False, repr=False, compare=False)
    _type: type = field(init=False, repr=False, compare=False)

    def __init__(
        self, name: str, values: Sequence[str] | Sequence[int], optional: bool = False, other: bool = False
    ) -> None:
        check_name(name)
        check_flag(optional, name)
        if type(other) is not bool:
            raise SchemaError(f"attribute {name!r}: other must be True or False")
        if isinstance(values, Listed):
            self._keep(name, values, optional, other, Later(values), str)
            return
        if not isinstance(values, Sequence) and hasattr(values, "tolist"):  # an array, of numpy or pandas
            values = values.tolist()
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise SchemaError(f"attribute {name!r}: values must be a list of strings or a list of integers")
        listed: tuple[Any, ...] = tuple(values)
        texts = all(type(value) is str for value in listed)
        if not texts and not all(type(value) is int for value in listed):
            raise SchemaError(
                f"attribute {name!r}: values must be all strings or all integers (of an array: .tolist())"
            )
        if other and not texts:
            raise SchemaError(f"attribute {name!r}: other=True is for values that are strings")
        least, most = 2 - (optional or other), MAX_CATEGORIES - other
        if not least <= len(listed) <= most:
            longer = "; for more, pass hush.Listed(values)" if texts and len(listed) > most else ""
            raise SchemaError(f"attribute {name!r}: needs {least} to {most} values{longer}")
        if len(set(listed)) != len(listed):
            raise SchemaError(f"attribute {name!r}: a value is repeated")
        for value in listed:
            if isinstance(value, str):
                if len(value) > MAX_CATEGORY or not value.isprintable() or value == MISSING:
                    raise SchemaError(
                        f"attribute {name!r}: a value must be at most {MAX_CATEGORY} printable characters, "
                        f"and not {MISSING!r}"
                    )
                if other and value == OTHER:
                    raise SchemaError(f"attribute {name!r}: with other=True no value may be {OTHER!r}")
            elif abs(value) > MAX_CODE:
                raise SchemaError(f"attribute {name!r}: integers must be below 2^53 in size")
        self._keep(name, listed, optional, other, (Texts if texts else Codes)(listed), type(listed[0]))

    def _keep(self, *fields: Any) -> None:
        for field_, value in zip(("name", "values", "optional", "other", "_find", "_type"), fields, strict=True):
            object.__setattr__(self, field_, value)

    @property
    def labels(self) -> Sequence[str | int]:
        """The categories whose shares are estimated: the values, then `OTHER` if there is one, then `MISSING`."""
        extra = (OTHER,) * self.other + (MISSING,) * self.optional
        if isinstance(self.values, Listed):
            return Labels(self.values, extra)
        return (*self.values, *extra) if extra else self.values

    def encode(self, value: object) -> int:
        """Return the index of a value in `labels`."""
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        # A missing value takes the same steps, and is the last category.
        first, others = self.values[0], len(self.values)
        known = first if missing else value
        plain, last = type(known) is self._type, others + self.other
        index = self._find(known) if plain else None
        index = others if index is None and plain and self.other else index  # other values take no step more
        if index is None:
            index = self._encode_unusual(value)
        return last if missing else index

    def _encode_unusual(self, value: object) -> int:
        if self._type is str:
            if not isinstance(value, str):
                raise RecordError(f"attribute {self.name!r}: {NOT_A_STRING}")
            value = str.__str__(value)  # the plain text: a subclass may define its own comparison
        elif isinstance(value, bool) or not isinstance(value, Integral):
            raise RecordError(f"attribute {self.name!r}: {NOT_AN_INTEGER}")
        else:
            value = int(value)
        index = self._find(value)
        if index is None and self.other:
            return len(self.values)
        if index is None:
            raise RecordError(f"attribute {self.name!r}: {self.undeclared}")
        return index

    @property
    def undeclared(self) -> str:
        """The rule for a value that is not in the list."""
        shown = ", ".join(map(repr, self.values[:SHOWN])) + (", ..." if len(self.values) > SHOWN else "")
        return f"must be one of the {len(self.values)} values declared: {shown}"

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "values": self.values.to_json() if isinstance(self.values, Listed) else list(self.values),
            "optional": self.optional,
            **({"other": True} if self.other else {}),  # plans without it keep their ids
        }

    @classmethod
    def from_json(cls, value: Any) -> Categorical:
        """Read an attribute back, strictly."""
        other = isinstance(value, dict) and value.get("other") is True
        names = ("kind", "name", "values", "optional", *(["other"] if other else []))
        _, name, values, optional, *_ = codec.fields(value, names, SchemaError, "a categorical attribute")
        if isinstance(values, dict):
            return cls(name, Listed.from_json(values), optional, other)
        return cls(name, codec.listed(values, SchemaError, "values"), optional, other)


class Points(Categorical):
    """One of many points that have no names: where a hash of a text falls. Only views give it; no schema has it.

    If a text may be missing, that is the last point.
    """

    kind: ClassVar[str] = "points"

    def __init__(self, name: str, points: int, optional: bool = False) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", range(points))
        object.__setattr__(self, "optional", optional)
        object.__setattr__(self, "other", False)

    @property
    def labels(self) -> Any:
        """The points as numbers."""
        return range(len(self.values) + self.optional)
