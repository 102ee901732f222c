"""One panel each for means, shares, a distribution, relations, margins, reports over time, and rounds of a training.

A panel is a specification for data of a known form. It does not fix the source of the data: pictures of the command
line contain theirs, and the collector's dashboard passes new data by name again and again. It does not fix the colours
either: marks name a style, and a theme defines its look. Needs `pip install 'hush-ldp[plot]'`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

try:
    import altair as alt
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("pictures need Altair: pip install 'hush-ldp[plot]'", name=error.name) from None

from hush.core.calendar import Date, Time
from hush.core.schema import Numeric

Data = alt.InlineData | alt.NamedData
Width = int | Literal["container"]
C = TypeVar("C", alt.Chart, alt.LayerChart, alt.VConcatChart)
Panel = alt.Chart | alt.LayerChart | alt.FacetChart

MAX_BARS = 32
NAME = "rows"
"""The name of a panel's data on the dashboard."""

BLUE, RED = "#2b6cb0", "#c2410c"
COLOURS = (BLUE, RED, "#4d7c0f", "#7e22ce", "#0f766e", "#a16207")
LIGHT_COLOURS = ("#8cc1ff", "#ffa262", "#a5d86e", "#d8b4fe", "#5eead4", "#fcd34d")  # for dark surfaces
SHADES = {"light": ("#f3f7fc", "#8cc1ff"), "dark": ("#1c2330", "#1d5796")}
"""The cells of tables, from none to the largest share. Texts of the theme are readable on all of them."""
SHORT = "format(datum.value, abs(datum.value) < 1000 ? '~r' : '~s')"  # Vega's: 20000 as 20k, and 0.0000002 as it is
LONG = ",.6~r"
"""The format of tooltips that have a number of the attribute, as in web/pages/charts.ts: no power of ten."""

CLOCK = """[
  timeFormat(datum.value, seconds(datum.value) ? '%H:%M:%S' : '%H:%M'),
  datum.index == 0 || (!hours(datum.value) && !minutes(datum.value)) ? timeFormat(datum.value, '%Y-%m-%d') : ''
]""".replace("\n", " ")  # Vega's: the date beneath the first time, and beneath midnight


def mean(data: Data, title: str, width: Width = 480, labels: str = SHORT) -> Panel:
    """Draw a mean with its interval, on the scale of its attribute. Rows: what, point, low, high, start, end.

    The grey line is the domain from start to end; the axis has room for an interval that leaves it.
    """
    x = alt.X("start:Q", scale=alt.Scale(zero=False, nice=False), axis=_numbers(title, labels))
    base = alt.Chart(data).encode(y=alt.Y("what:N", title=None, axis=alt.Axis(domain=False, ticks=False)))
    track = base.mark_rule(style="track", strokeWidth=8).encode(x=x, x2="end:Q")
    tooltip = _tooltip(LONG)
    dot = base.mark_point(style="estimate", filled=True, size=70, opacity=1).encode(x=alt.X("point:Q"), tooltip=tooltip)
    return alt.layer(track, dot, *_interval(base, tooltip)).properties(width=width, height=30)


def _interval(base: alt.Chart, tooltip: list[alt.Tooltip]) -> list[alt.Chart]:
    """Draw an interval from low to high, with its ends: above dots, so that a narrow one is seen on them.

    It has their tooltip, as it may cover them.
    """
    base = base.encode(tooltip=tooltip)
    line = base.mark_rule(style="interval", strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    ends = [base.mark_tick(style="interval", thickness=2, size=11).encode(x=f"{end}:Q") for end in ("low", "high")]
    return [line, *ends]


def shares(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw shares as bars with their intervals, in the order of the rows. Rows: what, point, low, high."""
    return alt.layer(*_bars(data, title)).properties(width=width, height=alt.Step(18))


def floored(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw shares likewise, with a dashed line beneath which a share cannot be told from none.

    Rows have a `floor` too, the same for all.
    """
    noise = alt.Chart(data).mark_rule(style="floor", strokeDash=[5, 4]).encode(x="max(floor):Q")
    return alt.layer(*_bars(data, title), noise).properties(width=width, height=alt.Step(18))


def _bars(data: Data, title: str) -> list[alt.Chart]:
    base = alt.Chart(data).encode(y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=140)))
    tooltip = _tooltip(".2~%")
    bars = base.mark_bar(style="estimate", opacity=0.6, height=12).encode(
        x=alt.X("point:Q", axis=alt.Axis(title=title, format="~%", tickCount=6, labelOverlap=True)), tooltip=tooltip
    )
    return [bars, *_interval(base, tooltip)]


