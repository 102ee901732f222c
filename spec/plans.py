"""The plans of the vectors: one for each file, and records for which they are made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from math import comb, prod
from typing import Any

from hush.core.calendar import Date, Time
from hush.core.channels import Cells, Corners, Cube, Geometry, Ladder, Rows, Subset, Window
from hush.core.channels.geometry import points_of
from hush.core.channels.levels import Levels
from hush.core.channels.windowed import ROUNDING
from hush.core.design import design
from hush.core.design.categorical import grr
from hush.core.design.joint import cells
from hush.core.design.ladders import ladder as ladder_of
from hush.core.design.minimax import minimax
from hush.core.exact import aligned_threshold, exp_bounds, largest_threshold
from hush.core.kinds import Boolean, Integer
from hush.core.lists import Listed
from hush.core.plan import Plan, Question
from hush.core.schema import Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Bands, Product, Sides
from hush.core.word_views import Among

NUMBERS = Schema([Numeric("x", 0, 10), Numeric("y", -1.5, 2.25, out_of_range="clip")])


LETTERS = Schema([Categorical("two", ["yes", "no"]), Categorical("ten", range(10)), Categorical("many", range(70))])


OPTIONAL = Schema([Numeric("income", 0, 1e6, optional=True), Categorical("smokes", ["yes", "no"], optional=True)])


MIXED = Schema(
    [
        Numeric("age", 0, 120),
        Numeric("income", 0, 200_000, out_of_range="clip", optional=True),
        Categorical("système", ["linux", "mac", "ウィンドウズ"]),
        Categorical("code", [1, 2, 3, 5, 8, 13]),
        Categorical("smokes", ["yes", "no"], optional=True),
    ]
)


WHOLE = Schema(
    [
        Integer("scale", 1, 10),
        Integer("age", 0, 120, out_of_range="clip", optional=True),
        Integer("far", 1 - (1 << 53), (1 << 53) - 1),
    ]
)


DATES = Schema(
    [
        Date("birthday", "1920-02-29", "2020-12-31"),
        Date("ever", "0001-01-01", "9999-12-31", out_of_range="clip", optional=True),
        Time("wake_up", step=900),
        Time("bed_time", "18:00", "06:00", out_of_range="clip"),
        Time("second", "00:00:01", "12:00:00", step=1, optional=True),
        Date("near", "1969-12-31", "1970-01-02", out_of_range="clip"),
    ]
)


def odd_dates() -> Iterator[dict[str, Any]]:
    """Records for `DATES`: leap days, dates and times outside that are clipped, seconds that are left out."""
    days = ("1920-02-29", "2000-02-29", "2004-02-29", "1970-01-01", "1969-12-31", "2020-12-31", "1999-12-31")
    ever = ("0001-01-01", "9999-12-31", "1600-02-29", "1582-10-10", "0004-02-29", None, "1900-02-28")
    woken = ("00:00", "23:59:59", "07:14:59", "07:15", "07:15:00", "12:00", "23:45")
    bed = ("17:59", "06:01", "12:00:59", "12:01", "11:59", "00:00", "06:00:59")
    second = ("00:00:01", "12:00:00", "12:00", None, "06:30:30", "00:01", "01:01:01")
    near = ("0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "1970-01-02", "1970-01-03", "1969-12-30")
    for values in zip(days, ever, woken, bed, second, near, strict=True):
        yield dict(zip(DATES.names, values, strict=True))


OPEN = Schema(
    [
        Categorical("two", ["yes", "no"]),
        Categorical("browser", ["firefox", "é"], other=True),
        Categorical("long", ["x" * 256, ""], optional=True, other=True),
        Categorical("one", ["a"], other=True),
    ]
)


TRUTHS = Schema([Categorical("two", ["yes", "no"]), Boolean("smokes"), Boolean("drinks", optional=True)])


def levelled() -> Plan:
    """A window with levels of its own, as a designer makes them."""
    threshold = aligned_threshold(exp_bounds(Fraction(2))[0], 3, 5, ROUNDING)
    channel = Window(8, 3, threshold, (-1000, -700, -650, -10, 10, 650, 700, 1000))
    return Plan(Schema([Numeric("x", -1, 1)]), Fraction(2), 1, (Question(("x",), channel),), "levels")


FAR = Schema(
    [
        Numeric("pay", 0, 1e7, "clip", scale="log"),
        Numeric("balance", -1e5, 1e6, scale="log", unit=0.5),
        Numeric("debt", 0, 1e9, optional=True, scale="log", unit=1e3),
        Numeric("near", 5, 25),
    ]
)


def ladder(epsilon: float, knots: tuple[int, ...], width: int, optional: bool = False) -> Ladder:
    """A ladder with the largest threshold."""
    outside = len(knots) - 1 + width * optional
    return Ladder(knots, width, aligned_threshold(exp_bounds(Fraction(epsilon))[0], width, outside, ROUNDING), optional)


def dense() -> Plan:
    """As many knots as a ladder may have, and as close as they may lie; the plan follows another one."""
    top = 1 << 44
    knots = (*range(40), top // 3 - 1, *(top // 3 + i for i in range(40)), *(top - i for i in range(47, -1, -1)))
    schema = Schema([Numeric("x", -3, 5, scale="log", unit=1e-9), Numeric("y", 0, 1, optional=True)])
    questions = (Question(("x",), ladder(1, knots, 33)), Question(("y",), ladder(1, (0, 1, 3), 1, True)))
    return Plan(schema, Fraction(2), 2, questions, "dense", after=ladders().id)


def ladders() -> Plan:
    """Ladders as the designer makes them, of one side and two, optional or not, and one of a plain number."""
    wide = zip(FAR.attributes, (1, 2, 1), strict=False)
    made = [ladder_of(Fraction(epsilon), one) for one, epsilon in wide if isinstance(one, Numeric)]
    channels = (*made, ladder(1, (0, 1, 2, 4, 8), 2))
    return Plan(
        FAR, Fraction(5), 4, tuple(Question((name,), one) for name, one in zip(FAR.names, channels, strict=True)), "far"
    )


def on_knots(plan: Plan) -> Iterator[dict[str, Any]]:
    """Records on knots and next to them."""
    columns = []
    for question in plan.questions:
        attribute, channel = plan.schema[question.attributes[0]], question.channel
        assert isinstance(attribute, Numeric)
        assert isinstance(channel, Ladder)
        found = []
        for point in channel.grid[0][:: max(1, len(channel.knots) // 8)]:
            value = attribute.low + point * (attribute.high - attribute.low)
            near = (math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf))
            found += [one for one in near if attribute.low <= one <= attribute.high]
        columns.append(found)
    for i in range(max(map(len, columns))):
        yield dict(zip(plan.schema.names, [column[i % len(column)] for column in columns], strict=True))


def largest_cube() -> Plan:
    """As many signs as a cube may sample, where the ranks of corners need all 64 bits."""
    schema = Schema([Numeric(f"x{i}", -1, 1) for i in range(70)])
    near = sum(comb(64, i) for i in range(40, 65))
    channel = Cube(70, 64, 40, largest_threshold(exp_bounds(Fraction(6))[0], near, (1 << 64) - near))
    return Plan(schema, Fraction(6), 1, (Question(schema.names, channel),), "cube of 64")


def corners(size: int, near: int, epsilon: int) -> Plan:
    """The largest of some numbers: records of multiples of 1/1000 have ties."""
    schema = Schema([Numeric(f"x{i}", -1, 1) for i in range(size)])
    channel = Corners(size, near, largest_threshold(exp_bounds(Fraction(epsilon))[0], near, 2 * size - near))
    return Plan(schema, Fraction(epsilon), 1, (Question(schema.names, channel),), "corners")


def point(epsilon: float, size: int, order: int, digits: int) -> Geometry:
    """A geometry channel with the largest threshold."""
    near, far = points_of(order, digits - 1), order ** (digits - 1)
    return Geometry(size, order, digits, largest_threshold(exp_bounds(Fraction(epsilon))[0], near, far))


SPACES = {2: (2, 6), 3: (3, 4), 4: (4, 3), 5: (5, 3), 8: (8, 3), 9: (9, 3), 27: (27, 3), 61: (61, 3)}


def geometry() -> Plan:
    """Points of fields of prime order and others, as many categories as fit and as few, missing values too."""
    sizes = {order: points_of(*space) - 3 * (order % 4) for order, space in SPACES.items()}
    schema = Schema(
        [Categorical(f"c{order}", range(size - order % 2), optional=bool(order % 2)) for order, size in sizes.items()]
    )
    questions = tuple(Question((f"c{order}",), point(1, sizes[order], *SPACES[order])) for order in SPACES)
    return Plan(schema, Fraction(len(SPACES)), len(SPACES), questions, "geometry")


PAGES = Listed([f"https://example.org/{'☂' * (i % 3)}{i}" for i in range(5000)], "pages.txt")


def listed() -> Plan:
    """A list that the plan names by its hash."""
    schema = Schema([Categorical("two", ["yes", "no"]), Categorical("page", PAGES, optional=True, other=True)])
    return design(schema, 2.0, title="listed")


def joint() -> Plan:
    """A block of numbers and categories in one cells channel, and an attribute beside it."""
    schema = Schema(
        [
            Categorical("three", ["a", "b", "c"]),
            Numeric("x", 0, 10),
            Categorical("smokes", ["yes", "no"], optional=True),
            Categorical("many", range(20)),
            Numeric("y", -1.5, 2.25, out_of_range="clip"),
            Categorical("z", [1, 2]),
        ]
    )
    block = Question(schema.names[:5], cells(Fraction(4), (3, None, 3, 20, None)))
    return Plan(schema, Fraction(4), 1, (block, Question(("z",), grr(Fraction(4), 2))), "joint")


def rows(epsilon: float, g: int, w: int, n: int, width: int, levels: Levels = "even", optional: bool = False) -> Rows:
    """A rows channel with the largest threshold."""
    inside, cells_of_all = w * width, g * (n + width * optional)
    threshold = largest_threshold(exp_bounds(Fraction(epsilon))[0], inside, cells_of_all - inside)
    return Rows(g, w, n, width, threshold, levels, optional)


def table(epsilon: float, weight: int, *sizes: int | None) -> Cells:
    """A cells channel of sets, with the largest threshold."""
    count = prod(size or 2 for size in sizes)
    return Cells(sizes, weight, largest_threshold(exp_bounds(Fraction(epsilon))[0], weight, count - weight))


def subset_of(epsilon: float, size: int, weight: int = 1) -> Subset:
    """A subset channel with the largest threshold."""
    return Subset(size, weight, largest_threshold(exp_bounds(Fraction(epsilon))[0], weight, size - weight))


GROUPS = Schema(
    [
        Categorical("three", ["a", "b", "c"]),
        Categorical("many", range(70)),
        Categorical("smokes", ["yes", "no"], optional=True),
        Numeric("x", 0, 10),
        Numeric("y", -1.5, 2.25, out_of_range="clip"),
        Numeric("income", 0, 1e6, optional=True),
    ]
)


def grouped() -> Plan:
    """Numbers by category: small and large groups and sets, even levels and others, optional or not."""
    uneven = (-1000, -700, -650, -10, 10, 650, 700, 1000)
    questions = (
        Question(("three", "x"), rows(1, 3, 1, 2, 1)),
        Question(("many", "x"), rows(1, 70, 20, 8, 3, uneven)),
        Question(("smokes", "y"), rows(1, 3, 2, 16, 5)),
        Question(("three", "income"), rows(1, 3, 1, 8, 3, uneven, optional=True)),
        Question(("many", "income"), rows(1, 70, 69, 3, 1, optional=True)),
        Question((Bands("income", (1e3, 5e5)), "income"), rows(1, 4, 2, 2, 1, (-1, 1), optional=True)),
        Question((Bands("y", (0.0,)), "x"), rows(1, 2, 1, 300, 100)),
    )
    return Plan(GROUPS, Fraction(7), 7, questions, "rows")


def tables() -> Plan:
    """Sets of cells."""
    questions = (
        Question(("three", "many"), table(1, 57, 3, 70)),
        Question(("smokes", "x", "three"), table(1, 2, 3, None, 3)),
        Question(("x", "y"), table(1, 3, None, None)),
        Question((Bands("income", (0.0, 1e3)), Bands("x", (5.0,))), table(1, 2, 4, 2)),
    )
    return Plan(GROUPS, Fraction(3), 3, questions, "sets of cells")


SEEN = Schema(
    [
        Numeric("x", 0, 10),
        Numeric("y", -1.5, 2.25, out_of_range="clip"),
        Numeric("income", 0, 1e6, optional=True),
        Numeric("far", -1000, 1000),
    ]
)


CUTS = {
    "x": (0.0, 0.1, 0.3, 2.5, 7.0),
    "y": (-1.5, 0.7),
    "income": (1e3, 5e5, 999999.9),
    "far": (0.1, 0.30000000000000004),
}


def views() -> Plan:
    """Every kind of view, of numbers that may be missing and others."""
    number, maybe = minimax(Fraction(1), optional=False), minimax(Fraction(1), optional=True)
    pairs = (("x", "y"), ("income", "x"), ("far", "income"), ("x", "x"), ("income", "income"))
    optional = {name: SEEN[name].optional for name in SEEN.names}
    questions = [
        Question((Bands(name, cuts),), subset_of(1, len(cuts) + 1 + optional[name])) for name, cuts in CUTS.items()
    ]
    for one, other in pairs:
        missing = optional[one] or optional[other]
        sides = Sides((one, other), (CUTS[one][1], CUTS[other][-1]))
        questions.append(Question((sides,), subset_of(1, 2 + missing)))
        centres = (CUTS[one][-1], CUTS[other][1])
        product = Product((one, other), centres, 0.3 if missing else 1.0)
        questions.append(Question((product,), maybe if missing else number))
    questions.append(Question((Product(("far", "y"), (1000.0, -1.5), 2.0**-20),), number))
    questions.append(
        Question(("y", Bands("y", (1.0,)), Product(("x", "y"), (10.0, 0.0), 0.5)), table(1, 1, None, 2, None))
    )
    return Plan(SEEN, Fraction(16), 16, tuple(questions), "views")


def on_cuts() -> list[dict[str, Any]]:
    """Records on cuts, next to them, at the ends, and with missing numbers."""
    columns = []
    for name, cuts in CUTS.items():
        attribute = SEEN[name]
        assert isinstance(attribute, Numeric)
        found: list[float | None] = [attribute.low, attribute.high, *([None, None] if attribute.optional else [])]
        for cut in cuts:
            near = [math.nextafter(cut, -math.inf), cut, math.nextafter(cut, math.inf)]
            found += [value for value in near if attribute.low <= value <= attribute.high]
        columns.append(found)
    count = max(len(column) for column in columns)
    return [dict(zip(CUTS, [column[i % len(column)] for column in columns], strict=True)) for i in range(count)]


def related() -> Plan:
    """A plan as the designer makes it, with relations and a range."""
    relations: list[tuple[str, ...]] = [
        ("age", "income"),
        ("système", "income"),
        ("système", "smokes"),
        ("age", "code"),
    ]
    relations += [("age", "smokes", "table"), ("age", "income", "moments")]
    return design(MIXED, 1.0, relations=relations, bands={"age": [18, 40, 65]}, ranges={"age": 64}, title="relations")


CHOICES = Schema(
    [
        Categorical("c", ["a", "b"]),
        Choices("uses", ["tv", "radio", "ウェブ", "", "papier"], most=2, optional=True),
        Choices("likes", [f"dish {i}" for i in range(70)], most=3),
    ]
)


TEXTS = Schema(
    [
        Text("word", 4, "english", bits=24, optional=True),
        Text("sign", 3, case="keep", bits=30),
        Text("code", 5, "01-é", bits=12),
    ]
)


def listing() -> Plan:
    """A second round: which of some texts is it? Texts that may be missing, and others."""
    listed = (("word", ("", "cook", "law", "a")), ("sign", ("東", "", "a")), ("code", ("1-0é", "0")))
    questions = tuple(
        Question((Among(name, values),), subset_of(1, len(values) + 1 + TEXTS[name].optional))
        for name, values in listed
    )
    return Plan(TEXTS, Fraction(3), 3, questions, "listing")


def plans() -> dict[str, Plan]:
    """One plan for each file."""
    signs = {d: Schema([Numeric(f"x{i}", -1, 1) for i in range(d)]) for d in (5, 4, 70)}
    wide = Schema([Categorical(f"c{i}", ["a", "b"]) for i in range(300)])
    result = {
        name: design(NUMBERS, 2.0, numeric=name)
        for name in ("duchi", "piecewise", "piecewise-sub", "hybrid", "laplace", "scdf", "staircase")
    }
    for name in ("subset", "grr", "oue", "sue"):
        result[name] = design(LETTERS, 1.0, categorical=name)
    for d, schema in signs.items():
        result[f"duchi-multi-{d}"] = design(schema, 1.0, numeric="duchi-multi")
    for d, epsilon in ((5, 4.0), (4, 2.0), (70, 8.0)):
        result[f"cube-{d}"] = design(signs[d], epsilon, numeric="cube")
    result["cube-64"] = largest_cube()
    result |= {"corners-5": corners(5, 2, 1), "corners-64": corners(64, 45, 1), "corners-1": corners(3, 1, 4)}
    result["cells"] = joint()
    result |= {"geometry": geometry(), "listed": listed()}
    result |= {"rows": grouped(), "cells-sets": tables(), "views": views(), "relations": related()}
    result |= {"ladders": ladders(), "ladders-dense": dense()}
    result["choices"] = design(CHOICES, 3.0, choices="members", k=2)
    result["picks"] = design(CHOICES, 1.0, choices="picks")
    result["picks-late"] = design(Schema(CHOICES.attributes[:2]), 8.0, choices="picks")
    for name in ("duchi", "piecewise", "hybrid"):
        result[f"optional-{name}"] = design(OPTIONAL, 1.5, numeric=name)
    result["levels"] = levelled()
    result["mixed-k2"] = design(MIXED, 3.0, numeric="hybrid", k=2, title="größer ☂")
    result["mixed-split"] = design(MIXED, 5.0, numeric="piecewise", k="all")
    result["weighted"] = design(MIXED, 1.0, numeric="duchi", k="weighted", importance={"age": 3, "code": 0.1})
    result["wide"] = design(wide, 1.0)
    result |= {"texts": design(TEXTS, 4.0, title="texts"), "texts-listed": listing()}
    result["integer"] = design(WHOLE, 4.0, k="all", title="integer")
    result["dates"] = design(DATES, 6.0, k="all", title="dates")
    result["other"] = design(OPEN, 4.0, k="all", title="other")
    result["boolean"] = design(TRUTHS, 2.0, k="all", title="boolean")
    for name in ("piecewise", "hybrid", "laplace"):
        result[f"rounding-{name}"] = design(Schema([Numeric("x", 0, 1)]), 2.0, numeric=name, title="rounding")
    groups = Schema([Categorical("c", ["a", "b", "d"]), Numeric("x", 0, 1)])
    channel = rows(2, 3, 1, 300, 100)
    result["rounding-rows"] = Plan(groups, Fraction(2), 1, (Question(groups.names, channel),), "rounding")
    return result
