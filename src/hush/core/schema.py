"""The attributes of a record, and the only place where a person's values are read.

`Schema.encode` turns a record into one small input per attribute: a number in [0, 1] for a numeric
attribute, the index of a category for a categorical one, None for a missing number. It checks the
whole record, including the attributes that will not be sampled, and draws no randomness. Its errors name the
attribute and the rule, never the value.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from hush.core import codec
from hush.errors import RecordError, SchemaError

MAX_ATTRIBUTES = 1024
MAX_CATEGORIES = 4096
MAX_NAME = 128
MAX_CATEGORY = 256
MAX_CODE = (1 << 53) - 1
_SHOWN = 8  # how many categories or names a message lists

MISSING = "(missing)"
"""The category under which the share of missing values is estimated. No attribute may use it as a value."""

# The rules for a value, as error messages word them. `hush.batch` uses the same words for whole columns.
ABSENT = "is missing, and not declared optional"
NOT_A_NUMBER = "must be a number (int or float)"
NAN = "must not be NaN"
INFINITE = "must be finite"
NOT_A_STRING = "must be a string, one of those declared"
NOT_AN_INTEGER = "must be an integer, one of those declared"

Input = float | int | None
"""The input of a channel for one attribute."""

Record = Mapping[str, Any] | Iterable[tuple[str, Any]]


def _check_name(name: object) -> None:
    if type(name) is not str or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise SchemaError(f"the name of an attribute must be 1 to {MAX_NAME} printable characters")


def _check_flag(flag: object, name: str) -> None:
    if type(flag) is not bool:
        raise SchemaError(f"attribute {name!r}: optional must be True or False")


@dataclass(frozen=True)
class Numeric:
    """A number from low to high. Means are estimated on this scale.

    A number outside is an error, or with `out_of_range="clip"` counts as the nearer bound. NaN and
    infinities are always errors. With `optional=True` a missing value (None, or no entry) is an answer like
    any other, and just as private: hush estimates both the share of missing values and the mean of the present.

    `scale="log"` is for a range that is far wider than where people are, such as incomes up to ten million. hush then
    estimates the mean clipped where its reports say that people are, and states the clip. `unit` is a size below which
    numbers need not be told apart; by default it is a 32,768th of the range.
    """

    name: str
    low: float
    high: float
    out_of_range: Literal["error", "clip"] = "error"
    optional: bool = False
    scale: Literal["linear", "log"] = "linear"
    unit: float | None = None

    kind: ClassVar[str] = "numeric"

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_flag(self.optional, self.name)
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise SchemaError(f"attribute {self.name!r}: {bound} must be a number")
            try:
                number = float(value) + 0.0  # + 0.0 turns -0.0 into 0.0, so that zero is written in one way
            except OverflowError:
                number = math.inf
            object.__setattr__(self, bound, number)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SchemaError(f"attribute {self.name!r}: low must be less than high, both finite")
        if not math.isfinite(self.high - self.low) or self.high - self.low < 1e-300:
            raise SchemaError(f"attribute {self.name!r}: high - low must be from 1e-300 to 1e308")
        if self.out_of_range not in ("error", "clip"):
            raise SchemaError(f'attribute {self.name!r}: out_of_range must be "error" or "clip"')
        if self.scale not in ("linear", "log"):
            raise SchemaError(f'attribute {self.name!r}: scale must be "linear" or "log"')
        if self.unit is not None:
            self._check_unit()

    def _check_unit(self) -> None:
        unit = self.unit
        if self.scale != "log":
            raise SchemaError(f'attribute {self.name!r}: a unit is for scale="log"')
        try:
            size = float(unit) if isinstance(unit, Real) and not isinstance(unit, bool) else math.nan
        except OverflowError:
            size = math.inf
        if not 0 < size < self.high - self.low:
            raise SchemaError(f"attribute {self.name!r}: the unit must be a number above 0, and less than high - low")
        object.__setattr__(self, "unit", size)

    def encode(self, value: object) -> float | None:
        """Return the position of a value between low (0.0) and high (1.0), or None if it is missing.

        All numbers take the same steps, also clipped and missing ones. Otherwise a server that chose the bounds could
        learn from the time on which side of a bound a number lies.
        """
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        number = self._number(self.low if missing else value)
        if self.out_of_range == "error" and not self.low <= number <= self.high:
            raise RecordError(f"attribute {self.name!r}: {self.outside}")
        place = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return None if missing else place

    @property
    def outside(self) -> str:
        """The rule for a number outside the bounds."""
        return f'must be from {self.low!r} to {self.high!r} (or declare it with out_of_range="clip")'

    def _number(self, value: object) -> float:
        """Return a value as a plain float. This float is compared with the bounds, and then used.

        Types such as numpy's float32 compare with the bounds in their own precision, and a subclass may define its
        own comparison. A number that passed such a comparison could lie outside the domain.
        """
        if type(value) is int and -MAX_CODE <= value <= MAX_CODE:
            value = float(value)  # exactly
        if type(value) is float and math.isfinite(value):
            return value
        if isinstance(value, bool) or not isinstance(value, Real):
            raise RecordError(f"attribute {self.name!r}: {NOT_A_NUMBER}")
        try:
            number = float(value) * 1.0
        except OverflowError:
            number = sys.float_info.max if value > 0 else -sys.float_info.max  # type: ignore[operator]
        if math.isnan(number):
            raise RecordError(f"attribute {self.name!r}: {NAN}")
        if math.isinf(number):
            raise RecordError(f"attribute {self.name!r}: {INFINITE}")
        return number

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "low": self.low,
            "high": self.high,
            "out_of_range": self.out_of_range,
            "optional": self.optional,
            "scale": self.scale,
            "unit": self.unit,
        }

    @classmethod
    def from_json(cls, value: Any) -> Numeric:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "low", "high", "out_of_range", "optional", "scale", "unit")
        _, name, low, high, rule, optional, scale, unit = codec.fields(value, names, SchemaError, "a numeric attribute")
        for bound in (low, high, *([] if unit is None else [unit])):
            if type(bound) is not float or math.copysign(1, bound) != math.copysign(1, bound + 0.0):
                raise SchemaError("bounds and the unit of a number must be written as floats, and 0 without a sign")
        return cls(name, low, high, rule, optional, scale, unit)


@dataclass(frozen=True)
class Categorical:
    """One of a list of values: all strings, or all integers.

    With `optional=True` a missing value (None, or no entry) is one more category.
    """

    name: str
    values: tuple[str, ...] | tuple[int, ...]
    optional: bool = False

    kind: ClassVar[str] = "categorical"
    _find: Callable[[Any], int | None] = field(init=False, repr=False, compare=False)
    _type: type = field(init=False, repr=False, compare=False)

    def __init__(self, name: str, values: Sequence[str] | Sequence[int], optional: bool = False) -> None:
        _check_name(name)
        _check_flag(optional, name)
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
        if not 2 - optional <= len(listed) <= MAX_CATEGORIES:
            raise SchemaError(f"attribute {name!r}: needs {2 - optional} to {MAX_CATEGORIES} values")
        if len(set(listed)) != len(listed):
            raise SchemaError(f"attribute {name!r}: a value is repeated")
        for value in listed:
            if isinstance(value, str):
                if len(value) > MAX_CATEGORY or not value.isprintable() or value == MISSING:
                    raise SchemaError(
                        f"attribute {name!r}: a value must be at most {MAX_CATEGORY} printable characters, "
                        f"and not {MISSING!r}"
                    )
            elif abs(value) > MAX_CODE:
                raise SchemaError(f"attribute {name!r}: integers must be below 2^53 in size")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "optional", optional)
        object.__setattr__(self, "_find", (_Texts if texts else _Codes)(listed))
        object.__setattr__(self, "_type", type(listed[0]))

    @property
    def labels(self) -> tuple[str | int, ...]:
        """The categories whose shares are estimated, `MISSING` last if the attribute is optional."""
        return (*self.values, MISSING) if self.optional else self.values

    def encode(self, value: object) -> int:
        """Return the index of a value in `labels`."""
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        known, last = self.values[0] if missing else value, len(self.values)  # a missing value takes the same steps
        index = self._find(known) if type(known) is self._type else None
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
        if index is None:
            raise RecordError(f"attribute {self.name!r}: {self.undeclared}")
        return index

    @property
    def undeclared(self) -> str:
        """The rule for a value that is not in the list."""
        shown = ", ".join(map(repr, self.values[:_SHOWN])) + (", ..." if len(self.values) > _SHOWN else "")
        return f"must be one of the {len(self.values)} values declared: {shown}"

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "values": list(self.values),
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Categorical:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "values", "optional")
        _, name, values, optional = codec.fields(value, names, SchemaError, "a categorical attribute")
        return cls(name, codec.listed(values, SchemaError, "values"), optional)


class _Texts:
    """The position of each of a list of texts, found in the same time for all of them.

    Texts are padded to one length and one width of characters before they are hashed, because a longer text takes
    longer to hash. Only hashes are kept: padded texts could take a thousand times the memory of a plan. Python keys the
    hashes by a secret, so no plan can make them collide. If two collide by chance, another padding separates them.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._values, self._longest = values, max(map(len, values))
        self._places: dict[int, int] = {}
        while len(self._places) < len(values):
            self._longest += 1
            self._places = {hash(self.padded(value)): place for place, value in enumerate(values)}

    def padded(self, value: str) -> bytes:
        """Return a text in as many bytes as all others."""
        # No declared text holds either character, so that no two become equal. The first one is as wide as any: Python
        # would keep, pad and encode a text in as many bytes for each character as its widest one needs.
        return (value + "\U0010ffff").ljust(self._longest + 1, "\0").encode("utf-32-le", "surrogatepass")

    def __call__(self, value: str) -> int | None:
        place = self._places.get(hash(self.padded(value)))
        return place if place is not None and self._values[place] == value else None


