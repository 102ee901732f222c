"""What a stop-watch learns: how well the time of one report tells two records apart, on the worst plans that are valid.

For every kind of channel there is a plan that a hostile server could send, as large as plans may be, and two records
that are as different as they can be. Both are randomised in turns, in random order, many times. The share of right
guesses of the best threshold on the time is (1 + D)/2, where D is the largest distance of the two distributions; the
threshold is chosen afterwards, with both records known, so it flatters whoever measures.

The less noise a machine has, the smaller a difference it shows: some nanoseconds are enough for eight right guesses of
ten on a quiet one. So a leak also has a size, the distance of the two middle times as a share of a report's time, which
is the same on every machine.

Two times are taken: of the first report after a plan was read, and of later ones.

Somebody who has the report as well may learn more. The coin of a draw says nothing about the record, so a time that
reveals the coin is harmless by itself; but the report and its coin together are the record. So later times are also
compared among the reports that favour one record, among those that favour the other, and among all the rest.

`python -m tests.statistical.stopwatch [--keep] [--reports N] [NAME ...]` measures all plans, or those whose names begin
so. What is kept states the machine, its load at the beginning, and for each plan how much of the processors other
programs used meanwhile: a busy machine sees less.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from hush import Categorical, Choices, Date, Listed, Numeric, Plan, Schema, Text, Time, randomise
from hush.core.channels import Cells, Channel, Cube, Ladder, Mixture, Rows, Subset, Window
from hush.core.channels.cube import agreeing_corners
from hush.core.channels.ladder import MAX_KNOT
from hush.core.channels.window import ROUNDING
from hush.core.design.categorical import geometry, grr, oue
from hush.core.design.directions import corners
from hush.core.design.joint import cells
from hush.core.design.numeric import laplace, signs
from hush.core.design.sets import picks
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.core.looking import View
from hush.core.plan import Question
from hush.core.report import Report
from hush.core.schema import Attribute
from hush.core.texts import MAX_LENGTH
from hush.core.views import Bands, Product, Sides
from hush.core.word_views import Prefix
from hush.device.asking import Asked
from tests.statistical.favours import favours
from tests.statistical.machine import computed, machine, others

KEPT = Path(__file__).parents[2] / "docs" / "measured" / "stopwatch.json"
EPSILON = Fraction(1, 2)
BOUND = exp_bounds(EPSILON)[0]

Record = dict[str, Any]
Randomise = Callable[[Plan, Record], Report]


class Case(NamedTuple):
    """A plan and two records."""

    plan: Plan
    one: Record
    other: Record


def _nowhere(size: int) -> tuple[int, ...]:
    """Levels whose knots lie nowhere in particular."""
    upper = [(1 << 30) - y * y // 8 - 3 * y for y in range(size // 2)]
    return (*(-level for level in upper), *reversed(upper))


def uneven(size: int, width: int, optional: bool) -> Window:
    """A window with such levels."""
    outside = size if optional else size - width
    return Window(size, width, aligned_threshold(BOUND, width, outside, ROUNDING), _nowhere(size), optional)


def asking(attributes: Sequence[Attribute], channel: Channel, views: Sequence[View | str] = ()) -> Plan:
    """A plan with one question about all these attributes, as they are or through views."""
    schema = Schema(attributes)
    return Plan(schema, EPSILON, 1, (Question(views or schema.names, channel),))


def _about(attributes: Sequence[Attribute], channel: Channel, one: Any, other: Any) -> Case:
    names = [attribute.name for attribute in attributes]
    return Case(asking(attributes, channel), dict.fromkeys(names, one), dict.fromkeys(names, other))


def _numbers(count: int, optional: bool = False) -> list[Attribute]:
    return [Numeric(f"x{i}", 0, 1, optional=optional) for i in range(count)]


def _category(size: int) -> list[Attribute]:
    return [Categorical("c", range(size))]


def colliding() -> list[int]:
    """4096 categories of which the last are found after 4000 steps, if a dictionary of CPython holds all of them.

    A dictionary of 8192 places looks for an integer h at place h, then at 5i + 1 + (h >> 5), ...: when h is used up all
    follow one way. The first 4000 integers fill a part of that way, and the others meet it at its beginning.
    """
    way = [0]
    while len(way) < 4000:
        way.append(5 * way[-1] + 1 & 8191)
    left = {place: len(way) - i for i, place in enumerate(way)}

    def steps(code: int) -> int:
        rest, place, count = code, code & 8191, 0
        while place in left:
            if not rest:
                return count + left[place]
            rest >>= 5
            place, count = 5 * place + rest + 1 & 8191, count + 1
        return count

    return way + sorted(range(8192, 40_000), key=steps)[-96:]


def _coded(codes: list[int]) -> Case:
    return _about([Categorical("c", codes)], grr(EPSILON, len(codes)), codes[0], codes[-1])


def _cube(size: int) -> Cube:
    near = agreeing_corners(64, 36)
    return Cube(size, 64, 36, largest_threshold(BOUND, near, (1 << 64) - near))


def _window(optional: bool, cells: int) -> Window:
    return uneven(cells, cells // 4 + 1, optional)


def _rows(one: Any, other: Any, rows: int = 64, size: int = 1022) -> Case:
    """A category and a number that may be missing: half of the rows are named, with a quarter of their cells."""
    width = size // 4
    threshold = largest_threshold(BOUND, rows // 2 * width, rows * (size + width) - rows // 2 * width)
    channel = Rows(rows, rows // 2, size, width, threshold, _nowhere(size), True)
    plan = asking([Categorical("c", range(rows)), *_numbers(1, True)], channel)
    return Case(plan, {"c": 0, "x0": one}, {"c": rows - 1, "x0": other})


def _viewed(view: View, channel: Channel, one: Any, other: Any) -> Case:
    """Numbers that may be missing, through a view."""
    attributes = _numbers(len({*view.of}), True)
    plan = asking(attributes, channel, [view])
    return Case(plan, *(dict.fromkeys((item.name for item in attributes), value) for value in (one, other)))


def _bands(one: Any, other: Any, cuts: int = 4094) -> Case:
    """As many bands as there may be beside "missing", of widths that differ, for a number."""
    view = Bands("x0", tuple(((i + 1) / (cuts + 1)) ** 2 for i in range(cuts)))
    return _viewed(view, grr(EPSILON, cuts + 2), one, other)


def text(one: str | None, other: str | None, alphabet: str | None = None) -> Case:
    """A text as long as may be, whose code goes through a channel that hardly takes any time."""
    asked = Text("t", MAX_LENGTH, alphabet, optional=True)
    plan = asking([asked], grr(EPSILON, 9), [Prefix("t", (8, 8), 8)])
    return Case(plan, {"t": one}, {"t": other})


def _day(one: Any, other: Any) -> Case:
    asked = Date("d", "0001-01-01", "9999-12-31", optional=True)
    return _about([asked], uneven(16, 5, True), one, other)


def _clock(one: Any, other: Any) -> Case:
    return _about([Time("d", step=1, optional=True)], uneven(16, 5, True), one, other)


def _choices(one: list[str] | None, size: int = 1024, most: int = 16) -> Case:
    """No values, or no answer, and as many values as may be."""
    other = [f"{place}" for place in range(size - most, size)]
    attribute = Choices("c", [f"{place}" for place in range(size)], most, optional=True)
    return _about([attribute], picks(EPSILON, size + 1, most), one, other)


def _listed(one: Any, other: Any, size: int = 5000) -> Case:
    """A long list, whose table is made at the first record after a plan was read."""
    values = Listed([f"page {place}" for place in range(size)], "pages.txt")
    return _about([Categorical("c", values, optional=True)], geometry(EPSILON, size + 1), one, other)


def unasked() -> Case:
    """A text that nobody asks for, and which a record may leave out: to be answered by `deal`."""
    schema = Schema([Numeric("x", 0, 1), Text("t", MAX_LENGTH, optional=True)])
    questions = (Question(("x",), uneven(16, 5, False)), Question((Prefix("t", (8, 8), 8),), grr(EPSILON, 9)))
    return Case(Plan(schema, EPSILON, 1, questions), {"x": 0.5}, {"x": 0.5, "t": "a" * MAX_LENGTH})


def deal(plan: Plan, record: Record) -> Report:
    """Return a report that answers the first question, as a ticket may have it."""
    id_ = next(
        id_ for i in range(1 << 16) if Asked(plan, id_ := i.to_bytes(16, "big")).questions == (0,)
    )  # public, and the same for all records
    return Asked(plan, id_).answer(record)


def _ladder(optional: bool) -> Ladder:
    """As many knots as a ladder may have, close to each other at both ends, where a search may end early."""
    knots = (*range(64), *(MAX_KNOT - i for i in range(64, -1, -1)))
    outside = len(knots) - 1 + 33 * optional
    return Ladder(knots, 33, aligned_threshold(BOUND, 33, outside, ROUNDING), optional)


def _mixture(cells: int) -> Mixture:
    return Mixture((WORD // 2, WORD // 2), (_window(True, cells), uneven(2048, 17, True)))


CELLS = 32768  # as many as a window may have

CASES: dict[str, Callable[..., Case]] = {
    "window, missing or not": lambda cells=CELLS: _about(_numbers(1, True), _window(True, cells), None, 0.99),
    "window, low or high": lambda cells=CELLS: _about(_numbers(1), _window(False, cells), 0.0, 1.0),
    "window, even, low or high": lambda cells=CELLS: _about(
        _numbers(1), Window(cells, 1, aligned_threshold(BOUND, 1, cells - 1, ROUNDING)), 0.0, 1.0
    ),
    "window, clipped or not": lambda cells=CELLS: _about(
        [Numeric("x0", 0, 1, out_of_range="clip")], _window(False, cells), 0.5, 1.5
    ),
    "window, bounds far apart": lambda cells=CELLS: _about(  # of the second, a part of the domain is a subnormal number
        [Numeric("x0", 0, 1e308)], _window(False, cells), 0.0, 1e-10
    ),
    "mixture, missing or not": lambda cells=CELLS: _about(_numbers(1, True), _mixture(cells), None, 0.99),
    "ladder, missing or not": lambda: _about(_numbers(1, True), _ladder(True), None, 0.99),
    "ladder, low or high": lambda: _about(_numbers(1), _ladder(False), 0.0, 1.0),
    "subset of all but one": lambda: _about(
        _category(4096), Subset(4096, 4095, largest_threshold(BOUND, 4095, 1)), 0, 4095
    ),
    "subset of one": lambda: _about(_category(4096), grr(EPSILON, 4096), 0, 4095),
    "subset of one, of codes that collide": lambda: _coded(colliding()),
    "unary": lambda size=4096: _about(_category(size), oue(EPSILON, size), 0, size - 1),
    "geometry": lambda size=4096: _about(_category(size), geometry(EPSILON, size), 0, size - 1),
    "additive": lambda: _about(_numbers(1), laplace(Fraction(1, 20)), 0.0, 1.0),
    "signs, even": lambda size=1024: _about(_numbers(size), signs(EPSILON, size), 0.0, 1.0),
    "signs, odd": lambda size=1023: _about(_numbers(size), signs(EPSILON, size), 0.0, 1.0),
    "cube": lambda size=1024: _about(_numbers(size), _cube(size), 0.0, 1.0),
    "corners": lambda size=1024: _about(_numbers(size), corners(EPSILON, size), 0.0, 1.0),
    "cells": lambda: _about(
        [Categorical("a", range(64)), Categorical("b", range(64))], cells(EPSILON, (64, 64)), 0, 63
    ),
    "cells, sets": lambda size=64: _about(
        [Categorical("a", range(size)), Categorical("b", range(size))],
        Cells((size, size), size * size // 2, largest_threshold(BOUND, 1, 1)),
        0,
        size - 1,
    ),
    "rows, low or high": lambda rows=64: _rows(0.0, 1.0, rows),
    "rows, missing or not": lambda rows=64: _rows(None, 0.99, rows),
    "bands, low or high": lambda: _bands(0.0, 1.0),
    "bands, missing or not": lambda: _bands(None, 0.99),
    "sides, missing or not": lambda: _viewed(Sides(("x0", "x1"), (0.25, 0.75)), grr(EPSILON, 3), None, 0.99),
    "product, missing or not": lambda: _viewed(
        Product(("x0", "x1"), (0.5, 0.5), 0.25), _window(True, CELLS), None, 0.99
    ),
    "picks, none or many": lambda size=1024: _choices([], size),
    "picks, missing or not": lambda size=1024: _choices(None, size),
    "long list, missing or not": lambda: _listed(None, "page 4999"),
    "text, missing or not": lambda: text(None, "a" * MAX_LENGTH),
    "text, long or not": lambda: text("", "a" * 4096),
    "text, wide or not": lambda: text("a" * MAX_LENGTH, "\U0001f600" * MAX_LENGTH),
    "text, composed or not": lambda: text("caf\u00e9", "cafe\u0301"),
    "text of letters, missing or not": lambda: text(None, "a" * MAX_LENGTH, "english"),
    "text of letters, others dropped": lambda: text("a" * MAX_LENGTH, "7" * 256, "english"),
    "text, not asked for, left out or not": unasked,
    "date, missing or not": lambda: _day(None, date(9999, 12, 31)),
    "date, early or late": lambda: _day("0001-01-01", "9999-12-31"),
    "time, missing or not": lambda: _clock(None, time_of_day(23, 59, 59)),
    "time, early or late": lambda: _clock("00:00", "23:59:59"),
}
DEALT = {"text, not asked for, left out or not"}
"""Cases that `deal` answers: what is measured is the time of an attribute that is not asked for."""


def action_of(name: str) -> Randomise:
    """Return how the reports of a case are made."""
    return deal if name in DEALT else randomise


GIVEN: dict[str, Callable[..., Case]] = {
    # Where a report that favours a record is rare under the other one, a plan of the same kind for which it is not.
    # Values next to each other have no reports that favour one of them; nor has a text that is written in two ways, or
    # that nobody asks for.
    **{
        name: make
        for name, make in CASES.items()
        if not name.startswith(
            ("subset", "window, even", "window, bounds", "cells", "bands", "text, composed", "text, not asked")
        )
    },
    "text of letters, others dropped": lambda: text("b" * MAX_LENGTH, "7" * 256, "english"),  # at different points
    "window, even, low or high": lambda: _about(
        _numbers(1), Window(CELLS, 8193, aligned_threshold(BOUND, 8193, CELLS - 8193, ROUNDING)), 0.0, 1.0
    ),
    "subset of half": lambda size=4096: _about(
        _category(size), Subset(size, size // 2, largest_threshold(BOUND, 1, 1)), 0, size - 1
    ),
    "subset of one": lambda: _about(_category(8), grr(EPSILON, 8), 0, 7),
    "cells": lambda: _about([Categorical("a", range(2)), Categorical("b", range(4))], cells(EPSILON, (2, 4)), 0, 1),
    "cells, sets": CASES["cells, sets"],
    "bands, low or high": lambda: _bands(0.0, 1.0, 6),
    "bands, missing or not": lambda: _bands(None, 0.99, 6),
}


def guess(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the share of right guesses of the best threshold, chosen afterwards: (1 + D)/2."""
    pool = sorted([(value, 1 / len(one)) for value in one] + [(value, -1 / len(other)) for value in other])
    distance = largest = 0.0
    for i, (value, step) in enumerate(pool):
        distance += step
        if i + 1 == len(pool) or pool[i + 1][0] != value:
            largest = max(largest, abs(distance))
    return (1 + largest) / 2


