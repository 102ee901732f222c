"""Margins that the user names: which shares of the people they take.

A margin falls with the square root of the people who are asked, so a plan whose margin is m times as wide as wanted
needs m^2 times the people there. A few such steps find the shares, with the very predictions that users see. What is
left is divided as without margins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from hush.core.design.plans import Designed, designed
from hush.core.design.relations import Key
from hush.core.design.units import KINDS, RANGE, SINGLE
from hush.core.schema import Numeric, Schema
from hush.core.texts import Text
from hush.errors import DesignError
from hush.planning.expected import Crowd
from hush.planning.predictions import predict
from hush.planning.relations import foreseen

LEVEL = 0.95
_STEPS = 12
_CLOSE = 0.01  # a step that changes no share by more, as a part of it, is the last
_SPARE = 1.01  # so that margins are not a little wider than wanted


def divided(schema: Schema, epsilon: float, margins: Mapping[Any, float], wishes: Mapping[str, Any]) -> Designed:
    """Return a plan with these margins, or one whose margins are all too wide by the same factor."""
    people = wishes.get("people")
    if people is None:
        raise DesignError("margins are for a number of people: give people too")
    first = designed(schema, epsilon, **{**wishes, "insist": True}, needs={})
    wanted: dict[Key, float] = {}
    for name, margin in margins.items():
        key = _key(schema, first, name)
        if key in wanted:
            raise DesignError(f"margins: {name!r} is named twice")
        if isinstance(margin, bool) or not isinstance(margin, Real) or not 0 < float(margin) < math.inf:
            raise DesignError(f"margins: that of {name!r} must be a number above 0")
        wanted[key] = float(margin)
    needs = dict.fromkeys(wanted, 0.0)
    found = designed(schema, epsilon, **wishes, needs=needs)
    for _ in range(_STEPS):
        widths = _widths(found, people, list(wanted))
        before, needs = needs, {}
        for key, margin in wanted.items():
            share = float(sum(found.plan.inclusions[place] for place in found.places[key]))
            needs[key] = _SPARE * share * (widths[key] / margin) ** 2
        found = designed(schema, epsilon, **wishes, needs=needs)
        if all(abs(needs[key] - before[key]) <= _CLOSE * needs[key] for key in wanted):
            break
    return found._replace(short=max(math.fsum(needs.values()) / _SPARE, 1.0))


def _key(schema: Schema, found: Designed, name: object) -> Key:
    """Return the unit that a user names: an attribute, ("pay",) for its range, a pair, or a pair with its kind."""
    parts = (name,) if isinstance(name, str) else tuple(name) if isinstance(name, list | tuple) else ()
    if not parts or len(parts) > 3 or not all(isinstance(part, str) for part in parts):
        raise DesignError("margins are of attributes, and of pairs of names with perhaps their kind")
    kind = None
    if len(parts) == 3 or (len(parts) == 2 and parts[1] == RANGE and RANGE not in schema.names):
        kind, parts = parts[-1], parts[:-1]
        if kind not in (*KINDS, RANGE):
            raise DesignError(f"margins: the kind of a relation is one of: {', '.join(KINDS)}")
    for part in parts:
        schema[part]  # raises an error that lists the names, if there is no such attribute
    if isinstance(name, str):
        if isinstance(schema[name], Text):
            raise DesignError(f"attribute {name!r}: a text has no margin: it is found or not")
        kind = SINGLE
    elif len(parts) == 1:
        kind = RANGE
    keys = [key for key in found.places if sorted(key[0]) == sorted(parts) and kind in (None, key[1])]
    keys = [key for key in keys if (key[1] == SINGLE) == (kind == SINGLE)]
    if not keys:
        if kind == SINGLE:
            raise DesignError(f"attribute {name!r}: its margin needs singles above 0")
        raise DesignError(f"margins: {name!r} is not among the relations or ranges of this plan")
    if len(keys) > 1:
        kinds = " or ".join(repr((*parts, key[1])) for key in keys)
        raise DesignError(f"margins: {name!r} is asked in two ways: write {kinds}")
    return keys[0]


def _widths(found: Designed, people: int, keys: list[Key]) -> dict[Key, float]:
    """Return the widest margin of each unit."""
    plan = found.plan
    widths: dict[Key, float] = {}
    rows = predict(plan, people, level=LEVEL) if any(kind == SINGLE for _, kind in keys) else []
    crowd = Crowd(plan)
    for key in keys:
        (name, *_), kind = key
        if kind == SINGLE:
            mean = isinstance(plan.schema[name], Numeric)
            mine = [row.margin for row in rows if row.attribute == name and (row.category is None) is mean]
            widths[key] = min(mine) if mean else max(mine)  # a relation tells of another mean of a wide number
        else:
            widths[key] = max(row.margin for row in foreseen(crowd, people, LEVEL, found.places[key]))
    return widths
