"""Support vector machines: is income above its mean?"""

from __future__ import annotations

from typing import Any

from experiments.reproduce import logistic, training
from experiments.reproduce.frame import Bench, Claim, Row, worst
from experiments.reproduce.training import by_setting

TITLE = "Support vector machines"
PAPER = "Figure 10"
TASK = "svm"
FROM = 2.0  # the epsilon from which PM and HM are said to approach the model without privacy, on BR
CENSUS = "BR"
NEAR = 0.02  # how "approaches" is read: so much misclassification more


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method."""
    return training.rows(bench, TASK)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    excess = {
        f"{method}, epsilon {epsilon:g}": row["excess"]
        for method in ("PM", "HM")
        for (name, epsilon), row in by_setting(rows, method).items()
        if name == CENSUS and epsilon >= FROM
    }
    found = logistic.of_classifier(rows)
    if excess:
        setting, most = worst(excess)
        people = next(iter(by_setting(rows, "HM").values()))["people"]
        found.append(
            Claim(
                "on BR with epsilon >= 2 PM and HM approach the model without privacy (to 2 points)",
                f"at worst {most:.3f} more people are misclassified ({setting})",
                most < NEAR,
                "" if most < NEAR else f"{people:,} people train here, 3.6 million in the paper",
            )
        )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw misclassification against epsilon."""
    return training.draw(rows, TITLE, False)
