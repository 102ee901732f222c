"""The people of the experiments: census-like ones, and those of the paper's synthetic data.

Without a data folder the census is made up, with the shapes of the paper's BR and MX (`experiments/census.py`). With
one it is real: microdata whose columns `column_sets.json` names, or an extract of IPUMS (`experiments/ipums.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import hush
from experiments import census
from experiments.reproduce.frame import Bench
from experiments.reproduce.population import Array, Population

CENSUS = ("BR", "MX")
REAL = {"BR": "br_like", "MX": "mx_like"}
CLIPS = {"br_like": 720_000.0, "mx_like": 400_000.0}
SEED = 2019
NUMBERS = 16  # attributes of the synthetic numeric data


def label(bench: Bench, shape: str) -> str:
    """Return what a census is called in tables: real data say what they are."""
    if bench.data is None:
        return f"{shape}, synthetic"
    return f"{shape}-like, ACS 2024" if (bench.data / "column_sets.json").exists() else f"{shape}, {bench.data.name}"


def people_of(bench: Bench, shape: str, most: int) -> census.People:
    """Return the people of a census, as learning needs them: with their income apart."""
    import sys

    from experiments import ipums

    def make() -> census.People:
        if bench.data is None:
            return census.synthetic(most, SEED, shape.lower())
        if (bench.data / "column_sets.json").exists():
            name = REAL[shape]
            return census.microdata(bench.data, name, CLIPS[name])
        if (bench.data / ipums.COLUMNS).exists():
            extract = ipums.load(bench.data, shape, SEED)
            print(extract.describe(), file=sys.stderr)
            return extract.people
        raise FileNotFoundError(
            f"{bench.data} has neither column_sets.json (Parquet files with columns like the paper's) nor "
            f"{ipums.COLUMNS} (an extract of IPUMS): docs/data.md says how to make one"
        )

    people: census.People = bench.population(f"{label(bench, shape)}, {most}", make)
    return people


def census_of(bench: Bench, shape: str, most: int) -> Population:
    """Return the people of a census as records: numbers first, income the last of them, then categories."""
    people = people_of(bench, shape, most)
    numbers = [item for item in people.schema.attributes if isinstance(item, hush.Numeric)]
    categories = [item for item in people.schema.attributes if isinstance(item, hush.Categorical)]
    schema = hush.Schema([*numbers, hush.Numeric("income", *people.bounds), *categories])
    columns = {**people.columns, "income": people.income}
    return Population(label(bench, shape), schema, {name: columns[name][:most] for name in schema.names})


def gaussian(mean: float) -> Callable[[np.random.Generator, int], Array]:
    """Return numbers around a mean with standard deviation 1/4; what falls out of [-1, 1] is drawn again."""

    def draw(world: np.random.Generator, n: int) -> Array:
        found = world.normal(mean, 0.25, n)
        while (bad := np.abs(found) > 1).any():
            found[bad] = world.normal(mean, 0.25, int(bad.sum()))
        return found

    return draw


def uniform(world: np.random.Generator, n: int) -> Array:
    """Return numbers that are uniform in [-1, 1]."""
    return world.uniform(-1, 1, n)


def power_law(world: np.random.Generator, n: int) -> Array:
    """Return numbers in [-1, 1] whose density falls like (x + 2)^-10, by inverting its distribution."""
    low, high = 1.0, 3.0**-9
    return np.clip((low - world.random(n) * (low - high)) ** (-1 / 9) - 2, -1, 1)


def numbers_of(bench: Bench, name: str, draw: Callable[[np.random.Generator, int], Array], n: int) -> Population:
    """Return people with 16 independent numbers."""

    def make() -> Population:
        world = np.random.default_rng([SEED, n])
        schema = hush.Schema([hush.Numeric(f"x{i}", -1, 1) for i in range(NUMBERS)])
        return Population(name, schema, {key: draw(world, n) for key in schema.names})

    population: Population = bench.population(f"{name}, {n}", make)
    return population
