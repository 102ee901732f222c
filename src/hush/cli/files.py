"""Reads the input of the command line: schemas as people write them, plans, tallies, guesses and values."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hush.core import codec
from hush.core.calendar import Counted, Date, Time
from hush.core.kinds import Boolean, Integer
from hush.core.lists import Listed, listed_in
from hush.core.plan import Plan
from hush.core.schema import MISSING, NOT_JSON, Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.errors import DesignError, InputError, PlanError, RecordError, SchemaError, TallyError
from hush.files import paths
from hush.planning.assumed import Guess
from hush.server.tally import Tally

T = TypeVar("T")

MARK = "TO BE DECIDED"  # as in `hush.batch.outlines`, which needs more libraries; a test compares


def read(path: str) -> bytes:
    """Return the bytes of a file, or of the standard input for "-"."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def read_plan(path: str) -> Plan:
    """Read a plan, and check all of it."""
    found = _naming(path, _plan, PlanError)
    find_lists(found.schema, path)
    return found


def find_lists(schema: Schema, path: str) -> None:
    """Read the long lists of a plan that lie beside its file, under their names. Others must not be needed."""
    if is_elsewhere(path):
        return
    for listed in listed_in(schema.attributes):
        if listed.here:
            continue
        beside = Path(path).with_name(listed.name)
        if beside.is_file() and Listed(beside).sha256 != listed.sha256:
            raise SchemaError(
                f"{beside}: this is another list than the plan names: its SHA-256 must be {listed.sha256}"
            )


def read_plan_before(path: str, others: Sequence[str], usage: str) -> Plan:
    """Read the plan of a command that takes other files after it; the error names the order if it is among those."""
    try:
        return read_plan(path)
    except (InputError, OSError):
        if any(map(_is_plan, others)):
            raise PlanError(f"the plan comes first: {usage}") from None
        raise


def _plan(text: bytes) -> Plan:
    try:
        return Plan.from_json(text)
    except InputError:
        found = _kind(text)
        if found == "schema":
            remedy = "make a plan of it with `hush plan schema.json --epsilon 1 -o plan.json`"
            raise PlanError(f"this is a schema, not a plan: {remedy}") from None
        if found == "tally":
            raise PlanError("this is a tally, not a plan") from None
        raise


def _kind(text: bytes) -> str:
    try:
        return _kind_of(codec.load(text, PlanError, 2 * codec.MAX_TEXT))
    except InputError:
        return ""


def _kind_of(value: Any) -> str:
    """Guess what a wrong file is: schema, plan, tally or nothing known."""
    if isinstance(value, list):
        return "schema" if value and all(isinstance(item, dict) and "name" in item for item in value) else ""
    names = set(value) if isinstance(value, dict) else set()
    if names - {"note"} == {"attributes"}:
        return "schema"
    if {"schema", "questions"} <= names:
        return "plan"
    return "tally" if {"plan", "tally"} <= names else ""


def _is_plan(path: str) -> bool:
    if not path.lower().endswith(".json"):
        return False
    try:
        return _kind(Path(path).read_bytes()) == "plan"
    except OSError:
        return False


def read_schema(path: str) -> Schema:
    """Read a schema in the friendly form, or as it is in a plan."""
    return _naming(path, lambda text: friendly(codec.load(text, SchemaError, public=True), path), SchemaError)


def read_guesses(path: str, schema: Schema) -> dict[str, Any]:
    """Read guesses about attributes."""
    return _naming(path, lambda text: guesses(codec.load(text, DesignError), schema), DesignError)


def read_tally(path: str, plan: Plan | None = None) -> Tally:
    """Read a tally, and check all of it. With a plan, a tally of another one is refused."""
    found = _naming(path, lambda text: _tally(text, plan), TallyError)
    find_lists(found.plan.schema, path)
    return found


def _tally(text: bytes, plan: Plan | None) -> Tally:
    try:
        return Tally.from_json(text, plan)
    except InputError:
        if _kind(text) == "plan":
            raise TallyError("this is a plan, not a tally: `hush tally` makes one from reports") from None
        raise


def is_elsewhere(path: str) -> bool:
    """Say whether a path is the standard input, or of another machine."""
    return path == "-" or "://" in path


def expand(given: Sequence[str]) -> list[str]:
    """Return all files meant, so that every engine counts the same ones: see `paths.find`.

    Names on other machines are left as they are, and come first. In a folder only files of reports are meant.
    """
    away = [path for path in given if is_elsewhere(path)]
    for path in away:
        if away.count(path) > 1:
            raise FileExistsError(errno.EEXIST, "is given more than once", path)
    here = [path for path in given if not is_elsewhere(path)]
    return away + (list(map(str, paths.find(here, (*paths.PARQUET, *paths.ARROW)))) if here else [])


def _naming(path: str, parse: Callable[[bytes], T], error: type[InputError]) -> T:
    """Parse a file; an error says which file it is about."""
    text = read(path)
    try:
        return parse(text)
    except InputError as refused:
        raise error(f"{'standard input' if path == '-' else path}: {refused}") from None


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
    return Schema([_attribute(item, path) for item in codec.listed(value, SchemaError, "the attributes")])


