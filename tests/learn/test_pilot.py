"""The pilot: a few people, each asked one question with the whole epsilon; and the features that it is about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hush import Categorical, DesignError, Features, Numeric, Schema, Training
from hush.core.design.courses import stage_plan
from hush.core.training.features import Part
from hush.core.training.losses import loss_named
from hush.core.training.stages import Known, Stage, shrunk, stage_names
from hush.device.pilot import pilot_record
from hush.learn import pilot
from hush.learn.matrices import feature_matrix
from hush.learn.simulation import People, people_of
from hush.server.pilot import INDICATOR, LEAST_SCALE, mean_square, spreads
from tests.learn.cases import LOSSES, Array, training

PARTS = (Part(0, 1, True), Part(1, 4, False, False, 4), Part(4, 5, True), Part(5, 6, False))
"""A number, a category of four values, a number, and whether that is missing."""
OWN = Schema([Numeric("a", -1, 1), Categorical("b", list("wxyz")), Numeric("c", -1, 1, optional=True)])


def described(**changes: Any) -> Training:
    return training(**({"schema": OWN} | changes))


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
    return people_of(described(), x, y if loss == "squared" else np.where(y > 0.1, 1.0, -1.0))


def test_every_question_has_the_whole_epsilon_and_belongs_to_the_training() -> None:
    own = described(epsilon=1.5)
    assert own.parts == PARTS
    assert stage_names(own) == ("means", "spreads", "shares")
    plans = [stage_plan(own, name) for name in stage_names(own)]
    assert [plan.epsilon for plan in plans] == [1.5] * 3
    assert all(plan.title.startswith(own.family) for plan in plans)  # so that a ledger lets a person answer one of them
    assert len({plan.id for plan in plans}) == 3
    assert plans[0].schema.names == plans[1].schema.names == ("x0", "x4")
    schema = plans[2].schema
    assert schema.names == ("target", "x1", "x5")
    values = [schema[name].values for name in schema.names]  # type: ignore[union-attr]
    assert values == [(0, 1), (0, 1, 2, 3), (0, 1)]
    assert stage_plan(described(loss="squared"), "shares").schema.names == ("x1", "x5")


def test_categories_become_the_columns_of_the_question() -> None:
    group = people(50, "logistic")
    own = described()
    columns = pilot.answers(stage(own, "shares"), group)
    np.testing.assert_array_equal(columns[0], group.y > 0)
    for value in range(3):
        np.testing.assert_array_equal(columns[1] == value, group.x[:, 1 + value] == 1)
    np.testing.assert_array_equal(columns[1] == 3, group.x[:, 1:4].sum(axis=1) == 0)
    np.testing.assert_array_equal(columns[2], 1 - group.x[:, 5])  # the last value has no feature


def stage(own: Training, name: str, mean: float = 0.0) -> Stage:
    """A stage whose earlier ones found the same mean everywhere."""
    known: tuple[Known, ...] = ()
    for earlier in stage_names(own)[: stage_names(own).index(name)]:
        known += (((mean, 0.0),) * len(stage_plan(own, earlier).schema),)
    return Stage(own, name, known, stage_plan(own, name))


@pytest.mark.parametrize("loss", LOSSES)
def test_many_people_tell_the_truth(loss: str) -> None:
    """300,000 people at epsilon 4, seeded. Tolerances are several times the standard errors."""
    crowd = people(300_000, loss)
    own = described(epsilon=4.0, loss=loss)
    found = pilot.ask(crowd, own, seed="a", threads=2)
    truth = crowd.x[:, :6]
    np.testing.assert_allclose(found.centre, truth.mean(axis=0), atol=0.02)
    assert found.target == pytest.approx(float(crowd.y.mean()), abs=0.02)
    assert [found.scale[j] for j in (1, 2, 3, 5)] == [INDICATOR] * 4
    for j in (0, 4):  # by the mean deviation of a normal variable, which for a uniform one is 8 % more
        assert found.scale[j] == pytest.approx(float(truth[:, j].std()), rel=0.12)
    z = (truth - np.array(found.centre)) / np.array(found.scale)
    assert found.length == pytest.approx(math.sqrt(1 + float(np.square(z).sum(axis=1).mean())), rel=0.1)
    if loss == "squared":
        assert found.slope == pytest.approx(2 * float(np.abs(crowd.y - crowd.y.mean()).mean()), rel=0.1)
    else:
        assert found.slope == loss_named(loss).slope_at_zero
    assert found.asked == 300_000


def test_an_order_has_a_centre_and_a_scale_that_follow_from_its_shares() -> None:
    own = training(schema=Schema([Categorical("k", list(range(5)))]), ordered=("k",), epsilon=4.0)
    rng = np.random.default_rng(4)
    kind = rng.choice(5, 200_000, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    x = np.stack([*(kind == value for value in range(4)), kind / 2 - 1.0], axis=1).astype(np.float32)
    crowd = people_of(own, x, np.where(rng.random(len(x)) < 0.3, 1.0, -1.0))
    assert own.parts == (Part(0, 5, False, True, 5),)
    found = pilot.ask(crowd, own, seed="a", threads=2)
    assert found.centre[4] == pytest.approx(0.0, abs=0.02)
    assert found.scale[4] == pytest.approx(float(x[:, 4].std()), rel=0.03)
    assert found.target == pytest.approx(-0.4, abs=0.02)
    assert found.length**2 == pytest.approx(2 + (0.09 + 0.16 + 0.24 + 0.16) / 0.49, rel=0.03)


def test_spreads_that_differ_by_noise_are_taken_as_equal() -> None:
    def rows(points: list[float], error: float) -> Known:
        return tuple((point, error) for point in points)

    assert np.ptp(spreads(rows([0.2, 0.21, 0.19, 0.2], 0.05))) == pytest.approx(0.0)
    apart = spreads(rows([0.1, 0.5, 0.3, 0.2], 0.001))
    np.testing.assert_allclose(apart, 1.2533 * np.array([0.1, 0.5, 0.3, 0.2]), rtol=1e-3)
    assert spreads(rows([0.0, 0.0], 0.0)) == [LEAST_SCALE] * 2


def test_the_length_follows_from_centres_and_scales() -> None:
    centre, scale = [0.3, 0.5, 0.2, 0.1, 0.0, 0.5], [0.5] * 6
    assert mean_square(PARTS, centre, scale) == pytest.approx(2 + (0.25 + 0.16 + 0.09 + 0.25) / 0.25)


def test_groups_are_disjoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 1001 people is asked in one stage, and everybody in some stage."""
    seen: list[Array] = []
    ask = pilot.answers

    def spy(stage: Stage, group: People) -> list[Array]:
        seen.append(group.x)
        return ask(stage, group)

    monkeypatch.setattr(pilot, "answers", spy)
    crowd = people(1001, "squared")
    assert pilot.ask(crowd, described(loss="squared"), seed="a", threads=1).asked == 1001
    assert [len(group) for group in seen] == [250, 250, 501]
    np.testing.assert_array_equal(np.concatenate(seen), crowd.x)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 4, 60])
