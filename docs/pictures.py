"""Draws the pictures of the documents, from the programs themselves. `make docs` runs it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import altair as alt

from hush import compare, design, plots
from hush.core.design.categorical import subset
from hush.core.design.joint import table
from hush.core.schema import Categorical, Numeric, Schema
from hush.device.randomise import randomise_from
from hush.planning.shuffle import shuffle
from hush.plots import panels
from hush.server.estimates import estimate
from hush.server.relations.crosstabs import crosstab
from hush.server.relations.groups import means
from hush.server.relations.ranges import below, quantiles
from hush.server.tally import Tally
from hush.testing import SeededCoins

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from promise_tables import CROWD_EPSILONS, YES, at_most, margin  # noqa: E402  # a neighbour, not a part of the package
from shuffle_tables import kept  # noqa: E402

IMAGES = FOLDER / "images"
LOADED = FOLDER / "measured" / "load.json"
SCHEMA = Schema(
    [
        Numeric("age", low=18, high=100),
        Numeric("screen hours", low=0, high=16, out_of_range="clip"),
        Numeric("income", low=0, high=200_000, out_of_range="clip", optional=True),
        Categorical("system", ["linux", "mac", "windows", "other"]),
        Categorical("satisfied", ["no", "partly", "yes"]),
        Categorical("uses feature", ["yes", "no"], optional=True),
    ]
)
MOODS = ["good"] * 20 + ["fair"] * 6 + ["good"] * 14 + ["bad"] * 2 + ["fair"] * 4 + ["good"] * 6  # those of the page


def people(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Make up n people."""
    world = random.Random(seed)  # noqa: S311 - people, not their protection
    for _ in range(n):
        age = min(max(world.gauss(44, 15), 18), 100)
        hours = world.expovariate(1 / 4) + (age < 30)
        yield {
            "age": age,
            "screen hours": hours,
            "income": world.lognormvariate(10.4, 0.6) if world.random() > 0.15 else None,
            "system": world.choices(["linux", "mac", "windows", "other"], [2, 5, 9, 1])[0],
            "satisfied": world.choices(["no", "partly", "yes"], [2, 3, 5])[0],
            "uses feature": world.choices(["yes", "no", None], [4, 5, 1])[0],
        }


def draw(folder: Path = IMAGES) -> None:
    """Draw margins of a schema, what a report says of people of 20 and 60, and estimates."""
    folder.mkdir(exist_ok=True)
    plan = design(SCHEMA, 1.0)
    plots.save(plots.margins(plan, people=100_000), folder / "margins.svg")
    plots.save(plots.law(plan, "age", [20, 60]), folder / "law-age.svg")
    tally, coins = Tally(plan), SeededCoins(2019)  # so that the picture stays the same
    tally.update(randomise_from(coins, plan, person) for person in people(20_000, seed=2019))
    plots.save(plots.estimates(estimate(tally), SCHEMA), folder / "estimates.svg")
    plots.save(compared(), folder / "compare.svg")
    related(folder)
    plots.save(year(), folder / "over-time.svg")
    plots.save(odds(), folder / "odds.svg")
    plots.save(crowds(), folder / "crowds.svg")
    plots.save(shuffled(), folder / "shuffle.svg")
    plots.save(gains(), folder / "gains.svg")
    plots.save(funnel(), folder / "funnel.svg")
    plots.save(by_group(), folder / "by-group.svg")
    plots.save(load(json.loads(LOADED.read_text())), folder / "load.svg")


def compared() -> Any:
    """Draw the errors of designs on made-up people who answer everything."""
    asked = Schema([SCHEMA["age"], SCHEMA["screen hours"], SCHEMA["system"], SCHEMA["satisfied"]])
    records = [{name: person[name] for name in asked.names} for person in people(2_000, seed=2019)]
    table = {name: [record[name] for record in records] for name in asked.names}
    return compare(table, [0.5, 1, 2, 4], schema=asked, repetitions=20, seed=2019).plot()


