"""Schemas as people write them: read with errors that name the attribute and the rule, and written without what goes
without saying.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hush.core import codec
from hush.core.calendar import Counted, Date, Time
from hush.core.kinds import Boolean, Integer
from hush.core.lists import Listed
from hush.core.schema import Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.errors import InputError, SchemaError

MARK = "TO BE DECIDED"  # as in `hush.batch.outlines`, which needs more libraries; a test compares

Fields = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of attribute, and the fields that it needs and may have besides its name."""

    make: Callable[..., Attribute]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    def rule(self) -> str:
        """Return which fields it has, in words."""
        needs = f"needs {' and '.join(self.needs)}, and may have" if self.needs else "may have"
        return f"{needs} {', '.join(self.may)}"


KINDS: Mapping[str, Kind] = {
    Numeric.kind: Kind(Numeric, ("low", "high"), ("out_of_range", "optional", "scale", "unit")),
    Categorical.kind: Kind(Categorical, ("values",), ("optional", "other")),
    Choices.kind: Kind(Choices, ("values",), ("most", "optional")),
    Boolean.kind: Kind(Boolean, (), ("optional",)),
    Integer.kind: Kind(Integer, ("low", "high"), ("out_of_range", "optional")),
    Date.kind: Kind(Date, ("low", "high"), ("out_of_range", "optional")),
    Time.kind: Kind(Time, (), ("low", "high", "step", "out_of_range", "optional")),
    Text.kind: Kind(Text, (), ("length", "alphabet", "case", "code", "bits", "optional")),
}
"""The kinds of a schema file."""

_number = (int, float), "a number, without quotes and without separators between thousands, such as 1000000 or 0.5"
_whole = (int,), "a whole number, without quotes and without separators between thousands"
_text = (str,), "a text in quotes"
_flag = (bool,), "true or false"
_list = (list,), "a list in square brackets"
TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "low": _number,
    "high": _number,
    "unit": _number,
    "most": _whole,
    "step": _whole,
    "length": _whole,
    "bits": _whole,
    "out_of_range": _text,
    "scale": _text,
    "alphabet": _text,
    "case": _text,
    "optional": _flag,
    "other": _flag,
    "values": _list,
    "code": _list,
}
"""What the value of a field is in JSON. Those of dates and times have texts as bounds."""

NULL = ("alphabet", "unit")
"""Fields that may be null, as in a plan."""


def friendly(value: Any, path: str = "-") -> Schema:
    """Return the schema that somebody wrote. Attributes with values are categorical, with low and high numeric.

    Other kinds are named, as in {"name": "smokes", "kind": "boolean"}.

    {"name": "page", "list": "pages.txt"} names a file with one value on each line, beside that of the schema.

    A `note` beside the attributes is for people, and is not read.
    """
    if isinstance(value, dict):
        if type(value.get("note")) is str:
            value = {name: item for name, item in value.items() if name != "note"}
        (value,) = codec.fields(value, ["attributes"], SchemaError, "a schema (or it is an array of attributes)")
    items = codec.listed(value, SchemaError, "the attributes")
    return Schema([_attribute(item, place, path) for place, item in enumerate(items, 1)])


def _attribute(item: Any, place: int, path: str) -> Attribute:
    if not isinstance(item, dict):
        raise SchemaError(f'attribute {place}: must be an object, such as {{"name": "age", "low": 0, "high": 120}}')
    fields = dict(item)
    name = fields.pop("name", None)
    if type(name) is not str:
        raise SchemaError(f'attribute {place}: needs a name, a text in quotes, such as "name": "age"')
    where = f"attribute {name!r}"
    _check_decided(where, fields)
    kind = _kind(where, fields)
    if "list" in fields and KINDS[kind].needs == ("values",):
        fields["values"] = _listed(where, fields, path)
    _check_fields(where, kind, fields)
    try:
        return KINDS[kind].make(name, **fields)
    except InputError as error:
        text = str(error)
        raise SchemaError(text if where in text else f"{where}: {text}") from None


def _kind(where: str, fields: Fields) -> str:
    """Take the kind of an attribute out of its fields, or tell it from the others."""
    named = fields.pop("kind", None)
    if type(named) is str and named in KINDS:
        return named
    if named is not None:
        raise SchemaError(f"{where}: kind must be one of: {', '.join(KINDS)}")
    if "values" in fields or "list" in fields:
        return Choices.kind if "most" in fields else Categorical.kind
    if "low" in fields or "high" in fields:
        return Numeric.kind
    raise SchemaError(
        f"{where}: needs low and high, if it is a number; values, if it is a category; or a kind, one of: "
        f"{', '.join(KINDS)}"
    )


