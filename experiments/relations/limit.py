"""The limit for means by group: no private report has less error, and how far the rows channel is from it.

A person has one of G groups and a number t, here one of m points of [-1, 1]. A report y has probability p(y|x), and its
decoded values must be unbiased for X_j = t in the own group and 0 in others, and for membership F_j. The error is the
sum over all groups of Var(X_j) + Var(F_j)/4, averaged over a prior of the inputs.

**Extreme reports.** It is enough to look at reports with p(y|x) = q_y*z_y(x), where z_y(x) is 1 or E = e^epsilon
(Kairouz, Oh and Viswanath 2014). With the best decoding the sum of mean squares is tr(Phi' M^-1 Phi), where the columns
of Phi are the X_j and F_j, and M is the sum of q_y*z z'/(prior z). It is convex in q.

**The bound.** For all U, tr(Phi' M^-1 Phi) >= 2 tr(U'Phi) - tr(U'M U). Take multipliers v with v z >= |U'z|^2/(prior z)
for all patterns z. As the q_y z_y add up to 1 for each input, tr(U'M U) is at most the sum of all v. So with
A = tr(U'Phi) and B, the least sum of v, the error is at least 2sA - s^2 B for all s, hence at least A^2/B. B is a
linear program, whose own dual is a channel: the best one against U.

**The search.** Mixtures of channels are channels. So start with one, take U = M^-1 Phi, let the linear program find the
best channel against it, add that one to the mixture, and find the best mixture: an optimal design on a simplex, by the
multiplicative algorithm (Silvey, Titterington and Torsney 1978). It ends when both bounds are close.

**Symmetry.** Groups and the sign of t may be exchanged. So patterns are multisets of G rows of m bits, M has a block
for the average over groups and one for differences between groups, and v depends on |t| alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np

from experiments.reproduce.population import Array
from hush.core.channels import Rows
from hush.core.design.average import Density, fitted
from hush.core.design.groups import MEMBERSHIP, _Shape, default_size, rows
from hush.core.design.minimax import rounded
from hush.core.exact import exp_bounds, largest_threshold

POINTS = {2: 8, 3: 6, 4: 5, 5: 4}
"""How many numbers people may have, for each number of groups: patterns grow fast."""

STEPS = 120
CLOSE = 2e-3
RIDGE = 1e-9
BINS = 401  # of the density of people at a few points


@dataclass(frozen=True)
class Limit:
    """Groups, an epsilon, and whether points at the ends count half, as in the trapezoidal rule."""

    groups: int
    epsilon: float
    halved: bool = False


class Bracket(NamedTuple):
    """A proven bound of the error, and the error of the best channel that was found."""

    low: float
    high: float


def grid(points: int, halved: bool) -> tuple[Array, Array]:
    """Return the numbers that people may have, and their prior."""
    prior = np.ones(points)
    if halved:
        prior[[0, -1]] = 0.5
    return np.linspace(-1, 1, points), prior / prior.sum()


class _Patterns:
    """All patterns up to symmetry: what each contributes to both blocks of M, and to the sums over reports."""

    def __init__(self, job: Limit) -> None:
        m, groups, ratio = POINTS[job.groups], job.groups, math.exp(job.epsilon)
        self.t, self.prior = grid(m, job.halved)
        bits = np.array(list(product((1.0, ratio), repeat=m)))
        chosen = np.array(list(combinations_with_replacement(range(len(bits)), groups)))
        sums = np.zeros((len(chosen), m))
        squares = np.zeros((len(chosen), m, m))
        for group in range(groups):
            row = bits[chosen[:, group]]
            sums += row
            squares += row[:, :, None] * row[:, None, :]
        both = sums[:, :, None] * sums[:, None, :]
        mean = (sums @ self.prior / groups)[:, None, None]
        whole = both / groups / mean
        apart = (groups * squares - both) / (groups * (groups - 1)) / mean
        self.whole, self.apart = ((part + part[:, ::-1, ::-1]) / 2 for part in (whole, apart))
        half = (m + 1) // 2
        self.sums = ((sums + sums[:, ::-1]) / (2 * groups))[:, :half]
        one = np.ones(m)
        self.parts = [(1.0, 0, self.t), (groups - 1.0, 1, self.t), (MEMBERSHIP * (groups - 1), 1, one)]
        self.truth = float(self.prior @ self.t**2) + MEMBERSHIP * (1 - 1 / groups)


def limit(job: Limit) -> Bracket:
    """Return the bracket of the least error of all groups together."""
    patterns = _Patterns(job)
    blocks = (patterns.whole, patterns.apart)
    count = len(patterns.sums)
    chosen = np.full(count, 1 / patterns.sums[:, 0].sum())  # to start with, all patterns alike: a channel, too
    atoms: list[tuple[Array, Array]] = []
    low, high, weights = -math.inf, math.inf, np.ones(1)
    for _ in range(STEPS):
        atoms.append((np.tensordot(chosen, blocks[0], 1), np.tensordot(chosen, blocks[1], 1)))
        weights, solved, value = _mixed(atoms, weights[: len(atoms)], patterns)
        gains = np.zeros(count)
        for (factor, b, _), u in zip(patterns.parts, solved, strict=True):
            gains += factor * np.maximum((blocks[b] @ u) @ u, 0)
        chosen, most = _best(gains, patterns)
        low, high = max(low, value**2 / most), min(high, value)
        if high - low < CLOSE * (high - patterns.truth):
            break
        weights = np.append(weights * 0.9, 0.1)
    return Bracket(low - patterns.truth, high - patterns.truth)


def _best(gains: Array, patterns: _Patterns) -> tuple[Array, float]:
    """Return the channel of the largest sum of gains, and the least sum of multipliers v with v z >= gain."""
    from scipy.optimize import linprog

    found = linprog(-gains, A_eq=patterns.sums.T, b_eq=np.ones(patterns.sums.shape[1]), method="highs")
    v = -found.eqlin.marginals
    # Whatever the solver left open is filled by more of all multipliers, so the bound does not trust it.
    lack = max(0.0, float(np.max((gains - patterns.sums @ v) / patterns.sums.sum(1))))
    return found.x, float((v + lack).sum())


def _mixed(atoms: list[tuple[Array, Array]], weights: Array, patterns: _Patterns) -> tuple[Array, list[Array], float]:
    """Return the best mixture of channels, M^-1 Phi for it, and its mean squares."""
    stacks = [np.array([atom[b] for atom in atoms]) for b in (0, 1)]
    little = RIDGE * np.eye(len(patterns.t))  # the best M may lack what nobody asks for; the bound holds for every U
    for _ in range(400):
        matrices = [np.tensordot(weights, stack, 1) + little for stack in stacks]
        solved = [np.linalg.solve(matrices[b], phi) for _, b, phi in patterns.parts]
        gains = np.zeros(len(atoms))
        for (factor, b, _), u in zip(patterns.parts, solved, strict=True):
            gains += factor * (stacks[b] @ u) @ u
        value = float(sum(w * phi @ u for (w, _, phi), u in zip(patterns.parts, solved, strict=True)))
        if gains.max() < value * (1 + 1e-5):
            break
        weights = np.maximum(weights * np.sqrt(np.maximum(gains, 0)), 1e-12)
        weights /= weights.sum()
    return weights, solved, value


def error(channel: Rows, job: Limit) -> float:
    """Return the same error of a rows channel, on the same points."""
    t, prior = grid(POINTS[job.groups], job.halved)
    p, q = channel.p, channel.q
    member = float((p - 2 * p * q + q * q + (channel.rows - 1) * (q - q * q)) / (p - q) ** 2 - 1)
    values = [float(channel.variance(Fraction(float(x)))) for x in t]
    return float(prior @ values) + MEMBERSHIP * member


def measured(job: Limit) -> dict[str, float]:
    """Return the bracket of the limit, and the error of the rows channel that hush takes."""
    found = limit(job)
    return {"low": found.low, "high": found.high, "rows": error(rows(Fraction(job.epsilon), job.groups), job)}


def designed(job: Limit) -> float:
    """Return the error of the best rows channel that is designed for these points, and not for all numbers alike."""
    t, prior = grid(POINTS[job.groups], job.halved)
    shares = [0.0] * BINS
    for x, share in zip(t, prior, strict=True):
        shares[min(int((x + 1) / 2 * BINS), BINS - 1)] += share
    density = Density([Fraction(share) for share in shares])
    bound = exp_bounds(Fraction(job.epsilon))[0]
    size = default_size(job.epsilon)
    found = []
    for weight in range(1, job.groups):
        for width in range(size // 6, 2 * size // 3 + 1):
            threshold = largest_threshold(bound, weight * width, job.groups * size - weight * width)
            shape = _Shape(float(bound), job.groups, weight, size, width, False)
            square, levels = fitted(shape.problem, shape.levels, density, 12)
            if math.isfinite(square):
                found.append(error(Rows(job.groups, weight, size, width, threshold, rounded(levels)), job))
    return min(found)
