"""A first schema for a table: the kind of every column, and bounds and categories that somebody must still decide.

Bounds and categories must be public: people learn them before they answer. Those of a table are not. Its largest income
belongs to one person, and a rare category may name one. So an outline suggests round numbers and frequent categories,
and marks each of them. `hush plan` refuses a schema with such a mark: somebody who knows the subject, and not the
table, must write the number or strike the mark.

A table is read in pieces, so files may be of any size.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.batch.arrow import NO_TABLE, collected
from hush.batch.csv_files import BOOLEAN as TRUTHS
from hush.batch.csv_files import CSV, INTEGER, NUMBER, CsvSource
from hush.batch.dated import counted
from hush.batch.sources import ArrowSource, ParquetSource, Stored, together
from hush.core.calendar import Date, Time
from hush.core.kinds import Boolean, Integer
from hush.core.schema import MAX_CATEGORIES, MAX_CATEGORY, MAX_CODE, MISSING, Attribute, Categorical, Numeric, Schema
from hush.errors import RecordError, SchemaError
from hush.files.paths import ARROW, PARQUET, Paths, ends, find
from hush.show.tables import Shown, Table

MARK = "TO BE DECIDED"
"""The beginning of every text of an outline that somebody must replace or strike."""
NOTE = (
    "Bounds and categories that were read from data are not private: the largest number belongs to one person. "
    f"Replace everything that says {MARK} by what you would know without these data."
)
MOST = 50  # categories that are listed
FEW = 10  # different integers at most that look like codes
RARE = 10  # people: a category of fewer is not listed
SMALLEST, LARGEST = 1e-280, 1e300  # of numbers: bounds around others would be no bounds of a schema
BOOLEAN = Boolean.kind
EVER, CLOCK = Date("date", date.min, date.max), Time("time")
MOMENTS = "it has moments: split them into a date and a time of day first"
_ROWS = 1 << 16
_DISTINCT = 1 << 12  # different values that are counted


@dataclass(frozen=True)
class Column:
    """A column of a table: its kind, whether values are missing, and suggestions. `reason`: why it is left out.

    kind: "boolean", "number", "integer", "date", "time", "text" or "codes" (few different integers). `low`, `high`:
    round numbers around the values, and whole years around dates. `values`: the most frequent categories; `distinct`:
    how many there are, or None if they were not counted; `known`: all of them.
    """

    name: str
    kind: str = ""
    optional: bool = False
    low: float = 0.0
    high: float = 1.0
    values: tuple[str, ...] | tuple[int, ...] = ()
    distinct: int | None = None
    reason: str = ""
    known: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def number(self) -> bool:
        """Whether it is a number with bounds."""
        return self.kind in ("number", "integer", Date.kind)

    def _written(self, bound: float) -> str:
        """Return a bound as people write it."""
        return _short(bound) if self.kind != Date.kind else EVER.named(bound)

    @property
    def _unlisted(self) -> int:
        """How many categories are not listed."""
        return max((self.distinct or 0) - len(self.values), 0)

    @property
    def suggestion(self) -> str:
        """The suggestion, in a few words."""
        if self.reason:
            return f"left out: {self.reason}"
        if self.number:
            return f"perhaps {self._written(self.low)} to {self._written(self.high)}"
        if self.kind == BOOLEAN:
            return "yes or no"
        if self.kind == Time.kind:
            return "any time of the day, in minutes"
        if not self.values:
            many = "many" if self.distinct is None else f"{self.distinct:,}"
            return f"{many} different ones: name the categories, ask for a text, or strike it"
        more = f", and {self._unlisted:,} more" if self._unlisted else ""
        doubt = "; if they are quantities, give low and high" if self.kind == "codes" else ""
        return f"{len(self.values)} categories{more}{doubt}"

    def entry(self) -> dict[str, Any]:
        """Return it as an attribute of the file, with marks."""
        optional = {"optional": True} if self.optional else {}
        if self.number:
            low, high = (f"{MARK}: perhaps {self._written(bound)}" for bound in (self.low, self.high))
            kind = {"kind": self.kind} if self.kind in (Integer.kind, Date.kind) else {}
            return {"name": self.name, **kind, "low": low, "high": high, **optional}
        if self.kind in (BOOLEAN, Time.kind):
            return {"name": self.name, "kind": self.kind, **optional}
        if not self.values:
            return {"name": self.name, "values": [f"{MARK}: {self.suggestion}"], **optional}
        extra = self._unlisted
        task = f"{MARK}: strike this entry if the list is complete, and public"
        if extra:
            rare = "a rarer value is" if extra == 1 else f"{extra:,} rarer values are"
            task = f"{MARK}: {rare} not listed; list what is public, and strike this entry"
        return {"name": self.name, "values": [task, *self.values], **optional}

    def attribute(self) -> Attribute:
        """Return it as an attribute that accepts all values of the table. It is not private."""
        if self.number:
            if self.kind == Integer.kind:
                return Integer(self.name, int(self.low), int(self.high), optional=self.optional)
            if self.kind == Date.kind:
                return Date(self.name, EVER.value(self.low), EVER.value(self.high), optional=self.optional)
            return Numeric(self.name, self.low, self.high, optional=self.optional)
        if self.kind == BOOLEAN:
            return Boolean(self.name, self.optional)
        if self.kind == Time.kind:
            return Time(self.name, optional=self.optional)
        return Categorical(self.name, self.known, self.optional)

    @property
    def usable(self) -> bool:
        """Whether `attribute` can make an attribute of it: not of a text that differs for nearly every person."""
        return (
            self.number
            or self.kind in (BOOLEAN, Time.kind)
            or (bool(self.values) and len(self.known) >= 2 - self.optional)
        )


@dataclass(frozen=True)
class Outline(Shown):
    """The columns of a table, as a first schema."""

    columns: tuple[Column, ...]
    rows: int

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that became attributes."""
        return tuple(column for column in self.columns if not column.reason)

    def to_json(self) -> str:
        """Return the file that somebody edits: a schema with marks, which `hush plan` refuses until they are gone."""
        lines = (json.dumps(column.entry(), ensure_ascii=False) for column in self.used)
        body = ",\n".join(f"    {line}" for line in lines)
        return f'{{\n  "note": {json.dumps(NOTE)},\n  "attributes": [\n{body}\n  ]\n}}\n'

    def schema(self) -> Schema:
        """Return a schema that fits this table, for simulations on it (`hush.compare`). It is not private.

        It leaves out texts with too many different values, and categories that are the same for everybody.
        """
        found = [column.attribute() for column in self.used if column.usable]
        if not found:
            raise RecordError("no column of this table has numbers, or categories that people share")
        return Schema(found)

    def table(self) -> Table:
        """Return a row for each column."""
        shown = [
            (column.name, column.kind or "none", "some" if column.optional else "none", column.suggestion)
            for column in self.columns
        ]
        return Table(("column", "kind", "missing", "suggestion"), shown, texts=4)


