"""A plan in words: what every question sees, a tree of ranges in one row."""

from __future__ import annotations

from fractions import Fraction

import hush
from hush import Categorical, Numeric, Plan, Schema
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands
from hush.planning.summary import table
from tests.cases import plans

SCHEMA = Schema(
    [
        Numeric("age", 16, 100),
        Numeric("hours", 0, 76),
        Numeric("income", 0, 1e5, optional=True),
        Categorical("edu", ["low", "mid", "high"]),
        Categorical("region", [*"abcdef"]),
    ]
)


def test_every_question_says_what_it_sees() -> None:
    plan = hush.design(
        SCHEMA,
        1.0,
        relations=[
            ("edu", "income"),
            ("edu", "region"),
            ("age", "hours"),
            ("age", "hours", "means"),
            ("income", "hours", "moments"),
        ],
        bands={"age": [24, 50, 60], "hours": [20.5]},
        ranges=["age"],
    )
    rows = [row[0] for row in plan.table().rows]
    assert rows == [
        *SCHEMA.names,
        "edu, income",
        "edu, region",
        "age and hours: same side of 50 and 20.5?",
        "age in 2 bands",
        "hours in 2 bands",
        "hours in 2 bands, age",
        "income × hours",
        "income squared",
        "hours squared",
        "age in 4, 16, 64, 256 bands",
    ]
    tree = plan.table().rows[-1]
    assert tree[1] == "subset"
    assert float(tree[3]) <= 1.000001
    assert tree[4] == "1 to 32"
    assert " to " in tree[5]
    assert tree[2].endswith(" %"), "the share of the people who are asked, as all are not asked alike"
    assert f"1 of {len(plan.questions)} questions" in plan.table().notes[0]


def test_only_bands_that_refine_each_other_share_a_row() -> None:
    schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1)])
    views = [Bands("x", (0.5,)), Bands("x", (0.25, 0.75)), Bands("x", (0.25, 0.5, 0.75)), Bands("y", (0.25, 0.5, 0.75))]
    questions = tuple(Question([view], grr(Fraction(1), len(view.cuts) + 1)) for view in views)
    rows = table(Plan(schema, Fraction(1), 1, questions)).rows
    assert [row[0] for row in rows] == ["x in 2 bands", "x in 3, 4 bands", "y in 4 bands"]


def test_every_plan_has_a_table() -> None:
    for plan in plans().values():
        text = str(plan)
        for name in plan.schema.names:
            assert name in text
