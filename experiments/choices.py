"""The ways to ask for some of d values, compared: the predicted variance of a share, times the number of people.

    python -m experiments.choices

All of it is arithmetic. A value is assumed to be held by s/(2d) of the people, who hold s values at most.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction

from hush.core.design.sets import made, member_error, picks_error, usual_share
from hush.core.exact import exp_bounds
from hush.core.schema import Choices

CASES = [(10, 1), (10, 3), (20, 3), (50, 3), (50, 10), (200, 5), (30, 15)]
EPSILONS = ("0.5", "1", "2", "4", "8")


def members(epsilon: Fraction, choices: Choices) -> float:
    """A question about each value, with the best number of them for each person."""
    d = len(choices.values)
    return min(d / k * member_error(epsilon / k, choices) for k in range(1, min(d, 16) + 1))


def first_jump(epsilon: Fraction, choices: Choices) -> float:
    """PrivSet: sets that have a held value are likelier, however many they have."""
    d, s, f = len(choices.values), choices.most, usual_share(choices)
    found = [made(exp_bounds(epsilon)[0], d, s, weight, 1) for weight in range(1, d - s + 1)]
    return min(float(channel.variance(f) + f * (1 - f)) for channel in found if channel is not None)


def unary(epsilon: Fraction, choices: Choices) -> float:
    """A bit for each value: p = 1/2 for those that are held, or symmetric. Two people differ in 2s bits at most."""
    d, s, f = len(choices.values), choices.most, float(usual_share(choices))
    even = math.exp(float(epsilon) / min(2 * s, d))
    other = 1 / (math.exp(float(epsilon) / s) + 1)
    half = (f / 4 + (1 - f) * other * (1 - other)) / (0.5 - other) ** 2
    return min(even / (even - 1) ** 2, half) + f * (1 - f)


def rows() -> Iterator[str]:
    """The table, as Markdown."""
    yield "| values | at most | epsilon | each value | picks | PrivSet | unary |"
    yield "|---|---|---|---|---|---|---|"
    for d, s in CASES:
        choices = Choices("c", [str(i) for i in range(d)], s)
        for text in EPSILONS:
            epsilon = Fraction(text)
            ways = [way(epsilon, choices) for way in (members, _picks, first_jump, unary)]
            yield f"| {d} | {s} | {text} | " + " | ".join(f"{error:.3g}" for error in ways) + " |"


def _picks(epsilon: Fraction, choices: Choices) -> float:
    return picks_error(epsilon, choices)


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")
