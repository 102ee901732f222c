"""Three made-up tasks of different shape, on which the rules of a training are fixed.

uniform: 20 numbers, evenly spread, and a strong signal. correlated: 40 numbers that follow 5 hidden ones, and a weaker
signal. mixed: 4 skewed numbers and 5 categories with many rare values, one of them ordered; a quarter of the people are
in the second class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import hush

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Task:
    """People: a table, their classes (-1 and 1), the schema, and the categories whose values have an order."""

    name: str
    schema: hush.Schema
    columns: dict[str, Array]
    y: Array
    ordered: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def some(self, start: int, count: int) -> tuple[dict[str, Array], Array]:
        """Return the columns and classes of some people; after the last comes the first."""
        index = np.arange(start, start + count) % len(self.y)
        return {name: column[index] for name, column in self.columns.items()}, self.y[index]


def _classes(scores: Array, generator: np.random.Generator) -> Array:
    return np.where(generator.random(len(scores)) < 1 / (1 + np.exp(-scores)), 1, -1)


def _numbers(x: Array) -> tuple[list[hush.Numeric], dict[str, Array]]:
    names = [f"x{j}" for j in range(x.shape[1])]
    return [hush.Numeric(name, -1, 1) for name in names], {name: x[:, j].astype(float) for j, name in enumerate(names)}


def uniform(people: int, seed: int = 1) -> Task:
    """Independent numbers, and a strong signal."""
    generator = np.random.default_rng([seed, 1])
    x = generator.uniform(-1, 1, (people, 20))
    attributes, columns = _numbers(x)
    y = _classes(3 * x @ generator.normal(0, 1, 20), generator)
    return Task("uniform", hush.Schema(attributes), columns, y)


def correlated(people: int, seed: int = 1) -> Task:
    """Numbers that follow a few hidden ones."""
    generator = np.random.default_rng([seed, 2])
    hidden = generator.normal(0, 1, (people, 5))
    own = 0.6 * generator.normal(0, 1, (people, 40))
    x = np.clip((0.8 * hidden @ generator.normal(0, 0.45, (5, 40)) + own) / 3, -1, 1)
    attributes, columns = _numbers(x)
    y = _classes(1.5 * (x @ generator.normal(0, 1, 40)), generator)
    return Task("correlated", hush.Schema(attributes), columns, y)


def mixed(people: int, seed: int = 1) -> Task:
    """Skewed numbers, and categories with rare values."""
    generator = np.random.default_rng([seed, 3])
    status = generator.normal(0, 1, people)
    columns: dict[str, Array] = {}
    attributes: list[Any] = []
    for j, share in enumerate((0.7, 0.4, 0.1, 0.0)):
        z = share * status + np.sqrt(1 - share**2) * generator.normal(0, 1, people)
        columns[f"n{j}"] = np.clip(np.exp(0.8 * z), 0, 20)
        attributes.append(hush.Numeric(f"n{j}", 0, 20))
    scores = 1.6 * status + 0.6 * np.log(columns["n2"]) - 2.0
    shapes = ((2, 0.0, 0.0), (5, 0.5, 0.3), (12, 1.0, 0.2), (30, 1.2, 0.0), (10, 0.0, 0.6))
    for j, (size, power, share) in enumerate(shapes):
        weights = 1 / np.arange(1, size + 1) ** power
        cuts = np.cumsum(weights / weights.sum())[:-1]
        z = share * status + np.sqrt(1 - share**2) * generator.normal(0, 1, people)
        order = np.argsort(np.argsort(z)) / people
        columns[f"c{j}"] = np.searchsorted(cuts, order)
        attributes.append(hush.Categorical(f"c{j}", list(range(size))))
        scores += generator.normal(0, 0.8, size)[columns[f"c{j}"]] if size < 30 else 0.0
    return Task("mixed", hush.Schema(attributes), columns, _classes(scores, generator), ("c4",))


def few(people: int, seed: int = 1) -> Task:
    """A few independent numbers, and a quarter of the people in the second class. Not one of the three."""
    generator = np.random.default_rng([seed, 4])
    x = generator.uniform(-1, 1, (people, 8))
    attributes, columns = _numbers(x)
    return Task("few", hush.Schema(attributes), columns, _classes(2 * x @ generator.normal(0, 1, 8) - 2, generator))


def line(people: int, seed: int = 1) -> Task:
    """A few independent numbers that predict another, which is in the place of the class. Not one of the three."""
    generator = np.random.default_rng([seed, 5])
    x = generator.uniform(-1, 1, (people, 8))
    attributes, columns = _numbers(x)
    scores = 2 * x @ generator.normal(0, 1, 8) + generator.normal(0, 1, people)
    return Task("line", hush.Schema(attributes), columns, np.tanh(scores / 6))


TASKS = {"uniform": uniform, "correlated": correlated, "mixed": mixed}
