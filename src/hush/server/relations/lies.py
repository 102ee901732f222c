"""How far malicious reports can have moved estimates of relations.

A malicious report may answer any question with any output. In a question whose reports are sets it counts for several
cells or groups at once: a report of the rows channel moves the means of w groups. Each report replaces at most one set
by another, so with n answers a weighted sum of shares moves by at most reports/n times the range of that sum over all
sets: the w largest weights minus the w smallest. If several questions are pooled, the one that moves the sum most
counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from hush.core.channels import Cells, Rows
from hush.core.looking import View
from hush.core.schema import Numeric
from hush.core.views import Sides
from hush.errors import EstimateError
from hush.server.relations.associations import moved
from hush.server.relations.crosstabs import Grid, tabulated
from hush.server.relations.groups import grouped
from hush.server.relations.margins import Part
from hush.server.sources import Scale
from hush.server.tally import Tally
from hush.show.rows import Rows as ListedRows
from hush.show.tables import Table, number


@dataclass(frozen=True)
class Shift:
    """The most by which malicious reports can have moved a point of a relation."""

    attribute: str
    category: str | int | None
    by: str
    group: str | int | None
    shift: float


class Shifts(ListedRows[Shift]):
    """A list of the largest shifts of relations, for this many malicious reports."""

    _columns: ClassVar = {"attribute": str, "category": str, "by": str, "group": str, "shift": float}

    def __init__(self, rows: Iterable[Shift] = (), *, reports: int | None = None) -> None:
        super().__init__(rows)
        self.reports = reports

    def table(self) -> Table:
        """Return them, with the number of malicious reports beneath."""
        shown = []
        for row in self:
            what = ", ".join(str(part) for part in (row.category, row.group) if part is not None) or "association"
            shown.append((f"{row.attribute} by {row.by}", what, "±" + number(row.shift)))
        notes = () if self.reports is None else (f"If {self.reports:,} of the reports are malicious.",)
        return Table(("relation", "estimate", "moved by at most"), shown, texts=2, notes=notes)


def shifts(tally: Tally, reports: int) -> Shifts:
    """Return how far each estimate of a relation can have been moved if this many of the reports are malicious."""
    if not isinstance(tally, Tally):
        raise EstimateError("shifts(tally, reports) needs a Tally")
    if type(reports) is not int or reports < 0:
        raise EstimateError("the number of malicious reports must be a whole number, 0 or more")
    found: list[Shift] = []
    for index, question in enumerate(tally.plan.questions):
        if not tally.answers(index):
            continue
        channel, views = question.channel, question.views
        if isinstance(channel, Cells) and len(views) == 2 and None not in channel.sizes:
            found += _table(tally, views, channel, reports)
        elif isinstance(channel, Rows):
            found += _groups(tally, views, reports)
        elif isinstance(views[0], Sides):
            first, second = views[0].attributes
            found.append(Shift(first, None, second, None, moved(tally, first, second, reports)))
    return Shifts(found, reports=reports)


def _table(tally: Tally, views: tuple[View, ...], channel: Cells, reports: int) -> list[Shift]:
    grid = tabulated(tally, views[0].of[0], views[1].of[0])
    beside = [
        [max((_part(part, len(margin.labels)) for part in margin.parts if part.question != grid.question), default=0.0)]
        for margin in (grid.first, grid.second)
    ]
    rows, columns = len(grid.first.labels), len(grid.second.labels)
    own = _own(grid, channel.weight) / grid.cells.n
    shift = reports * max(own, beside[0][0] / columns, beside[1][0] / rows)
    return [
        Shift(views[0].of[0], label, views[1].of[0], other, min(shift, 1.0 / (grid.cells.law.p - grid.cells.law.q)))
        for label in grid.first.labels
        for other in grid.second.labels
    ]


def _own(grid: Grid, weight: int) -> float:
    """Return how far one set of cells moves the share of a cell."""
    rows, columns = len(grid.first.labels), len(grid.second.labels)
    alpha = (grid.first.own(grid.question) - 1) / columns
    beta = (grid.second.own(grid.question) - 1) / rows
    weights = [1 + alpha + beta, *[alpha] * (columns - 1), *[beta] * (rows - 1), *[0.0] * ((rows - 1) * (columns - 1))]
    return _range(weights, weight) / (grid.cells.law.p - grid.cells.law.q)


def _part(part: Part, size: int) -> float:
    """Return how far one report to another question moves a pooled share."""
    law, n = part.shares.law, part.shares.n
    chosen = round(law.p + (size * part.cells - 1) * law.q)  # how many items a report names
    most = min(chosen, part.cells)
    return part.weight * most / (law.p - law.q) / n


def _range(weights: list[float], size: int) -> float:
    """Return the range of a sum over sets of this size."""
    ordered = sorted(weights)
    return math.fsum(ordered[len(ordered) - size :]) - math.fsum(ordered[:size])


def _groups(tally: Tally, views: tuple[View, ...], reports: int) -> list[Shift]:
    number, by = views[1].of[0], views[0].of[0]
    found = grouped(tally, number, by)
    scale = Scale(found.number, None)
    assert isinstance(tally.plan.schema[number], Numeric)
    return [
        Shift(number, None, by, label, scale.half * found.shift(j, reports)) for j, label in enumerate(found.labels)
    ]