def distribution(data: Data, title: str, width: Width = 480, labels: str = SHORT) -> Panel:
    """Draw a distribution in bins of equal width. Rows: start, end, share, and `what` the values are, in words."""
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_bar(style="estimate", binSpacing=1)
        .encode(
            x=alt.X("start:Q", bin="binned", scale=alt.Scale(zero=False, nice=False), axis=_numbers(title, labels)),
            x2="end:Q",
            y=alt.Y("share:Q", axis=alt.Axis(title="share", format="~%", tickCount=4)),
            tooltip=[
                alt.Tooltip("what:N", title="values"),
                alt.Tooltip("share:Q", format=".2~%"),
            ],
        )
        .properties(width=width, height=140)
    )
    return chart


def table(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw a table as a heat map. Rows: row, column, point, share, margin; the last two are texts.

    The colours of both themes leave the texts readable on every cell. A cell without a point has no colour.
    """
    top = alt.Axis(title=title, orient="top", domain=False, ticks=False, labelAngle=0, labelLimit=110)
    base = alt.Chart(data).encode(
        x=alt.X("column:N", sort=None, axis=top),
        y=alt.Y("row:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=140)),
    )
    tooltip = [
        alt.Tooltip("row:N"),
        alt.Tooltip("column:N"),
        alt.Tooltip("share:N", title="estimate"),
        alt.Tooltip("margin:N"),
    ]
    cells = (
        base.transform_filter("isValid(datum.point)")
        .mark_rect(tooltip=True)
        .encode(color=alt.Color("point:Q", scale=alt.Scale(domainMin=0, clamp=True), legend=None), tooltip=tooltip)
    )
    shares = base.mark_text(style="label", dy=-6, fontSize=12).encode(text="share:N", tooltip=tooltip)
    margins = base.mark_text(style="label", dy=9, fontSize=10).encode(text="margin:N", tooltip=tooltip)
    return alt.layer(cells, shares, margins).properties(width=width, height=alt.Step(36))


def groups(data: Data, title: str, width: Width = 480, labels: str = SHORT) -> Panel:
    """Draw the means of groups as dots with their intervals, in the order of the rows. Rows: what, point, low, high."""
    return alt.layer(*_dots(data, title, labels)).properties(width=width, height=alt.Step(22))


def differences(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw differences between groups likewise, with a line at 0: an interval beside it shows a difference."""
    zero = alt.Chart(data).mark_rule(style="track", strokeWidth=3, aria=False).encode(x=alt.datum(0))
    return alt.layer(zero, *_dots(data, title)).properties(width=width, height=alt.Step(22))


def _dots(data: Data, title: str, labels: str = SHORT) -> list[alt.Chart]:
    base = alt.Chart(data).encode(y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)))
    x = alt.X("point:Q", scale=alt.Scale(zero=False), axis=_numbers(title, labels))
    tooltip = _tooltip(LONG)
    dots = (
        base.transform_filter("isValid(datum.point)")
        .mark_point(style="estimate", filled=True, size=70, opacity=1)
        .encode(x=x, tooltip=tooltip)
    )
    return [dots, *_interval(base.transform_filter("isValid(datum.low) && isValid(datum.high)"), tooltip)]


def below(data: Data, title: str, width: Width = 480, labels: str = SHORT) -> Panel:
    """Draw the shares below cuts as a line with a band, and quantiles as dots.

    Rows of kind "below": value, share, low, high (shares). Rows of kind "quantile": value, share, start, end (values).
    """
    x = alt.X("value:Q", scale=alt.Scale(zero=False, nice=False), axis=_numbers(title, labels))
    y = alt.Y("share:Q", axis=alt.Axis(title="share below", format="~%", tickCount=5))
    base = alt.Chart(data)
    curve = base.transform_filter("datum.kind == 'below'")
    tooltip = [alt.Tooltip("value:Q", format=LONG), alt.Tooltip("share:Q", title="share below", format=".2~%")]
    band = curve.mark_area(style="interval", opacity=0.25).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    line = curve.mark_line(style="estimate", strokeWidth=2).encode(x=x, y=y, tooltip=tooltip)
    marked = base.transform_filter("datum.kind == 'quantile'")
    lines = marked.mark_rule(style="interval", strokeWidth=2).encode(x=alt.X("start:Q"), x2="end:Q", y=y)
    dots = marked.mark_point(style="estimate", filled=True, size=70, opacity=1).encode(x=x, y=y, tooltip=tooltip)
    return alt.layer(band, line, dots, lines).properties(width=width, height=220)