def test_a_few_people_are_hardly_believed(loss: str, n: int) -> None:
    """What they say is mostly noise: centres stay near 0, nothing is blown up, lengths follow from the scales."""
    own = described(epsilon=0.1, loss=loss)
    found = pilot.ask(people(n, loss), own, seed="a", threads=1)
    values = (*found.centre, *found.scale, found.target, found.length, found.slope)
    assert all(math.isfinite(value) for value in values)
    assert all(-1 <= value <= 1 for value in found.centre)
    assert all(LEAST_SCALE <= value <= 1 for value in found.scale)
    assert found.asked <= n
    assert 1 <= found.length <= math.sqrt(1 + 2 + 1 / INDICATOR**2)
    assert found.slope > 0


def test_a_point_is_shrunk_by_its_error() -> None:
    assert shrunk(0.5, 0.0) == 0.5
    assert shrunk(0.5, 0.25) == pytest.approx(0.375)
    assert shrunk(-0.5, 0.25) == pytest.approx(-0.375)
    assert shrunk(0.5, 0.6) == shrunk(0.0, 0.1) == 0.0


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
        Part(0, 1, True), Part(1, 2, True), Part(2, 3, False), Part(3, 4, True), Part(4, 6, False, False, 3),
        Part(6, 8, False, False, 2), Part(8, 9, False, False, 2),
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


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_a_simulation_asks_is_what_a_device_answers(loss: str) -> None:
    """In every stage, and for missing values too: the columns of simulated people are the records of devices."""
    import pyarrow as pa

    records = random_records(200)
    own = training(schema=SCHEMA, ordered=("os",), loss=loss)
    y = np.random.default_rng(1).choice([-1, 1], 200)
    labels = y.tolist()
    crowd = people_of(own, feature_matrix(Features(SCHEMA, ("os",)), pa.Table.from_pylist(records)), y)
    assert stage_names(own) == ("means", "spreads", "shares")
    for name in stage_names(own):
        now = stage(own, name, 0.25)
        columns = pilot.answers(now, crowd)
        for i, record in enumerate(records):
            answered = pilot_record(now, record, labels[i])
            assert tuple(answered) == now.plan.schema.names
            np.testing.assert_allclose([column[i] for column in columns], list(answered.values()), atol=1e-6)
    for i, record in enumerate(records):
        answered = pilot_record(stage(own, "shares"), record, labels[i])
        assert answered["x2"] == (0 if record["income"] is None else 1)
        assert list(answered.values())[-3:] == SCHEMA.encode(record)[3:]


def test_ordered_categories_have_one_more_feature() -> None:
    features = Features(SCHEMA, ("os", "smokes"))
    assert features.names[4:] == (
        "os=linux", "os=mac", "os (order)", "smokes=yes", "smokes=no", "smokes (order)", "code=5"
    )  # fmt: skip
    assert features.of(RECORDS[0])[4:] == [0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0]
    assert features.of(RECORDS[1])[4:] == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]  # the last; missing; 5
    assert features.parts[4:] == (
        Part(4, 7, False, True, 3),
        Part(7, 10, False, True, 2),
        Part(10, 11, False, False, 2),
    )
    import pyarrow as pa

    records = RECORDS + random_records(100)
    expected = np.array([features.of(record) for record in records], dtype=np.float32)
    np.testing.assert_allclose(feature_matrix(features, pa.Table.from_pylist(records)), expected, atol=1e-7)
    for wrong in (("age",), ("nobody",), ("os", "os"), ["os"], "os", (1,)):
        with pytest.raises(DesignError, match="ordered"):
            Features(SCHEMA, wrong)  # type: ignore[arg-type]
