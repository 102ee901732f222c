"""The ends of every rule of a plan: the last that it may have, and the first that it may not have."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import hush
from hush import Categorical, DesignError, Numeric, Plan, PlanError, Schema, SchemaError, design
from hush.core.channels import Cells, Subset, Window
from hush.core.channels.window import ROUNDING
from hush.core.design.categorical import grr
from hush.core.design.numeric import duchi
from hush.core.exact import WORD
from hush.core.looking import View
from hush.core.plan import MAX_QUESTIONS, Question, _channel
from hush.core.views import Bands, Sides, Value
from tests.cases import NUMBERS, exp_floor, plans, small_window

PLANS = plans()


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
        with pytest.raises(PlanError, match=r"'x'.*through other views only"):
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
    """128 of the largest windows are the most that is accepted: made or read."""
    window = Window(1 << 15, 1 << 14, WORD // 2 + (1 << 38))
    names = [f"x{i}" for i in range(129)]
    for count in (128, 129):
        schema = Schema([Numeric(name, 0, 1) for name in names[:count]])
        questions = tuple(Question((name,), window) for name in names[:count])
        if count == 128:
            text = Plan(schema, Fraction(1), 1, questions).to_json()
            assert len(Plan.from_json(text).questions) == 128
        else:
            with pytest.raises(PlanError, match="4194304 outputs"):
                Plan(schema, Fraction(1), 1, questions)
            values = json.loads(text)
            values["questions"].append(values["questions"][-1] | {"views": [{"kind": "value", "of": ["x128"]}]})
            with pytest.raises(PlanError, match="4194304 outputs"):
                Plan.from_json(json.dumps(values))


@pytest.mark.parametrize(
    "epsilon", ["1", "1.00", "+1.0", "1e0", "1_0.0", "inf", "nan", "0.10000000000000001", "x", "", 1.0]
)
def test_epsilon_is_written_in_one_way(epsilon: Any) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(json.dumps(json.loads(binary().to_json()) | {"epsilon": epsilon}))


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
    channels = [coin, *[window] * 127, odd]  # one output too many
    values = json.loads(binary().to_json())
    values["questions"] = [
        *({"views": [{"kind": "value", "of": [f"x{i}"]}], "channel": each} for i, each in enumerate(channels)),
        "junk",
    ]
    with pytest.raises(PlanError, match="4194304 outputs"):
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


def test_a_histogram_has_65536_buckets_at_most() -> None:
    epsilon = Fraction(2)
    window, two = small_window(epsilon, 1 << 15, 1 << 14), grr(epsilon, 2)
    schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1), Categorical("c", ["a", "b"])])
    most = (Question(("x",), window), Question(("y",), window))
    assert Plan(Schema(schema.attributes[:2]), epsilon, 1, most).buckets == 1 << 16
    with pytest.raises(PlanError, match="more than 65536 different reports"):
        assert Plan(schema, epsilon, 1, (*most, Question(("c",), two))).buckets


def test_a_channel_with_a_number_of_thousands_of_digits_is_refused() -> None:
    """It cannot even be written down, to be looked up among the channels that are known."""
    with pytest.raises(PlanError):
        _channel(grr(Fraction(2), 3).to_json() | {"size": 10**5000})


def test_rich_prints_a_plan() -> None:
    pytest.importorskip("rich")
    plan = Plan(Schema([Categorical("c", ["a", "b"])]), Fraction(2), 1, (Question(("c",), grr(Fraction(2), 2)),))
    assert type(plan.__rich__()) is type(plan.table().__rich__())
    assert plan.__rich__() is not None
