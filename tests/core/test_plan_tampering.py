"""Plans that somebody has edited: each is refused, or is as private as it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import HushError, Numeric, Plan, PlanError, Schema, SchemaError, design
from hush.core.channels import Cells
from hush.core.channels.window import ROUNDING
from hush.core.design.numeric import duchi
from hush.core.exact import WORD
from hush.core.plan import Question
from hush.core.views import Bands
from tests.cases import exp_floor, plans

PLANS = plans()


def tampered(plan: Plan, change: Callable[[Any], None]) -> str:
    values = json.loads(plan.to_json())
    change(values)
    return json.dumps(values)


def raise_threshold(values: Any, by: int) -> None:
    channel = values["questions"][0]["channel"]
    channel["threshold"] = str(int(channel["threshold"]) + by)


def test_a_threshold_that_breaks_epsilon_is_refused() -> None:
    plan = design(Schema([Numeric("age", 0, 1)]), 1.0, numeric="duchi")
    assert Plan.from_json(tampered(plan, lambda values: raise_threshold(values, -ROUNDING))).id != plan.id
    with pytest.raises(PlanError, match=r"'age'.*costs more than epsilon = 1\.0"):
        Plan.from_json(tampered(plan, lambda values: raise_threshold(values, ROUNDING)))


def test_one_question_cannot_borrow_from_another() -> None:
    """With k = 1 each question must keep to the whole epsilon by itself."""
    plan = design(Schema([Numeric("a", 0, 1), Numeric("b", 0, 1)]), 1.0, numeric="duchi")
    values = json.loads(plan.to_json())
    values["questions"][1]["channel"]["threshold"] = str(WORD // ROUNDING * 6 // 10 * ROUNDING)
    assert Plan.from_json(json.dumps(values)).ratio <= plan.ratio
    values["questions"][0]["channel"]["threshold"] = str(WORD // ROUNDING * 8 // 10 * ROUNDING)
    with pytest.raises(PlanError, match="costs more"):
        Plan.from_json(json.dumps(values))


def test_a_plan_far_beyond_its_claim_is_refused_as_well() -> None:
    """Its ratio is too large for a float."""
    plan = design(Schema([Numeric(f"x{i}", 0, 1) for i in range(40)]), 1.0, numeric="duchi", k=40)

    def raise_all(values: Any) -> None:
        for question in values["questions"]:
            question["channel"]["threshold"] = str(WORD - ROUNDING)

    with pytest.raises(PlanError, match="about 1109"):
        Plan.from_json(tampered(plan, raise_all))


def test_a_plan_cannot_exhaust_a_device() -> None:
    """Large windows are small in JSON; their number is bounded before they are built."""
    window = {
        "kind": "window",
        "size": 32768,
        "width": 1,
        "threshold": str(WORD - 32767 * ROUNDING * (WORD // ROUNDING // 65534)),
        "levels": "even",
        "optional": False,
    }
    mixture = {"kind": "mixture", "shares": [str(WORD // 8)] * 8, "parts": [window] * 8}

    def enlarge(values: Any) -> None:
        for question in values["questions"]:
            question["channel"] = mixture

    plan = design(Schema([Numeric(f"x{i}", 0, 1) for i in range(100)]), 16.0, numeric="duchi")
    with pytest.raises(PlanError, match="4194304 outputs"):
        Plan.from_json(tampered(plan, enlarge))


def test_raising_k_is_refused() -> None:
    plan = design(Schema([Numeric("a", 0, 1), Numeric("b", 0, 1)]), 1.0)
    with pytest.raises(PlanError, match="costs more"):
        Plan.from_json(tampered(plan, lambda values: values.update(k=2)))


def test_lowering_the_claim_is_refused() -> None:
    with pytest.raises(PlanError, match="costs more"):
        Plan.from_json(tampered(PLANS["default"], lambda values: values.update(epsilon="0.99")))


BAD_TEXTS = [
    "",
    "null",
    "[]",
    "{",
    "[" * 100_000,
    "1" * 5000,
    '{"hush":1,"hush":1}',
    '{"epsilon":NaN}',
    "\ud800",
]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_junk_is_not_a_plan(text: str) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(text)
    with pytest.raises(PlanError):
        Plan.from_json(text.encode(errors="surrogatepass"))


@pytest.mark.parametrize("junk", [None, 5, {}, ["x"]])
def test_what_is_not_text_is_not_a_plan(junk: Any) -> None:
    with pytest.raises(PlanError, match="text or bytes"):
        Plan.from_json(junk)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_only_utf_8_is_read(encoding: str) -> None:
    with pytest.raises(PlanError, match="not valid JSON"):
        Plan.from_json(PLANS["default"].to_json().encode(encoding))


def test_a_bound_has_one_way_to_be_zero() -> None:
    text = PLANS["default"].to_json()
    with pytest.raises(SchemaError, match="0 without a sign"):
        Plan.from_json(text.replace('"low":0.0', '"low":-0.0', 1))


@pytest.mark.parametrize(
    "change",
    [
        {"hush": 1},
        {"hush": 3},
        {"hush": True},
        {"hush": "2"},
        {"epsilon": 1.0},
        {"epsilon": "1"},
        {"epsilon": "1e0"},
        {"epsilon": "nan"},
        {"epsilon": " 1.0"},
        {"epsilon": "99.0"},
        {"epsilon": "1.00000000000000000000000000000000001"},
        {"k": 0},
        {"k": 7},
        {"k": "1"},
        {"k": 1.0},
        {"title": 5},
        {"questions": {}},
        {"questions": []},
        {"schema": []},
        {"extra": 1},
    ],
)
def test_a_changed_field_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((PlanError, SchemaError)):
        Plan.from_json(tampered(PLANS["default"], lambda values: values.update(change)))


def test_a_plan_without_questions_is_refused() -> None:
    with pytest.raises(PlanError, match="at least one question"):
        Plan(Schema([Numeric("x", 0, 1)]), Fraction(1), 1, ())


def test_questions_must_cover_the_schema() -> None:
    def drop(values: Any) -> None:
        del values["questions"][0]

    def double(values: Any) -> None:
        values["questions"].append(values["questions"][0])

    def disguise(values: Any) -> None:
        values["questions"].append(values["questions"][0] | {"channel": duchi(Fraction(1, 2)).to_json()})

    def forget(values: Any) -> None:
        values["questions"][0]["views"] = []

    def look_twice(values: Any) -> None:
        coins = Cells((3, 3), 1, WORD // 9 + 1)
        values["questions"][3] = {"views": [{"kind": "value", "of": ["os"]}] * 2, "channel": coins.to_json()}

    for change, rule in (
        (drop, "'age': no question asks about it"),
        (double, "the same views"),
        (disguise, "the same views"),
        (forget, "one or more attributes or views"),
        (look_twice, "'os': .* the same view twice"),
    ):
        with pytest.raises(PlanError, match=rule):
            Plan.from_json(tampered(PLANS["default"], change))


def test_questions_come_in_any_order_and_may_share_attributes() -> None:
    plan = PLANS["default"]
    swapped = Plan.from_json(tampered(plan, lambda values: values["questions"].reverse()))
    assert swapped.id != plan.id
    assert swapped.question("age") == 5
    coins = Cells((3, 2), 1, WORD // 6 + 1)
    both = Question(["os", Bands("age", (40.0,))], coins)
    shared = Plan(plan.schema, plan.cost, 1, (both, *plan.questions))
    assert Plan.from_json(shared.to_json()) == shared
    assert [shared.question(name) for name in ("age", "os")] == [1, 4]
    assert shared.ratio == plan.ratio


def test_a_channel_must_fit_its_attribute() -> None:
    plan = PLANS["default"]
    by_name = {question.attributes[0]: question.channel for question in plan.questions}
    by_name["laplace"] = PLANS["laplace"].channel("x")
    for name, other, rule in (
        ("age", "os", "one categorical"),
        ("os", "age", "one numeric"),
        ("age", "income", "both be optional"),
        ("os", "code", "3 categories"),
        ("os", "laplace", "one numeric"),
    ):
        questions = tuple(
            Question(q.attributes, by_name[other]) if q.attributes == (name,) else q for q in plan.questions
        )
        with pytest.raises(PlanError, match=rule):
            Plan(plan.schema, plan.cost, plan.k, questions)


@settings(max_examples=100)
@given(st.sampled_from(["default", "multi", "oue", "hybrid", "laplace"]), st.data())
def test_any_edit_of_a_plan_is_refused_or_is_a_private_plan(name: str, data: st.DataObject) -> None:
    text = PLANS[name].to_json()
    at = data.draw(st.integers(0, len(text) - 1))
    edit = data.draw(st.one_of(st.text(max_size=2), st.sampled_from(["0", "9", "[", "]", '"', "-", "null", "e9"])))
    try:
        plan = Plan.from_json(text[:at] + edit + text[at + data.draw(st.integers(0, 2)) :])
    except HushError:
        return
    assert plan.ratio <= exp_floor(plan.cost)
