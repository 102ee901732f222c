"""How many people, or which epsilon, a given margin needs: the inverse of a prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from hush.core.channels import Ladder
from hush.core.design import design
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan
from hush.core.schema import Schema
from hush.core.texts import Text
from hush.errors import DesignError
from hush.planning import own as relay
from hush.planning.assumed import Guesses, checked
from hush.planning.predictions import Prospect, check_level, predict, prospects, wide_rows
from hush.planning.shuffle.crowds import MAX_PEOPLE
from hush.planning.shuffle.designs import LOCAL, Designs

_STEP = 1.5  # the factor from one epsilon in the search to the next
_MOST = 10**18


def people_needed(
    plan: Plan | Schema,
    margin: float,
    *,
    attribute: str | None = None,
    own: int = 0,
    central: float | None = None,
    delta: float | None = None,
    local: float | None = None,
    level: float = 0.95,
    guesses: Guesses | None = None,
    make: Callable[[Schema, float], Plan] = design,
) -> int:
    """Return how many people to ask so that no margin (or none of this attribute) exceeds the given one.

    Margins of means are on the attribute's own scale, those of shares from 0 to 1: name an attribute unless all are
    alike. It is the smallest such number: with one person fewer some margin is larger. Ask some more, because chance
    decides how many people answer each question.

    The people are those of `hush.predict`: the worst ones, but typical ones for the means of optional or wide numbers
    and for long lists. There other people may need many times as many: guess what you know of them. Relations and texts
    are not meant: `hush.foresee` and `hush.floors` predict them.

    own: how many reports a relay adds to those of the people, in all batches together.

    central and delta, with a schema in place of the plan: how many people a central promise needs if all of them are
    one batch. The plan depends on their number: it is `hush.design(schema, central=..., delta=..., crowd=people,
    local=...)`, or with `own=`. `make(schema, epsilon)` makes the plans, as in `hush.epsilon_needed`.
    """
    _check_margin(margin)
    check_level(level)
    relay.check(own)
    promise = (central, delta, local)
    if isinstance(plan, Plan):
        if promise != (None, None, None):
            raise DesignError("this plan is made already: give its schema with central, delta and local")
        return _smallest(_enough(plan, margin, own, attribute, level, guesses), _MOST)
    if not isinstance(plan, Schema) or central is None or delta is None:
        raise DesignError("give a plan; or a schema with central and delta, for reports that a relay shuffles")
    if attribute is not None:
        plan[attribute]  # raises an error that lists the names, if there is no such attribute
    most = LOCAL if local is None else local
    designs = Designs(partial(make, plan), central, delta, most)
    if own:
        return _smallest(_enough(designs.best(own=own), margin, own, attribute, level, guesses), _MOST)
    known: dict[Plan, Callable[[int], bool]] = {}

    def enough(people: int) -> bool:
        made = designs.best(crowd=people)
        if made not in known:
            known[made] = _enough(made, margin, 0, attribute, level, guesses)
        return known[made](people)

    # No crowd is large enough for less noise than that of the largest local epsilon.
    least = _smallest(_enough(designs.best(crowd=MAX_PEOPLE), margin, 0, attribute, level, guesses), MAX_PEOPLE)
    return _smallest(enough, MAX_PEOPLE, least)


def _smallest(enough: Callable[[int], bool], most: int, least: int = 1) -> int:
    """Return the smallest number from `least` on that is enough."""
    few, many, step = least - 1, least, -(-least // 64)
    while not enough(many):
        few, many, step = many, many + step, 2 * step
        if many > most:
            raise DesignError(f"more than {most:.0e} people are needed for this margin")
    while many - few > 1:
        middle = (few + many) // 2
        if enough(middle):
            many = middle
        else:
            few = middle
    return many


def _enough(
    plan: Plan, margin: float, own: int, attribute: str | None, level: float, guesses: Guesses | None
) -> Callable[[int], bool]:
    """Return a test whether a number of people is enough for a margin under a plan."""
    asked = _of(prospects(plan, guesses, own=own > 0), plan.schema, attribute)
    distinct = list({one.key: one for one in asked}.values())
    known = checked(guesses, plan.schema)
    wide = [
        index
        for index, (question, attributes) in enumerate(zip(plan.questions, plan.attributes, strict=True))
        if isinstance(question.channel, Ladder) and attribute in (None, attributes[0].name)
    ]

    if not asked and not wide:
        raise DesignError(_nothing(plan, attribute))

    def enough(people: int) -> bool:
        if not all(one.prediction(people, level, own).margin <= margin for one in distinct):
            return False
        return all(row.margin <= margin for row in wide_rows(plan, people, own, level, known, wide))

    return enough


def epsilon_needed(
    schema: Schema,
    people: int,
    margin: float,
    *,
    attribute: str | None = None,
    level: float = 0.95,
    guesses: Guesses | None = None,
    make: Callable[[Schema, float], Plan] = design,
) -> float:
    """Return the smallest epsilon, to three digits, for which this many people give a margin no larger than this one.

    A margin hardly ever grows with epsilon, but it can: channels consist of integers, and a plan may change the number
    of its questions. So the search tries epsilons from small to large, each half more than the last, and refines the
    first that is enough: the result is enough, and a little less is not.

    `make(schema, epsilon)` makes the plans. By default that is `hush.design` with its defaults.
    """
    _check_margin(margin)

    if attribute is not None:
        schema[attribute]  # raises an error that lists the names, if there is no such attribute

    def enough(epsilon: float) -> bool:
        plan = make(schema, epsilon)
        rows = predict(plan, people, level=level, guesses=guesses)
        margins = [row.margin for row in rows if attribute in (None, row.attribute)]
        if not margins:
            raise DesignError(_nothing(plan, attribute))
        return max(margins) <= margin

    most = float(MAX_EPSILON)
    low = high = float(MIN_EPSILON)
    while not enough(high):
        if high == most:
            raise DesignError(
                f"no epsilon up to {most} is enough for this margin with {people} people: ask more of them"
            )
        low, high = high, min(float(f"{high * _STEP:.4g}"), most)
    while high / low > 1.002:
        middle = float(f"{math.sqrt(low * high):.4g}")
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _nothing(plan: Plan, attribute: str | None) -> str:
    """Say why there is no margin."""
    names = list(plan.schema.names) if attribute is None else [attribute]
    if all(isinstance(plan.schema[name], Text) for name in names):
        return f"attribute {names[0]!r}: is a text, which is found or not, and has no margin: see hush.floors"
    return f"attribute {names[0]!r}: the plan does not ask about it alone, so it has no margin of its own"


def _check_margin(margin: float) -> None:
    if not isinstance(margin, int | float) or not 0 < margin < math.inf:
        raise DesignError("a margin is a number above 0")


def _of(found: Sequence[Prospect], schema: Schema, attribute: str | None) -> list[Prospect]:
    if attribute is not None:
        schema[attribute]  # raises an error that lists the names, if there is no such attribute
    return [one for one in found if attribute in (None, one.attribute.name)]
