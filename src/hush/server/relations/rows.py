"""What all estimates of relations have in common: their rows, and intervals by inverting a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.binomial import normal
from hush.server.estimates import MAX_LEVEL
from hush.server.intervals import Interval, clamped, edge
from hush.show.rows import Rows
from hush.show.tables import Table, percent, within


@dataclass(frozen=True)
class Related:
    """An estimate of an attribute (its mean, or the share of a category) in a group by another attribute.

    For a share of a table, `category` and `group` name the cell; for the mean of a group `category` is None; for an
    association of two numbers both are None. `answers` is the number of answers to all questions that it comes from.
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
    }
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
            shown.append((self._what(row), point, f"{low} .. {high}", f"{row.answers:,}"))
        columns = (self._heading(), "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, notes=self._notes())

    def _heading(self) -> str:
        return "relation"

    def _what(self, row: Related) -> str:
        return f"{row.attribute} by {row.by}"

    def _notes(self) -> tuple[str, ...]:
        together = ("All intervals hold together with the stated probability.",) if self.simultaneous else ()
        return (*together, self._note) if self._note else together


def checked_level(level: float, rows: int = 1, simultaneous: bool = False) -> float:
    """Return the level of each interval: with `simultaneous`, all rows hold together with probability `level`.

    Then each interval may err with a part of 1 - level only (Bonferroni's inequality).
    """
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    if type(simultaneous) is not bool:
        raise EstimateError("simultaneous must be True or False")
    return 1 - (1 - level) / rows if simultaneous else level


def score(point: float, variance: Callable[[float], float], level: float, ends: Interval) -> Interval:
    """Return every x for which a point is plausible: (point - x)^2 <= z^2 * variance(x).

    `variance(x)` is that of the point if x is true. Truths lie between the ends, so the interval is cut there.
    """
    z2 = normal(level) ** 2
    low, high = ends
    reach = math.sqrt(z2 * max(variance(low), variance(high), variance(min(max(point, low), high)))) + (high - low)

    def plausible(x: float) -> bool:
        return (point - x) ** 2 <= z2 * variance(min(max(x, low), high))

    found = edge(plausible, point, point - reach), edge(plausible, point, point + reach)
    return clamped(found, ends)


def quotient(top: float, bottom: float, spread: Callable[[float], float], level: float, ends: Interval) -> Interval:
    """Return Fieller's interval (1954) for top/bottom within the ends: all x with (top - x*bottom)^2 <= z^2*spread(x).

    If the divisor may be 0, all of the ends is plausible.
    """
    z2 = normal(level) ** 2
    low, high = ends
    if not bottom > 0 or math.isnan(top):
        return ends

    def plausible(x: float) -> bool:
        return (top - x * bottom) ** 2 <= z2 * spread(x)

    inside = min(max(top / bottom, low), high)
    return edge(plausible, inside, low), edge(plausible, inside, high)