def by_chance(n: int, alarm: float) -> float:
    """Return how many guesses are right at most if both times have the same law, but for this probability.

    For n times each, P(D > d) <= e * exp(-n*d^2) (Wei and Dudley, Two-sample Dvoretzky-Kiefer-Wolfowitz inequalities,
    2012).
    """
    return (1 + min(1.0, math.sqrt(math.log(math.e / alarm) / n))) / 2


class Seen(NamedTuple):
    """What times of two records show: the share of right guesses, of how many times each, and the size of the leak."""

    share: float
    times: int
    size: float

    def shows(self, alarm: float, left: float, small: float) -> bool:
        """Return whether neither chance nor what is left explains the guesses, and the leak is not a small one."""
        return self.share >= by_chance(self.times, alarm) + left and self.size > small


def compare(one: Sequence[int], other: Sequence[int]) -> Seen:
    """Return what times of two records show."""
    middle = statistics.median(one), statistics.median(other)
    return Seen(guess(one, other), min(len(one), len(other)), abs(middle[0] - middle[1]) / min(middle))


def later(case: Case, n: int, action: Randomise = randomise, seed: int = 1) -> Seen:
    """Return how well the time of a report tells the records apart, from n reports of each after some to warm up."""
    for record in (case.one, case.other) * 3:
        action(case.plan, record)
    return compare(*_times(case, n, lambda: case.plan, action, seed)[0])


