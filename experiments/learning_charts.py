"""The pictures of docs/learning-figures.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.cached import Row


def draw(
    results: dict[str, Any], folder: Path, methods: Sequence[str], tasks: Sequence[str], epsilons: Sequence[float]
) -> None:
    """Write the pictures of these methods and tasks to a folder."""
    folder.mkdir(exist_ok=True)
    _draw_excess(results["rows"], folder / "learning.svg", methods, tasks, epsilons)
    _draw_few(results["few"], folder / "statistics.svg")


def _draw_excess(
    found: Sequence[Row], path: Path, methods: Sequence[str], tasks: Sequence[str], epsilons: Sequence[float]
) -> None:
    import altair as alt

    kept = [r for r in found if r["method"] in methods and r["task"] in tasks and not r["everybody"]]
    values = [{**r, "excess": max(r["excess"], 1e-5)} for r in kept]
    base = alt.Chart().encode(
        x=alt.X("epsilon:Q").scale(type="log").axis(values=list(epsilons)).title("epsilon"),
        y=alt.Y("excess:Q").scale(type="log").title("excess error"),
        color=alt.Color("method:N").title(None).sort(list(methods)),
    )
    rows = []
    for data in dict.fromkeys(r["data"] for r in kept):
        line = []
        for task in tasks:
            chosen = alt.InlineData(values=[r for r in values if r["data"] == data and r["task"] == task])
            chart = alt.layer(base.mark_line(), base.mark_point(filled=True), data=chosen)
            line.append(chart.properties(width=200, height=190, title=f"{data}, {task}"))
        rows.append(alt.hconcat(*line))
    alt.vconcat(*rows).save(path)


def _draw_few(found: Sequence[Row], path: Path) -> None:
    import altair as alt

    points = [
        {
            "d": row["d"],
            "panel": f"{row['people']:,} people, epsilon {row['epsilon']:g}",
            "way": way,
            "excess": row[way],
            "chosen": row["chosen"] == way,
        }
        for row in found
        for way in ("statistics", "gradients")
    ]
    base = alt.Chart().encode(
        x=alt.X("d:Q").scale(type="log").axis(values=[1, 2, 3, 5, 10, 20, 40]).title("features"),
        y=alt.Y("excess:Q").scale(type="log").title("excess mean squared error"),
        color=alt.Color("way:N").title("line: error; circle: chosen"),
    )
    marked = base.transform_filter("datum.chosen").mark_point(filled=True, size=70)
    charts = []
    for name in dict.fromkeys(p["panel"] for p in points):
        chosen = alt.InlineData(values=[p for p in points if p["panel"] == name])
        charts.append(alt.layer(base.mark_line(), marked, data=chosen).properties(width=270, height=210, title=name))
    alt.concat(*charts, columns=2).save(path)
