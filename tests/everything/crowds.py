"""Crowds that are not smooth: all alike, two kinds, heaps, half at each end, far tails, rare categories, nearly nobody.

A crowd is a population: records with their shares. Respondents are drawn from it independently, so truths are exact
sums over its records.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import hush

Record = dict[str, Any]
MOST = 200  # records
SHAPES = ("one", "two", "ends", "heaps", "smooth", "skew", "far", "rare", "low", "high")


@dataclass(frozen=True)
class Crowd:
    """A population: `shape` says how it was made."""

    shape: str
    records: tuple[Record, ...]
    shares: tuple[float, ...]

    def mean(self, value: Callable[[Record], float]) -> float:
        """Return the average of a function of the record."""
        return sum(share * value(record) for record, share in zip(self.records, self.shares, strict=True))


def crowd(schema: hush.Schema, seed: str, shape: str | None = None) -> Crowd:
    """Return a made-up population of this shape, or of any."""
    world = random.Random(f"a crowd for everything {seed}")
    shape = shape or world.choice(SHAPES)
    if shape == "one":
        shares = [1.0]
    elif shape in ("two", "ends"):
        part = 0.5 if shape == "ends" else world.choice((0.5, 0.1, 0.01, 0.002))
        shares = [1 - part, part]
    elif shape == "far":
        part = world.choice((0.03, 0.01, 0.002))
        shares = [(1 - part) / 2, (1 - part) / 2, part]
    elif shape in ("heaps", "rare"):
        weights = [world.random() ** 3 + 1e-3 for _ in range(world.randint(3, 7))]
        shares = [weight / sum(weights) for weight in weights]
    else:
        shares = [1 / 48] * 48
    missing = world.choice((0.0, 0.1, 0.5, 0.95, 0.998))
    alone = world.random() < 0.3  # attributes that follow each other, or not
    places = _places(world, shape, len(shares))
    records: list[Record] = [{} for _ in shares]
    for item in schema.attributes:
        at = places if not alone else _places(world, shape, len(shares))
        backwards = world.random() < 0.5
        for record, place in zip(records, at, strict=True):
            record[item.name] = _value(world, item, 1 - place if backwards else place)
    for item in schema.attributes:
        if item.optional and missing:
            _leave_out(world, item.name, records, shares, missing)
    return Crowd(shape, tuple(records), tuple(shares))


def _places(world: random.Random, shape: str, count: int) -> list[float]:
    """Return where the records lie between the lowest and the highest value."""
    if shape == "ends":
        return [0.0, 1.0]
    if shape == "one":
        return [world.choice((0.0, 1.0, 0.5, 0.125, 1 / 128, world.random()))]
    if shape == "far":
        near = world.random() * 0.1
        return [near, near / 2, 1.0]
    if shape == "smooth":
        return [(place + 0.5) / count for place in range(count)]
    if shape == "skew":
        return [min(0.02 * (2 ** (8 * place / count)) ** 0.7, 1.0) for place in range(count)]
    if shape == "low":
        return [0.02 * world.random() for _ in range(count)]
    if shape == "high":
        return [1 - 0.02 * world.random() for _ in range(count)]
    return [world.choice((0.0, 1.0, world.random(), world.random(), world.random())) for _ in range(count)]


def _value(world: random.Random, item: Any, place: float) -> Any:
    """Return the value at a place of an attribute."""
    if isinstance(item, hush.Time):
        steps = int(item.low) + round(place * (item.high - item.low))
        seconds = steps * item.step % 86_400
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    if isinstance(item, hush.Date):
        return date(1970, 1, 1) + timedelta(days=int(item.low) + round(place * (item.high - item.low)))
    if isinstance(item, hush.Numeric):
        if item.whole:
            return int(item.low) + round(place * (item.high - item.low))
        if item.scale == "log" and 0 < place < 1 and item.low >= 0:  # most people have far less than the most
            return item.low + (item.high - item.low) * 10 ** (-4 * (1 - place))
        return min(max(item.low * (1 - place) + item.high * place, item.low), item.high)
    if isinstance(item, hush.Text):
        letters = item.alphabet or "abcé"
        return "".join(letters[int(place * 7919 * (i + 1)) % len(letters)] for i in range(item.length))
    if isinstance(item, hush.Choices):
        held = min(item.most, round(place * len(item.values)))
        return [item.values[(int(place * 100) + i) % len(item.values)] for i in range(held)]
    values = item.values
    if item.other and place > 0.93:
        return "something that nobody listed"
    return values[min(int(place * len(values)), len(values) - 1)]


def _leave_out(world: random.Random, name: str, records: list[Record], shares: list[float], missing: float) -> None:
    """Let about this share of the people have no value: some records, whole or divided. Somebody has one."""
    for place in range(len(records)):
        if len(records) < MOST and (missing >= 0.9 or len(records) < 4):
            records.append({**records[place], name: None})
            shares.append(shares[place] * missing)
            shares[place] *= 1 - missing
        elif place and world.random() < missing:
            records[place][name] = None
