"""Linear regression of income."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import training
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.training import by_setting, constant, hush_is_best, laplace_is_worst, outperforms

TITLE = "Linear regression"
PAPER = "Figure 11"
TASK = "linear"
FAR = 2.0  # how "far higher" is read


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method."""
    return training.rows(bench, TASK)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    found = [laplace_is_worst(rows, "the error of Laplace is far (2 times) higher than that of the other three", FAR)]
    found += [
        outperforms(rows, method, "Duchi", f"{method} consistently outperforms Duchi et al.") for method in ("PM", "HM")
    ]
    return [*found, hush_is_best(rows), better_than_a_constant(rows)]


def better_than_a_constant(rows: list[Row]) -> Claim:
    """What the paper does not show: whether a model is better than the mean income for everybody."""
    methods = ("Duchi", "PM", "HM", "hush")
    ratios = {m: [row["error"] / constant(rows, k[0]) for k, row in by_setting(rows, m).items()] for m in methods}
    learnt = {method: sum(value < 1 for value in values) for method, values in ratios.items()}
    count = len(ratios["hush"])
    return Claim(
        "(hush) hush predicts better than the mean income does, in all settings; the paper's methods do not",
        f"of {count} settings: " + ", ".join(f"{method} {learnt[method]}" for method in methods),
        learnt["hush"] == count and max(learnt[method] for method in methods[:3]) < count,
        _lost(rows),
    )


def _lost(rows: list[Row]) -> str:
    """Return where hush does no better than the mean income."""
    lost = [key for key, row in by_setting(rows, "hush").items() if row["error"] >= constant(rows, key[0])]
    return "hush does not at " + ", ".join(f"{name}, epsilon {epsilon:g}" for name, epsilon in lost) if lost else ""


def draw(rows: list[Row]) -> Any:
    """Draw mean squared error against epsilon."""
    return training.draw(rows, TITLE, True)
