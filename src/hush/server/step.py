"""The server's part in a training: it makes the first round, and the next one from a tally of gradients.

For a random rotation Q and the signs s of the m largest coordinates of Qg, E[Q^T s] = S g/|g|, where S is known
(`hush.core.training.directions`). So the mean of the reported signs, rotated back and multiplied by R/S, is the mean of
the clipped gradients, on average over rotations. Every round has its own rotation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hush.core.design.rounds import round_plan
from hush.core.plan import Plan
from hush.core.training.directions import kept, top_sum
from hush.core.training.rotations import rotate_back
from hush.core.training.rounds import Round, check_open
from hush.core.training.training import LARGEST, VECTOR, Training
from hush.errors import TallyError
from hush.server.estimates import points
from hush.server.tally import Tally


def first_round(training: Training, plan: Plan | None = None) -> Round:
    """Return the first round of a training, with the channel that the rules choose or with the given plan."""
    every = tuple(range(training.width))
    start = (0.0,) * training.width if training.start is None else training.start
    plan = round_plan(training, 1, len(every)) if plan is None else plan
    return Round(training, 1, start, every, start, 0, plan)


def step(round: Round, tally: Tally) -> Round:  # noqa: A002
    """Return the next round. It runs on the server."""
    check_open(round)
    return moved(round, mean_gradient(round, tally))


def mean_gradient(current: Round, tally: Tally) -> list[float]:
    """Return the mean of the clipped gradients behind a tally. A coordinate that nobody reported counts as 0."""
    if tally.plan.id != current.plan.id:
        raise TallyError("this tally belongs to another round")
    return decode(current, [0.0 if math.isnan(point) else point for point in points(tally)])


def decode(current: Round, means: Sequence[float]) -> list[float]:
    """Return the mean gradient from the means of a record's numbers: 0 where the round does not ask."""
    training = current.training
    if training.gradient == VECTOR:
        scale = training.radius / top_sum(len(means), kept(current.plan))
        found = [scale * value for value in rotate_back(means, current.rotation, len(current.coordinates))]
    else:
        found = [training.bound * mean for mean in means]
    gradient = [0.0] * training.width
    for j, value in zip(current.coordinates, found, strict=True):
        gradient[j] = value
    return gradient


def moved(current: Round, gradient: Sequence[float]) -> Round:
    """Return the next round, after a step against the mean gradient and the gradient of the penalty."""
    training = current.training
    size = training.step / math.sqrt(current.number) if training.decay else training.step
    box = LARGEST if training.box is None else min(training.box, LARGEST)  # a diverging training still ends
    weights = tuple(
        _clipped(w - size * (g + training.penalty * w), box) for w, g in zip(current.weights, gradient, strict=True)
    )
    average, averaged = current.average, current.averaged
    if current.number > training.rounds - round(training.tail * training.rounds):
        averaged += 1
        # With weights 1, 2, ..., n the last one has a share of n of n(n + 1)/2.
        share = 2 / (averaged + 1) if training.rising else 1 / averaged
        average = tuple(a + (w - a) * share for a, w in zip(average, weights, strict=True))
    chosen = _next_coordinates(current, gradient)
    if len(chosen) == len(current.coordinates):  # reuse the plan: a collector has no time to design one
        plan = replace(current.plan, title=training.round_title(current.number + 1))
    else:
        plan = round_plan(training, current.number + 1, len(chosen))
    return Round(training, current.number + 1, weights, chosen, average, averaged, plan)


def _next_coordinates(current: Round, gradient: Sequence[float]) -> tuple[int, ...]:
    training = current.training
    if training.selection is None or training.is_wide(current.number + 1):
        return tuple(range(training.width))
    if not training.is_wide(current.number):
        return current.coordinates
    large = tuple(j for j, value in enumerate(gradient) if abs(value) > training.selection[2])
    return large or (max(range(training.width), key=lambda j: abs(gradient[j])),)


def _clipped(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)
