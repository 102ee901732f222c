"""Channels over a grid of epsilon and sizes, and tools to check them exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache

from hush import Categorical, Choices, Numeric, Plan, Schema, design
from hush.core.channels import (
    Additive,
    Cells,
    Channel,
    Corners,
    Cube,
    Geometry,
    Ladder,
    Mixture,
    Output,
    Picks,
    Rows,
    Window,
)
from hush.core.channels.levels import Levels
from hush.core.channels.window import ROUNDING
from hush.core.coins import Coins
from hush.core.design import groups
from hush.core.design.categorical import geometry, grr, oue, subset, sue
from hush.core.design.directions import corners
from hush.core.design.joint import cells, cube
from hush.core.design.ladders import ladder
from hush.core.design.numeric import (
    decays_of,
    duchi,
    hybrid,
    laplace,
    piecewise,
    piecewise_sub,
    scdf,
    signs,
    staircase,
)
from hush.core.design.sets import made, picks
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.core.plan import Question

EPSILONS = [Fraction(text) for text in ("0.01", "0.1", "0.5", "1", "2", "4", "7.5", "10")]


def exp_floor(epsilon: Fraction) -> Fraction:
    """A lower bound of e^epsilon that shares no code with hush: correctly rounded decimals, rounded down."""
    context = Context(prec=80, rounding=ROUND_FLOOR)
    power = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(power.exp(context)) * (1 - Fraction(1, 10**75))


def small_window(epsilon: Fraction, size: int, width: int, optional: bool = False) -> Window:
    outside = size if optional else size - width
    return Window(size, width, aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING), "even", optional)


def uneven_window(epsilon: Fraction) -> Window:
    """A window whose levels are not equally spaced, as a designer would make it."""
    threshold = aligned_threshold(exp_bounds(epsilon)[0], 3, 5, ROUNDING)
    return Window(8, 3, threshold, (-1000, -700, -650, -10, 10, 650, 700, 1000))


def small_ladder(epsilon: Fraction, knots: tuple[int, ...], width: int, optional: bool = False) -> Ladder:
    """A ladder of a few knots."""
    outside = len(knots) - 1 + width * optional
    return Ladder(knots, width, aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING), optional)


def small_mixture(epsilon: Fraction, optional: bool = False) -> Mixture:
    parts = (small_window(epsilon, 7, 2, optional), duchi(epsilon, optional))
    return Mixture((WORD // 3, WORD - WORD // 3), parts)


def small_additive(epsilon: Fraction, shape: Callable[[int], float], steps: int) -> Additive:
    """Additive noise with a short reach, so that its law can be listed."""
    runs: list[tuple[int, int]] = []
    for i in range(steps):
        weight = math.ceil(shape(i) * 2**40 * (1 + 2**-12 * (shape(i) < 1)))  # rare digits are rounded
        if runs and runs[-1][1] == weight:
            runs[-1] = (runs[-1][0] + 1, weight)
        else:
            runs.append((1, weight))
    reach = (4 if epsilon < 8 else 3) * steps
    return Additive(tuple(runs), decays_of(epsilon, steps, reach), reach)


def small_cube(epsilon: Fraction, size: int, sample: int, agree: int) -> Cube:
    near = sum(math.comb(sample, i) for i in range(agree, sample + 1))
    return Cube(size, sample, agree, largest_threshold(exp_bounds(epsilon)[0], near, (1 << sample) - near))


def small_corners(epsilon: Fraction, size: int, near: int) -> Corners:
    return Corners(size, near, largest_threshold(exp_bounds(epsilon)[0], near, 2 * size - near))


def small_geometry(epsilon: Fraction, size: int, order: int, digits: int) -> Geometry:
    near, far = (order ** (digits - 1) - 1) // (order - 1), order ** (digits - 1)
    return Geometry(size, order, digits, largest_threshold(exp_bounds(epsilon)[0], near, far))


def small_rows(
    epsilon: Fraction, rows: int, weight: int, size: int, width: int, optional: bool = False, levels: Levels = "even"
) -> Rows:
    """A rows channel whose law can be listed."""
    inside, all_ = weight * width, rows * (size + width * optional)
    threshold = largest_threshold(exp_bounds(epsilon)[0], inside, all_ - inside)
    return Rows(rows, weight, size, width, threshold, levels, optional)


def small_cells(epsilon: Fraction, sizes: tuple[int | None, ...], weight: int) -> Cells:
    count = math.prod(2 if size is None else size for size in sizes)
    return Cells(sizes, weight, largest_threshold(exp_bounds(epsilon)[0], weight, count - weight))


def picks_of(epsilon: Fraction, size: int, held: int, weight: int, jump: int) -> Picks:
    """A picks channel whose sets are likelier from `jump` held items on."""
    channel = made(exp_bounds(epsilon)[0], size, held, weight, jump)
    assert channel is not None
    return channel


SMALL: dict[str, Callable[[Fraction], Channel]] = {
    "duchi": duchi,
    "duchi-optional": lambda e: duchi(e, True),
    "window-5-2": lambda e: small_window(e, 5, 2),
    "window-8-6": lambda e: small_window(e, 8, 6),
    "window-16-3": lambda e: small_window(e, 16, 3),
    "window-9-2-optional": lambda e: small_window(e, 9, 2, True),
    "window-uneven": uneven_window,
    "mixture": small_mixture,
    "mixture-optional": lambda e: small_mixture(e, True),
    "grr-2": lambda e: grr(e, 2),
    "grr-5": lambda e: grr(e, 5),
    "subset-2": lambda e: subset(e, 2),
    "subset-9": lambda e: subset(e, 9),
    "subset-12": lambda e: subset(e, 12),
    "oue-2": lambda e: oue(e, 2),
    "oue-6": lambda e: oue(e, 6),
    "sue-6": lambda e: sue(e, 6),
    "laplace": lambda e: small_additive(e, lambda i: math.exp(-float(e) * i / 4), 4),
    "staircase": lambda e: small_additive(e, lambda i: 1 if i < 2 else math.exp(-float(e)), 5),
    "signs-1": lambda e: signs(e, 1),
    "signs-2": lambda e: signs(e, 2),
    "signs-5": lambda e: signs(e, 5),
    "signs-6": lambda e: signs(e, 6),
    "cube-1-1-1": lambda e: small_cube(e, 1, 1, 1),
    "cube-2-1-1": lambda e: small_cube(e, 2, 1, 1),
    "cube-4-3-2": lambda e: small_cube(e, 4, 3, 2),
    "cube-5-4-3": lambda e: small_cube(e, 5, 4, 3),
    "cube-4-4-4": lambda e: small_cube(e, 4, 4, 4),
    "corners-1-1": lambda e: small_corners(e, 1, 1),
    "corners-2-1": lambda e: small_corners(e, 2, 1),
    "corners-3-3": lambda e: small_corners(e, 3, 3),
    "corners-4-2": lambda e: small_corners(e, 4, 2),
    "geometry-5-2-3": lambda e: small_geometry(e, 5, 2, 3),
    "geometry-15-2-4": lambda e: small_geometry(e, 15, 2, 4),
    "geometry-13-3-3": lambda e: small_geometry(e, 13, 3, 3),
    "geometry-9-4-3": lambda e: small_geometry(e, 9, 4, 3),
    "cells-3": lambda e: cells(e, (3,)),
    "cells-2-2-2": lambda e: cells(e, (2, 2, 2)),
    "cells-4-3": lambda e: cells(e, (4, 3)),
    "cells-number-3": lambda e: cells(e, (None, 3)),
    "cells-2-number-number": lambda e: cells(e, (2, None, None)),
    "cells-numbers": lambda e: cells(e, (None, None)),
    "cells-sets-2-3": lambda e: small_cells(e, (2, 3), 2),
    "cells-sets-3-3": lambda e: small_cells(e, (3, 3), 4),
    "cells-sets-numbers-2": lambda e: small_cells(e, (None, None, 2), 3),
    "rows-2-1-2-1": lambda e: small_rows(e, 2, 1, 2, 1),
    "rows-3-1-5-2": lambda e: small_rows(e, 3, 1, 5, 2),
    "rows-4-2-3-1": lambda e: small_rows(e, 4, 2, 3, 1),
    "rows-3-2-4-2-uneven": lambda e: small_rows(e, 3, 2, 4, 2, levels=(-10, -9, 9, 10)),
    "rows-2-1-3-2-optional": lambda e: small_rows(e, 2, 1, 3, 2, True),
    "rows-4-2-2-1-optional": lambda e: small_rows(e, 4, 2, 2, 1, True),
    "rows-4-3-3-2-optional": lambda e: small_rows(e, 4, 3, 3, 2, True),
    "picks-4-1": lambda e: picks(e, 4, 1),
    "picks-6-2": lambda e: picks(e, 6, 2),
    "picks-7-3-3-2": lambda e: picks_of(e, 7, 3, 3, 2),
    "ladder-3-1": lambda e: small_ladder(e, (0, 1, 2), 1),
    "ladder-6-3": lambda e: small_ladder(e, (0, 1, 2, 4, 8, 16), 3),
    "ladder-two-sided": lambda e: small_ladder(e, (0, 6, 9, 10, 11, 14, 20), 5),
    "ladder-5-2-optional": lambda e: small_ladder(e, (0, 1, 3, 9, 27), 2, True),
}
"""Channels whose whole law can be listed."""

DESIGNED: dict[str, Callable[[Fraction], Channel]] = {
    "piecewise": piecewise,
    "piecewise-optional": lambda e: piecewise(e, True),
    "piecewise-sub": piecewise_sub,
    "hybrid": hybrid,
    "hybrid-optional": lambda e: hybrid(e, True),
    "laplace": laplace,
    "scdf": scdf,
    "staircase": staircase,
    "subset-100": lambda e: subset(e, 100),
    "subset-4096": lambda e: subset(e, 4096),
    "grr-1000": lambda e: grr(e, 1000),
    "oue-1000": lambda e: oue(e, 1000),
    "sue-1000": lambda e: sue(e, 1000),
    "signs-300": lambda e: signs(e, 300),
    "signs-301": lambda e: signs(e, 301),
    "signs-1000": lambda e: signs(e, 1000),
    "cube-16": lambda e: cube(e, 16),
    "cube-300": lambda e: cube(e, 300),
    "cube-1000-64": lambda e: small_cube(e, 1000, 64, 36),
    "corners-64": lambda e: corners(e, 64),
    "corners-300-20": lambda e: small_corners(e, 300, 20),
    "geometry-5000": lambda e: geometry(e, 5000),
    "geometry-1000000": lambda e: small_geometry(e, 1_000_000, 8, 8),
    "cells-4096": lambda e: cells(e, (16, None, 2, 64)),
    "picks-50-3": lambda e: picks(e, 50, 3),
    "picks-200-8": lambda e: picks(e, 200, 8),
    "rows-12": lambda e: groups.rows(e, 12),
    "rows-5-optional": lambda e: groups.rows(e, 5, True),
    "ladder": lambda e: ladder(e, Numeric("x", 0, 1e7, scale="log")),
    "ladder-two-sided-optional": lambda e: ladder(e, Numeric("x", -1e5, 1e6, optional=True, scale="log")),
    "ladder-fine": lambda e: ladder(e, Numeric("x", 0, 1e12, scale="log", unit=1.0)),
}
"""Channels of real size, whose law is too long to list."""


class Branches(Coins):
    """Explores every outcome of a sampler, with its exact probability.

    A word is explored in its lowest `bits` bits only, which is exact for samplers that use no others.
    """

    def __init__(self, path: list[int], bits: int) -> None:
        self._path = path
        self._at = 0
        self._bits = bits
        self.probability = Fraction(1)
        self.widths: list[int] = []

    def _choose(self, weights: list[Fraction]) -> int:
        if self._at == len(self._path):
            self._path.append(0)
        choice = self._path[self._at]
        self._at += 1
        self.widths.append(len(weights))
        self.probability *= weights[choice]
        return choice

    def word(self) -> int:
        return self._choose([Fraction(1, 1 << self._bits)] * (1 << self._bits))

    def below(self, n: int) -> int:
        return self._choose([Fraction(1, n)] * n)

    def several(self, sizes: Sequence[int]) -> list[int]:
        return [self.below(n) for n in sizes]

    def toss(self, threshold: int) -> bool:
        return not self._choose([Fraction(threshold, WORD), 1 - Fraction(threshold, WORD)])


def branches(sample: Callable[[Coins], Output], bits: int = 0) -> dict[Output, Fraction]:
    """Return the exact law of a sampler, by following every path that it can take."""
    law: dict[Output, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    while True:
        coins = Branches(path, bits)
        law[sample(coins)] += coins.probability
        while path and path[-1] + 1 == coins.widths[len(path) - 1]:
            path.pop()
        if not path:
            return law
        path[-1] += 1


def largest_ratio(channel: Channel, states: list[object]) -> Fraction:
    """The largest ratio of one output's probabilities, by comparing all laws."""
    laws = [channel.law(state) for state in states]
    assert all(law.keys() == laws[0].keys() for law in laws)
    worst = Fraction(1)
    for output in laws[0]:
        probabilities = {law[output] for law in laws}
        worst = max(worst, max(probabilities) / min(probabilities))
    return worst


