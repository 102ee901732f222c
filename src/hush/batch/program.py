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
from hush.batch.points import MAX_SHORT
from hush.core.channels import (
    Additive,
    Cells,
    Channel,
    Corners,
    Cube,
    Geometry,
    Ladder,
    Mixture,
    Picks,
    Rows,
    Signs,
    Subset,
    Unary,
    Window,
)
from hush.core.channels.levels import Levelled
from hush.core.channels.windowed import ROUNDING, Windowed
from hush.core.coins import groups
from hush.core.columnar import parts
from hush.core.exact import WORD
from hush.core.plan import Plan, Question
from hush.core.schema import Choices, Schema
from hush.core.views import Value

KNOTS = 9  # where the knots of a window begin
CUTS = 9  # where the rows of a window's bins begin, if it has those instead
ROW = 8  # the floats of a bin: a line of the cache
GUIDE_LIMIT = 1 << 17
MOST_ROWS = 1 << 11  # bins that have rows: 80 KB


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
    """A plan for the kernels. `weights` are cumulated, or empty; `excess[n]` is 2^64 mod n, for draws below n.

    `groups` draw the k questions of a person. `words` is the most that one draw reads, `expected` about how
    many words a person takes in all.
    """

    k: int
    tasks: tuple[Task, ...]
    weights: Array
    groups: Array
    excess: Array
    rows: Array
    most_rows: int
    words: int
    expected: float


def _pack(kind: str, integers: Sequence[int], floats: Sequence[float], words: int) -> Code:
    return Code(kind, np.array(integers, dtype=np.uint64), np.array(floats, dtype=np.float64), words)


def grouped(sizes: range | tuple[int, ...]) -> list[int]:
    """Return the groups in which words draw several integers: how many, and then `draws.GROUP` numbers for each."""
    found = groups(sizes)
    return [len(found), *(value for group in found for value in (len(group.sizes), group.product, group.excess))]


def groups_of(n: int, size: int) -> Array:
    """Return the groups that draw a subset of 0..n-1 of this size."""
    return np.array(grouped(range(n - size + 1, n + 1)), dtype=np.uint64)


@singledispatch
def encode_channel(channel: Channel) -> Code:
    """Return a channel as arrays."""
    raise NotImplementedError(f"the batch engine has no kernel for a {channel.kind} channel")


@encode_channel.register
def _window(channel: Window) -> Code:
    # floats: those of a window, without its guide if its levels are even and it has no "missing", and with one row for
    # each bin of its guide if that has few bins of at most one knot
    code = _any_window(channel)
    if channel.optional:
        return code
    return code._replace(kind="even") if channel.levels == "even" else _knotted(code)


@encode_channel.register
def _ladder(channel: Ladder) -> Code:
    # integers and floats: those of a window whose levels are not even. The private step is the same.
    code = _any_window(channel)
    return code if channel.optional else _knotted(code)


def _any_window(channel: Window | Ladder) -> Code:
    # floats: N, W, T, the inverses of the steps inside and outside (T and steps in units of 2^24, so T is exact), last,
    # bins of the guide (0: even levels), corrections, the summand of the state for "missing" (N, or 0 without it);
    # then, where levels are not even, knot, slope, ..., with the last knot infinite, because only rounding up reaches
    # the last state. integers: the guide.
    if isinstance(channel, Window) and channel.levels == "even":
        return _pack("window", [], _floats(channel, [0.0, 0.0]), 1)
    guide, bins, knots = _knots(channel)
    return _pack("window", guide, [*_floats(channel, bins), *knots], 1)


def _knotted(code: Code) -> Code:
    """Return a window with a row for each bin of its guide, or the same window if bins have several knots.

    A row has the knot inside the bin (or behind it), then the state at the start of the bin with its knot and slope,
    and the same of the next state.
    """
    bins, corrections = code.floats[6:8]
    if bins > MOST_ROWS or corrections > 1:
        return code
    knots, slopes = code.floats[KNOTS::2], code.floats[KNOTS + 1 :: 2]
    states = code.integers.astype(np.int64)
    both = [column for s in (states, states + 1) for column in (s, knots[s], slopes[s])]
    rows = np.stack([knots[states + 1], *both, states], axis=1)  # the last only fills the row
    return Code("knotted", code.integers[:0], np.concatenate([code.floats[:CUTS], rows.ravel()]), code.words)


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
    codes = [_any_window(part) for part in channel.parts]
    heads: list[int] = []
    integers, floats = 1 + 4 * len(codes), 0
    first = 0
    for limit, part, code in zip(accumulate(channel.shares), channel.parts, codes, strict=True):
        heads += [min(limit, WORD - 1), first, integers, floats]
        integers += len(code.integers)
        floats += len(code.floats)
        first += part.alphabet.size
    body = [int(value) for code in codes for value in code.integers]
    simple = len(codes) == 2 and all(part.levels == "even" and not part.optional for part in channel.parts)
    kind = "hybrid" if simple else "mixture"
    return _pack(kind, [len(codes), *heads, *body], [x for code in codes for x in code.floats], 2)


