"""Channels that are refused, and by which rule."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from hush.core import codec
from hush.core.channels.windowed import ROUNDING
from hush.core.design import design
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD
from hush.core.plan import Plan, Question
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from spec.plans import corners, ladder, point, rows, table


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
        "corners": corners(4, 2, 1),
        "geometry": Plan(
            Schema([Categorical("c", range(13))]), Fraction(1), 1, (Question(("c",), point(1, 13, 3, 3)),)
        ),
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
        ("corners", "a threshold that breaks epsilon", {"threshold": str(int(channels["corners"]["threshold"]) + 1)}),
        ("corners", "near corners less likely than others", {"threshold": str(WORD // 4)}),
        ("corners", "none near", {"near": 0}),
        ("corners", "more near than there are numbers", {"near": 5}),
        ("geometry", "a threshold that breaks epsilon", {"threshold": str(int(channels["geometry"]["threshold"]) + 1)}),
        ("geometry", "orthogonal points less likely than others", {"threshold": str(WORD // 8)}),
        ("geometry", "an order of no field", {"order": 6}),
        ("geometry", "an order of 1", {"order": 1}),
        ("geometry", "a power that is too large", {"order": 169, "size": 20000}),
        ("geometry", "an order that is too large", {"order": 2053, "size": 4000000}),
        ("geometry", "two digits", {"digits": 2, "size": 4}),
        ("geometry", "too many digits", {"order": 2, "digits": 23, "size": 8000000}),
        ("geometry", "more digits than needed", {"digits": 4}),
        ("geometry", "fewer digits than needed", {"order": 2}),
        ("geometry", "too many points", {"order": 2039, "digits": 22, "size": 4000000}),
        ("geometry", "another number of categories", {"size": 12}),
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
