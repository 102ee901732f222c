"""What the error of a survey is on average, from the exact variance of every channel: no noise, so no doubt.

A person with the value t, asked with probability p, reports x with mean t and a variance v(t) that the channel knows.
In units of 1/n^2 they add (v(t) + (t - c)^2)/p - (t - c)^2 to the variance of an estimate: c is 0 for the paper's
estimator, which divides by the expected number of answers, and the mean for the ratio estimator, which divides by their
true number (to first order in one over that number). Runs of surveys are held against it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import hush
from experiments.reproduce.population import Array, Population

KNOTS = 129  # where variances are computed; between them they are interpolated


def expected(population: Population, plan: hush.Plan, estimator: str) -> dict[str, float]:
    """Return the mean squared errors to be expected: of means on [-1, 1], and of frequencies."""
    squares: dict[str, list[float]] = {}
    for attribute in population.schema.attributes:
        share = float(plan.inclusions[plan.question(attribute.name)])
        column = population.columns[attribute.name]
        if isinstance(attribute, hush.Numeric):
            t = 2 * (column - attribute.low) / (attribute.high - attribute.low) - 1
            off = t - t.mean() if estimator == "ratio" else t
            spread = float(np.mean(off**2))
            added = float(np.mean(_variances(plan.channel(attribute.name), t)))
            squares.setdefault("numeric", []).append((added + spread) / share - spread)
            continue
        for value in attribute.values:
            held = float(np.mean(column == value))
            spread = held * (1 - held) if estimator == "ratio" else held
            added = float(plan.channel(attribute.name).variance(held))
            squares.setdefault("categorical", []).append((added + spread) / share - spread)
    return {target: float(np.mean(values)) / len(population) for target, values in squares.items()}


def _variances(channel: Any, t: Array) -> Array:
    """Return the variances of what people with these values report."""
    if channel.kind == "signs":  # every number is reported as +B or -B
        return np.asarray(float(channel.worst_variance) - t**2)
    knots = np.linspace(-1, 1, KNOTS)
    return np.asarray(np.interp(t, knots, [float(channel.variance(Fraction(knot))) for knot in knots]))