def given(case: Case, n: int, action: Randomise = randomise, seed: int = 1) -> list[Seen]:
    """Return how well time tells the records apart for somebody who has the report, for each kind of report.

    Of n reports of each record the kinds have different numbers. Equally many are compared, from all of the run, as a
    machine is not equally fast throughout. Kinds that are met less than ten times of either are left out.
    """
    for record in (case.one, case.other) * 3:
        action(case.plan, record)
    times, reports = _times(case, n, lambda: case.plan, action, seed)
    side, found, some = favours(*case), [], random.Random(seed)
    for kind in (1, -1, 0):
        one, other = (
            [value for value, report in zip(*both, strict=True) if side(report) == kind]
            for both in zip(times, reports, strict=True)
        )
        count = min(len(one), len(other))
        if count >= 10:
            found.append(compare(some.sample(one, count), some.sample(other, count)))
    return found


def first(case: Case, n: int, action: Randomise = randomise, seed: int = 1) -> Seen:
    """Return the same for the first report after reading the plan. Reading it is not timed."""
    text = case.plan.to_json()
    return compare(*_times(case, n, lambda: Plan.from_json(text), action, seed)[0])


Both = tuple[list[int], list[int]]


def _times(
    case: Case, n: int, plan: Callable[[], Plan], action: Randomise, seed: int
) -> tuple[Both, tuple[list[Report], list[Report]]]:
    """Return the times of n reports of each record, and the reports.

    Times are those of the processor: a busy machine would blur what a clock on the wall shows.
    """
    order = random.Random(seed)
    times: Both = ([], [])
    reports: tuple[list[Report], list[Report]] = ([], [])
    for _ in range(n):
        for side in order.sample((0, 1), 2):
            read, record = plan(), (case.one, case.other)[side]
            start = time.thread_time_ns()
            report = action(read, record)
            times[side].append(time.thread_time_ns() - start)
            reports[side].append(report)
    return times, reports


