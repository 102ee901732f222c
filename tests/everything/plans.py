"""Plans of every kind, made up from a seed: legal ones that nobody would think of, and some that everybody makes.

A `Case` is a schema with the options of `hush.design`, a number of people, and perhaps a relay's own reports. Every
kind of attribute comes with every option, alone and beside others. The same number gives the same case, in every run
and on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import hush
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.numeric import BLOCK, NUMERIC

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 16.0)
PEOPLE = (5, 10, 20, 50, 150, 500, 2000, 20_000, 1_000_000)
EXACT = ("minimax", "hybrid", "piecewise", "piecewise-sub", "duchi")
"""The channels of numbers whose alphabets are small. Additive noise has large ones."""


@dataclass(frozen=True)
class Case:
    """A made-up plan, and how many people answer it. `own`: a relay's own reports in each of so many `batches`."""

    seed: int
    schema: hush.Schema
    epsilon: float
    options: dict[str, Any] = field(hash=False)
    people: int
    own: int = 0
    batches: int = 1

    def design(self) -> hush.Plan:
        """Return the plan."""
        return hush.design(self.schema, self.epsilon, title=f"case {self.seed}", **self.options)

    def __str__(self) -> str:
        kinds = ", ".join(f"{type(item).__name__}{'?' * item.optional}" for item in self.schema.attributes)
        own = f", {self.batches} x {self.own} own" if self.own else ""
        return f"case {self.seed}: {kinds}; epsilon {self.epsilon}, {self.options}; {self.people} people{own}"


def case(seed: int) -> Case:
    """Return the case of a number."""
    world = random.Random(f"a plan for everything {seed}")
    schema = hush.Schema(_attributes(world))
    epsilon = world.choice(EPSILONS)
    people = world.choice(PEOPLE)
    options = _related(world, schema) if world.random() < 0.45 else _single(world, schema)
    own, batches = 0, 1
    if world.random() < 0.3 and options.get("numeric", "minimax") in EXACT:
        own, batches = world.choice((5, 40, 150, 1000)), world.choice((1, 1, 5, 50))
    return Case(seed, schema, epsilon, options, people, own, batches)


# -- attributes


def _attributes(world: random.Random) -> list[Any]:
    count = world.choice((1, 1, 2, 2, 3, 4, 5, 8, 20))
    made, heavy = [], 0
    for place in range(count):
        kind = world.choices(tuple(KINDS), tuple(weight for _, weight in KINDS.values()))[0]
        if kind in ("text", "list"):  # a few of them are all that a plan may hold
            heavy += 1
            if heavy > 1:
                kind = "number"
        made.append(KINDS[kind][0](world, f"{kind} {place}", world.random() < 0.35))
    return made


def _number(world: random.Random, name: str, optional: bool) -> hush.Numeric:
    low, high = world.choice(
        ((0, 1), (-1, 1), (0, 100), (18, 99), (-273.15, 1e4), (0, 1e6), (1e9, 1e9 + 1), (-1e-6, 1e-6), (-1e200, 1e200))
    )
    return hush.Numeric(name, low, high, world.choice(("error", "clip")), optional)


def _wide(world: random.Random, name: str, optional: bool) -> hush.Numeric:
    low, high = world.choice(((0, 1e6), (0, 1e7), (-1e5, 1e7), (-1e9, 0), (0, 1), (10, 1e5), (-1e6, 1e6)))
    unit = world.choice((None, None, (high - low) / 1000, (high - low) / 1e7))
    return hush.Numeric(name, low, high, world.choice(("error", "clip")), optional, scale="log", unit=unit)


def _integer(world: random.Random, name: str, optional: bool) -> hush.Integer:
    low, high = world.choice(((0, 1), (0, 10), (1, 5), (-50, 50), (0, 100_000), (0, 239)))
    return hush.Integer(name, low, high, optional=optional)


def _boolean(world: random.Random, name: str, optional: bool) -> hush.Boolean:
    return hush.Boolean(name, optional)


def _date(world: random.Random, name: str, optional: bool) -> hush.Date:
    low, high = world.choice((("1920-01-01", "2020-12-31"), ("2024-02-28", "2024-03-02"), ("0001-01-01", "9999-12-31")))
    return hush.Date(name, low, high, optional=optional)


def _time(world: random.Random, name: str, optional: bool) -> hush.Time:
    low, high, step = world.choice((("00:00", None, 60), ("18:00", "06:00", 900), ("09:00", "17:00", 3600)))
    return hush.Time(name, low, high, step, optional=optional)


def _category(world: random.Random, name: str, optional: bool) -> hush.Categorical:
    values: Any = [f"value {i}" for i in range(world.choice((2, 3, 5, 12, 40)))]
    other = world.random() < 0.2
    if world.random() < 0.2:
        values, other = list(range(-2, world.choice((1, 4)))), False
    return hush.Categorical(name, values, optional, other)


def _list(world: random.Random, name: str, optional: bool) -> hush.Categorical:
    size = world.choice((300, 2000, 9000))
    values: Any = [f"page {i}" for i in range(size)]
    return hush.Categorical(name, hush.Listed(values) if size > 4096 else values, optional, world.random() < 0.3)


