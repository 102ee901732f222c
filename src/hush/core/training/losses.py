"""Losses of linear models, and the gradient of one person's record.

A loss looks at the score x.w of a record and its target y. Its gradient is `slope(score, y)` times x, so a person's
gradient is a multiple of their features. The penalty (lambda/2)|w|^2 is public: the server adds its gradient itself.

Squared: (score - y)^2, targets in [-1, 1]. Logistic: log(1 + e^(-y*score)); hinge: max(0, 1 - y*score); targets -1
and 1. `hush.core.training.labels` turns labels into targets.

**The same numbers everywhere.** Devices in all languages compute a slope by sums, products and quotients alone, in the
order that `spec/training.md` states. Libraries round `exp` differently, and so does each browser: `exponential` takes
its place. The value of a loss, which held-out people report, is made of the same operations; `softplus` is its
logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hush.errors import DesignError


@dataclass(frozen=True)
class Loss:
    """A loss by name.

    `curvature` bounds the second derivative in the score (for the hinge, which has none, it is a typical value);
    step sizes follow from it. `constant` is the score with which training begins, for the mean target: its
    log-odds, or half of them for the hinge, whose slope changes at 1. `curved` is the second derivative there.
    `slope_at_zero` bounds the slope at score 0, and `bound` bounds it everywhere (None if it is unbounded).
    Gradients are clipped to `clip` times their typical length at the start. `classes` is true if the label is one
    of two classes, and false if it is a number.
    """

    name: str
    slope: Callable[[float, float], float]
    value: Callable[[float, float], float]
    constant: Callable[[float], float]
    curved: Callable[[float], float]
    curvature: float
    slope_at_zero: float
    bound: float | None
    clip: float
    classes: bool


REACH = 64.0
"""Slopes hardly change beyond this score: e^-64 is below 2e-28."""
TERMS, SQUARINGS = 18, 6
LOG_TERMS = 18
SMALLEST = 1e-150
"""Smaller numbers count as 0 before they are squared: processors are slow with subnormal squares."""


def exponential(x: float) -> float:
    """Return e^x to within 1e-13, relatively; beyond -64 and 64 the value there. The same steps for every x.

    The first 18 terms of the series for e^(x/64) leave less than 1e-17, and six squarings give its 64th power.
    """
    t = min(max(x, -REACH), REACH) / REACH
    found = 1.0
    for n in range(TERMS, 0, -1):
        found = 1.0 + t * found / n
    for _ in range(SQUARINGS):
        found *= found
    return found


def _logistic_slope(score: float, y: float) -> float:
    return -y / (1.0 + exponential(y * score))


def softplus(x: float) -> float:
    """Return log(1 + e^x) to within 1e-15, or relatively to within 1e-13. The same steps for every x.

    With e = e^-|x| and z = e/(2 + e), which is at most 1/3, log(1 + e) is twice the series of z + z^3/3 + z^5/5 + ...
    Its first 18 terms leave less than 1e-18.
    """
    e = exponential(-abs(x))
    z = e / (2.0 + e)
    square, found = z * z, 0.0
    for n in range(LOG_TERMS, 0, -1):
        found = 1.0 / (2 * n - 1) + square * found
    return max(x, 0.0) + 2.0 * z * found


def square(x: float) -> float:
    """Return the square of a number; it is not subnormal."""
    x = x if abs(x) > SMALLEST else 0.0
    return x * x


def _share(mean: float) -> float:
    return min(max((1 + mean) / 2, 0.01), 0.99)


def _log_odds(mean: float) -> float:
    return math.log(_share(mean) / (1 - _share(mean)))


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "squared",
            lambda score, y: 2 * (score - y),
            lambda score, y: square(score - y),
            lambda mean: mean,
            lambda _: 2.0,
            2.0,
            2.0,
            None,
            1.0,
            classes=False,
        ),
        Loss(
            "logistic",
            _logistic_slope,
            lambda score, y: softplus(-y * score),
            _log_odds,
            lambda mean: _share(mean) * (1 - _share(mean)),
            0.25,
            0.5,
            1.0,
            0.7,
            classes=True,
        ),
        Loss(
            "hinge",
            lambda score, y: -y if y * score < 1 else 0.0,
            lambda score, y: max(0.0, 1 - y * score),
            lambda mean: _log_odds(mean) / 2,
            lambda _: 0.5,
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
