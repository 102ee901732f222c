"""Reads the input of the command line: schemas as people write them, plans, tallies, guesses and values."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hush.cli.numbers import RULE
from hush.cli.schemas import friendly
from hush.core import codec
from hush.core.calendar import Counted
from hush.core.lists import Listed, listed_in
from hush.core.plan import Plan
from hush.core.schema import MISSING, NOT_JSON, Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.errors import DesignError, InputError, PlanError, RecordError, SchemaError, TallyError
from hush.files import paths
from hush.planning.assumed import Guess
from hush.server.tally import Tally

T = TypeVar("T")


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
        # A label is a text for people: the values of a boolean are False and True, which may be typed, too.
        known: dict[str, object] = {str(value): value for value in field.values}
        known |= {str(label): value for value, label in zip(field.values, field.labels, strict=False)}
        return known.get(text, text)
    if isinstance(field, Counted | Text):
        return text
    try:
        return float(text)
    except ValueError:
        rule = f"must be a number, or {MISSING}" if field.optional else "must be a number"
        raise RecordError(f"attribute {field.name!r}: {rule}; {RULE}") from None