def related(folder: Path) -> None:
    """Draw a table, means by group and the range of a number."""
    pairs = [("satisfied", "system"), ("screen hours", "age", "means")]
    plan = design(SCHEMA, 2.0, relations=pairs, bands={"age": [30, 45, 60]}, ranges={"age": 64})
    tally, coins = Tally(plan), SeededCoins(2019)
    tally.update(randomise_from(coins, plan, person) for person in people(50_000, seed=2019))
    plots.save(crosstab(tally, "satisfied", "system").plot(), folder / "crosstab.svg")
    plots.save(means(tally, "screen hours", by="age").plot(), folder / "means.svg")
    plots.save(below(tally, "age").plot(quantiles(tally, "age")), folder / "below.svg")


def year() -> Any:
    """Draw what a year of weekly reports costs: afresh, from memory, and at most."""
    values = []
    for week in range(1, 53):
        states = len({MOODS[day] for day in range(week)})
        values.append({"week": week, "epsilon": week, "what": "fresh noise every week"})
        values.append({"week": week, "epsilon": 3, "what": "the most that three states can cost"})
        values.append({"week": week, "epsilon": states, "what": "from memory"})
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("week:Q", title="week", scale=alt.Scale(domain=[1, 52], nice=False)),
            y=alt.Y("epsilon:Q", title="total epsilon", scale=alt.Scale(domain=[0, 52], nice=False)),
            color=alt.Color(
                "what:N", sort=None, legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=0)
            ),
            strokeDash=alt.condition(
                "datum.what == 'the most that three states can cost'", alt.value([4, 4]), alt.value([])
            ),
        )
        .properties(width=560, height=220, title="What a year of one weekly question costs, at epsilon = 1")
    )
    chart.config = alt.Config.from_dict(panels.theme("light"))
    return chart


def _lines(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, title: alt.Title) -> alt.Chart:
    """Draw a line for each epsilon, with its name at its end."""
    colour = alt.Color("epsilon:N", scale=alt.Scale(range=list(panels.COLOURS)), title="epsilon")
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    chart = chart.properties(width=420, height=260, title=title)
    chart.config = alt.Config.from_dict(panels.theme("light"))
    drawn: alt.Chart = chart
    return drawn


def odds() -> alt.Chart:
    """Draw how sure somebody can be after one report, against how sure they were."""
    rows = [
        {"epsilon": f"{epsilon:g}", "before": i / 100, "after": float(at_most(Fraction(i, 100), Fraction(epsilon)))}
        for epsilon in (0, *CROWD_EPSILONS)
        for i in range(1, 100)
    ]
    percent: dict[str, Any] = {"format": ".0%", "tickCount": 6}
    return _lines(
        rows,
        alt.X("before:Q", axis=alt.Axis(title="how sure somebody was about you", **percent)),
        alt.Y("after:Q", axis=alt.Axis(title="how sure they can be afterwards, at most", **percent)),
        alt.Title("What one report can do to a belief", subtitle="At epsilon 0 it does nothing."),
    )


def crowds() -> alt.Chart:
    """Draw the margin of the share of a yes against the number of people."""
    crowd = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    rows = [
        {"epsilon": f"{epsilon:g}", "people": people, "margin": margin(YES, epsilon, people)}
        for epsilon in CROWD_EPSILONS
        for people in crowd
    ]
    people = alt.Axis(title="people who are asked this one question", format="~s", values=[100, 1e3, 1e4, 1e5, 1e6])
    points = alt.Axis(title="margin of the share of a yes, in points", labelExpr=panels.SHORT, values=[0.1, 1, 10, 50])
    return _lines(
        rows,
        alt.X("people:Q", scale=alt.Scale(type="log", nice=False), axis=people),
        alt.Y("margin:Q", scale=alt.Scale(type="log"), axis=points),
        alt.Title("How many people it takes", subtitle="95 % intervals, the worst population; both axes logarithmic."),
    )


