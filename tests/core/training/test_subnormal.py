"""No number that a private value goes into is subnormal, whatever a server sends: processors are slow with those."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from hush.core.design.courses import stage_plan
from hush.core.schema import Categorical, Numeric, Schema
from hush.core.training import directions, labels, maps, rotations, training
from hush.core.training.features import Features
from hush.core.training.maps import TableMap, Unit
from hush.core.training.stages import Stage
from hush.core.training.training import Training
from hush.device import gradient as gradients
from hush.device import pilot as pilots
from hush.server.step import first_round

SMALLEST = sys.float_info.min


class Watched(float):
    """A number that a private value went into. It notes each subnormal number that is computed from it."""

    slow: ClassVar[list[float]] = []


def _watch(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def compute(self: float, *others: Any) -> Any:
        found = plain(self, *others)
        if found is NotImplemented:
            return found
        lost = "mul" in name and found == 0 and self != 0 and all(others)
        lost |= name == "__truediv__" and found == 0 and self != 0
        if lost or 0 < abs(float(found)) < SMALLEST:
            Watched.slow.append(float(found))
        return Watched(found)

    return compute


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Watched, f"__{_name}__", _watch(f"__{_name}__"))
for _name in ("__neg__", "__abs__"):
    setattr(Watched, _name, _watch(_name))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The subnormal numbers that come of features and targets."""
    of, target = Features.of, labels.target
    monkeypatch.setattr(Features, "of", lambda self, record: [Watched(x) for x in of(self, record)])
    for module in (gradients, pilots):
        monkeypatch.setattr(module, "target", lambda *given: Watched(target(*given)))
    Watched.slow = []
    return Watched.slow


FLAGS = Schema([Categorical("a", ["no", "yes"]), Categorical("b", ["no", "yes"])])
UNSET = {"a": "yes", "b": "yes"}  # both indicators are 0
SCORE: dict[str, Any] = {"centre": (1e-60, 1e-60), "scale": (1e90 / 1.01, 1e90 / 1.02), "intercept": False}


def logistic(schema: Schema = FLAGS, **settings: Any) -> Training:
    label = Categorical("y", ["no", "yes"])
    return Training("t", settings.pop("loss", "logistic"), schema, label, 1.0, 3, 1.0, seed="s", **settings)


def squared(schema: Schema = FLAGS, **settings: Any) -> Training:
    return Training("t", "squared", schema, Numeric("y", 0, 10), 1.0, 3, 1.0, seed="s", **settings)


def test_a_score_whose_terms_cancel_is_not_subnormal(slow: list[float]) -> None:
    start = first_round(logistic(**SCORE))
    x = start.training.features(UNSET)
    weights = 1.1e-150, -1.1e-150 * x[0] / x[1] * (1 + 2**-50)
    weights = float(weights[0]), float(weights[1])
    slow.clear()
    round_ = replace(start, weights=weights)
    gradients.gradient_record(round_, UNSET, "yes")
    gradients.loss_record(round_, UNSET, "yes")
    assert slow == []


def test_no_product_with_a_small_slope_is_subnormal(slow: list[float]) -> None:
    start = first_round(squared(centre=(1e-60, 1e-60), scale=(1.0, 9e89), intercept=False))
    gradients.gradient_record(replace(start, weights=(1e-99, 0.0)), UNSET, 5)  # the middle: the target is 0
    assert slow == []


def test_no_square_of_a_rotated_number_is_subnormal(slow: list[float]) -> None:
    """The server sends scales with which one record points along one coordinate of the rotated space, nearly."""
    schema = Schema([Categorical(f"c{j}", ["no", "yes"]) for j in range(64)])
    start = first_round(logistic(schema, loss="hinge", intercept=False))
    row = rotations.rotate_back([1.0, *[1e-8] * 63], start.rotation, 64)
    own = replace(start.training, centre=tuple(1e-60 if r > 0 else -1e-60 for r in row))
    own = replace(own, scale=tuple(1e89 / abs(r) for r in row))
    round_ = replace(first_round(own), weights=(0.0,) * 64)
    gradients.gradient_record(round_, {f"c{j}": "yes" for j in range(64)}, "yes")
    assert slow == []


