"""How weights move, which coordinates are asked about, and the model that comes out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hush.core.training.rotations import rotate
from hush.device.gradient import gradient_record
from hush.server.step import decode, moved
from tests.core.training.people import clipped_gradient
from tests.learn.cases import first, person, training

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
    turned = rotate([g[1], g[3]], "seed/2")
    top = max(range(64), key=lambda j: abs(turned[j]))
    assert record[f"g{top}"] == pytest.approx(math.copysign(math.hypot(g[1], g[3]), turned[top]))
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