@encode_channel.register
def _subset(channel: Subset) -> Code:
    # integers: K, w, T; then the groups of w members
    head = [channel.size, channel.weight, channel.threshold]
    if channel.weight == 1:
        return _pack("symbol", head, [], 2)
    kind = "small-subset" if channel.size <= 64 else "subset"
    members = grouped(range(channel.size - channel.weight, channel.size))
    return _pack(kind, [*head, *members], [], 1 + members[0])


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
    # N(m, max(b - 1, 0)); then the groups of k dimensions
    corners = channel.corners
    head = [channel.size, channel.sample, channel.agree, channel.threshold, *corners, *(WORD % n for n in corners)]
    tails = [count for row in channel.tails for count in (row[0], *row[:-1])]
    chosen = grouped(range(channel.size - channel.sample + 1, channel.size + 1))
    return _pack("cube", [*head, *tails, *chosen], [], channel.size + chosen[0] + 3)


@encode_channel.register
def _corners(channel: Corners) -> Code:
    # integers: d, m, T
    return _pack("corners", [channel.size, channel.near, channel.threshold], [], 4)


@encode_channel.register
def _geometry(channel: Geometry) -> Code:
    # integers: T, points inside and 2^64 mod them, points outside and 2^64 mod them, q, t, 1 if q is prime or 2k if it
    # is 2^k with k > 1, and whether the column is of int32; powers of q, first points, inverses; if q is no prime,
    # products and differences. floats: reciprocals of the powers
    field, numbers = channel.field, channel.numbers
    counts = (channel.inside, WORD % channel.inside, channel.outside, WORD % channel.outside)
    prime = field.degree == 1
    sort = 1 if prime else 2 * field.degree * (field.prime == 2)
    head = [channel.threshold, *counts, channel.order, channel.digits, sort, int(channel.size > MAX_SHORT + 1)]
    tables = () if prime else (value for rows in (field.products, field.differences) for row in rows for value in row)
    body = [*numbers.powers, *numbers.firsts, *field.inverses, *tables]
    return _pack("geometry", [*head, *body], [1 / power for power in numbers.powers], 3)


@encode_channel.register
def _cells(channel: Cells) -> Code:
    # integers: C, w, T; for each attribute the number of its categories, or 0 for a number; then the groups of w cells
    sizes = [size or 0 for size in channel.sizes]
    kind = "cell" if channel.weight == 1 else "small-cells" if channel.cells <= 64 else "cells"
    members = grouped(range(channel.cells - channel.weight, channel.cells))
    words = len(sizes) + 1 + members[0]
    return _pack(kind, [channel.cells, channel.weight, channel.threshold, *sizes, *members], [], words)


@encode_channel.register
def _rows(channel: Rows) -> Code:
    # integers: G, w, N, W, T, GN - wW, 2^64 mod it, N - W, 2^64 / it, members of a row, the last of them, the first
    # cell of "missing" (0 without it), where the groups begin; then the guide, the groups of w rows, and those of their
    # cells. floats: those of a window, of which the first five are 0.
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
    rows, members = grouped(range(channel.rows - channel.weight, channel.rows)), grouped((cells,) * channel.weight)
    integers = [*head, len(head) + 1 + len(guide), *guide, *rows, *members]
    return _pack(kind, integers, floats, 4 + rows[0] + members[0])


def _picks(channel: Picks, values: int) -> Code:
    # integers: L, s, w, values (L, or one less if "missing" is one of L), the most held items of a set; for 1, 2, ...
    # of them the least word that gives as many; then the groups of s held items, and those of w others
    head = [channel.size, channel.held, channel.weight, values, channel.most]
    limits = list(accumulate(channel.shares))[:-1]
    mine = grouped(range(1, channel.held + 1))
    others = grouped(range(channel.size - channel.weight + 1, channel.size + 1))
    return _pack("picks", [*head, *limits, *mine, *others], [], 1 + mine[0] + others[0])


@lru_cache(maxsize=256)
def _encoded(channel: Channel) -> Code:
    """Return a channel as arrays, cached: plans repeat their channels, and rounds of a training repeat their plans."""
    return encode_channel(channel)


def _task(schema: Schema, question: Question, rows: int) -> Task:
    """Return a question for its kernel."""
    if isinstance(question.channel, Picks):
        choices = schema[question.attributes[0]]
        assert isinstance(choices, Choices)
        code = _picks(question.channel, len(choices.values))
    else:
        code = _encoded(question.channel)
    if all(isinstance(view, Value) for view in question.views):
        columns = tuple(schema.names.index(view.of[0]) for view in question.views)
        return Task(code, columns, (), bounds_of([schema.attributes[column] for column in columns]), rows)
    looks = tuple(encode_view(view, schema) for view in question.views)
    return Task(code, (), looks, bounds_of([None] * len(looks)), rows)


@lru_cache(maxsize=16)
def compile_plan(plan: Plan) -> Program:
    """Return a plan for the kernels."""
    rows, count = parts(plan), len(plan.questions)
    tasks = tuple(_task(plan.schema, *one) for one in zip(plan.questions, rows, strict=True))
    sizes = [question.channel.alphabet.size for question in plan.questions if question.channel.kind != "geometry"]
    largest = max(count, *sizes, 1)  # a geometry channel has its own
    drawing = groups_of(count, plan.k)
    asking = 0 if plan.k == count and not plan.weights else int(drawing[0])
    return Program(
        k=plan.k,
        tasks=tasks,
        weights=np.array(list(accumulate(plan.weights or ())), dtype=np.uint64),
        groups=drawing,
        excess=np.array([0, *(WORD % n for n in range(1, largest + 1))], dtype=np.uint64),
        rows=np.array(rows, dtype=np.int64),
        most_rows=sum(sorted(rows)[-plan.k :]),
        words=max(plan.k + 1, *(task.code.words for task in tasks)),
        expected=asking + plan.k * sum(task.code.words for task in tasks) / count,
    )
