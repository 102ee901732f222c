"""Trainings and people that the tests of `hush.learn` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hush import Categorical, Numeric, Round, Schema, Training
from hush.device.coins import SystemCoins
from hush.server.step import first_round

Array = np.ndarray[Any, Any]

LOSSES = ["squared", "logistic", "hinge"]
MECHANISMS = ["vector", "hybrid", "piecewise", "duchi", "laplace", "minimax", "duchi-multi", "cube"]


def numbers(d: int) -> Schema:
    """So many numbers from -1 to 1, which are features as they are."""
    return Schema([Numeric(f"x{j}", -1, 1) for j in range(d)])


def person(x: Sequence[Any]) -> dict[str, Any]:
    """The record of somebody with these numbers."""
    return {f"x{j}": value for j, value in enumerate(x)}


def people(x: Array, y: Array, loss: str) -> list[tuple[dict[str, Any], Any]]:
    """The records and labels of the rows of a matrix."""
    labels = y.tolist() if loss == "squared" else y.astype(int).tolist()
    return [(person(row), label) for row, label in zip(x.tolist(), labels, strict=True)]


def training(*, dimensions: int = 3, **changes: Any) -> Training:
    """A small training, with whatever a test wants to be different. Its label is its target."""
    squared = changes.get("loss") == "squared"
    given: dict[str, Any] = {
        "title": "test",
        "loss": "logistic",
        "schema": numbers(dimensions),
        "label": Numeric("y", -1, 1) if squared else Categorical("y", [-1, 1]),
        "epsilon": 4.0,
        "rounds": 6,
        "step": 0.5,
        "seed": "seed",
    }
    return Training(**(given | changes))


def first(**changes: Any) -> Round:
    """The first round of such a training."""
    return first_round(training(**changes))


def crowd(n: int, d: int, seed: int, loss: str = "logistic") -> tuple[Array, Array]:
    """Features in [-1, 1], of which the first decides the target most of the time."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d)).astype(np.float32)
    noisy = 0.6 * x[:, 0] - 0.3 * x[:, -1] + rng.uniform(-0.1, 0.1, n)
    return x, (noisy if loss == "squared" else np.where(noisy > 0, 1.0, -1.0)).astype(np.float32)


def no_word(self: SystemCoins) -> int:
    """Stands in for `SystemCoins.word` where nothing may be drawn."""
    raise AssertionError("a word was drawn")
