"""People of a real census: the user's own extract of IPUMS International, which may not be passed on.

A folder has the extract (`.dat`, `.dat.gz`, `.csv` or `.csv.gz`), its codebook (the DDI file, `.xml`) and
`columns.json`, which says what is used of it; `experiments/columns.example.json` is one for Brazil and Mexico,
`docs/data.md` explains it. A code that stands for no value is never taken for a number: `columns.json` must say whether
its people are dropped, and they are counted, or what to count it as; for categories it is a category like others unless
it is dropped. Bounds and categories come from `columns.json` or the codebook, never from the data. Files are read in
blocks, and a message never has a person's value.

    python -m experiments.ipums FOLDER    says what is read and what is dropped
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush
from experiments import ddi, fields
from experiments.census import Array, Bounds, People
from experiments.ddi import Codebook, ExtractError, Variable
from experiments.fields import BLANK

COLUMNS = "columns.json"


@dataclass(frozen=True)
class Column:
    """What is used of a variable. Codes are as the codebook writes them, without a decimal point; BLANK is one."""

    variable: Variable
    drop: tuple[int, ...] = ()  # codes whose people are left out

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name


@dataclass(frozen=True)
class Number(Column):
    """A number within public bounds. `fill` has the values that codes count as; `clamp` moves others to a bound."""

    bounds: Bounds = (0.0, 1.0)
    fill: tuple[tuple[int, float], ...] = ()
    clamp: bool = False

    def __post_init__(self) -> None:
        said = {*self.drop, *(code for code, _ in self.fill)}
        if silent := {code: label for code, label in self.variable.no_value.items() if code not in said}:
            these = ", ".join(f"{code} ({label})" for code, label in silent.items())
            raise ExtractError(f"{self.name}: say under drop or fill what becomes of {these}")

    def read(self, raw: Array) -> tuple[Array, int]:
        """Return the numbers of people who are kept, and how many of them were moved to a bound."""
        values = raw / 10.0**self.variable.decimals
        filled = np.zeros(len(raw), bool)
        for code, value in self.fill:
            filled |= raw == code
            values[raw == code] = value
        if blank := int(np.count_nonzero((raw == BLANK) & ~filled)):
            raise ExtractError(f'{self.name}: empty for {blank:,} people of a block; put "" under drop or fill')
        low, high = self.bounds
        outside = int(np.count_nonzero((values < low) | (values > high)))
        if outside and not self.clamp:
            raise ExtractError(
                f"{self.name}: outside of its bounds {low:g} to {high:g} for {outside:,} people of a block; are there "
                "codes to drop, are decimals missing, or should it be clamped?"
            )
        return np.clip(values, low, high), outside

    def attribute(self) -> hush.Numeric:
        """Return the attribute of a schema."""
        return hush.Numeric(self.name, *self.bounds)


@dataclass(frozen=True)
class Category(Column):
    """Codes, in increasing order. With `other`, which is one of them, all else counts as that."""

    codes: tuple[int, ...] = ()
    other: int | None = None

    def read(self, raw: Array) -> tuple[Array, int]:
        """Return the codes of people who are kept, as small integers."""
        codes = np.array(self.codes)
        found = codes[np.minimum(np.searchsorted(codes, raw), len(codes) - 1)]
        unknown = found != raw
        if unknown.any():
            if self.other is None:
                raise ExtractError(
                    f"{self.name}: empty, or not one of its {len(codes)} codes, for {np.count_nonzero(unknown):,} "
                    "people of a block; see drop, codes and other"
                )
            found[unknown] = self.other
        small = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if np.all(codes == codes.astype(kind)))
        return found.astype(small), 0

    def attribute(self) -> hush.Categorical:
        """Return the attribute of a schema."""
        return hush.Categorical(self.name, list(self.codes))


@dataclass(frozen=True)
class Choice:
    """What `columns.json` says of one census."""

    file: Path
    width: int
    numbers: list[Number]
    categories: list[Category]
    target: Number
    clip: float

    @property
    def columns(self) -> list[Number | Category]:
        """All variables that are read."""
        return [*self.numbers, *self.categories, self.target]


@dataclass(frozen=True)
class Extract:
    """People, and what it took: people in the file, those dropped and those clamped, by variable."""

    people: People
    rows: int
    dropped: dict[str, int]
    clamped: dict[str, int]

    def describe(self) -> str:
        """Return it in words."""
        parts = [f"{self.people.name}: {len(self.people):,} of {self.rows:,} people"]
        for what, counts in (("dropped", self.dropped), ("clamped", self.clamped)):
            if counts:
                parts.append(f"{what}: " + ", ".join(f"{count:,} by {name}" for name, count in counts.items()))
        return "; ".join(parts)


def load(folder: Path, name: str, seed: int = 2019) -> Extract:
    """Return the people of a census of `columns.json`, in random order."""
    choice = choose(folder, name)
    parts: dict[str, list[Array]] = {column.name: [] for column in choice.columns}
    dropped, clamped = (dict.fromkeys(parts, 0) for _ in range(2))
    rows = 0
    for raw in fields.blocks(choice.file, [column.variable for column in choice.columns], choice.width):
        kept = np.ones(len(raw[choice.target.name]), bool)
        rows += len(kept)
        for column in choice.columns:  # who is dropped counts once, for the first reason
            going = kept & np.isin(raw[column.name], column.drop)
            dropped[column.name] += int(np.count_nonzero(going))
            kept &= ~going
        for column in choice.columns:
            values, moved = column.read(raw[column.name][kept])
            parts[column.name].append(values)
            clamped[column.name] += moved
    if sum(dropped.values()) == rows:
        raise ExtractError(f"{choice.file.name}: nobody is left of {rows:,} people")
    order = np.random.default_rng(seed).permutation(rows - sum(dropped.values()))
    columns = {column: np.concatenate(parts.pop(column))[order] for column in list(parts)}
    income = columns.pop(choice.target.name)
    schema = hush.Schema([column.attribute() for column in choice.columns[:-1]])
    people = People(f"{name}, IPUMS", schema, columns, income, choice.target.bounds, choice.clip)
    return Extract(people, rows, *({k: v for k, v in counts.items() if v} for counts in (dropped, clamped)))


# -- columns.json


def listed(folder: Path) -> dict[str, Any]:
    """Return the censuses of `columns.json`, as they are written."""
    path = folder / COLUMNS
    try:
        return _object(json.loads(path.read_text(encoding="utf-8")), "")
    except FileNotFoundError:
        raise ExtractError(f"{COLUMNS}: not in the folder") from None
    except json.JSONDecodeError as error:
        raise ExtractError(f"{COLUMNS}: not JSON ({error})") from None


def choose(folder: Path, name: str) -> Choice:
    """Return what `columns.json` of a folder says of a census, checked against the codebook."""
    given = listed(folder)
    if name not in given:
        raise ExtractError(f"{COLUMNS}: has no {name}, but {', '.join(given)}")
    entry = _known(given[name], name, {"file", "codebook", "numeric", "categorical", "target"})
    for key in ("file", "numeric", "categorical", "target"):
        if key not in entry:
            raise ExtractError(f"{COLUMNS}, {name}: {key} is missing")
    file = folder / entry["file"]
    codebook = ddi.read(folder / entry["codebook"]) if "codebook" in entry else None
    numbers = [_number(key, value, codebook) for key, value in _object(entry["numeric"], name).items()]
    categories = [_category(key, value, codebook) for key, value in _object(entry["categorical"], name).items()]
    described = _known(entry["target"], "target", {"name", "clip", "bounds", "drop", "fill", "clamp"})
    rest = {key: value for key, value in described.items() if key not in ("name", "clip")}
    target = _number(str(described.get("name")), rest, codebook)
    clip = float(described.get("clip", target.bounds[1]))
    choice = Choice(file, codebook.width if codebook else 0, numbers, categories, target, clip)
    names = [column.name for column in choice.columns]
    if len(set(names)) < len(names):
        raise ExtractError(f"{COLUMNS}, {name}: a variable is chosen twice")
    if not fields.is_csv(file) and any(column.variable.start < 0 for column in choice.columns):
        raise ExtractError(f"{COLUMNS}, {name}: a file of fixed width needs a codebook with the places of variables")
    return choice


def _number(name: str, given: dict[str, Any], codebook: Codebook | None) -> Number:
    given = _known(given, name, {"bounds", "drop", "fill", "clamp"})
    variable = _variable(name, codebook)
    bounds = given.get("bounds", variable.bounds)
    if not isinstance(bounds, list | tuple) or len(bounds) != 2 or not float(bounds[0]) < float(bounds[1]):
        raise ExtractError(f"{name}: needs bounds, [low, high]; the codebook has none")
    fill = tuple((_code(code, name), float(value)) for code, value in _object(given.get("fill", {}), name).items())
    clamp = given.get("clamp", False)
    if not isinstance(clamp, bool):
        raise ExtractError(f"{name}: clamp must be true or false")
    return Number(variable, _codes(given, "drop", name), (float(bounds[0]), float(bounds[1])), fill, clamp)


def _category(name: str, given: dict[str, Any], codebook: Codebook | None) -> Category:
    given = _known(given, name, {"codes", "drop", "other"})
    variable = _variable(name, codebook)
    if variable.decimals:
        raise ExtractError(f"{name}: has {variable.decimals} decimals, so it is no category")
    drop = _codes(given, "drop", name)
    other = None if given.get("other") is None else _code(given["other"], name)
    found = {
        *(_codes(given, "codes", name) if "codes" in given else variable.labels),
        *(() if other is None else (other,)),
    }
    codes = tuple(sorted(found - {*drop, BLANK}))
    if len(codes) < 2:
        raise ExtractError(f"{name}: needs two codes at least, from the codebook or under codes")
    return Category(variable, drop, codes, other)


def _variable(name: str, codebook: Codebook | None) -> Variable:
    if codebook is None:
        return Variable(name)
    if name not in codebook.variables:
        raise ExtractError(f"{name}: not in the codebook, which has {', '.join(sorted(codebook.variables))}")
    variable = codebook.variables[name]
    if variable.text or variable.end - variable.start > ddi.MOST_DIGITS:
        raise ExtractError(f"{name}: is text, or too long for a number")
    return variable


def _object(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ExtractError(f"{COLUMNS}, {where or 'at the top'}: should be an object, {{...}}")
    return given


def _known(given: Any, where: str, keys: set[str]) -> dict[str, Any]:
    if extra := _object(given, where).keys() - keys:
        raise ExtractError(f"{COLUMNS}, {where}: {', '.join(sorted(extra))} is none of {', '.join(sorted(keys))}")
    return _object(given, where)


def _codes(given: dict[str, Any], key: str, name: str) -> tuple[int, ...]:
    found = given.get(key, [])
    if not isinstance(found, list):
        raise ExtractError(f"{name}: {key} must be a list of codes")
    return tuple(_code(code, name) for code in found)


def _code(code: Any, name: str) -> int:
    """Return a code of `columns.json`; "" stands for an empty field."""
    if code == "":
        return BLANK
    if isinstance(code, bool) or not re.fullmatch(r"-?\d{1,18}", str(code)):
        raise ExtractError(f'{name}: codes are whole numbers, as the codebook writes them, or ""')
    return int(code)


def main() -> None:
    """Say what is read of each census of a folder."""
    from hush import Features

    if len(sys.argv) != 2:
        sys.exit("usage: python -m experiments.ipums FOLDER")
    folder = Path(sys.argv[1])
    try:
        for name in listed(folder):
            extract = load(folder, name)
            print(extract.describe())
            schema = extract.people.schema
            print(f"  {len(schema) + 1} attributes with income, {len(Features(schema).names)} features to predict it")
    except ExtractError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
