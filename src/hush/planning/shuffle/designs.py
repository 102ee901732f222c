"""Plans for a central promise: the largest local epsilon that keeps both promises."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hush.core import codec
from hush.core.design import design
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan
from hush.core.schema import Schema
from hush.errors import DesignError
from hush.planning.shuffle.crowds import MAX_PEOPLE, holds, read_delta
from hush.planning.shuffle.searches import FINE

PLACES = 1000
"""Local epsilons are multiples of one thousandth."""


def design_shuffled(
    schema: Schema,
    central: float,
    *,
    delta: float,
    people: int | None = None,
    own: int | None = None,
    local: float = 6.0,
    **options: Any,
) -> Plan:
    """Design a plan for reports that a relay shuffles, as private as asked *and* as precise as that permits.

    The plan has the largest local epsilon, to one thousandth, that is at most `local` and whose batches are proved to
    keep (central, delta); `people` and `own` are as in `hush.shuffle`, the options those of `hush.design`. `local` is
    the promise that remains if relay and collector work together.
    """
    target = read_delta(delta)
    if (people is None) == (own is None):
        raise DesignError("give either people, the honest people in a batch, or own, the reports that the relay adds")
    codec.integer(people if own is None else own, 1, MAX_PEOPLE, DesignError, "people" if own is None else "own")
    for value, name in ((central, "central"), (local, "local")):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not MIN_EPSILON <= value <= MAX_EPSILON:
            raise DesignError(f"{name} must be a number from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
    most = math.floor(Fraction(repr(float(local))) * PLACES)
    sure = math.floor(Fraction(repr(float(min(central, local)))) * PLACES)  # as private locally as asked centrally
    best = design(schema, sure / PLACES, **options)
    low, high = sure, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        plan = design(schema, middle / PLACES, **options)
        if holds(plan, people, own, float(central), target, FINE):
            low, best = middle, plan
        else:
            high = middle
    return best
