"""The plans of a training: one for the gradients of a round, one for the losses of held-out people."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from hush.core.design.directions import direction
from hush.core.design.numeric import BLOCK
from hush.core.design.plans import design
from hush.core.plan import Plan, Question
from hush.core.training.checks import Check, check_schema, check_title
from hush.core.training.rotations import padded
from hush.core.training.rounds import Round
from hush.core.training.training import VECTOR, Training, cost_of, gradient_schema

EARLIER = ("laplace", "scdf", "staircase")  # Wang et al. give every coordinate its part of epsilon


def round_plan(training: Training, number: int, coordinates: int) -> Plan:
    """Return the plan of a round. Its records are gradients with this number of coordinates."""
    if training.gradient == VECTOR:
        plan = _vector_plan(training.epsilon, padded(coordinates))
    else:
        plan = _coordinate_plan(training.epsilon, coordinates, training.gradient, training.k)
    return replace(plan, title=training.round_title(number))


def loss_plan(training: Training, number: int) -> Plan:
    """Return the plan for held-out people, who report the loss of the weights of a round."""
    return replace(_loss_plan(training.epsilon, training.cap), title=check_title(training, number))


def check_of(round: Round) -> Check:  # noqa: A002
    """Return what held-out people are asked while a round goes on."""
    return Check(round.training, round.number, round.result, loss_plan(round.training, round.number))


@lru_cache(maxsize=256)
def _vector_plan(epsilon: float, size: int) -> Plan:
    """Return the plan for a rotated gradient: the channel with the least noise over all its coordinates."""
    cost = cost_of(epsilon)
    schema = gradient_schema(size)
    return Plan(schema, cost, 1, (Question(schema.names, direction(cost, size)),))


@lru_cache(maxsize=256)
def _loss_plan(epsilon: float, cap: float) -> Plan:
    """Return the plan for one loss."""
    return design(check_schema(cap), epsilon)


@lru_cache(maxsize=256)
def _coordinate_plan(epsilon: float, size: int, mechanism: str, k: int | str) -> Plan:
    """Return a plan of Wang et al.: every coordinate is a number of a record."""
    schema = gradient_schema(size)
    if mechanism in BLOCK:  # all coordinates are one question
        return design(schema, epsilon, numeric=mechanism)
    if mechanism in EARLIER and k == "best":
        return design(schema, epsilon, numeric=mechanism, k="all")
    wanted: Any = min(k, size) if isinstance(k, int) else k
    return design(schema, epsilon, numeric=mechanism, k=wanted)
