"""Cross-tabs: the shares of all cells of a table of two attributes, of its rows or of its columns.

**Pooled margins.** The plan may say something of an attribute in other questions too: alone, in other tables, as the
groups of means. With margins pooled from all of them (`hush.server.relations.margins`) a table gets

    cell + (pooled row - own row)/columns + (pooled column - own column)/rows.

That is linear, so it is unbiased, and its variance is known exactly from the laws of the channels. It needs 1.5 times
fewer people for ten attributes in all pairs.

**Intervals.** An interval has every share x for which the estimate is plausible, given the variance that it has if x is
true: Wilson's interval, for sums of several questions. Shares of rows and columns are quotients, with intervals of
Fieller (1954): if a row may be empty, nothing is known about the shares within it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from hush.core.channels import Cells
from hush.core.looking import View
from hush.errors import EstimateError
from hush.server.intervals import Interval
from hush.server.relations.margins import Margin, margin
from hush.server.relations.rows import Related, Relations, checked_level, quotient, related, score
from hush.server.relations.sets import Counted, Sums, counted
from hush.server.tally import Tally
from hush.show.tables import Table, farther, within

if TYPE_CHECKING:
    import altair as alt

Shares = Literal["all", "rows", "columns"]
_WIDE = 8  # columns of a table that fit side by side


class Crosstab(Relations):
    """The shares of a table: `attribute` and `category` are its row, `by` and `group` its column."""

    shares: Shares = "all"

    def table(self) -> Table:
        """Return it as people draw it: rows, columns, and in each cell the share with its margin."""
        columns = list(dict.fromkeys(row.group for row in self))
        if len(columns) > _WIDE or len(self) % max(len(columns), 1):
            return super().table()
        lines: dict[object, list[str]] = {}
        for row in self:
            shown = within(100 * row.low, 100 * row.high)
            wide = 100 * farther(row.point, row.low, row.high)
            cell = "too few" if row.needed is not None else f"{shown(100 * row.point)} ±{shown(wide)}"
            lines.setdefault(row.category, []).append(cell)
        names = (self[0].attribute + " \\ " + self[0].by, *map(str, columns)) if self else ("",)
        what = {"all": "of all people", "rows": "of each row", "columns": "of each column"}[self.shares]
        level = "" if self.level is None else f", with margins of {100 * self.level:g} %"
        notes = (f"Per cent {what}{level}. From {self[0].answers:,} answers.",) if self else ()
        return Table(names, [(str(name), *cells) for name, cells in lines.items()], notes=(*notes, *self._notes()))

    def plot(self) -> alt.LayerChart:
        """Draw it as a heat map, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.crosstab(self)

    def _heading(self) -> str:
        return "cell"

    def _what(self, row: Related) -> str:
        return f"{row.category}, {row.group}"


