"""Plans: what is chosen, and what is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hush import Categorical, DesignError, Numeric, Plan, PlanError, Schema, SchemaError, design
from hush.core.channels import Mixture, Signs, Subset, Unary, Window
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands
from tests.cases import MIXED, NUMBERS, exp_floor, plans

PLANS = plans()


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_as_private_as_it_says(name: str) -> None:
    plan = PLANS[name]
    ratios = sorted((question.channel.ratio for question in plan.questions), reverse=True)
    total = Fraction(1)
    for ratio in ratios[: plan.k]:
        total *= ratio
    assert total == plan.ratio <= exp_floor(plan.cost)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_reads_back(name: str) -> None:
    plan = PLANS[name]
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.id == plan.id == hashlib.sha256(plan.to_json().encode()).hexdigest()
    assert again.to_json() == plan.to_json()
    assert hash(again) == hash(plan)
    pretty = json.dumps(json.loads(plan.to_json()), indent=2)
    assert Plan.from_json(pretty).id == plan.id
    assert Plan.from_json(pretty.encode()).id == plan.id


def test_the_id_is_stable() -> None:
    """It changes only with the format, and then VERSION must too."""
    schema = Schema([Numeric("age", 0, 120), Categorical("os", ["linux", "mac", "other"])])
    plan = design(schema, 1.0, numeric="duchi", categorical="grr")
    assert plan.to_json() == (
        '{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":['
        '{"channel":{"kind":"window","levels":"even","optional":false,"size":2,'
        '"threshold":"13485650502876135424","width":1},"views":[{"kind":"value","of":["age"]}]},'
        '{"channel":{"kind":"subset","size":3,"threshold":"10627480729818066791","weight":1},'
        '"views":[{"kind":"value","of":["os"]}]}],'
        '"schema":[{"high":120.0,"kind":"numeric","low":0.0,"name":"age","optional":false,"out_of_range":"error",'
        '"scale":"linear","unit":null},'
        '{"kind":"categorical","name":"os","optional":false,"values":["linux","mac","other"]}],"title":"","weights":null}'
    )


def test_a_title_makes_another_plan() -> None:
    assert design(MIXED, 1.0).id != design(MIXED, 1.0, title="week 2").id


def test_a_plan_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        PLANS["default"].k = 2  # type: ignore[misc]
    for plan in PLANS.values():
        for question in plan.questions[:6]:
            for item in (question, question.channel):
                for name in vars(item):
                    with pytest.raises(FrozenInstanceError):
                        setattr(item, name, 1)


@pytest.mark.parametrize(("epsilon", "d", "k"), [(0.5, 6, 1), (4.9, 6, 1), (5.0, 6, 2), (7.5, 6, 3), (16.0, 3, 3)])
def test_k_by_the_rule_of_the_paper(epsilon: float, d: int, k: int) -> None:
    schema = Schema([Numeric(f"x{i}", 0, 1) for i in range(d)])
    plan = design(schema, epsilon, k="paper")
    assert plan.k == k
    assert plan.inclusions == (Fraction(k, d),) * d
    for question in plan.questions:
        assert question.channel.ratio <= exp_floor(plan.cost / k)


def test_split_gives_each_attribute_its_part() -> None:
    plan = design(MIXED, 3.0, k="all")
    assert plan.k == len(plan.questions) == 6
    for question in plan.questions:
        assert (
            exp_floor(Fraction(1, 2)) * (1 - Fraction(1, 2**25)) < question.channel.ratio <= exp_floor(Fraction(1, 2))
        )


def test_duchi_for_all_numeric_attributes_together() -> None:
    plan = design(NUMBERS, 1.0, numeric="duchi-multi")
    assert plan.k == 1
    assert [question.attributes for question in plan.questions] == [tuple("abcde")]
    assert isinstance(plan.channel("c"), Signs)
    mixed = Schema([*NUMBERS.attributes, Categorical("x", [1, 2]), Categorical("y", [1, 2, 3])])
    split = design(mixed, 7.0, numeric="duchi-multi", categorical="oue", k="all")
    shares = [question.channel.ratio for question in split.questions]
    for ratio, epsilon in zip(shares, (5, 1, 1), strict=True):  # d_n*eps/d to the block, as the paper composes them
        assert exp_floor(Fraction(epsilon)) * (1 - Fraction(1, 2**11)) < ratio <= exp_floor(Fraction(epsilon))


def test_optional_attributes_have_optional_channels() -> None:
    plan = PLANS["default"]
    income = plan.channel("income")
    assert isinstance(income, Window | Mixture)
    assert income.optional
    smokes = plan.channel("smokes")
    assert isinstance(smokes, Subset)
    assert smokes.size == 3
    oue = design(MIXED, 1.0, categorical="oue").channel("smokes")
    assert isinstance(oue, Unary)
    assert oue.size == 3


BAD_DESIGNS: list[tuple[Callable[[], object], str]] = [
    (lambda: design(MIXED, 0.0009), "0.001 to 16"),
    (lambda: design(MIXED, 16.1), "0.001 to 16"),
    (lambda: design(MIXED, float("nan")), "0.001 to 16"),
    (lambda: design(MIXED, float("inf")), "0.001 to 16"),
    (lambda: design(MIXED, True), "0.001 to 16"),
    (lambda: design(MIXED, 10**400), "0.001 to 16"),
    (lambda: design(MIXED, "1"), "0.001 to 16"),  # type: ignore[arg-type]
    (lambda: design(MIXED, 1.0, numeric="gauss"), "numeric must be one of: minimax, hybrid"),
    (lambda: design(MIXED, 1.0, categorical="hash"), "categorical must be one of: subset"),
    (lambda: design(MIXED, 1.0, k=0), "from 1 to 6"),
    (lambda: design(MIXED, 1.0, k=7), "from 1 to 6"),
    (lambda: design(MIXED, 1.0, k=1.0), "from 1 to 6"),  # type: ignore[arg-type]
    (lambda: design(MIXED, 1.0, k=True), "from 1 to 6"),
    (lambda: design(MIXED, 1.0, k="some"), "weighted"),  # type: ignore[arg-type]
    (lambda: design(MIXED, 1.0, numeric="laplace"), "missing"),
    (lambda: design(MIXED, 1.0, numeric="duchi-multi"), "missing"),
    (lambda: design(Schema([Categorical("x", [1, 2])]), 1.0, numeric="duchi-multi"), "no numeric"),
    (lambda: design(MIXED, 1.0, numeric=["duchi"]), "numeric must be one of"),  # type: ignore[arg-type]
    (lambda: design([Numeric("x", 0, 1)], 1.0), "Schema"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "rule"), BAD_DESIGNS)
def test_what_cannot_be_designed_is_refused(make: Callable[[], object], rule: str) -> None:
    with pytest.raises(DesignError, match=rule):
        make()


def test_a_bad_title_is_refused() -> None:
    for title in ("a\nb", "x" * 257):
        with pytest.raises(PlanError, match="title"):
            design(MIXED, 1.0, title=title)


@pytest.mark.parametrize("epsilon", [1, np.float64(1.0), np.float32(1.0), Fraction(1)])
def test_epsilon_is_any_real_number(epsilon: Any) -> None:
    assert design(MIXED, epsilon).id == design(MIXED, 1.0).id


def test_epsilon_is_the_decimal_that_was_written() -> None:
    plan = design(MIXED, 0.1)
    assert plan.cost == Fraction(1, 10)
    assert plan.epsilon == 0.1


@pytest.mark.parametrize("epsilon", [0.001, 16.0])
@pytest.mark.parametrize("k", ["best", "all"])
def test_the_largest_schema_at_the_ends_of_epsilon(epsilon: float, k: Any) -> None:
    schema = Schema([Numeric("x", 0, 1), *(Categorical(f"c{i}", [1, 2]) for i in range(1023))])
    plan = design(schema, epsilon, k=k)
    assert plan.ratio <= exp_floor(plan.cost)


@pytest.mark.parametrize("name", ["default", "hybrid", "laplace", "oue"])
def test_the_law_of_a_value_is_unbiased(name: str) -> None:
    """Its mean is the value, to about 2^-51 or, for windows, 2^-24, with the rounding of the value included."""
    plan = PLANS[name]
    for attribute in plan.schema.attributes:
        channel = plan.channel(attribute.name)
        if isinstance(attribute, Numeric):
            value = attribute.low + 0.3 * (attribute.high - attribute.low)
            law = plan.law(attribute.name, value)
            assert sum(law.values()) == 1
            mean = sum((p * channel.decode(y)[0] for y, p in law.items()), Fraction(0))
            error = Fraction(1, 2**49) if name == "laplace" else Fraction(1, 2**24)
            assert abs(mean - Fraction(-2, 5)) < error
        else:
            law = plan.law(attribute.name, attribute.values[1])
            assert law == channel.law(1)


def test_the_law_is_for_attributes_reported_alone() -> None:
    with pytest.raises(PlanError, match="together"):
        PLANS["multi"].law("a", 0.5)


def test_a_plan_is_known_by_its_id() -> None:
    plan = PLANS["default"]
    assert Plan.from_json(plan.to_json(), id=plan.id) == plan
    with pytest.raises(PlanError, match="another plan"):
        Plan.from_json(plan.to_json(), id=PLANS["titled"].id)


def test_plans_describe_themselves() -> None:
    plan = PLANS["default"]
    assert plan.id[:12] in repr(plan)
    with pytest.raises(SchemaError, match="'nobody'"):
        plan.channel("nobody")


def test_a_question_looks_through_views_alone() -> None:
    channel = grr(Fraction(1), 2)
    for asks in ([], ["a", 7], [7, "a"], "a"):
        with pytest.raises(PlanError, match="a question is about"):
            Question(asks, channel)  # type: ignore[arg-type]
    bands = Bands("x", (0.5,))
    assert Question(["a", "b"], channel).plain == ("a", "b")
    assert Question([bands], channel).plain is Question(["a", bands], channel).plain is None
    assert Question(["a", bands], channel).words == f"a, {bands.words}"
