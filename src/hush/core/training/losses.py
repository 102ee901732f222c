"""Losses of linear models, and the gradient of one person's record.

A loss looks at the score x.w of a record and its target y. Its gradient is `slope(score, y)` times x, so a person's
gradient is a multiple of their features. The penalty (lambda/2)|w|^2 is public: the server adds its gradient itself.

Squared: (score - y)^2, targets in [-1, 1]. Logistic: log(1 + e^(-y*score)); hinge: max(0, 1 - y*score); targets -1
and 1. `hush.core.training.labels` turns labels into targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hush.errors import DesignError


@dataclass(frozen=True)
class Loss:
    """A loss by name.

    `curvature` bounds the second derivative in the score (for the hinge, which has none, it is a typical value); step
    sizes follow from it. `slope_at_zero` bounds the size of the slope at score 0, where training begins, and `bound`
    bounds it everywhere (None if it is unbounded). Gradients are clipped to `clip` times their median length at the
    start. `classes` is true if the label is one of two classes, and false if it is a number.
    """

    name: str
    slope: Callable[[float, float], float]
    value: Callable[[float, float], float]
    constant: Callable[[float], float]
    curvature: float
    slope_at_zero: float
    bound: float | None
    clip: float
    classes: bool


def _logistic_slope(score: float, y: float) -> float:
    margin = y * score
    return -y / (1.0 + math.exp(margin)) if margin < 700 else 0.0


def _logistic_value(score: float, y: float) -> float:
    margin = y * score
    return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin


def _log_odds(mean: float) -> float:
    share = min(max((1 + mean) / 2, 0.01), 0.99)
    return math.log(share / (1 - share))


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "squared",
            lambda score, y: 2 * (score - y),
            lambda score, y: (score - y) ** 2,
            lambda mean: mean,
            2.0,
            2.0,
            None,
            1.0,
            classes=False,
        ),
        Loss("logistic", _logistic_slope, _logistic_value, _log_odds, 0.25, 0.5, 1.0, 0.7, classes=True),
        Loss(
            "hinge",
            lambda score, y: -y if y * score < 1 else 0.0,
            lambda score, y: max(0.0, 1 - y * score),
            lambda _: 0.0,
            0.5,
            1.0,
            1.0,
            0.7,
            classes=True,
        ),
    )
}


def loss_named(name: object) -> Loss:
    """Return a loss by its name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise DesignError(f"the loss must be one of: {', '.join(LOSSES)}")
    return LOSSES[name]
