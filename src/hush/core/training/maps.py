"""Public feature maps: fixed functions of the features, beside them, for a model that is linear in all.

A map has *units*. A unit adds up a few features, centred and scaled by the pilot, times its weights, and a bias; the
result goes through an activation. The units are features like others: each costs one weight of the training. All of a
map is public before anybody answers, so it costs no privacy.

**Activations.** "relu" is max(0, t). "wave" has period 1 and is a cosine to within 0.02: with r the distance of t from
the nearest integer, wave(t) = 1 - 24 r^2 + 32 r^3. Both are additions, products and comparisons alone, so a device
does the same work for every record, and every platform finds the same bits. So are all other functions here:
`spec/training.md` states their steps, and browsers and Go take the same ones.

**A random map** is made from a seed. A third of its units look at one number each, in turn: sums of them are smooth
curves, which is what a straight line lacks most often. The others look at several features, whichever they are, for
what depends on features together. Weights are nearly normal (sums of twelve uniform integers, so they are exact), with
a standard deviation of 1 in total for a number and of 1.5 for several features, in radians; biases are uniform.
The map was chosen on made-up people, among about 100 variants; `experiments/maps.py` compares some of them.

**A table** lists the weights of every unit: of an encoder that was trained on public data, for example.

**Centre and scale.** Units share a large mean, and a training with such features is slow. Nobody is asked about them:
if the features were independent and the sum of a unit normal, with the variances that the pilot implies, then mean and
variance of the unit follow by a formula. Units are centred and scaled by these, so that the variances of all units add
up to `strength`. On made-up people this is as good as the true means and variances.

**Time.** Processors are slow with subnormal numbers. A table with tiny weights made them, or not, as the features were
0 or not, and a stop-watch saw it. So weights, biases, sums and means below 1e-100 count as 0.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from hush.core import codec
from hush.core.training.features import Part
from hush.core.training.losses import exponential
from hush.errors import DesignError, PlanError

WAVE, RELU = "wave", "relu"
ACTIVATIONS = (WAVE, RELU)
MAX_UNITS = 1000
MAX_INPUTS = 64
MAX_PRODUCTS = 1 << 16  # of all units together: what a device computes for one answer
MAX_WEIGHT = 1e6
MAX_STRENGTH = 1e6
FARTHEST = float(1 << 20)  # a wave is the same everywhere; further out, a float has few digits behind the point
WHOLE = 1.5 * 2.0**52  # adding and subtracting it rounds a number to the nearest integer
LEAST_VARIANCE = 0.01
TINY = 1e-100  # features are 0 or above 1e-150, so that no product of both is subnormal
WIDE = 1.5  # the deviation of the sum of a unit that looks at several features
TURN = 2 * math.pi
BULK = 8.0  # standard deviations: a normal number is hardly ever further from its mean
COSINE_TERMS, NORMAL_TERMS = 18, 100
_WORDS, _BYTES = 12, 2  # of a nearly normal number


class Unit(NamedTuple):
    """One unit of a map: the places of the features that it looks at, in order, their weights, and the bias."""

    places: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float


@dataclass(frozen=True)
class RandomMap:
    """A map of random waves, made from a seed: `units` of them, which look at one number or at `inputs` features."""

    units: int = 120
    inputs: int = 6
    strength: float = 20.0
    seed: str = field(default_factory=lambda: os.urandom(8).hex())

    def __post_init__(self) -> None:
        codec.integer(self.units, 1, MAX_UNITS, DesignError, "the number of units of a map")
        codec.integer(self.inputs, 1, MAX_INPUTS, DesignError, "the number of inputs of a unit")
        _check_strength(self.strength)
        if type(self.seed) is not str or not 0 < len(self.seed) <= 128 or not self.seed.isprintable():
            raise DesignError("the seed of a map must be 1 to 128 printable characters")

    @property
    def activation(self) -> str:
        """The function that sums go through."""
        return WAVE

    def table(self, parts: Sequence[Part]) -> tuple[Unit, ...]:
        """Return the units, for features in these parts. The same seed and features give the same bits everywhere."""
        return _random_units(self.units, self.inputs, self.seed, tuple(parts))

    def to_json(self) -> dict[str, Any]:
        """Return the map as JSON values."""
        return {
            "kind": "random",
            "units": self.units,
            "inputs": self.inputs,
            "strength": self.strength,
            "seed": self.seed,
        }


@lru_cache(maxsize=4)  # a device reads, compares and uses one training, and large maps take half a second
def _random_units(units: int, inputs: int, seed: str, parts: tuple[Part, ...]) -> tuple[Unit, ...]:
    numbers = [part.start for part in parts if part.number]
    dimensions = parts[-1].end
    inputs = min(inputs, dimensions)
    single = (units + 1) // 3 if numbers else 0  # a third, rounded to the nearest integer
    found = []
    for index in range(units):
        draw = _Draws(f"{seed}/{index}")
        places: tuple[int, ...]
        if index < single:
            places, size = (numbers[index % len(numbers)],), 1.0
        else:
            places, size = draw.places(inputs, dimensions), WIDE / math.sqrt(inputs)
        weights = tuple(draw.normal() * size / TURN for _ in places)
        found.append(Unit(places, weights, draw.uniform()))
    return tuple(found)


@dataclass(frozen=True)
class TableMap:
    """A map whose units are listed, each with the places of its features, their weights and a bias."""

    listed: tuple[Unit, ...]
    activation: str = RELU
    strength: float = 20.0

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise DesignError(f"the activation of a map must be one of: {', '.join(ACTIVATIONS)}")
        _check_strength(self.strength)
        if type(self.listed) is not tuple or not 1 <= len(self.listed) <= MAX_UNITS:
            raise DesignError(f"a map must list 1 to {MAX_UNITS} units")
        for unit in self.listed:
            _check_unit(unit)
        if sum(len(unit.places) for unit in self.listed) > MAX_PRODUCTS:
            raise DesignError(f"the units of a map must have at most {MAX_PRODUCTS} weights in all")

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.listed)

    def table(self, parts: Sequence[Part]) -> tuple[Unit, ...]:
        """Return the units; those that look at features which are not there are refused."""
        if max(unit.places[-1] for unit in self.listed) >= parts[-1].end:
            raise DesignError(f"a unit of the map looks at a feature behind the last of {parts[-1].end}")
        return self.listed

    def to_json(self) -> dict[str, Any]:
        """Return the map as JSON values."""
        rows = [[list(unit.places), list(unit.weights), unit.bias] for unit in self.listed]
        return {"kind": "table", "activation": self.activation, "units": rows, "strength": self.strength}


Map = RandomMap | TableMap


def from_json(value: Any) -> Map:
    """Read a map back, strictly."""
    if isinstance(value, dict) and value.get("kind") == "random":
        random = ("kind", "units", "inputs", "strength", "seed")
        return RandomMap(*codec.fields(value, random, PlanError, "a random map")[1:])
    table = ("kind", "activation", "units", "strength")
    kind, activation, units, strength = codec.fields(value, table, PlanError, "a map")
    if kind != "table":
        raise PlanError("the kind of a map must be random or table")
    rows = codec.listed(units, PlanError, "the units of a map")
    if len(rows) > MAX_UNITS:
        raise PlanError(f"a map must list 1 to {MAX_UNITS} units")
    return TableMap(tuple(_unit(row) for row in rows), activation, strength)


def _unit(row: Any) -> Unit:
    listed = codec.listed(row, PlanError, "a unit of a map")
    if len(listed) != 3:
        raise PlanError("a unit of a map is a list of places, a list of weights and a bias")
    places, weights = (tuple(codec.listed(part, PlanError, "a unit of a map")) for part in listed[:2])
    return Unit(places, weights, listed[2])


# -- values of units


class Lift(NamedTuple):
    """A map for the features of one training: its units, and the mean and the factor of each."""

    activation: str
    units: tuple[Unit, ...]
    centre: tuple[float, ...]
    factor: tuple[float, ...]

    def raw(self, features: Sequence[float]) -> list[float]:
        """Return the units of centred and scaled features, neither centred nor scaled. It runs on the device."""
        act = wave if self.activation == WAVE else relu
        found = []
        for unit in self.units:
            total = unit.bias
            for place, weight in zip(unit.places, unit.weights, strict=True):
                total += features[place] * weight
            found.append(act(zeroed(total)))
        return found

    def of(self, features: Sequence[float]) -> list[float]:
        """Return the units of centred and scaled features as the loss sees them. It runs on the device."""
        values = zip(self.raw(features), self.centre, self.factor, strict=True)
        return [(value - centre) * factor for value, centre, factor in values]


def lift(own: Map, parts: Sequence[Part], centre: Sequence[float] | None, scale: Sequence[float] | None) -> Lift:
    """Return a map with the means and factors that follow from the centres and scales of the features."""
    variances = _variances(parts, centre, scale)
    units, means, factors = tuple(map(_plainly, own.table(parts))), [], []
    for unit in units:
        q = 0.0
        for j, w in zip(unit.places, unit.weights, strict=True):
            q += w * w * variances[j]
        mean, variance = moments(own.activation, unit.bias, q)
        means.append(zeroed(mean))
        factors.append(math.sqrt(own.strength / (len(units) * (max(variance, 0.0) + LEAST_VARIANCE))))
    return Lift(own.activation, units, tuple(means), tuple(factors))


def _plainly(unit: Unit) -> Unit:
    return Unit(unit.places, tuple(map(zeroed, unit.weights)), zeroed(unit.bias))


def zeroed(value: float) -> float:
    """Return 0 for numbers so small that products with features, or sums of those, could be subnormal."""
    return value if abs(value) > TINY else 0.0


def wave(t: float) -> float:
    """Return a cosine of period 1, nearly: 1 at integers, -1 between them."""
    r = _beside(min(max(t, -FARTHEST), FARTHEST))
    return 1.0 - r * r * (24.0 - 32.0 * r)


def _beside(t: float) -> float:
    """Return how far a number is from the nearest integer."""
    return abs(t - ((t + WHOLE) - WHOLE))


def relu(t: float) -> float:
    """Return a number, or 0 if it is negative."""
    return max(t, 0.0)


def _variances(parts: Sequence[Part], centre: Sequence[float] | None, scale: Sequence[float] | None) -> list[float]:
    """Return the variances of centred and scaled features: 1 for numbers and places, p(1 - p)/s^2 for indicators."""
    found: list[float] = []
    for part in parts:
        if part.number:
            found.append(1.0)
            continue
        for j in range(part.start, part.end - part.ordered):
            share = 0.0 if centre is None else min(max(centre[j], 0.0), 1.0)
            size = 1.0 if scale is None else min(max(scale[j], 1e-3), 1e3)
            found.append(share * (1.0 - share) / (size * size))
        found += [1.0] * part.ordered
    return found


def moments(activation: str, bias: float, q: float) -> tuple[float, float]:
    """Return mean and variance of a unit whose sum is normal, with this mean and variance."""
    return (_wave_moments if activation == WAVE else _relu_moments)(bias, q)


def _wave_moments(bias: float, q: float) -> tuple[float, float]:
    """Return mean and variance of a cosine of a normal number with this mean and variance, in turns."""
    q = min(q, 1e3) * TURN * TURN
    mean = cosine(bias) * exponential(-q / 2.0)
    return mean, (1.0 + cosine(2.0 * bias) * exponential(-2.0 * q)) / 2.0 - mean * mean


def cosine(t: float) -> float:
    """Return the cosine of a number of turns, to within 1e-14: the first terms of its series, from -1/2 to 1/2."""
    x = TURN * _beside(t)
    square, found = x * x, 1.0
    for n in range(COSINE_TERMS, 0, -1):
        found = 1.0 - square * found / ((2 * n - 1) * (2 * n))
    return found


def normal(z: float) -> tuple[float, float]:
    """Return the density of a normal number at z, from -8 to 8, and the probability of a smaller one.

    The probability is 1/2 + density*(z + z^3/3 + z^5/15 + ...), a series without cancellation.
    """
    square, found = z * z, 1.0
    density = exponential(-square / 2.0) / math.sqrt(TURN)
    for n in range(NORMAL_TERMS, 0, -1):
        found = 1.0 + square * found / (2 * n + 1)
    return density, 0.5 + z * found * density


def _relu_moments(bias: float, q: float) -> tuple[float, float]:
    """Return mean and variance of the positive part of a normal number with this mean and variance."""
    if q < 1e-300:
        return max(bias, 0.0), 0.0
    deviation = math.sqrt(q)
    z = min(max(bias / deviation, -BULK), BULK)
    density, above = normal(z)
    mean = z * above + density  # of a number whose variance is 1
    variance = (z * z + 1.0) * above + z * density - mean * mean
    return deviation * mean + max(bias - BULK * deviation, 0.0), q * variance


# -- checks and draws


def _check_strength(value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_STRENGTH:
        raise DesignError(f"the strength of a map must be a number above 0, at most {MAX_STRENGTH:g}")


def _check_unit(unit: object) -> None:
    if not isinstance(unit, Unit) or type(unit.places) is not tuple or type(unit.weights) is not tuple:
        raise DesignError("a unit of a map has places, weights and a bias")
    if not 1 <= len(unit.places) <= MAX_UNITS or len(unit.places) != len(unit.weights):
        raise DesignError("a unit of a map has a weight for each of its places, and at least one")
    if any(type(j) is not int or j < 0 for j in unit.places) or list(unit.places) != sorted(set(unit.places)):
        raise DesignError("the places of a unit of a map are different features, in order")
    for value in (*unit.weights, unit.bias):
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= MAX_WEIGHT:
            raise DesignError(f"the weights and biases of a map must be numbers of at most {MAX_WEIGHT:g}")


class _Draws:
    """Public numbers from a seed: the same on every machine."""

    def __init__(self, seed: str) -> None:
        self._seed, self._block, self._rest = seed, 0, b""

    def _integer(self, size: int) -> int:
        while len(self._rest) < size:
            self._rest += hashlib.sha256(f"hush map {self._seed} {self._block}".encode()).digest()
            self._block += 1
        taken, self._rest = self._rest[:size], self._rest[size:]
        return int.from_bytes(taken, "big")

    def normal(self) -> float:
        """Return a number whose mean is 0 and whose variance is 1: a sum of uniform ones, so it is exact."""
        return sum(self._integer(_BYTES) for _ in range(_WORDS)) / float(1 << 8 * _BYTES) - _WORDS / 2

    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
        return self._integer(4) / float(1 << 32)

    def places(self, count: int, size: int) -> tuple[int, ...]:
        """Return different places below a size, in order. (The modulus prefers some by less than one in a million.)"""
        left = list(range(size))
        return tuple(sorted(left.pop(self._integer(4) % len(left)) for _ in range(count)))
