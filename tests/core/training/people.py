"""A person of the tests of rounds, and their gradient by hand."""

from __future__ import annotations

import math

from hush import Round
from tests.learn.cases import person

PERSON = [0.8, -0.5, 0.3]
RECORD = person(PERSON)


def clipped_gradient(round_: Round, x: list[float], y: float) -> list[float]:
    """The gradient by hand, before anything is randomised."""
    inputs = [*x, 1.0]
    score = sum(a * b for a, b in zip(inputs, round_.weights, strict=True))
    slope = {
        "squared": 2 * (score - y),
        "logistic": -y / (1 + math.exp(y * score)),
        "hinge": -y if y * score < 1 else 0.0,
    }[round_.training.loss]
    return [slope * value for value in inputs]
