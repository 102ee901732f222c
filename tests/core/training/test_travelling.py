"""Rounds as they travel: read back exactly, and refused wherever somebody changed them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

from hush import Categorical, DesignError, HushError, Numeric, Plan, PlanError, Round, Schema, Training, gradient
from hush.core.exact import WORD
from hush.core.plan import Question
from hush.core.training.training import LARGEST, gradient_schema
from hush.server.step import moved
from tests.cases import small_cube
from tests.core.training.people import RECORD
from tests.learn.cases import first, numbers, training

ROUNDS: dict[str, Callable[[], Round]] = {
    "vector": lambda: moved(first(), [0.1, 1 / 3, -0.7, 1e-17]),
    "hybrid": lambda: first(gradient="hybrid", k=2, decay=True, box=3.0),
    "whole": lambda: moved(
        first(
            centre=(0.1, 0.2, 0.3),
            scale=(1.0, 0.5, 0.1),
            start=(0.1, 0.2, 0.3, 0.4),
            selection=(2, 3, 0.01),
            penalty=0.0,
        ),
        [0.0, 1.0, 0.0, -1.0],
    ),
    "projected": lambda: first(projection=2, intercept=False, title="größer ☂"),
    "last": lambda: moved(first(rounds=1), [1.0, 2.0, 3.0, 4.0]),
    "linear": lambda: first(
        loss="squared",
        schema=Schema([Numeric("a", 0, 9, "clip", True), Categorical("b", ["x", "y"]), Categorical("c", [4, 7], True)]),
        label=Numeric("income", -5, 1e6, "clip"),
    ),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_travels_exactly(name: str) -> None:
    round_ = ROUNDS[name]()
    text = round_.to_json()
    again = Round.from_json(text)
    assert again == round_
    assert again.to_json() == text
    assert Round.from_json(text.encode()) == round_
    assert again.plan.id == round_.plan.id


WRONG: list[Any] = [None, True, -1, 0, 1.5, "", "x", "x" * 300, [], {}, [[]], [None], [1, 2], {"a": 1}, 10**400, 1e308]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    return [path] + [place for key, item in items for place in places(item, (*path, key))]


def changed(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    if not path:
        return wrong
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = changed(value[key], tuple(rest), wrong)
    return copy


@pytest.mark.parametrize("name", ["hybrid", "whole"])
def test_whatever_is_changed_a_round_is_read_or_refused(name: str) -> None:
    """Nothing but a HushError, at every place of the text; and what is read still costs what its training says."""
    value = json.loads(ROUNDS[name]().to_json())
    refused = 0
    for path in places(value):
        if path[:2] == ("plan", "schema") and len(path) > 3:
            continue  # the tests of plans do that
        for wrong in WRONG:
            text = json.dumps(changed(value, path, wrong))
            try:
                found = Round.from_json(text)
            except HushError:
                refused += 1
            else:
                assert found.plan.epsilon == found.training.epsilon
    assert refused > 800


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("hush",), 1),
        (("hush",), 2),
        (("hush",), True),
        (("number",), 0),
        (("number",), 8),
        (("number",), 2.0),
        (("averaged",), -1),
        (("averaged",), 7),
        (("weights",), [0.0, 0.0, 0.0]),
        (("weights",), [0.0, 0.0, 0.0, True]),
        (("weights",), [0.0, 0.0, 0.0, 1e41]),
        (("weights",), [0.0, 0.0, 0.0, 10**400]),
        (("average",), [0.0] * 5),
        (("average",), "0000"),
        (("coordinates",), []),
        (("coordinates",), [0, 1, 2, 4]),
        (("coordinates",), [-1, 0]),
        (("coordinates",), [1, 0]),
        (("coordinates",), [0, 0]),
        (("coordinates",), [0.0]),
        (("training", "epsilon"), 5.0),
        (("training", "epsilon"), 100.0),
        (("training", "epsilon"), 10**400),
        (("training", "epsilon"), "4.0"),
        (("training", "title"), "other"),
        (("training", "seed"), "other"),
        (("training", "schema"), []),
        (("training", "schema"), 3),
        (("training", "schema", 0, "kind"), "text"),
        (("training", "schema", 0, "low"), 1.0),
        (("training", "schema", 0, "low"), -1),
        (("training", "schema", 0, "name"), "x1"),
        (("training", "schema", 0, "name"), "y"),
        (("training", "label"), None),
        (("training", "label", "attribute", "kind"), "numeric"),
        (("training", "label", "attribute", "values"), [-1]),
        (("training", "label", "attribute", "values"), [-1, 0, 1]),
        (("training", "label", "attribute", "values"), [False, True]),
        (("training", "label", "attribute", "values"), [-1.0, 1.0]),
        (("training", "label", "attribute", "optional"), True),
        (("training", "label", "targets"), [1, -1]),
        (("training", "label", "targets"), [0, 1]),
        (("training", "label", "targets"), [-1.0, 1.0]),
        (("training", "label", "targets"), [-1, True]),
        (("training", "loss"), "squared"),
        (("training", "rounds"), 0),
        (("training", "step"), -1.0),
        (("training", "tail"), 1.5),
        (("training", "decay"), 0),
        (("training", "rising"), 1),
        (("training", "ordered"), ["x0"]),
        (("training", "ordered"), "x0"),
        (("training", "gradient"), "float"),
        (("training", "loss"), "absolute"),
        (("training", "k"), 0),
        (("training", "centre"), [0.0, 0.0]),
        (("training", "scale"), [1.0, 1.0, 0.0]),
        (("training", "scale"), 1.0),
        (("training", "start"), [0.0, 0.0, 0.0]),
        (("training", "selection"), [1, 2]),
        (("training", "selection"), [0, 2, 0.1]),
        (("training", "selection"), [1, 2, -0.1]),
        (("training", "projection"), 4),
        (("training", "box"), 0.0),
        (("training", "cap"), 0.0),
        (("plan", "epsilon"), "5.0"),
        (("plan", "title"), "test [seed]: round 1 "),
        (("plan", "title"), "another survey"),
    ],
)
def test_a_round_that_was_tampered_with_is_refused(path: tuple[str, ...], wrong: Any) -> None:
    value = json.loads(first().to_json())
    with pytest.raises(HushError):
        Round.from_json(json.dumps(changed(value, path, wrong)))


def test_fields_that_are_missing_repeated_or_left_over_are_refused() -> None:
    text = first().to_json()
    value = json.loads(text)
    for wrong in (
        {name: item for name, item in value.items() if name != "averaged"},
        value | {"more": 1},
        value | {"training": value["training"] | {"more": 1}},
        value | {"training": value["training"] | {"dimensions": 3}},
        value | {"training": value["training"] | {"label": value["training"]["label"]["attribute"]}},
        value | {"training": {name: item for name, item in value["training"].items() if name != "cap"}},
        [value],
        "round",
    ):
        with pytest.raises(PlanError):
            Round.from_json(json.dumps(wrong))
    for bad in (
        text.replace('"step":0.5', '"step":NaN'),
        text.replace('"step":0.5', '"step":Infinity'),
        text.replace('"step":0.5', '"step":1e999'),
        text.replace('"number":1', '"number":1,"number":1'),
        text[:-1],
        b"\xff",
        "",
    ):
        assert bad != text
        with pytest.raises(HushError):
            Round.from_json(bad)


def tampered(plan: Plan) -> str:
    value = json.loads(first().to_json())
    return json.dumps(value | {"plan": json.loads(plan.to_json())})


def test_a_plan_of_other_gradients_is_refused() -> None:
    good = first().plan
    assert Round.from_json(tampered(good)).plan == good
    other = gradient_schema(65)
    question = Question(other.names, small_cube(Fraction(4), 65, 1, 1))
    for plan in (
        replace(good, cost=Fraction(8)),
        replace(good, title="test [seed]: round 2"),
        Plan(other, good.cost, 1, (question,), good.title),
        first(gradient="hybrid").plan,
    ):
        with pytest.raises(PlanError, match="the gradients, the title and the epsilon"):
            Round.from_json(tampered(plan))


def test_a_channel_that_leaks_is_refused() -> None:
    """Another channel may stand in the plan, as long as it is private; one more in 2^64 is too much."""
    good = first().plan
    honest = small_cube(good.cost, 64, 2, 2)
    text = tampered(replace(good, questions=(Question(good.schema.names, honest),)))
    assert Round.from_json(text).plan.questions[0].channel == honest
    for leak in (honest.threshold + 1, WORD - 1):
        value = json.loads(text)
        value["plan"]["questions"][0]["channel"]["threshold"] = str(leak)
        with pytest.raises(PlanError, match="costs more than epsilon"):
            Round.from_json(json.dumps(value))


def test_trainings_are_checked_when_they_are_made() -> None:
    for changes in (
        {"title": ""},
        {"title": "a\nb"},
        {"title": "x" * 129},
        {"seed": 5},
        {"epsilon": float("nan")},
        {"epsilon": 0.0005},
        {"epsilon": True},
        {"penalty": -1.0},
        {"tail": -0.1},
        {"k": "most"},
        {"centre": [0.0, 0.0, 0.0]},
        {"start": (0.0, 0.0, 0.0, float("inf"))},
        {"selection": (1, 2)},
        {"selection": [1, 2, 0.1]},
        {"schema": 3},
        {"schema": numbers(1024)},
        {"schema": Schema([Categorical("a", list(range(1025)))])},
    ):
        with pytest.raises(DesignError):
            training(**changes)
    label = Categorical("bought", [0, 1])
    fresh = [Training("t", "hinge", numbers(1), label, 1.0, 1, 1.0).seed for _ in range(2)]
    assert len({training().seed, *fresh}) == 3
    assert [field.name for field in fields(Training)][-1] == "seed"


def test_a_training_that_diverges_still_ends() -> None:
    """Its weights stop at the largest that a round may have: a collector must not be stuck in a round."""
    round_ = first(step=1e60, rounds=4, tail=0.0)
    while not round_.done:
        round_ = moved(round_, [0.5] * round_.training.width)
    assert set(map(abs, round_.result)) == {LARGEST}
    assert Round.from_json(round_.to_json()) == round_


@pytest.mark.parametrize("mechanism", ["vector", "hybrid"])
def test_a_device_designs_nothing_for_a_server(monkeypatch: pytest.MonkeyPatch, mechanism: str) -> None:
    """A server could make a device look for the best channel of a thousand coordinates: the device reads and checks."""
    round_ = first(gradient=mechanism, epsilon=0.731)
    text = round_.to_json()

    def design(*_: object, **__: object) -> Plan:
        raise AssertionError("designed")

    for name in ("_vector_plan", "_coordinate_plan", "design"):
        monkeypatch.setattr(f"hush.core.design.rounds.{name}", design)
    assert Round.from_json(text) == round_
    assert gradient(Round.from_json(text), RECORD, 1).plan == round_.plan
