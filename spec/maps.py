"""Vectors of public maps: trainings that have one, and their arithmetic by itself."""

from __future__ import annotations

from typing import Any

from hush.core.schema import Categorical, Numeric, Schema
from hush.core.training import maps
from hush.core.training.features import Features
from hush.core.training.maps import RandomMap, TableMap, Unit
from hush.testing import SeededCoins

SCHEMAS = {
    "numbers": Schema([Numeric(f"x{j}", 0, 1) for j in range(12)]),
    "mixed": Schema(
        [Numeric("age", 0, 100, optional=True), Categorical("town", ["a", "b", "c"]), Numeric("rent", 0, 1)]
    ),
    "no number": Schema([Categorical("town", ["a", "b", "c"]), Categorical("way", range(4))]),
}
RANDOM = [
    ("numbers", RandomMap(30, 6, seed="waves")),
    ("numbers", RandomMap(4, 64, seed="é" * 128)),
    ("mixed", RandomMap(7, 3, seed="5eed")),
    ("no number", RandomMap(5, 2, seed="5eed")),
    ("no number", RandomMap(1, 1, seed="☂")),
]


def table(dimensions: int, units: int, activation: str) -> TableMap:
    """A table of weights of many sizes."""
    pick = SeededCoins(units)

    def number(reach: float) -> float:
        return reach * (pick.below(2**53) / 2**52 - 1)

    listed = []
    for i in range(units):
        places = tuple(j for j in range(dimensions) if pick.below(3) or j == i % dimensions)
        reach = (0.6, 2.0, 1e-101, 1e5, 0.05)[i % 5]
        listed.append(Unit(places, tuple(number(reach) for _ in places), number((0.5, 3.0, 1e-120, 1e6)[i % 4])))
    return TableMap(tuple(listed), activation, 7.5)


def arithmetic() -> dict[str, Any]:
    """Cosines, normal numbers, units of seeds, and moments."""
    pick = SeededCoins(5)
    turns = [0.0, 0.5, -0.5, 0.25, 1e6, -999999.75, *((pick.below(2**53) / 2**50 - 4) for _ in range(40))]
    places = [0.0, 8.0, -8.0, 1.0, 1e-160, *((pick.below(2**53) / 2**49 - 8) for _ in range(40))]
    spreads = [0.0, 1e-301, 1e-290, 1e-6, 0.0253, 1.0, 17.5, 1e24]
    biases = [0.0, 0.125, -0.7, 3.0, -1e6, 1e6]
    moments = []
    for activation in maps.ACTIVATIONS:
        for bias in biases:
            for q in spreads:
                mean, variance = maps.moments(activation, bias, q)
                moments.append({"activation": activation, "bias": bias, "q": q, "mean": mean, "variance": variance})
    return {
        "about": "the arithmetic of public maps: see spec/training.md",
        "cosine": [{"t": t, "value": maps.cosine(t)} for t in turns],
        "normal": [{"z": z, "density": maps.normal(z)[0], "below": maps.normal(z)[1]} for z in places],
        "moments": moments,
        "random": [_random(SCHEMAS[name], own) for name, own in RANDOM],
    }


def _random(schema: Schema, own: RandomMap) -> dict[str, Any]:
    parts = Features(schema).parts
    return {
        "units": own.units,
        "inputs": own.inputs,
        "seed": own.seed,
        "dimensions": parts[-1].end,
        "numbers": [part.start for part in parts if part.number],
        "table": [[[*unit.places], [*unit.weights], unit.bias] for unit in own.table(parts)],
    }