def outline(data: Any, *, most: int = MOST) -> Outline:
    """Return a first schema for a table, or for files of people: names, folders and patterns of Parquet, Arrow or CSV.

    `most`: how many categories are listed at most. A category of fewer than ten people is not listed.

    The result was read from data, so it is not private: see `Outline.to_json`.
    """
    if type(most) is not int or most < 1:
        raise SchemaError("most must be a whole number, 1 or more")
    names, texts, batches = _opened(data)
    looks = {name: _Look(texts) for name in names}
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for name, column in zip(names, batch.columns, strict=True):
            looks[name].add(column)
    if not rows:
        raise RecordError("there are no people in this table")
    found = Outline(tuple(look.column(name, most) for name, look in looks.items()), rows)
    if not found.used:
        raise RecordError("no column of this table can be an attribute: numbers, integers and texts can")
    return found


def _opened(data: Any) -> tuple[list[str], bool, Iterator[pa.RecordBatch]]:
    """Return the names of the columns, whether all of them are texts, and the rows."""
    if isinstance(data, str) or hasattr(data, "__fspath__") or (isinstance(data, list | tuple) and data):
        return _files(data)
    data = collected(data)
    table: pa.Table | None
    if isinstance(data, pa.Table | pa.RecordBatch):
        table = pa.table(data)
    elif type(data).__module__.partition(".")[0] == "pandas":
        _once(data.columns)
        table = pa.table({str(name): _array(str(name), values) for name, values in data.items()})
    elif isinstance(data, dict):
        table = pa.table({name: _array(name, values) for name, values in data.items()})
    else:
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError):
            table = None
    if table is None:
        raise RecordError(NO_TABLE)
    _once(table.schema.names)
    return list(table.schema.names), False, iter(table.to_batches())


