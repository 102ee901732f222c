"""Writes spec/vectors: words in, reports out, for every channel. `make vectors` runs it; the tests replay the result.

Other implementations are held to the same files. They are made by this one, whose samplers the tests prove exact.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import comb, prod
from pathlib import Path
from typing import Any

from hush.core import codec
from hush.core.channels import Additive, Cells, Cube, Grouped, Ladder, Mixture, Rows, Subset, Window
from hush.core.channels.levels import Levels
from hush.core.channels.windowed import ROUNDING
from hush.core.coins import Coins
from hush.core.design import design
from hush.core.design.categorical import grr
from hush.core.design.joint import cells
from hush.core.design.ladders import ladder as ladder_of
from hush.core.design.minimax import minimax
from hush.core.design.numeric import decays_of, duchi
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.core.plan import Plan, Question
from hush.core.report import Report, index_width
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from hush.core.views import Bands, Product, Sides
from hush.device.randomise import randomise_from
from hush.server.tally import Tally
from hush.testing import ListedCoins, RecordedCoins, SeededCoins

HERE = Path(__file__).parent / "vectors"

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
    result["cells"] = joint()
    result |= {"rows": grouped(), "cells-sets": tables(), "views": views(), "relations": related()}
    result |= {"ladders": ladders(), "ladders-dense": dense()}
    for name in ("duchi", "piecewise", "hybrid"):
        result[f"optional-{name}"] = design(OPTIONAL, 1.5, numeric=name)
    result["levels"] = levelled()
    result["mixed-k2"] = design(MIXED, 3.0, numeric="hybrid", k=2, title="größer ☂")
    result["mixed-split"] = design(MIXED, 5.0, numeric="piecewise", k="all")
    result["weighted"] = design(MIXED, 1.0, numeric="duchi", k="weighted", importance={"age": 3, "code": 0.1})
    result["wide"] = design(wide, 1.0)
    for name in ("piecewise", "hybrid", "laplace"):
        result[f"rounding-{name}"] = design(Schema([Numeric("x", 0, 1)]), 2.0, numeric=name, title="rounding")
    groups = Schema([Categorical("c", ["a", "b", "d"]), Numeric("x", 0, 1)])
    channel = rows(2, 3, 1, 300, 100)
    result["rounding-rows"] = Plan(groups, Fraction(2), 1, (Question(groups.names, channel),), "rounding")
    return result


def fused(plan: Plan) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Records and words for which u*n - s, computed as one operation that rounds once, gives another report.

    The product lies half an interval of words above s, so that it is not rounded up; before it was rounded to a float64
    it was larger.
    """
    channel = plan.questions[0].channel
    head: list[int] = []
    if isinstance(channel, Mixture):
        head, channel = [0], channel.parts[0]
    steps = (
        channel.steps if isinstance(channel, Additive) else channel.last if isinstance(channel, Window | Rows) else 0
    )
    pick = SeededCoins(5)
    made = 0
    while steps and made < 12:
        s, low = pick.below(steps - 1), pick.below(ROUNDING)
        share = Fraction(2 * low + 1, 2 * ROUNDING)  # where the word with these lower bits rounds
        u = float((s + share) / steps)
        if u * steps - s != share or Fraction(u) * steps <= s + share:
            continue
        made += 1
        inside = pick.below(channel.threshold >> 24) << 24 if isinstance(channel, Window) else 0
        word = inside + low if isinstance(channel, Window) else int(share * WORD)
        # The coin of rows shows the window, where a cell more or less is seen.
        coin, others = ([0], {"c": "a"}) if isinstance(channel, Rows) else ([], {})
        yield {"x": u, **others}, [*head, word, *coin, *(pick.word() for _ in range(14))]


def record(plan: Plan, pick: Coins, corner: int | None) -> dict[str, Any]:
    """A record of ordinary values, or one at a corner of the domain."""
    values: dict[str, Any] = {}
    for attribute in plan.schema.attributes:
        if attribute.optional and (pick.below(3) == 0 or corner == 2):
            values[attribute.name] = None
        elif isinstance(attribute, Categorical):
            values[attribute.name] = attribute.values[pick.below(len(attribute.values))]
        elif corner is not None:
            values[attribute.name] = (attribute.low, attribute.high, (attribute.low + attribute.high) / 2)[corner]
        else:
            share = pick.below(2**53) / 2**53
            values[attribute.name] = attribute.low + share * (attribute.high - attribute.low)
    return values


class Extreme(Coins):
    """Words that are all zeros or all ones, then seeded ones, so that every rejection ends."""

    def __init__(self, first: int, count: int, seed: int) -> None:
        self._first, self._count, self._rest = first, count, SeededCoins(seed)

    def word(self) -> int:
        """Return the next word."""
        self._count -= 1
        return self._first if self._count >= 0 else self._rest.word()


