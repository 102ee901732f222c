"""The questions of a plan as flat arrays, which compiled kernels can read.

Each channel becomes a kind, an array of 64-bit integers and an array of floats. The comment in each function below
lists their contents, and the kernel of that kind reads them in the same order. `hush.batch.looks` does the same for
views.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, singledispatch
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from hush.batch.draws import Array
from hush.batch.looks import Bounds, Look, bounds_of, encode_view
from hush.core.channels import Additive, Cells, Channel, Cube, Ladder, Mixture, Rows, Signs, Subset, Unary, Window
from hush.core.channels.levels import Levelled
from hush.core.channels.windowed import ROUNDING, Windowed
from hush.core.columnar import parts
from hush.core.exact import WORD
from hush.core.plan import Plan, Question
from hush.core.schema import Schema
from hush.core.views import Value

KNOTS = 9  # where the knots of a window begin
GUIDE_LIMIT = 1 << 17


class Code(NamedTuple):
    """A channel for its kernel: kind, integers and floats, and the most words that it reads behind the limit.

    That is the number of words of a draw, without those that are drawn again: their loops stop at the limit.
    """

    kind: str
    integers: Array
    floats: Array
    words: int


class Task(NamedTuple):
    """A question for its kernel: the channel, its views, and how many rows an answer takes.

    A question that looks at attributes as they are has their columns, and no `looks`: its kernel reads them in place.
    Otherwise each of `looks` makes a column for the kernel. `bounds` are those of the columns that the kernel reads.
    """

    code: Code
    columns: tuple[int, ...]
    looks: tuple[Look, ...]
    bounds: Bounds
    rows: int


class Program(NamedTuple):
    """A plan for the kernels. `weights` are cumulated, or empty; `excess[n]` is 2^64 mod n, for draws below n."""

    k: int
    tasks: tuple[Task, ...]
    weights: Array
    excess: Array
    rows: Array
    most_rows: int
    words: int


def _pack(kind: str, integers: Sequence[int], floats: Sequence[float], words: int) -> Code:
    return Code(kind, np.array(integers, dtype=np.uint64), np.array(floats, dtype=np.float64), words)


@singledispatch
def encode_channel(channel: Channel) -> Code:
    """Return a channel as arrays."""
    raise NotImplementedError(f"the batch engine has no kernel for a {channel.kind} channel")


@encode_channel.register
def _window(channel: Window) -> Code:
    # floats: N, W, T, the inverses of the steps inside and outside (T and steps in units of 2^24, so T is exact), last,
    # bins of the guide (0: even levels), corrections, the summand of the state for "missing" (N, or 0 without it);
    # then, where levels are not even, knot, slope, ..., with the last knot infinite, because only rounding up reaches
    # the last state. integers: the guide.
    if channel.levels == "even":
        return _pack("window" if channel.optional else "even", [], _floats(channel, [0.0, 0.0]), 1)
    guide, bins, knots = _knots(channel)
    return _pack("window", guide, [*_floats(channel, bins), *knots], 1)


@encode_channel.register
def _ladder(channel: Ladder) -> Code:
    # integers and floats: those of a window whose levels are not even. The private step is the same.
    guide, bins, knots = _knots(channel)
    return _pack("window", guide, [*_floats(channel, bins), *knots], 1)


def _floats(channel: Windowed, bins: Sequence[float]) -> list[float]:
    """Return the floats of a window before its knots."""
    threshold = channel.threshold // ROUNDING
    inside, outside = threshold // channel.width, (WORD // ROUNDING - threshold) // channel.cells_outside
    head = [channel.size, channel.width, threshold, 1.0 / inside, 1.0 / outside, channel.last]
    return [*head, *bins, channel.size if channel.optional else 0]


def _knots(channel: Levelled | Ladder) -> tuple[list[int], list[float], list[float]]:
    """Return the guide of a channel, its bins and corrections, and the knots with their slopes."""
    points, slopes = channel.grid
    bits, corrections, guide = _guide(points[:-1])
    knots = [value for pair in zip(points[:-1], slopes, strict=True) for value in pair]
    return guide, [1 << bits, corrections], [*knots, np.inf, 0.0]


def _guide(points: Sequence[float]) -> tuple[int, int, list[int]]:
    """Return a table that finds the last knot at or below u: 2^bits equal bins, each with the last knot at its start.

    A bin with further knots needs one correction for each; there are enough bins for 1, unless knots are very close.
    """
    bits = 1
    while True:
        bins = 1 << bits
        guide = np.searchsorted(points, np.arange(bins + 1) / bins, side="right") - 1
        corrections = max(int(after) - int(before) for before, after in pairwise(guide))
        if corrections <= 1 or bins >= min(64 * len(points), GUIDE_LIMIT):
            return bits, corrections, [int(s) for s in guide]
        bits += 1


@encode_channel.register
def _mixture(channel: Mixture) -> Code:
    # integers: number of parts; for each its limit, first output, start of its integers and floats; then the parts.
    # floats: those of the parts.
    codes = [_window(part) for part in channel.parts]
    heads: list[int] = []
    integers, floats = 1 + 4 * len(codes), 0
    first = 0
    for limit, part, code in zip(accumulate(channel.shares), channel.parts, codes, strict=True):
        heads += [min(limit, WORD - 1), first, integers, floats]
        integers += len(code.integers)
        floats += len(code.floats)
        first += part.alphabet.size
    body = [int(value) for code in codes for value in code.integers]
    return _pack("mixture", [len(codes), *heads, *body], [x for code in codes for x in code.floats], 2)


@encode_channel.register
def _subset(channel: Subset) -> Code:
    # integers: K, w, T
    if channel.weight == 1:
        return _pack("symbol", [channel.size, channel.weight, channel.threshold], [], 2)
    kind = "small-subset" if channel.size <= 64 else "subset"
    return _pack(kind, [channel.size, channel.weight, channel.threshold], [], 1 + channel.weight)


@encode_channel.register
def _unary(channel: Unary) -> Code:
    # integers: K, P, number of digits of Q down to its last 1; those digits, the last first, as all ones or all zeros
    digits = [(WORD - 1) * (channel.other >> place & 1) for place in range(64)]
    digits = digits[digits.index(WORD - 1) :]
    words = len(digits) * -(-channel.size // 64) + 1
    return _pack("unary", [channel.size, channel.true, len(digits), *digits], [], words)


@encode_channel.register
def _additive(channel: Additive) -> Code:
    # integers: M, reach, total weight, 2^64 mod it, number of digits of the period, halvings that find a run; D of each
    # digit; ends of the runs, filled up for the halvings; for each run: start, weight, 2^64 / weight, lengths before
    ends = list(accumulate(length * weight for length, weight in channel.runs))
    before = accumulate((length for length, _ in channel.runs), initial=0)
    levels = len(ends).bit_length()
    head = [channel.steps, channel.reach, ends[-1], WORD % ends[-1], len(channel.decays), levels, *channel.decays]
    limits = [*ends, *[WORD - 1] * ((1 << levels) - 1 - len(ends))]
    runs = zip([0, *ends], (weight for _, weight in channel.runs), before, strict=False)
    rows = [(start, weight, min(WORD // weight, WORD - 1), steps) for start, weight, steps in runs]
    words = len(channel.decays) + 3
    return _pack("additive", [*head, *limits, *(value for row in rows for value in row)], [], words)


@encode_channel.register
def _signs(channel: Signs) -> Code:
    # integers: d, T
    return _pack("signs", [channel.size, channel.threshold], [], channel.size + 1 + 3 * -(-channel.size // 64))


@encode_channel.register
def _cube(channel: Cube) -> Code:
    # integers: d, k, agree, T, corners not near, near, 2^64 mod each; then for m < k and b <= k, row by row,
    # N(m, max(b - 1, 0))
    corners = channel.corners
    head = [channel.size, channel.sample, channel.agree, channel.threshold, *corners, *(WORD % n for n in corners)]
    tails = [count for row in channel.tails for count in (row[0], *row[:-1])]
    return _pack("cube", [*head, *tails], [], channel.size + channel.sample + 3)


@encode_channel.register
def _cells(channel: Cells) -> Code:
    # integers: C, w, T; for each attribute the number of its categories, or 0 for a number
    sizes = [size or 0 for size in channel.sizes]
    kind = "cell" if channel.weight == 1 else "small-cells" if channel.cells <= 64 else "cells"
    words = len(sizes) + 1 + channel.weight
    return _pack(kind, [channel.cells, channel.weight, channel.threshold, *sizes], [], words)


@encode_channel.register
def _rows(channel: Rows) -> Code:
    # integers: G, w, N, W, T, GN - wW, 2^64 mod it, N - W, 2^64 / it, members of a row, the last of them, the first
    # cell of "missing" (0 without it); then the guide. floats: those of a window, of which the first five are 0.
    cells, beside = channel.cells, channel.cells - channel.width
    without = channel.rows * cells - channel.weight * channel.width
    head = [channel.rows, channel.weight, cells, channel.width, channel.threshold, without, WORD % without]
    head += [beside, min(WORD // beside, WORD - 1), channel.group, channel.group - 1]
    head += [channel.size if channel.optional else 0]
    guide: list[int] = []
    bins, knots = [0.0, 0.0], [0.0]
    if channel.levels != "even":
        guide, bins, knots = _knots(channel)
    kind = "row" if channel.weight == 1 else "small-rows" if channel.rows <= 64 else "rows"
    floats = [*[0.0] * 5, channel.last, *bins, 0.0, *knots]
    return _pack(kind, [*head, *guide], floats, 4 + 2 * channel.weight)


@lru_cache(maxsize=256)
def _encoded(channel: Channel) -> Code:
    """Return a channel as arrays, cached: plans repeat their channels, and rounds of a training repeat their plans."""
    return encode_channel(channel)


def _task(schema: Schema, question: Question, rows: int) -> Task:
    """Return a question for its kernel."""
    code = _encoded(question.channel)
    if all(isinstance(view, Value) for view in question.views):
        columns = tuple(schema.names.index(view.of[0]) for view in question.views)
        return Task(code, columns, (), bounds_of([schema.attributes[column] for column in columns]), rows)
    looks = tuple(encode_view(view, schema) for view in question.views)
    return Task(code, (), looks, bounds_of([None] * len(looks)), rows)


@lru_cache(maxsize=16)
def compile_plan(plan: Plan) -> Program:
    """Return a plan for the kernels."""
    rows = parts(plan)
    tasks = tuple(_task(plan.schema, *one) for one in zip(plan.questions, rows, strict=True))
    largest = max(len(plan.questions), *(question.channel.alphabet.size for question in plan.questions))
    return Program(
        k=plan.k,
        tasks=tasks,
        weights=np.array(list(accumulate(plan.weights or ())), dtype=np.uint64),
        excess=np.array([0, *(WORD % n for n in range(1, largest + 1))], dtype=np.uint64),
        rows=np.array(rows, dtype=np.int64),
        most_rows=sum(sorted(rows)[-plan.k :]),
        words=max(plan.k + 1, *(task.code.words for task in tasks)),
    )