MIXED = Schema(
    [
        Numeric("age", 0, 120),
        Numeric("height", -1.5, 2.5, out_of_range="clip"),
        Numeric("income", 0, 1e6, optional=True),
        Categorical("os", ["linux", "mac", "other"]),
        Categorical("code", [1, 2, 3, 5, 8, 13, 21, 34]),
        Categorical("smokes", ["yes", "no"], optional=True),
    ]
)

RECORD = {"age": 41, "height": 0.25, "income": None, "os": "mac", "code": 13, "smokes": "no"}

NUMBERS = Schema([Numeric(name, -1, 1) for name in "abcde"])


def joint_plan() -> Plan:
    """A mixed block in one cells channel, and an attribute beside it."""
    schema = Schema(
        [
            Numeric("x", 0, 10),
            Categorical("c", list("abc")),
            Categorical("s", ["yes", "no"], optional=True),
            Categorical("z", [1, 2]),
        ]
    )
    names = schema.names
    questions = (Question(names[:3], cells(Fraction(3), (None, 3, 3))), Question(names[3:], grr(Fraction(3), 2)))
    return Plan(schema, Fraction(3), 1, questions)


RELATED = Schema(
    [
        Numeric("age", 16, 96),
        Numeric("hours", 0, 80, optional=True),
        Categorical("edu", ["none", "school", "university"]),
        Categorical("region", ["north", "south"], optional=True),
    ]
)


