"""Plans: what is chosen, what is checked, and what a tampered one does."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import Categorical, DesignError, HushError, Numeric, Plan, PlanError, Schema, SchemaError, design
from hush.core.channels import Cells, Mixture, Signs, Subset, Unary, Window
from hush.core.channels.window import ROUNDING
from hush.core.design.numeric import duchi
from hush.core.exact import WORD
from hush.core.plan import MAX_QUESTIONS, Question
from hush.core.views import Bands, Sides, Value, View
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


# -- tampering


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
    with pytest.raises(PlanError, match="1572864 outputs"):
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


@settings(max_examples=300)
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


# -- the ends of every rule

BINARY = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1]), Categorical("c", [0, 1])])


def binary(cost: Any = Fraction(1), k: Any = 1, title: Any = "", weights: Any = None, bias: int = 1) -> Plan:
    """A plan of three coins that are hardly biased, so that nothing but the rule in question can refuse it."""
    coin = Subset(2, 1, WORD // 2 + bias)
    return Plan(BINARY, cost, k, tuple(Question((name,), coin) for name in "abc"), title, weights)


@pytest.mark.parametrize(
    "changed",
    [
        {"cost": Fraction(1, 1000)},
        {"cost": Fraction(16)},
        {"k": 3},
        {"title": "x" * 256},
        {"weights": (1, 1, 1 << 32)},
    ],
)
def test_the_last_that_a_plan_may_have(changed: dict[str, Any]) -> None:
    plan = binary(**changed)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "changed",
    [
        {"cost": Fraction("0.000999")},
        {"cost": Fraction("16.001")},
        {"cost": 1.0},
        {"cost": Fraction(1, 3)},
        {"k": 0},
        {"k": 4},
        {"k": True},
        {"title": "x" * 257},
        {"title": b"x"},
        {"title": "a\nb"},
        {"weights": (1, 1, (1 << 32) + 1)},
        {"weights": (0, 1, 1)},
        {"weights": (1, 1)},
        {"weights": (1, 1, 1, 1)},
        {"weights": [1, 1, 1]},
        {"weights": (1, 1, 1), "k": 2},
        {"weights": (1, 1, True)},
    ],
)
def test_the_first_that_it_may_not_have(changed: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        binary(**changed)


def test_epsilon_is_kept_to_the_last_threshold() -> None:
    """The largest threshold of a coin for e^epsilon is accepted, and the next refused; k coins cost k times as much."""
    for k in (1, 2, 3):
        share = exp_floor(Fraction(1, k))
        bias = int(WORD * share / (1 + share)) - WORD // 2
        assert binary(k=k, bias=bias).ratio <= exp_floor(Fraction(1))
        with pytest.raises(PlanError, match="costs more"):
            binary(k=k, bias=bias + 2)


def test_the_costliest_questions_count() -> None:
    thresholds = [WORD // 2 + 1, WORD // 3 * 2, WORD // 5 * 3]
    questions = tuple(Question((name,), Subset(2, 1, t)) for name, t in zip("abc", thresholds, strict=True))
    ratios = [question.channel.ratio for question in questions]
    for k, expected in ((1, ratios[1]), (2, ratios[1] * ratios[2]), (3, ratios[0] * ratios[1] * ratios[2])):
        assert Plan(BINARY, Fraction(4), k, questions).ratio == expected


def test_a_plan_has_at_most_4096_questions() -> None:
    schema = Schema([Numeric("x", 0, 1)])
    coin = Subset(2, 1, WORD // 2 + 1)
    views = [Bands("x", ((i + 0.5) / (MAX_QUESTIONS + 1),)) for i in range(MAX_QUESTIONS + 1)]
    assert MAX_QUESTIONS == 4096
    assert len(Plan(schema, Fraction(1), 1, tuple(Question([view], coin) for view in views[1:])).questions) == 4096
    with pytest.raises(PlanError, match="at most 4096 questions"):
        Plan(schema, Fraction(1), 1, tuple(Question([view], coin) for view in views))


def test_a_question_is_about_views_of_the_schema() -> None:
    coin = Subset(2, 1, WORD // 2 + 1)
    for asks, rule in (
        ("abc", "list of attributes or views"),
        ([], "one or more"),
        ([None], "one or more"),
        ([["a"]], "one or more"),
    ):
        with pytest.raises(PlanError, match=rule):
            Question(asks, coin)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="'d'"):
        Plan(BINARY, Fraction(1), 1, (*binary().questions, Question(["d"], coin)))
    with pytest.raises(PlanError, match=r"'a'.* number"):
        Plan(BINARY, Fraction(1), 1, (*binary().questions, Question([Bands("a", (0.5,))], coin)))


def test_an_attribute_that_is_seen_through_views_alone_has_no_question_as_it_is() -> None:
    schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1)])
    coin = Subset(2, 1, WORD // 2 + 1)
    asks: tuple[list[View | str], ...] = ([Bands("x", (0.5,))], [Sides(("x", "y"), (0.5, 0.5))], [Value("y")])
    plan = Plan(
        schema,
        Fraction(1),
        1,
        tuple(Question(a, c) for a, c in zip(asks, (coin, coin, duchi(Fraction(1))), strict=True)),
    )
    assert plan.question("y") == 2
    assert [question.plain for question in plan.questions] == [None, None, ("y",)]
    assert [question.attributes for question in plan.questions] == [("x",), ("x", "y"), ("y",)]
    for method in (plan.question, plan.channel, lambda name: plan.law(name, 0.5)):
        with pytest.raises(PlanError, match=r"'x'.*bands, sides or products only"):
            method("x")


def test_weights_say_how_likely_a_question_is() -> None:
    assert binary(weights=(1, 2, 5)).inclusions == (Fraction(1, 8), Fraction(1, 4), Fraction(5, 8))
    assert binary(k=2).inclusions == (Fraction(2, 3),) * 3
    text = binary(weights=(1, 2, 5)).to_json()
    assert '"weights":[1,2,5]' in text
    for junk in ("[1,2]", "[1,2,0]", "{}", '"125"', "[1,2,5.0]", "[]"):
        with pytest.raises(PlanError):
            Plan.from_json(text.replace("[1,2,5]", junk))


def test_where_the_inputs_of_a_question_lie() -> None:
    plan = PLANS["cells"]
    inputs = plan.schema.encode({"x": 2.5, "c": "b", "s": None, "z": 2})
    assert [plan.seen(index, inputs) for index in range(2)] == [[0.25, 1, 2], [1]]
    assert [plan.question(name) for name in "xcsz"] == [0, 0, 0, 1]
    assert plan.channel("z") is plan.questions[1].channel
    assert [len(attributes) for attributes in plan.attributes] == [3, 1]


def test_how_many_outputs_a_plan_may_have() -> None:
    """48 of the largest windows are the most that is accepted: made or read."""
    window = Window(1 << 15, 1 << 14, WORD // 2 + (1 << 38))
    names = [f"x{i}" for i in range(49)]
    for count in (48, 49):
        schema = Schema([Numeric(name, 0, 1) for name in names[:count]])
        questions = tuple(Question((name,), window) for name in names[:count])
        if count == 48:
            text = Plan(schema, Fraction(1), 1, questions).to_json()
            assert len(Plan.from_json(text).questions) == 48
        else:
            with pytest.raises(PlanError, match="1572864 outputs"):
                Plan(schema, Fraction(1), 1, questions)
            values = json.loads(text)
            values["questions"].append(values["questions"][-1] | {"views": [{"kind": "value", "of": ["x48"]}]})
            with pytest.raises(PlanError, match="1572864 outputs"):
                Plan.from_json(json.dumps(values))


@pytest.mark.parametrize(
    "epsilon", ["1", "1.00", "+1.0", "1e0", "1_0.0", "inf", "nan", "0.10000000000000001", "x", "", 1.0]
)
def test_epsilon_is_written_in_one_way(epsilon: Any) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(tampered(binary(), lambda values: values.update(epsilon=epsilon)))


def test_a_long_epsilon_is_read() -> None:
    plan = binary(cost=Fraction(repr(1 / 3)))
    assert Plan.from_json(plan.to_json()).epsilon == 1 / 3


def test_designs_that_need_two_choices_to_agree() -> None:
    with pytest.raises(DesignError, match="objective"):
        design(BINARY, 1.0, objective="uniform", numeric="duchi")
    assert design(BINARY, 1.0, k="weighted").k == 1
    assert design(BINARY, 1.0, k=3).k == 3
    assert design(BINARY, 1.0).weights is None


@pytest.mark.parametrize("epsilon", [0.001, 16, 16.0])
def test_the_ends_of_epsilon_are_designed(epsilon: float) -> None:
    assert design(BINARY, epsilon).epsilon == epsilon


def test_a_prior_takes_the_cube_where_it_is_better() -> None:
    numbers = Schema([Numeric(f"x{i}", 0, 1) for i in range(16)])
    plan = design(numbers, 4.0, objective="uniform", title="here")
    assert [question.channel.kind for question in plan.questions] == ["cube"]
    assert plan.title == "here"
    apart = design(numbers, 4.0, objective="uniform", joint=[["x0", "x1"]])
    assert "cube" not in {question.channel.kind for question in apart.questions}
    assert {question.channel.kind for question in design(NUMBERS, 0.5, objective="centre").questions} <= {
        "window",
        "cube",
    }


def test_the_lower_bound_of_e_to_epsilon_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two bounds are 2^-180 apart, so they are moved apart here: a ratio may reach the lower one and no more."""
    ratio = binary().ratio
    monkeypatch.setattr("hush.core.plan.exp_bounds", lambda cost: (ratio, ratio * 2))
    assert binary().ratio == ratio
    with pytest.raises(PlanError, match="costs more"):
        binary(bias=2)


