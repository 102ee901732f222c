"""What all estimates of relations have in common: their rows, and intervals by inverting a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.binomial import normal
from hush.server.estimates import MAX_LEVEL, few, too_few
from hush.server.intervals import Interval, beyond, edge, laid, needed, says_nothing
from hush.show.rows import Rows
from hush.show.tables import Table, percent, within


@dataclass(frozen=True)
class Related:
    """An estimate of an attribute (its mean, or the share of a category) in a group by another attribute.

    For a share of a table, `category` and `group` name the cell; for the mean of a group `category` is None; for an
    association of two numbers both are None. `answers` is the number of answers to all questions that it comes from.
    `needed`: there are too few answers to say anything, and about so many are needed. Then the point is NaN.
    """

    attribute: str
    category: str | int | None
    by: str
    group: str | int | None
    point: float
    stderr: float
    low: float
    high: float
    answers: int
    needed: int | None = None


class Relations(Rows[Related]):
    """A list of estimates of relations, with the level of their intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "by": str,
        "group": str,
        "point": float,
        "stderr": float,
        "low": float,
        "high": float,
        "answers": int,
        "needed": float,
    }
    _rare: ClassVar = ("needed",)
    _note: ClassVar[str] = ""

    def __init__(
        self,
        rows: Iterable[Related] = (),
        *,
        level: float | None = None,
        simultaneous: bool = False,
        named: Callable[[float], str | None] | None = None,
    ) -> None:
        super().__init__(rows)
        self.level, self.simultaneous = level, simultaneous
        self.number: Numeric | None = None
        self._named = named  # the words for their numbers, if they have some

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown = []
        for row in self:
            point, low, high = map(within(row.low, row.high, self._named), (row.point, row.low, row.high))
            shown.append((self._what(row), few(row, point), f"{low} .. {high}", f"{row.answers:,}"))
        columns = (self._heading(), "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, notes=self._notes())

    def _heading(self) -> str:
        return "relation"

    def _what(self, row: Related) -> str:
        return f"{row.attribute} by {row.by}"

    def _notes(self) -> tuple[str, ...]:
        together = ("All intervals hold together with the stated probability.",) if self.simultaneous else ()
        notes = (*together, self._note) if self._note else together
        return (*notes, *too_few((self._what(row), row.answers, row.needed) for row in self))


def checked_level(level: float, rows: int = 1, simultaneous: bool = False) -> float:
    """Return the level of each interval: with `simultaneous`, all rows hold together with probability `level`.

    Then each interval may err with a part of 1 - level only (Bonferroni's inequality).
    """
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    if type(simultaneous) is not bool:
        raise EstimateError("simultaneous must be True or False")
    return 1 - (1 - level) / rows if simultaneous else level


def related(names: Names, point: float, stderr: float, ends: Interval, domain: Interval, answers: int) -> Related:
    """Return a row with its interval laid into its domain, and refused if that says nothing."""
    low, high = laid(ends, point, domain)
    if math.isnan(point) or says_nothing((low, high), domain):
        return Related(*names, math.nan, math.inf, low, high, answers, needed(answers, ends, domain))
    return Related(*names, point, stderr, low, high, answers)


Names = tuple[str, str | int | None, str, str | int | None]
"""The attribute, category, other attribute and group of a row."""


def score(
    point: float, variance: Callable[[float], float], level: float, ends: Interval, step: float = 0.0
) -> Interval:
    """Return every x for which a point is plausible: (point - x)^2 <= z^2 * variance(x). It may leave the ends.

    Reports move a point in steps. Half of the largest one is taken off the distance, as a correction for continuity.

    `variance(x)` is that of the point if x is true. It is taken to be no less than that at the point itself: where all
    people seem to be in one place, the variance elsewhere would fall to almost nothing, and reject the truth.
    """
    z2 = normal(level) ** 2
    low, high = ends
    least = variance(min(max(point, low), high))

    def plausible(x: float) -> bool:
        away = max(abs(point - x) - step / 2, 0.0)
        return away * away <= z2 * max(variance(min(max(x, low), high)), least)

    reach = math.sqrt(z2 * max(variance(low), variance(high), least)) + (high - low) + step
    return edge(plausible, point, point - reach), edge(plausible, point, point + reach)


def quotient(top: float, bottom: float, spread: Callable[[float], float], level: float, ends: Interval) -> Interval:
    """Return Fieller's interval (1954) for top/bottom: all x with (top - x*bottom)^2 <= z^2*spread(x).

    It may leave the ends. If the divisor may be 0, it has no bounds.
    """
    z2 = normal(level) ** 2
    low, high = ends
    if not bottom > 0 or math.isnan(top):
        return -math.inf, math.inf
    point = top / bottom
    least = spread(min(max(point, low), high))

    def plausible(x: float) -> bool:
        return (top - x * bottom) ** 2 <= z2 * max(spread(min(max(x, low), high)), least)

    return beyond(plausible, point, high - low)