def _array(name: str, values: Any) -> pa.Array | pa.ChunkedArray:
    """Return a column. An error of Arrow would quote a value of a person, so it is replaced."""
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        return values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
    raise RecordError(f"column {name!r}: is not a list or array of values of one type")


def _once(names: Iterable[Any]) -> None:
    """Refuse two columns of one name: they would become one attribute, of the values of both."""
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            raise RecordError(f"column {name!r}: is there {count} times")


def _files(paths: Paths) -> tuple[list[str], bool, Iterator[pa.RecordBatch]]:
    found = find(paths, (*PARQUET, *ARROW, *CSV))
    texts = [ends(path, CSV) for path in found]
    if any(texts) and not all(texts):
        raise RecordError("outline files of one kind at a time: a CSV file has texts alone, and others have types")
    sources: list[Stored] = []
    names: list[str] = []
    for path, text in zip(found, texts, strict=True):
        if text:
            names = names or CsvSource(path, _texts(["-"])).columns.names
            sources.append(CsvSource(path, _texts(names)))
        elif ends(path, PARQUET):
            sources.append(ParquetSource(path, RecordError))
        elif ends(path, ARROW):
            sources.append(ArrowSource(path, RecordError))
        else:
            raise RecordError(f"{path}: a file of people ends in one of: {', '.join((*PARQUET, *ARROW, *CSV))}")
        names = names or list(sources[0].columns.names)
    together(sources, names)
    return names, all(texts), (batch for source in sources for batch in source.batches(names, _ROWS))


def _texts(names: Iterable[str]) -> Schema:
    """Return a schema by which a CSV file is read as texts; the categories do not matter for that."""
    return Schema([Categorical(name, ["a", "b"]) for name in names])


