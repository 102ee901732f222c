"""PrivUnit, as a yardstick for gradients: **simulation only, continuous and not float-safe**.

PrivUnit (Bhowmick et al. 2018, "Protection against reconstruction") reports a unit vector u by a random unit vector V
that lies in the cap <V, u> >= gamma with probability p, and outside it otherwise, uniformly in both. Asi et al. (2022,
"Optimal algorithms for mean estimation under local differential privacy") show that it is the best of all private,
unbiased reports of unit vectors if gamma and p are chosen together. With q the share of the sphere that is in the cap,
p = e^eps q/(e^eps q + 1 - q) spends the whole epsilon, and V/m is unbiased for m = E<V, u>; its variance is 1/m^2 - 1.
So gamma is chosen to make m as large as possible.

<V, u> has the density C (1 - t^2)^((d-3)/2), C = Gamma(d/2)/(sqrt(pi) Gamma((d-1)/2)), whose first moment above gamma
is C (1 - gamma^2)^((d-1)/2)/(d - 1). Gradients of length r < R enter as u or -u with probabilities (1 +- r/R)/2, as in
hush's vector channel.

Real numbers are not what computers have: the low bits of such a report can tell what the proof says they cannot. hush
does not offer it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hush.core.training.courses import groups
from hush.core.training.rounds import Round
from hush.core.training.training import Training
from hush.learn.simulation import SLOPES, People, View
from hush.server.step import first_round, moved

Array = np.ndarray[Any, Any]

POINTS = 1 << 16  # of the table of quantiles
GAMMAS = 400
BLOCK = 1 << 15


@lru_cache(maxsize=8)
def sphere(d: int) -> tuple[Array, Array]:
    """Return a grid of <V, u> for V uniform on the sphere, and the share of the sphere up to each of its points."""
    angles = np.linspace(-math.pi / 2, math.pi / 2, POINTS)
    density = np.cos(angles) ** (d - 2)  # of the angle: smooth for every d >= 2
    sums = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.sin(angles), sums / sums[-1]


@dataclass(frozen=True)
class PrivUnit:
    """The mechanism in d dimensions with cap gamma and probability p."""

    d: int
    gamma: float
    p: float

    @property
    def _law(self) -> tuple[Array, Array]:
        return sphere(self.d)

    @property
    def outside(self) -> float:
        """The share of the sphere outside the cap."""
        return float(np.interp(self.gamma, *self._law))

    @property
    def epsilon(self) -> float:
        """What the mechanism costs."""
        return math.log(self.p / (1 - self.outside)) - math.log((1 - self.p) / self.outside)

    @property
    def m(self) -> float:
        """The mean of <V, u>."""
        log_c = math.lgamma(self.d / 2) - math.lgamma((self.d - 1) / 2) - math.log(math.pi) / 2
        moment = math.exp(log_c) * (1 - self.gamma**2) ** ((self.d - 1) / 2) / (self.d - 1)
        return float(moment * (self.p / (1 - self.outside) - (1 - self.p) / self.outside))

    def means(self, units: Array, generator: np.random.Generator) -> Array:
        """Return the mean of one report of each row, all of them unit vectors: unbiased for the mean row."""
        total = np.zeros(self.d)
        for start in range(0, len(units), BLOCK):
            total += self._sum(units[start : start + BLOCK], generator)
        return total / (max(len(units), 1) * self.m)

    def _sum(self, units: Array, generator: np.random.Generator) -> Array:
        n = len(units)
        draws = generator.random(n)
        share = np.where(generator.random(n) < self.p, self.outside + (1 - self.outside) * draws, self.outside * draws)
        values, shares = self._law
        t = np.interp(share, shares, values).astype(np.float32)
        noise = generator.standard_normal((n, self.d), dtype=np.float32)
        along = np.einsum("ij,ij->i", noise, units)
        left = np.einsum("ij,ij->i", noise, noise) - along * along  # the squared length of what is orthogonal
        factors = np.sqrt((1 - t * t) / np.maximum(left, np.float32(1e-12)))
        return np.asarray((t - factors * along) @ units + factors @ noise, dtype=np.float64)


@lru_cache(maxsize=64)
def best(d: int, epsilon: float) -> PrivUnit:
    """Return the mechanism of least variance: the gamma of a fine grid with the largest m."""
    found = []
    for gamma in np.linspace(0, min(1.0, 6 / math.sqrt(d)), GAMMAS, endpoint=False):
        q = 1 - PrivUnit(d, float(gamma), 0.5).outside
        if 0 < q < 1:
            p = math.exp(epsilon) * q / (math.exp(epsilon) * q + 1 - q)
            found.append(PrivUnit(d, float(gamma), p))
    return max(found, key=lambda mechanism: mechanism.m)


def mean_gradient(round_: Round, people: People, generator: np.random.Generator) -> Array:
    """Return the mean of the clipped gradients of a group, as PrivUnit tells it."""
    training, view = round_.training, View.of(round_.training)
    slopes = SLOPES[training.loss](view.scores(people, np.array(round_.weights)), people.y)
    vectors = (people.x - view.centre) * view.inverse
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    sizes = np.minimum(np.abs(slopes) * lengths / training.radius, 1.0)
    signs = np.where(generator.random(len(people)) < (1 + sizes) / 2, np.sign(slopes), -np.sign(slopes))
    # A slope of 0 has no direction: any will do, as both signs are then equally likely.
    signs = np.where(slopes == 0, np.where(generator.random(len(people)) < 0.5, 1.0, -1.0), signs)
    units = vectors * (signs / np.maximum(lengths, 1e-12)).astype(np.float32)[:, None]
    return best(training.width, training.epsilon).means(units, generator) * training.radius


class _ByPrivUnit:
    """Runs a training of hush with gradients told by PrivUnit: same pilot, same rules, same people."""

    def _run(self, training: Training, people: People, seed: str | None, threads: int) -> tuple[Round, tuple[()]]:
        generator = np.random.default_rng(None if seed is None else [int(seed), 7])
        round_ = first_round(training)
        for start, end in groups(len(people), training):
            round_ = moved(round_, mean_gradient(round_, people.some(start, end), generator).tolist())
        return round_, ()


def by_privunit(model: type) -> type:
    """Return a model of hush that trains by PrivUnit."""
    return type(model.__name__, (_ByPrivUnit, model), {})
