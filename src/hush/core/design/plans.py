"""Making a plan: channels for a schema and an epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from hush.core import codec
from hush.core.design.average import histogram
from hush.core.design.blocks import blocks_of, importance_of
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.choice import Makers, best_k, cube_error, error_of, question_weights, weighted_error
from hush.core.design.numeric import BLOCK, NUMERIC
from hush.core.design.relations import Key, LeftOut, Relation, Wishes, questions
from hush.core.design.sets import WAYS, equal_shares, expanded, views_of, ways
from hush.core.design.units import RANGE, checked_importance
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan, Question
from hush.core.schema import Attribute, Choices, Schema
from hush.core.texts import Text
from hush.errors import DesignError

PAPER_SHARE = Fraction(5, 2)
"""The epsilon of one question in Wang et al.: k = max(1, min(d, floor(epsilon/2.5)))."""

_CLEARLY = 0.98  # weights must lessen the error by this factor, as equal chances are simpler


def design(
    schema: Schema,
    epsilon: float,
    *,
    numeric: str = "minimax",
    categorical: str = "best",
    k: int | Literal["best", "paper", "weighted", "all"] = "best",
    objective: str | Sequence[float] = "worst",
    importance: Mapping[Any, float] | None = None,
    joint: Sequence[Sequence[str]] = (),
    relations: Sequence[Relation] | Literal["all"] = (),
    singles: float | None = None,
    bands: Mapping[str, Sequence[float | str | date]] | None = None,
    ranges: Sequence[str] | Mapping[str, int] = (),
    title: str = "",
    after: Plan | str | None = None,
    choices: Literal["best", "members", "picks", "pairs"] = "best",
) -> Plan:
    """Choose channels for a schema and an epsilon per person. `hush.planning.designs.design` has the options."""
    return designed(
        schema,
        epsilon,
        numeric=numeric,
        categorical=categorical,
        k=k,
        objective=objective,
        importance=importance,
        joint=joint,
        relations=relations,
        singles=singles,
        bands=bands,
        ranges=ranges,
        title=title,
        after=after,
        choices=choices,
    ).plan


class Designed(NamedTuple):
    """A plan, the places of the questions of each attribute, relation and range, and the relations left out.

    The places are known if everybody is asked one question, for margins or relations. `hardness` is that of
    `hush.core.design.relations`. `short`: how many times as many people the margins take that were named.
    """

    plan: Plan
    places: Mapping[Key, tuple[int, ...]] = MappingProxyType({})
    left_out: tuple[LeftOut, ...] = ()
    hardness: Mapping[Key, float] = MappingProxyType({})
    short: float = 1.0


def designed(
    schema: Schema,
    epsilon: float,
    *,
    numeric: str = "minimax",
    categorical: str = "best",
    k: int | Literal["best", "paper", "weighted", "all"] = "best",
    objective: str | Sequence[float] = "worst",
    importance: Mapping[Any, float] | None = None,
    joint: Sequence[Sequence[str]] = (),
    relations: Sequence[Relation] | Literal["all"] = (),
    singles: float | None = None,
    bands: Mapping[str, Sequence[float | str | date]] | None = None,
    ranges: Sequence[str] | Mapping[str, int] = (),
    title: str = "",
    after: Plan | str | None = None,
    choices: Literal["best", "members", "picks", "pairs"] = "best",
    people: int | None = None,
    insist: bool = False,
    needs: Mapping[Key, float] | None = None,
    without: frozenset[Key] = frozenset(),
) -> Designed:
    """Return a plan with what was decided about it.

    people, insist: relations of which so many people would learn nothing are left out, unless the user insists. needs:
    attributes, relations and ranges that need certain shares of the people, so that everybody answers one question.
    without: relations and ranges that are not asked after all.
    """
    before = after.id if isinstance(after, Plan) else after
    if not isinstance(schema, Schema):
        raise DesignError("the schema must be a Schema: hush.Schema([hush.Numeric(...), ...])")
    total = budget(epsilon)
    if not isinstance(categorical, str) or categorical not in CATEGORICAL:
        raise DesignError(f"categorical must be one of: {', '.join(CATEGORICAL)}")
    if not isinstance(numeric, str) or (numeric not in NUMERIC and numeric not in BLOCK):
        known = ", ".join([*NUMERIC, *BLOCK])
        raise DesignError(f"numeric must be one of: {known} (hybrid is the paper's HM, piecewise its PM)")
    prior = None if objective == "worst" else histogram(objective)
    if prior is not None and numeric != "minimax":
        raise DesignError('an objective other than "worst" is for numeric="minimax"')
    if choices not in WAYS:
        raise DesignError(f"choices must be one of: {', '.join(WAYS)}")
    least = 2 if choices == "pairs" else 1
    makers = Makers(numeric, categorical, prior, ways(schema, choices)[0] if least > 1 else frozenset(), least)
    left_out: tuple[LeftOut, ...] = ()
    if relations or ranges or needs is not None:
        if k not in ("best", "weighted") or joint or numeric in BLOCK or (k == "weighted" and needs is None):
            asks = "relations or ranges" if relations or ranges else "margins"
            raise DesignError(f"with {asks} everybody answers one question: leave out k and joint")
        wanted = _pairs(schema, importance)
        wishes = Wishes(relations, singles, bands or {}, ranges, wanted, people, insist, needs or {}, without)
        found = questions(schema, makers, total, wishes)
        left_out = found.left_out
        if needs is not None or any(len(key[0]) > 1 or key[1] == RANGE for key in found.places):
            plan = Plan(schema, total, 1, found.asked, title, found.weights, before)
            return Designed(plan, found.places, left_out, found.hardness)
        importance = {names[0]: weight for names, weight in wanted.items() if len(names) == 1}
    elif bands:
        raise DesignError("bands are for relations: name the relations too")
    weights = importance_of(schema, importance)
    blocks = blocks_of(schema, numeric in BLOCK, joint)
    best: _Asked | None = None
    for whole in ways(schema, choices):
        made = _asked(Makers(numeric, categorical, prior, whole, least), expanded(blocks, whole), total, k, weights)
        if best is None or made.error < best.error:
            best = made
    assert best is not None
    if k == "best" and prior is not None and not joint and cube_error(blocks, total, weights) < best.error:
        return designed(schema, epsilon, numeric="cube", title=title, after=after)._replace(left_out=left_out)
    return Designed(Plan(schema, total, best.k, best.questions, title, best.weights, before), {}, left_out)


class _Asked(NamedTuple):
    """Questions with the number that each person answers, or their weights, and the predicted error."""

    error: float
    k: int
    weights: tuple[int, ...] | None
    questions: tuple[Question, ...]


def _asked(
    makers: Makers,
    blocks: Sequence[Sequence[Attribute]],
    total: Fraction,
    k: int | str,
    importance: Mapping[str, float],
) -> _Asked:
    """Return the questions about some blocks of attributes."""
    drawn, error = None, math.inf
    if k == "all":
        chosen, shares = len(blocks), equal_shares(blocks, total)
    else:
        if k == "best":
            chosen, error = best_k(makers, blocks, total, importance)
            if any(isinstance(block[0], Choices | Text) for block in blocks):
                # Choices and texts have many questions: with equal chances, others would be asked of few people.
                weights = question_weights(makers, blocks, total, importance)
                by_weights = weighted_error(makers, blocks, total, weights, importance)
                if by_weights < _CLEARLY * error:
                    chosen, drawn, error = 1, weights, by_weights
        elif k == "paper":
            chosen = max(1, min(len(blocks), math.floor(total / PAPER_SHARE)))
        elif k == "weighted":
            chosen, drawn = 1, question_weights(makers, blocks, total, importance)
            error = weighted_error(makers, blocks, total, drawn, importance)
        else:
            chosen = codec.integer(k, 1, len(blocks), DesignError, 'k (if not "best", "paper", "weighted" or "all")')
        shares = [total / chosen] * len(blocks)
    if error == math.inf:
        error = error_of(makers, blocks, total, chosen, importance)
    channels = [makers.channel(block, share) for block, share in zip(blocks, shares, strict=True)]
    return _Asked(error, chosen, drawn, tuple(map(Question, views_of(blocks, makers.whole), channels)))


def _pairs(schema: Schema, importance: Mapping[Any, float] | None) -> dict[tuple[str, ...], float]:
    """Return the importance of attributes and of pairs, with known names."""
    found: dict[tuple[str, ...], float] = {}
    for key, weight in (importance or {}).items():
        names = (key,) if isinstance(key, str) else tuple(key)
        for name in names:
            schema[name]  # raises an error that lists the names, if there is no such attribute
        found[names] = checked_importance(key, weight)
    return found


def budget(epsilon: object) -> Fraction:
    """Read epsilon as the decimal number that the user wrote: 0.1 is one tenth."""
    if not isinstance(epsilon, bool) and isinstance(epsilon, Real):
        try:
            number = float(epsilon)
        except OverflowError:
            number = math.inf
        if MIN_EPSILON <= number <= MAX_EPSILON:  # false for NaN
            return Fraction(repr(number))
    raise DesignError(f"epsilon must be a number from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
