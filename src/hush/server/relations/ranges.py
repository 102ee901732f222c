"""Ranges of a number: the share below every cut, quantiles, and the share of every interval.

`hush.server.relations.tree` has the shares.

**Quantiles.** A cut is plausible for a quantile if the interval of the share below it contains the quantile's share.
The interval of the quantile reaches from the cut before the first plausible one to the cut after the last. Its point is
where the nearest shares that increase reach it. Between two cuts nothing is known: values are taken as even there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.relations.rows import checked_level
from hush.server.relations.tree import fitted
from hush.server.tally import Tally
from hush.show.rows import R, Rows
from hush.show.tables import Table, number, percent, within

if TYPE_CHECKING:
    import altair as alt


class Levelled(Rows[R]):
    """Rows with the level of their intervals."""

    def __init__(self, rows: Iterable[R] = (), *, level: float | None = None, number: Numeric | None = None) -> None:
        super().__init__(rows)
        self.level, self.number = level, number


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
    }

    _scaled: ClassVar = ("point", "low", "high")

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown, named = [], None if self.number is None else self.number.named
        for row in self:
            point, low, high = map(within(row.low, row.high, named), (row.point, row.low, row.high))
            shown.append((row.attribute, f"{100 * row.share:g} % below", point, f"{low} .. {high}", f"{row.answers:,}"))
        return Table(("attribute", "quantile", "value", percent(self.level, "interval"), "answers"), shown, texts=2)

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
    }

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
            shown.append((row.attribute, what, point, f"{low} .. {high}", f"{row.answers:,}"))
        return Table(("attribute", "share", "value", percent(self.level, "interval"), "answers"), shown, texts=2)

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
        point, stderr, (low, high) = tree.below(tree.cuts.index(cut), each)
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
    bounds = [tree.below(place, level)[2] for place in range(len(tree.cuts))]
    rows = []
    for q in shares:
        point = tree.quantile(q)
        plausible = [place for place, (low, high) in enumerate(bounds) if low <= q <= high]
        rejected = [place for place, (_, high) in enumerate(bounds) if high < q]
        first = plausible[0] if plausible else len(rejected)
        last = plausible[-1] if plausible else len(rejected) - 1
        # The quantile lies between two cuts: behind the last that lies below it, and before the first above.
        low, high = tree.edges[first], tree.edges[last + 2]
        if tree.number.whole:  # a band ends with a whole number, and holds those up to it
            point, low, high = map(float, map(math.ceil, (point, low, high)))
        rows.append(Quantile(attribute, None, float(q), point, min(low, point), max(high, point), tree.answers))
    return Quantiles(rows, level=level, number=tree.number)