class _Codes:
    """The position of each of a list of integers, found in equally many steps for all of them.

    A dictionary would hash an integer to itself, so a plan could make integers collide, and some would take a thousand
    steps.
    """

    def __init__(self, values: Sequence[int]) -> None:
        rest = (1 << len(values).bit_length()) - 1 - len(values)
        # Among 2^m - 1 integers a search halves the rest m times, wherever it ends.
        self._sorted = [*sorted(values), *[MAX_CODE + 1] * rest]
        self._places = sorted(range(len(values)), key=values.__getitem__)

    def __call__(self, value: int) -> int | None:
        at = bisect_right(self._sorted, value) - 1
        return self._places[at] if 0 <= at < len(self._places) and self._sorted[at] == value else None


Attribute = Numeric | Categorical
KINDS: dict[str, type[Numeric] | type[Categorical]] = {"numeric": Numeric, "categorical": Categorical}


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in order."""

    attributes: tuple[Attribute, ...]
    _encoders: dict[str, Callable[[object], Input]] = field(init=False, repr=False, compare=False)
    _named: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        if isinstance(attributes, Attribute):
            raise SchemaError("a schema is a list of attributes: hush.Schema([...])")
        listed = tuple(attributes)
        if not 1 <= len(listed) <= MAX_ATTRIBUTES:
            raise SchemaError(f"a schema has 1 to {MAX_ATTRIBUTES} attributes")
        if not all(isinstance(attribute, Attribute) for attribute in listed):
            raise SchemaError("a schema is a list of Numeric and Categorical attributes")
        seen: set[str] = set()
        for attribute in listed:
            if attribute.name in seen:
                raise SchemaError(f"attribute {attribute.name!r}: declared more than once")
            seen.add(attribute.name)
        object.__setattr__(self, "attributes", listed)
        object.__setattr__(self, "_encoders", {item.name: item.encode for item in listed})
        object.__setattr__(self, "_named", {item.name: item for item in listed})

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
        these attributes need a value: the input of any other that is left out is None, and must not be looked at.
        """
        values = self.read(record)
        if not values.keys() <= self._encoders.keys():
            # The message does not quote the name: in a record with names and values swapped it would be a value.
            raise RecordError(f"the record has an attribute that is not in the schema; there are: {self._listed()}")
        value = values.get
        if asked is None:
            return [encode(value(name)) for name, encode in self._encoders.items()]
        wanted = values.keys() | asked
        return [encode(value(name)) if name in wanted else None for name, encode in self._encoders.items()]

    def read(self, record: Record) -> Mapping[str, Any]:
        """Return a record as a mapping. Code that encodes a record twice needs it: an iterator can be read once."""
        return record if isinstance(record, Mapping) else self._paired(record)

    def _paired(self, record: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        try:
            pairs = [(name, value) for name, value in record]
        except (TypeError, ValueError):
            pairs = [("", None)]
        for name, value in pairs:
            if not isinstance(name, str) or not name:
                raise RecordError("a record must be a mapping, or pairs of name and value")
            if name in values:
                known = f"attribute {name!r}: is" if name in self._encoders else "an attribute is"
                raise RecordError(f"{known} given more than once")
            values[name] = value
        return values

    def _listed(self) -> str:
        return ", ".join(map(repr, self.names[:_SHOWN])) + (", ..." if len(self.names) > _SHOWN else "")

    def to_json(self) -> list[dict[str, Any]]:
        """Return the schema as JSON values."""
        return [attribute.to_json() for attribute in self.attributes]

    @classmethod
    def from_json(cls, value: Any) -> Schema:
        """Read a schema back, strictly."""
        attributes: list[Attribute] = []
        for item in codec.listed(value, SchemaError, "the schema"):
            kind = item.get("kind") if isinstance(item, dict) else None
            if type(kind) is not str or kind not in KINDS:
                raise SchemaError(f"the kind of an attribute must be one of: {', '.join(KINDS)}")
            attributes.append(KINDS[kind].from_json(item))
        return cls(attributes)
