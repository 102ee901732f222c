"""A tally to estimates, on the command line: `hush estimate`, and its pictures."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from rich.console import Console

import hush
from hush import batch, plots
from hush.cli import printing
from hush.show import tables
from hush.show.tables import Table
from tests.cli.collecting import PLAN, collected, lay_out
from tests.cli.test_commands import refused, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a plan, and people."""
    monkeypatch.chdir(tmp_path)
    lay_out()


# -- estimate


def test_estimate_says_what_the_library_says() -> None:
    tally = collected()
    found = json.loads(run("estimate", "tally.json", "--json").output)
    assert found["rows"] == [vars(row) for row in hush.estimate(tally)]
    assert (found["plan"], found["reports"], found["level"]) == (PLAN.id, 3000, 0.95)
    options = ["--level", "0.5", "--estimator", "paper", "--remedy", "project", "--attribute", "os", "--json"]
    rows = hush.estimate(tally, level=0.5, estimator="paper").project()
    found = json.loads(run("estimate", "tally.json", *options).output)
    assert found["rows"] == [vars(row) for row in rows if row.attribute == "os"]
    rows = hush.estimate(tally).clip()
    assert json.loads(run("estimate", "tally.json", "--remedy", "clip", "--json").output)["rows"] == list(
        map(vars, rows)
    )


def test_estimate_prints_csv() -> None:
    tally = collected()
    rows = list(csv.DictReader(io.StringIO(run("estimate", "tally.json", "--csv").output)))
    assert [float(row["point"]) for row in rows] == [row.point for row in hush.estimate(tally)]
    assert [row["category"] for row in rows] == ["", "", hush.MISSING, "linux", "mac", "other"]


def test_estimate_prints_a_table() -> None:
    tally = hush.Tally(PLAN)
    empty = tally.to_json()
    text = run("estimate", "-", stdin=empty).output
    assert "too few answers" in text
    assert "are needed to say something" in text
    assert "From 0 reports" in text
    assert json.loads(run("estimate", "-", "--json", stdin=empty).output)["rows"][0]["point"] is None
    collected()
    text = run("estimate", "tally.json", "--level", "0.9").output
    for word in (
        "age",
        "mean",
        "share of (missing)",
        "share of linux",
        "90 % interval",
        "From 3,000 reports",
        "spring",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ((44.2157, 43.23, 45.2), ["44.22", "43.23", "45.20"]),
        ((38256.4, 36476.0, 40032.2), ["38,256", "36,476", "40,032"]),
        ((-0.00123, -0.0110, 0.0080), ["-0.0012", "-0.0110", "0.0080"]),
        ((float("nan"), 0.0, 1.0), ["unknown", "0.00", "1.00"]),
        ((3.0, 3.0, 3.0), ["3", "3", "3"]),
    ],
)
def test_numbers_have_as_many_digits_as_their_interval_is_worth(bounds: tuple[float, ...], shown: list[str]) -> None:
    _, low, high = bounds
    assert list(map(tables.within(low, high), bounds)) == shown


def test_estimate_takes_a_tally_of_the_plan_that_is_named() -> None:
    collected()
    assert run("estimate", "tally.json").output == run("estimate", "tally.json", "--plan", "plan.json").output
    assert "another" in refused("estimate", "tally.json", "--plan", "other.json")


def test_estimate_refuses() -> None:
    collected()
    assert "level" in refused("estimate", "tally.json", "--level", "1")
    assert "shoe" in refused("estimate", "tally.json", "--attribute", "shoe")
    assert "either" in refused("estimate", "tally.json", "--json", "--csv")
    assert "absent.json: no such file" in refused("estimate", "absent.json")
    assert "this is a plan, not a tally" in refused("estimate", "plan.json")


def test_estimate_draws() -> None:
    collected()
    run("estimate", "tally.json", "--picture", "a.svg")
    assert Path("a.svg").read_text().startswith("<svg")
    Path("empty.json").write_text(hush.Tally(PLAN).to_json())
    assert "nobody" in run("estimate", "empty.json", "--picture", "b.svg", code=2).stderr


# -- pictures


