"""Writes the tables of docs/joint-figures.md from the channels themselves. `make docs` runs it, a test compares.

All numbers are variances of an estimate times the number of people asked, by the ratio estimator. Who happens to be
asked about an attribute is part of it: with a share of the people asked, the spread of the population counts for more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hush.core.channels import Channel
from hush.core.design.categorical import subset, total_variance
from hush.core.design.joint import cells, cube, person_variance
from hush.core.design.numeric import duchi, hybrid, piecewise_sub

EPSILONS = [Fraction(text) for text in ("1", "2", "4", "8")]
GRID = [Fraction(2 * i + 1, 64) for i in range(32)]


def square(channel: Channel, t: Fraction) -> Fraction:
    """Return the mean square of a reported value: with a mean of 0, variance of the noise and of the people."""
    return channel.variance(t) + t * t


POPULATIONS: dict[str, Callable[[Channel], Fraction]] = {
    "all alike": lambda channel: channel.worst_variance,
    "evenly spread": lambda channel: sum((square(channel, t) for t in GRID), Fraction(0)) / len(GRID),
    "at the ends": lambda channel: square(channel, Fraction(1)),
}
"""What one report about an attribute adds to the variance of its mean, for people with a mean of 0."""


def best_single(epsilon: Fraction, d: int, population: str) -> tuple[Fraction, str]:
    """Return the least variance of k of d attributes with a channel each, and how it is reached."""
    found = []
    for make in (duchi, hybrid, piecewise_sub):
        for k in range(1, min(d, 8) + 1):
            value = Fraction(d, k) * POPULATIONS[population](make(epsilon / k))
            found.append((value, f"{make.__name__.replace('_', '-')}, k = {k}"))
    return min(found)


def numbers() -> str:
    """The sign-cube against the best channel for each attribute."""
    lines = ["| d | eps | cube: k, agree | variance | " + " | ".join(POPULATIONS) + " |", "|---" * 7 + "|"]
    for d in (4, 10, 16):
        for epsilon in EPSILONS:
            joint = cube(epsilon, d)
            ours = person_variance(joint)
            row = []
            for population in POPULATIONS:
                value, how = best_single(epsilon, d, population)
                row.append(f"{float(value):.3g} ({how}): {float(value / ours):.2f}")
            head = f"| {d} | {float(epsilon):g} | {joint.sample}, {joint.agree} | {float(ours):.3g} | "
            lines.append(head + " | ".join(row) + " |")
    return "\n".join(lines)


def joint_total(epsilon: Fraction, sizes: tuple[int, ...], people: bool) -> Fraction:
    """Return the variance of all shares of all attributes of a block, if it is reported as one cell."""
    channel = cells(epsilon, sizes)
    total = Fraction(0)
    for j, size in enumerate(sizes):
        total += channel.variance_of(j, 1) + (size - 1) * channel.variance_of(j, 0) + people * (1 - Fraction(1, size))
    return total


def single_total(epsilon: Fraction, sizes: tuple[int, ...], k: int, people: bool) -> Fraction:
    """Return the same if k of the attributes are reported, each by a subset channel."""
    total = Fraction(0)
    for size in sizes:
        total += total_variance(subset(epsilon / k, size)) + people * (1 - Fraction(1, size))
    return Fraction(len(sizes), k) * total


def categories() -> str:
    """Joint cells against the subset channel for k of the attributes."""
    lines = ["| block | eps | joint | one, evenly spread | best k, evenly spread | one, all alike |", "|---" * 6 + "|"]
    for name, sizes in (
        ("2 binary", (2, 2)),
        ("3 binary", (2, 2, 2)),
        ("4 binary", (2, 2, 2, 2)),
        ("2 of size 4", (4, 4)),
        ("3 of size 4", (4, 4, 4)),
    ):
        for epsilon in (Fraction(1), Fraction(2), Fraction(3), Fraction(4), Fraction(8)):
            joint = joint_total(epsilon, sizes, True)
            one = single_total(epsilon, sizes, 1, True)
            best, k = min((single_total(epsilon, sizes, k, True), k) for k in range(1, len(sizes) + 1))
            alike = single_total(epsilon, sizes, 1, False) / joint_total(epsilon, sizes, False)
            lines.append(
                f"| {name} | {float(epsilon):g} | {float(joint):.3g} | {float(one):.3g}: {float(one / joint):.2f} "
                f"| {float(best):.3g} (k = {k}): {float(best / joint):.2f} | {float(alike):.2f} |"
            )
    return "\n".join(lines)


TABLES = {"numbers": numbers, "categories": categories}
