"""Pictures of relations: tables as heat maps, means by group, and the shares below the cuts of a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from hush.plots import panels
from hush.plots.panels import MAX_BARS, styled
from hush.server.relations.crosstabs import Crosstab
from hush.server.relations.groups import Differences, Means
from hush.server.relations.ranges import Quantiles, Shares
from hush.server.relations.rows import Related
from hush.show.tables import counted, farther, percent, within

import altair as alt  # isort: skip - after hush.plots.panels, whose error explains how to install it

WIDE = 86  # pixels of a column with a share and its margin in it
MOST = 12  # columns with texts: more of them are too narrow
OF = {"all": "of all people", "rows": "of each row", "columns": "of each column"}


def crosstab(rows: Crosstab) -> alt.LayerChart:
    """Draw a table as a heat map: in each cell the share in per cent, and its margin.

    Of many rows or columns, those with the largest cells are drawn.
    """
    down, fewer = _largest((row.category, row.point) for row in rows)
    across, narrower = _largest((row.group, row.point) for row in rows)
    values = [_cell(row, len(across) <= MOST) for row in rows if row.category in down and row.group in across]
    first = rows[0]
    width = WIDE * len(across) if len(across) <= MOST else 40 * len(across)
    told = [f"Per cent {OF[rows.shares]}, with {percent(rows.level, 'margins')}."]
    left = [counted(number, what) for number, what in ((fewer, "row"), (narrower, "column")) if number]
    if left:
        told.append(f"Not drawn: {' and '.join(left)}, with smaller cells.")
    title = alt.Title(f"{first.attribute} by {first.by}", subtitle=told)
    chart = cast(alt.LayerChart, panels.table(alt.InlineData(values=values), first.by, width))
    return styled(chart.properties(title=title))


def _largest(points: Iterable[tuple[Any, float]]) -> tuple[set[Any], int]:
    """Return the rows or columns with the largest cells, at most `MAX_BARS`; and how many others there are."""
    largest: dict[Any, float] = {}
    for name, point in points:
        largest[name] = max(point if math.isfinite(point) else -math.inf, largest.get(name, -math.inf))
    kept = sorted(largest, key=lambda name: largest[name], reverse=True)[:MAX_BARS]
    return set(kept), len(largest) - len(kept)


def _cell(row: Related, texts: bool) -> dict[str, Any]:
    """Return a cell of a heat map: its share with two digits for the margin, as tables have it."""
    write = within(100 * row.low, 100 * row.high)
    known = math.isfinite(row.point)
    wide = f"±{write(100 * farther(row.point, row.low, row.high))}" if known else "too few"
    return {
        "row": str(row.category),
        "column": str(row.group),
        "point": row.point if known else None,
        "share": write(100 * row.point) if texts and known else "",
        "margin": wide if texts else "",
    }


def means(rows: Means) -> alt.LayerChart:
    """Draw the means of groups, as dots with their intervals."""
    return _grouped(rows, "groups", f"Mean of {rows[0].attribute} by {rows[0].by}")


def differences(rows: Differences) -> alt.LayerChart:
    """Draw the differences between groups, with a line at 0."""
    return _grouped(rows, "differences", f"Differences of {rows[0].attribute} by {rows[0].by}")


def _grouped(rows: Means | Differences, panel: str, heading: str) -> alt.LayerChart:
    order = sorted(range(len(rows)), key=lambda place: (not math.isfinite(rows[place].point), _width(rows[place])))
    drawn = [rows[place] for place in sorted(order[: 2 * MAX_BARS])]  # those that are known best
    values = [
        {
            "what": str(row.group) + (" (too few answers)" if row.needed is not None else ""),
            "point": _finite(row.point),
            "low": _finite(row.low),
            "high": _finite(row.high),
        }
        for row in drawn
    ]
    told = [f"With {percent(rows.level, 'intervals')}."]
    if left := len(rows) - len(drawn):
        told.append(f"Not drawn: {counted(left, panel[:-1])}, with wider intervals.")
    title = alt.Title(heading, subtitle=told)
    data = alt.InlineData(values=values)
    if panel == "groups":
        made = panels.groups(data, rows[0].attribute, 480, panels.dates(rows.number))
    else:
        made = panels.differences(data, rows[0].attribute, 480)
    chart = cast(alt.LayerChart, made)
    return styled(chart.properties(title=title))


def below(rows: Shares, quantiles: Quantiles | None = None) -> alt.LayerChart:
    """Draw the shares of people below the cuts of a number, with a band of intervals; and quantiles upon them."""
    values = [
        {"kind": "below", "value": row.cut, "share": _finite(row.point), "low": row.low, "high": row.high}
        for row in rows
    ]
    return _ranged(rows, values + _marks(quantiles or ()), f"How {rows[0].attribute} is spread")


def quantiles(rows: Quantiles) -> alt.LayerChart:
    """Draw quantiles of a number with their intervals: the share below each value."""
    return _ranged(rows, _marks(rows), f"Quantiles of {rows[0].attribute}")


def _marks(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {"kind": "quantile", "value": _finite(row.point), "share": row.share, "start": row.low, "end": row.high}
        for row in rows
    ]


def _ranged(rows: Shares | Quantiles, values: list[dict[str, Any]], heading: str) -> alt.LayerChart:
    sure = percent(rows.level, "intervals")
    title = alt.Title(heading, subtitle=f"The share of people up to each value, with {sure}.")
    data, labels = alt.InlineData(values=values), panels.dates(rows.number)
    chart = cast(alt.LayerChart, panels.below(data, rows[0].attribute, 480, labels))
    return styled(chart.properties(title=title))


def _width(row: Related) -> float:
    return row.high - row.low


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
