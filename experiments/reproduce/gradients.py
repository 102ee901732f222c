"""Gradients in one report of their direction, against the paper's coordinates: what each part of hush's training gains.

Two channels (the paper's HM on k of d coordinates; hush's vector channel on gradients clipped in L2) by two ways to
train (the paper's steps of 1/sqrt(t); hush's pilot, constant steps and averaging) are four combinations. PrivUnit, the
best unbiased report of a direction, is a yardstick: it is continuous, so a simulation only.
"""

from __future__ import annotations

from typing import Any

from experiments.learning import NONE
from experiments.reproduce import charts, training
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.training import compared, outperforms

TITLE = "Gradients: directions against coordinates"
PAPER = "beyond"
EPSILON = 1.0
TASKS = ("logistic", "linear")
METHODS = ("HM", "HM, all of hush's training", "hush, the paper's training", "hush", "PrivUnit")
NEAR = 1.1  # how near to PrivUnit hush is to be


def compute(bench: Bench) -> list[Row]:
    """Return the errors of all combinations, for a classifier and for linear regression."""
    return [row for task in TASKS for row in training.rows(bench, task, METHODS, (EPSILON,))]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of its gradients."""
    found = []
    for task in dict.fromkeys(row["task"] for row in rows):
        some = [row for row in rows if row["task"] == task]
        for ours, theirs, how in (
            ("hush", "HM, all of hush's training", "with hush's training"),
            ("hush, the paper's training", "HM", "with the paper's training"),
            ("hush", "HM", "with the training of each"),
        ):
            found.append(outperforms(some, ours, theirs, f"(hush) {task}: directions beat coordinates {how}"))
        most = max(compared(some, "hush", "PrivUnit"), key=lambda ratio: ratio.value)
        found.append(
            Claim(
                f"(hush) {task}: exact integers cost little: the error is within 10 % of PrivUnit's",
                f"at worst it is {most}",
                most.below(NEAR),
            )
        )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw errors as bars, a panel for each task."""
    shown = (NONE, *METHODS)
    panels = {
        task: [row for row in rows if row["task"] == task and row["method"] in shown]
        for task in dict.fromkeys(row["task"] for row in rows)
    }
    return charts.bars(panels, TITLE, "census", "error", "method", order=shown)