def sources() -> Iterator[tuple[Coins, int | None]]:
    """Words for the good vectors, and the corner at which the record lies."""
    for seed in range(24):
        yield SeededCoins(seed), None if seed >= 3 else seed
    for count in (1, 2, 3, 5):
        yield Extreme(0, count, count), None
        yield Extreme(WORD - 1, count, count), None


def good(plan: Plan) -> list[tuple[dict[str, Any], Report]]:
    """Vectors with their reports."""
    result = []
    step = 1 if len(plan.schema) < 50 else 4  # long records make long files
    for number, (source, corner) in [*enumerate(sources())][::step]:
        values = record(plan, SeededCoins(1000 + number), corner)
        coins = RecordedCoins(source)
        report = randomise_from(coins, plan, values)
        assert randomise_from(ListedCoins(coins.words), plan, values) == report
        result.append((_vector(values, coins.words, report), report))
    ladders_only = all(isinstance(question.channel, Ladder) for question in plan.questions)
    for number, values in enumerate(on_cuts() if plan.title == "views" else on_knots(plan) if ladders_only else ()):
        coins = RecordedCoins(SeededCoins(100 + number))
        report = randomise_from(coins, plan, values)
        result.append((_vector(values, coins.words, report), report))
    for values, words in fused(plan) if "rounding" in plan.title else ():
        coins = RecordedCoins(ListedCoins(words))
        report = randomise_from(coins, plan, values)
        result.append((_vector(values, coins.words, report), report))
    return result


def _vector(values: dict[str, Any], words: list[int], report: Report) -> dict[str, Any]:
    return {
        "record": values,
        "words": [f"{word:016x}" for word in words],
        "report": report.encode().hex(),
        "json": report.to_json(),
    }


def bad_records(plan: Plan) -> Iterator[dict[str, Any]]:
    """Records that must be refused before a word is drawn. {"number": "NaN"} stands for what JSON cannot say."""
    fine = record(plan, SeededCoins(7), 2)
    first = plan.schema.attributes[0]
    yield {"why": "unknown attribute", "record": fine | {"nobody": 1}}
    values: list[Any] = [None, True, "surely not a value", [], {"number": "NaN"}, {"number": "Infinity"}]
    for value in values:
        if value is None and first.optional:
            continue
        yield {"why": "bad value", "record": fine | {first.name: value}}
    for attribute in plan.schema.attributes[:6]:
        if isinstance(attribute, Numeric) and attribute.out_of_range == "error":
            yield {"why": "out of range", "record": fine | {attribute.name: attribute.high * 2 + 1}}
            yield {"why": "out of range", "record": fine | {attribute.name: attribute.low - 1e-9}}
        elif isinstance(attribute, Categorical):
            yield {"why": "unknown category", "record": fine | {attribute.name: "(missing)"}}
            yield {"why": "wrong type", "record": fine | {attribute.name: 1.5}}


def bad_reports(plan: Plan, report: Report) -> Iterator[dict[str, str]]:
    """Bytes that are no report of this plan."""
    data = report.encode()
    index = report.answers[0][0]
    yield {"why": "empty", "report": ""}
    yield {"why": "version 1", "report": (bytes([1]) + data[1:]).hex()}
    yield {"why": "a later version", "report": (bytes([3]) + data[1:]).hex()}
    yield {"why": "wrong plan", "report": (data[:1] + bytes([data[1] ^ 1]) + data[2:]).hex()}
    yield {"why": "cut short", "report": data[:-1].hex()}
    yield {"why": "trailing byte", "report": (data + b"\0").hex()}
    if plan.k < len(plan.questions):
        width = 1 if len(plan.questions) <= 256 else 2
        beyond = len(plan.questions).to_bytes(width, "big")
        yield {"why": "no such question", "report": (data[:25] + beyond + data[25 + width :]).hex()}
        if plan.k > 1:
            size = width + plan.questions[index].channel.alphabet.width
            answer = data[25 : 25 + size]
            yield {"why": "question answered twice", "report": (data[:25] + answer * plan.k).hex()}
    alphabet = plan.questions[report.answers[-1][0]].channel.alphabet
    top = (1 << 8 * alphabet.width) - 1
    for output in (top, 0):
        encoded = data[: -alphabet.width] + output.to_bytes(alphabet.width, "big")
        if not valid(plan, encoded):
            yield {"why": "output outside the alphabet", "report": encoded.hex()}


