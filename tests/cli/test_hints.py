"""What newcomers stumble over: each slip is answered by what to do instead, and no answer shows a value."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hush
from hush import batch
from hush.batch.arrow import present
from hush.cli import schemas
from hush.cli.commands import program
from hush.cli.numbers import RULE
from hush.collector.stores.opening import STORES, file_of, open_store
from hush.errors import DesignError, InputError, RecordError, SchemaError
from tests.cli.test_commands import refused, run
from tests.test_imports import isolated

ATTRIBUTES = [{"name": "overtime", "low": 0, "high": 20}, {"name": "dept", "values": ["it", "law"]}]
SCHEMA = schemas.friendly(ATTRIBUTES)
PLAN = hush.design(SCHEMA, 1.0)
PRIVATE = "hunter2"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps({"attributes": ATTRIBUTES}))
    Path("list.json").write_text(json.dumps(ATTRIBUTES))
    Path("plan.json").write_text(PLAN.to_json())
    Path("tally.json").write_text(hush.Tally(PLAN).to_json())
    Path("people.csv").write_text("overtime,dept\n4,it\n")


# -- imports


def test_the_files_of_batch_are_there_without_an_import() -> None:
    code = "import hush; before = 'hush.batch.files' in sys.modules; print(before, hush.batch.files.randomise_file)"
    site = str(Path(np.__file__).parent.parent)
    out = isolated(f"sys.path.append({site!r}); {code}")
    assert out.startswith("False <function randomise_file")
    with pytest.raises(AttributeError, match=r"'hush\.batch' has no attribute 'nothing'"):
        batch.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("use", "needed"),
    [
        ("hush.batch.randomise", "hush.batch needs pyarrow: pip install 'hush-ldp[batch]'"),
        ("import hush.batch.files", "hush.batch needs pyarrow: pip install 'hush-ldp[batch]'"),
        (
            "hush.learn.simulate.LogisticRegression",
            "hush.learn.simulate needs numpy: pip install 'hush-ldp[learn]'",
        ),
        ("from hush.learn.simulate import LinearSVC", "hush.learn.simulate needs numpy: pip install 'hush-ldp[learn]'"),
    ],
)
def test_a_missing_extra_is_named(use: str, needed: str) -> None:
    code = f"import hush\ntry:\n    {use}\nexcept ModuleNotFoundError as error:\n    print(error, error.name)"
    assert isolated(f"exec({code!r})").strip() == f"{needed} {needed.split()[2].rstrip(':')}"


# -- stores


def test_a_store_may_be_the_name_of_a_file() -> None:
    open_store("here.db").close()
    assert Path("here.db").is_file()
    assert file_of("sqlite://here.db") == file_of("here.db") == "here.db"
    assert file_of("sqlite:///var/lib/hush.db") == "/var/lib/hush.db"
    for slip in ("", "mysql://x", "sqlite:hush.db", "sqlite:/hush.db", "postgresql:hush"):
        with pytest.raises(InputError) as caught:
            open_store(slip)
        assert str(caught.value) == f"the store must be {STORES}"
    assert {path.name.partition(".db")[0] for path in Path().glob("*.db*")} == {"here"}


def test_compact_finds_the_segments_of_a_plain_name() -> None:
    store = open_store("here.db")
    store.add_plan(PLAN, "reports")
    store.close()
    assert run("compact", "--store", "here.db").output == "nothing to compact\n"


@pytest.mark.parametrize("command", ["serve", "export", "compact"])
def test_the_help_says_of_stores_what_the_error_says(command: str) -> None:
    (text,) = [item.help for item in program.commands[command].params if item.name == "store"]
    assert (text or "").startswith(STORES)
    for page in ("collector", "operate"):
        assert STORES in " ".join((Path(__file__).parents[2] / f"docs/{page}.md").read_text().replace("`", "").split())


# -- files of a wrong kind


@pytest.mark.parametrize("name", ["schema.json", "list.json"])
def test_a_schema_is_no_plan(name: str) -> None:
    line = refused("predict", name, "--people", "100")
    assert "this is a schema, not a plan" in line
    assert "`hush plan schema.json --epsilon 1 -o plan.json`" in line


def test_a_tally_is_no_plan_and_a_plan_no_tally() -> None:
    assert "tally.json: this is a tally, not a plan" in refused("audit", "tally.json")
    assert "plan.json: this is a plan, not a tally" in refused("estimate", "plan.json")
    assert "this is a plan, not a tally" in refused("estimate", "plan.json", "--plan", "plan.json")


def test_the_plan_comes_first() -> None:
    Path("reports").mkdir()
    for first in ("people.csv", "reports", "absent"):
        assert refused("tally", first, "plan.json") == ("hush: the plan comes first: hush tally PLAN.json REPORTS...\n")
    line = refused("randomise", "people.csv", "plan.json", "-o", "reports.parquet")
    assert line == "hush: the plan comes first: hush randomise PLAN.json PEOPLE...\n"
    assert "no such file" in refused("tally", "absent", "people.csv")  # there is no plan to be put first


def test_a_public_file_says_where_it_is_no_json() -> None:
    Path("schema.json").write_text('[\n  {"name": "age", "low": 0, "high": 9},\n  {"name": oops}\n]')
    assert refused("plan", "schema.json", "--epsilon", "1") == (
        "hush: schema.json: not valid JSON: line 3, column 12\n"
    )
    Path("plan.json").write_text(PLAN.to_json()[:-1])
    assert f"line 1, column {len(PLAN.to_json())}" in refused("predict", "plan.json", "--people", "100")
    Path("schema.json").write_text('{"attributes": [], "attributes": []}')
    assert "a key is repeated" in refused("plan", "schema.json", "--epsilon", "1")
    with pytest.raises(hush.ReportError) as caught:
        hush.Report.from_json(PLAN, "{oops")
    assert "line" not in str(caught.value)


# -- columns


def message(data: Any, schema: hush.Schema = SCHEMA) -> str:
    with pytest.raises(RecordError) as caught:
        batch.encode(hush.design(schema, 1.0), data)
    assert PRIVATE not in str(caught.value)
    return str(caught.value)


def test_a_misspelt_column_is_answered_by_those_there_are() -> None:
    frame = pd.DataFrame({"overtime": [1.0], "Dept": ["it"]})
    wanted = "column 'dept': is not there; there are: 'overtime', 'Dept'"
    assert message(frame) == message(pa.Table.from_pandas(frame)) == message(frame.to_dict("list")) == wanted
    many = pd.DataFrame({"overtime": [1.0], **{f"c{i}": [1] for i in range(11)}})
    assert message(many).endswith("'c8', ...")
    Path("people.csv").write_text("overtime,Dept\n4,it\n")
    line = refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet")
    assert (
        "column 'dept': is not there (an optional attribute needs a column too); there are: 'overtime', 'Dept'" in line
    )


def test_without_a_header_the_first_person_is_not_shown() -> None:
    """The names of the columns are then somebody's values."""
    assert "are the columns named?" in message(pd.DataFrame({"4": [1.0], PRIVATE: ["it"]}))
    Path("people.csv").write_text(f"4,{PRIVATE}\n5,it\n")
    line = refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet")
    assert PRIVATE not in line
    assert "are the columns named?" in line