def timeline(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw how many reports there were at each time. Rows: time (milliseconds since 1970), total."""
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_area(style="estimate", interpolate="step-after", opacity=0.35, line={"style": "estimate"})
        .encode(
            x=alt.X("time:T", axis=alt.Axis(title="time", labelExpr=CLOCK, tickCount=5, labelOverlap=True)),
            y=alt.Y("total:Q", axis=alt.Axis(title=title, labelExpr=SHORT, tickCount=4)),
        )
        .properties(width=width, height=140)
    )
    return chart


def periods(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw an estimate in each period with its interval, in the order of the rows. Rows: what, point, low, high."""
    return _periods(data, alt.Axis(title=title, labelExpr=SHORT, tickCount=4), LONG, width)


def period_shares(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw a share in each period likewise."""
    return _periods(data, alt.Axis(title=title, format="~%", tickCount=4), ".2~%", width)


def _periods(data: Data, axis: alt.Axis, form: str, width: Width) -> Panel:
    days = alt.Axis(labelAngle=0, labelOverlap=True, labelLimit=110)
    base = alt.Chart(data).encode(x=alt.X("what:N", sort=None, title=None, axis=days))
    line = base.mark_line(style="estimate", opacity=0.5).encode(
        y=alt.Y("point:Q", scale=alt.Scale(zero=False), axis=axis)
    )
    dots = base.mark_point(style="estimate", filled=True, size=50, opacity=1).encode(
        y="point:Q", tooltip=_tooltip(form)
    )
    rules = base.mark_rule(style="interval", strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q")
    return alt.layer(line, dots, rules).properties(width=width, height=130)


def promises(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw predicted margins as bars, with the achieved ones as dots. Rows: what, predicted, achieved; both margins as
    parts of the attribute's scale.
    """
    base = alt.Chart(data).encode(y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=140)))
    tooltip = [
        alt.Tooltip("what:N", title="of"),
        alt.Tooltip("predicted:Q", format=".3~%"),
        alt.Tooltip("achieved:Q", format=".3~%"),
    ]
    bars = base.mark_bar(style="track", height=12).encode(
        x=alt.X("predicted:Q", axis=alt.Axis(title=title, format="~%", tickCount=5, labelOverlap=True)), tooltip=tooltip
    )
    dots = base.mark_point(style="estimate", filled=True, size=70, opacity=1).encode(x="achieved:Q", tooltip=tooltip)
    return alt.layer(bars, dots).properties(width=width, height=alt.Step(20))


