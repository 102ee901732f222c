"""Lines and bars of the figures that are not surveys: a panel for each list of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.reproduce.frame import Row


def lines(
    panels: dict[str, list[Row]],
    title: str,
    x: str,
    y: str,
    by: str,
    *,
    names: tuple[str, str] | None = None,
    order: Sequence[str] | None = None,
    log: tuple[bool, bool] = (False, True),
    columns: int = 2,
    points: bool = True,
    apart: bool = False,
) -> Any:
    """Draw y against x, a line for each value of `by`.

    `names`: titles of the axes; `log`: of x and of y; `apart`: each panel has lines, and a legend, of its own.
    """
    import altair as alt

    x_title, y_title = names or (x, y)
    charts = []
    for name, rows in panels.items():
        across = alt.X(f"{x}:Q").scale(type="log" if log[0] else "linear", nice=False, zero=False).title(x_title)
        if log[0]:
            across = across.axis(values=sorted({row[x] for row in rows}), format="~g")
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=across,
            y=alt.Y(f"{y}:Q").scale(type="log" if log[1] else "linear", zero=False).title(y_title),
            color=alt.Color(f"{by}:N").title(None).sort(_listed(order, rows, by)),
        )
        mark = base.mark_line(point=alt.OverlayMarkDef(size=40)) if points else base.mark_line()
        charts.append(mark.properties(width=240, height=200, title=name))
    chart = alt.concat(*charts, columns=columns).properties(title=title)
    return chart.resolve_scale(color="independent") if apart else chart


def _listed(order: Sequence[str] | None, rows: list[Row], by: str) -> list[str]:
    """Return the names in a legend: in the given order, or that of the rows."""
    return list(order or dict.fromkeys(row[by] for row in rows))


def bars(
    panels: dict[str, list[Row]],
    title: str,
    x: str,
    y: str,
    by: str,
    *,
    names: tuple[str, str] | None = None,
    order: Sequence[str] | None = None,
    columns: int = 2,
) -> Any:
    """Draw bars side by side: a group for each x, a colour for each value of `by`."""
    import altair as alt

    x_title, y_title = names or (x, y)
    charts = [
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X(f"{x}:O").title(x_title),
            y=alt.Y(f"{y}:Q").title(y_title),
            color=alt.Color(f"{by}:N").title(None).sort(_listed(order, rows, by)),
            xOffset=alt.XOffset(f"{by}:N").sort(_listed(order, rows, by)),
        )
        .properties(width=240, height=200, title=name)
        for name, rows in panels.items()
    ]
    return alt.concat(*charts, columns=columns).properties(title=title)
