"""Pictures of relations have the numbers of their estimates, and texts that can be read on every colour."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import plots
from hush.plots import panels
from tests import relating
from tests.plots.test_panels import contrast
from tests.plots.test_plots import inline

COUNTED = relating.tally()


def test_a_table_is_a_heat_map_with_margins() -> None:
    rows = hush.crosstab(COUNTED, "education", "children", shares="rows", level=0.9)
    chart = rows.plot()
    data = inline(chart)
    assert [(cell["row"], cell["column"], cell["point"]) for cell in data] == [
        (row.category, str(row.group), row.point) for row in rows
    ]
    table = rows.table().rows
    for at, cell in enumerate(data):
        assert f"{cell['share']} {cell['margin']}" == table[at // 3][1 + at % 3], "as the table has it"
    text = chart.to_json()
    assert "education by children" in text
    assert "Per cent of each row, with 90 % margins." in text


def test_a_cell_without_an_estimate_has_no_colour() -> None:
    rows = hush.crosstab(COUNTED, "education", "children", shares="rows")
    rows[0] = dataclasses.replace(rows[0], point=math.nan, stderr=math.inf, low=0.0, high=1.0)
    first = inline(rows.plot())[0]
    assert (first["point"], first["share"], first["margin"]) == (None, "", "too few")


def test_a_large_table_has_no_texts_and_of_a_larger_one_the_largest_cells_are_drawn() -> None:
    def table(down: int, across: int) -> hush.Crosstab:
        cells = [
            hush.Related("a", i, "b", j, 0.1 if i % 5 else -0.01, 0.1, 0.0, 0.2, 9)
            for i in range(down)
            for j in range(across)
        ]
        cells[-1] = dataclasses.replace(cells[-1], point=math.nan)
        return hush.Crosstab(cells, level=0.95)

    assert {cell["share"] for cell in inline(table(20, 20).plot())} == {""}
    assert "Not drawn" not in table(32, 32).plot().to_json()
    chart = table(41, 2).plot()
    rows = list(dict.fromkeys(int(cell["row"]) for cell in inline(chart)))
    assert rows == [i for i in range(41) if i % 5], "in their order, without the smallest"
    assert "Not drawn: 9 rows, with smaller cells." in chart.to_json()
    assert "Not drawn: 1 row and 1 column, with" in table(33, 33).plot().to_json()


def test_groups_are_dots_with_intervals() -> None:
    means = hush.means(COUNTED, "hours", by="age")
    for rows, words in ((means, "Mean of hours by age"), (means.differences(), "Differences of hours by age")):
        chart = rows.plot()
        assert [(row["what"], row["point"], row["low"], row["high"]) for row in inline(chart)] == [
            (row.group, row.point, row.low, row.high) for row in rows
        ]
        assert words in chart.to_json()
    assert '"datum": 0' in means.differences().plot().to_json()
    assert '"datum": 0' not in means.plot().to_json()
    vague = dataclasses.replace(means[0], group="vague", low=means[0].low - 1)
    none = dataclasses.replace(means[0], group="none", point=math.nan, low=0.0, high=0.0)
    many = hush.Means([none, vague] + [means[0]] * 64, level=0.95).plot()
    assert [row["what"] for row in inline(many)] == [str(means[0].group)] * 64, "those that are known best"
    assert "Not drawn: 2 groups, with wider intervals." in many.to_json()


def test_shares_below_cuts_and_quantiles() -> None:
    shares, quantiles = hush.below(COUNTED, "age"), hush.quantiles(COUNTED, "age")
    curve = [("below", row.cut, row.point, row.low, row.high) for row in shares]
    marks = [("quantile", row.point, row.share, row.low, row.high) for row in quantiles]

    def drawn(chart: Any) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in inline(chart)]

    assert drawn(shares.plot()) == curve
    assert drawn(shares.plot(quantiles)) == [*curve, *marks]
    assert drawn(quantiles.plot()) == marks
    assert "95 % intervals" in shares.plot().to_json()


def test_pictures_are_written(tmp_path: Path) -> None:
    means = hush.means(COUNTED, "hours", by="education")
    found = [
        hush.crosstab(COUNTED, "education", "children"),
        means,
        means.differences(),
        hush.quantiles(COUNTED, "age"),
    ]
    for number, rows in enumerate(found):
        plots.save(rows.plot(), tmp_path / f"{number}.svg")  # type: ignore[attr-defined]
        text = (tmp_path / f"{number}.svg").read_text()
        assert text.count("aria-roledescription") > 4, "marks were drawn, and not the axes alone"


def test_without_altair_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    means = hush.means(COUNTED, "hours", by="education")
    drawing = [
        hush.crosstab(COUNTED, "education", "children").plot,
        means.plot,
        means.differences().plot,
        hush.quantiles(COUNTED, "age").plot,
        hush.below(COUNTED, "age").plot,
    ]
    for name in ("hush.plots", "hush.plots.panels", "hush.plots.relations"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hush, "plots")
    monkeypatch.setitem(sys.modules, "altair", None)
    for draw in drawing:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'hush-ldp\[plot\]'"):
            draw()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_texts_are_readable_on_every_cell(name: Any) -> None:
    theme = panels.theme(name)
    text = theme["style"]["label"]["color"]
    low, high = (tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in theme["range"]["heatmap"])
    for step in range(11):
        mixed = [round(a + (b - a) * step / 10) for a, b in zip(low, high, strict=True)]
        assert contrast(text, "#" + "".join(f"{part:02x}" for part in mixed)) >= 4.5, "as WCAG wants it of texts"
