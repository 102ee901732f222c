"""Maps in simulations: the same units as on a device, and models that learn what no line can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from hush import Categorical, DesignError, Numeric, RandomMap, Schema, TableMap, Unit
from hush.device.gradient import gradient_record
from hush.learn import simulation
from hush.learn.simulate import LinearRegression, LinearSVC, LogisticRegression
from hush.server.step import first_round
from tests.learn.cases import crowd, people, person, training

pytestmark = pytest.mark.filterwarnings("ignore:.*people are few")

WAVES = RandomMap(12, seed="one")
RELUS = TableMap(tuple(Unit((j, j + 1), (1.0, -0.5), 0.2) for j in range(4)))


@pytest.mark.parametrize("own", [WAVES, RELUS])
@pytest.mark.parametrize("intercept", [True, False])
def test_units_are_those_of_a_device(own: Any, intercept: bool) -> None:
    held = training(dimensions=5, map=own, intercept=intercept, centre=(0.1,) * 5, scale=(0.3, 0.5, 1.0, 0.05, 0.7))
    x, y = crowd(50, 5, 1)
    seen = simulation.mapped(held, simulation.people_of(held, x, y))
    expected = [held.features(person(row)) for row in x.tolist()]
    np.testing.assert_allclose(seen.x, expected, atol=2e-4)


def test_gradients_are_those_of_devices() -> None:
    """The sizes that go into the channel: lengths of clipped gradients, of features and units together."""
    held = training(dimensions=5, map=WAVES, radius=3.0, start=tuple(np.linspace(-1, 1, 18).tolist()))
    round_ = first_round(held)
    x, y = crowd(60, 5, 1)
    seen = simulation.mapped(held, simulation.people_of(held, x, y))
    slopes = simulation.SLOPES["logistic"](simulation.View.of(held).scores(seen, np.array(round_.weights)), seen.y)
    sizes = np.abs(simulation._sizes(round_, seen, slopes))
    for size, (record, label) in zip(sizes, people(x, y, "logistic"), strict=True):
        values = gradient_record(round_, record, label).values()
        assert max(abs(value) for value in values) == pytest.approx(size, abs=1e-4)


def curved(n: int, seed: int) -> tuple[Any, Any]:
    """People whose class depends on how far a number is from the middle."""
    world = np.random.default_rng(seed)
    x = world.uniform(-1, 1, (n, 2))
    return x, np.abs(x[:, 0]) > 0.5


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
def test_a_curve_is_learnt_with_a_map_alone(model: Any) -> None:
    """The classes are halves, and no line is better than guessing: 4,000 fresh people are within 0.05 of a half with
    a chance above 1 - 1e-9. The line is the broken twin."""
    (x, y), (other, truth) = curved(30_000, 1), curved(4_000, 2)
    line = model(4.0, random_state=1).fit(x, y)
    curve = model(4.0, random_state=1, map=RandomMap(30, seed="one")).fit(x, y)
    assert line.score(other, truth) < 0.6
    assert curve.score(other, truth) > 0.85
    assert curve.coef_.shape == (1, 32)
    assert "a public map: 30 further features" in curve.describe()
    assert clone(curve).map == curve.map


def test_numbers_and_several_classes_may_have_maps() -> None:
    (x, _), (other, _) = curved(30_000, 1), curved(2_000, 2)
    model = LinearRegression(8.0, random_state=1, map=RandomMap(30, seed="one")).fit(x, np.abs(x[:, 0]))
    assert model.method_ == "gradients"
    assert model.score(other, np.abs(other[:, 0])) > 0.85
    bands = LogisticRegression(8.0, random_state=1, map=RandomMap(30, seed="one"))
    bands.fit(x, np.digitize(x[:, 0], [-0.4, 0.4]))
    assert bands.score(other, np.digitize(other[:, 0], [-0.4, 0.4])) > 0.8


def test_a_simulation_with_a_map_becomes_a_live_training() -> None:
    schema = Schema([Numeric("x0", -1, 1), Numeric("x1", -1, 1)])
    x, y = curved(3_000, 1)
    table = {"x0": x[:, 0], "x1": x[:, 1]}
    model = LogisticRegression(4.0, schema=schema, random_state=1, map=WAVES).fit(table, y)
    course = model.training(title="far", label=Categorical("far", ["no", "yes"]))
    assert course.training.map == WAVES
    assert course.training.width == 2 + 12 + 1


def test_bad_maps_are_refused() -> None:
    x, y = curved(1_000, 1)
    with pytest.raises(DesignError, match=r"hush\.RandomMap"):
        LogisticRegression(map="relu").fit(x, y)
    with pytest.raises(DesignError, match="without a projection or a map"):
        LinearRegression(map=WAVES, method="statistics").fit(x, x[:, 0])
