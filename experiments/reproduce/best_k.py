"""How many of d questions a person answers: the best k against the paper's floor(epsilon/2.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hush
from experiments import theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "How many questions: the best k against the paper's"
PAPER = "beyond"
QUESTIONS = 16
EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0)
MOST = 8  # the largest k that is tried
MUCH = 0.02  # a loss that counts
PM, HM, HUSH = "PM, the paper's estimator", "HM, the paper's estimator", "hush, the ratio estimator"


def predicted(epsilon: float, k: int) -> float:
    """Return the variance of a mean times the people, for evenly spread people, as hush predicts it."""
    schema = hush.Schema([hush.Numeric(f"x{i}", -1, 1) for i in range(QUESTIONS)])
    guesses = {name: hush.Guess(0.0, 3**-0.5) for name in schema.names}
    return hush.predict(hush.design(schema, epsilon, k=k), 1, guesses=guesses)[0].stderr ** 2


WAYS: dict[str, Callable[[float, int], float]] = {
    PM: lambda epsilon, k: theory.by_paper("piecewise", epsilon, QUESTIONS, k),
    HM: lambda epsilon, k: theory.by_paper("hybrid", epsilon, QUESTIONS, k),
    HUSH: predicted,
}
"""The error of a mean for a k: the worst case, as the paper has it, or the expected error, as hush plans."""


def compute(bench: Bench) -> list[Row]:  # noqa: ARG001 - nothing here takes long
    """Return for every way and epsilon the best k, the paper's, and what the paper's loses."""
    rows = []
    for way, error in WAYS.items():
        for epsilon in EPSILONS:
            errors = {k: error(epsilon, k) for k in range(1, MOST + 1)}
            best, paper = min(errors, key=lambda k: errors[k]), theory.paper_k(epsilon, QUESTIONS)
            rows.append(
                {
                    "way": way,
                    "epsilon": epsilon,
                    "questions": QUESTIONS,
                    "best": best,
                    "paper": paper,
                    "loss": errors[paper] / errors[best] - 1,
                }
            )
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of k, the paper's and its own."""
    found = []
    for way in (PM, HM):
        losses = {f"epsilon {row['epsilon']:g}": row["loss"] for row in rows if row["way"] == way}
        other = [row for row in rows if row["way"] == way and row["best"] != row["paper"]]
        setting, most = worst(losses)
        found.append(
            Claim(
                f"(hush) {way}: floor(epsilon/2.5) is not always the k of least worst case, as the paper has it",
                f"it loses {most:.1%} at most ({setting}); another is better at {len(other)} of {len(losses)} epsilons",
                most > MUCH,
            )
        )
    losses = {f"epsilon {row['epsilon']:g}": row["loss"] for row in rows if row["way"] == HUSH}
    setting, most = worst(losses)
    larger = [row["epsilon"] for row in rows if row["way"] == HUSH and row["best"] > row["paper"]]
    found.append(
        Claim(
            "(hush) with its channels and estimator the best k is never larger than the paper's, which loses by it",
            f"the paper's k loses {most:.1%} at most ({setting}); the best k is larger at {len(larger)} epsilons",
            most > MUCH and not larger,
        )
    )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw k against epsilon, a panel for each way."""
    panels = {
        way: [
            {"epsilon": row["epsilon"], "k": row[name], "which": name}
            for row in rows
            if row["way"] == way
            for name in ("best", "paper")
        ]
        for way in dict.fromkeys(row["way"] for row in rows)
    }
    return charts.lines(panels, TITLE, "epsilon", "k", "which", log=(False, False), columns=3)
