"""The table of docs/shuffle.md: central epsilons of shuffled batches."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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


SHUFFLE: dict[str, Callable[[], str]] = {"central": central}
