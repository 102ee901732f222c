"""The pilot: a few people, each asked one question with the whole epsilon; and the features that it is about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hush import Categorical, Features, Numeric, Schema
from hush.core.training.features import Part
from hush.core.training.losses import loss_named
from hush.learn import pilot
from hush.learn.matrices import feature_matrix
from hush.learn.pilot import BINS, LEAST_SCALE, deviations_plan, features_plan, length_bins, lengths_plan, median_of
from hush.learn.simulation import People, View, people_of
from hush.server.estimates import Estimate
from tests.learn.cases import LOSSES, Array, training

PARTS = (Part(0, 1, True), Part(1, 4, False), Part(4, 5, True), Part(5, 6, False))
"""A number, a category of four values, a number, and whether something is missing."""


def people(n: int, loss: str, seed: int = 1) -> People:
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 6), dtype=np.float32)
    x[:, 0] = rng.uniform(-0.2, 0.6, n)
    kind = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    for value in range(3):
        x[:, 1 + value] = kind == value
    x[:, 4] = np.clip(rng.normal(-0.5, 0.3, n), -1, 1)
    x[:, 5] = rng.random(n) < 0.1
    y = 0.5 * x[:, 0] + rng.uniform(-0.3, 0.5, n)
    return people_of(training(dimensions=6), x, y if loss == "squared" else np.where(y > 0.1, 1.0, -1.0))


def test_every_question_has_the_whole_epsilon_and_belongs_to_the_training() -> None:
    own = training(dimensions=6, epsilon=1.5)
    plans = [
        features_plan(PARTS, own.epsilon, own.family),
        deviations_plan([0, 4], own.epsilon, own.family),
        lengths_plan(own.epsilon, own.family, "lengths"),
        lengths_plan(own.epsilon, own.family, "gradients"),
    ]
    assert [plan.epsilon for plan in plans] == [1.5] * 4
    assert all(plan.title.startswith(own.family) for plan in plans)  # so that a ledger lets a person answer one of them
    assert len({plan.id for plan in plans}) == 4
    schema = plans[0].schema
    assert schema.names == ("target", "x0", "x1", "x4", "x5")
    assert isinstance(schema["x0"], Numeric)
    values = [schema[name].values for name in ("x1", "x5")]  # type: ignore[union-attr]
    assert values == [(0, 1, 2, 3), (0, 1)]
    assert plans[1].schema.names == ("target", "x0", "x4")


def test_features_become_the_columns_of_the_question() -> None:
    group = people(50, "logistic")
    columns = pilot._feature_columns(group, PARTS)
    np.testing.assert_array_equal(columns[0], group.y)
    np.testing.assert_allclose(columns[1], group.x[:, 0])
    for value in range(3):
        np.testing.assert_array_equal(columns[2] == value, group.x[:, 1 + value] == 1)
    np.testing.assert_array_equal(columns[2] == 3, group.x[:, 1:4].sum(axis=1) == 0)
    np.testing.assert_array_equal(columns[4], 1 - group.x[:, 5])  # the last value has no feature


def test_bins_of_lengths_are_powers_of_two() -> None:
    bound = 8.0
    ends = [bound / 2 ** (BINS - 1 - i) for i in range(BINS)]
    assert length_bins(np.array(ends) * 0.999, bound).tolist() == list(range(BINS))
    assert length_bins(np.array(ends[:-1]) * 1.001, bound).tolist() == list(range(1, BINS))
    assert length_bins(np.array([0.0, 1e-30, bound, 99.0]), bound).tolist() == [0, 0, BINS - 1, BINS - 1]


def shares(points: dict[int, float], error: float = 0.01) -> list[Estimate]:
    return [Estimate("length", i, points.get(i, 0.0), error, 0.0, 1.0, 100) for i in range(BINS)]


def test_the_median_of_a_histogram() -> None:
    schema = lengths_plan(1.0, "", "lengths").schema
    assert median_of(shares({5: 0.5, 6: 0.5}), schema, 1.0) == pytest.approx(2.0 ** (6 - BINS))
    assert median_of(shares({7: 1.0}), schema, 1.0) == pytest.approx(2.0 ** (7.5 - BINS))
    assert median_of(shares({4: 0.25, 9: 0.5, 12: 0.25}), schema, 16.0) == pytest.approx(16 * 2.0 ** (9.5 - BINS))
    assert median_of(shares({7: 1.0}, error=0.2), schema, 1.0) is None
    assert median_of(shares({7: 1.0}, error=math.nan), schema, 1.0) is None


@pytest.mark.parametrize("loss", LOSSES)
def test_many_people_tell_the_truth(loss: str) -> None:
    """300,000 people at epsilon 4, seeded. Tolerances are several times the standard errors."""
    crowd = people(300_000, loss)
    own = training(dimensions=6, epsilon=4.0, loss=loss)
    found = pilot.ask(crowd, PARTS, loss_named(loss), own, seed="a", threads=2)
    truth = crowd.x[:, :6]
    np.testing.assert_allclose(found.centre, truth.mean(axis=0), atol=0.02)
    assert found.target == pytest.approx(float(crowd.y.mean()), abs=0.02)
    for j in (1, 2, 3, 5):
        assert found.scale[j] == pytest.approx(float(truth[:, j].std()), rel=0.05)
    for j in (0, 4):  # by the mean deviation of a normal variable, which for a uniform one is 8 % more
        assert found.scale[j] == pytest.approx(float(truth[:, j].std()), rel=0.12)
    view = View.of(pilot._prepared(own, np.array(found.centre), np.array(found.scale)))
    lengths = view.lengths(crowd)
    assert found.length == pytest.approx(float(np.median(lengths)), rel=0.1)
    if loss == "squared":
        gradients = 2 * np.abs(found.target - crowd.y) * lengths
        assert found.gradient == pytest.approx(float(np.median(gradients)), rel=0.2)
    else:
        assert found.gradient == loss_named(loss).slope_at_zero * found.length
    assert found.asked == pytest.approx(300_000 * (1.0 if loss == "squared" else 0.85), abs=4)


def test_groups_are_disjoint() -> None:
    crowd = people(1000, "squared")
    questioner = pilot._Questioner(crowd, "a", 1)
    sizes = [len(questioner.group(count)) for count in (400, 300, 200, 200, 5)]
    assert sizes == [400, 300, 200, 100, 0]
    assert questioner.asked == 1000
    first, second = pilot._Questioner(crowd, "a", 1), crowd.some(400, 700)
    first.group(400)
    np.testing.assert_array_equal(first.group(300).x, second.x)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 4, 60])
def test_a_few_people_are_hardly_believed(loss: str, n: int) -> None:
    """What they say is mostly noise: centres stay near 0, nothing is blown up, lengths follow from the scales."""
    own = training(dimensions=6, epsilon=0.1, loss=loss)
    found = pilot.ask(people(n, loss), PARTS, loss_named(loss), own, seed="a", threads=1)
    values = (*found.centre, *found.scale, found.target, found.length, found.gradient)
    assert all(math.isfinite(value) for value in values)
    assert all(-1 <= value <= 1 for value in found.centre)
    assert all(LEAST_SCALE <= value <= 1 for value in found.scale)
    assert found.asked <= n
    assert 1 <= found.length <= math.sqrt(7) + 1e-9
    assert found.gradient > 0


def test_a_point_is_shrunk_by_its_error() -> None:
    assert pilot._shrunk(0.5, 0.0) == 0.5
    assert pilot._shrunk(0.5, 0.25) == pytest.approx(0.375)
    assert pilot._shrunk(-0.5, 0.25) == pytest.approx(-0.375)
    assert pilot._shrunk(0.5, 0.6) == pilot._shrunk(0.0, 0.1) == 0.0


# -- features

SCHEMA = Schema(
    [
        Numeric("age", 0, 100),
        Numeric("income", -10, 30, optional=True),
        Numeric("height", 1, 2, out_of_range="clip"),
        Categorical("os", ["linux", "mac", "other"]),
        Categorical("smokes", ["yes", "no"], optional=True),
        Categorical("code", [5, 7]),
    ]
)
RECORDS: list[dict[str, Any]] = [
    {"age": 25.0, "income": 0.0, "height": 1.75, "os": "mac", "smokes": "yes", "code": 7},
    {"age": 0.0, "income": None, "height": 9.0, "os": "other", "smokes": None, "code": 5},
    {"age": 100.0, "income": 30.0, "height": 1.0, "os": "linux", "smokes": "no", "code": 5},
]


def test_features_of_a_record() -> None:
    features = Features(SCHEMA)
    assert features.names == (
        "age", "income", "income=(missing)", "height", "os=linux", "os=mac", "smokes=yes", "smokes=no", "code=5"
    )  # fmt: skip
    assert features.of(RECORDS[0]) == [-0.5, -0.5, 0.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert features.of(RECORDS[1]) == [-1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert features.of(RECORDS[2]) == [1.0, 1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, 1.0]


def test_parts_cover_the_features_in_order() -> None:
    features = Features(SCHEMA)
    assert features.parts == (
        Part(0, 1, True), Part(1, 2, True), Part(2, 3, False), Part(3, 4, True), Part(4, 6, False), Part(6, 8, False),
        Part(8, 9, False),
    )  # fmt: skip
    assert [part.start for part in features.parts[1:]] == [part.end for part in features.parts[:-1]]
    assert features.parts[-1].end == len(features.names)


def random_records(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return [
        {
            "age": float(rng.uniform(0, 100)),
            "income": None if rng.random() < 0.3 else float(rng.uniform(-10, 30)),
            "height": float(rng.uniform(0, 3)),
            "os": str(rng.choice(["linux", "mac", "other"])),
            "smokes": [None, "yes", "no"][rng.integers(3)],
            "code": int(rng.choice([5, 7])),
        }
        for _ in range(n)
    ]


def matrix_of(records: list[dict[str, Any]]) -> Array:
    import pyarrow as pa

    return feature_matrix(Features(SCHEMA), pa.Table.from_pylist(records))


def test_features_of_a_table_are_those_of_its_records() -> None:
    records = RECORDS + random_records(300)
    expected = np.array([Features(SCHEMA).of(record) for record in records], dtype=np.float32)
    np.testing.assert_allclose(matrix_of(records), expected, atol=1e-7)


def test_what_the_pilot_asks_is_what_the_records_hold() -> None:
    """There and back: the columns of `features_plan` name the value of every category, missing ones too."""
    records = random_records(200)
    features = Features(SCHEMA)
    own = training(dimensions=len(features.names))
    crowd = people_of(own, matrix_of(records), np.ones(200))
    columns = pilot._feature_columns(crowd, features.parts)[1:]
    assert len(columns) == len(features.parts)
    for i, record in enumerate(records):
        encoded = SCHEMA.encode(record)
        assert columns[2][i] == (0 if record["income"] is None else 1)
        assert [columns[j][i] for j in (4, 5, 6)] == encoded[3:]