def loss(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw the loss of each round with its interval. Rows: round, loss, low, high."""
    y = alt.Y("loss:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=title, labelExpr=SHORT, tickCount=4))
    base = alt.Chart(data).encode(x=_rounds())
    rules = base.mark_rule(style="interval", strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(style="estimate").encode(y=y)
    dots = base.mark_point(style="estimate", filled=True, size=50, opacity=1).encode(
        y=alt.Y("loss:Q"),
        tooltip=[alt.Tooltip("round:Q"), alt.Tooltip("loss:Q", format=".4~r")],
    )
    return alt.layer(line, dots, rules).properties(width=width, height=180)


def weights(data: Data, title: str, width: Width = 480) -> Panel:
    """Draw weights by round, a line for each. Rows: round, what, value."""
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_line(point=True)
        .encode(
            x=_rounds(),
            y=alt.Y("value:Q", axis=alt.Axis(title=title, tickCount=5)),
            color=alt.Color("what:N", sort=None, legend=alt.Legend(title=None, orient="bottom", columns=4)),
            tooltip=[
                alt.Tooltip("round:Q"),
                alt.Tooltip("what:N", title="weight"),
                alt.Tooltip("value:Q", format=".4~r"),
            ],
        )
        .properties(width=width, height=220)
    )
    return chart


PANELS: dict[str, tuple[Callable[[Data, str, Width], Panel], str]] = {
    "mean": (mean, "mean"),
    "shares": (shares, "share"),
    "floored": (floored, "share"),
    "distribution": (distribution, "value"),
    "table": (table, ""),
    "groups": (groups, "mean"),
    "differences": (differences, "difference"),
    "below": (below, "value"),
    "timeline": (timeline, "reports"),
    "periods": (periods, "mean"),
    "period_shares": (period_shares, "share"),
    "promises": (promises, "margin, as a part of the scale"),
    "loss": (loss, "loss of held-out people"),
    "weights": (weights, "weight"),
}
"""Every panel, with the title of its axis where a heading has the rest."""


def named() -> dict[str, dict[str, Any]]:
    """Return the specification of every panel, as wide as its container, for data that come later under `NAME`."""
    return {
        name: make(alt.NamedData(name=NAME), title, "container").to_dict() for name, (make, title) in PANELS.items()
    }


def theme(name: Literal["light", "dark"]) -> dict[str, Any]:
    """Return a configuration of Vega-Lite: the look of the styles that panels name."""
    dark = name == "dark"
    text, quiet, line, edge, surface, track = (
        ("#eceff4", "#b3bccb", "#363e4b", "#8b95a6", "#14171d", "#4a5363")
        if dark
        else ("#1b1f27", "#4b5563", "#e5e7eb", "#9ca3af", "#ffffff", "#d5d9e0")
    )
    colours = LIGHT_COLOURS if dark else COLOURS
    return {
        "background": surface,
        "view": {"stroke": None},
        "axis": {
            "gridColor": line,
            "domainColor": edge,
            "tickColor": edge,
            "labelColor": text,
            "titleColor": text,
        },
        "legend": {"labelColor": text, "titleColor": text},
        "header": {"labelColor": text, "titleColor": text},
        "title": {"anchor": "start", "fontSize": 15, "color": text, "subtitleColor": quiet, "offset": 12},
        "range": {"category": list(colours), "heatmap": list(SHADES[name])},
        "style": {
            "estimate": {"color": colours[0]},
            "interval": {"color": colours[1]},
            "track": {"color": track},
            "floor": {"color": text},
            "label": {"color": text},
        },
    }


def styled(chart: C) -> C:
    """Return a chart of its own, in light colours."""
    made: Any = chart.copy()
    made.config = alt.Config.from_dict(theme("light"))
    return cast(C, made)


def log_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round ticks of a logarithmic axis: 1, 2, 5, 10, ..., or only powers of ten if there are more than `most`.

    On a short axis, where fewer than two of these lie, the ticks are equally spaced.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, every in (((1, 2, 5), 1), ((1, 3), 1), *(((1,), step) for step in range(1, last - first + 2))):
        ticks = [float(f"{factor}e{power}") for power in range(first, last + 1, every) for factor in factors]
        inside = [tick for tick in ticks if low <= tick * 1.0000001 and tick <= high * 1.0000001]
        if len(inside) <= most:
            break
    if len(inside) > 1:
        return inside
    step = 10.0 ** math.floor(math.log10((high - low) / 2)) if high > low else 0.0
    if step <= 0:
        return [low]
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most - 1)
    return [float(f"{place * step:.12g}") for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_x(field: str, values: Sequence[float], title: str, ticks: Sequence[float] | None = None) -> alt.X:
    """Return a logarithmic axis for these values, with round ticks or with those given."""
    return alt.X(field, scale=alt.Scale(type="log", nice=False, padding=8), axis=_log_axis(values, title, ticks))


def log_y(field: str, values: Sequence[float], title: str) -> alt.Y:
    """Return the same for the other direction."""
    return alt.Y(field, scale=alt.Scale(type="log", nice=False, padding=6), axis=_log_axis(values, title, None))


def _log_axis(values: Sequence[float], title: str, ticks: Sequence[float] | None) -> alt.Axis:
    chosen = list(ticks) if ticks else log_ticks(min(values), max(values))
    return alt.Axis(values=chosen, title=title, labelExpr=SHORT, labelOverlap=True, grid=False)


def dates(number: Numeric | None) -> str:
    """Return how an axis is labelled: by dates or times of day, if these are the words of a number."""
    if isinstance(number, Time):
        return f"utcFormat(datum.value * {1000 * number.step}, '%H:%M{':%S' if number.step % 60 else ''}')"
    return "utcFormat(datum.value * 86400000, '%Y-%m-%d')" if isinstance(number, Date) else SHORT


def _numbers(title: str, labels: str = SHORT) -> alt.Axis:
    return alt.Axis(title=title, labelExpr=labels, tickCount=6, labelOverlap=True)


def _rounds() -> alt.X:
    axis = alt.Axis(title="round", format="d", tickMinStep=1)
    return alt.X("round:Q", scale=alt.Scale(nice=False, zero=False, padding=8), axis=axis)


def _tooltip(form: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("what:N", title="of"),
        alt.Tooltip("point:Q", title="estimate", format=form),
        alt.Tooltip("low:Q", title="from", format=form),
        alt.Tooltip("high:Q", title="to", format=form),
    ]
