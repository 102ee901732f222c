"""A made-up country: adults with six numbers and ten categories each, as a census would ask for them.

Two hidden numbers, social status and a rural home, and the age make the attributes depend on each other. A category is
a mixture of them and of noise, cut so that its shares come out; hours, income, the way to work and the rent follow from
the categories. A seed makes the same people every time.
"""

from __future__ import annotations

import math
from itertools import accumulate
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from hush.core.schema import Categorical, Numeric, Schema

Array = np.ndarray[Any, Any]
Truth = dict[tuple[str, str | int | None], float]

# The parts of age, status and country in each category, and its values with their percentages, about.
CATEGORIES: dict[str, tuple[tuple[float, float, float], dict[str, float]]] = {
    "sex": ((0, 0, 0), {"female": 50.5, "male": 48.5, "another": 1}),
    "region": (
        (0, -0.1, 0.6),
        {"capital": 21, "west": 17, "south": 16, "east": 13, "coast": 12, "lakes": 9, "north": 7, "mountains": 5},
    ),
    "schooling": (
        (-0.3, 0.6, -0.1),
        {"none": 3, "primary": 11, "secondary": 33, "vocational": 26, "bachelor": 17, "master": 10},
    ),
    "marital status": ((0.7, 0.1, 0), {"single": 34, "married": 46, "separated": 13, "widowed": 7}),
    "work": (
        (0.85, 0.1, 0),
        {"student": 9, "unemployed": 5, "employed": 54, "self-employed": 8, "retired": 24},
    ),
    "sector": (
        (0, 0.4, -0.5),
        {"farming": 5, "building": 8, "industry": 18, "trade": 18, "care": 17, "public service": 16, "offices": 18},
    ),
    "way to work": (
        (0.1, -0.1, 0.5),
        {"on foot": 10, "bicycle": 12, "bus or train": 19, "at home": 12, "car": 47},
    ),
    "home": ((0.45, 0.4, 0.2), {"shared": 8, "rented": 39, "owned": 53}),
    "heating": ((0, 0.3, -0.3), {"wood": 9, "oil": 15, "gas": 44, "district": 18, "heat pump": 14}),
    "health": ((-0.45, 0.3, 0), {"bad": 7, "fair": 20, "good": 47, "very good": 26}),
}
UNSAID = 0.08  # of all people do not say how healthy they are
WORKING = ("employed", "self-employed")

SCHEMA = Schema(
    [
        Numeric("age", low=18, high=100),
        Numeric("people at home", low=1, high=10),
        Numeric("weekly hours", low=0, high=80, out_of_range="clip"),
        Numeric("yearly income", low=0, high=150_000, out_of_range="clip"),
        Numeric("minutes to work", low=0, high=120, out_of_range="clip"),
        Numeric("monthly rent", low=0, high=3_000, out_of_range="clip"),
        *(Categorical(name, list(values), optional=name == "health") for name, (_, values) in CATEGORIES.items()),
    ]
)


def people(n: int, seed: int) -> pa.Table:
    """Make up n people: numbers are whole, categories are coded."""
    world = np.random.default_rng(seed)
    life = world.beta(1.4, 2.2, n)  # how much of the years from 18 to 100
    hidden = [(life - life.mean()) / (life.std() or 1), world.standard_normal(n), world.standard_normal(n)]
    _, status, country = hidden

    codes: dict[str, Array] = {}
    for name, (parts, shares) in CATEGORIES.items():
        mixture = world.standard_normal(n) * math.sqrt(1 - sum(part * part for part in parts))
        for part, values in zip(parts, hidden, strict=True):
            mixture += part * values
        codes[name] = np.searchsorted(_cuts(list(shares.values())), mixture).astype(np.int16)

    def coded(name: str, *values: str) -> Array:
        return np.isin(codes[name], [list(CATEGORIES[name][1]).index(value) for value in values])

    working = coded("work", *WORKING)
    away = working & ~coded("way to work", "at home")
    hours = np.where(working, world.normal(37, 9, n) + 6 * coded("work", "self-employed"), 0)
    pay = np.exp(10.35 + 0.4 * status + 0.08 * (codes["schooling"] - 2) + 0.45 * world.standard_normal(n))
    factor = np.select([working, coded("work", "retired")], [np.maximum(hours, 5) / 37, 0.6], 0.3)
    minutes = np.where(away, world.gamma(2.0, 13 + 3 * np.maximum(country, 0), n), 0)
    rent = np.where(coded("home", "owned"), 0, np.exp(6.6 + 0.3 * status - 0.2 * country + 0.3 * world.normal(size=n)))
    numbers = {
        "age": 18 + 82 * life,
        "people at home": np.minimum(1 + world.poisson(1.3 - 0.5 * life, n), 10),
        "weekly hours": np.maximum(hours, 0),
        "yearly income": pay * factor,
        "minutes to work": minutes,
        "monthly rent": rent,
    }
    columns = {name: pa.array(np.rint(values)) for name, values in numbers.items()}
    for name, found in codes.items():
        unsaid = world.random(n) < UNSAID if name == "health" else None
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(found, mask=unsaid), list(CATEGORIES[name][1]))
    return pa.table(columns).select(SCHEMA.names)


def _cuts(shares: list[float]) -> list[float]:
    """Return where a standard normal variable is cut for these shares."""
    return [NormalDist().inv_cdf(part / sum(shares)) for part in accumulate(shares[:-1])]


def truth(table: pa.Table) -> Truth:
    """Return all true means and shares, computed from the records themselves."""
    found: Truth = {}
    n = table.num_rows
    for attribute in SCHEMA.attributes:
        column = table.column(attribute.name).combine_chunks()
        if isinstance(attribute, Numeric):
            values = np.clip(np.asarray(column), attribute.low, attribute.high)
            found[attribute.name, None] = math.fsum(values) / n
            continue
        codes = np.asarray(column.indices.fill_null(len(attribute.values)))
        counts = np.bincount(codes, minlength=len(attribute.labels))
        found |= {
            (attribute.name, label): int(count) / n for label, count in zip(attribute.labels, counts, strict=True)
        }
    return found
