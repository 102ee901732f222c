"""A device follows a pilot only to a plan that asks for nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hush import Categorical, Integer, Numeric, Plan, Schema, design
from hush.core.following import check_follows
from hush.core.schema import Attribute
from hush.errors import PlanError

INCOME = Numeric("income", 0, 1e7, scale="log", optional=True)
AGE = Numeric("age", 0, 120)
REGION = Categorical("region", ["north", "south"])
PILOT = design(Schema([INCOME, AGE, REGION]), 1.0)


def second(*changed: Attribute, epsilon: float = 1.0, after: Plan | str | None = PILOT) -> Plan:
    """Return a plan with some attributes of the pilot changed, by name."""
    names = {item.name: item for item in changed}
    return design(Schema([names.get(item.name, item) for item in PILOT.schema.attributes]), epsilon, after=after)


def narrowed(high: float = 4e5, low: float = 0.0) -> Numeric:
    return replace(INCOME, low=low, high=high, out_of_range="clip", scale="linear")


@pytest.mark.parametrize("income", [INCOME, narrowed(), narrowed(1e7), narrowed(5e6, 1.0)])
def test_a_narrower_range_that_clips_is_followed(income: Numeric) -> None:
    check_follows(second(income), PILOT)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (second(narrowed(), after=None), "does not follow"),
        (second(narrowed(), after="0" * 64), "does not follow"),
        (second(narrowed(), epsilon=2.0), "same epsilon"),
        (second(narrowed(), epsilon=0.5), "same epsilon"),
        (design(Schema([narrowed(), AGE]), 1.0, after=PILOT), "same attributes"),
        (design(Schema([AGE, narrowed(), REGION]), 1.0, after=PILOT), "same attributes"),
        (second(replace(narrowed(), out_of_range="error")), "'income': may only be narrowed"),
        (second(replace(narrowed(), optional=False)), "'income': may only be narrowed"),
        (second(narrowed(2e7)), "'income': may only be narrowed"),
        (second(narrowed(low=-1.0)), "'income': may only be narrowed"),
        (second(Categorical("income", ["low", "high"])), "'income': may only be narrowed"),
        (second(Integer("income", 0, 400_000, "clip", optional=True)), "'income': may only be narrowed"),
        (second(replace(AGE, high=60.0, out_of_range="clip")), "'age': may only be narrowed"),
        (second(Categorical("region", ["north", "other"])), "'region': may only be narrowed"),
    ],
)
def test_every_other_plan_is_refused(plan: Plan, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        check_follows(plan, PILOT)


def test_a_third_plan_is_refused() -> None:
    """Its ledger entry would exclude the second plan alone: a person could answer the first and the third."""
    first = second(narrowed())
    with pytest.raises(PlanError, match="does not follow"):
        check_follows(second(narrowed(1e5), after=first), first)