def two_of_one(plan: Plan, report: Report) -> Iterator[dict[str, str]]:
    """Bytes of the right number of members, two of them of one group: both signs of an attribute, cells of one row."""
    data = report.encode()
    at = len(data)
    width = index_width(plan)
    for index, _ in reversed(report.answers):
        alphabet = plan.questions[index].channel.alphabet
        end, at = at, at - alphabet.width
        if isinstance(alphabet, Grouped) and alphabet.weight is not None and alphabet.weight > 1:
            step = alphabet.group
            for first in {0, step - 2}:
                others = range(step, step * (alphabet.weight - 1), step)
                pair = alphabet.pack((first, first + 1, *others))
                yield {"why": "two members of one group", "report": (data[:at] + pair + data[end:]).hex()}
        at -= width


def valid(plan: Plan, data: bytes) -> bool:
    """Whether these bytes are a report."""
    try:
        Report.decode(plan, data)
    except ValueError:
        return False
    return True


def bad_json(report: Report) -> Iterator[dict[str, str]]:
    """Texts that are no report of this plan."""
    values = json.loads(report.to_json())
    answers = values["answers"]
    changes: dict[str, dict[str, Any]] = {
        "version 1": {"hush": 1},
        "a later version": {"hush": 3},
        "version as text": {"hush": "2"},
        "wrong plan": {"plan": "0" * 64},
        "short id": {"id": values["id"][:-2]},
        "upper-case id": {"id": "ABCDEF" + values["id"][6:]},
        "no answers": {"answers": []},
        "question as text": {"answers": [["0", answers[0][1]], *answers[1:]]},
        "negative question": {"answers": [[-1, answers[0][1]], *answers[1:]]},
        "output as text": {"answers": [[answers[0][0], "1"], *answers[1:]]},
        "output as fraction": {"answers": [[answers[0][0], 1.5], *answers[1:]]},
        "output as boolean": {"answers": [[answers[0][0], True], *answers[1:]]},
        "output too large": {"answers": [[answers[0][0], 10**6], *answers[1:]]},
        "output a set too large": {"answers": [[answers[0][0], [0, 10**6]], *answers[1:]]},
        "answer of three": {"answers": [[*answers[0], 0], *answers[1:]]},
        "extra field": {"extra": 1},
    }
    for why, change in changes.items():
        yield {"why": why, "text": json.dumps(values | change)}
    yield {"why": "missing field", "text": json.dumps({key: values[key] for key in ("hush", "plan", "id")})}
    yield {"why": "repeated key", "text": report.to_json()[:-1] + ',"hush":2}'}
    yield {"why": "not JSON", "text": report.to_json()[:-1]}


def vectors(name: str, plan: Plan) -> dict[str, Any]:
    """The whole file of one plan."""
    cases = good(plan)
    tally = Tally(plan)
    for _, report in cases:
        tally.add(report)
    return {
        "about": f"{name}: see spec/wire.md",
        "plan": plan.to_json(),
        "id": plan.id,
        "good": [vector for vector, _ in cases],
        "tally": {"json": codec.dump(json.loads(tally.to_json())["tally"]), "binary": tally.encode().hex()},
        "bad_records": [*bad_records(plan)],
        "bad_reports": [*bad_reports(plan, cases[4][1]), *two_of_one(plan, cases[4][1])],
        "bad_json": [*bad_json(cases[4][1])],
    }


