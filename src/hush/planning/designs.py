"""Making a plan, as people call it: for an epsilon, or for a central promise of shuffled reports.

The channels of an epsilon are chosen in `hush.core.design`, below; `hush.planning.shuffle` knows what a crowd hides.
This function stands above both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from hush.core.blanket import blanket_of
from hush.core.design import design as design_local
from hush.core.plan import Plan
from hush.core.schema import Schema
from hush.errors import DesignError, PlanError

if TYPE_CHECKING:
    from hush.core.design.relations import Relation


def design(
    schema: Schema,
    epsilon: float | None = None,
    *,
    central: float | None = None,
    delta: float | None = None,
    crowd: int | None = None,
    own: int | None = None,
    local: float | None = None,
    numeric: str = "minimax",
    categorical: str = "best",
    k: int | Literal["best", "paper", "weighted", "all"] = "best",
    objective: str | Sequence[float] = "worst",
    importance: Mapping[Any, float] | None = None,
    joint: Sequence[Sequence[str]] = (),
    relations: Sequence[Relation] | Literal["all"] = (),
    singles: float = 0.2,
    bands: Mapping[str, Sequence[float | str | date]] | None = None,
    ranges: Sequence[str] | Mapping[str, int] = (),
    title: str = "",
    after: Plan | str | None = None,
    choices: Literal["best", "members", "picks", "pairs"] = "best",
) -> Plan:
    """Choose channels for a schema and an epsilon per person, or for reports that a relay shuffles.

    central, with delta and crowd or own, in place of epsilon: the plan has the largest epsilon, to one thousandth, that
    is at most `local` (6.0) and whose batches are proved to keep (central, delta). `crowd` is the number of people who
    answer honestly in one batch, `own` the number of reports that the relay adds to one, as in `hush.shuffle`. So the
    plan keeps two promises. `local` is the one that remains if relay and collector work together. (delta does not grow
    evenly with epsilon, as channels consist of integers. The search ends where the next thousandth is not enough.)

    numeric: minimax, hybrid, piecewise, piecewise-sub, duchi, laplace, scdf, staircase; or duchi-multi or cube,
    which report all numeric attributes in one question. categorical: subset, grr, oue, sue, geometry; "best" takes
    subset while its reports are short, and geometry for long lists (docs/large-domains.md).

    choices: "members" asks about each value of `hush.Choices` in a question of its own, "picks" about all in one;
    "best" takes the one with the least predicted error (docs/choices.md). "pairs" are picks whose reports have two
    values or more, so that `hush.pairs` can estimate who holds both of two values.

    k: how many questions each person answers, with epsilon/k each. "best" has the least predicted error (see
    `hush.core.design.choice`); "paper" is max(1, min(d, floor(epsilon/2.5))). "weighted" asks one question, drawn with
    the probabilities of least error. "all" asks everybody all questions: each attribute gets epsilon/d, and a block of
    attributes the sum of theirs.

    objective, for minimax: "worst" minimises the largest variance over all inputs; "uniform", "centre", or a list
    of weights of equal bins of the domain, minimises the average under that public prior.

    importance: how much the error of each attribute counts (1 by default), for k="best" and k="weighted"; with
    relations, also by pairs of names.

    joint: lists of neighbouring attributes that are reported together, as cells of one table (docs/joint.md). If the
    objective is a prior and all attributes are numbers that are never missing, hush takes the cube if its error is
    less.

    relations: pairs of names, such as ("education", "income"), or "all"; a third entry names the kind ("table",
    "means", "association", "moments"). Everybody then answers one question, and a share `singles` of the people one
    about a single attribute. bands: the cuts of numbers that tables and groups need; they must be public. ranges:
    numbers whose whole distribution is asked, by a tree of bands. See `hush.core.design.relations`.

    after: another plan (or its id) that this one follows, such as a pilot. Ledgers see to it that nobody answers both.
    """
    wishes: dict[str, Any] = {
        "numeric": numeric,
        "categorical": categorical,
        "k": k,
        "objective": objective,
        "importance": importance,
        "joint": joint,
        "relations": relations,
        "singles": singles,
        "bands": bands,
        "ranges": ranges,
        "title": title,
        "after": after,
        "choices": choices,
    }
    if central is None:
        if (delta, crowd, own, local) != (None, None, None, None):
            raise DesignError("delta, crowd, own and local are for reports that a relay shuffles: give central too")
        if epsilon is None:
            raise DesignError("give epsilon; or central, delta and crowd or own, for reports that a relay shuffles")
        return design_local(schema, epsilon, **wishes)
    if epsilon is not None:
        raise DesignError("give either epsilon or central: with central, local is the most that epsilon may be")
    if delta is None:
        raise DesignError("delta is missing: central is for reports that a relay shuffles, such as with delta=1e-6")
    from hush.planning.shuffle.designs import LOCAL, Designs  # most plans need no accountant

    most = LOCAL if local is None else local
    designs = Designs(lambda least: design_local(schema, least, **wishes), central, delta, most)
    plan = designs.best(crowd=crowd, own=own)
    if own is not None:
        check_own(plan)
    return plan


def check_own(plan: Plan) -> None:
    """Refuse a plan for which a relay cannot draw reports of its own."""
    try:
        blanket_of(plan)
    except PlanError as error:
        raise DesignError(f"a relay cannot add reports of its own: {error}. Give crowd instead of own") from None