def _attribute(item: Any, path: str) -> Attribute:
    if not isinstance(item, dict) or type(item.get("name")) is not str:
        raise SchemaError("an attribute must be an object with a name, and with low and high or with values")
    fields = dict(item)
    name = fields["name"]
    if type(fields.get("list")) is str and "values" not in fields:
        file = Path(fields.pop("list"))
        fields["values"] = Listed(file if path == "-" else Path(path).parent / file)
    _check_decided(name, fields)
    several = "most" in fields or fields.get("kind") == Choices.kind
    kind = Choices if several else Categorical if "values" in fields else Numeric
    named = fields.pop("kind", kind.kind)
    if type(named) is str and named in NAMED:
        return _named(name, fields, named)
    if named != kind.kind:
        raise SchemaError(
            f"attribute {name!r}: a numeric one has low and high, a categorical one has values, and one of several "
            f"choices has values and most (or kind {Choices.kind!r}); other kinds are: {', '.join(NAMED)}"
        )
    needed, allowed = {
        Numeric: ({"low", "high"}, {"out_of_range", "scale", "unit"}),
        Categorical: ({"values"}, {"other"}),
        Choices: ({"values"}, {"most"}),
    }[kind]
    given = set(fields) - {"name", "optional"}
    if not needed <= given <= needed | allowed:
        raise SchemaError(
            f"attribute {name!r}: needs low and high (and may have out_of_range, optional, scale and unit), "
            "or values (and may have optional, other and most)"
        )
    return kind(**fields)


NAMED: dict[str, tuple[Callable[..., Attribute], set[str], set[str]]] = {
    Boolean.kind: (Boolean, set(), {"optional"}),
    Integer.kind: (Integer, {"low", "high"}, {"out_of_range", "optional"}),
    Date.kind: (Date, {"low", "high"}, {"out_of_range", "optional"}),
    Time.kind: (Time, set(), {"low", "high", "step", "out_of_range", "optional"}),
    Text.kind: (Text, set(), {"length", "alphabet", "case", "code", "bits", "optional"}),
}
"""The kinds that a schema names, and the fields that they need and may have."""


def _named(name: str, fields: dict[str, Any], kind: str) -> Attribute:
    make, needed, allowed = NAMED[kind]
    if not needed <= fields.keys() - {"name"} <= needed | allowed:
        needs = f"needs {' and '.join(sorted(needed, reverse=True))}, and " if needed else ""
        article = "an" if kind[0] in "aeiou" else "a"
        raise SchemaError(f"attribute {name!r}: {article} {kind} one {needs}may have {', '.join(sorted(allowed))}")
    return make(**fields)


def _check_decided(name: str, fields: dict[str, Any]) -> None:
    """Refuse the marks that `hush schema` leaves: somebody has to decide what is public."""
    for key, value in fields.items():
        listed = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and text.startswith(MARK) for text in listed):
            rule = "write a public number (or date) in its place"
            if isinstance(value, list):
                rule = "list public categories, and strike the entry with this mark"
            raise SchemaError(
                f"attribute {name!r}: {key} is still {MARK}: {rule}. Nothing here may be copied from private data"
            )


def guesses(value: Any, schema: Schema) -> dict[Any, Any]:
    """Return guesses: {"age": {"mean": 40, "spread": 15}, "os": {"linux": 0.2}, "age,hours": {"association": 0.3}}."""
    if not isinstance(value, dict):
        raise DesignError("guesses must be an object: a name of an attribute, and the guess about it")
    found: dict[Any, Any] = {}
    for name, guess in value.items():
        if isinstance(guess, dict) and set(guess) == {"association"} and name not in schema.names:
            found[_two(name, schema)] = guess["association"]
            continue
        field = schema[name]
        if isinstance(field, Counted) and isinstance(guess, dict) and "mean" in guess:
            guess = guess | {"mean": field.cut(guess["mean"])}
        if not isinstance(guess, dict) or not all(type(number) in (int, float) for number in guess.values()):
            raise DesignError(f"attribute {name!r}: a guess must be an object of numbers")
        if isinstance(field, Text):
            raise DesignError(f"attribute {name!r}: nothing can be guessed of a text")
        if not isinstance(field, Numeric):
            labels: dict[str, Any] = {str(label): label for label in field.labels}
            if not set(guess) <= set(labels):
                raise DesignError(f"attribute {name!r}: a guess gives the shares of some of its categories")
            found[name] = {labels[key]: share for key, share in guess.items()}
        elif not guess or not set(guess) <= {"mean", "spread", "missing"}:
            raise DesignError(f"attribute {name!r}: a guess has a mean, a spread or missing")
        else:
            found[name] = Guess(**guess)
    return found


def _two(text: str, schema: Schema) -> tuple[str, ...]:
    """Return the two names that a comma divides. Names may have commas themselves."""
    parts = text.split(",")
    for place in range(1, len(parts)):
        pair = ",".join(parts[:place]), ",".join(parts[place:])
        names = tuple(one if one in schema.names else one.strip() for one in pair)
        if set(names) <= set(schema.names):
            return names
    return tuple(part.strip() for part in parts)


def value_of(field: Attribute, text: str) -> object:
    """Read a value from the command line, where "(missing)" is a missing one."""
    if text == MISSING:
        return None
    if isinstance(field, Choices):
        if (listed := field.split(text)) is None:
            raise RecordError(f"attribute {field.name!r}: {NOT_JSON}")
        return listed
    if isinstance(field, Categorical):
        # A label is a text for people: the values of a boolean are False and True.
        return next(
            (value for value, label in zip(field.values, field.labels, strict=False) if str(label) == text), text
        )
    if isinstance(field, Counted):
        return text
    try:
        return float(text)
    except ValueError:
        rule = f"must be a number, or {MISSING}" if field.optional else "must be a number"
        raise RecordError(f"attribute {field.name!r}: {rule}") from None
