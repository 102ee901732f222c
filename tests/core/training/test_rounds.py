"""Rounds: what goes out, what comes back, how the weights move, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

import hush.device.randomise
from hush import (
    Categorical,
    DesignError,
    HushError,
    Numeric,
    Plan,
    PlanError,
    Round,
    Schema,
    Tally,
    TallyError,
    Training,
    estimate,
    gradient,
    held_out,
    step,
)
from hush.core.design import NUMERIC
from hush.core.design.rounds import loss_plan, round_plan
from hush.core.exact import WORD
from hush.core.plan import Question
from hush.core.training.losses import loss_named
from hush.core.training.rotations import kappa, rotate, rotate_back
from hush.core.training.training import GRADIENTS, LARGEST, gradient_schema
from hush.device.gradient import gradient_record, loss_record
from hush.server.step import decode, mean_gradient, moved
from hush.testing import SeededCoins
from tests.cases import small_cube
from tests.learn.cases import LOSSES, MECHANISMS, first, numbers, person, training

PERSON = [0.8, -0.5, 0.3]
RECORD = person(PERSON)
Z = 6.0
"""A normal variable is further than this from its mean with probability 2e-9: 2e-7 for the 100 numbers of a test."""


# -- losses


@pytest.mark.parametrize("name", LOSSES)
def test_a_slope_is_the_derivative_of_its_loss(name: str) -> None:
    loss = loss_named(name)
    for y in (-1.0, 1.0):
        for score in (-30.0, -2.0, -0.4, 0.0, 0.7, 3.0, 25.0):
            numeric = (loss.value(score + 1e-6, y) - loss.value(score - 1e-6, y)) / 2e-6
            assert loss.slope(score, y) == pytest.approx(numeric, abs=1e-4)
            assert loss.bound is None or abs(loss.slope(score, y)) <= loss.bound
        assert abs(loss.slope(0.0, y)) <= loss.slope_at_zero
        assert loss.slope(800.0 * y, y) == (1600.0 * y - 2 * y if name == "squared" else 0.0)
        assert math.isfinite(loss.value(-1e6 * y, y))


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_the_constant_of_a_loss_has_the_least_mean_loss(name: str) -> None:
    loss, mean = loss_named(name), 0.3

    def risk(score: float) -> float:
        return (1 + mean) / 2 * loss.value(score, 1.0) + (1 - mean) / 2 * loss.value(score, -1.0)

    best = loss.constant(mean)
    assert risk(best) < min(risk(best - 0.01), risk(best + 0.01))
    assert loss_named("hinge").constant(mean) == 0.0


def test_an_unknown_loss_is_refused() -> None:
    wrong: list[object] = ["absolute", 3, None, []]
    for name in wrong:
        with pytest.raises(DesignError, match="squared, logistic, hinge"):
            loss_named(name)


# -- what a person reports


def clipped_gradient(round_: Round, x: list[float], y: float) -> list[float]:
    """The gradient by hand, before anything is randomised."""
    inputs = [*x, 1.0]
    score = sum(a * b for a, b in zip(inputs, round_.weights, strict=True))
    slope = {
        "squared": 2 * (score - y),
        "logistic": -y / (1 + math.exp(y * score)),
        "hinge": -y if y * score < 1 else 0.0,
    }[round_.training.loss]
    return [slope * value for value in inputs]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_record_of_a_vector_is_its_length_and_the_signs_of_its_rotation(loss: str) -> None:
    round_ = first(loss=loss, radius=6.0, start=(0.5, -0.25, 1.0, 0.125))
    g = clipped_gradient(round_, PERSON, -1)
    record = gradient_record(round_, RECORD, -1)
    assert list(record) == [f"g{j}" for j in range(64)]
    size = math.hypot(*g) / 6.0
    assert 0 < size < 1
    signs = [(turned > 1e-9) - (turned < -1e-9) for turned in rotate(g, "seed/1")]
    assert signs.count(1) + signs.count(-1) > 50
    for value, sign in zip(record.values(), signs, strict=True):
        assert sign == 0 or value == pytest.approx(sign * size)
    longer = gradient_record(first(loss=loss, radius=0.1, start=round_.weights), RECORD, -1)
    assert {abs(value) for value in longer.values()} <= {0.0, 1.0}


def test_a_gradient_of_nothing_is_reported_as_nothing() -> None:
    round_ = first(loss="hinge", start=(0.0, 0.0, 0.0, 2.0))
    assert set(gradient_record(round_, RECORD, 1).values()) == {0.0}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_record_of_coordinates_is_clipped(loss: str) -> None:
    round_ = first(loss=loss, gradient="hybrid", bound=0.4, start=(0.5, -0.25, 1.0, 0.125))
    g = clipped_gradient(round_, PERSON, -1)
    record = gradient_record(round_, RECORD, -1)
    assert list(record.values()) == pytest.approx([min(max(value / 0.4, -1), 1) for value in g])
    assert max(map(abs, record.values())) == 1.0


def test_the_record_of_a_loss_is_capped() -> None:
    round_ = first(loss="squared", cap=0.5, start=(0.5, 0.0, 0.0, 0.0))
    assert loss_record(round_, person([0.5, 0.0, 0.0]), 0.0) == {"loss": 0.0625}
    assert loss_record(round_, person([1.0, 0.0, 0.0]), -1.0) == {"loss": 0.5}


# -- the whole protocol, with real reports


def session(round_: Round, people: int, monkeypatch: pytest.MonkeyPatch) -> Tally:
    """The tally of so many people who are all the same, with seeded words."""
    coins = SeededCoins(11)
    monkeypatch.setattr(hush.device.randomise, "SystemCoins", lambda: coins)
    tally = Tally(round_.plan)
    for _ in range(people):
        tally.add(gradient(round_, RECORD, 1))
    return tally


def disagreement(tally: Tally, record: dict[str, float]) -> float:
    """The largest z of all means against a record: at most Z, but for a probability of 1e-6."""
    worst = 0.0
    for row in estimate(tally):
        error = math.sqrt(float(tally.plan.channel(row.attribute).worst_variance) / row.answers)
        worst = max(worst, abs(row.point - record[row.attribute]) / error)
    return worst


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_gradients_come_back_and_the_weights_move(mechanism: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round as it travels: out as JSON, back as reports, then a step. A false alarm has a probability of 1e-6."""
    start = (0.25, -0.5, 0.0, 0.125)
    round_ = first(loss=loss, gradient=mechanism, epsilon=8.0, radius=3.0, start=start, penalty=0.25)
    tally = session(Round.from_json(round_.to_json()), 200, monkeypatch)
    assert tally.reports == 200
    assert disagreement(tally, gradient_record(round_, RECORD, 1)) < Z
    after = step(round_, tally)
    g = mean_gradient(round_, tally)
    assert after.number == 2
    assert after.weights == pytest.approx([w - 0.5 * (v + 0.25 * w) for w, v in zip(start, g, strict=True)])
    assert after.plan.title == "test [seed]: round 2"
    assert after.plan.cost == 8
    assert gradient(after, RECORD, 1).plan.id == after.plan.id != round_.plan.id
    with pytest.raises(TallyError, match="another round"):
        step(after, tally)


