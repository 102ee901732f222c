"""The minimax design: the levels of a window channel that minimise its largest variance.

A window channel with given size N and width W has antisymmetric levels a, one for each cell. Let i and o be the
probabilities of a cell inside and outside, and c = i - o. A state s has

    mean    mu_s = c * (sum of a over the window),
    square  q_s  = o * (sum of all a^2) + c * (sum of a^2 over the window),
    risk    r_s  = rho * q_s - mu_s^2,

and mu of the last state must be 1. With rho = 1 the risk is the variance, for one attribute or the ratio estimator;
rho = d/k is the paper's estimator for k of d attributes. Each risk is a convex quadratic function of the levels, so
minimising the largest is a small convex program. A primal-dual interior point method (Boyd and Vandenberghe, Convex
Optimization, 11.7) solves it in plain floats: the result is the same on every machine, and needs no library. The result
is rounded to integers, which the channel then treats exactly: rounding may cost a little accuracy, never privacy.

The design searches for the width. The size grows with epsilon, because rounding inputs to N - W + 1 states adds
variance. `docs/minimax.md` shows how close this comes to the limit that no unbiased mechanism can beat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import NamedTuple

from hush.core.channels import Window
from hush.core.channels.window import ROUNDING
from hush.core.exact import aligned_threshold, exp_bounds

MAX_SIZE = 128
_LEVEL = 1 << 16  # the largest level, as an integer
_GAP = 2e-4  # relative gap between primal and dual at which the solver stops
_STEPS = 60


class Problem(NamedTuple):
    """A window channel without its levels, and the factor rho of its risk."""

    size: int
    width: int
    gain: float
    outside: float
    rho: float


def problem_of(ratio: float, size: int, width: int, optional: bool, rho: float = 1.0) -> Problem:
    """Return the problem of a window of this width, for a ratio e^epsilon."""
    cells = size if optional else size - width
    window = ratio * width / (ratio * width + cells)
    outside = (1 - window) / cells
    return Problem(size, width, window / width - outside, outside, rho)


class _System:
    """The quadratic forms of a problem in its unknowns: the levels of the upper half of the cells.

    Unknown i is the level of the i-th cell above the middle; its mirror image below has minus that level. States below
    the middle mirror those above, so only the upper ones are kept.
    """

    def __init__(self, problem: Problem) -> None:
        size, width, gain, outside, rho = problem
        self.unknowns = size // 2
        last = size - width
        middle = size - self.unknowns
        self.linear: list[list[float]] = []  # mu_s
        self.square: list[list[float]] = []  # rho * q_s
        for s in range((last + 1) // 2, last + 1):
            above = [s <= middle + i < s + width for i in range(self.unknowns)]
            below = [s <= self.unknowns - 1 - i < s + width for i in range(self.unknowns)]
            self.linear.append([gain * (a - b) for a, b in zip(above, below, strict=True)])
            self.square.append([rho * (2 * outside + gain * (a + b)) for a, b in zip(above, below, strict=True)])

    def risks(self, u: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return mu_s and r_s of every state."""
        squares = [x * x for x in u]
        means = [sum(map(mul, row, u)) for row in self.linear]
        return means, [sum(map(mul, row, squares)) - mu * mu for row, mu in zip(self.square, means, strict=True)]

    def start(self) -> list[float]:
        """Return equally spaced levels that meet the constraint."""
        u = [i + 0.5 for i in range(self.unknowns)]
        scale = sum(map(mul, self.linear[-1], u))
        return [x / scale for x in u]


