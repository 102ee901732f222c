"""The relations that a plan asks about, and for which there are estimates."""

from __future__ import annotations

from typing import NamedTuple

from hush.core.channels import Cells, Rows, Subset, Unary
from hush.core.plan import Plan, Question
from hush.core.views import Bands, Product, Sides

RANGE = 4
"""A number is asked about as a range if it is alone in at least this many bands: one cut says nothing of quantiles."""


class Relation(NamedTuple):
    """A kind of relation, and its attributes: rows and columns, a number and its groups, two numbers, or a range."""

    kind: str
    attribute: str
    by: str | None


def related(plan: Plan) -> list[Relation]:
    """Return the relations of a plan in the order of its questions, each once."""
    squares = {
        view.of[0]
        for question in plan.questions
        if isinstance(view := question.views[0], Product) and len(set(view.of)) == 1
    }
    found = (_of(question, squares) for question in plan.questions)
    return list(dict.fromkeys(one for one in found if one is not None))


def _of(question: Question, squares: set[str]) -> Relation | None:
    channel, views = question.channel, question.views
    first, last = views[0].of[0], views[-1].of[-1]
    if isinstance(channel, Cells) and len(views) == 2 and None not in channel.sizes:
        return Relation("table", first, last)
    if isinstance(channel, Rows):
        return Relation("means", last, first)
    if isinstance(views[0], Sides):
        return Relation("association", first, last)
    if isinstance(views[0], Product) and first != last and {first, last} <= squares:
        return Relation("moments", first, last)
    alone = len(views) == 1 and isinstance(channel, Subset | Unary)
    if alone and isinstance(views[0], Bands) and len(views[0].cuts) + 1 >= RANGE:
        return Relation("range", first, None)
    return None
