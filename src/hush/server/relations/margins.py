"""The shares of one view of one attribute, pooled from all questions that look at it.

A category (or the bands of a number) may be asked alone, in tables, and as the groups of means. Each such question
gives unbiased shares of the same items, from other people. Their average, weighted by the inverse of the variance that
each would have if all shares were equal, is unbiased too: the weights depend on the plan and on the numbers of answers,
not on what was answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hush.core.channels import Cells, Rows, Subset, Unary
from hush.core.looking import View
from hush.core.plan import Plan
from hush.core.schema import Categorical, Numeric
from hush.errors import EstimateError
from hush.server.relations.sets import Counted, Sums, counted, sums
from hush.server.tally import Tally


@dataclass(frozen=True)
class Part:
    """The contribution of one question to a margin: a table has several cells for each item."""

    question: int
    shares: Counted
    cells: int  # how many cells of the question belong to one item
    first: bool  # whether the items are the rows of a table (or all its items), rather than its columns
    weight: float

    def points(self, size: int) -> list[float]:
        """Return the unbiased shares of the items."""
        found = self.shares.points
        if self.first:
            return [math.fsum(found[i * self.cells : (i + 1) * self.cells]) for i in range(size)]
        return [math.fsum(found[i::size]) for i in range(size)]

    def masses(self, size: int, full: bool) -> list[float]:
        """Return the shares of the items that variances use, perhaps with one person more for each item."""
        found = self.shares.fuller if full else self.shares.shares
        if self.first:
            return [math.fsum(found[i * self.cells : (i + 1) * self.cells]) for i in range(size)]
        return [math.fsum(found[i::size]) for i in range(size)]

    def variance(self, weights: Sequence[float], masses: Sequence[float]) -> float:
        """Return the variance of a weighted sum of the items' shares."""
        one = sums(weights, masses)
        # Each item stands for `cells` cells with the same weight.
        return self.shares.variance(Sums(self.cells * one.s, self.cells * one.s2, one.f, one.f2))


@dataclass(frozen=True)
class Margin:
    """The pooled shares of a view."""

    view: View
    labels: tuple[str | int, ...]
    parts: tuple[Part, ...]

    @property
    def answers(self) -> int:
        """The number of answers that it is pooled from."""
        return round(sum(part.shares.n for part in self.parts))

    @property
    def points(self) -> list[float]:
        """The pooled shares."""
        size = len(self.labels)
        found = [part.points(size) for part in self.parts]
        return [
            math.fsum(part.weight * points[i] for part, points in zip(self.parts, found, strict=True))
            for i in range(size)
        ]

    def masses(self, full: bool = False) -> list[float]:
        """The shares that variances use, from all parts together."""
        return self._masses[full]

    @cached_property
    def _masses(self) -> tuple[list[float], list[float]]:
        found = []
        for full in (False, True):
            parts = [(part.weight, part.masses(len(self.labels), full)) for part in self.parts]
            found.append([math.fsum(weight * one[i] for weight, one in parts) for i in range(len(self.labels))])
        return found[0], found[1]

    def own(self, question: int) -> float:
        """Return the weight of one question."""
        return math.fsum(part.weight for part in self.parts if part.question == question)

    def variance(self, weights: Sequence[float], without: int | None = None) -> float:
        """Return the variance of a weighted sum of the pooled shares (or of its parts except one question's)."""
        return max(
            math.fsum(
                part.weight**2 * part.variance(weights, masses) for part in self.parts if part.question != without
            )
            for masses in (self.masses(), self.masses(full=True))
        )


def margin(tally: Tally, view: View, pooled: bool = True, only: int | None = None) -> Margin:
    """Return the shares of a view, from all questions that look at it (or from one question only)."""
    plan = tally.plan
    seen = view.seen(plan.schema)
    assert isinstance(seen, Categorical)
    size = len(seen.labels)
    found = []
    for index, question in enumerate(plan.questions):
        if view not in question.views or (only is not None and index != only):
            continue
        if only is None and (not tally.answers(index) or (not pooled and len(question.views) > 1)):
            continue
        shape = _shape(plan, index, view, size)
        if shape is None:
            continue
        cells, first = shape
        shares = counted(tally, index)
        one = Sums(float(cells), float(cells), 1 / size, 1 / size)  # one item, if all shares are equal
        noise = shares.law.variance(one)
        found.append(Part(index, shares, cells, first, shares.n / noise))
    if plan.k > 1:  # the same people answer several questions: their answers are not independent
        found = found[:1]
    total = sum(part.weight for part in found)
    if not total:
        raise EstimateError(f"attribute {seen.name!r}: nobody has answered a question about it yet")
    return Margin(
        view,
        tuple(seen.labels),
        tuple(Part(p.question, p.shares, p.cells, p.first, p.weight / total) for p in found),
    )


def _shape(plan: Plan, index: int, view: View, size: int) -> tuple[int, bool] | None:
    """Return how many cells of a question belong to one item of a view, and whether they are neighbours."""
    question = plan.questions[index]
    channel, place = question.channel, question.views.index(view)
    if isinstance(channel, Subset | Unary):
        return 1, True
    if isinstance(channel, Rows) and place == 0:
        return 1, True
    if isinstance(channel, Cells) and len(channel.sizes) == 2 and None not in channel.sizes:
        return channel.cells // size, place == 0
    return None


def is_number(plan: Plan, attribute: str) -> bool:
    """Return whether an attribute is a number."""
    return isinstance(plan.schema[attribute], Numeric)