def _cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the lower triangle C with C C^T = matrix, given its lower triangle."""
    rows: list[list[float]] = []
    for i, source in enumerate(matrix):
        row: list[float] = []
        for j in range(i):
            row.append((source[j] - sum(map(mul, row, rows[j]))) / rows[j][j])
        row.append(math.sqrt(max(source[i] - sum(map(mul, row, row)), 1e-300)))
        rows.append(row)
    return rows


def _solve(rows: list[list[float]], b: Sequence[float]) -> list[float]:
    """Solve C C^T x = b."""
    y: list[float] = []
    for row, value in zip(rows, b, strict=True):
        y.append((value - sum(map(mul, row, y))) / row[-1])
    for i in reversed(range(len(y))):
        row = rows[i]
        y[i] /= row[-1]
        for j in range(i):
            y[j] -= row[j] * y[i]
    return y


def _minimise_largest(system: _System) -> list[float]:
    """Return the unknowns with the smallest largest risk.

    Minimise tau subject to r_s <= tau and mu_last = 1. Each step relaxes complementarity to multiplier * slack = 1/t,
    linearises the optimality conditions and solves them; t grows as the remaining gap shrinks.
    """
    one = system.linear[-1]
    u = system.start()
    means, risks = system.risks(u)
    tau = 1.5 * max(risks)
    count = len(risks)
    multipliers, nu = [1 / count] * count, 0.0
    for _ in range(_STEPS):
        slacks = [tau - risk for risk in risks]
        gap = sum(map(mul, slacks, multipliers))
        gradients = [
            [2 * (d * x - mu * m) for d, x, m in zip(square, u, linear, strict=True)]
            for square, linear, mu in zip(system.square, system.linear, means, strict=True)
        ]
        columns = list(zip(*gradients, strict=True))
        dual = [sum(map(mul, multipliers, column)) + nu * m for column, m in zip(columns, one, strict=True)]
        if gap < _GAP * tau and max(map(abs, dual)) < _GAP * tau:
            break
        t = 3 * count / gap
        relaxed = [1 / (t * slack) - multiplier for slack, multiplier in zip(slacks, multipliers, strict=True)]
        weights = list(map(lambda a, b: a / b, multipliers, slacks))
        total = sum(weights)
        coupling = [-sum(map(mul, weights, column)) for column in columns]
        right = [-d - sum(map(mul, relaxed, column)) for d, column in zip(dual, columns, strict=True)]
        right_tau = sum(multipliers) - 1 + sum(relaxed)
        rows = _cholesky(_hessian(system, multipliers, weights, columns, coupling, total))
        first = _solve(rows, [r - c * right_tau / total for r, c in zip(right, coupling, strict=True)])
        second = _solve(rows, one)
        step_nu = (sum(map(mul, one, first)) + sum(map(mul, one, u)) - 1) / sum(map(mul, one, second))
        step = [a - step_nu * b for a, b in zip(first, second, strict=True)]
        step_tau = (right_tau - sum(map(mul, coupling, step))) / total
        steps = [
            weight * (sum(map(mul, gradient, step)) - step_tau) + r
            for weight, gradient, r in zip(weights, gradients, relaxed, strict=True)
        ]
        length = 0.99 * min([1.0, *(-m / s for m, s in zip(multipliers, steps, strict=True) if s < 0)])
        while True:
            moved = [a + length * b for a, b in zip(u, step, strict=True)]
            means, risks = system.risks(moved)
            if max(risks) < tau + length * step_tau or length < 1e-9:
                break
            length *= 0.7
        u, tau, nu = moved, tau + length * step_tau, nu + length * step_nu
        multipliers = [m + length * s for m, s in zip(multipliers, steps, strict=True)]
    return u


def _hessian(
    system: _System,
    multipliers: Sequence[float],
    weights: Sequence[float],
    columns: Sequence[Sequence[float]],
    coupling: Sequence[float],
    total: float,
) -> list[list[float]]:
    """Return the lower triangle of the matrix of the linearised conditions, tau eliminated."""
    lines = list(zip(*system.linear, strict=True))
    diagonal = [2 * sum(map(mul, multipliers, column)) for column in zip(*system.square, strict=True)]
    plain = [(*column, *line, c) for column, line, c in zip(columns, lines, coupling, strict=True)]
    factors = [*weights, *(-2 * m for m in multipliers), -1 / total]
    matrix = []
    for i, row in enumerate(plain):
        scaled = list(map(mul, factors, row))
        line = [sum(map(mul, scaled, other)) for other in plain[: i + 1]]
        line[i] += diagonal[i]
        matrix.append(line)
    return matrix


# -- from real levels to a channel


def _levels(problem: Problem, u: Sequence[float]) -> list[float]:
    middle = [0.0] if problem.size % 2 else []
    return [*(-x for x in reversed(u)), *middle, *u]


def knots_of(problem: Problem, levels: Sequence[float]) -> list[tuple[float, float]]:
    """Return mu_s and rho*q_s of every state."""
    size, width, gain, outside, rho = problem
    total = sum(a * a for a in levels)
    knots = []
    for s in range(size - width + 1):
        window = levels[s : s + width]
        knots.append((gain * sum(window), rho * (outside * total + gain * sum(a * a for a in window))))
    return knots


def _worst(knots: Sequence[tuple[float, float]]) -> float:
    """Return the largest risk over all real inputs, rounding included; infinite if the means do not increase."""
    largest = max(square - mu * mu for mu, square in knots)
    for (left, low), (right, high) in pairwise(knots):
        if right - left < 1e-9:
            return math.inf
        slope = (high - low) / (right - left)
        top = min(max(slope / 2, left), right)
        largest = max(largest, low + slope * (top - left) - top * top)
    return largest


def rounded(levels: Sequence[float]) -> tuple[int, ...]:
    """Return integer levels, antisymmetric and nondecreasing."""
    size = len(levels)
    upper = [max(0, round(x / levels[-1] * _LEVEL)) for x in levels[size - size // 2 :]]
    for i in range(1, len(upper)):
        upper[i] = max(upper[i], upper[i - 1])
    return (*(-x for x in reversed(upper)), *([0] if size % 2 else []), *upper)


def default_size(epsilon: float) -> int:
    """Return the number of cells for which rounding inputs costs about one per cent.

    It is a power of two, so that every width is allowed: see `hush.core.exact.aligned_threshold`.
    """
    return 32 if epsilon <= 2 else 64 if epsilon <= 4.5 else MAX_SIZE


def _best_width(score: Callable[[int], tuple[float, list[float]]], size: int, guess: int) -> tuple[int, list[float]]:
    """Return the width with the least score near a guess, and its levels. It walks downhill, one cell at a time."""
    known: dict[int, tuple[float, list[float]]] = {}

    def at(width: int) -> float:
        if not 1 <= width <= size // 2 or math.gcd(width, size) & (math.gcd(width, size) - 1):
            return math.inf
        if width not in known:
            known[width] = score(width)
        return known[width][0]

    width = guess
    while width > 1 and at(width) == math.inf:  # a width that shares an odd factor with the size
        width -= 1
    moved = True
    while moved:
        moved = False
        for step in (1, -1):
            if at(width + step) < at(width):
                width, moved = width + step, True
                break
    if at(width) == math.inf:  # at the largest epsilons there is nothing to gain over even spacing
        return width, [float(level) for level in range(1 - size, size, 2)]
    return width, known[width][1]


def _guess(epsilon: float, size: int) -> int:
    """Return the start of the search: about the best width for rho = 1, from a fit to searches over all widths."""
    logit = 0.02 + 0.2 * epsilon + 0.0125 * epsilon**2 if epsilon < 5 else 1.345 + (epsilon - 5) / 3
    share = 0.5 if epsilon < 0.75 else 1 / (math.exp(logit) + 1)
    return min(max(1, round(share * size)), size // 2)


def worst_case(epsilon: float, size: int, *, optional: bool = False, rho: float = 1.0) -> tuple[int, list[float]]:
    """Return width and real levels with the smallest worst-case risk."""
    ratio = float(exp_bounds(Fraction(epsilon))[0])  # the same on every machine, unlike exp

    def score(width: int) -> tuple[float, list[float]]:
        problem = problem_of(ratio, size, width, optional, rho)
        levels = _levels(problem, _minimise_largest(_System(problem)))
        return _worst(knots_of(problem, levels)), levels

    return _best_width(score, size, _guess(epsilon, size))


def as_channel(epsilon: Fraction, width: int, levels: Sequence[float], optional: bool) -> Window:
    """Return the channel with these levels, rounded to integers, and the largest threshold that privacy permits."""
    size = len(levels)
    threshold = aligned_threshold(exp_bounds(epsilon)[0], width, size if optional else size - width, ROUNDING)
    return Window(size, width, threshold, rounded(levels), optional)


@lru_cache(maxsize=256)
def minimax(epsilon: Fraction, optional: bool = False, size: int = 0, rho: Fraction = Fraction(1)) -> Window:
    """Return the window channel with the smallest worst-case risk: the default for numeric attributes."""
    cells = size or default_size(float(epsilon))
    width, levels = worst_case(float(epsilon), cells, optional=optional, rho=float(rho))
    return as_channel(epsilon, width, levels, optional)