def shuffled() -> alt.Chart:
    """Draw the central epsilon of a shuffled number against the number of people."""
    rows = []
    for epsilon in CROWD_EPSILONS:
        plan = design(Schema([Numeric("a", low=-1, high=1)]), epsilon)
        for i in range(7):
            n = round(10 ** (3 + i / 2))
            rows.append({"epsilon": f"{epsilon:g}", "people": n, "central": shuffle(plan, crowd=n, delta=1e-8).epsilon})
    people = alt.Axis(title="honest people in a batch", format="~s", values=[1e3, 1e4, 1e5, 1e6])
    central = alt.Axis(title="central epsilon", labelExpr=panels.SHORT, values=[0.001, 0.01, 0.1, 1, 4])
    return _lines(
        rows,
        alt.X("people:Q", scale=alt.Scale(type="log", nice=False), axis=people),
        alt.Y("central:Q", scale=alt.Scale(type="log"), axis=central),
        alt.Title(
            "How well a crowd hides a number",
            subtitle="Proved, for delta = 1e-8; a line for each local epsilon; both axes logarithmic.",
        ),
    )


def gains() -> Any:
    """Draw errors against the number of people: local, shuffled, a trusted server, and sampling alone."""
    names = {
        "local": "local epsilon 1",
        "shuffled, local at most 6": "shuffled, local epsilon at most 6",
        "shuffled": "shuffled",
        "sampling alone": "sampling alone, no noise",
        "trusted server, Gaussian": "trusted server, Gaussian",
        "trusted server, Laplace": "trusted server, Laplace (delta = 0)",
    }
    found = kept()
    charts = []
    for target, title in {"mean": "the mean of a number from -1 to 1", "share of 1/16": "a share of 1/16"}.items():
        rows = [
            {"people": int(row["people"]), "error": float(row["error"]), "way": names[row["way"]]}
            for row in found
            if row["target"] == target and row["way"] in names
        ]
        x = alt.X(
            "people:Q",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(title="people in a batch", format="~s", values=[1e3, 1e4, 1e5, 1e6]),
        )
        y = alt.Y("error:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title="error", format="~e", tickCount=5))
        colour = alt.Color(
            "way:N",
            sort=None,
            scale=alt.Scale(domain=list(names.values()), range=list(panels.COLOURS)[:6]),
            legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=0),
        )
        lines = (
            alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2, point=True).encode(x=x, y=y, color=colour)
        )
        charts.append(lines.properties(width=300, height=260, title=title))
    chart = alt.hconcat(*charts).properties(
        title=alt.Title(
            "What a crowd buys",
            subtitle="Central promise of (1, 1e-6); measured, but for the trusted server; both axes logarithmic.",
        )
    )
    chart.config = alt.Config.from_dict(panels.theme("light"))
    return chart


def people_for_a_pair(epsilon: float, margin: float = 0.03) -> tuple[float, float]:
    """Return how many people a 5 x 5 table needs: one question about the pair, and two with half of epsilon each.

    The cells have equal shares. Two answers of one person are multiplied, as the noise of both is independent.
    """
    cost, share = Fraction(epsilon), Fraction(1, 25)
    pair = table(cost, (5, 5)).whole
    together = pair.variance(share) + share * (1 - share)
    half = subset(cost / 2, 5)
    without, within = half.supports
    hit = half.p * within**2 + (1 - half.p) * without**2  # the mean square of a decoded category, if it is the true one
    miss = half.q * within**2 + (1 - half.q) * without**2
    f = Fraction(1, 5)
    apart = share * hit**2 + 2 * (f - share) * hit * miss + (1 - 2 * f + share) * miss**2 - share**2
    z = NormalDist().inv_cdf(0.975)
    return float(together) * (z / margin) ** 2, float(apart) * (z / margin) ** 2


