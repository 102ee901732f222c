"""A plan with relations of every kind, and people who answer it with predictable words: the same tally every time."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import hush
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 16, 80),
        hush.Numeric("hours", 0, 80),
        hush.Categorical("education", ["basic", "middle", "high"]),
        hush.Categorical("children", [0, 1, 2]),
    ]
)
PLAN = hush.design(
    SCHEMA,
    4.0,
    title="work and school",
    relations=[
        ("education", "children"),
        ("hours", "education"),
        ("hours", "age", "means"),
        ("age", "education", "table"),
        ("age", "hours"),
        ("age", "hours", "moments"),
    ],
    bands={"age": [24, 40, 60]},
    ranges={"age": 64},
)
RELATIONS: tuple[tuple[str, str, str | None], ...] = (
    ("table", "education", "children"),
    ("means", "hours", "education"),
    ("means", "hours", "age"),
    ("table", "age", "education"),
    ("association", "age", "hours"),
    ("moments", "age", "hours"),
    ("range", "age", None),
)


def record(world: random.Random) -> dict[str, Any]:
    """Return somebody: older people work longer, and people of higher education have fewer children."""
    age = world.uniform(16, 80)
    education = world.choice(["basic", "middle", "middle", "high"])
    hours = min(max(0.4 * age + world.gauss(20, 8), 0), 80)
    children = world.choice([0, 0, 1] if education == "high" else [0, 1, 2])
    return {"age": age, "hours": hours, "education": education, "children": children}


@lru_cache
def tally(people: int = 3000, seed: int = 19) -> hush.Tally:
    """Return the counts of people who answered."""
    world, coins = random.Random(seed), SeededCoins(seed)
    found = hush.Tally(PLAN)
    found.update(randomise_from(coins, PLAN, record(world)) for _ in range(people))
    return found