def _choices(world: random.Random, name: str, optional: bool) -> hush.Choices:
    size = world.choice((2, 3, 5, 9))
    most = world.choice((None, 1, 2, size))
    return hush.Choices(name, [f"option {i}" for i in range(size)], most, optional)


def _text(world: random.Random, name: str, optional: bool) -> hush.Text:
    length, alphabet = world.choice(((6, "abcdefghijklmnopqrstuvwxyz"), (4, "0123456789"), (3, None)))
    return hush.Text(name, length, alphabet, optional=optional)


KINDS: dict[str, tuple[Callable[[random.Random, str, bool], Any], float]] = {
    "number": (_number, 3),
    "wide": (_wide, 1.5),
    "whole": (_integer, 1),
    "boolean": (_boolean, 1),
    "date": (_date, 0.7),
    "time": (_time, 0.7),
    "category": (_category, 3),
    "list": (_list, 0.5),
    "choices": (_choices, 1.2),
    "text": (_text, 0.4),
}


# -- options


def _single(world: random.Random, schema: hush.Schema) -> dict[str, Any]:
    """Return options of a plan without relations."""
    options: dict[str, Any] = {}
    questions = len(schema.attributes)
    options["k"] = world.choice(("best", "best", "paper", "weighted", "all", world.randint(1, questions)))
    if world.random() < 0.4:
        missing = any(isinstance(item, hush.Numeric) and item.optional for item in schema.attributes)
        options["numeric"] = world.choice(EXACT if missing else tuple(NUMERIC))
    if world.random() < 0.3 and not any(
        isinstance(item, hush.Text) or _size(item) > 4096 for item in schema.attributes
    ):
        options["categorical"] = world.choice([name for name in CATEGORICAL if name != "geometry"])
    plain = all(isinstance(item, hush.Numeric) and item.scale == "linear" for item in schema.attributes)
    if plain and questions > 1 and not any(item.optional for item in schema.attributes) and world.random() < 0.3:
        options["numeric"], options["k"] = world.choice(tuple(BLOCK)), 1
    if world.random() < 0.6:
        options["choices"] = world.choice(_ways(schema))
    if world.random() < 0.2:
        options["importance"] = {item.name: world.choice((0.1, 1, 5)) for item in schema.attributes}
    return {key: value for key, value in options.items() if value != "best"}


def _related(world: random.Random, schema: hush.Schema) -> dict[str, Any]:
    """Return options of a plan with relations and ranges, as many as its attributes allow."""
    grouping, numbers = [], []
    for item in schema.attributes:
        if isinstance(item, hush.Categorical) and len(item.labels) <= 40:
            grouping.append(item.name)
        elif isinstance(item, hush.Numeric) and item.scale == "linear":
            numbers.append(item)
    relations: list[tuple[str, ...]] = []
    bands: dict[str, Any] = {}
    for _ in range(world.choice((1, 1, 2, 4))):
        kind = world.choice(("table", "means", "association", "moments"))
        pool = grouping + [item.name for item in numbers]
        names = world.sample(pool, 2) if len(pool) > 1 else []
        if kind in ("association", "moments"):
            names = [item.name for item in world.sample(numbers, 2)] if len(numbers) > 1 else []
        if kind == "means" and numbers and len(pool) > 1:
            first = world.choice(numbers).name
            names = [first, world.choice([name for name in pool if name != first])]
        if not names or (kind == "means" and names[0] in grouping):
            continue
        banded = {"table": names, "means": names[1:]}.get(kind, [])
        bands.update(
            {name: _cuts(world, schema[name]) for name in banded if name not in grouping and name not in bands}
        )
        if not any({*known[:2]} == {*names} and known[2] == kind for known in relations):
            relations.append((names[0], names[1], kind))
    ranges = {
        item.name: world.choice((4, 16, 64)) for item in numbers if world.random() < 0.5 and len(_cuts(world, item, 3))
    }
    if not relations and not ranges:
        return _single(world, schema)
    options: dict[str, Any] = {"relations": relations, "bands": bands, "ranges": ranges}
    if world.random() < 0.3:
        options["singles"] = world.choice((0.05, 0.5, 0.9))
    if world.random() < 0.5:
        options["choices"] = world.choice(_ways(schema))
    return {key: value for key, value in options.items() if value and value != "best"}


def _ways(schema: hush.Schema) -> tuple[str, ...]:
    """Return the ways to ask about choices that this schema allows."""
    asked = [item for item in schema.attributes if isinstance(item, hush.Choices)]
    if not asked:
        return ("best",)
    if any(2 * item.most > len(item.values) for item in asked):
        return ("members", "best")
    return (
        ("members", "picks", "best") if any(item.most == 1 for item in asked) else ("members", "picks", "pairs", "best")
    )


def _size(attribute: Any) -> int:
    return len(attribute.labels) if isinstance(attribute, hush.Categorical) else 0


def _cuts(world: random.Random, number: Any, most: int = 6) -> list[float]:
    """Return cuts of a number, at uneven places."""
    low, high = number.low, number.high
    if number.whole:
        last = min(most, int(high - low))
        return [
            float(value)
            for value in sorted(
                world.sample(range(int(low), int(low) + min(int(high - low), 1000)), min(last, world.randint(1, most)))
            )
        ]
    places = sorted(world.sample(range(1, 64), world.randint(1, most)))
    return [low / 64 * (64 - place) + high / 64 * place for place in places]