def main() -> None:
    """Measure all plans, or those whose names begin as given; print a table, and keep it with --keep."""
    parser = argparse.ArgumentParser(description="What a stop-watch learns.")
    parser.add_argument("names", nargs="*", default=[""], help="as names of plans begin; all if none is given")
    parser.add_argument("--keep", action="store_true", help="keep the result, for the documents")
    parser.add_argument("--reports", type=int, default=20_000, help="of each record, at most (fewer: a trial)")
    options = parser.parse_args()
    run, began = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), machine()
    print(*(f"{key}: {value}" for key, value in began.items()), sep="; ")
    found: dict[str, dict[str, Any]] = {}
    print(f"{'plan':36} {'first report':>18} {'later ones':>18} {'given the report':>18}   (0.5: nothing is learnt)")
    names = [*CASES, *(name for name in GIVEN if name not in CASES)]
    for name in names:
        if not name.startswith(tuple(options.names)):
            continue
        before = computed()
        row = found[name] = measured(name, options.reports)
        row |= {"run": run, "others": others(before, computed())}
        print(f"{name:36}", *(f"{_shown(row, *columns):>18}" for columns in SHOWN), flush=True)
    if options.keep:
        KEPT.write_text(json.dumps(merged(names, found, {run: began}), indent=1) + "\n", encoding="utf-8")