def test_a_value_that_is_called_like_an_attribute_shows_no_others() -> None:
    """Without a header, the first person's answer happens to be the name of an attribute."""
    wanted = ("age", "income", "overtime")
    assert PRIVATE not in present(wanted, ["overtime", PRIVATE, "41"])
    assert "'incme'" in present(wanted, ["overtime", "age", "incme"])


def test_semicolons_are_recognised() -> None:
    Path("people.csv").write_text(f"overtime;dept\n4;{PRIVATE}\n")
    line = refused("randomise", "plan.json", "people.csv", "-o", "reports.parquet")
    assert "is it separated by semicolons?" in line
    assert PRIVATE not in line


@pytest.mark.parametrize(
    ("column", "values", "hint"),
    [
        ("overtime", ["1", PRIVATE], "the column is text: convert it with pandas.to_numeric"),
        ("overtime", [True, False], "the column is boolean: map it to numbers first, or declare it as Boolean"),
        ("overtime", pd.to_datetime(["2026-01-01", "2026-01-02"]), "has dates or times: turn them into numbers first"),
        ("dept", [True, False], "the column is boolean: map it to the declared values first, or declare it as Boolean"),
        ("dept", pd.Categorical([1, 2]), "the column has numbers: map them to the declared values first"),
        ("dept", [date(2026, 1, 1)] * 2, "has dates or times: turn them into the declared values first"),
        ("code", ["1", PRIVATE], "the column is text: convert it with pandas.to_numeric"),
        ("code", [True, False], "the column is boolean: map it to the declared values first, or declare it as Boolean"),
    ],
)
def test_a_column_of_a_wrong_type_is_answered_by_what_to_do(column: str, values: Any, hint: str) -> None:
    schema = hush.Schema([*SCHEMA.attributes, hush.Categorical("code", [1, 2])])
    frame = pd.DataFrame({"overtime": [1.0, 2.0], "dept": ["it", "law"], "code": [1, 2]}).assign(**{column: values})
    said = message(frame, schema)
    assert said.startswith(f"column '{column}': must be")
    assert f"{hint} (some rows)" in said


# -- words in Python


def test_values_may_be_an_array() -> None:
    for values in (np.array(["it", "law"]), pd.Series(["it", "law", "it"]).unique(), pd.Index(["it", "law"])):
        assert hush.Categorical("dept", values) == SCHEMA["dept"]  # type: ignore[arg-type]
    assert hush.Categorical("dept", pd.Series([3, 4]).unique()).values == (3, 4)
    for wrong in (np.array("it"), np.array([["it", "law"]]), [np.int64(3), np.int64(4)], np.array([0.5, 1.5])):
        with pytest.raises(SchemaError):
            hush.Categorical("dept", wrong)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"\.tolist\(\)"):
        hush.Categorical("dept", [np.int64(3), np.int64(4)])  # type: ignore[arg-type]


def test_the_names_of_the_paper_are_explained() -> None:
    with pytest.raises(DesignError, match="hybrid is the paper's HM, piecewise its PM"):
        hush.design(SCHEMA, 1.0, numeric="HM")


def test_missing_is_offered_only_where_it_is_a_value() -> None:
    line = refused("law", "plan.json", "overtime", "--value", "abc")
    assert line == f"hush: attribute 'overtime': must be a number; {RULE}\n"
    optional = hush.design(hush.Schema([hush.Numeric("overtime", 0, 20, optional=True)]), 1.0)
    Path("plan.json").write_text(optional.to_json())
    assert "must be a number, or (missing)" in refused("law", "plan.json", "overtime", "--value", "abc")
