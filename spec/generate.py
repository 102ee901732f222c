"""Writes spec/vectors: words in, reports out, for every channel. `make vectors` runs it; the tests replay the result.

Other implementations are held to the same files. They are made by this one, whose samplers the tests prove exact.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

from hush.core import codec
from hush.core.channels import Additive, Cube, Grouped, Mixture, Window
from hush.core.channels.window import ROUNDING
from hush.core.coins import Coins
from hush.core.design import design
from hush.core.design.categorical import grr
from hush.core.design.joint import cells
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.core.plan import Plan, Question
from hush.core.report import Report
from hush.core.schema import Attribute, Categorical, Numeric, Schema
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
    for name in ("duchi", "piecewise", "hybrid"):
        result[f"optional-{name}"] = design(OPTIONAL, 1.5, numeric=name)
    result["levels"] = levelled()
    result["mixed-k2"] = design(MIXED, 3.0, numeric="hybrid", k=2, title="größer ☂")
    result["mixed-split"] = design(MIXED, 5.0, numeric="piecewise", k="all")
    result["weighted"] = design(MIXED, 1.0, numeric="duchi", k="weighted", importance={"age": 3, "code": 0.1})
    result["wide"] = design(wide, 1.0)
    for name in ("piecewise", "hybrid", "laplace"):
        result[f"rounding-{name}"] = design(Schema([Numeric("x", 0, 1)]), 2.0, numeric=name, title="rounding")
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
    steps = channel.last if isinstance(channel, Window) else channel.steps if isinstance(channel, Additive) else 0
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
        yield {"x": u}, [*head, word, *(pick.word() for _ in range(14))]


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
    yield {"why": "wrong version", "report": (bytes([2]) + data[1:]).hex()}
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


def both_signs(plan: Plan, report: Report) -> Iterator[dict[str, str]]:
    """Bytes of the right number of signs, two of them for one attribute."""
    alphabet = plan.questions[report.answers[-1][0]].channel.alphabet
    if isinstance(alphabet, Grouped) and alphabet.weight is not None and alphabet.weight > 1:
        pair = alphabet.pack((0, 1, *range(2, 2 * alphabet.weight - 2, 2)))
        yield {"why": "both signs of an attribute", "report": (report.encode()[: -alphabet.width] + pair).hex()}


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
        "wrong version": {"hush": 2},
        "version as text": {"hush": "1"},
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
    yield {"why": "repeated key", "text": report.to_json()[:-1] + ',"hush":1}'}
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
        "bad_reports": [*bad_reports(plan, cases[4][1]), *both_signs(plan, cases[4][1])],
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
    return {
        "about": "plans that must be refused",
        "good": good_plan.to_json(),
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
            changed("wrong version", "hush", to=2),
            changed("question missing", "questions", to=values["questions"][:1]),
            changed("categories do not fit", "schema", 1, "values", to=["a", "b", "c"]),
            changed("low not below high", "schema", 0, "low", to=1.0),
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
        "cells": Plan(Schema([number, letter]), Fraction(2), 1, (Question(("x", "c"), cells(Fraction(2), (None, 3))),)),
    }
    texts = {kind: json.loads(plan.to_json()) for kind, plan in made.items()}
    channels = {kind: text["questions"][0]["channel"] for kind, text in texts.items()}
    decays = channels["additive"]["decays"]
    steps = sum(length for length, _ in channels["additive"]["runs"])
    short = [str(decay) for decay in decays_of(Fraction(1), steps, 2 * steps)]  # where all conditions are close
    runs = channels["additive"]["runs"]
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
        ("cells", "a number for a category", {"sizes": [None, None]}),
        ("cells", "a category for a number", {"sizes": [2, 3]}),
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
    for what, (attributes, kind) in fits.items():
        schema, question = Schema(attributes), texts[kind]["questions"][0] | {"attributes": [attributes[0].name]}
        bad.append((f"{kind}: for {what}", texts[kind] | {"schema": schema.to_json(), "questions": [question]}))
    return {
        "about": "plans with a channel that must be refused, beside plans that are good",
        "good": [plan.to_json() for plan in made.values()],
        "bad": [{"why": why, "text": codec.dump(values)} for why, values in bad],
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
