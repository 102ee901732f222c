"""Public feature maps: the same bits everywhere, hostile ones refused when they are read, and a device held to one."""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hush import (
    Categorical,
    DesignError,
    HushError,
    Ledger,
    LedgerError,
    Numeric,
    PlanError,
    RandomMap,
    Round,
    Schema,
    TableMap,
    Training,
    Unit,
    first_round,
    gradient,
)
from hush.core.training import descriptions, maps, rotations
from hush.core.training.features import Features
from hush.core.training.maps import FARTHEST, WAVE, cosine, lift, normal, relu, wave
from hush.core.training.training import dot
from tests.cases import exp_floor
from tests.learn.cases import first, person, training
from tests.learn.test_privacy import largest_ratio, laws_of

MIXED = Schema([Numeric("age", 0, 100), Categorical("town", ["a", "b", "c"]), Numeric("rent", 0, 10)])
PARTS = Features(MIXED, ("town",)).parts
TABLE = TableMap((Unit((0, 2), (0.5, -1.0), 0.1), Unit((1,), (2.0,), 0.0)))


def test_a_wave_is_nearly_a_cosine_and_has_its_period() -> None:
    for i in range(-3000, 3000):
        t = i / 1000
        assert abs(wave(t) - math.cos(2 * math.pi * t)) < 0.021
        assert -1.0 <= wave(t) <= 1.0
    assert [wave(t) for t in (0.0, 0.25, 0.5, 1.0, -0.5, 7.25)] == [1.0, 0.0, -1.0, 1.0, -1.0, 0.0]
    assert wave(1e300) == wave(FARTHEST) == 1.0
    assert relu(-1e300) == 0.0


def test_functions_of_sums_and_products_are_near_those_of_libraries() -> None:
    for i in range(-800, 801):
        z = i / 100
        density, below = normal(z)
        assert abs(cosine(z) - math.cos(2 * math.pi * z)) < 1e-13
        assert abs(below - math.erfc(-z / math.sqrt(2)) / 2) < 1e-13
        assert density == pytest.approx(math.exp(-z * z / 2) / math.sqrt(2 * math.pi), rel=1e-12)


def test_a_seed_and_features_give_the_same_units_everywhere() -> None:
    units = RandomMap(9, 3, seed="one").table(PARTS)
    assert [unit.places for unit in units[:3]] == [(0,), (4,), (0,)]  # a third of them look at one number, in turn
    assert all(len(unit.places) == 3 and max(unit.places) < 5 for unit in units[3:])
    assert units == RandomMap(9, 3, seed="one").table(PARTS)
    assert units != RandomMap(9, 3, seed="two").table(PARTS)
    # Exact: integers over powers of two, and one division.
    assert units[0].bias == 0.965851052198559
    assert units[0].weights == (-0.035006996226038686,)
    no_number = Features(Schema([Categorical("town", ["a", "b", "c"])])).parts
    assert all(len(unit.places) == 2 for unit in RandomMap(6, seed="one").table(no_number))


def test_weights_have_the_variances_that_are_claimed() -> None:
    """Fixed seeds: nothing is left to chance. A mean of 6,000 squares is within 5 standard errors."""
    schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(12)])
    units = [unit for i in range(10) for unit in RandomMap(900, seed=f"{i}").table(Features(schema).parts)]
    one = [(2 * math.pi * unit.weights[0]) ** 2 for unit in units if len(unit.places) == 1]
    many = [math.fsum((2 * math.pi * w) ** 2 for w in unit.weights) for unit in units if len(unit.places) > 1]
    assert len(one) == 3000
    assert abs(math.fsum(one) / len(one) - 1) < 5 * math.sqrt(2 / len(one))
    assert abs(math.fsum(many) / len(many) - 1.5**2) < 5 * 1.5**2 * math.sqrt(2 / 6 / len(many))


@pytest.mark.parametrize("own", [RandomMap(30, seed="one"), TABLE, replace(TABLE, activation=WAVE)])
def test_a_map_travels_with_its_training(own: Any) -> None:
    schema = Schema([Numeric(f"x{j}", -1, 1) for j in range(4)])
    held = training(schema=schema, map=own, centre=(0.1,) * 4, scale=(0.5,) * 4)
    value = json.loads(json.dumps(descriptions.to_json(held)))
    assert value["map"]["kind"] == ("random" if isinstance(own, RandomMap) else "table")
    assert descriptions.from_json(value) == held
    assert held.width == 4 + own.units + 1
    round_ = first_round(held)
    assert Round.from_json(round_.to_json()) == round_
    for wrong in (value | {"map": None}, value | {"map": {**value["map"], "more": 1}}, value | {"map": []}):
        with pytest.raises(PlanError, match="map"):
            descriptions.from_json(wrong)


def test_a_training_without_a_map_reads_as_it_did_before_there_were_maps() -> None:
    assert "map" not in descriptions.to_json(training())


