"""The tables of docs/what-it-promises.md and docs/planning.md: epsilon as odds, and margins of crowds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hush.core.design import design
from hush.core.design.categorical import subset
from hush.core.exact import WORD, exp_bounds
from hush.core.schema import Categorical, Numeric, Schema
from hush.planning.predictions import predict
from hush.show.tables import sure

EPSILONS = [Fraction(text) for text in ("0.1", "0.5", "1", "2", "4", "8")]
BELIEFS = [Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)]
CROWD_EPSILONS = (0.5, 1.0, 2.0, 4.0)
CROWDS = (300, 3_000, 30_000, 300_000)
YES = Schema([Categorical("answer", ["yes", "no"])])
NUMBER = Schema([Numeric("number", low=0, high=100)])


def at_most(belief: Fraction, epsilon: Fraction) -> Fraction:
    """Return how sure one can be after a report, at most, who was this sure before: rounded up, by a proven bound."""
    favour = exp_bounds(epsilon)[1]
    return favour * belief / (favour * belief + 1 - belief)


def turned(epsilon: Fraction) -> Fraction:
    """Return how often a yes is reported as a no, by the channel that a plan has for two categories."""
    channel = subset(epsilon, 2)
    return 1 - Fraction(channel.threshold, WORD)


def promises() -> str:
    """What one report can do to a belief."""
    before = (f"{float(100 * belief):g} % sure before: at most" for belief in BELIEFS)
    head = ["epsilon", "odds change at most by", *before, "answers turned"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for epsilon in EPSILONS:
        factor = math.ceil(exp_bounds(epsilon)[1] * 100) / 100
        cells = [f"{float(epsilon):g}", f"{factor:,.2f}"]
        cells += [sure(at_most(belief, epsilon)) for belief in BELIEFS]
        cells.append(f"{float(100 * turned(epsilon)):.3g} %")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def margin(schema: Schema, epsilon: float, people: int) -> float:
    """Return the margin of the one question of a schema, in percentage points or hundredths of the range."""
    return predict(design(schema, epsilon), people)[0].margin * (100 if schema is YES else 1)


def margins() -> str:
    """What so many people tell, for one question alone."""
    head = ["question, epsilon", *(f"{people:,} people" for people in CROWDS)]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * len(CROWDS) + "|"]
    for name, schema, unit in (("share of a yes", YES, "points"), ("mean of a number", NUMBER, "% of the range")):
        for epsilon in CROWD_EPSILONS:
            cells = (f"±{margin(schema, epsilon, people):.2g} {unit}" for people in CROWDS)
            lines.append(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"promises": promises}
PLANNING: dict[str, Callable[[], str]] = {"margins": margins}
