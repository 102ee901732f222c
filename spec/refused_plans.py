"""Plans and views that are refused, and by which rule."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from hush.core import codec
from hush.core.channels.windowed import ROUNDING
from hush.core.design import design
from hush.core.design.numeric import duchi
from hush.core.exact import WORD
from hush.core.plan import Plan, Question
from hush.core.schema import Categorical, Numeric, Schema
from hush.core.views import Bands, Product, Sides
from spec.plans import subset_of, table

OPEN: dict[str, Any] = {"kind": "categorical", "name": "c", "values": ["a"], "optional": False, "other": True}
INTEGER: dict[str, Any] = {
    "kind": "integer",
    "name": "x",
    "low": 0.0,
    "high": 10.0,
    "out_of_range": "error",
    "optional": False,
}
DATE: dict[str, Any] = INTEGER | {"kind": "date", "low": "1920-01-01", "high": "2020-12-31"}
TIME: dict[str, Any] = INTEGER | {"kind": "time", "low": "00:00:00", "high": "23:45:00", "step": 900}
BOOLEAN: dict[str, Any] = {"kind": "boolean", "name": "c", "optional": False}


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
        changed("", "schema", 1, to=BOOLEAN),
        changed("", "schema", 1, to=OPEN),
        changed("", "schema", 1, "values", to=["(other)", "a"]),
        changed("", "schema", 0, to=INTEGER),
        changed("", "schema", 0, to=DATE),
        changed("", "schema", 0, to=DATE | {"low": "0001-01-01", "high": "9999-12-31", "optional": False}),
        changed("", "schema", 0, to=TIME),
        changed("", "schema", 0, to=TIME | {"low": "18:00:00", "high": "06:00:00"}),
        changed("", "schema", 0, to=TIME | {"low": "00:00:00", "high": "12:00:00", "step": 43200}),
        changed("", "schema", 0, to=INTEGER | {"low": 1 - 2.0**53, "high": 2.0**53 - 1, "out_of_range": "clip"}),
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
            *(
                changed(f"an integer {why}", "schema", 0, to=INTEGER | change)
                for why, change in (
                    ("with a bound between", {"high": 10.5}),
                    ("with bounds too large", {"high": 2.0**53}),
                    ("with bounds too small", {"low": -(2.0**53)}),
                    ("with equal bounds", {"low": 10.0}),
                    ("with a scale", {"scale": "log"}),
                    ("with another rule", {"out_of_range": "round"}),
                )
            ),
            *(
                changed(f"a date {why}", "schema", 0, to=DATE | change)
                for why, change in (
                    ("with a number", {"low": 0.0}),
                    ("with equal bounds", {"low": "2020-12-31"}),
                    ("with bounds in the wrong order", {"low": "2021-01-01"}),
                    ("with a day that is none", {"low": "1999-02-29"}),
                    ("with a year 0", {"low": "0000-01-01"}),
                    ("with a time", {"low": "1920-01-01T00:00"}),
                    ("with fewer digits", {"low": "1920-1-1"}),
                    ("with a scale", {"scale": "log"}),
                    ("with a step", {"step": 1}),
                    ("with another rule", {"out_of_range": "round"}),
                    ("with no bound", {"low": None}),
                )
            ),
            *(
                changed(f"a time {why}", "schema", 0, to=TIME | change)
                for why, change in (
                    ("with a number", {"low": 0.0}),
                    ("with equal bounds", {"low": "23:45:00"}),
                    ("with bounds between steps", {"low": "00:10:00"}),
                    ("with an end between steps", {"high": "23:44:59"}),
                    ("without seconds", {"low": "00:00"}),
                    ("with a 24th hour", {"high": "24:00:00"}),
                    ("with a fraction", {"low": "00:00:00.0"}),
                    ("with a step of 0", {"step": 0}),
                    ("with a step below 0", {"step": -900}),
                    ("with a step between", {"step": 900.5}),
                    ("with a step that does not divide the day", {"step": 7}),
                    ("with a step of a day", {"step": 86400, "high": "00:00:00"}),
                    ("with a step as text", {"step": "900"}),
                    ("with a step that is true", {"step": True}),
                    ("with another rule", {"out_of_range": "round"}),
                    ("without a step", {"kind": "date"}),
                )
            ),
            *(
                changed(f"other {why}", "schema", 1, to=OPEN | change)
                for why, change in (
                    ("that is false", {"other": False}),
                    ("that is null", {"other": None}),
                    ("as text", {"other": "other"}),
                    ("among the values", {"values": ["(other)"]}),
                    ("of integers", {"values": [1]}),
                    ("beside two values, which does not fit", {"values": ["a", "b"]}),
                    ("beside no value", {"values": []}),
                )
            ),
            changed("other of a number", "schema", 0, to=values["schema"][0] | {"other": True}),
            changed("other of a boolean", "schema", 1, to=BOOLEAN | {"other": True}),
            changed("a boolean with values", "schema", 1, to=BOOLEAN | {"values": [False, True]}),
            changed("a boolean without a name", "schema", 1, to=BOOLEAN | {"name": ""}),
            changed("a boolean that may be optional", "schema", 1, to=BOOLEAN | {"optional": None}),
            changed("an optional boolean that does not fit", "schema", 1, to=BOOLEAN | {"optional": True}),
            changed("booleans as categories", "schema", 1, "values", to=[False, True]),
        ],
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


def worded(*values: str) -> str:
    """The text of a plan about listed texts. The letters of the alphabet happen to be a word, and take 3 bits each."""
    text: dict[str, Any] = {
        "kind": "text",
        "name": "word",
        "length": 8,
        "alphabet": "english",
        "case": "lower",
        "code": ["3" * 8],
        "bits": 8,
        "optional": False,
    }
    view: dict[str, Any] = {"kind": "among", "of": ["word"], "values": list(values)}
    plan = json.loads(
        Plan(
            Schema([Categorical("word", ["a", "b", "c"])]), Fraction(1), 1, (Question(("word",), subset_of(1, 3)),)
        ).to_json()
    )
    plan["schema"] = [text]
    plan["questions"][0]["views"] = [view]
    return codec.dump(plan)


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
        "good": [plan.to_json(), codec.dump(fine), codec.dump(ends), worded("e", "n")],
        "bad": [
            *({"why": why, "text": codec.dump(text)} for why, text in bad),
            {"why": "a listed text whose end is cut off its code", "text": worded("e", "en")},
        ],
    }
