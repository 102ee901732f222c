"""Pictures are what the exact channels say, and are written without a browser or a network."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import plots
from hush.core.schema import MISSING, Categorical, Numeric, Schema
from hush.planning import laws
from hush.show.tables import number

SCHEMA = Schema(
    [
        Numeric("age", low=0, high=120),
        Numeric("income", low=0, high=200_000, optional=True),
        Categorical("os", ["linux", "mac", "other"]),
    ]
)
PLAN = hush.design(SCHEMA, 1.0)


def inline(chart: Any) -> list[dict[str, Any]]:
    """Return all the data in a chart."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_margins_are_predictions() -> None:
    data = inline(plots.margins(PLAN, people=50_000, level=0.9))
    plans = {epsilon: hush.design(SCHEMA, epsilon) for epsilon in plots.EPSILONS}
    assert {row["target"] for row in data} == {"age, mean", "income, mean", "income, missing", "os, shares"}
    assert {row["epsilon"] for row in data} == set(plots.EPSILONS)
    assert {row["people"] for row in data} == {*plots.PEOPLE, 50_000}
    for row in data:
        predicted = dict(plots.targets(hush.predict(plans[row["epsilon"]], row["people"], level=0.9)))
        assert row["margin"] == predicted[row["target"]].margin
    assert sum(row["kind"] == "this plan" for row in data) == 2 * 4


def test_margins_of_a_schema_and_of_some_attributes() -> None:
    data = inline(plots.margins(SCHEMA, epsilon=2.0, attributes=["os"], guesses={"os": {"mac": 0.5, "linux": 0.1}}))
    assert {row["target"] for row in data} == {"os, shares"}
    assert {row["epsilon"] for row in data if row["kind"] == "this plan"} == {2.0}
    with pytest.raises(hush.SchemaError, match="shoe"):
        plots.margins(SCHEMA, attributes=["shoe"])
    many = Schema([Numeric(f"x{i}", 0, 1) for i in range(plots.MAX_PANELS + 1)])
    with pytest.raises(hush.DesignError, match="too many"):
        plots.margins(many)


def test_the_law_is_that_of_the_plan() -> None:
    data = inline(plots.law(PLAN, "age", [20, 60]))
    for value in (20, 60):
        drawn = [row["probability"] for row in data if row["value"] == str(value)]
        assert drawn == [float(p) for p in PLAN.law("age", value).values()]
    assert inline(plots.law(PLAN, "age", [20, 20])) == inline(plots.law(PLAN, "age", [20]))
    data = inline(plots.law(PLAN, "income", [None, 5.0]))
    assert {row["value"] for row in data} == {MISSING, "5"}
    assert data[-1]["report"] == MISSING


@pytest.mark.parametrize("numeric", ["minimax", "hybrid", "piecewise", "laplace", "duchi"])
@pytest.mark.parametrize("most", [None, 7])
def test_rows_of_a_number_add_up_to_one_and_are_ordered(numeric: str, most: int | None) -> None:
    schema = Schema([Numeric("x", 0, 10, optional=numeric in ("minimax", "hybrid", "piecewise", "duchi"))])
    plan = hush.design(schema, 1.0, numeric=numeric)
    found = laws.rows(plan, "x", [1, 9], most)
    assert [sum(row.probabilities[i] for row in found) for i in (0, 1)] == [1, 1]
    assert sum(row.outputs for row in found) == plan.channel("x").alphabet.outputs
    assert most is None or len(found) <= most
    assert 1 < laws.favour(plan, "x", [1, 9]) <= plan.ratio
    assert laws.favour(plan, "x", [4, 4]) == 1


def test_sets_of_categories_are_listed_or_told_by_membership() -> None:
    schema = Schema([Categorical("c", list(range(40))), Categorical("d", ["a", "b", "c", "d"])])
    plan = hush.design(schema, 1.0, categorical="oue")
    (first, *_) = laws.rows(plan, "c", [0, 1])
    channel: Any = plan.channel("c")
    assert first == laws.Row("includes 0", 0, (channel.p, channel.q), partition=False)
    assert laws.favour(plan, "c", [0, 1]) == channel.ratio
    assert laws.favour(plan, "c", [1, 1]) == 1
    listed = laws.rows(plan, "d", ["a"])
    assert {"(none)", "a", "a + d"} < {row.label for row in listed}
    assert sum((row.probabilities[0] for row in listed), Fraction(0)) == 1
    assert "includes" in plots.law(plan, "c", [0]).to_json()
    with pytest.raises(hush.DesignError):
        laws.rows(plan, "d", [])


def test_pictures_are_svg_or_png(tmp_path: Path) -> None:
    chart = plots.law(PLAN, "os", ["mac", "linux"])
    plots.save(chart, tmp_path / "law.svg")
    plots.save(chart, tmp_path / "law.PNG")
    assert (tmp_path / "law.svg").read_text().startswith("<svg")
    assert (tmp_path / "law.PNG").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(hush.DesignError, match=r"\.svg, \.png or \.html"):
        plots.save(chart, tmp_path / "law.pdf")


def test_a_page_that_somebody_keeps_loads_nothing(tmp_path: Path) -> None:
    plots.save(plots.law(PLAN, "os", ["mac", "linux"]), tmp_path / "law.html")
    assert "<script src=" not in (tmp_path / "law.html").read_text()


