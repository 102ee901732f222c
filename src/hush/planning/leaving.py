"""Leaving out relations of which the expected people would learn nothing.

`hush.core.design.relations` leaves out most of them by a formula. The intervals of few people are wider than formulas
say: so what remains is foreseen as users see it, and the hardest relation that would still tell nothing goes, one after
the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hush.core.design.plans import Designed, designed
from hush.core.design.relations import Key, LeftOut
from hush.core.design.units import SINGLE
from hush.core.plan import Plan
from hush.core.schema import Schema
from hush.planning.asked import Asked, kind_of
from hush.planning.expected import Crowd
from hush.planning.relations import Foreseen, foreseen

ALL = 0.98
"""An interval that takes up so much of all that is possible says nothing."""

NAMED = 5
"""So many of the relations that are left out are named."""

_LEVEL = 0.95
_MOST = 1 << 50  # people


def worthwhile(schema: Schema, epsilon: float, wishes: Mapping[str, Any]) -> Designed:
    """Return a plan without the relations and ranges that tell nothing."""
    people, without = wishes["people"], frozenset[Key]()
    left_out: list[LeftOut] = []
    while True:
        found = designed(schema, epsilon, **wishes, without=without)
        hopeless = _hopeless(found, people)
        if not hopeless:
            gone = (*found.left_out, *left_out)
            return found._replace(left_out=_counted(schema, epsilon, wishes, gone)) if gone else found
        key = max(hopeless, key=lambda key: found.hardness[key])
        index, margin = hopeless[key]
        left_out.append(LeftOut(*key, margin, least_of(found.plan, index)))
        without |= {key}  # of those that the formula left out some may be worth asking now


def least_of(plan: Plan, index: int) -> float:
    """Return the margin from which on a relation tells nothing: the average share of cells, or all that is possible."""
    one = Asked(plan, index, kind_of(plan, index))
    return 1 / one.items if one.kind == "table" else ALL * one.most


def _hopeless(found: Designed, people: int) -> dict[Key, tuple[int, float]]:
    """Return the relations that tell these people nothing, with their own question and their margin."""
    crowd, hopeless = Crowd(found.plan), dict[Key, tuple[int, float]]()
    for key, places in found.places.items():
        indexes = [place for place in places if kind_of(found.plan, place)]
        if key[1] == SINGLE or not indexes:
            continue
        margin = _margin(crowd, people, indexes[0])
        if margin >= least_of(found.plan, indexes[0]):
            hopeless[key] = indexes[0], margin
    return hopeless


def _margin(crowd: Crowd, people: int, index: int) -> float:
    rows: list[Foreseen] = list(foreseen(crowd, people, _LEVEL, [index], at_worst=False))
    return min(row.margin for row in rows)


def _counted(
    schema: Schema, epsilon: float, wishes: Mapping[str, Any], left_out: Sequence[LeftOut]
) -> tuple[LeftOut, ...]:
    """Return what was left out; the first of it with the number of people that would do if all were asked."""
    every = designed(schema, epsilon, **{**wishes, "insist": True})
    crowd, found = Crowd(every.plan), list(left_out)
    for place, one in enumerate(left_out[:NAMED]):
        (index, *_) = (place for place in every.places[one.key] if kind_of(every.plan, place))
        needed = _needed(crowd, wishes["people"], index, least_of(every.plan, index))
        found[place] = one._replace(needed=needed)
    return tuple(found)


def _needed(crowd: Crowd, people: int, index: int, least: float) -> float:
    """Return about how many people would learn something, with two digits."""
    few, many = people, 2 * people
    while _margin(crowd, many, index) >= least and many < _MOST:
        few, many = many, 2 * many
    while many > 1.02 * few:
        middle = round(math.sqrt(few * many))
        if not few < middle < many:
            break
        few, many = (middle, many) if _margin(crowd, middle, index) >= least else (few, middle)
    return float(many)
