"""The ways to ask for some of d values, compared: the predicted variance of a share, times the number of people.

    python -m experiments.choices

All of it is arithmetic. A value is assumed to be held by s/(2d) of the people, who hold s values at most. Where there
is no such channel, or for cells more than 5 values, the table has a dash.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction

from hush.core.design.joint import cells as joint_cells
from hush.core.design.sets import made, member_error, picks_error, usual_share
from hush.core.exact import exp_bounds
from hush.core.schema import Choices

CASES = [(2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (5, 2), (5, 5)]
CASES += [(10, 1), (10, 3), (20, 3), (50, 3), (50, 10), (200, 5), (30, 15)]
MOST_CELLS = 5  # values whose sets are cells of one table: 32 of them
EPSILONS = ("0.5", "1", "2", "4", "8")


def members(epsilon: Fraction, choices: Choices) -> float:
    """A question about each value, with the best number of them for each person."""
    d = len(choices.values)
    return min(d / k * member_error(epsilon / k, choices) for k in range(1, min(d, 16) + 1))


def first_jump(epsilon: Fraction, choices: Choices) -> float:
    """PrivSet: sets that have a held value are likelier, however many they have."""
    d, s, f = len(choices.values), choices.most, usual_share(choices)
    found = [made(exp_bounds(epsilon)[0], d, s, weight, 1) for weight in range(1, d - s + 1)]
    return min((float(channel.variance(f) + f * (1 - f)) for channel in found if channel is not None), default=math.inf)


def cells(epsilon: Fraction, choices: Choices) -> float:
    """All 2^d sets as cells of one table, of which a report names some: the exact error of each margin.

    It is hush's own channel for d yes-or-no attributes that are reported together. It knows no `most`.
    """
    d, f = len(choices.values), usual_share(choices)
    if d > MOST_CELLS:
        return math.inf
    return float(joint_cells(epsilon, (2,) * d).variance_of(0, f) + f * (1 - f))


def unary(epsilon: Fraction, choices: Choices) -> float:
    """A bit for each value: p = 1/2 for those that are held, or symmetric. Two people differ in 2s bits at most."""
    d, s, f = len(choices.values), choices.most, float(usual_share(choices))
    even = math.exp(float(epsilon) / min(2 * s, d))
    other = 1 / (math.exp(float(epsilon) / s) + 1)
    half = (f / 4 + (1 - f) * other * (1 - other)) / (0.5 - other) ** 2
    return min(even / (even - 1) ** 2, half) + f * (1 - f)


def rows() -> Iterator[str]:
    """The table, as Markdown."""
    yield "| values | at most | epsilon | each value | picks | PrivSet | cells | unary |"
    yield "|---|---|---|---|---|---|---|---|"
    for d, s in CASES:
        choices = Choices("c", [str(i) for i in range(d)], s)
        for text in EPSILONS:
            epsilon = Fraction(text)
            ways = [way(epsilon, choices) for way in (members, _picks, first_jump, cells, unary)]
            errors = ("-" if error == math.inf else f"{error:.3g}" for error in ways)
            yield f"| {d} | {s} | {text} | " + " | ".join(errors) + " |"


def _picks(epsilon: Fraction, choices: Choices) -> float:
    return picks_error(epsilon, choices)


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")
