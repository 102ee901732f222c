"""Windows, mixtures and ladders that nobody would design, word for word against the scalar path.

The kernels of windows calculate in floats, and their exactness is an argument (`hush.batch.windows.window_cell`); here
it is put to words on the border of a cell, or on the border of rounding up, for random channels.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest

from hush import Numeric, Plan, PlanError, Schema, batch
from hush.batch.draws import clamped, scaled
from hush.batch.windows import window_cell, window_parts
from hush.core.channels import Ladder, Mixture, Window
from hush.core.channels.window import ROUNDING
from hush.core.exact import WORD, aligned_threshold, exp_bounds
from hush.core.plan import Question
from hush.testing import SeededStreams
from tests.batch.dealing import deal, reports_of


@numba.njit  # type: ignore[untyped-decorator]
def unequal(values: Any, spans: Any, step: float) -> int:
    """Count the quotients that the product with an inverse does not give."""
    found = 0
    for i in range(len(values)):
        span = spans[i]
        value = values[i] * span
        found += scaled(value + step, step, span, 1.0 / span) != clamped((value + step - step) / span)
    return found


def test_a_product_with_the_inverse_is_the_quotient() -> None:
    made_up = np.random.default_rng(1)
    count = 1 << 20
    values = made_up.uniform(-0.1, 1.1, count)
    values[:8] = [0.0, 1.0, -np.inf, np.inf, np.nan, 1e-308, 5e-324, 2.0]
    near_two = np.ldexp(2.0 - made_up.integers(1, 1 << 12, count) * 2.0**-52, made_up.integers(-300, 300, count))
    near_one = np.ldexp(1.0 + made_up.integers(0, 1 << 12, count) * 2.0**-52, made_up.integers(-300, 300, count))
    for spans in (made_up.uniform(1, 2, count), near_two, near_one, np.full(count, 100.0)):
        for step in (0.0, -3.7):
            assert unequal(values, spans, step) == 0


EPSILONS = ["0.001", "0.01", "0.5", "1", "3", "8", "16"]
SIZES = [2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100, 128, 777, 1024, 1025, 4096, 16384, 32768]
BOUNDS = [(0, 1), (-1, 1), (0, 120), (-1.5, 2.5), (0, 3e-300), (-8e307, 8e307), (1e16, 1e16 + 64), (0, 0.1)]


def any_window(choose: random.Random, epsilon: Fraction, optional: bool) -> Window:
    """Return a window channel of some size, width and levels."""
    while True:
        size = choose.choice(SIZES)
        width = choose.choice([1, 2, 3, size // 2, size // 3, size - 1])
        half = sorted(choose.randrange(1, 1 << choose.choice([4, 10, 30])) for _ in range(size // 2))
        uneven = (*(-level for level in reversed(half)), *[0] * (size % 2), *half)
        try:
            outside = size if optional else size - width
            threshold = aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING)
            return Window(
                size, width, threshold, uneven if size <= 4096 and choose.random() < 0.5 else "even", optional
            )
        except (PlanError, ValueError, ZeroDivisionError):
            continue  # no such channel exists


def any_ladder(choose: random.Random, epsilon: Fraction, optional: bool) -> Ladder:
    """Return a ladder: knots anywhere, dense at one or two places, or next to each other at the finest scale."""
    while True:
        most, states = 1 << choose.choice([3, 8, 20, 40, 44]), choose.choice([3, 4, 17, 33, 81, 129])
        origin = choose.choice([0, most, most // 3, choose.randrange(most)])
        near = {origin + side * (1 << bit) // 3 for bit in range(46) for side in (-1, 1)}
        near |= {origin + side * step for step in range(5) for side in (-1, 1)}
        inner = sorted(knot for knot in {*near, *(choose.randrange(most) for _ in range(states))} if 0 < knot < most)
        knots = (0, *sorted(choose.sample(inner, min(states - 2, len(inner)))), most)
        width = choose.choice([1, 2, len(knots) // 2, len(knots) // 3, len(knots) - 1])
        try:
            outside = len(knots) - 1 + width * optional
            threshold = aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING)
            return Ladder(knots, width, threshold, optional)
        except (PlanError, ValueError, ZeroDivisionError):
            continue  # no such channel exists


def any_plan(choose: random.Random) -> Plan:
    """Return a plan of one number, by a window, a ladder or a mixture of windows."""
    while True:
        epsilon, optional = Fraction(choose.choice(EPSILONS)), choose.random() < 0.4
        channel: Window | Mixture | Ladder = any_window(choose, epsilon, optional)
        if choose.random() < 0.3:
            channel = any_ladder(choose, epsilon, optional)
        elif choose.random() < 0.4:
            cuts = sorted({0, WORD, *(choose.randrange(1, WORD) for _ in range(choose.choice([1, 2, 7])))})
            shares = tuple(b - a for a, b in pairwise(cuts))
            channel = Mixture(shares, tuple(any_window(choose, epsilon, optional) for _ in shares))
        low, high = choose.choice(BOUNDS)
        try:
            schema = Schema([Numeric("x", low, high, "clip", optional)])
            return Plan(schema, epsilon, 1, (Question(("x",), channel),))
        except PlanError:
            continue  # too many outputs


def borders(choose: random.Random, channel: Window | Mixture | Ladder) -> list[int]:
    """Words at which a cell, a window or a part ends, and words whose lower bits are on the border of rounding."""
    found = {0, 1, WORD - 1, ROUNDING - 1, ROUNDING, ROUNDING // 2}
    limit = 0
    for share in channel.shares if isinstance(channel, Mixture) else ():
        limit += share
        found |= {limit - 1, limit % WORD, (limit + 1) % WORD}
    for part in channel.parts if isinstance(channel, Mixture) else (channel,):
        inside, outside = part.threshold // part.width, (WORD - part.threshold) // part.cells_outside
        ends = [choose.randrange(part.width + 1) * inside for _ in range(4)]
        ends += [part.threshold + choose.randrange(part.cells_outside + 1) * outside for _ in range(4)]
        for end in ends:
            for beside in (-ROUNDING, -1, 0, 1, ROUNDING // 2 - 1, ROUNDING // 2, ROUNDING - 1):
                found.add((end + beside) % WORD)
    return sorted(found)


def numbers(choose: random.Random, plan: Plan, count: int) -> list[float | None]:
    """Numbers anywhere, at the bounds, on knots, and missing ones."""
    field, channel = plan.schema.attributes[0], plan.questions[0].channel
    assert isinstance(field, Numeric)
    last = (channel.parts[0] if isinstance(channel, Mixture) else channel).last  # type: ignore[attr-defined]
    span = field.high - field.low
    knots = channel.grid[0] if isinstance(channel, Ladder) else [0.0]
    ways: list[Callable[[], float | None]] = [
        lambda: field.low + span * choose.random(),
        lambda: field.low + span * (choose.randrange(last + 1) / last),
        lambda: field.low + span * choose.choice(knots),
        lambda: choose.choice([field.low, field.high, None if field.optional else field.low]),
    ]
    return [choose.choice(ways)() for _ in range(count)]


@pytest.mark.parametrize("seed", range(60))
def test_any_window_is_the_scalar_path_word_for_word(seed: int) -> None:
    choose = random.Random(seed)
    for turn in range(4):
        plan = any_plan(choose)
        channel = plan.questions[0].channel
        assert isinstance(channel, Window | Mixture | Ladder)
        values = numbers(choose, plan, 150)
        streams = SeededStreams(seed + turn, borders(choose, channel))
        table = batch._randomise_from(streams, plan, batch.encode(plan, {"x": values}), 1, True)
        assert reports_of(plan, table) == deal(plan, [{"x": value} for value in values], streams.stream(0))


def test_the_whole_part_is_taken_before_the_sum() -> None:
    """The last word of a cell, far from the start: the sum of its quotient and the start rounds up to the next cell."""
    start, threshold = 32766.0, float((1 << 40) - 1)
    word = np.uint64(((1 << 40) - 2) * ROUNDING)
    place = start, word, 1.0, threshold, 1 / threshold, 1.0
    quotient, whole = window_parts(*place)
    assert quotient < 1
    assert quotient + whole == start + 1  # whoever adds first draws another cell
    assert window_cell(*place) == start
