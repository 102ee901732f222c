"""Logistic regression: is income above its mean?"""

from __future__ import annotations

from typing import Any

from experiments.reproduce import training
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.training import by_setting, hush_is_best, laplace_is_worst, outperforms
from hush.core.design import NUMERIC

TITLE = "Logistic regression"
PAPER = "Figure 9"
TASK = "logistic"
FEATURES = {"BR": 90, "MX": 94}
WORSE = 1.1  # how "significantly higher" is read


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method."""
    return training.rows(bench, TASK)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""
    features = {row["census"]: row["features"] for row in rows}
    coded = Claim(
        "after coding, BR has 90 dimensions and MX 94",
        ", ".join(f"{name} has {count}" for name, count in features.items()),
        features == FEATURES,
    )
    return [coded, *of_classifier(rows)]


def of_classifier(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about both classifiers."""
    found = [laplace_is_worst(rows, "Laplace has significantly (10 %) higher error than the other three", WORSE)]
    found += [
        outperforms(rows, method, "Duchi", f"{method} consistently outperforms Duchi et al.") for method in ("PM", "HM")
    ]
    return [*found, falls_slowly(rows), no_trend(rows), hush_is_best(rows)]


def falls_slowly(rows: list[Row]) -> Claim:
    """Errors of models fall more slowly with epsilon than those of means, which are as the variance of a report."""
    from fractions import Fraction

    at = by_setting(rows, "HM")
    first, last = min(key[1] for key in at), max(key[1] for key in at)
    drops = [at[name, first]["error"] / at[name, last]["error"] for name in {key[0] for key in at}]
    noise = [NUMERIC["hybrid"](Fraction(str(epsilon)), False).worst_variance for epsilon in (first, last)]
    variance = float(noise[0] / noise[1])
    return Claim(
        "misclassification falls more slowly with epsilon than the error of means",
        f"from epsilon {first:g} to {last:g} HM's falls {min(drops):.2f} to {max(drops):.2f} times, "
        f"the variance of its reports of one number {variance:.0f} times",
        max(drops) < variance,
    )


def no_trend(rows: list[Row]) -> Claim:
    """The gap to Duchi et al. neither grows nor falls with epsilon throughout."""
    rival = by_setting(rows, "Duchi")
    directions = []
    for method in ("PM", "HM"):
        at = by_setting(rows, method)
        for name in sorted({key[0] for key in at}):
            gaps = [rival[key]["error"] - row["error"] for key, row in sorted(at.items()) if key[0] == name]
            up, down = gaps == sorted(gaps), gaps == sorted(gaps, reverse=True)
            directions.append("grows" if up else "falls" if down else "neither")
    return Claim(
        "there is no clear trend in the gap between PM or HM and Duchi et al.",
        f"with epsilon it grows in {directions.count('grows')}, falls in {directions.count('falls')}, does neither in "
        f"{directions.count('neither')} of {len(directions)} lines",
        len(set(directions)) > 1 or directions[0] == "neither",
    )


def draw(rows: list[Row]) -> Any:
    """Draw misclassification against epsilon."""
    return training.draw(rows, TITLE, False)