SHOWN = (("first", "first_size"), ("later", "size"), ("given", "given_size"))
"""The shares of right guesses, and the sizes of the leaks."""


def measured(name: str, most: int) -> dict[str, Any]:
    """Return what a stop-watch learns on one plan, from so many reports of each record at most."""
    row: dict[str, Any] = {}
    if name in CASES:
        case, few = CASES[name](), min(100, most)
        many = _affordable(case, most)
        action = action_of(name)
        before, after = first(case, few, action), later(case, many, action)
        row |= {"first": round(before.share, 3), "later": round(after.share, 3), "size": round(after.size, 4)}
        row |= {"first_size": round(before.size, 4), "few": few, "many": many}
    if name in GIVEN:
        case = GIVEN[name]()
        # The kind of report that says most, by how far it is above what chance may reach.
        kinds = given(case, _affordable(case, most))
        seen = max(kinds, key=lambda one: one.share - by_chance(one.times, 0.01))
        row |= {"given": round(seen.share, 3), "count": seen.times, "given_size": round(seen.size, 4)}
    return row


def merged(names: Sequence[str], found: dict[str, Any], runs: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept: these plans, the others as they were kept before, and the runs that measured them."""
    old = json.loads(KEPT.read_text(encoding="utf-8"))
    plans = old.get("plans", old) | found  # files were once plans alone
    plans = {name: plans[name] for name in names if name in plans}
    every = old.get("runs", {}) | runs
    return {"runs": {run: every[run] for run in every if any(row.get("run") == run for row in plans.values())}} | {
        "plans": plans
    }


def _shown(row: dict[str, Any], share: str, size: str) -> str:
    return f"{row[share]:.3f} ({100 * row[size]:5.2f} %)" if share in row else ""


def _affordable(case: Case, most: int) -> int:
    """Return how many reports of each record take the processor some five seconds, from 300 to `most`."""
    for record in (case.one, case.other) * 3:
        start = time.thread_time()
        randomise(case.plan, record)
    return min(most, max(300, int(2.5 / (time.thread_time() - start))))


if __name__ == "__main__":
    main()