def bad_plans() -> dict[str, Any]:
    """Plans that must not load: each differs from a good one in one place."""
    good_plan = design(Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b"])]), 1.0, numeric="duchi")
    values = json.loads(good_plan.to_json())

    def changed(why: str, *path: str | int, to: Any) -> dict[str, str]:
        copy = json.loads(good_plan.to_json())
        at = copy
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = to
        return {"why": why, "text": codec.dump(copy)}

    threshold = int(values["questions"][0]["channel"]["threshold"])
    channel = ("questions", 0, "channel")
    log: dict[str, Any] = values["schema"][0] | {"scale": "log"}
    without_after = {
        "why": "no field for the plan before",
        "text": codec.dump({key: value for key, value in values.items() if key != "after"}),
    }
    fine = [
        changed("", "schema", 0, to=log),
        *(changed("", "schema", 0, to=log | {"unit": unit}) for unit in (5e-324, 1e-05, math.nextafter(1.0, 0))),
        changed("", "after", to="0123456789abcdef" * 4),
    ]
    return {
        "about": "plans that must be refused, beside plans that are good",
        "good": [good_plan.to_json(), *(one["text"] for one in fine)],
        "bad": [
            changed("threshold breaks epsilon by one step", *channel, "threshold", to=str(threshold + ROUNDING)),
            changed("threshold with lower bits", *channel, "threshold", to=str(threshold - 1)),
            changed("threshold below one half", *channel, "threshold", to=str(WORD // 4)),
            changed("threshold as number", *channel, "threshold", to=12345),
            changed("threshold of 2^64", *channel, "threshold", to=str(WORD)),
            changed("threshold with a leading zero", *channel, "threshold", to="0" + str(threshold)),
            changed("window as wide as all", *channel, "width", to=2),
            changed("levels not antisymmetric", *channel, "levels", to=[-1, 2]),
            changed("levels that do not increase", *channel, "levels", to=[0, 0]),
            changed("optional channel, attribute not", *channel, "optional", to=True),
            changed("unknown kind", *channel, "kind", to="laplace"),
            changed("extra field", *channel, "seed", to=7),
            changed("epsilon lowered", "epsilon", to="0.9"),
            changed("epsilon as number", "epsilon", to=1.0),
            changed("epsilon out of range", "epsilon", to="17.0"),
            changed("epsilon written otherwise", "epsilon", to="1.00"),
            changed("k raised", "k", to=2),
            changed("k of nothing", "k", to=0),
            changed("weights too few", "weights", to=[1]),
            changed("weight of nothing", "weights", to=[0, 1]),
            changed("weights as text", "weights", to=["1", "1"]),
            changed("version 1", "hush", to=1),
            changed("a later version", "hush", to=3),
            changed("no questions", "questions", to=[]),
            changed("question missing", "questions", to=values["questions"][:1]),
            changed("question twice", "questions", to=[*values["questions"], values["questions"][0]]),
            changed("categories do not fit", "schema", 1, "values", to=["a", "b", "c"]),
            changed("low not below high", "schema", 0, "low", to=1.0),
            changed("a scale that is not known", "schema", 0, "scale", to="square"),
            changed("a scale that is missing", "schema", 0, "scale", to=None),
            changed("a scale in a list", "schema", 0, "scale", to=["log"]),
            changed("a unit on a linear scale", "schema", 0, "unit", to=0.5),
            *(
                changed(f"a unit {why}", "schema", 0, to=log | {"unit": unit})
                for why, unit in (
                    ("of 0", 0.0),
                    ("of minus 0", -0.0),
                    ("below 0", -0.5),
                    ("as large as the range", 1.0),
                    ("larger than the range", 1e300),
                    ("as text", "0.5"),
                    ("that is true", True),
                    ("in a list", [0.5]),
                )
            ),
            changed("a scale of a category", "schema", 1, to=values["schema"][1] | {"scale": "log", "unit": None}),
            changed("a number without a unit", "schema", 0, to={key: log[key] for key in log.keys() - {"unit"}}),
            changed("a number without a scale", "schema", 0, to={key: log[key] for key in log.keys() - {"scale"}}),
            changed("a short id of the plan before", "after", to="0" * 63),
            changed("a long id of the plan before", "after", to="0" * 65),
            changed("an upper-case id of the plan before", "after", to="A" * 64),
            changed("an id of the plan before in no hexadecimal digits", "after", to="g" * 64),
            changed("an empty id of the plan before", "after", to=""),
            changed("a plan before that is true", "after", to=True),
            changed("a plan before in a list", "after", to=["0" * 64]),
            without_after,
            changed("repeated category", "schema", 1, "values", to=["a", "a"]),
        ],
    }


def bad_channels() -> dict[str, Any]:
    """Plans that must not load because of a channel of one of the other kinds, or one that does not fit."""
    number, letter = Numeric("x", 0, 1), Categorical("c", ["a", "b", "d"])
    maybe, numbers = Numeric("x", 0, 1, optional=True), [Numeric(name, 0, 1) for name in "abcd"]
    made = {
        "additive": design(Schema([number]), 1.0, numeric="staircase"),
        "mixture": design(Schema([number]), 1.0, numeric="hybrid"),
        "subset": design(Schema([letter]), 1.0),
        "unary": design(Schema([letter]), 1.0, categorical="oue"),
        "signs": design(Schema(numbers), 1.0, numeric="duchi-multi"),
        "cube": design(Schema(numbers), 4.0, numeric="cube"),
        "cells": Plan(Schema([number, letter]), Fraction(2), 1, (Question(("x", "c"), table(2, 2, None, 3)),)),
        "ladder": Plan(
            Schema([number]), Fraction(1), 1, (Question(("x",), ladder(1, (0, 1, 2, 4, 8, 16, 32, 64, 128), 3)),)
        ),
        "rows": Plan(
            Schema([letter, maybe]), Fraction(1), 1, (Question(("c", "x"), rows(1, 3, 2, 4, 2, "even", True)),)
        ),
    }
    texts = {kind: json.loads(plan.to_json()) for kind, plan in made.items()}
    channels = {kind: text["questions"][0]["channel"] for kind, text in texts.items()}
    decays = channels["additive"]["decays"]
    steps = sum(length for length, _ in channels["additive"]["runs"])
    short = [str(decay) for decay in decays_of(Fraction(1), steps, 2 * steps)]  # where all conditions are close
    runs = channels["additive"]["runs"]
    steps_up, aligned = channels["ladder"]["knots"], int(channels["ladder"]["threshold"])
    missing = ladder(1, tuple(steps_up), 3, optional=True)
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("additive", "a decay too few", {"decays": decays[1:]}),
        ("additive", "a decay too many", {"decays": [*decays, decays[-1]]}),
        ("additive", "a period likelier than the one before", {"decays": [str(WORD // 2 + 1), *decays[1:]]}),
        (
            "additive",
            "a decay that breaks epsilon",
            {"reach": 2 * steps, "decays": [short[0], str(int(short[1]) - 2**20), short[2]]},
        ),
        (
            "additive",
            "a last decay too small for the ends",
            {"reach": 2 * steps, "decays": [*short[:2], str(int(short[2]) - 2**20)]},
        ),
        ("additive", "weights that rise", {"runs": [[length, 7 + i] for i, (length, _) in enumerate(runs)]}),
        ("additive", "a reach shorter than the domain", {"reach": 1}),
        ("mixture", "shares that do not add up", {"shares": ["1", "2"]}),
        ("mixture", "one part", {"shares": [str(WORD)], "parts": channels["mixture"]["parts"][:1]}),
        ("subset", "a threshold that breaks epsilon", {"threshold": str(int(channels["subset"]["threshold"]) + 1)}),
        ("subset", "sets of everything", {"weight": 3}),
        ("subset", "another number of categories", {"size": 4}),
        ("unary", "an other bit that breaks epsilon", {"other": str(int(channels["unary"]["other"]) - 2**50)}),
        ("unary", "a true bit no likelier than the others", {"true": channels["unary"]["other"]}),
        ("signs", "a threshold that breaks epsilon", {"threshold": str(int(channels["signs"]["threshold"]) + 1)}),
        ("signs", "another number of attributes", {"size": 3}),
        ("cube", "a threshold that breaks epsilon", {"threshold": str(int(channels["cube"]["threshold"]) + 1)}),
        ("cube", "corners near that are not", {"agree": channels["cube"]["sample"] // 2}),
        ("cube", "a sample larger than the cube", {"sample": 5, "agree": 5}),
        ("cells", "a threshold that breaks epsilon", {"threshold": str(int(channels["cells"]["threshold"]) + 1)}),
        ("cells", "a threshold that hides nothing", {"threshold": str(WORD // 3)}),
        ("cells", "sets of nothing", {"weight": 0}),
        ("cells", "sets of everything", {"weight": 6}),
        ("cells", "a weight as text", {"weight": "2"}),
        ("cells", "no sizes", {"sizes": []}),
        ("cells", "a number for a category", {"sizes": [None, None]}),
        ("cells", "a category for a number", {"sizes": [2, 3]}),
        ("rows", "a threshold that breaks epsilon", {"threshold": str(int(channels["rows"]["threshold"]) + 1)}),
        ("rows", "a threshold that hides nothing", {"threshold": str(WORD // 9 * 2)}),
        ("rows", "one row", {"rows": 1, "weight": 1}),
        ("rows", "another number of rows", {"rows": 4, "threshold": str(WORD // 4)}),
        ("rows", "sets of nothing", {"weight": 0}),
        ("rows", "a cell of every row", {"weight": 3}),
        ("rows", "one cell", {"size": 1, "width": 1}),
        ("rows", "a window of nothing", {"width": 0}),
        ("rows", "a window as wide as all", {"width": 4}),
        ("rows", "more cells than a rows channel has", {"size": 32768, "width": 16384}),
        ("rows", "levels too few", {"levels": [-1, 0, 1]}),
        ("rows", "levels not antisymmetric", {"levels": [-2, -1, 1, 3]}),
        ("rows", "levels that decrease", {"levels": [-1, -2, 2, 1]}),
        ("rows", "windows with equal sums", {"levels": [-1, 0, 0, 1], "width": 1}),
        ("rows", "levels by another name", {"levels": "odd"}),
        ("rows", "optional as a number", {"optional": 1}),
        ("rows", "for a number that is never missing", {"optional": False}),
        ("ladder", "a threshold that breaks epsilon", {"threshold": str(aligned + 3 * ROUNDING * 8)}),
        ("ladder", "a threshold with lower bits", {"threshold": str(aligned - 1)}),
        ("ladder", "a threshold that the width does not divide", {"threshold": str(aligned + 8 * ROUNDING)}),
        ("ladder", "a rest that the cells outside do not divide", {"threshold": str(aligned - 3 * ROUNDING)}),
        ("ladder", "a threshold that hides nothing", {"threshold": str(3 * ROUNDING * 8)}),
        ("ladder", "a threshold as a number", {"threshold": 12345}),
        ("ladder", "two knots", {"knots": [0, 1], "width": 1, "threshold": str(WORD // 2 + ROUNDING)}),
        ("ladder", "more knots than a ladder has", {"knots": [*range(130)]}),
        ("ladder", "no knots", {"knots": []}),
        ("ladder", "knots without a list", {"knots": "even"}),
        ("ladder", "knots that begin above 0", {"knots": [1, *steps_up[1:-1], 129]}),
        ("ladder", "knots that begin below 0", {"knots": [-1, *steps_up[1:]]}),
        ("ladder", "equal knots", {"knots": [0, 1, 1, *steps_up[3:]]}),
        ("ladder", "knots that fall", {"knots": [0, 2, 1, *steps_up[3:]]}),
        ("ladder", "a knot above 2^44", {"knots": [*steps_up[:-1], 2**44 + 1]}),
        ("ladder", "a knot as text", {"knots": [*steps_up[:-1], "128"]}),
        ("ladder", "a knot that is missing", {"knots": [*steps_up[:-1], None]}),
        ("ladder", "a knot that is a fraction", {"knots": [*steps_up[:-1], 128.5]}),
        ("ladder", "a knot that is true", {"knots": [0, True, *steps_up[2:]]}),
        ("ladder", "a window of nothing", {"width": 0}),
        ("ladder", "a window of as many cells as knots", {"width": 9}),
        ("ladder", "a size", {"size": 11}),
        ("ladder", "levels", {"levels": "even"}),
        ("ladder", "optional as a number", {"optional": 0}),
        ("ladder", "for a number that may be missing", {"optional": True, "threshold": str(missing.threshold)}),
    ]
    bad = []
    for kind, why, change in changes:
        question = texts[kind]["questions"][0]
        bad.append((f"{kind}: {why}", texts[kind] | {"questions": [question | {"channel": channels[kind] | change}]}))
    fits: dict[str, tuple[list[Attribute], str]] = {
        "a number": ([number], "subset"),
        "a category": ([letter], "additive"),
        "an optional number": ([maybe], "additive"),
    }
    for names in (["x", "c"], ["c"], ["c", "c"], ["x", "x"], ["c", "x", "x"]):
        question = texts["rows"]["questions"][0] | {"views": [{"kind": "value", "of": [name]} for name in names]}
        bad.append((f"rows: for {', '.join(names)}", texts["rows"] | {"questions": [question]}))
    without = {key: value for key, value in channels["cells"].items() if key != "weight"}
    question = texts["cells"]["questions"][0] | {"channel": without}
    bad.append(("cells: without a weight, as in version 1", texts["cells"] | {"questions": [question]}))
    for what, (attributes, kind) in fits.items():
        view = {"kind": "value", "of": [attributes[0].name]}
        schema, question = Schema(attributes), texts[kind]["questions"][0] | {"views": [view]}
        bad.append((f"{kind}: for {what}", texts[kind] | {"schema": schema.to_json(), "questions": [question]}))
    return {
        "about": "plans with a channel that must be refused, beside plans that are good",
        "good": [plan.to_json() for plan in made.values()],
        "bad": [{"why": why, "text": codec.dump(values)} for why, values in bad],
    }


def viewed() -> Plan:
    """A small plan with a view of every kind."""
    schema = Schema(
        [Numeric("age", 0, 120), Numeric("income", 0, 200_000, optional=True), Categorical("city", ["a", "b", "c"])]
    )
    questions = (
        Question(("age",), duchi(Fraction(1))),
        Question((Bands("income", (50_000.0, 100_000.0)),), subset_of(1, 4)),
        Question((Sides(("age", "income"), (40.0, 50_000.0)),), subset_of(1, 3)),
        Question((Product(("age", "income"), (60.0, 100_000.0), 0.25),), duchi(Fraction(1), optional=True)),
        Question(("city", Bands("age", (0.0,))), table(1, 2, 3, 2)),
    )
    return Plan(schema, Fraction(1), 1, questions)


def bad_views() -> dict[str, Any]:
    """Plans that must not load because of what a question looks at: each differs from a good one in one place."""
    plan = viewed()
    bands, sides, product = 1, 2, 3
    value: dict[str, Any] = {"kind": "value", "of": ["age"]}
    ages: dict[str, Any] = {"kind": "bands", "of": ["age"], "cuts": [40.0]}
    changes: list[tuple[str, int, dict[str, Any]]] = [
        ("unknown kind", 0, {"kind": "square"}),
        ("kind as a list", 0, {"kind": ["value"]}),
        ("a value of nothing", 0, {"of": []}),
        ("a value of two attributes", 0, {"of": ["age", "income"]}),
        ("an attribute that is not there", 0, {"of": ["nobody"]}),
        ("an attribute by its number", 0, {"of": [0]}),
        ("an attribute without a list", 0, {"of": "age"}),
        ("a value with cuts", 0, {"cuts": [1.0]}),
        ("bands of a category", bands, {"of": ["city"]}),
        ("bands of two numbers", bands, {"of": ["age", "income"]}),
        ("bands of nothing", bands, {"of": []}),
        ("no cuts", bands, {"cuts": []}),
        ("cuts that decrease", bands, {"cuts": [100_000.0, 50_000.0]}),
        ("equal cuts", bands, {"cuts": [50_000.0, 50_000.0]}),
        ("cuts too close to each other", bands, {"cuts": [5e-324, 1e-323]}),
        ("a cut at the upper end", bands, {"cuts": [50_000.0, 200_000.0]}),
        ("a cut above the upper end", bands, {"cuts": [50_000.0, 1e300]}),
        ("a cut below the lower end", bands, {"cuts": [-1.0, 50_000.0]}),
        ("a cut of minus 0", bands, {"cuts": [-0.0, 50_000.0]}),
        ("a cut as text", bands, {"cuts": ["1.0", 50_000.0]}),
        ("a cut that is missing", bands, {"cuts": [None, 50_000.0]}),
        ("a cut that is true", bands, {"cuts": [True, 50_000.0]}),
        ("cuts without a list", bands, {"cuts": 50_000.0}),
        ("cuts in an object", bands, {"cuts": {"0": 1.0, "1": 2.0}}),
        ("more bands than the channel has", bands, {"cuts": [1.0, 2.0, 3.0]}),
        ("a reach of bands", bands, {"reach": 1.0}),
        ("sides of one number", sides, {"of": ["age"]}),
        ("sides of a category", sides, {"of": ["age", "city"]}),
        ("sides of a category first", sides, {"of": ["city", "income"]}),
        ("sides of an attribute that is not there", sides, {"of": ["age", "nobody"]}),
        ("sides with one cut", sides, {"cuts": [40.0]}),
        ("sides with three cuts", sides, {"cuts": [40.0, 50_000.0, 1.0]}),
        ("sides with a cut at the upper end", sides, {"cuts": [120.0, 50_000.0]}),
        ("sides with cuts of each other", sides, {"cuts": [50_000.0, 40.0]}),
        ("sides with a cut of minus 0", sides, {"cuts": [40.0, -0.0]}),
        ("sides with a cut below the lower end", sides, {"cuts": [40.0, -1.0]}),
        ("a product of one number", product, {"of": ["age"]}),
        ("a product with a category", product, {"of": ["age", "city"]}),
        ("a product that is never missing", product, {"of": ["age", "age"], "centres": [60.0, 60.0]}),
        ("one centre", product, {"centres": [60.0]}),
        ("three centres", product, {"centres": [60.0, 60.0, 60.0]}),
        ("a centre above the domain", product, {"centres": [120.5, 100_000.0]}),
        ("a centre below the domain", product, {"centres": [60.0, -0.5]}),
        ("a centre of minus 0", product, {"centres": [-0.0, 100_000.0]}),
        ("a centre as text", product, {"centres": ["60.0", 100_000.0]}),
        ("a reach of 0", product, {"reach": 0.0}),
        ("a reach below 2^-20", product, {"reach": math.nextafter(2.0**-20, 0)}),
        ("a reach above 1", product, {"reach": math.nextafter(1.0, 2)}),
        ("a negative reach", product, {"reach": -0.25}),
        ("a reach as text", product, {"reach": "0.25"}),
        ("a reach that is missing", product, {"reach": None}),
        ("a product with cuts", product, {"cuts": [1.0, 1.0]}),
    ]
    bad = []
    for why, at, change in changes:
        text = json.loads(plan.to_json())
        text["questions"][at]["views"][0] |= change
        bad.append((why, text))
    lists: list[tuple[str, Any]] = [
        ("views without a list", value),
        ("no views", []),
        ("a name in place of a view", ["age"]),
        ("a view that is missing", [None]),
        ("a view more than the channel serves", [value, value]),
        ("bands for a number", [ages]),
    ]
    for why, found in lists:
        text = json.loads(plan.to_json())
        text["questions"][0]["views"] = found
        bad.append((why, text))
    twice = json.loads(plan.to_json())
    twice["questions"][2] = twice["questions"][1]
    bad.append(("two questions with equal views", twice))
    for why, at, channel in (
        ("a question that looks at an attribute twice", 0, table(1, 1, None, None)),
        ("a question that looks through bands twice", bands, table(1, 1, 4, 4)),
    ):
        again = json.loads(plan.to_json())
        again["questions"][at]["views"] *= 2
        again["questions"][at]["channel"] = channel.to_json()
        bad.append((why, again))
    third = json.loads(plan.to_json())
    third["questions"][4] |= {"views": [ages, value, ages], "channel": table(1, 1, 2, None, 2).to_json()}
    third["questions"].append(json.loads(plan.to_json())["questions"][4])
    bad.append(("a question that looks through the same bands again after another view", third))
    old = json.loads(plan.to_json())
    del old["questions"][0]["views"]
    old["questions"][0]["attributes"] = ["age"]
    bad.append(("attributes in place of views, as in version 1", old))
    unasked = json.loads(plan.to_json())
    del unasked["questions"][4]
    bad.append(("an attribute that no question looks at", unasked))
    wide = json.loads(plan.to_json())
    wide["schema"][1] |= {"low": -1000.0, "high": 0.1}
    wide["questions"][1]["views"][0]["cuts"] = [-1.0, math.nextafter(0.1, 0)]
    wide["questions"][2]["views"][0]["cuts"][1] = 0.0
    wide["questions"][3]["views"][0]["centres"][1] = 0.0
    bad.append(("a cut that counts as the upper end", wide))
    fine = json.loads(codec.dump(wide))
    fine["questions"][1]["views"][0]["cuts"][1] = 0.09
    ends = json.loads(plan.to_json())
    ends["questions"][1]["views"][0]["cuts"] = [0.0, math.nextafter(200_000.0, 0)]
    ends["questions"][3]["views"][0] |= {"centres": [0.0, 200_000.0], "reach": 2.0**-20}
    return {
        "about": "plans with views that must be refused, beside plans that are good",
        "good": [plan.to_json(), codec.dump(fine), codec.dump(ends)],
        "bad": [{"why": why, "text": codec.dump(text)} for why, text in bad],
    }


def printables() -> dict[str, Any]:
    """Titles that are printable, and titles that are not."""
    good = ["", " ", "a b", "é", "e\u0301", "☂", "ウィンドウズ", "\U0001f600", "\u00b7", "\uff1d", "\u0e01", "~"]
    bad = [
        *("\n", "\t", "\x00", "\x1f", "\x7f", "\x80", "\x9f"),  # Cc
        *("\u00ad", "\u200b", "\u200e", "\u202e", "\u2066", "\ufeff", "\U000e0001"),  # Cf
        *("\u00a0", "\u2003", "\u3000", "\u2028", "\u2029"),  # Zs but the space, Zl, Zp
        *("\ue000", "\U000f0000", "\U0010fffd"),  # Co
        *("\u0378", "\uffff", "\U0001ffff"),  # Cn
    ]
    plan = design(Schema([Numeric("x", 0, 1)]), 1.0, numeric="duchi")
    values = json.loads(plan.to_json())
    return {
        "about": "plans whose title is printable, and plans that must be refused because it is not",
        "good": [codec.dump(values | {"title": text}) for text in good],
        "bad": [{"why": f"U+{ord(text):04X}", "text": codec.dump(values | {"title": text})} for text in bad],
    }


def coins() -> dict[str, Any]:
    """What is made of words."""
    cases = []
    for n in (1, 2, 3, 7, 10, 64, 1000, 2**32 + 15, 2**63 + 1, WORD):
        for source in (SeededCoins(n % 97), Extreme(0, 1, 1), Extreme(WORD - 1, 1, 2)):
            recorded = RecordedCoins(source)
            value = recorded.below(n)
            cases.append({"n": str(n), "words": [f"{word:016x}" for word in recorded.words], "below": str(value)})
    return {"about": "below(n): uniform integers by rejection", "cases": cases}


def exponentials() -> dict[str, Any]:
    """Lower bounds of e^x, as integers out of 2^192."""
    cases = []
    for text in ("0.001", "0.1", "0.5", "1.0", "2.5", "10.0", "16.0", "0.30000000000000004"):
        low = exp_bounds(Fraction(text))[0] * 2**192
        assert low.denominator == 1
        cases.append({"x": text, "lower": str(low.numerator)})
    return {"about": "the rational below e^x with which ratios are compared, times 2^192", "cases": cases}


def files() -> dict[str, dict[str, Any]]:
    """Every file, by name."""
    result = {f"channel-{name}": vectors(name, plan) for name, plan in plans().items()}
    return result | {
        "bad-plans": bad_plans(),
        "bad-channels": bad_channels(),
        "bad-views": bad_views(),
        "printable": printables(),
        "coins": coins(),
        "exp": exponentials(),
    }


def main() -> None:
    """Write the files."""
    HERE.mkdir(exist_ok=True)
    for name, content in files().items():
        (HERE / f"{name}.json").write_text(render(content), encoding="utf-8")
    sys.stdout.write(f"{len(files())} files in {HERE.name}\n")


def render(content: dict[str, Any]) -> str:
    """Return the text of a file: one vector per line, so that changes can be read."""
    lines = []
    for key, value in content.items():
        if isinstance(value, list):
            items = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f" {json.dumps(key)}: [\n  {items}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
