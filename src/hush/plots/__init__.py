"""Pictures of a collection: margins before anybody is asked, the law of one report, estimates and relations in the end.

Each function returns an Altair chart, computed from the exact channels. `save` writes it as SVG, PNG or HTML, without a
browser or a network. The functions need `pip install 'hush-ldp[plot]'`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

from hush.core.design import design
from hush.core.kinds import NO, YES
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Choices, Numeric, Schema
from hush.errors import DesignError, EstimateError
from hush.planning import laws
from hush.planning.assumed import Guesses
from hush.planning.predictions import Prediction, by_target, predict
from hush.plots import panels
from hush.plots.panels import BLUE, COLOURS, MAX_BARS, RED, styled
from hush.plots.relations import below, crosstab, differences, means, quantiles
from hush.server.distributions import Distribution
from hush.server.estimates import Estimate, Estimates
from hush.show.tables import number, percent

import altair as alt  # isort: skip - after hush.plots.panels, whose error explains how to install it

Chart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.ConcatChart

__all__ = [
    "below",
    "comparison",
    "crosstab",
    "differences",
    "distribution",
    "estimates",
    "law",
    "margin_pages",
    "margins",
    "means",
    "pages",
    "quantiles",
    "save",
    "save_pages",
]

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
PEOPLE = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
TICKS = {"epsilon": (0.25, 0.5, 1, 2, 4)}
FEW = 6  # epsilons that are ticks themselves
MAX_PANELS = 16


def pages(rows: Sequence[Any]) -> list[list[str]]:
    """Return the attributes of estimates, predictions or errors, divided into pages of `MAX_PANELS` panels at most.

        for names in plots.pages(rows):
            plots.estimates(rows.of(*names), schema)

    There is always one page. Attributes that nobody has answered yet have no panel.
    """
    panels_of: dict[str, set[str]] = {}
    for row in rows:
        if not math.isnan(getattr(row, "point", 0.0)) or getattr(row, "answers", 0) > 0:
            kind = getattr(row, "target", "mean" if row.category is None else "share")
            panels_of.setdefault(row.attribute, set()).add(kind)
    found: list[list[str]] = [[]]
    size = 0
    for name, kinds in panels_of.items():
        if found[-1] and size + len(kinds) > MAX_PANELS:
            found.append([])
            size = 0
        found[-1].append(name)
        size += len(kinds)
    return found


def _check_size(count: int) -> None:
    if count > MAX_PANELS:
        raise DesignError(
            f"{count} panels are too many to read: choose attributes with {MAX_PANELS} at most "
            "(hush.plots.pages divides them)"
        )


def targets(rows: Sequence[Prediction]) -> list[tuple[str, Prediction]]:
    """Name each prediction. Of the shares of one attribute, keep only the one with the largest margin."""
    return [
        (f"{name}, {what}", max(group, key=lambda row: row.margin)) for (name, what), group in by_target(rows).items()
    ]


def margins(
    subject: Plan | Schema,
    *,
    people: int = 100_000,
    epsilon: float = 1.0,
    level: float = 0.95,
    attributes: Sequence[str] | None = None,
    guesses: Guesses | None = None,
    make: Callable[[Schema, float], Plan] = design,
) -> alt.VConcatChart:
    """Draw the margin of each mean and share against epsilon (for this many people), and against the number of people.

    For a plan, its own margin is a dot, and the number of people varies under that plan. `make(schema, epsilon)` makes
    the plans for other epsilons; by default it is `hush.design` with its defaults. For a schema, the plan is designed
    for `epsilon`.
    """
    plan = subject if isinstance(subject, Plan) else make(subject, epsilon)
    names = list(attributes or plan.schema.names)
    return margin_pages(plan, [names], people=people, level=level, guesses=guesses, make=make)[0]


def margin_pages(
    plan: Plan,
    parts: Sequence[Sequence[str]],
    *,
    people: int = 100_000,
    level: float = 0.95,
    guesses: Guesses | None = None,
    make: Callable[[Schema, float], Plan] = design,
) -> list[alt.VConcatChart]:
    """Draw `margins` of each of these parts of the attributes. Everything is predicted once, for all of them."""
    for name in chain.from_iterable(parts):
        plan.schema[name]  # raises an error that lists the names, if there is no such attribute

    def values(some: Plan, count: int, kind: str) -> list[dict[str, Any]]:
        found = targets(predict(some, count, level=level, guesses=guesses))
        common = {"epsilon": some.epsilon, "people": count, "kind": kind}
        return [{"of": row.attribute, "target": name, "margin": row.margin, **common} for name, row in found]

    dots = values(plan, people, "this plan")
    orders = [[dot["target"] for dot in dots if dot["of"] in names] for names in parts]
    for order in orders:
        _check_size(len(order))
    by_epsilon = [value for e in EPSILONS for value in values(make(plan.schema, e), people, "designed")]
    by_people = [value for some in sorted({*PEOPLE, people}) for value in values(plan, some, "designed")]
    title = alt.Title(
        "How far off will the estimates be?",
        subtitle=f"Margin of the {100 * level:g} % interval, on the scale of each attribute; the dot is {people:,} "
        f"people at epsilon = {plan.epsilon:g}. Both axes are logarithmic.",
    )
    pages = []
    for order in orders:
        blocks = [
            _panels(by_epsilon + dots, order, "epsilon", "epsilon per person", f"With {people:,} people"),
            _panels(by_people + dots, order, "people", "people asked", f"At epsilon = {plan.epsilon:g}"),
        ]
        together: alt.VConcatChart = alt.vconcat(*blocks, spacing=24).properties(title=title)
        pages.append(styled(together))
    return pages


def _panels(values: list[dict[str, Any]], order: list[str], field: str, label: str, title: str) -> alt.ConcatChart:
    made = []
    for name in order:
        rows = [{key: row[key] for key in row if key != "of"} for row in values if row["target"] == name]
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=panels.log_x(f"{field}:Q", [row[field] for row in rows], label, TICKS.get(field)),
            y=panels.log_y("margin:Q", [row["margin"] for row in rows], "margin"),
        )
        line = base.transform_filter("datum.kind == 'designed'").mark_line(color=BLUE, point=False, strokeWidth=2)
        dot = base.transform_filter("datum.kind == 'this plan'").mark_point(color=RED, filled=True, size=60, opacity=1)
        made.append(_small(alt.layer(line, dot), name))
    return _block(made, title)


def _small(chart: panels.Panel, name: str) -> panels.Panel:
    title = alt.Title(name, fontSize=11, anchor="middle", offset=4, fontWeight="normal", limit=180)
    return chart.properties(width=140, height=100, title=title)


def _block(made: Sequence[panels.Panel], title: str) -> alt.ConcatChart:
    block: alt.ConcatChart = alt.concat(*made, columns=4, spacing=16, title=alt.Title(title, fontSize=12))
    return block


def comparison(rows: Sequence[Any]) -> alt.VConcatChart:
    """Draw the errors of several designs against epsilon (`hush.compare`): a panel for each mean or list of shares.

    The vertical lines are two standard errors of the errors themselves, as they come from a few repetitions.
    """
    if not rows:
        raise DesignError("there is nothing to draw: no design was compared")
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(f"{row.attribute}, {row.target}", []).append(row)
    _check_size(len(groups))
    names = list(dict.fromkeys(row.design for row in rows))
    made = []
    for name, group in groups.items():
        known = [row for row in group if row.error > 0]
        if known:
            made.append(_small(_errors(known, names), name))
    title = alt.Title(
        "How far off are the designs on these data?",
        subtitle="Typical error of an estimate, with two standard errors. Computed from raw data: not private.",
    )
    together: alt.VConcatChart = alt.vconcat(_block(made, "")).properties(title=title)
    return styled(together)


def _errors(rows: Sequence[Any], names: list[str]) -> panels.Panel:
    values = []
    for row in rows:
        spread = 0.0 if math.isnan(row.stderr) else 2 * row.stderr
        ends = {"low": max(row.error - spread, row.error / 10), "high": row.error + spread}
        values.append({"design": row.design, "epsilon": row.epsilon, "error": row.error} | ends)
    everything = [value[key] for value in values for key in ("low", "high")]
    y = panels.log_y("error:Q", everything, "error")
    epsilons = sorted({row.epsilon for row in rows})
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=panels.log_x("epsilon:Q", epsilons, "epsilon per person", epsilons if len(epsilons) <= FEW else None),
        color=alt.Color("design:N", sort=names, title="design", scale=alt.Scale(domain=names)),
    )
    tooltip = [alt.Tooltip("design:N"), alt.Tooltip("epsilon:Q"), alt.Tooltip("error:Q", format=".3~r")]
    lines = base.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=y)
    dots = base.mark_point(filled=True, size=24, opacity=1).encode(y=y, tooltip=tooltip)
    rules = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    return alt.layer(lines, dots, rules)


def law(plan: Plan, attribute: str, values: Sequence[object] = ()) -> alt.Chart:
    """Draw the possible reports of people with these values: a bar for each output (or group of outputs) and value.

    Where the bars of two values have similar heights, a report hardly distinguishes the values. The bars of one output
    differ by at most a factor e^epsilon. Without values, the picture shows the ends and the middle of a number, or the
    first three categories.
    """
    if not len(values):
        values = _some(plan.schema[attribute])
    distinct = {_value_label(value): value for value in values}  # equal bars would be stacked
    names, values = list(distinct), list(distinct.values())
    rows = laws.rows(plan, attribute, values, most=MAX_BARS)
    data = [
        {"order": order, "report": row.label, "value": name, "probability": float(probability)}
        for order, row in enumerate(rows)
        for name, probability in zip(names, row.probabilities, strict=True)
    ]
    labels = json.dumps([row.label for row in rows])
    factor = math.ceil(laws.favour(plan, attribute, values) * 100) / 100  # rounded up: it is a bound
    subtitle = ["Each colour shows what a person with that value may report when asked."]
    if len(names) > 1:
        subtitle.append(f"No report is more than {factor:g} times likelier for one of them than for another.")
    if isinstance(plan.schema[attribute], Numeric):
        what = "report, shown as the number that it counts as"
    else:
        what = "report" if rows[0].partition else "contents of the report"
    # Vega would drop overlapping labels, perhaps that of "missing": choose some of them, and keep the last.
    ticks = sorted({*range(0, len(rows) - 1, math.ceil(len(rows) / 10)), len(rows) - 1})
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar()
        .encode(
            x=alt.X(
                "order:O",
                axis=alt.Axis(title=what, labelExpr=f"{labels}[datum.value]", labelAngle=-45, values=ticks),
            ),
            xOffset=alt.XOffset("value:N", sort=names),
            y=alt.Y("probability:Q", axis=alt.Axis(title="probability", format="~%", tickCount=5)),
            color=alt.Color("value:N", sort=names, title=attribute, scale=alt.Scale(range=list(COLOURS))),
        )
        .properties(
            width=560, height=220, title=alt.Title(f"What one report says about {attribute!r}", subtitle=subtitle)
        )
    )
    return styled(chart)


def estimates(rows: Sequence[Estimate], schema: Schema, *, level: float | None = None) -> alt.VConcatChart:
    """Draw estimates with their intervals: means as points on the attribute's own scale, shares as bars.

    Of an attribute with more than 32 categories, the picture shows those with the largest shares. An estimate with too
    few answers has its interval alone. Attributes that nobody has answered yet are left out. Rows of `hush.estimate`
    know their level; give it for others.
    """
    if level is None and isinstance(rows, Estimates):
        level = rows.level
    groups: dict[tuple[str, bool], list[Estimate]] = {}
    for row in rows:
        if row.answers > 0 or not math.isnan(row.point):
            groups.setdefault((row.attribute, row.category is None), []).append(row)
    if not groups:
        raise EstimateError("there is nothing to draw: nobody has answered yet")
    _check_size(len(groups))
    panels = []
    for (name, mean), group in groups.items():
        field = schema[name]
        panels.append(_mean(group[0], field) if mean and isinstance(field, Numeric) else _shares(name, group))
    title = alt.Title(
        "What the reports say",
        subtitle=f"Estimates with {percent(level, 'intervals')}, each from those who answered.",
    )
    together: alt.VConcatChart = alt.vconcat(*panels, spacing=20).properties(title=title)
    return styled(together)


def distribution(found: Distribution) -> alt.Chart:
    """Draw the distribution of a number: a bar for each bin."""
    # A bar of a whole number stands over it.
    middle = 0.5 if found.number is not None and found.number.whole else 0.0
    bins = zip(found.edges, found.edges[1:], found.shares, found.bins, strict=False)
    values = [
        {"start": start - middle, "end": end - middle, "share": share, "what": what} for start, end, share, what in bins
    ]
    return styled(
        cast(
            alt.Chart,
            panels.distribution(alt.InlineData(values=values), found.attribute, labels=panels.dates(found.number)),
        )
    )


def _mean(row: Estimate, field: Numeric) -> panels.Panel:
    values = [_bounds(row, "mean") | {"start": field.low, "end": field.high}]
    return panels.mean(alt.InlineData(values=values), row.attribute, labels=panels.dates(field))


def _shares(name: str, rows: Sequence[Estimate]) -> panels.Panel:
    order = sorted(range(len(rows)), key=lambda place: _size(rows[place]), reverse=True)[:MAX_BARS]
    drawn = [rows[place] for place in sorted(order)]
    left = len(rows) - len(drawn)
    title = f"{name}, share" + (f" ({left:,} smaller ones are not drawn)" if left else "")
    return panels.shares(alt.InlineData(values=[_bounds(row, str(row.category)) for row in drawn]), title)


def _bounds(row: Estimate, what: str) -> dict[str, Any]:
    """Return a row of a picture. Without a point, as there are too few answers, its interval is drawn alone."""
    known = not math.isnan(row.point)
    words = what if known else f"{what} (too few answers)"
    return {"what": words, "point": row.point if known else None, "low": row.low, "high": row.high}


def _size(row: Estimate) -> float:
    return -math.inf if math.isnan(row.point) else row.point


def _some(field: Attribute) -> Sequence[object]:
    if isinstance(field, Numeric):
        return field.examples
    if isinstance(field, Choices):
        return [[], list(field.values[:1]), list(field.values[: min(field.most, 2)])]
    return field.values[:3]


def _value_label(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, list):
        return " + ".join(value) or "(none)"
    return number(value, 12) if isinstance(value, float) else str(value)


def save(chart: Chart, path: str | Path) -> None:
    """Write a chart as SVG, PNG or a page of HTML, by the suffix of the path. A page loads nothing from elsewhere."""
    import vl_convert  # noqa: F401 - Altair would fail later, and less clearly

    form = _form(path)
    options: dict[str, Any] = {"inline": True} if form == "html" else {"scale_factor": 2 if form == "png" else 1}
    chart.save(str(path), format=form, **options)


def save_pages(charts: Sequence[Chart], path: str | Path) -> list[Path]:
    """Write a chart or several, and return their files: margins.svg, margins-2.svg, margins-3.svg."""
    _form(path)
    first = Path(path)
    names = [first if page == 1 else first.with_stem(f"{first.stem}-{page}") for page in range(1, len(charts) + 1)]
    for chart, name in zip(charts, names, strict=True):
        save(chart, name)
    return names


def _form(path: str | Path) -> Literal["svg", "png", "html"]:
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in ("svg", "png", "html"):
        raise DesignError("a picture is written to a file that ends in .svg, .png or .html")
    return cast(Literal["svg", "png", "html"], suffix)