def test_the_message_names_the_costliest_question_and_what_it_costs() -> None:
    thresholds = [WORD // 2 + 1, WORD // 8 * 5, WORD // 2 + 2]
    questions = tuple(Question((name,), Subset(2, 1, t)) for name, t in zip("abc", thresholds, strict=True))
    with pytest.raises(PlanError, match=r"'b': .*about 0\.510826"):  # ln(5/3)
        Plan(BINARY, Fraction(1, 2), 1, questions)
    assert Plan(BINARY, Fraction(1), 1, questions).title == ""


def test_outputs_are_counted_while_a_plan_is_read() -> None:
    """So that no memory is spent on the rest: what follows is not even looked at."""
    coin = {"kind": "subset", "size": 2, "weight": 1, "threshold": str(WORD // 2 + 1)}
    window = {"kind": "window", "size": 32768, "width": 16384, "levels": "even", "optional": False}
    window["threshold"] = str(WORD // 2 + (1 << 38))
    odd = window | {"size": 32767, "width": 1, "threshold": str(WORD - 32766 * ROUNDING)}
    channels = [coin, *[window] * 47, odd]  # one output too many
    values = json.loads(binary().to_json())
    values["questions"] = [
        *({"views": [{"kind": "value", "of": [f"x{i}"]}], "channel": each} for i, each in enumerate(channels)),
        "junk",
    ]
    with pytest.raises(PlanError, match="1572864 outputs"):
        Plan.from_json(json.dumps(values))


def test_the_law_is_not_for_two_attributes_together() -> None:
    schema = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])])
    plan = Plan(schema, Fraction(2), 1, (Question(("a", "b"), Cells((2, 2), 1, WORD // 2)),))
    with pytest.raises(PlanError, match="together"):
        plan.law("a", 0)


def test_weighted_sampling_asks_one_question_even_if_more_were_better() -> None:
    assert design(BINARY, 9.0).k > 1
    assert design(BINARY, 9.0, k="weighted").k == 1


def test_a_plan_draws_margins_and_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn is in tests/plots/test_plots.py; here, that it is of this plan, with these options."""
    plan = PLANS["mixed"] if "mixed" in PLANS else next(iter(PLANS.values()))
    drawing = SimpleNamespace(margins=lambda *places, **names: (places, names), law=lambda *places: places)
    monkeypatch.setitem(sys.modules, "hush.plots", drawing)  # so that Altair need not be here
    monkeypatch.setitem(vars(hush), "plots", drawing)
    usual = {"people": 100_000, "level": 0.95, "attributes": (), "guesses": None}
    assert plan.plot() == ((plan,), usual)
    assert plan.plot("x", people=7, level=0.5) == ((plan,), {**usual, "people": 7, "level": 0.5, "attributes": ("x",)})
    assert plan.plot_law("x", 1, 2) == (plan, "x", (1, 2))


def test_a_plan_of_the_first_version_says_what_to_do() -> None:
    """Its questions had a list of attributes instead of views; the version is looked at first."""
    values = json.loads(binary().to_json()) | {"hush": 1}
    for question, name in zip(values["questions"], "abc", strict=True):
        del question["views"]
        question["attributes"] = [name]
    with pytest.raises(PlanError, match=r"version 1; this hush reads version 2: make the plan and its reports anew"):
        Plan.from_json(json.dumps(values))


def test_a_plan_that_is_no_json_says_where() -> None:
    with pytest.raises(PlanError, match="line 2"):
        Plan.from_json('{"hush": 1,\n,}')


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_is_read_has_all_that_draws_need(name: str) -> None:
    """So that the first report takes no longer than the next, whatever it is about."""
    for question in Plan.from_json(PLANS[name].to_json()).questions:
        assert vars(question.channel).keys() >= {*question.channel.made}