HOSTILE: dict[str, Any] = {
    "many units": {"kind": "random", "units": 10**9, "inputs": 6, "strength": 1.0, "seed": "s"},
    "more than a gradient holds": {"kind": "random", "units": 1000, "inputs": 6, "strength": 1.0, "seed": "s" * 2},
    "many inputs": {"kind": "random", "units": 1, "inputs": 10**9, "strength": 1.0, "seed": "s"},
    "no units": {"kind": "random", "units": 0, "inputs": 6, "strength": 1.0, "seed": "s"},
    "no strength": {"kind": "random", "units": 1, "inputs": 6, "strength": 0.0, "seed": "s"},
    "much strength": {"kind": "random", "units": 1, "inputs": 6, "strength": 1e300, "seed": "s"},
    "a long seed": {"kind": "random", "units": 1, "inputs": 6, "strength": 1.0, "seed": "s" * 1000},
    "an unknown kind": {"kind": "python", "activation": "relu", "units": [[[0], [1.0], 0.0]], "strength": 1.0},
    "an unknown activation": {"kind": "table", "activation": "exp", "units": [[[0], [1.0], 0.0]], "strength": 1.0},
    "an empty table": {"kind": "table", "activation": "relu", "units": [], "strength": 1.0},
    "a long table": {"kind": "table", "activation": "relu", "units": [[[0], [1.0], 0.0]] * 1001, "strength": 1.0},
    "many products": {
        "kind": "table",
        "activation": "relu",
        "units": [[list(range(900)), [1.0] * 900, 0.0]] * 100,
        "strength": 1.0,
    },
}
UNITS: dict[str, Any] = {
    "a large weight": [[0], [1e300], 0.0],
    "a boolean": [[0], [True], 0.0],
    "a string": [[0], ["1"], 0.0],
    "a large bias": [[0], [1.0], 1e300],
    "too few weights": [[0, 1], [1.0], 0.0],
    "no places": [[], [], 0.0],
    "a place twice": [[0, 0], [1.0, 1.0], 0.0],
    "no order": [[1, 0], [1.0, 1.0], 0.0],
    "a negative place": [[-1], [1.0], 0.0],
    "a place that is a boolean": [[False], [1.0], 0.0],
    "a place behind the last": [[100], [1.0], 0.0],
    "a short row": [[0], [1.0]],
    "no list": 7,
}


@pytest.mark.parametrize("name", [*HOSTILE, *UNITS])
def test_hostile_maps_are_refused_when_a_training_is_read(name: str) -> None:
    value = descriptions.to_json(training(dimensions=25))
    table = {"kind": "table", "activation": "relu", "units": [UNITS.get(name)], "strength": 1.0}
    with pytest.raises(HushError, match=r"map|unit"):
        descriptions.from_json(value | {"map": HOSTILE.get(name, table)})


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_infinities_are_refused(bad: float) -> None:
    for make in (
        lambda: TableMap((Unit((0,), (bad,), 0.0),)),
        lambda: TableMap((Unit((0,), (1.0,), bad),)),
        lambda: RandomMap(strength=bad),
    ):
        with pytest.raises(DesignError, match="map"):
            make()
    text = first_round(training(map=TableMap((Unit((0,), (0.5,), 0.0),)))).to_json()
    for word in ("1e999", "-1e999", "NaN", "Infinity"):
        changed = text.replace("[[[0],[0.5],0.0]]", f"[[[0],[{word}],0.0]]")
        assert changed != text
        with pytest.raises(HushError):
            Round.from_json(changed)


def test_what_does_not_fit_a_training_is_refused() -> None:
    for changes, word in (
        ({"map": "random-relu:150"}, "hush.RandomMap"),
        ({"map": RandomMap(), "loss": "squared", "projection": 2}, "not both"),
        ({"map": RandomMap(1000), "dimensions": 30}, "features and units"),
        ({"map": TableMap((Unit((3,), (1.0,), 0.0),))}, "behind the last of 3"),
    ):
        with pytest.raises(DesignError, match=word):
            training(**changes)


def test_a_device_is_held_to_the_first_map(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=100.0)
    own, other = (first(map=RandomMap(5, seed=seed), seed=seed) for seed in ("one", "two"))
    gradient(own, person([0.1, 0.2, 0.3]), 1, ledger)
    with pytest.raises(LedgerError, match="changed description"):
        gradient(other, person([0.1, 0.2, 0.3]), 1, ledger)


@pytest.mark.filterwarnings("ignore:.*people are few")
def test_a_course_leads_to_no_other_map() -> None:
    label = Categorical("y", [-1, 1])
    course = Training.design(MIXED, label, epsilon=4.0, people=1000, map=RandomMap(5, seed="one"))
    assert course.leads_to(replace(course.training, rounds=30, radius=2.0))
    assert not course.leads_to(replace(course.training, map=RandomMap(5, seed="two")))
    assert not course.leads_to(replace(course.training, map=None))