def related_plan() -> Plan:
    """Questions that share attributes: every kind of view, rows with and without missing numbers, sets of cells."""
    wishes = [("edu", "age"), ("edu", "region"), ("region", "hours"), ("age", "hours"), ("age", "hours", "moments")]
    return design(
        RELATED, 1.0, relations=[*wishes, ("age", "edu", "table")], bands={"age": [24, 40]}, ranges={"age": 8}
    )


FAR = Schema(
    [
        Numeric("pay", 0, 1e7, "clip", scale="log"),
        Numeric("debt", -1e5, 1e6, optional=True, scale="log", unit=10.0),
        Categorical("os", ["linux", "mac", "other"]),
    ]
)


CHOICES = Schema(
    [
        Choices("uses", ["tv", "radio", "web", "paper", "phone"], most=2, optional=True),
        Numeric("age", 0, 120),
        Choices("likes", [f"dish {i}" for i in range(70)], most=3),
    ]
)


def plans() -> dict[str, Plan]:
    """Plans that use every channel between them."""
    return dict(_plans())


@cache
def _plans() -> dict[str, Plan]:
    plain = Schema(
        [Numeric("x", 0, 10), Numeric("y", -1, 1), Categorical("c", list("abcdefghij")), Categorical("b", ["0", "1"])]
    )
    result = {
        "default": design(MIXED, 1.0),
        "titled": design(MIXED, 1.0, title="größer ☂"),
        "k=3": design(MIXED, 4.0, k=3),
        "split": design(MIXED, 3.0, k="all"),
        "multi": design(NUMBERS, 1.0, numeric="duchi-multi"),
        "multi-even": design(Schema(NUMBERS.attributes[:4]), 1.0, numeric="duchi-multi"),
        "multi-split": design(plain, 2.0, numeric="duchi-multi", categorical="oue", k="all"),
        "cube": design(NUMBERS, 4.0, numeric="cube"),
        "cube-split": design(plain, 6.0, numeric="cube", k="all"),
        "corners": Plan(
            NUMBERS, Fraction(4), 1, (Question(NUMBERS.names, small_corners(Fraction(4), 5, 2)),), "corners"
        ),
        "cells": joint_plan(),
        "relations": related_plan(),
        "ladder": design(FAR, 2.0, k=2),
        "choices": design(CHOICES, 2.0, choices="members"),
        "picks": design(CHOICES, 2.0, choices="picks"),
        "wide": design(Schema([Categorical(f"c{i}", [1, 2]) for i in range(300)]), 1.0),
    }
    for numeric in ("hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase"):
        result[numeric] = design(plain, 2.0, numeric=numeric, k=2)
    for categorical in ("subset", "grr", "oue", "sue"):
        result[categorical] = design(plain, 1.0, categorical=categorical)
    return result


def any_record(plan: Plan, choose: Callable[[int], int]) -> dict[str, object]:
    """A valid record whose values are picked by `choose(n)`, an index below n."""
    record: dict[str, object] = {}
    for attribute in plan.schema.attributes:
        if attribute.optional and choose(4) == 0:
            record[attribute.name] = None
        elif isinstance(attribute, Numeric):
            record[attribute.name] = attribute.low + (attribute.high - attribute.low) * choose(1001) / 1000
        elif isinstance(attribute, Choices):
            first = choose(len(attribute.values))
            turned = (*attribute.values[first:], *attribute.values[:first])
            record[attribute.name] = list(turned[: choose(attribute.most + 1)])
        else:
            record[attribute.name] = attribute.values[choose(len(attribute.values))]
    return record