def test_many_attributes_fill_several_pages(tmp_path: Path) -> None:
    many = Schema([Numeric(f"x{i}", 0, 1, optional=i % 2 == 0) for i in range(20)])
    rows = hush.predict(hush.design(many, 1.0), 1000)
    parts = plots.pages(rows)
    assert [name for names in parts for name in names] == list(many.names)
    sizes = [len({(row.attribute, row.category) for row in rows.of(*names)}) for names in parts]
    assert len(sizes) == 2
    assert max(sizes) <= plots.MAX_PANELS
    with pytest.raises(hush.DesignError, match=r"hush\.plots\.pages"):
        plots.margins(many)
    nobody = hush.estimate(hush.Tally(PLAN))
    assert plots.pages(nobody) == [[]]
    charts = [plots.law(PLAN, "os", ["mac"]), plots.law(PLAN, "os", ["linux"])]
    files = plots.save_pages(charts, tmp_path / "law.svg")
    assert [file.name for file in files] == ["law.svg", "law-2.svg"]
    assert all(file.read_text().startswith("<svg") for file in files)


def titled(spec: Any) -> list[Any]:
    """Return the axes of a specification that have no title, although they show numbers."""
    if isinstance(spec, list):
        return [found for part in spec for found in titled(part)]
    if not isinstance(spec, dict):
        return []
    found = [found for part in spec.values() for found in titled(part)]
    axis = spec.get("axis")
    if spec.get("type") in ("quantitative", "temporal") and isinstance(axis, dict) and not axis.get("title"):
        found.append(spec)
    return found


def test_every_axis_of_numbers_has_a_title() -> None:
    from hush.plots import panels

    pictures = [plots.margins(PLAN).to_dict(), *panels.named().values()]
    assert not any(map(titled, pictures))
    assert titled({"x": {"type": "quantitative", "axis": {"title": None}}})  # the twin


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.7, 6, [1, 2, 5]),
        (1_000, 1_000_000, [1_000, 10_000, 100_000, 1_000_000]),
        (0.004, 0.2, [0.01, 0.03, 0.1]),
        (1e-9, 1e9, [1e-9, 1e-5, 1e-1, 1e3, 1e7]),
        (2.1, 2.9, [2.2, 2.4, 2.6, 2.8]),
        (3.0, 3.0, [3.0]),
    ],
)
def test_ticks_of_logarithmic_axes_are_round(low: float, high: float, ticks: list[float]) -> None:
    from hush.plots.panels import log_ticks

    assert log_ticks(low, high) == pytest.approx(ticks)


def test_intervals_are_drawn_above_dots() -> None:
    """A narrow interval under a dot could not be seen."""
    from hush.plots import panels

    checked = 0
    for name, spec in panels.named().items():
        marks = [layer["mark"] for layer in spec.get("layer", [])]
        dots = [i for i, mark in enumerate(marks) if mark["type"] == "point" and mark.get("style") == "estimate"]
        rules = [i for i, mark in enumerate(marks) if mark["type"] == "rule" and mark.get("style") == "interval"]
        if dots and rules:
            assert min(rules) > max(dots), name
            checked += 1
    assert checked >= 4


def test_numbers_are_written_for_people() -> None:
    assert [number(x) for x in (0.0, -0.0, 1e-30, 12345.6, -2.67397, 1e15)] == [
        "0",
        "0",
        "1e-30",
        "12,346",
        "-2.674",
        "1e15",
    ]


# -- the same pictures from what they are about


def test_a_plan_draws_its_margins_and_its_laws() -> None:
    assert PLAN.plot(people=50_000).to_dict() == plots.margins(PLAN, people=50_000).to_dict()
    some = PLAN.plot("os", level=0.9, guesses={"os": {"mac": 0.5}})
    assert some.to_dict() == plots.margins(PLAN, attributes=["os"], level=0.9, guesses={"os": {"mac": 0.5}}).to_dict()
    assert PLAN.plot_law("age", 20, 60).to_dict() == plots.law(PLAN, "age", [20, 60]).to_dict()


def test_a_law_without_values_is_that_of_some() -> None:
    assert PLAN.plot_law("age").to_dict() == plots.law(PLAN, "age", [0.0, 60.0, 120.0]).to_dict()
    assert plots.law(PLAN, "os").to_dict() == plots.law(PLAN, "os", ["linux", "mac", "other"]).to_dict()


def tally() -> hush.Tally:
    found = hush.Tally(PLAN)
    found.update(hush.randomise(PLAN, {"age": 40, "income": 5e4, "os": "mac"}) for _ in range(300))
    return found


def test_a_tally_draws_its_estimates_and_says_their_level() -> None:
    counted = tally()
    rows = hush.estimate(counted, level=0.8)
    whole, some = counted.plot(level=0.8), counted.plot("age", "os", level=0.8)
    assert whole.to_dict() == plots.estimates(rows, SCHEMA).to_dict()
    assert {row["point"] for row in inline(some)} == {row.point for row in rows.of("age", "os")}
    assert "Estimates with 80 % intervals" in whole.to_json()
    assert "Estimates with intervals" in plots.estimates(list(rows), SCHEMA).to_json()
    with pytest.raises(hush.SchemaError, match="shoe"):
        counted.plot("shoe")
    with pytest.raises(hush.EstimateError, match="nobody"):
        hush.Tally(PLAN).plot()


def test_a_distribution_draws_itself() -> None:
    found = hush.distribution(tally(), "age", bins=4)
    assert inline(found.plot()) == [
        {"start": start, "end": start + 30, "share": share, "what": f"{start:.0f} to {start + 30:.0f}"}
        for start, share in zip((0.0, 30.0, 60.0, 90.0), found.shares, strict=True)
    ]


def test_without_altair_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = hush.distribution(tally(), "age", bins=4)
    for name in ("hush.plots", "hush.plots.panels"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hush, "plots")
    monkeypatch.setitem(sys.modules, "altair", None)
    for draw in (PLAN.plot, lambda: PLAN.plot_law("age"), tally().plot, found.plot):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'hush-ldp\[plot\]'"):
            draw()