def crosstab(
    tally: Tally,
    attribute: str,
    by: str,
    *,
    shares: Shares = "all",
    level: float = 0.95,
    pooled: bool = True,
    simultaneous: bool = False,
) -> Crosstab:
    """Return the shares of the cells of a table, with intervals.

    `shares` is "all" (of all people), "rows" (of the people with that category of `attribute`) or "columns". Margins
    are pooled from all questions about the two attributes, unless `pooled` is False. With `simultaneous` all intervals
    of the table hold together with the stated probability.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("crosstab(tally, attribute, by) needs a Tally")
    if shares not in ("all", "rows", "columns"):
        raise EstimateError('shares must be "all", "rows" or "columns"')
    grid = tabulated(tally, attribute, by, pooled)
    rows, columns = len(grid.first.labels), len(grid.second.labels)
    each = checked_level(level, rows * columns, simultaneous)
    found = []
    for i in range(rows):
        for j in range(columns):
            point, stderr, ends = grid.cell(i, j, each) if shares == "all" else grid.part(i, j, each, shares)
            names = attribute, grid.first.labels[i], by, grid.second.labels[j]
            found.append(related(names, point, stderr, ends, (0.0, 1.0), grid.answers))
    made = Crosstab(found, level=level, simultaneous=simultaneous)
    made.shares = shares
    return made


@dataclass(frozen=True)
class Grid:
    """A table with its pooled margins. Cells are those of the question, row by row, or column by column if `turned`."""

    question: int
    cells: Counted
    first: Margin
    second: Margin
    turned: bool

    @property
    def answers(self) -> int:
        """The number of answers to all questions that it comes from."""
        parts = {part.question: part.shares.n for part in (*self.first.parts, *self.second.parts)}
        return round(sum({**parts, self.question: self.cells.n}.values()))

    def at(self, i: int, j: int) -> int:
        """Return the cell of a row and a column among those of the question."""
        return j * len(self.first.labels) + i if self.turned else i * len(self.second.labels) + j

    def _sums(self, values: list[float]) -> tuple[list[float], list[float]]:
        """Return the sums over rows and over columns of numbers for each cell of the question."""
        rows, columns = range(len(self.first.labels)), range(len(self.second.labels))
        return (
            [math.fsum(values[self.at(i, j)] for j in columns) for i in rows],
            [math.fsum(values[self.at(i, j)] for i in rows) for j in columns],
        )

    @cached_property
    def margins(self) -> tuple[list[float], list[float]]:
        """The pooled shares of rows and columns."""
        return self.first.points, self.second.points

    @cached_property
    def points(self) -> list[list[float]]:
        """The shares of all cells, by row."""
        rows, columns = self._sums(self.cells.points)
        a, b = self.margins
        return [
            [
                self.cells.points[self.at(i, j)] + (a[i] - rows[i]) / len(b) + (b[j] - columns[j]) / len(a)
                for j in range(len(b))
            ]
            for i in range(len(a))
        ]

    @cached_property
    def _masses(self) -> list[tuple[list[float], list[float], list[float]]]:
        """The shares of cells, rows and columns that variances use; and the same with one person more for each cell."""
        return [(cells, *self._sums(cells)) for cells in (self.cells.shares, self.cells.fuller)]

    @cached_property
    def _owns(self) -> tuple[float, float]:
        """The weights of the question's own margins in the pools."""
        return self.first.own(self.question), self.second.own(self.question)

    @cached_property
    def _beside(self) -> tuple[list[float], list[float]]:
        """The variances of the other questions' parts of the margins."""
        rows, columns = len(self.first.labels), len(self.second.labels)
        return (
            [self.first.variance(_unit(rows, i), self.question) for i in range(rows)],
            [self.second.variance(_unit(columns, j), self.question) for j in range(columns)],
        )

    def variance(self, i: int, j: int, share: float, x: float = 0.0, y: float = 0.0) -> float:
        """Return the variance of (cell - x*pooled row - y*pooled column), if the cell has this share.

        The other cells keep their proportions.
        """
        rows, columns = len(self.first.labels), len(self.second.labels)
        # The question's own margins are taken out of its cells, and come back as a part of the pools.
        alpha = (self._owns[0] - 1) / columns - x * self._owns[0]
        beta = (self._owns[1] - 1) / rows - y * self._owns[1]
        corner = 1 + alpha + beta
        found = 0.0
        for cells, in_rows, in_columns in self._masses:
            f = cells[self.at(i, j)]
            rest = (1 - share) / (1 - f) if f < 1 else 0.0
            right, below = (in_rows[i] - f) * rest, (in_columns[j] - f) * rest
            weights = Sums(
                1 + columns * alpha + rows * beta,
                corner**2 + (columns - 1) * alpha**2 + (rows - 1) * beta**2,
                corner * share + alpha * right + beta * below,
                corner**2 * share + alpha**2 * right + beta**2 * below,
            )
            found = max(found, self.cells.variance(weights))
        others = (1 / columns - x) ** 2 * self._beside[0][i] + (1 / rows - y) ** 2 * self._beside[1][j]
        return found + others

    def noise(self, share: float) -> float:
        """Return the variance of a cell of the question itself with this share, without any pooling."""
        return self.cells.variance(Sums(1.0, 1.0, share, share))

    def cell(self, i: int, j: int, level: float) -> tuple[float, float, Interval]:
        """Return the share of a cell, its standard error and its interval, which may leave 0..1."""
        point = self.points[i][j]

        def variance(x: float) -> float:
            return self.variance(i, j, x)

        step = 1 / self.cells.n / (self.cells.law.p - self.cells.law.q)
        return point, math.sqrt(variance(min(max(point, 0.0), 1.0))), score(point, variance, level, (0.0, 1.0), step)

    def part(self, i: int, j: int, level: float, of: Shares) -> tuple[float, float, Interval]:
        """Return the share of a cell among its row or its column, its standard error and its interval.

        The interval may leave 0..1, and has no bounds if the row or the column may be empty.
        """
        top, by_row = self.points[i][j], of == "rows"
        bottom = self.margins[0][i] if by_row else self.margins[1][j]
        if not bottom > 0:
            return math.nan, math.inf, (-math.inf, math.inf)

        def spread(x: float) -> float:
            return self.variance(i, j, min(max(x * bottom, 0.0), 1.0), x * by_row, x * (not by_row))

        point = top / bottom
        stderr = math.sqrt(spread(min(max(point, 0.0), 1.0))) / bottom
        return point, stderr, quotient(top, bottom, spread, level, (0.0, 1.0))


def _unit(size: int, at: int) -> list[float]:
    return [float(i == at) for i in range(size)]


def tabulated(tally: Tally, attribute: str, by: str, pooled: bool = True) -> Grid:
    """Return the table of two attributes, with pooled margins."""
    plan = tally.plan
    for name in (attribute, by):
        plan.schema[name]  # raises an error that lists the names, if there is no such attribute
    index = _table(tally, attribute, by)
    if index is None:
        raise EstimateError(
            f"attributes {attribute!r}, {by!r}: the plan has no table of them; design it with "
            f"relations=[({attribute!r}, {by!r})]"
        )
    question = plan.questions[index]
    if not tally.answers(index):
        raise EstimateError(f"attributes {attribute!r}, {by!r}: nobody has answered the question about them yet")
    first, second = question.views
    turned = first.of != (attribute,)
    if turned:
        first, second = second, first
    cells = counted(tally, index)
    only = None if pooled and plan.k == 1 else index
    return Grid(index, cells, margin(tally, first, only=only), margin(tally, second, only=only), turned)


def _table(tally: Tally, attribute: str, by: str) -> int | None:
    """Return the question about the table of two attributes."""
    for index, question in enumerate(tally.plan.questions):
        channel = question.channel
        names = [view.of for view in question.views]
        if isinstance(channel, Cells) and sorted(names) == sorted([(attribute,), (by,)]) and None not in channel.sizes:
            return index
    return None


def tables(tally: Tally) -> list[tuple[View, View]]:
    """Return the views of all tables of a plan."""
    found = []
    for question in tally.plan.questions:
        if isinstance(question.channel, Cells) and len(question.views) == 2 and None not in question.channel.sizes:
            found.append((question.views[0], question.views[1]))
    return found