def test_pictures_show_estimates() -> None:
    many = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", list(range(40)))])
    rows = [hush.Estimate("x", None, 0.5, 0.1, -0.3, 0.7, 9)]
    rows += [hush.Estimate("c", i, i / 780, 0.1, i / 780 - 0.1, i / 780 + 0.1, 9) for i in range(40)]
    drawn = plots.estimates(rows, many, level=0.9).to_dict()
    values = [row for part in drawn["datasets"].values() for row in part]
    assert {"what": "mean", "point": 0.5, "low": -0.3, "high": 0.7, "start": 0.0, "end": 1.0} in values
    assert [row["what"] for row in values if row["what"] != "mean"] == [str(i) for i in range(8, 40)]
    assert "8 smaller ones" in json.dumps(drawn)
    assert "90 %" in json.dumps(drawn)
    rows = [hush.Estimate(f"x{i}", None, 0.5, 0.1, 0.3, 0.7, 9) for i in range(plots.MAX_PANELS + 1)]
    with pytest.raises(hush.DesignError, match="too many"):
        plots.estimates(rows, hush.Schema([hush.Numeric(row.attribute, 0, 1) for row in rows]))


def test_pictures_of_many_attributes_are_several_pages() -> None:
    schema = hush.Schema([hush.Numeric(f"x{i}", 0, 1) for i in range(plots.MAX_PANELS + 1)])
    counted = hush.Tally(hush.design(schema, 16.0, k="all"))
    counted.add(hush.randomise(counted.plan, dict.fromkeys(schema.names, 0.5)))
    Path("many.json").write_text(counted.to_json())
    said = run("estimate", "many.json", "--plot", "many.svg", "--csv")
    assert "2 pages: many.svg, many-2.svg" in said.stderr
    assert "x0" in Path("many.svg").read_text()
    assert "x16" in Path("many-2.svg").read_text()


@pytest.mark.parametrize("terminal", [False, True])
def test_long_tables_look_like_short_ones(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich took ten seconds for 12,000 rows, so long tables are written without it: the same, to the letter."""
    made = random.Random(1)
    options = {"width": 70, "markup": False, "emoji": False, "highlight": False, "force_terminal": terminal}
    monkeypatch.setattr(printing, "console", lambda: Console(**options))  # type: ignore[arg-type]
    for texts, letters in itertools.product((1, 2), ("ab", "日本a", "é ü")):
        cells = [["".join(made.choices(letters, k=made.randrange(9))) for _ in range(4)] for _ in range(30)]
        table = Table(("name", "", "x" * made.randrange(12), "answers"), [tuple(row) for row in cells], texts=texts)
        found = printing._long(table)
        assert found is not None
        rich = [line for line in printing._text(table.grid()).splitlines() if line.strip()]
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in found]
        assert plain == [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in rich]
        assert ("\x1b[1m" in found[0]) == terminal
    wide = Table(("name",), [("a" * 80,)])
    assert printing._long(wide) is None


def test_texts_are_named_where_only_others_are_estimated() -> None:
    words = hush.design(hush.Schema([hush.Text("job", 4, "abc")]), 4.0)
    both = hush.design(hush.Schema([hush.Text("job", 4, "abc"), hush.Boolean("smokes")]), 4.0)
    for plan in (words, both):
        Path("texts.json").write_text(hush.Tally(plan).to_json())
        said = run("estimate", "texts.json").output
        assert "Texts are read by `hush frequent`: job." in said
        assert ("attribute" in said) == (plan is both)  # no table without a row
    Path("texts.json").write_text(hush.Tally(words).to_json())
    result = run("estimate", "texts.json", "--picture", "x.svg", code=2)
    assert "the plan asks for texts alone: see `hush frequent`" in result.stderr
    assert "very many points" in refused_law(words)


def refused_law(plan: hush.Plan) -> str:
    Path("words.json").write_text(plan.to_json())
    return refused("law", "words.json", "job", "--value", "nurse")


def test_unknown_numbers_are_null_and_empty() -> None:
    """JSON has no NaN, and a table of commas no word for it; dates and times have others beside their numbers."""
    schema = hush.Schema([hush.Date("born", "1920-01-01", "2020-12-31", optional=True), hush.Numeric("x", 0, 1)])
    plan = hush.design(schema, 1.0)
    Path("none.json").write_text(hush.Tally(plan).to_json())
    Path("one.json").write_text(batch.collect(plan, {"born": ["1984-05-03"], "x": [0.5]}).to_json())
    for file in ("none.json", "one.json"):
        for command in (("estimate", file), ("change", file, file)):
            text = run(*command, "--json").output
            assert "NaN" not in text
            json.loads(text, parse_constant=lambda name: pytest.fail(name))
            rows = run(*command, "--csv").output
            assert not re.search(r"nan|inf", rows)
