"""Surveys with relations: a tally of people in columns, drawn by the laws of a plan's channels.

Every person answers one question. `survey` is the only place where experiments draw such answers: they follow the same
laws as the reports of devices (the tests compare), from a seeded generator in floats, so that results can be repeated.
Columns are as `hush.batch` takes them: numbers with NaN for "missing", categories as the values of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import hush
from hush.core.channels import Cells, Channel, Rows, Subset, Window
from hush.core.exact import WORD
from hush.core.looking import View
from hush.core.views import Bands, Product, Sides, Value

Array = np.ndarray[Any, Any]
CHUNK = 1 << 17  # people who are drawn at once


def survey(plan: hush.Plan, columns: Mapping[str, Array], rng: np.random.Generator) -> hush.Tally:
    """Return the tally of these people's answers."""
    if plan.k != 1:
        raise ValueError("a survey asks everybody one question")
    inputs = encoded(plan.schema, columns)
    n = len(next(iter(inputs.values())))
    weights = np.asarray(plan.weights or [1] * len(plan.questions), float)
    asked = rng.choice(len(weights), n, p=weights / weights.sum()).astype(np.int16)
    order = np.argsort(asked, kind="stable")
    ends = np.searchsorted(asked[order], np.arange(len(weights) + 1))
    answered, counts = [], []
    for index, question in enumerate(plan.questions):
        who = order[ends[index] : ends[index + 1]]
        total = np.zeros(question.channel.alphabet.size, np.int64)
        for start in range(0, len(who), CHUNK):
            some = who[start : start + CHUNK]
            here = {name: inputs[name][some] for name in question.attributes}
            seen = [looked(plan.schema, view, here) for view in question.views]
            total += drawn(question.channel, seen, rng)
        answered.append(len(who))
        counts.append(total.tolist())
    return hush.Tally(plan, n, answered, counts)


def encoded(schema: hush.Schema, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return positions in 0..1 of numbers (NaN for missing), and indexes of categories."""
    found = {}
    for attribute in schema.attributes:
        column = columns[attribute.name]
        if isinstance(attribute, hush.Numeric):
            clipped = np.clip(np.asarray(column, float), attribute.low, attribute.high)
            found[attribute.name] = (clipped - attribute.low) / (attribute.high - attribute.low)
            continue
        values = np.asarray(attribute.values)
        order = np.argsort(values)
        place = np.minimum(np.searchsorted(values[order], column), len(values) - 1)
        found[attribute.name] = order[place]
        if not np.array_equal(values[found[attribute.name]], column):
            raise ValueError(f"{attribute.name} has values that the schema does not list")
    return found


def looked(schema: hush.Schema, view: View, inputs: Mapping[str, Array]) -> Array:
    """Return what a view sees of these people."""
    if isinstance(view, Value):
        return inputs[view.attribute]
    if isinstance(view, Bands):
        u = inputs[view.attribute]
        band = np.searchsorted(_positions(schema, view.attribute, view.cuts), np.nan_to_num(u, nan=0.5), side="left")
        return np.where(np.isnan(u), len(view.cuts) + 1, band)
    x, y = (inputs[name] for name in view.of)
    gone = np.isnan(x) | np.isnan(y)
    if isinstance(view, Sides):
        (a,), (b,) = (_positions(schema, name, [cut]) for name, cut in zip(view.attributes, view.cuts, strict=True))
        return np.where(gone, 2, ((x <= a) != (y <= b)).astype(int))
    assert isinstance(view, Product)
    p, q = view.places(schema)
    return np.asarray((np.clip((x - p) * (y - q) / view.reach, -1, 1) + 1) / 2)


def _positions(schema: hush.Schema, name: str, cuts: Any) -> Array:
    number = schema[name]
    assert isinstance(number, hush.Numeric)
    return (np.asarray(cuts) - number.low) / (number.high - number.low)


def drawn(channel: Channel, seen: list[Array], rng: np.random.Generator) -> Array:
    """Return the counts of one question's reports."""
    size = channel.alphabet.size
    if isinstance(channel, Subset | Cells):
        whole = channel.whole if isinstance(channel, Cells) else channel
        truth = seen[0] if len(seen) == 1 else seen[0] * _values(channel)[1] + seen[1]
        inside = rng.random(len(truth)) < float(whole.p)
        return np.bincount(_sets(truth, inside, whole.size, whole.weight, rng).ravel(), minlength=size)
    if isinstance(channel, Window):
        return np.bincount(_window(channel, seen[0], rng), minlength=size)
    if isinstance(channel, Rows):
        return np.bincount(_rows(channel, seen[0], seen[1], rng).ravel(), minlength=size)
    raise NotImplementedError(f"surveys do not draw {channel.kind} channels")


def _values(channel: Subset | Cells) -> tuple[int, ...]:
    assert isinstance(channel, Cells)
    return channel.values


def _sets(truth: Array, inside: Array, size: int, weight: int, rng: np.random.Generator) -> Array:
    """Return sets of `weight` of `size` items, with the true one if `inside`: by the least of random keys."""
    keys = rng.random((len(truth), size), dtype=np.float32)
    keys[np.arange(len(truth)), truth.astype(np.int64)] = np.where(inside, -1, 2)
    return np.asarray(np.argpartition(keys, weight - 1, axis=1)[:, :weight])


def _starts(channel: Window | Rows, u: Array, rng: np.random.Generator) -> Array:
    """Return the first cell of everybody's window, after random rounding; behind the last cell for "missing"."""
    gone = np.isnan(u)
    u = np.where(gone, 0.5, u)
    if channel.levels == "even":
        position = u * channel.last
        s = np.clip(position.astype(np.int64), 0, channel.last - 1)
        up = position - s
    else:
        points, slopes = (np.asarray(part) for part in channel.grid)
        s = np.clip(np.searchsorted(points, u, side="right") - 1, 0, channel.last - 1)
        up = (u - points[s]) * slopes[s]
    return np.where(gone, channel.size, s + (rng.random(len(u)) < up))


def _window(channel: Window, u: Array, rng: np.random.Generator) -> Array:
    first, n = _starts(channel, u, rng), len(u)
    beside = rng.integers(0, channel.cells_outside, n)
    beside += channel.width * (beside >= first)
    inside = rng.random(n) < channel.threshold / WORD
    cell = np.where(inside, first + rng.integers(0, channel.width, n), beside)
    return np.minimum(cell, channel.alphabet.size - 1)


def _rows(channel: Rows, row: Array, u: Array, rng: np.random.Generator) -> Array:
    first, n = _starts(channel, u, rng), len(u)
    width, weight, cells = channel.width, channel.weight, channel.cells
    here = rng.random(n) < channel.threshold / WORD
    place = rng.integers(0, channel.rows * cells - weight * width, n)
    beside = place % (cells - width)
    beside += width * (beside >= first)
    mine = np.where(here, first + rng.integers(0, width, n), beside)
    named = _sets(row, here | (place < weight * (cells - width)), channel.rows, weight, rng)
    cell = np.where(named == row[:, None], mine[:, None], rng.integers(0, cells, named.shape))
    return np.asarray(named * channel.group + np.minimum(cell, channel.group - 1))