def test_no_distance_from_a_mean_is_subnormal(slow: list[float]) -> None:
    schema = Schema([Numeric("x", 0, 1, optional=True)])
    own = squared(schema)
    stage = Stage(own, "spreads", (((1e-310, 0.0), (-5e-324, 0.0)),), stage_plan(own, "spreads"))
    found = pilots.pilot_record(stage, {"x": None}, 5)
    assert slow == []
    assert set(found.values()) == {0.0}


EDGES = (0.0, 1e-100, -1e-100, 1e-60, 0.5, -0.5, 1.0, 1e100, -1e100)
SIZES = (1e-100, 1e-40, 1.0, 1e40, 9e89, 1.1e90, 1e100)
WEIGHTS = (0.0, 5e-324, 1e-310, 1e-200, 1.1e-150, -1.1e-150, 1e-140, 1e-99, -1.0, 1.0, 1e40, -1e40)


def test_nothing_that_a_server_chooses_makes_subnormal_numbers(slow: list[float]) -> None:
    """Many trainings of the ends of what is allowed, for people at the ends of what they can say."""
    chosen = random.Random(79)
    schema = Schema([Numeric("x", 0, 1, optional=True), Categorical("c", ["u", "v", "w"], optional=True)])
    units = (Unit((0, 2), (1e-100, 1e6), 0.0), Unit((1, 3), (1.1e-100, -1e-99), 1e-100), Unit((4,), (1e-98,), 5e-324))
    for _ in range(300):
        settings: dict[str, Any] = {
            "centre": tuple(chosen.choice(EDGES) for _ in range(6)),
            "scale": tuple(chosen.choice(SIZES) for _ in range(6)),
            "ordered": ("c",),
            "cap": chosen.choice((5e-200, 1e-100, 1.0, 1e300)),
            "radius": chosen.choice((5e-324, 1.0, 1.7e308)),
            "bound": chosen.choice((5e-324, 1.0, 1.7e308)),
            "gradient": chosen.choice(("vector", "duchi")),
        }
        more: list[dict[str, Any]] = [{}, {"projection": 3}]
        more += [{"map": TableMap(units, act, chosen.choice((5e-324, 1.0, 1e6)))} for act in maps.ACTIVATIONS]
        settings |= chosen.choice(more)
        make, label = chosen.choice(
            [(squared, 5), (squared, 0), (logistic, "yes"), (lambda *a, **k: logistic(*a, loss="hinge", **k), "no")]
        )
        start = first_round(make(schema, **settings))
        weights = tuple(chosen.choice(WEIGHTS) for _ in start.weights)
        round_ = replace(start, weights=weights)
        record = {"x": chosen.choice((None, 0, 0.5, 1, 0.5 + 2**-53)), "c": chosen.choice((None, "u", "v", "w"))}
        gradients.gradient_record(round_, record, label)
        gradients.loss_record(round_, record, label)
        assert slow == [], (settings, weights, record, label)


@pytest.mark.parametrize(
    ("module", "name", "case"),
    [
        (maps, "TINY", test_a_score_whose_terms_cancel_is_not_subnormal),
        (training, "_TINY", test_no_product_with_a_small_slope_is_subnormal),
        (maps, "TINY", test_no_distance_from_a_mean_is_subnormal),
    ],
)
def test_numbers_that_do_not_count_as_zero_are_caught(
    monkeypatch: pytest.MonkeyPatch, slow: list[float], module: Any, name: str, case: Callable[[list[float]], None]
) -> None:
    monkeypatch.setattr(module, name, 0.0)
    with pytest.raises(AssertionError):
        case(slow)


def test_squares_of_any_number_are_caught(monkeypatch: pytest.MonkeyPatch, slow: list[float]) -> None:
    monkeypatch.setattr(directions, "square", lambda x: x * x)
    with pytest.raises(AssertionError):
        test_no_square_of_a_rotated_number_is_subnormal(slow)
