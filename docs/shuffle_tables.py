"""The tables of docs/shuffle.md: central epsilons of shuffled batches, and the errors that were measured."""

from __future__ import annotations

import csv
from collections.abc import Callable
from fractions import Fraction
from math import hypot
from pathlib import Path

from hush.core.design import design
from hush.core.schema import Categorical, Numeric, Schema
from hush.planning.shuffle import shuffle
from hush.show.tables import up

PEOPLE = (10_000, 100_000, 1_000_000)
KINDS = {
    "a number": Schema([Numeric("a", low=-1, high=1)]),
    "yes or no": Schema([Categorical("a", ["yes", "no"])]),
    "one of 16": Schema([Categorical("a", [str(i) for i in range(16)])]),
}


def central() -> str:
    """Central epsilons, rounded up, for a delta of 1/(100 n)."""
    head = ["question, local epsilon", *(f"{n:,} people" for n in PEOPLE)]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * len(PEOPLE) + "|"]
    for name, schema in KINDS.items():
        for epsilon in (2.0, 4.0):
            plan = design(schema, epsilon)
            found = [shuffle(plan, crowd=n, delta=float(Fraction(1, 100 * n))).epsilon for n in PEOPLE]
            lines.append(f"| {name}, {epsilon:g} | " + " | ".join(up(x, 3) for x in found) + " |")
    return "\n".join(lines)


TARGETS = {
    "mean": "the mean of a number from -1 to 1",
    "share of 1/2": "the share of a yes, of 1/2",
    "share of 1/16": "a share of 1/16, among 16",
    "share of nobody, among 16": "a share of nobody, among 16",
    "share of 1/2, among 16": "a share of 1/2, among 16",
}


def kept() -> list[dict[str, str]]:
    """Return the errors that `python -m experiments.reproduce crowds` has measured."""
    path = Path(__file__).parent / "reproduction" / "synthetic" / "crowds.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gains() -> str:
    """Noise at local epsilon 1, and under a central promise, with the quotient and its standard error."""
    rows = {(row["target"], int(row["people"]), row["way"]): row for row in kept()}
    lines = [
        "| estimate | people | noise at local epsilon 1 | shuffled | times smaller | with local epsilon 6 at most "
        "| trusted server | sampling alone |",
        "|---" + "|---:" * 7 + "|",
    ]
    for target, name in TARGETS.items():
        for n in PEOPLE:
            alone, free, usual, server, sampling = (
                rows[target, n, way]
                for way in (
                    "local",
                    "shuffled",
                    "shuffled, local at most 6",
                    "trusted server, Gaussian",
                    "sampling alone",
                )
            )
            times = float(alone["error"]) / float(free["error"])
            noise = times * hypot(*(float(row["stderr"]) / float(row["error"]) for row in (alone, free)))
            cells = [
                name,
                f"{n:,}",
                f"{float(alone['error']):.2g}",
                f"{float(free['error']):.2g} ({float(free['epsilon']):.2f})",
                f"{times:.1f} ± {noise:.1f}",
                f"{float(usual['error']):.2g}",
                f"{float(server['error']):.2g}",
                f"{float(sampling['error']):.2g}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


SHUFFLE: dict[str, Callable[[], str]] = {"central": central, "gains": gains}
