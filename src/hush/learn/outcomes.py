"""The outcome of a simulated training, and its description in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.core.training.training import VECTOR, Training
from hush.server.pilot import Pilot

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """One fitted training: the coefficients of the features, the intercept, and its history.

    `losses` come from held-out people: the round, the estimate after it, and its standard error. `noise` is the
    predicted noise of sufficient statistics and of gradients, where there was a choice.
    """

    coefficients: Array
    intercept: float
    training: Training
    method: str
    rounds: int
    pilot: Pilot | None
    losses: tuple[tuple[int, float, float], ...]
    noise: dict[str, float] | None

    def __str__(self) -> str:
        training = self.training
        lines = [
            f"{training.title}: {training.dimensions} features, epsilon {training.epsilon:g} a person, who answers once"
        ]
        if training.map is not None:
            lines.append(f"  a public map: {training.unit_count} further features")
        if self.pilot is not None:
            lines.append(f"  pilot: {self.pilot.asked} people reported how the features are spread")
        if self.noise is not None:
            ratio = self.noise["gradients"] / self.noise["statistics"]
            if ratio > 0:  # with too many features, statistics were not an option
                lines.append(f"  predicted noise of gradients over that of sufficient statistics: {ratio:.3g}")
        if self.method == "statistics":
            lines.append("  one round of sufficient statistics")
        else:
            clip = (
                f"length {training.radius:.3g}" if training.gradient == VECTOR else f"coordinates {training.bound:.3g}"
            )
            size = f"{'1/sqrt(t) times ' if training.decay else ''}{training.step:.3g}"
            lines.append(f"  {self.rounds} rounds of {training.gradient} gradients, clipped ({clip}), steps of {size}")
        for number, point, error in self.losses:
            lines.append(f"  after round {number}: held-out loss {point:.4f} +- {error:.4f}")
        return "\n".join(lines)
