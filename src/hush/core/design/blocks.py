"""The attributes of each question and the importance of each attribute, checked as the user gave them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real

from hush.core.schema import Attribute, Choices, Numeric, Schema
from hush.errors import DesignError


def blocks_of(schema: Schema, together: bool, joint: Sequence[Sequence[str]]) -> list[list[Attribute]]:
    """Return the attributes of each question."""
    groups = [list(names) for names in joint if not isinstance(names, str)]
    if len(groups) != len(joint) or any(len(names) < 2 for names in groups):
        raise DesignError("joint is a list of lists, each with two or more names of attributes")
    if together:
        numeric = [item.name for item in schema.attributes if isinstance(item, Numeric)]
        if groups or not numeric:
            raise DesignError("there are no numeric attributes to report together, or joint lists them as well")
        groups.append(numeric)
    for name in (name for group in groups for name in group):
        if isinstance(schema[name], Choices):
            raise DesignError(
                f"attribute {name!r}: choices cannot be in joint, as their lists have too many cells for a table; "
                "declare a Boolean for each value (hush.pairs has the pairs of values of one attribute)"
            )
    blocks: list[list[Attribute]] = []
    names = list(schema.names)
    while names:
        group = next((group for group in groups if group[0] == names[0]), [names[0]])
        if names[: len(group)] != group:
            raise DesignError(f"to report {_quoted(group)} together, put them next to each other, in this order")
        blocks.append([schema[name] for name in group])
        names = names[len(group) :]
    covered = [[attribute.name for attribute in block] for block in blocks]
    for group in groups:
        if group not in covered:
            raise DesignError(f"{_quoted(group)} cannot be reported together: not neighbours in the schema")
    return blocks


def importance_of(schema: Schema, importance: Mapping[str, float] | None) -> dict[str, float]:
    """Return how much the error of every attribute counts."""
    weights = dict.fromkeys(schema.names, 1.0)
    for name, weight in (importance or {}).items():
        schema[name]  # raises an error that lists the names, if there is no such attribute
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
            raise DesignError(f"attribute {name!r}: its importance must be a number, 0 or more")
        weights[name] = float(weight)
    if not any(weights.values()):
        raise DesignError("some attribute must be of importance")
    return weights


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