class _Look:
    """Facts about a column, collected from some of its rows."""

    def __init__(self, texts: bool) -> None:
        self._from_text = texts
        self._missing = False
        self._rule = ""
        self._kinds: set[str] = set()
        self._low, self._high = math.inf, -math.inf
        self._counts: Counter[Any] = Counter()
        self._uncounted = False

    def add(self, column: pa.Array) -> None:
        """Look at some rows."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        self._missing = self._missing or column.null_count > 0
        column = column.drop_null()
        self._rule = self._rule or _unusable(column.type)
        if self._rule or not len(column):
            return
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())  # Arrow computes little with halves
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string()).cast(pa.float64())
        if pa.types.is_boolean(column.type):
            self._kinds.add(BOOLEAN)
            return
        if pa.types.is_temporal(column.type):
            self._add_dated(column)
            return
        if self._from_text or _is_text(column.type):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:  # its text would quote a value
                self._rule = "it has texts that are not UTF-8"
            else:
                self._add_texts(column.cast(pa.large_string()))
            return
        if pa.types.is_floating(column.type):
            if not pc.all(pc.is_finite(column)).as_py():
                self._rule = "it has NaN or infinite numbers: make them missing first"
                return
            if _is_whole(column):  # pandas has such columns where integers are missing
                column = column.cast(pa.int64())
        self._kinds.add("integer" if pa.types.is_integer(column.type) else "number")
        self._bound(map(float, pc.min_max(column).as_py().values()))
        if pa.types.is_integer(column.type):
            self._count(column)

    def _add_dated(self, column: pa.Array) -> None:
        if pa.types.is_time(column.type):
            self._kinds.add(Time.kind)
            return
        days = counted(EVER, column)
        if days is None or np.isnan(days).any():
            self._rule = MOMENTS
            return
        self._kinds.add(Date.kind)
        self._bound((float(days.min()), float(days.max())))

    def _add_texts(self, column: pa.Array) -> None:
        self._count(column)
        if "text" in self._kinds or not self._from_text:
            self._kinds.add("text")
            return
        texts = pc.unique(column).to_pylist()
        self._kinds |= {_kind_of(text) for text in texts}
        if self._kinds == {BOOLEAN}:
            return
        if self._kinds == {Time.kind}:
            return
        if self._kinds == {Date.kind}:
            self._bound(map(EVER.number, texts))
            return
        if self._kinds & {BOOLEAN, Date.kind, Time.kind}:  # with others beside them they are words
            self._kinds.add("text")
        if "text" not in self._kinds:
            self._bound(map(float, texts))

    def _bound(self, values: Iterable[float]) -> None:
        for value in values:
            self._low, self._high = min(self._low, value), max(self._high, value)

    def _count(self, column: pa.Array) -> None:
        if self._uncounted:
            return
        for pair in pc.value_counts(column).to_pylist():
            self._counts[pair["values"]] += pair["counts"]
        if len(self._counts) > _DISTINCT:
            self._uncounted = True
            self._counts.clear()

    def column(self, name: str, most: int) -> Column:
        """Return the column, now that all rows were seen."""
        if self._rule:
            return Column(name, reason=self._rule)
        if not self._kinds:
            return Column(name, optional=True, reason="it has no values")
        if self._kinds == {BOOLEAN}:
            return Column(name, BOOLEAN, self._missing)
        if self._kinds == {Time.kind}:
            return Column(name, Time.kind, self._missing)
        if self._kinds == {Date.kind}:
            first, last = (EVER.value(day) for day in (self._low, self._high))
            low, high = (EVER.number(date(*day)) for day in ((first.year, 1, 1), (last.year, 12, 31)))
            return Column(name, Date.kind, self._missing, low, high)
        if "text" in self._kinds:
            return self._categories(name, "text", most)
        if "number" not in self._kinds and not self._uncounted and len(self._counts) <= FEW:
            counts, self._counts = self._counts, Counter()
            for value, count in counts.items():
                self._counts[int(float(value))] += count  # 1 and 01 are one code
            return self._categories(name, "codes", most)
        if max(-self._low, self._high) > LARGEST:
            return Column(name, reason="its numbers are too large")
        low, high = rounded(self._low, self._high)
        if "number" not in self._kinds and max(-low, high) < MAX_CODE:
            return Column(name, Integer.kind, self._missing, float(math.floor(low)), float(math.ceil(high)))
        return Column(name, "number", self._missing, low, high)

    def _categories(self, name: str, kind: str, most: int) -> Column:
        if self._uncounted:
            return Column(name, kind, self._missing)
        fit = {value: count for value, count in self._counts.items() if _is_category(value)}
        often = [value for value, count in Counter(fit).most_common(most) if count >= RARE]
        distinct = len(self._counts)
        if len(fit) > most and len(often) < most:
            often = []  # most people hold a value of their own, such as a name
        known = tuple(sorted(fit)) if len(fit) == distinct <= MAX_CATEGORIES else ()
        return Column(name, kind, self._missing, values=tuple(sorted(often)), distinct=distinct, known=known)


def rounded(low: float, high: float) -> tuple[float, float]:
    """Return round numbers around two others: 17 and 83 become 0 and 100."""
    if 0 <= low <= high / 2:
        return 0.0, _round(high) if high else 1.0
    # No smaller than the twelve digits that are written can hold.
    step = max(_round(high - low or abs(high)) / 5, _round(max(abs(low), abs(high)) / 1e10))
    below, above = (float(f"{bound * step:.12g}") for bound in (math.floor(low / step), math.ceil(high / step)))
    # The bounds must hold all values, also after these roundings; and a column of one value needs two bounds.
    return below - step * (below > low or below == above), above + step * (above < high)


def _round(size: float) -> float:
    """Return the next of 1, 2, 2.5, 5, 10, 20, ..., and nothing that is nearly zero."""
    size = max(size, SMALLEST)
    power = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{factor * power:.12g}") for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= size)


def _kind_of(text: str) -> str:
    if INTEGER.fullmatch(text):
        return "integer"
    if text.lower() in TRUTHS:
        return BOOLEAN
    if not math.isnan(EVER.number(text)):
        return Date.kind
    if not math.isnan(CLOCK.number(text)):
        return Time.kind
    return "number" if NUMBER.fullmatch(text) and math.isfinite(float(text)) else "text"


def _is_whole(column: pa.Array) -> bool:
    same = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), float(MAX_CODE)))
    return bool(pc.all(same).as_py())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_category(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= MAX_CATEGORY and value.isprintable() and value != MISSING
    return isinstance(value, int) and abs(value) <= MAX_CODE


def _unusable(kind: pa.DataType) -> str:
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return ""
    if pa.types.is_temporal(kind):
        return "it has durations: turn them into numbers first"
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    numbers = numbers or pa.types.is_boolean(kind)
    return "" if numbers or _is_text(kind) or pa.types.is_null(kind) else "it has neither numbers nor texts"


def _short(bound: float) -> str:
    return f"{bound:.12g}" if abs(bound) < 1e12 else f"{bound:g}"