@pytest.mark.parametrize("mechanism", ["vector", "minimax"])
def test_people_who_answer_for_another_round_are_noticed(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the rotation, or the weights, of another round."""
    round_ = first(gradient=mechanism, epsilon=8.0, radius=0.5)
    other = replace(round_, number=2, weights=(-3.0,) * 4, plan=round_plan(round_.training, 2, len(round_.coordinates)))
    tally = session(round_, 400, monkeypatch)
    assert disagreement(tally, gradient_record(round_, RECORD, 1)) < Z
    assert disagreement(tally, gradient_record(other, RECORD, 1)) > 2 * Z


@pytest.mark.parametrize("loss", LOSSES)
def test_held_out_people_tell_their_loss(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coins = SeededCoins(5)
    monkeypatch.setattr(hush.device.randomise, "SystemCoins", lambda: coins)
    round_ = first(loss=loss, start=(0.25, 0.5, 0.0, -0.25))
    plan = loss_plan(round_.training, 1)
    tally = Tally(plan)
    for _ in range(400):
        tally.add(held_out(round_, RECORD, -1))
    (row,) = estimate(tally)
    variance = float(plan.channel("loss").worst_variance) * (round_.training.cap / 2) ** 2
    assert abs(row.point - loss_record(round_, RECORD, -1)["loss"]) < Z * math.sqrt(variance / 400)
    assert row.stderr < 0.05


def test_a_training_that_is_over_takes_no_more_reports() -> None:
    round_ = first(rounds=2)
    for _ in range(2):
        assert not round_.done
        round_ = moved(round_, [1.0, 0.0, 0.0, 0.0])
    assert round_.done
    with pytest.raises(PlanError, match="over"):
        gradient(round_, RECORD, 1)
    with pytest.raises(PlanError, match="over"):
        step(round_, Tally(round_.plan))
    held_out(round_, RECORD, 1)  # how well it came out may still be asked


def test_what_nobody_reported_counts_as_nothing() -> None:
    round_ = first(start=(1.0, 2.0, 3.0, 4.0), penalty=0.0)
    assert step(round_, Tally(round_.plan)).weights == round_.weights


def test_decoding_a_record_gives_back_the_gradient_up_to_its_signs() -> None:
    round_ = first(radius=2.0)
    g = clipped_gradient(round_, PERSON, 1)
    signs = [float((value > 0) - (value < 0)) for value in rotate(g, "seed/1")]
    expected = [math.hypot(*g) / kappa(64) * value for value in rotate_back(signs, "seed/1", 4)]
    assert decode(round_, list(gradient_record(round_, RECORD, 1).values())) == pytest.approx(expected)
    flat = first(gradient="hybrid", bound=4.0)
    assert decode(flat, [0.25, -0.5, 0.0, 1.0]) == [1.0, -2.0, 0.0, 4.0]


# -- moving


def test_steps_shrink_only_if_they_are_meant_to() -> None:
    flat, shrinking = first(penalty=0.0), first(penalty=0.0, decay=True)
    for number in range(1, 4):
        one, other = moved(flat, [1.0, 0.0, 0.0, 0.0]), moved(shrinking, [1.0, 0.0, 0.0, 0.0])
        assert flat.weights[0] - one.weights[0] == pytest.approx(0.5)
        assert shrinking.weights[0] - other.weights[0] == pytest.approx(0.5 / math.sqrt(number))
        flat, shrinking = one, other


def test_a_box_keeps_the_weights() -> None:
    round_ = moved(first(box=0.75, step=1.0, penalty=0.0), [5.0, -5.0, 0.5, 0.0])
    assert round_.weights == (-0.75, 0.75, -0.5, 0.0)


@pytest.mark.parametrize(("tail", "count"), [(0.0, 0), (0.5, 3), (1.0, 6), (0.3, 2), (0.01, 0)])
def test_the_result_is_the_average_over_the_tail(tail: float, count: int) -> None:
    round_ = first(tail=tail, rounds=6)
    seen = []
    for number in range(6):
        round_ = moved(round_, [math.sin(number), math.cos(3 * number), 1.0, -0.3])
        seen.append(round_.weights)
        if number < 6 - count:
            assert round_.result == round_.weights
    assert round_.averaged == count
    last = seen[6 - count :] if count else seen[-1:]
    assert round_.result == pytest.approx([sum(column) / len(last) for column in zip(*last, strict=True)])


def test_selection_asks_only_about_large_coordinates() -> None:
    round_ = first(selection=(3, 2, 0.5), rounds=7, dimensions=5)
    assert [round_.training.is_wide(n) for n in range(1, 8)] == [True, False, False, True, False, False, True]
    assert [round_.training.units(n) for n in range(1, 8)] == [3, 1, 1, 3, 1, 1, 3]
    assert round_.coordinates == tuple(range(6))
    narrow = moved(round_, [0.1, -0.9, 0.5, 0.51, 0.0, -0.2])
    assert narrow.coordinates == (1, 3)
    g = clipped_gradient(replace(narrow, weights=(0.0,) * 6), [0.1, 0.9, 0.3, -0.8, 0.4], 1.0)
    record = gradient_record(replace(narrow, weights=(0.0,) * 6), person([0.1, 0.9, 0.3, -0.8, 0.4]), 1)
    assert len(record) == 64
    assert record["g0"] == pytest.approx(math.copysign(math.hypot(g[1], g[3]), rotate([g[1], g[3]], "seed/2")[0]))
    decoded = decode(narrow, [1.0] * 64)
    assert [j for j, value in enumerate(decoded) if value] == [1, 3]
    again = moved(narrow, [0.0, 0.1, 0.0, 9.0, 0.0, 0.0])
    assert again.coordinates == (1, 3)
    wide = moved(again, [0.0] * 6)
    assert wide.coordinates == tuple(range(6))
    assert moved(wide, [0.1, 0.2, -0.4, 0.3, 0.0, 0.0]).coordinates == (2,)  # none is large: the largest


def test_selected_coordinates_have_plans_of_their_own_size() -> None:
    narrow = moved(first(selection=(1, 1, 0.5), gradient="hybrid"), [0.9, 0.0, 0.6, 0.0])
    assert narrow.plan.schema.names == ("g0", "g1")
    record = gradient_record(narrow, person([0.5, 0.25, -0.125]), 1)
    g = clipped_gradient(narrow, [0.5, 0.25, -0.125], 1.0)
    assert list(record.values()) == pytest.approx([g[0], g[2]])


# -- models


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("projection", [None, 2])
@pytest.mark.parametrize("spread", [True, False])
def test_a_model_scores_as_the_weights_do(intercept: bool, projection: int | None, spread: bool) -> None:
    """Centre, scale and projection are folded into the coefficients."""
    centre, scale = ((0.25, -0.5, 0.125), (0.5, 2.0, 0.25)) if spread else (None, None)
    own = training(intercept=intercept, projection=projection, centre=centre, scale=scale)
    weights = [0.7, -1.3, 0.2, 2.1][: own.width]
    coefficients, constant = own.model(weights)
    for x in ([0.3, -0.7, 0.9], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.5]):
        inner = sum(a * b for a, b in zip(own.features(person(x)), weights, strict=True))
        assert sum(a * b for a, b in zip(x, coefficients, strict=True)) + constant == pytest.approx(inner)


def test_features_are_centred_scaled_and_followed_by_a_one() -> None:
    own = training(centre=(0.25, -0.5, 0.0), scale=(0.5, 2.0, 0.25))
    assert own.features(person([0.75, 0.5, -0.5])) == [1.0, 0.5, -2.0, 1.0]
    assert training(intercept=False).features(person([0.75, 0.5, -0.5])) == [0.75, 0.5, -0.5]
    short = training(projection=2)
    assert short.matrix is not None
    assert short.features(person([0.75, 0.5, -0.5])) == pytest.approx(
        [sum(p * v for p, v in zip(row, [0.75, 0.5, -0.5, 1.0], strict=True)) for row in short.matrix]
    )


# -- plans


def test_every_mechanism_has_the_whole_epsilon() -> None:
    for mechanism in GRADIENTS:
        for epsilon in (0.5, 4.0):
            plan = first(gradient=mechanism, epsilon=epsilon).plan
            assert plan.epsilon == epsilon
            assert plan.title == "test [seed]: round 1"
    assert set(NUMERIC) < set(GRADIENTS)


def test_k_is_that_of_the_plan() -> None:
    assert first(gradient="hybrid", k=3).plan.k == 3
    assert first(gradient="hybrid", k=100).plan.k == 4
    assert first(gradient="hybrid", k="paper", epsilon=8.0).plan.k == 3
    assert first(gradient="laplace").plan.k == 4  # the earlier way: everything, with a part of epsilon each
    assert first(gradient="laplace", k=2).plan.k == 2
    assert first(gradient="duchi-multi").plan.k == 1


# -- how it travels


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
        (("hush",), 3),
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
