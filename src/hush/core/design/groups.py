"""The rows channel of a category and a number: how many rows, cells and which levels.

A rows channel has the value X_j = t in a person's own group and 0 in others, and the membership F_j. The search
minimises, for categories and numbers that are uniform,

    the sum over all groups of E[X_j^2]  +  1/4 of the sum of E[F_j^2]:

the error of the mean of a group with mean m is that of X_j - m*F_j, and m^2 is about 1/4 in between the middle and the
ends of the domain. With alpha, beta and gamma = Q/N, the probabilities of a cell in the window, outside it, and in
another row, the first part for a number in state s is

    (beta + (G-1)*gamma) * (sum of all a^2)  +  (alpha - beta) * (sum of a^2 over the window):

the mean square of a window channel with other constants. So the levels are found as `hush.core.design.average` finds
those of windows, for every number of rows and width that may be the best.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from hush.core.channels import Rows
from hush.core.design.average import Density, fitted
from hush.core.design.minimax import Problem, rounded
from hush.core.exact import exp_bounds, largest_threshold

MEMBERSHIP = 0.25
"""How much the error of membership counts."""

_UNIFORM = Density((Fraction(1),))
_MANY = 32  # groups: of more, not every number of rows is tried
_SHARES = (0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.45, 0.5)  # widths that are tried first, as parts of the size


class _Shape:
    """A rows channel without its levels, in floats."""

    def __init__(self, ratio: float, rows: int, weight: int, size: int, width: int, optional: bool) -> None:
        cells = size + width * optional
        without = rows * cells - weight * width
        hit = ratio * weight * width / (ratio * weight * width + without)
        inside, outside = hit / width, (1 - hit) * weight / without
        p = width * inside + (cells - width) * outside
        q = (weight - p) / (rows - 1)
        self.sizes = rows, weight, size, width
        self.problem = Problem(size, width, inside - outside, outside + (rows - 1) * q / cells, 1.0)
        own, other = p - 2 * p * q + q * q, q - q * q
        self.membership = (own + (rows - 1) * other) / (p - q) ** 2
        self.error, self.levels = math.inf, [float(level) for level in range(1 - size, size, 2)]

    def fit(self, steps: int) -> float:
        """Improve the levels, and return the error."""
        square, self.levels = fitted(self.problem, self.levels, _UNIFORM, steps)
        self.error = square + MEMBERSHIP * self.membership
        return self.error


def default_size(epsilon: float) -> int:
    """Return the number of cells of a row."""
    return 24 if epsilon <= 3 else 32 if epsilon <= 5 else 64


@lru_cache(maxsize=1024)
def rows(epsilon: Fraction, groups: int, optional: bool = False, size: int = 0) -> Rows:
    """Return the rows channel of least error for this number of groups."""
    cells = size or default_size(float(epsilon))
    bound = exp_bounds(epsilon)[0]
    best = _best_weight(float(bound), groups, cells, optional)
    _, weight, _, width = best.sizes
    best.fit(60)
    total = cells + width * optional
    threshold = largest_threshold(bound, weight * width, groups * total - weight * width)
    return Rows(groups, weight, cells, width, threshold, rounded(best.levels), optional)


def _best_weight(ratio: float, groups: int, cells: int, optional: bool) -> _Shape:
    """Return the best shape of all numbers of rows in a report: the error has one minimum as a function of it."""
    known: dict[int, _Shape] = {}

    def at(weight: int) -> float:
        if not 1 <= weight < groups:  # beyond half of three rows, too: a report has room for 1/(e^epsilon + 1) of all
            return math.inf
        if weight not in known:
            known[weight] = _best_width(ratio, groups, weight, cells, optional)
        return known[weight].error

    weight, step = 1, 1
    if groups > _MANY:  # from about the best one, in ever smaller steps
        weight = max(1, round(groups / (ratio + 1)))
        step = max(1, weight // 4)
    while True:
        near = min((weight + step, weight - step, weight + 2 * step), key=at)
        if at(near) < at(weight):
            weight = near
        elif step > 1:
            step //= 2
        else:
            return known[weight]


def _best_width(ratio: float, groups: int, weight: int, size: int, optional: bool) -> _Shape:
    known: dict[int, _Shape] = {}

    def at(width: int) -> float:
        if not 1 <= width <= size * 3 // 4:
            return math.inf
        if width not in known:
            known[width] = _Shape(ratio, groups, weight, size, width, optional)
            known[width].fit(12)
        return known[width].error

    width = min((max(1, round(share * size)) for share in _SHARES), key=at)
    while True:
        better = min((width - 1, width + 1), key=at)
        if at(better) >= at(width):
            return known[width]
        width = better


def error(channel: Rows) -> float:
    """Return the average variance of a group's X_j and a quarter of that of F_j: for uniform groups and numbers."""
    squares = 0.0
    for (left, low), (right, high) in pairwise([(float(t), float(own)) for t, own in channel.knots]):
        squares += (right - left) / 2 * (low + high) / 2
    squares += (channel.rows - 1) * float(channel.elsewhere)
    p, q = channel.p, channel.q
    member = float((p - 2 * p * q + q * q + (channel.rows - 1) * (q - q * q)) / (p - q) ** 2)
    # X_j is 0 on average, and F_j is 1/G.
    return (squares + MEMBERSHIP * member) / channel.rows - MEMBERSHIP / channel.rows**2
