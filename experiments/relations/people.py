"""The people of the experiments on relations: ten small categories and five numbers.

With a data folder they are persons of the American Community Survey 2024 (docs/data.md), otherwise the synthetic people
of `experiments/census.py`, cut in the same way. All cuts are round numbers that a survey could publish beforehand.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import hush
from experiments import census
from experiments.reproduce.frame import Bench
from experiments.reproduce.population import Array, Population

FILE = "acs2024_person_income.parquet"
MADE_UP = 1_000_000
AGES = [25, 35, 50, 65]  # the first ages of the groups but the youngest
HOURS = [1, 35, 41]
INCOMES = [1, 15_000, 35_000, 60_000, 100_000]
EDUCATION = ["no high school", "high school", "some college", "bachelor", "master or more"]
NORTHEAST = [9, 23, 25, 33, 34, 36, 42, 44, 50]
MIDWEST = [17, 18, 19, 20, 26, 27, 29, 31, 38, 39, 46, 55]
SOUTH = [1, 5, 10, 11, 12, 13, 21, 22, 24, 28, 37, 40, 45, 47, 48, 51, 54]
CUTS = {"age": 50.0, "hours": 30.0, "income": 35_000.0, "schooling": 18.5, "persons": 2.5}
"""The public cut of each number, for associations: guesses, not medians."""

NUMBERS = {
    "age": (15.0, 96.0),
    "hours": (0.0, 99.0),
    "income": (0.0, 200_000.0),
    "schooling": (0.0, 25.0),
    "persons": (0.0, 20.0),
}
CATEGORIES = {
    "age group": 5,
    "sex": 2,
    "race": 5,
    "education": 5,
    "marriage": 5,
    "work": 5,
    "hours group": 4,
    "income group": 6,
    "insured": 2,
    "region": 4,
}
"""How many values each category has: 0, 1, 2, ..."""

TARGET = "income group"
ABOVE = 3  # the first income group above 35,000


def people(bench: Bench) -> Population:
    """Return the people of a bench, in random order."""

    def make() -> Population:
        raw = _synthetic() if bench.data is None else _persons(bench.data)
        name = "synthetic" if bench.data is None else "ACS 2024"
        columns = {name: np.clip(raw[name], *bounds).astype(np.float32) for name, bounds in NUMBERS.items()}
        columns |= _small(raw)
        return Population(name, schema([*NUMBERS, *CATEGORIES]), columns)

    population: Population = bench.population("relations", make)
    return population


def schema(names: list[str]) -> hush.Schema:
    """Return the schema of some attributes."""
    return hush.Schema(
        [
            hush.Numeric(name, *NUMBERS[name]) if name in NUMBERS else hush.Categorical(name, range(CATEGORIES[name]))
            for name in names
        ]
    )


def sample(population: Population, names: list[str], n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return some attributes of n people, each drawn from all of them."""
    who = rng.integers(0, len(population), n)
    return {name: population.columns[name][who] for name in names}


def _small(raw: dict[str, Array]) -> dict[str, Array]:
    """Return the ten categories as small integers."""
    found = {
        "age group": np.digitize(raw["age"], AGES),
        "hours group": np.digitize(raw["hours"], HOURS),
        "income group": np.digitize(raw["income"], INCOMES),
        "education": np.digitize(raw["schooling"], [16, 18, 21, 22]),
    }
    rest = ("sex", "race", "marriage", "work", "insured", "region")
    return {name: column.astype(np.int8) for name, column in (found | {name: raw[name] for name in rest}).items()}


def _persons(folder: Path) -> dict[str, Array]:
    """Return persons of the American Community Survey."""
    import pyarrow.parquet as pq

    names = {
        "age": "AGEP",
        "hours": "WKHP",
        "income": "PINCP",
        "schooling": "SCHL",
        "persons": "NP",
        "sex": "SEX",
        "race": "RAC1P",
        "marriage": "MAR",
        "work": "COW",
        "insured": "HICOV",
        "region": "STATE",
    }
    table = pq.read_table(folder / FILE, columns=list(names.values()))
    order = np.random.default_rng(2019).permutation(table.num_rows)
    raw = {name: table[column].to_numpy()[order] for name, column in names.items()}
    regions = np.full(80, 3)
    for index, states in enumerate((NORTHEAST, MIDWEST, SOUTH)):
        regions[states] = index
    races = np.array([0, 0, 1, 4, 4, 4, 2, 4, 4, 3])  # white, black, Asian, two or more, other
    works = np.array([0, 1, 1, 2, 2, 2, 3, 3, 4, 4])  # none, private, government, self-employed, other
    one_less = {name: raw[name] - 1 for name in ("sex", "marriage", "insured")}
    return raw | one_less | {"race": races[raw["race"]], "work": works[raw["work"]], "region": regions[raw["region"]]}


def _synthetic() -> dict[str, Array]:
    """Return synthetic people of about the same shape; where they are from takes the place of the region."""
    found = census.synthetic(MADE_UP, shape="mx")
    columns = found.columns
    races = np.array([0, 1, 4, 4, 4, 2, 4, 4, 3])
    works = np.array([0, 1, 1, 2, 2, 2, 3, 3, 4, 4])
    return {
        **{name: columns[name] for name in ("age", "hours", "persons", "sex", "marriage")},
        "schooling": 12 + columns["schooling"] // 2,  # years as the American survey codes them
        "income": found.income,
        "race": races[columns["race"]],
        "work": works[columns["worker"]],
        "insured": columns["insurance"],
        "region": np.minimum(columns["origin"], 3),
    }
