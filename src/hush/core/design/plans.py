"""Making a plan: channels for a schema and an epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

from hush.core import codec
from hush.core.design.average import histogram
from hush.core.design.blocks import blocks_of, importance_of
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.choice import Makers, best_k, cube_error, question_weights
from hush.core.design.numeric import BLOCK, NUMERIC
from hush.core.design.relations import Relation, Wishes, questions
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan, Question
from hush.core.schema import Schema
from hush.errors import DesignError

PAPER_SHARE = Fraction(5, 2)
"""The epsilon of one question in Wang et al.: k = max(1, min(d, floor(epsilon/2.5)))."""


def design(
    schema: Schema,
    epsilon: float,
    *,
    numeric: str = "minimax",
    categorical: str = "subset",
    k: int | Literal["best", "paper", "weighted", "all"] = "best",
    objective: str | Sequence[float] = "worst",
    importance: Mapping[Any, float] | None = None,
    joint: Sequence[Sequence[str]] = (),
    relations: Sequence[Relation] | Literal["all"] = (),
    singles: float = 0.2,
    bands: Mapping[str, Sequence[float]] | None = None,
    ranges: Sequence[str] | Mapping[str, int] = (),
    title: str = "",
    after: Plan | str | None = None,
) -> Plan:
    """Choose channels for a schema and an epsilon per person. `hush.planning.designs.design` has the options."""
    before = after.id if isinstance(after, Plan) else after
    if not isinstance(schema, Schema):
        raise DesignError("the schema must be a Schema: hush.Schema([hush.Numeric(...), ...])")
    total = _budget(epsilon)
    if not isinstance(categorical, str) or categorical not in CATEGORICAL:
        raise DesignError(f"categorical must be one of: {', '.join(CATEGORICAL)}")
    if not isinstance(numeric, str) or (numeric not in NUMERIC and numeric not in BLOCK):
        known = ", ".join([*NUMERIC, *BLOCK])
        raise DesignError(f"numeric must be one of: {known} (hybrid is the paper's HM, piecewise its PM)")
    prior = None if objective == "worst" else histogram(objective)
    if prior is not None and numeric != "minimax":
        raise DesignError('an objective other than "worst" is for numeric="minimax"')
    makers = Makers(numeric, categorical, prior)
    if relations or ranges:
        if k != "best" or joint or numeric in BLOCK:
            raise DesignError("with relations or ranges everybody answers one question: leave out k and joint")
        wishes = Wishes(relations, singles, bands or {}, ranges, _pairs(schema, importance))
        asked, shares_of_people = questions(schema, makers, total, wishes)
        return Plan(schema, total, 1, asked, title, shares_of_people, before)
    if bands:
        raise DesignError("bands are for relations: name the relations too")
    weights = importance_of(schema, importance)
    blocks = blocks_of(schema, numeric in BLOCK, joint)
    drawn = None
    if k == "all":
        chosen = len(blocks)
        shares = [total * len(block) / len(schema) for block in blocks]
    else:
        if k == "best":
            chosen, error = best_k(makers, blocks, total, weights)
            if prior is not None and not joint and cube_error(blocks, total, weights) < error:
                return design(schema, epsilon, numeric="cube", title=title, after=after)
        elif k == "paper":
            chosen = max(1, min(len(blocks), math.floor(total / PAPER_SHARE)))
        elif k == "weighted":
            chosen = 1
            drawn = question_weights(makers, blocks, total, weights)
        else:
            chosen = codec.integer(k, 1, len(blocks), DesignError, 'k (if not "best", "paper", "weighted" or "all")')
        shares = [total / chosen] * len(blocks)
    made = []
    for block, share in zip(blocks, shares, strict=True):
        channel = makers.channel(block, share)
        made.append(Question(tuple(attribute.name for attribute in block), channel))
    return Plan(schema, total, chosen, tuple(made), title, drawn, before)


def _pairs(schema: Schema, importance: Mapping[Any, float] | None) -> dict[object, float]:
    """Return the importance of attributes and of pairs, with known names."""
    found: dict[object, float] = {}
    for key, weight in (importance or {}).items():
        names = (key,) if isinstance(key, str) else tuple(key)
        for name in names:
            schema[name]  # raises an error that lists the names, if there is no such attribute
        found[names] = weight
    return found


def _budget(epsilon: object) -> Fraction:
    """Read epsilon as the decimal number that the user wrote: 0.1 is one tenth."""
    if not isinstance(epsilon, bool) and isinstance(epsilon, Real):
        try:
            number = float(epsilon)
        except OverflowError:
            number = math.inf
        if MIN_EPSILON <= number <= MAX_EPSILON:  # false for NaN
            return Fraction(repr(number))
    raise DesignError(f"epsilon must be a number from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