def by_group() -> Any:
    """Draw how many people a table needs, asked in one question or in two."""
    rows = []
    for epsilon in (1.0, 2.0, 4.0):
        one, two = people_for_a_pair(epsilon)
        for way, people in (("one question about the pair", one), ("two questions, half of epsilon each", two)):
            rows.append({"epsilon": f"epsilon {epsilon:g}", "way": way, "people": people, "label": f"{people:,.0f}"})
    colour = alt.Color("way:N", legend=alt.Legend(orient="top", title=None, labelLimit=300), sort=None)
    x = alt.X("people:Q", scale=alt.Scale(type="log", domain=[100, 1e6]), axis=alt.Axis(title="people", format="~s"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("epsilon:N", title=None, sort=None), yOffset=alt.YOffset("way:N", sort=None), x=x
    )
    bars = base.mark_bar(clip=True).encode(x2=alt.datum(100), color=colour)
    words = base.mark_text(align="left", dx=4).encode(text="label:N")
    title = alt.Title(
        "Ask about the pair", subtitle="People needed for margins of 3 points in a table of 5 x 5 cells. Logarithmic."
    )
    chart = alt.layer(bars, words).properties(width=520, height=170, title=title)
    chart.config = alt.Config.from_dict(panels.theme("light"))
    return chart


def funnel() -> Any:
    """Draw how the interval of a share closes in on the truth while reports come in."""
    truth, counts = 0.3, sorted({round(10 ** (i / 12)) for i in range(18, 61)})
    plan = design(Schema([Categorical("answer", ["yes", "no"])]), 1.0)
    tally, coins, world = Tally(plan), SeededCoins(2019), random.Random(2019)  # noqa: S311 - people, not noise
    rows: list[dict[str, Any]] = []
    for count in counts:
        while tally.reports < count:
            tally.add(randomise_from(coins, plan, {"answer": "yes" if world.random() < truth else "no"}))
        row = estimate(tally)[0]
        rows.append({"reports": count, "point": row.point, "low": row.low, "high": row.high})
    x = alt.X(
        "reports:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(title="reports", format="~s", values=[100, 1e3, 1e4, 1e5]),
    )
    share = alt.Axis(title='share of "yes"', format=".0%", tickCount=6)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x)
    band = base.mark_area(opacity=0.25, color=panels.COLOURS[0]).encode(y=alt.Y("low:Q", axis=share), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=panels.COLOURS[0]).encode(y=alt.Y("point:Q", axis=share))
    known = base.mark_line(strokeDash=[4, 4], color="#888").encode(y=alt.datum(truth))
    title = alt.Title(
        "Many noisy reports give a precise estimate",
        subtitle="Estimate and 95 % interval of a share as reports come in, at epsilon = 1; the truth is dashed.",
    )
    chart = alt.layer(band, known, line).properties(width=560, height=220, title=title)
    chart.config = alt.Config.from_dict(panels.theme("light"))
    return chart


def load(kept: dict[str, Any]) -> alt.VConcatChart:
    """Draw how a collector did under mixed load, from a kept run of benchmarks/load.py."""
    named = {
        "singles_p99": "p99 of reports, ms",
        "health_most": "longest stall, ms",
        "rss": "memory, MiB",
    }
    rows = []
    for name, title in named.items():
        axis = alt.Axis(title="minutes" if name == "rss" else None, tickCount=7)
        minutes = alt.X("minute:Q", scale=alt.Scale(nice=False), axis=axis)
        values = [{"minute": row["second"] / 60, name: row[name]} for row in kept["rows"]]
        y = alt.Y(f"{name}:Q", scale=alt.Scale(zero=True), axis=alt.Axis(title=title, tickCount=4))
        line = alt.Chart(alt.InlineData(values=values)).mark_line(strokeWidth=1.5).encode(x=minutes, y=y)
        rows.append(line.properties(width=560, height=120))
    head = alt.Title("A collector under mixed load", subtitle="Single reports, batches and readers at once, on SQLite.")
    chart: alt.VConcatChart = alt.vconcat(*rows, spacing=8).properties(title=head)
    chart.config = alt.Config.from_dict(panels.theme("light"))
    return chart


if __name__ == "__main__":
    draw()
