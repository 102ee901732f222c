"""Mechanisms as textbooks have them, in floating point: what an attack on low bits is for. **Not private.**"""

from __future__ import annotations

import math
import random

UNIT = 2.0**-53


class TextbookPiecewise:
    """Algorithm 2 of the paper in float64."""

    def __init__(self, epsilon: float) -> None:
        half = math.exp(epsilon / 2)
        self.c = (half + 1) / (half - 1)
        self.inside = half / (half + 1)

    def edges(self, t: float) -> tuple[float, float]:
        """Return the ends of the interval that is likelier."""
        left = (self.c + 1) / 2 * t - (self.c - 1) / 2
        return left, left + self.c - 1

    def pieces(self, t: float) -> list[tuple[float, float]]:
        """Intervals (start, length) from which the output is start + length*u, u a multiple of 2^-53."""
        left, right = self.edges(t)
        return [(left, right - left), (-self.c, left + self.c), (right, self.c - right)]

    def draw(self, t: float, rng: random.Random) -> float:
        """Return an output for an input t."""
        centre, below, above = self.pieces(t)
        if rng.random() < self.inside:
            start, length = centre
        else:
            start, length = below if rng.random() < below[1] / (below[1] + above[1]) else above
        return start + length * rng.random()

    def possible(self, y: float, t: float) -> bool:
        """Whether some u gives exactly this output for an input t."""
        for start, length in self.pieces(t):
            if length <= 0:
                continue
            guess = round((y - start) / length / UNIT)
            for k in range(guess - 4, guess + 5):
                if 0 <= k < 2**53 and start + length * (k * UNIT) == y:
                    return True
        return False


class TextbookLaplace:
    """The Laplace mechanism by inversion, for numbers in [-1, 1]."""

    def __init__(self, epsilon: float) -> None:
        self.scale = 2 / epsilon

    def draw(self, t: float, rng: random.Random) -> float:
        """Return an output for an input t."""
        return t + self.scale * math.log(1 - rng.random()) * rng.choice((-1, 1))
