"""Levels with the least *average* variance under a public prior, for when something is known about the people.

Minimax levels serve every population. If it is public knowledge where values lie (most gradients are near 0, most
incomes near the lower end), levels can do better on average. The prior is a histogram over equal bins of [-1, 1]. It
must be public: a prior that was learnt from the people themselves leaks.

For given levels the mean square of a report is a function f(t), linear between the means mu_s of the states. The
average variance is the integral of prior(t)*(f(t) - t^2). Write it as a function of the mu_s and of the mean squares
q_s. Its derivatives are the weight that the prior gives to state s, and minus the slopes of f beside mu_s, weighted in
the same way. Each q_s is a diagonal quadratic form of the levels and each mu_s a linear one, so setting the gradient to
0 (with mu_last = 1) gives every level in closed form. The search iterates this from the minimax levels, and keeps the
best iterate. It is a local optimum, not proved to be a global one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

from hush.core.channels import Window
from hush.core.design.minimax import Problem, as_channel, default_size, knots_of, problem_of, worst_case
from hush.core.exact import exp_bounds
from hush.errors import DesignError

MAX_BINS = 256
_ITERATIONS = 30
_DAMPING = 0.5

PRIORS: dict[str, tuple[int, ...]] = {
    "uniform": (1,),
    # A normal distribution with standard deviation 1/4, in 32 bins: values near the centre of the domain.
    "centre": tuple(round(10**6 * math.exp(-8 * ((2 * i - 31) / 32) ** 2)) for i in range(32)),
}


def histogram(prior: str | Sequence[float]) -> tuple[Fraction, ...]:
    """Return the shares of equal bins of [-1, 1], made symmetric: levels are symmetric, so only that part matters."""
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise DesignError(f"a prior is one of {', '.join(PRIORS)}, or a list of weights of equal bins")
        weights: Sequence[float] = PRIORS[prior]
    else:
        weights = list(prior)
    if not 1 <= len(weights) <= MAX_BINS or not all(
        isinstance(w, int | float) and not isinstance(w, bool) and 0 <= w < math.inf for w in weights
    ):
        raise DesignError(f"a prior is a list of 1 to {MAX_BINS} weights, none negative")
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    if total == 0:
        raise DesignError("a prior needs a weight above 0")
    return tuple((a + b) / (2 * total) for a, b in zip(exact, reversed(exact), strict=True))


def average_variance(channel: Window, prior: Sequence[Fraction]) -> Fraction:
    """Return the exact average variance of one report, rounding included, under a prior as `histogram` returns it."""
    bins = len(prior)
    edges = [Fraction(2 * i, bins) - 1 for i in range(bins + 1)]
    points = sorted({*edges, *(t for t, _ in channel.knots)})
    total = Fraction(0)
    for left, right in pairwise(points):
        density = prior[min(int((left + 1) * bins / 2), bins - 1)] * bins / 2
        linear = (channel.mean_square(left) + channel.mean_square(right)) / 2
        total += density * (right - left) * (linear - (left * left + left * right + right * right) / 3)
    return total


class Density:
    """Integrals of a density that is constant on equal bins."""

    def __init__(self, shares: Sequence[Fraction]) -> None:
        bins = len(shares)
        self._edges = [2 * i / bins - 1 for i in range(bins + 1)]
        self._density = [float(share) * bins / 2 for share in shares]

    def moments(self, left: float, right: float) -> tuple[float, float]:
        """Return the mass between two points, and the integral of t over it."""
        mass = first = 0.0
        i = max(bisect_left(self._edges, left) - 1, 0)
        while i < len(self._density) and self._edges[i] < right:
            a, b = max(left, self._edges[i]), min(right, self._edges[i + 1])
            if b > a:
                mass += self._density[i] * (b - a)
                first += self._density[i] * (b * b - a * a) / 2
            i += 1
        return mass, first


def _improved(problem: Problem, levels: Sequence[float], prior: Density) -> tuple[float, list[float]]:
    """Return the average mean square of levels, and the levels at which its gradient would be 0."""
    size, width, gain, outside, _ = problem
    knots = knots_of(problem, levels)
    weights, pulls = [0.0] * len(knots), [0.0] * len(knots)
    average = 0.0
    for s, ((left, low), (right, high)) in enumerate(pairwise(knots)):
        if right - left < 1e-4:  # integer levels could not distinguish them
            return math.inf, list(levels)
        mass, first = prior.moments(left, right)
        upper = (first - left * mass) / (right - left)
        slope = (high - low) / (right - left)
        for state, part in ((s, mass - upper), (s + 1, upper)):
            weights[state] += part
            pulls[state] += slope * part
        average += low * (mass - upper) + high * upper
    # Sums over the states whose window contains a cell are differences of running sums.
    running_weights, running_pulls = [0.0, *accumulate(weights)], [0.0, *accumulate(pulls)]
    last = size - width
    free, tied = [], []
    for y in range(size):
        a, b = max(0, y - width + 1), min(y, last) + 1
        curvature = 2 * (outside + gain * (running_weights[b] - running_weights[a]))
        free.append(gain * (running_pulls[b] - running_pulls[a]) / curvature)
        tied.append(gain * ((y >= last) - (y < width)) / curvature)
    missing = 1 - gain * sum(free[last:])
    factor = missing / (gain * sum(tied[last:]))
    return average, [a + factor * b for a, b in zip(free, tied, strict=True)]


def _monotone(problem: Problem, levels: Sequence[float]) -> list[float]:
    """Return antisymmetric, nondecreasing levels with mu_last = 1."""
    mirrored = [(a - b) / 2 for a, b in zip(levels, reversed(levels), strict=True)]
    rising = list(accumulate(mirrored[len(levels) // 2 :], max))
    rising = [max(x, 0.0) for x in rising]
    middle = [0.0] if len(levels) % 2 else []
    rising = rising[len(middle) :]
    full = [*(-x for x in reversed(rising)), *middle, *rising]
    scale = problem.gain * sum(full[problem.size - problem.width :])
    return [x / scale for x in full]


def fitted(problem: Problem, levels: Sequence[float], density: Density, steps: int) -> tuple[float, list[float]]:
    """Return the least average mean square that these steps find from these levels, and the levels that have it."""
    current = _monotone(problem, levels)
    least, best = math.inf, current
    for _ in range(steps):
        average, target = _improved(problem, current, density)
        if average < least:
            least, best = average, current
        if average == math.inf:
            break
        moved = [(1 - _DAMPING) * a + _DAMPING * b for a, b in zip(current, target, strict=True)]
        current = _monotone(problem, moved)
    return least, best


@lru_cache(maxsize=64)
def averaged(epsilon: Fraction, prior: tuple[Fraction, ...], optional: bool = False, size: int = 0) -> Window:
    """Return the window channel with the least average variance under a prior, as `histogram` returns it."""
    cells = size or default_size(float(epsilon))
    start, levels = worst_case(float(epsilon), cells, optional=optional)
    density = Density(prior)
    best = (math.inf, start, levels)
    for width in sorted(
        {max(1, min(cells // 2, round(start * factor))) for factor in (0.5, 0.65, 0.8, 0.9, 1, 1.1, 1.25)}
    ):
        if math.gcd(width, cells) & (math.gcd(width, cells) - 1):
            continue
        problem = problem_of(float(exp_bounds(epsilon)[0]), cells, width, optional)
        average, found = fitted(problem, levels, density, _ITERATIONS)
        if average < best[0]:
            best = (average, width, found)
    return as_channel(epsilon, best[1], best[2], optional)
