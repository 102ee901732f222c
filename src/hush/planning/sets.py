"""Sentences about the choices of a plan: how they are asked, and the error of the other way."""

from __future__ import annotations

import math

from hush.core.channels import Picks
from hush.core.design.sets import member_error, picks_error
from hush.core.plan import Plan, Question
from hush.core.schema import Choices
from hush.core.views import Value
from hush.core.word_views import Member
from hush.show.tables import number


def notes(plan: Plan) -> list[str]:
    """Return a sentence for every attribute of choices that the plan asks alone."""
    found = []
    for choices in plan.schema.attributes:
        if not isinstance(choices, Choices):
            continue
        alone = [question for question in plan.questions if _is_alone(question, choices.name)]
        if alone:
            found.append(_note(plan, choices, isinstance(alone[0].channel, Picks)))
    return found


def _is_alone(question: Question, name: str) -> bool:
    (view, *others) = question.views
    return not others and isinstance(view, Value | Member) and view.attribute == name


def _note(plan: Plan, choices: Choices, whole: bool) -> str:
    """Compare both ways for people who answer this attribute alone: for others the chances are the same."""
    members = min(
        len(choices.values) / k * member_error(plan.cost / plan.k / k, choices)
        for k in range(1, min(len(choices.values), 16) + 1)
    )
    picked = picks_error(plan.cost / plan.k, choices)
    how = "one question about all values" if whole else "a question about each value"
    other = "a question about each" if whole else "one question about all"
    mine, theirs = (picked, members) if whole else (members, picked)
    told = f"{choices.name}: {how}. If n people answer, the predicted variance of a share is {number(mine)}/n"
    return f"{told}." if math.isinf(theirs) else f"{told}; with {other} it would be {number(theirs)}/n."
