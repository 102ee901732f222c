"""People for the experiments in learning: a synthetic census, and real microdata if a folder of it is at hand.

The synthetic people have the shapes of the paper's censuses. "br" is that of Brazil: six numbers, of which one is the
income that is to be predicted, and ten categories; 90 features once every category of k values is k - 1 of them. "mx"
is that of Mexico: five numbers and fourteen categories, 94 features. Hidden numbers (status, stage of life, origin,
size of the household, and for "mx" whether they work) make the attributes depend on each other: each is a mixture
of them and of noise of its own, cut at the quantiles of its shares. Income is lognormal, so most people are near its
lower bound, as in a real census. A seed makes the same people on every run.

A data folder has `column_sets.json`, which names a Parquet file, its columns and public bounds for each set, and these
files. Nothing of it is kept but errors of models. `experiments/ipums.py` reads extracts of real censuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]
Bounds = tuple[float, float]
Mixture = Callable[
    [tuple[float, ...]], Array
]  # shares of the hidden numbers to a number of variance one for each person

SETS = ("br_like", "mx_like")


@dataclass(frozen=True)
class People:
    """A population in random order: attributes as columns, income as the target, and their public bounds.

    `clip` is a smaller bound of income, which most people are below.
    """

    name: str
    schema: hush.Schema
    columns: Columns
    income: Array
    bounds: tuple[float, float]
    clip: float

    def __len__(self) -> int:
        return len(self.income)

    def some(self, start: int, count: int) -> tuple[Columns, Array]:
        """Return so many people from a place on; behind the last comes the first."""
        index = (
            np.arange(start, start + count) % len(self) if start + count > len(self) else slice(start, start + count)
        )
        return {name: column[index] for name, column in self.columns.items()}, self.income[index]


@dataclass(frozen=True)
class Shape:
    """What a census asks, and how its answers hang together.

    For each category: how much of each hidden number there is in it, and the shares of its values. The rest is noise.
    Long lists fall off like 1/(i + 1)^power. `draw` makes the numbers, `earn` the incomes, from the hidden numbers, the
    columns so far, and noise.
    """

    name: str  # of its people
    hidden: tuple[str, ...]
    numbers: dict[str, Bounds]
    categories: dict[str, tuple[tuple[float, ...], list[float] | tuple[int, float]]]
    income: Bounds
    clip: float
    draw: Callable[[Mixture], Columns]
    earn: Callable[[list[Array], Columns, Callable[[], Array]], Array]

    def shares(self, name: str) -> Array:
        """Return the shares of the values of a category."""
        given = self.categories[name][1]
        if isinstance(given, list):
            return np.array(given) / sum(given)
        count, power = given
        # Without a power they rise and fall, as years of schooling do.
        shape = (
            1.0 / np.arange(1, count + 1) ** power
            if power
            else np.exp(-0.5 * np.linspace(-2.2, 2.2, count) ** 2) + 0.02
        )
        return np.asarray(shape / shape.sum())

    def schema(self) -> hush.Schema:
        """Return the schema of the people, without their income."""
        numbers = [hush.Numeric(name, *bounds) for name, bounds in self.numbers.items()]
        categories = [hush.Categorical(name, list(range(len(self.shares(name))))) for name in self.categories]
        return hush.Schema([*numbers, *categories])


def _homes(mixture: Mixture) -> Columns:
    """Return the numbers of "br": people at home."""
    age = np.clip(50 + 18 * mixture((0.1, 0.9, -0.1, 0.0)), 0, 96).round()
    persons = np.clip(np.exp(0.75 + 0.5 * mixture((0.0, -0.3, 0.3, 0.8))).round(), 1, 20)
    rooms = np.clip(6 + 2.3 * mixture((0.5, 0.2, -0.2, 0.4)), 1, 21).round()
    owner = mixture((0.4, 0.4, -0.2, 0.1)) > -0.45
    worth = mixture((0.65, 0.1, 0.1, 0.1))
    value = np.where(owner, np.minimum(np.exp(12.6 + 0.85 * worth), 9e6), 0).astype(np.float32)
    rent = np.where(owner, 0, np.minimum(np.exp(7.1 + 0.5 * worth), 9e3)).astype(np.float32)
    return {"age": age, "persons": persons, "rooms": rooms, "value": value, "rent": rent}


def _household_income(hidden: list[Array], columns: Columns, normal: Callable[[], Array]) -> Array:
    # Incomes rise until the middle of life and then fall; what is left unexplained is as large as in real ones.
    status, stage, origin, household = hidden
    logs = 11.2 + 0.55 * status - 0.2 * np.square(stage - np.float32(0.1)) + 0.1 * columns["sex"]
    logs += 0.22 * household - 0.08 * origin + 0.62 * normal()
    return np.asarray(np.exp(logs))


def _jobs(mixture: Mixture) -> Columns:
    """Return the numbers of "mx": people at work. Two in five do not work, and those who do mostly all year."""
    age = np.clip(49 + 21 * mixture((0.0, 0.95, -0.1, -0.1, 0.0)), 15, 96).round()
    works = mixture((0.2, -0.4, 0.0, 0.05, 0.85)) > -0.26
    hours = np.where(works, np.clip(38 + 12 * mixture((0.15, 0.0, 0.0, 0.0, 0.3)), 1, 99).round(), 0)
    weeks = np.where(works, np.clip(64 + 25 * mixture((0.2, 0.1, 0.0, 0.0, 0.3)), 1, 52).round(), 0)
    persons = np.clip(np.exp(0.85 + 0.5 * mixture((0.0, -0.45, 0.25, 0.75, 0.0))).round(), 1, 20)
    return {"age": age, "hours": hours, "weeks": weeks, "persons": persons}


def _personal_income(hidden: list[Array], columns: Columns, normal: Callable[[], Array]) -> Array:
    # Of those who do not work, about a quarter have no income at all.
    status, stage, origin, _, _ = hidden
    logs = 9.75 + 0.4 * status - 0.2 * np.square(stage - np.float32(0.2)) - 0.06 * origin
    logs += np.float32(0.022) * columns["hours"] + np.float32(0.006) * columns["weeks"] + 0.15 * columns["sex"]
    income = np.exp(logs + 0.65 * normal())
    return np.where((columns["hours"] == 0) & (normal() < -0.6), 0, income)


SHAPES = {
    "br": Shape(
        "synthetic",  # its results were kept under this name before there was another shape
        ("status", "stage", "origin", "household"),
        {"age": (0.0, 96.0), "persons": (1.0, 20.0), "rooms": (1.0, 21.0), "value": (0.0, 9e6), "rent": (0.0, 9e3)},
        {
            "sex": ((0.15, 0.0, 0.0, 0.1), [0.52, 0.48]),
            "race": ((-0.25, -0.1, 0.6, 0.0), [0.66, 0.12, 0.02, 0.005, 0.005, 0.06, 0.005, 0.065, 0.06]),
            "origin": ((-0.3, -0.15, 0.7, 0.1), (24, 1.8)),
            "citizenship": ((-0.2, 0.0, 0.65, 0.1), [0.84, 0.01, 0.02, 0.08, 0.05]),
            "schooling": ((0.75, -0.1, -0.1, 0.0), (25, 0.0)),
            "disability": ((-0.3, 0.45, 0.0, -0.1), [0.85, 0.15]),
            "family": ((-0.35, 0.2, 0.0, -0.5), [0.5, 0.05, 0.12, 0.13, 0.03, 0.14, 0.03]),
            "language": ((-0.2, 0.0, 0.75, 0.15), [0.79, 0.12, 0.04, 0.03, 0.02]),
            "generations": ((0.0, 0.0, 0.25, 0.65), [0.95, 0.05]),
            "built": ((0.3, -0.35, 0.1, 0.1), (14, 0.0)),
        },
        (0.0, 3e6),
        5e5,
        _homes,
        _household_income,
    ),
    "mx": Shape(
        "synthetic, mx",
        ("status", "stage", "origin", "household", "work"),
        {"age": (15.0, 96.0), "hours": (0.0, 99.0), "weeks": (0.0, 52.0), "persons": (1.0, 20.0)},
        {
            "sex": ((0.1, -0.05, 0.0, 0.0, 0.15), [0.51, 0.49]),
            "race": ((-0.25, -0.1, 0.6, 0.0, 0.0), [0.73, 0.09, 0.01, 0.005, 0.005, 0.045, 0.005, 0.04, 0.07]),
            "origin": ((-0.3, -0.15, 0.7, 0.1, 0.0), (24, 2.6)),
            "schooling": ((0.75, -0.1, -0.1, 0.0, 0.15), (24, 0.0)),
            "marriage": ((-0.25, -0.65, 0.05, -0.3, 0.0), [0.51, 0.07, 0.105, 0.015, 0.3]),
            "worker": ((0.2, -0.4, 0.0, 0.0, 0.8), [0.3, 0.43, 0.07, 0.06, 0.03, 0.03, 0.04, 0.03, 0.005, 0.005]),
            "travel": (
                (0.25, -0.4, 0.05, 0.0, 0.8),
                [0.46, 0.415, 0.008, 0.008, 0.002, 0.001, 0.001, 0.002, 0.001, 0.002, 0.015, 0.08, 0.005],
            ),
            "service": ((0.1, -0.4, -0.15, 0.0, 0.0), [0.025, 0.005, 0.07, 0.01, 0.89]),
            "birthplace": ((-0.1, 0.0, 0.7, 0.1, 0.05), [0.89, 0.11]),
            "language": ((-0.15, 0.0, 0.75, 0.15, 0.0), [0.85, 0.15]),
            "insurance": ((-0.4, -0.2, 0.35, 0.0, 0.0), [0.93, 0.07]),
            "private": ((-0.65, 0.0, 0.2, 0.0, -0.25), [0.69, 0.31]),
            "public": ((0.35, -0.6, -0.05, 0.0, 0.25), [0.42, 0.58]),
            "disability": ((-0.3, 0.45, 0.0, -0.1, -0.3), [0.82, 0.18]),
        },
        (0.0, 2e6),
        4e5,
        _jobs,
        _personal_income,
    ),
}


def synthetic(n: int, seed: int = 2019, shape: str = "br") -> People:
    """Return n synthetic people."""
    from scipy.special import ndtri

    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}")
    chosen = SHAPES[shape]
    generator = np.random.default_rng([seed, n])

    def normal() -> Array:
        return generator.standard_normal(n, dtype=np.float32)

    hidden = [normal() for _ in chosen.hidden]

    def mixture(shares: tuple[float, ...]) -> Array:
        found = normal() * np.float32(np.sqrt(1 - np.square(shares).sum()))
        for share, values in zip(shares, hidden, strict=True):
            if share:
                found += np.float32(share) * values
        return found

    columns = chosen.draw(mixture)
    for name, (loadings, _) in chosen.categories.items():
        cuts = ndtri(np.cumsum(chosen.shares(name))[:-1]).astype(np.float32)
        columns[name] = np.searchsorted(cuts, mixture(loadings)).astype(np.int8)
    income = np.clip(chosen.earn(hidden, columns, normal).round(-1), *chosen.income).astype(np.float64)
    return People(chosen.name, chosen.schema(), columns, income, chosen.income, chosen.clip)


def microdata(folder: Path, name: str, clip: float, seed: int = 2019) -> People:
    """Return the people of a column set of a data folder, shuffled."""
    import pyarrow.parquet as pq

    chosen = json.loads((folder / "column_sets.json").read_text(encoding="utf-8"))[name]
    target = chosen["target"]
    names = [*chosen["numeric"], *chosen["categorical"], target]
    table = pq.read_table(folder / chosen["file"], columns=names)
    order = np.random.default_rng(seed).permutation(table.num_rows)
    columns = {column: table[column].to_numpy()[order] for column in names}
    income = columns.pop(target).astype(np.float64)
    attributes: list[hush.Numeric | hush.Categorical] = []
    for column in chosen["numeric"]:
        attributes.append(hush.Numeric(column, *chosen["bounds"][column]))
    for column in chosen["categorical"]:
        values = np.unique(columns[column])  # the codes of the survey are public
        if len(values) != chosen["categories"][column]:
            raise ValueError(f"{column} should have {chosen['categories'][column]} values")
        attributes.append(hush.Categorical(column, values.tolist()))
    low, high = chosen["bounds"][target]
    return People(name, hush.Schema(attributes), columns, income, (low, high), clip)
