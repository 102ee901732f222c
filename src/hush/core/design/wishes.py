"""The wishes behind a plan, found by designing it again.

A plan holds channels, not the wishes of `design` that led to them. To design another plan in the same way, such as the
second round of a pilot, `wishes_of` reads them off the questions and designs the same plan with them. If that does not
give the same plan to the last integer, some wish is not in the plan, and nothing is guessed: a prior (`objective`),
weights by `importance`, channels made by hand, or a design by another version of hush.

Relations and ranges are refused as well. Their questions look at numbers through bands and products, which are fixed
places on the scale of the number: on another range they would have to be chosen anew.

`k="best"` is taken before a number, as the best number of questions may change with the schema. `k="paper"` depends on
epsilon and on the number of questions alone, so the number itself is as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

from hush.core.channels import Cube, Signs
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.numeric import NUMERIC
from hush.core.design.plans import design
from hush.core.plan import Plan, Question
from hush.core.schema import Attribute, Categorical, Choices, Numeric
from hush.core.word_views import Member
from hush.errors import DesignError


def wishes_of(plan: Plan) -> dict[str, Any]:
    """Return arguments with which `design` makes the same plan of the same schema, epsilon and title."""
    if any(question.plain is None and not _is_member(question) for question in plan.questions):
        raise DesignError("a plan that asks about relations or ranges cannot be designed again from its questions")
    for wishes in _candidates(plan):
        with suppress(DesignError):
            if design(plan.schema, plan.epsilon, title=plan.title, after=plan.after, **wishes) == plan:
                return wishes
    raise DesignError(
        "this plan cannot be designed again from its questions: importance, a prior (objective), relations, and "
        "channels made by hand or by another version of hush leave no trace in it"
    )


def _candidates(plan: Plan) -> Iterator[dict[str, Any]]:
    together = [question for question in plan.questions if len(question.views) > 1]
    block = next((name for kind, name in ((Signs, "duchi-multi"), (Cube, "cube")) if _has(plan, kind)), None)
    for k in ("weighted",) if plan.weights is not None else ("best", plan.k, "all"):
        share = plan.cost / (len(plan.schema) if k == "all" else plan.k)
        numeric = block or _used(plan, share, NUMERIC, "minimax", numbers=True)
        categorical = _used(plan, share, CATEGORICAL, "subset", numbers=False)
        if numeric is not None and categorical is not None:
            joint = () if block else tuple(question.attributes for question in together)
            wishes = {"numeric": numeric, "categorical": categorical, "k": k, "joint": joint}
            yield wishes
            if any(isinstance(attribute, Choices) for attribute in plan.schema.attributes):
                yield from ({**wishes, "choices": way} for way in ("members", "picks", "pairs"))


def _is_member(question: Question) -> bool:
    """Say whether a question is about one value of choices."""
    return len(question.views) == 1 and isinstance(question.views[0], Member)


def _has(plan: Plan, kind: type[Any]) -> bool:
    return any(isinstance(question.channel, kind) for question in plan.questions)


def _used(plan: Plan, share: Fraction, makers: dict[str, Any], usual: str, *, numbers: bool) -> str | None:
    """Return the name of the channels of single numbers, or categories; the usual one if the plan has none."""
    for question, (first, *others) in zip(plan.questions, plan.attributes, strict=True):
        if others or isinstance(first, Choices) or isinstance(first, Categorical) is numbers or _is_wide(first):
            continue
        given = first.optional if numbers else len(first.labels)  # type: ignore[union-attr]
        for name, make in makers.items():
            with suppress(DesignError):
                if make(share, given) == question.channel:
                    return name
        return None
    return usual


def _is_wide(attribute: Attribute) -> bool:
    return isinstance(attribute, Numeric) and attribute.scale == "log"