def _listed(where: str, fields: Fields, path: str) -> Listed:
    """Read the file of a long list, which lies beside the schema."""
    file = fields.pop("list")
    if "values" in fields:
        raise SchemaError(f"{where}: give either values or list")
    if type(file) is not str:
        raise SchemaError(f"{where}: list must be the name of a file, with one value on each line")
    try:
        return Listed(Path(file) if path == "-" else Path(path).parent / file)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


def _check_fields(where: str, kind: str, fields: Fields) -> None:
    """Refuse fields that are missing, of no use, or of the wrong sort."""
    known = KINDS[kind]
    article = "an" if kind[0] in "aeiou" else "a"
    rule = f"{article} {kind} attribute {known.rule()}"
    for name in fields:
        if name not in (*known.needs, *known.may):
            raise SchemaError(f"{where}: there is no field {name!r}: {rule}")
    for name in known.needs:
        if name not in fields:
            raise SchemaError(f"{where}: {name} is missing: {rule}")
    for name, value in list(fields.items()):
        if isinstance(value, Listed) or (value is None and name in NULL):
            continue
        if name == "values" and isinstance(value, dict):  # a long list, as a plan names it
            try:
                fields[name] = Listed.from_json(value)
            except SchemaError as error:
                raise SchemaError(f"{where}: values must be a list in square brackets; {error}") from None
            continue
        types, words = TYPES[name]
        if name in ("low", "high") and kind in (Date.kind, Time.kind):
            types, words = (str,), "a text in quotes, such as " + ('"2020-12-31"' if kind == Date.kind else '"07:30"')
        if type(value) not in types:
            raise SchemaError(f"{where}: {name} must be {words}")


def _check_decided(where: str, fields: Fields) -> None:
    """Refuse the marks that `hush schema` leaves: somebody has to decide what is public."""
    for key, value in fields.items():
        listed = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and text.startswith(MARK) for text in listed):
            rule = "write a public number (or date) in its place"
            if isinstance(value, list):
                rule = "list public categories, and strike the entry with this mark"
            raise SchemaError(f"{where}: {key} is still {MARK}: {rule}. Nothing here may be copied from private data")


def written(schema: Schema) -> str:
    """Return a schema as people write it, a line for each attribute."""
    lines = ",\n".join(f"    {json.dumps(_short(item), ensure_ascii=False)}" for item in schema.attributes)
    return f'{{\n  "attributes": [\n{lines}\n  ]\n}}\n'


def _short(item: Attribute) -> dict[str, Any]:
    """Return an attribute without its defaults."""
    usual: dict[str, Any] = {
        "out_of_range": "error",
        "scale": "linear",
        "unit": None,
        "optional": False,
        "kind": type(item).kind if type(item) in (Numeric, Categorical) else None,
    }
    value = {name: held for name, held in item.to_json().items() if usual.get(name, ...) != held}
    if isinstance(item, Text):
        return _short_text(item, value)
    if isinstance(item, Choices) and item.most == len(item.values):
        del value["most"]
    if isinstance(item, Categorical) and isinstance(item.values, Listed):
        value = {"name": item.name, "list": item.values.name} | {
            key: value[key] for key in ("optional", "other") if key in value
        }
    if isinstance(item, Time):
        value |= {end: value[end][:5] for end in ("low", "high") if value[end].endswith(":00")}
        if item == Time(item.name, step=item.step, out_of_range=item.out_of_range, optional=item.optional):
            value = {name: held for name, held in value.items() if name not in ("low", "high")}
        return {name: held for name, held in value.items() if (name, held) != ("step", 60)}
    if isinstance(item, Numeric) and not isinstance(item, Counted):
        value |= {end: int(value[end]) for end in ("low", "high", "unit") if end in value and value[end].is_integer()}
    return value


def _short_text(item: Text, value: dict[str, Any]) -> dict[str, Any]:
    """Return a text without what follows from the rest: its code above all, which is long."""
    rest: dict[str, Any] = {"length": item.length, "case": item.case, "optional": item.optional}
    lefts: tuple[dict[str, Any], ...] = (
        {"alphabet": "english"},
        {"alphabet": item.alphabet},
        {"alphabet": "english", "bits": item.bits},
        {"alphabet": item.alphabet, "bits": item.bits},
    )
    for left in lefts:
        try:
            same = Text(item.name, **rest, **left) == item
        except SchemaError:  # capitals are no letters of "english"
            continue
        if same:
            value = {"kind": Text.kind, "name": item.name, "length": item.length, **left}
            value |= {"case": item.case} if item.case != "lower" else {}
            return {key: held for key, held in value.items() if held is not None} | (
                {"optional": True} if item.optional else {}
            )
    return value
