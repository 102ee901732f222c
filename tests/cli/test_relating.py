"""The command line about relations: plans that ask for them, and the estimates of each kind."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hush
from hush.cli import relating as relating_cli
from hush.cli import wishes
from hush.core.design import units
from hush.server.relations.pairs import Together
from tests import relating
from tests.cli.test_commands import refused, run
from tests.cli.test_completion import completed
from tests.relating import PLAN, SCHEMA


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps(SCHEMA.to_json()))
    Path("plan.json").write_text(PLAN.to_json())
    Path("tally.json").write_text(relating.tally().to_json())
    Path("empty.json").write_text(hush.Tally(PLAN).to_json())


def made(*options: str) -> hush.Plan:
    return hush.Plan.from_json(run("plan", "schema.json", "--epsilon", "4", *options, "--json").stdout)


# -- plans


def test_a_plan_asks_for_relations() -> None:
    options = ["--relation", "education,children", "--relation", "hours,education", "--relation", "hours,age,means"]
    options += ["--relation", "age,education,table", "--relation", "age,hours", "--relation", "age,hours,moments"]
    assert made(*options, "--bands", "age=24,40,60", "--range", "age=64", "--title", PLAN.title) == PLAN
    some = [("education", "children"), ("hours", "education")]
    assert made(
        *options[:4], "--singles", "0.5", "--importance", "education,children=3", "--range", "age"
    ) == hush.design(
        SCHEMA, 4.0, relations=some, singles=0.5, importance={("education", "children"): 3}, ranges=["age"]
    )
    assert made("--relation", "all", "--importance", "age=2") == hush.design(
        SCHEMA, 4.0, relations="all", importance={"age": 2}
    )


def test_spaces_around_names_are_forgiven() -> None:
    spaced = made("--relation", "education, children", "--importance", "education , children=3")
    assert spaced == made("--relation", "education,children", "--importance", "education,children=3")


def test_the_table_of_a_plan_says_how_its_questions_look() -> None:
    text = run("plan", "schema.json", "--epsilon", "4", "--relation", "age,hours", "--range", "age=64").output
    for words in ("age and hours: same side of", "age in 4, 16, 64 bands", "hours in 2 bands"):
        assert words in text


def test_names_with_signs_of_ours_are_meant_whole() -> None:
    schema = hush.Schema([hush.Numeric("a=4", 0, 1), hush.Categorical("b,c", ["x", "y"])])
    Path("odd.json").write_text(json.dumps(schema.to_json()))
    options = ["--range", "a=4", "--importance", "b,c=2", "--json"]
    found = hush.Plan.from_json(run("plan", "odd.json", "--epsilon", "1", *options).stdout)
    assert found == hush.design(schema, 1.0, ranges=["a=4"], importance={"b,c": 2})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--relation", "education"], "two names of attributes"),
        (["--relation", "education,shoe"], "'shoe'"),
        (["--relation", "age,education,median"], "table, means, association, moments"),
        (["--relation", "age,education,table"], "attribute 'age': give its bands, such as --bands NAME=18,40,65"),
        (["--relation", "all", "--relation", "age,hours"], "leave out the others"),
        (["--singles", "0.5"], "--singles is for plans with --relation or --range"),
        (["--bands", "age=24"], "name the relations too"),
        (["--relation", "age,hours", "--bands", "age"], "--bands is written NAME=CUTS"),
        (["--relation", "age,hours", "--bands", "age=24,x"], "--bands: 'x' is not a number"),
        (["--relation", "age,hours", "--bands", "age=24", "--bands", "age=30"], "name every attribute once"),
        (["--relation", "age,hours", "--bands", "age=99"], "attribute 'age': cuts must be"),
        (["--range", "education"], "attribute 'education': a range is of a number"),
        (["--range", "age=7"], "attribute 'age': a range has a power of two"),
        (["--range", "age=many"], "--range is written NAME or NAME=BANDS"),
        (["--range", "age", "--range", "age=16"], "name every attribute once"),
        (["--relation", "age,hours", "-k", "2"], "leave out k"),
    ],
)
def test_a_bad_wish_is_refused(options: list[str], words: str) -> None:
    assert words in refused("plan", "schema.json", "--epsilon", "4", *options)


# -- estimates

COUNTED = relating.tally()
MEANS = hush.means(COUNTED, "hours", by="education", level=0.9)
COMMANDS: list[tuple[list[str], Any]] = [
    (["crosstab", "education", "children"], hush.crosstab(COUNTED, "education", "children")),
    (
        ["crosstab", "children", "education", "--shares", "rows", "--no-pool", "--simultaneous", "--level", "0.9"],
        hush.crosstab(COUNTED, "children", "education", shares="rows", pooled=False, simultaneous=True, level=0.9),
    ),
    (
        ["crosstab", "age", "education", "--remedy", "shrunk"],
        hush.consistent(COUNTED, "shrunk").crosstab("age", "education"),
    ),
    (["means", "hours", "--by", "education", "--level", "0.9"], MEANS),
    (["means", "hours", "--by", "education", "--level", "0.9", "--differences"], MEANS.differences()),
    (["means", "hours", "--by", "education", "--level", "0.9", "--versus", "high"], MEANS.differences("high")),
    (
        ["means", "hours", "--by", "age", "--no-pool", "--simultaneous"],
        hush.means(COUNTED, "hours", by="age", pooled=False, simultaneous=True),
    ),
    (["association", "age", "hours"], hush.association(COUNTED, "age", "hours")),
    (
        ["association", "hours", "age", "--method", "moments"],
        hush.association(COUNTED, "hours", "age", method="moments"),
    ),
    (["quantiles", "age"], hush.quantiles(COUNTED, "age")),
    (["quantiles", "age", "--share", "0.5", "--share", ".2"], hush.quantiles(COUNTED, "age", [0.5, 0.2])),
    (["quantiles", "age", "--share", "0.5", "--at", ".25, .75"], hush.quantiles(COUNTED, "age", [0.5, 0.25, 0.75])),
    (["below", "age"], hush.below(COUNTED, "age")),
    (["below", "age", "--cut", "40", "--level", "0.8"], hush.below(COUNTED, "age", [40], level=0.8)),
]


def plain(row: Any) -> dict[str, Any]:
    return {
        name: value if value is None or type(value) is not float or math.isfinite(value) else None
        for name, value in vars(row).items()
    }


@pytest.mark.parametrize(("words", "rows"), COMMANDS, ids=lambda value: " ".join(value) if type(value) is list else "")
def test_estimates_are_those_of_the_library(words: list[str], rows: Any) -> None:
    command, *rest = words
    document = json.loads(run(command, "tally.json", *rest, "--json").stdout)
    assert document["rows"] == [plain(row) for row in rows]
    assert (document["plan"], document["reports"], document["level"]) == (PLAN.id, 3000, rows.level)
    lines = list(csv.DictReader(io.StringIO(run(command, "tally.json", *rest, "--csv", "--plan", "plan.json").stdout)))
    assert [float(line["low"]) for line in lines] == [row.low for row in rows]
    assert list(lines[0]) == [name for name in vars(rows[0]) if name != "needed" or any(row.needed for row in rows)]
    text = run(command, "tally.json", *rest).output
    assert f"From 3,000 reports of plan {PLAN.id[:12]} 'work and school'." in text
    for cell in rows.table().rows[-1]:
        assert cell in text


@pytest.mark.parametrize("words", [words for words, _ in COMMANDS if words[0] != "association"], ids=" ".join)
def test_pictures_are_drawn(words: list[str]) -> None:
    command, *rest = words
    run(command, "tally.json", *rest, "--picture", "found.svg")
    assert Path("found.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["crosstab", "children", "age"], "`hush plan ... --relation children,age,table`"),
        (["crosstab", "children", "shoe"], "no attribute is called 'shoe'"),
        (
            ["means", "age", "--by", "education"],
            "attribute 'age': the plan does not ask it by 'education'; make another "
            "with `hush plan ... --relation age,education,means`",
        ),
        (["means", "education", "--by", "age"], "attribute 'education': is categorical; use `hush crosstab`"),
        (
            ["means", "hours", "--by", "education", "--versus", "shoe"],
            "attribute 'education': has no group 'shoe'; there are: 'basic', 'middle', 'high'",
        ),
        (
            ["association", "age", "children"],
            "attribute 'children': an association is of two numbers; use `hush crosstab` or `hush means`",
        ),
        (["quantiles", "hours", "--share", "2"], "between 0 and 1"),
        (["quantiles", "age", "--at", ".5,half"], "--at: 'half' is not a number"),
        (["below", "age", "--cut", "30.5"], "attribute 'age': the plan has no cut at 30.5, the nearest is at 30.0"),
        (["below", "education"], "attribute 'education': a range is of a number"),
        (["crosstab", "education", "children", "--remedy", "proper", "--shares", "rows"], "--remedy is for"),
        (["crosstab", "education", "children", "--json", "--csv"], "either --json or --csv"),
        (["crosstab", "education", "children", "--level", "2"], "level must be"),
    ],
)
def test_errors_name_the_attribute_and_the_remedy(words: list[str], message: str) -> None:
    command, *rest = words
    assert message in refused(command, "tally.json", *rest)


def test_a_cut_of_an_error_is_one_that_is_accepted() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 18, 100)]), 2.0, ranges=["x"])
    counted = hush.Tally(plan)
    counted.update(hush.randomise(plan, {"x": 50.0}) for _ in range(50))
    Path("fine.json").write_text(counted.to_json())
    nearest = refused("below", "fine.json", "x", "--cut", "60").strip().rpartition(" ")[2]
    assert len(json.loads(run("below", "fine.json", "x", "--cut", nearest, "--json").stdout)["rows"]) == 1


def test_a_plan_that_does_not_ask_says_how_one_would() -> None:
    Path("other.json").write_text(hush.Tally(hush.design(SCHEMA, 1.0)).to_json())
    for words, options in (
        (["crosstab", "education", "children"], "--relation education,children,table"),
        (["association", "age", "hours"], "--relation age,hours,association"),
        (["association", "age", "hours", "--method", "moments"], "--relation age,hours,moments"),
        (["quantiles", "age"], "--range age"),
        (["below", "age"], "--range age"),
    ):
        command, *rest = words
        line = refused(command, "other.json", *rest)
        assert f"make another with `hush plan ... {options}`" in line
        assert "relations=" not in line


def test_quantiles_without_a_range_are_rough_and_say_so() -> None:
    """The numbers are those of `hush.distribution`; nobody knows their intervals, and none are made up."""
    counted = hush.Tally(hush.design(SCHEMA, 4.0))
    for age in range(20, 80):
        counted.add(hush.randomise(counted.plan, {"age": age, "hours": 40, "education": "basic", "children": 0}))
    Path("other.json").write_text(counted.to_json())
    assert "--rough" in refused("quantiles", "other.json", "age")
    text = run("quantiles", "other.json", "age", "--rough", "--at", ".5").output
    assert "50 % below" in text
    assert "interval" not in text.splitlines()[0]
    assert "without intervals" in text
    found = json.loads(run("quantiles", "other.json", "age", "--rough", "--json").stdout)
    spread = hush.distribution(counted, "age")
    assert [row["point"] for row in found["rows"]] == [spread.quantile(q) for q in relating_cli.SHARES]
    assert {row["low"] for row in found["rows"]} == {None}


def test_nobody_has_answered_yet() -> None:
    for command, *rest in (words for words, _ in COMMANDS):
        assert "answered" in refused(command, "empty.json", *rest)


def test_a_tally_of_another_plan_is_refused() -> None:
    Path("other.json").write_text(hush.design(SCHEMA, 1.0).to_json())
    assert "another plan" in refused("crosstab", "tally.json", "education", "children", "--plan", "other.json")


# -- help and completion


def test_the_lists_of_the_help_are_those_of_the_library() -> None:
    assert wishes.KINDS == units.KINDS
    assert inspect.signature(hush.quantiles).parameters["shares"].default == relating_cli.SHARES
    assert units.BRANCHES**units.DEPTH == 256
    assert "[256 bands]" in run("plan", "--help").output


def test_names_are_completed() -> None:
    assert completed("hush crosstab tally.json e") == ["education"]
    assert completed("hush crosstab tally.json education c") == ["children"]
    assert completed("hush means tally.json hours --by ") == list(SCHEMA.names)
    assert completed("hush quantiles tally.json a") == ["age"]
    assert completed("hush plan schema.json --range h") == ["hours"]
    assert completed("hush plan schema.json --relation a") == ["all", "age"]
    assert completed("hush plan schema.json --relation age,") == ["age,hours", "age,education", "age,children"]
    assert completed("hush plan schema.json --relation age,hours,m") == ["age,hours,means", "age,hours,moments"]
    assert completed("hush plan nothing.json --relation a") == ["all"]


# -- pairs of choices


def test_pairs_are_those_of_the_reports() -> None:
    """From files of several batches: the same numbers as from the reports one by one, for narrow and wide sets."""
    for values in (["TV", "radio", "web", "paper", "pod"], [f"app {i}" for i in range(150)]):
        attributes = [{"name": "uses", "values": values, "most": 2}, {"name": "age", "low": 0, "high": 100}]
        Path("schema.json").write_text(json.dumps(attributes))
        run("plan", "schema.json", "--epsilon", "4", "--choices", "pairs", "-o", "plan.json", "--overwrite")
        plan = hush.Plan.from_json(Path("plan.json").read_text())
        people = [{"uses": [values[0], values[i % 3]] if i % 3 else [], "age": 40} for i in range(600)]
        table = pa.table({"uses": [one["uses"] for one in people], "age": [40.0] * len(people)})
        pq.write_table(table, "people.parquet")
        run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--overwrite")
        named = ("--value", values[0], "--value", values[1])
        found = json.loads(run("pairs", "plan.json", "uses", "reports.parquet", *named, "--json").output)
        assert (found["plan"], found["reports"], found["simultaneous"]) == (plan.id, 600, True)
        (row,) = found["rows"]
        assert (row["category"], row["group"]) == (values[0], values[1])
        together = Together(plan, "uses", values[:2])
        for answer in answers(plan, pq.read_table("reports.parquet"), together.question):
            together.add(answer)
        assert row["answers"] == together.answers
        assert plain(together.pairs()[0]) == {name: row[name] for name in plain(together.pairs()[0])}
    assert "TV and radio" not in run("pairs", "plan.json", "uses", "reports.parquet", *named).output
    assert run("pairs", "plan.json", "uses", "reports.parquet", *named, "--each", "--csv").output.count("\n") == 2


def answers(plan: hush.Plan, table: pa.Table, question: int) -> Iterator[list[int]]:
    """Read the sets of one question from the columns of reports, bit by bit."""
    rows = zip(*(table.column(name).to_pylist() for name in table.schema.names), strict=True)
    held: list[int] = []
    size = plan.questions[question].channel.alphabet.size
    for row in rows:
        asked, part, output = row if len(row) == 3 else (row[0], 0, row[1])
        if asked != question:
            continue
        held = held if part else []
        held += [64 * part + bit for bit in range(64) if output >> bit & 1]
        if 64 * (part + 1) >= size:
            yield held


def test_plans_that_say_nothing_of_pairs_are_refused() -> None:
    schema = hush.Schema([hush.Choices("uses", ["a", "b", "c", "d", "e"], 2)])
    for way in ("members", "picks"):
        plan = hush.design(schema, 1.0, choices=way)
        Path("plan.json").write_text(plan.to_json())
        pq.write_table(pa.table({"uses": [["a"]] * 9}), "people.parquet")
        run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--overwrite")
        why = refused("pairs", "plan.json", "uses", "reports.parquet")
        assert "make another with `hush plan ... --choices pairs`" in why