@pytest.mark.parametrize("own", [RandomMap(12, seed="one"), TABLE])
def test_the_model_gives_the_score_of_the_weights(own: Any) -> None:
    world = random.Random(1)
    held = training(
        schema=MIXED, ordered=("town",), map=own, centre=(0.1, 0.5, 0.3, 0.0, -0.2), scale=(0.5, 0.7, 0.7, 0.4, 0.3)
    )
    weights = [world.uniform(-1, 1) for _ in range(held.width)]
    coefficients, intercept = held.model(weights)
    assert len(coefficients) == len(held.names) == held.width - 1
    for _ in range(20):
        record = {"age": world.uniform(0, 100), "town": world.choice("abc"), "rent": world.uniform(0, 10)}
        score = dot(held.features(record), weights)
        assert dot(held.mapped(record), coefficients) + intercept == pytest.approx(score, abs=1e-9)


def test_units_of_normal_features_have_the_means_and_variances_that_are_claimed() -> None:
    """Sums over a fine lattice of a normal number. A wave is no cosine, so its moments are near."""
    schema = Schema([Numeric("x", -1, 1)])
    lattice = [i / 100 for i in range(-800, 801)]
    weights = [math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / 100 for z in lattice]
    relus = TableMap((Unit((0,), (0.7,), 0.3), Unit((0,), (1.5,), -0.4)), strength=2.0)
    for own, slack in ((relus, 1e-3), (RandomMap(4, seed="one"), 0.03)):
        found = lift(own, Features(schema).parts, None, None)
        for j in range(len(found.units)):
            values = [found.raw([z])[j] for z in lattice]
            mean = math.fsum(w * v for w, v in zip(weights, values, strict=True))
            variance = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))
            assert abs(mean - found.centre[j]) < slack
            assert (variance + 0.01) * found.factor[j] ** 2 == pytest.approx(own.strength / own.units, rel=3 * slack)


@pytest.mark.parametrize("own", [RandomMap(3, 2, seed="one"), TableMap((Unit((0, 1, 2), (3.0, -2.0, 1.0), 0.2),) * 3)])
def test_a_report_with_a_map_is_private(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path of the sampler, for every pair of people: eight dimensions of features, units and intercept."""
    monkeypatch.setattr(rotations, "MIN_SIZE", 4)
    round_ = first(epsilon=2.0, radius=0.7, map=own)
    assert len(round_.weights) == 7
    assert len(round_.plan.schema) == 8
    assert largest_ratio(laws_of(round_)) <= round_.plan.ratio <= exp_floor(Fraction(2))


def test_units_are_computed_from_every_record_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of sums and activations is that of the map, and no value that is kept is subnormal."""
    calls: list[float] = []
    genuine = maps.wave

    def spy(t: float) -> float:
        calls.append(t)
        return genuine(t)

    monkeypatch.setattr(maps, "wave", spy)
    counts = set()
    for x in ([0.0, 0.0, 0.0], [1.0, -1.0, 0.5], [1e-308, 5e-324, 1e-200]):
        calls.clear()
        held = training(map=RandomMap(12, seed="one"), scale=(1e-9, 1.0, 1e9))
        values = held.features(person(x))
        counts.add(len(calls))
        assert all(value == 0 or abs(value) >= sys.float_info.min for value in values)
    assert counts == {12}


SMALLEST = sys.float_info.min  # smaller numbers are subnormal: on many processors they take a hundred times longer


class Seen(float):
    """A number that remembers the subnormal ones that are made with it."""

    slow: ClassVar[list[float]] = []

    def _made(self, value: float) -> Seen:
        if 0 < abs(value) < SMALLEST:
            self.slow.append(value)
        return Seen(value)

    def __mul__(self, other: float) -> Seen:
        return self._made(float(self) * float(other))

    def __add__(self, other: float) -> Seen:
        return self._made(float(self) + float(other))

    def __sub__(self, other: float) -> Seen:
        return self._made(float(self) - float(other))

    def __rsub__(self, other: float) -> Seen:
        return self._made(float(other) - float(self))

    def __abs__(self) -> Seen:
        return Seen(abs(float(self)))

    __rmul__, __radd__ = __mul__, __add__


def slow(weight: float, bias: float, activation: str) -> list[float]:
    """The subnormal numbers that a device meets with one unit, for some features."""
    own = lift(TableMap((Unit((0, 1), (weight, -weight), bias),), activation, 1e-300), PARTS, None, None)
    Seen.slow = [value for value in own.centre if 0 < abs(value) < SMALLEST]
    for value in (0.0, 1e-149, 1e-10, 0.3, 1e40):
        own.of([Seen(value), Seen(0.0)])
    return Seen.slow


@pytest.mark.parametrize("activation", maps.ACTIVATIONS)
@pytest.mark.parametrize("bias", [0.0, 5e-324, 1e-160, -1.0])
@pytest.mark.parametrize("weight", [5e-324, 3e-308, 1e-200, 1e-160, 1e-101, 0.0264])
def test_no_weights_make_numbers_that_processors_are_slow_with(weight: float, bias: float, activation: str) -> None:
    assert slow(weight, bias, activation) == []


def test_a_map_that_is_not_flushed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "TINY", 0.0)
    assert slow(3e-308, 0.0, "relu")
    assert slow(1e-160, 0.0, "wave")
    assert slow(5e-324, 1e-310, "relu")  # the mean of such a unit is subnormal
