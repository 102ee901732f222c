"""Making a plan, as people call it: for an epsilon, or for a central promise of shuffled reports.

The channels of an epsilon are chosen in `hush.core.design`, below; `hush.planning.shuffle` knows what a crowd hides,
`hush.planning.wanted` how many people a margin takes, and `hush.planning.leaving` which relations are worth asking.
These functions stand above all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hush.core.blanket import blanket_of
from hush.core.design.plans import Designed
from hush.core.design.plans import designed as designed_local
from hush.core.plan import Plan
from hush.core.schema import Schema
from hush.errors import DesignError, PlanError

if TYPE_CHECKING:
    from hush.core.design.relations import Relation


class Made(NamedTuple):
    """A plan, and sentences about what its user wished for and did not get."""

    plan: Plan
    notes: tuple[str, ...]


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
    singles: float | None = None,
    bands: Mapping[str, Sequence[float | str | date]] | None = None,
    ranges: Sequence[str] | Mapping[str, int] = (),
    people: int | None = None,
    insist: bool = False,
    margins: Mapping[Any, float] | None = None,
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

    importance: how much each attribute counts (1 by default), for k="best" and k="weighted"; with relations or margins,
    also by pairs of names.

    joint: lists of neighbouring attributes that are reported together, as cells of one table (docs/joint.md). If the
    objective is a prior and all attributes are numbers that are never missing, hush takes the cube if its error is
    less.

    relations: pairs of names, such as ("education", "income"), or "all"; a third entry names the kind ("table",
    "means", "association", "moments"). bands: the cuts of numbers that tables and groups need; they must be public.
    ranges: numbers whose whole distribution is asked, by a tree of bands. Everybody then answers one question. Each
    attribute counts as much as each other one, relations and ranges too, and all of them together as much as all
    attributes (`hush.core.design.shares`); `singles` fixes the share of the people who are asked about an attribute.

    people: how many are expected. Relations and ranges of which so many would learn nothing are left out, with a
    warning, unless you `insist`. `hush.worth` says what each question will be worth.

    margins: half of the widths of 95 % intervals that you want, for the expected people: {"recommends": 0.05, ("pay",
    "team"): 300}. A pair is a relation, ("pay",) the range of a number. Questions get as many people as their margins
    take, and the others share the rest. If there are not enough people, a warning says how many would be. The margins
    are those of `hush.predict` for attributes and of `hush.foresee` for relations: `assumed` says for which people.

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
        "people": people,
        "insist": insist,
        "margins": margins,
        "title": title,
        "after": after,
        "choices": choices,
    }
    promise = {"central": central, "delta": delta, "crowd": crowd, "own": own, "local": local}
    found = made(schema, epsilon, promise, wishes)
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    return found.plan


def made(schema: Schema, epsilon: float | None, promise: Mapping[str, Any], wishes: Mapping[str, Any]) -> Made:
    """Return the plan that `design` returns, with what it warns of."""
    central, delta, crowd, own, local = (promise.get(name) for name in ("central", "delta", "crowd", "own", "local"))
    wishes = dict(wishes)
    people, insist, margins = wishes.get("people"), wishes.get("insist"), wishes.pop("margins", None)
    if people is not None and (type(people) is not int or people < 1):
        raise DesignError("people must be a whole number, 1 or more")

    def local_plan(least: float) -> Designed:
        if margins:
            from hush.planning.wanted import divided  # most plans name no margins

            return divided(schema, least, margins, wishes)
        if people and not insist and (wishes.get("relations") or wishes.get("ranges")):
            from hush.planning.leaving import worthwhile

            return worthwhile(schema, least, wishes)
        return designed_local(schema, least, **wishes)

    if central is None:
        if (delta, crowd, own, local) != (None, None, None, None):
            raise DesignError("delta, crowd, own and local are for reports that a relay shuffles: give central too")
        if epsilon is None:
            raise DesignError("give epsilon; or central, delta and crowd or own, for reports that a relay shuffles")
        return _noted(local_plan(epsilon), people)
    if epsilon is not None:
        raise DesignError("give either epsilon or central: with central, local is the most that epsilon may be")
    if delta is None:
        raise DesignError("delta is missing: central is for reports that a relay shuffles, such as with delta=1e-6")
    from hush.planning.shuffle.designs import LOCAL, Designs  # most plans need no accountant

    known: dict[Plan, Designed] = {}

    def make(least: float) -> Plan:
        found = local_plan(least)
        known[found.plan] = found
        return found.plan

    plan = Designs(make, central, delta, LOCAL if local is None else local).best(crowd=crowd, own=own)
    if own is not None:
        check_own(plan)
    return _noted(known[plan], people)


def _noted(found: Designed, people: int | None) -> Made:
    """Return a plan with sentences about the relations that were left out, and margins that take more people."""
    notes = []
    if found.left_out:
        assert people is not None
        from hush.planning.leaving import NAMED

        each = [one.words for one in found.left_out[:NAMED]]
        if more := found.left_out[NAMED:]:
            each.append(f"and {len(more):,} more")
        notes.append(
            f"Left out, as {people:,} people would learn nothing of it: {'; '.join(each)}. Insist to ask all the same."
        )
    if found.short > 1:
        assert people is not None
        notes.append(
            f"The margins take {found.short * people:,.0f} people: with {people:,} they are {found.short**0.5:.2g} "
            "times as wide."
        )
    return Made(found.plan, tuple(notes))


def check_own(plan: Plan) -> None:
    """Refuse a plan for which a relay cannot draw reports of its own."""
    try:
        blanket_of(plan)
    except PlanError as error:
        raise DesignError(f"a relay cannot add reports of its own: {error}. Give crowd instead of own") from None
