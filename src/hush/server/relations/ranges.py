"""Ranges of a number: the share below every cut, quantiles, and the share of every interval.

`hush.server.relations.tree` has the shares.

**Quantiles.** The band between two neighbouring cuts is plausible for the quantile of a share q unless the interval of
the share below its lower cut lies above q, or that of the share below its upper cut lies below q. The interval of the
quantile has all plausible bands. One band holds the quantile, and each of its two ends rejects it wrongly with the
probability (1 - level)/2 at most, whoever the people are: heaps and gaps make no difference. Its point is where the
nearest shares that increase reach q. Between two cuts nothing is known: values are taken as even there.

**Where nobody is.** If half of the people lie at one end and half at the other, every value between them is a median.
The interval then has all of them, however many people answer, and is not refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.estimates import few, too_few
from hush.server.intervals import laid, needed, says_nothing
from hush.server.relations.rows import checked_level
from hush.server.relations.tree import fitted
from hush.server.tally import Tally
from hush.show.rows import Row, Rows
from hush.show.tables import Table, number, percent, within

if TYPE_CHECKING:
    import altair as alt


class _Answered(Row, Protocol):
    """A row from so many answers, and perhaps too few."""

    @property
    def answers(self) -> int:
        """The number of answers."""

    @property
    def needed(self) -> int | None:
        """About how many answers it takes to say something."""


A = TypeVar("A", bound=_Answered)


class Levelled(Rows[A]):
    """Rows with the level of their intervals."""

    def __init__(self, rows: Iterable[A] = (), *, level: float | None = None, number: Numeric | None = None) -> None:
        super().__init__(rows)
        self.level, self.number = level, number

    def _notes(self) -> tuple[str, ...]:
        return tuple(too_few((row.attribute, row.answers, row.needed) for row in self))


@dataclass(frozen=True)
class Quantile:
    """The value that a share of the people lie below, with its interval."""

    attribute: str
    category: None
    share: float
    point: float
    low: float
    high: float
    answers: int
    needed: int | None = None


class Quantiles(Levelled[Quantile]):
    """Quantiles of a number, with the level of their intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "share": float,
        "point": float,
        "low": float,
        "high": float,
        "answers": int,
        "needed": float,
    }
    _rare: ClassVar = ("needed",)

    _scaled: ClassVar = ("point", "low", "high")

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown, named = [], None if self.number is None else self.number.named
        for row in self:
            point, low, high = map(within(row.low, row.high, named), (row.point, row.low, row.high))
            what = f"{100 * row.share:g} % below"
            shown.append((row.attribute, what, few(row, point), f"{low} .. {high}", f"{row.answers:,}"))
        columns = ("attribute", "quantile", "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, texts=2, notes=self._notes())

    def plot(self) -> alt.LayerChart:
        """Draw them with their intervals, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.quantiles(self)


@dataclass(frozen=True)
class Below:
    """The share of people with a value of at most `cut`."""

    attribute: str
    category: None
    cut: float
    point: float
    stderr: float
    low: float
    high: float
    answers: int
    needed: int | None = None


class Shares(Levelled[Below]):
    """The shares below cuts of a number, with the level of their intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "cut": float,
        "point": float,
        "stderr": float,
        "low": float,
        "high": float,
        "answers": int,
        "needed": float,
    }
    _rare: ClassVar = ("needed",)

    _scaled: ClassVar = ("cut",)

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown = []
        for row in self:
            point, low, high = map(within(row.low, row.high), (row.point, row.low, row.high))
            named = self.number is not None and self.number.named(row.cut) is not None
            what = (
                self.number.spanned(None, row.cut) if self.number is not None and named else f"up to {number(row.cut)}"
            )
            shown.append((row.attribute, what, few(row, point), f"{low} .. {high}", f"{row.answers:,}"))
        columns = ("attribute", "share", "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, texts=2, notes=self._notes())

    def plot(self, quantiles: Quantiles | None = None) -> alt.LayerChart:
        """Draw them with a band of intervals, and perhaps quantiles, as an Altair chart.

        It needs `pip install 'hush-ldp[plot]'`.
        """
        from hush import plots

        return plots.below(self, quantiles)


def below(
    tally: Tally,
    attribute: str,
    cuts: Sequence[float | str | date] | None = None,
    *,
    level: float = 0.95,
    simultaneous: bool = False,
) -> Shares:
    """Return the share of people with a value up to each cut. By default they are all cuts that the plan asks about."""
    tree = fitted(tally, attribute)
    wanted = tree.cuts if cuts is None else [tree.number.cut(cut) for cut in cuts]
    for cut in wanted:
        if cut not in tree.cuts:
            nearest = min(tree.cuts, key=lambda known: abs(known - cut))
            known, best = (tree.number.named(one) or repr(one) for one in (cut, nearest))
            raise EstimateError(f"attribute {attribute!r}: the plan has no cut at {known}, the nearest is at {best}")
    each = checked_level(level, len(wanted), simultaneous)
    rows = []
    for cut in wanted:
        point, stderr, ends = tree.below(cut, each)
        low, high = laid(ends, point, (0.0, 1.0))
        if math.isnan(point) or says_nothing((low, high), (0.0, 1.0)):
            takes = needed(tree.answers, ends, (0.0, 1.0))
            rows.append(Below(attribute, None, cut, math.nan, math.inf, low, high, tree.answers, takes))
        else:
            rows.append(Below(attribute, None, cut, point, stderr, low, high, tree.answers))
    return Shares(rows, level=level, number=tree.number)


def quantiles(
    tally: Tally, attribute: str, shares: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9), *, level: float = 0.95
) -> Quantiles:
    """Return the values that these shares of the people lie below, with intervals."""
    if any(isinstance(q, bool) or not isinstance(q, int | float) or not 0 < q < 1 for q in shares):
        raise EstimateError("a quantile is for a share between 0 and 1")
    checked_level(level)
    tree = fitted(tally, attribute)
    inner = [laid(ends, point, (0.0, 1.0)) for point, _, ends in (tree.below(cut, level) for cut in tree.known)]
    bounds = [(0.0, 0.0), *inner, (1.0, 1.0)]  # nobody lies below the domain, and all below its end
    doubt = median(high - low for low, high in inner)
    domain = tree.number.low, tree.number.high
    rows = []
    for q in shares:
        plausible = [i for i, ((low, _), (_, high)) in enumerate(pairwise(bounds)) if low <= q <= high]
        low, high = tree.edges[plausible[0]], tree.edges[plausible[-1] + 1]
        point = min(max(tree.quantile(q), low), high)
        if tree.number.whole:  # a band ends with a whole number, and holds those up to it
            low = math.floor(low) + 1.0 if plausible[0] else low
            point, high = max(float(math.ceil(point)), low), float(math.ceil(high))
        least = min(q, 1 - q)
        if says_nothing((low, high), domain) and doubt > least:
            takes = needed(tree.answers, (0.0, doubt), (0.0, least))
            rows.append(Quantile(attribute, None, float(q), math.nan, low, high, tree.answers, takes))
        else:
            rows.append(Quantile(attribute, None, float(q), point, low, high, tree.answers))
    return Quantiles(rows, level=level, number=tree.number)
