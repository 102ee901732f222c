"""People for the experiments in learning: a synthetic census, and real microdata if a folder of it is at hand.

The synthetic people have the shape of the paper's Brazilian census: six numbers, of which one is the income that is to
be predicted, and ten categories; 90 features once every category of k values is k - 1 of them. Four hidden numbers
(status, stage of life, origin, size of the household) make the attributes depend on each other: each attribute is a
mixture of them and of noise of its own, cut at the quantiles of its shares. Income is lognormal, so most people are
near its lower bound, as in a real census. A seed makes the same people on every run.

A data folder has `column_sets.json`, which names a Parquet file, its columns and public bounds for each set, and these
files. Nothing of it is kept but errors of models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]

SETS = ("br_like", "mx_like")
HIDDEN = ("status", "stage", "origin", "household")
# For each category: how much of status, stage, origin and household there is in it, and the shares of its values. The
# rest is noise. Long lists fall off like 1/(i + 1)^power.
CATEGORIES: dict[str, tuple[tuple[float, float, float, float], list[float] | tuple[int, float]]] = {
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
}
NUMBERS = {"age": (0.0, 96.0), "persons": (1.0, 20.0), "rooms": (1.0, 21.0), "value": (0.0, 9e6), "rent": (0.0, 9e3)}
INCOME = (0.0, 3e6)


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


def schema() -> hush.Schema:
    """Return the schema of the synthetic people, without their income."""
    numbers = [hush.Numeric(name, low, high) for name, (low, high) in NUMBERS.items()]
    return hush.Schema([*numbers, *(hush.Categorical(name, list(range(len(_shares(name))))) for name in CATEGORIES)])


def _shares(name: str) -> Array:
    given = CATEGORIES[name][1]
    if isinstance(given, tuple):
        count, power = given
        # Without a power they rise and fall, as years of schooling do.
        shape = (
            1.0 / np.arange(1, count + 1) ** power
            if power
            else np.exp(-0.5 * np.linspace(-2.2, 2.2, count) ** 2) + 0.02
        )
        return np.asarray(shape / shape.sum())
    return np.array(given) / sum(given)


def synthetic(n: int, seed: int = 2019) -> People:
    """Return n synthetic people."""
    from scipy.special import ndtri

    generator = np.random.default_rng([seed, n])

    def normal() -> Array:
        return generator.standard_normal(n, dtype=np.float32)

    hidden = [normal() for _ in HIDDEN]
    status, stage, origin, household = hidden

    def mixture(shares: tuple[float, float, float, float]) -> Array:
        found = normal() * np.float32(np.sqrt(1 - np.square(shares).sum()))
        for share, values in zip(shares, hidden, strict=True):
            if share:
                found += np.float32(share) * values
        return found

    age = np.clip(50 + 18 * mixture((0.1, 0.9, -0.1, 0.0)), 0, 96).round()
    persons = np.clip(np.exp(0.75 + 0.5 * mixture((0.0, -0.3, 0.3, 0.8))).round(), 1, 20)
    rooms = np.clip(6 + 2.3 * mixture((0.5, 0.2, -0.2, 0.4)), 1, 21).round()
    owner = mixture((0.4, 0.4, -0.2, 0.1)) > -0.45
    worth = mixture((0.65, 0.1, 0.1, 0.1))
    value = np.where(owner, np.minimum(np.exp(12.6 + 0.85 * worth), NUMBERS["value"][1]), 0).astype(np.float32)
    rent = np.where(owner, 0, np.minimum(np.exp(7.1 + 0.5 * worth), NUMBERS["rent"][1])).astype(np.float32)
    columns: Columns = {"age": age, "persons": persons, "rooms": rooms, "value": value, "rent": rent}
    for name, (loadings, _) in CATEGORIES.items():
        cuts = ndtri(np.cumsum(_shares(name))[:-1]).astype(np.float32)
        columns[name] = np.searchsorted(cuts, mixture(loadings)).astype(np.int8)
    # Incomes rise until the middle of life and then fall; what is left unexplained is as large as in real ones.
    logs = 11.2 + 0.55 * status - 0.2 * np.square(stage - np.float32(0.1)) + 0.1 * columns["sex"]
    logs += 0.22 * household - 0.08 * origin + 0.62 * normal()
    income = np.clip(np.exp(logs).round(-1), *INCOME).astype(np.float64)
    return People("synthetic", schema(), columns, income, INCOME, 5e5)


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
