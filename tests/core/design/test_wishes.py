"""The wishes behind a plan are found, or the plan is refused; nothing is guessed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hush import Categorical, Numeric, Schema, design
from hush.core.design.wishes import wishes_of
from hush.errors import DesignError

INCOME = Numeric("income", 0, 1e7, scale="log")
SCHEMA = Schema(
    [
        INCOME,
        Categorical("region", ["north", "south", "west"]),
        Numeric("age", 0, 120),
        Categorical("smoker", ["yes", "no"], optional=True),
    ]
)
NARROW = Schema([replace(INCOME, high=4e5, scale="linear", out_of_range="clip"), *SCHEMA.attributes[1:]])
WISHES: list[dict[str, Any]] = [
    {},
    {"k": "weighted"},
    {"k": 2},
    {"k": "all"},
    {"numeric": "hybrid", "categorical": "oue"},
    {"numeric": "laplace", "categorical": "sue", "k": 3},
    {"numeric": "duchi", "categorical": "grr", "k": "weighted"},
    {"joint": [["region", "age"]]},
    {"joint": [["region", "age"]], "k": "all"},
]


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("wishes", WISHES, ids=str)
def test_another_schema_is_designed_as_with_the_same_wishes(wishes: dict[str, Any], epsilon: float) -> None:
    found = wishes_of(design(SCHEMA, epsilon, title="t", **wishes))
    assert design(NARROW, epsilon, **found) == design(NARROW, epsilon, **wishes)


def test_the_number_of_the_paper_is_kept_as_a_number() -> None:
    """The plan does not say where its number of questions comes from."""
    plan = design(SCHEMA, 8.0, k="paper")
    assert plan.k == 3 != design(SCHEMA, 8.0).k
    assert wishes_of(plan)["k"] == 3


@pytest.mark.parametrize(
    ("wishes", "why"),
    [
        ({"objective": "uniform"}, "a prior"),
        ({"k": "weighted", "importance": {"income": 9}}, "importance"),
        ({"relations": [("region", "smoker")]}, "relations"),
        ({"relations": [("income", "region", "means")]}, "relations"),
        ({"ranges": ["age"]}, "relations or ranges"),
    ],
    ids=str,
)
def test_a_wish_without_a_trace_is_refused(wishes: dict[str, Any], why: str) -> None:
    with pytest.raises(DesignError, match=why):
        wishes_of(design(SCHEMA, 1.0, **wishes))


def test_a_plan_made_by_hand_is_refused() -> None:
    plan = design(SCHEMA, 1.0)
    other = design(SCHEMA, 0.5)
    mixed = replace(plan, questions=(*plan.questions[:2], other.questions[2], plan.questions[3]))
    with pytest.raises(DesignError, match="by hand"):
        wishes_of(mixed)
    with pytest.raises(DesignError, match="by hand"):
        wishes_of(replace(plan, weights=(1, 2, 3, 4)))
