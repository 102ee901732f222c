"""The command line, on real files: every command, its errors and its documents."""

from __future__ import annotations

import doctest
import hashlib
import json
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import hush
from hush.cli import files, schemas
from hush.cli.commands import program
from hush.core.channels import Window
from hush.core.design import BLOCK, CATEGORICAL, NUMERIC

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "low": 0, "high": 120},
    {"name": "os", "values": ["linux", "mac", "other"], "optional": True},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder with a schema and a plan."""
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps({"attributes": ATTRIBUTES}))
    Path("plan.json").write_text(hush.design(schemas.friendly(ATTRIBUTES), 1.0).to_json())
    return tmp_path


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(program, arguments, input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(*arguments: str, stdin: str | None = None, code: int = 2) -> str:
    """Return the one line that says why."""
    result = run(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    line = result.stderr
    assert line.startswith("hush: ")
    assert line.count("\n") == 1
    return line


# -- plan


def test_plan_writes_the_canonical_plan_and_shows_it() -> None:
    result = run("plan", "schema.json", "--epsilon", "1.0", "--title", "spring", "-o", "new.json")
    data = Path("new.json").read_bytes()
    plan = hush.Plan.from_json(data)
    assert plan == hush.design(schemas.friendly(ATTRIBUTES), 1.0, title="spring")
    assert hashlib.sha256(data).hexdigest() == plan.id
    for text in ("age", "window", "os", "subset", "1.000000", "1 of 2 questions", "27 bytes", plan.id, "new.json"):
        assert text in result.output


def test_plan_takes_weights_and_joint_attributes() -> None:
    weighted = hush.Plan.from_json(run("plan", "schema.json", "--epsilon", "1", "-k", "weighted", "--json").stdout)
    assert weighted.weights is not None
    joint = hush.Plan.from_json(run("plan", "schema.json", "--epsilon", "3", "--joint", "age,os", "--json").stdout)
    assert len(joint.questions) == 1
    spaced = run("plan", "schema.json", "--epsilon", "3", "--joint", "age, os", "--json").stdout
    assert hush.Plan.from_json(spaced) == joint
    assert "together" in refused("plan", "schema.json", "--epsilon", "3", "--joint", "os,age")


def test_plan_prints_itself_for_a_machine() -> None:
    options = ["--numeric", "hybrid", "--categorical", "oue", "-k", "2", "--json"]
    text = run("plan", "schema.json", "--epsilon", "4", *options).output
    schema = schemas.friendly(ATTRIBUTES)
    assert hush.Plan.from_json(text) == hush.design(schema, 4.0, numeric="hybrid", categorical="oue", k=2)
    split = run("plan", "schema.json", "--epsilon", "1", "-k", "all", "--json").output
    assert hush.Plan.from_json(split) == hush.design(schema, 1.0, k="all")
    prior = run(
        "plan",
        "-",
        "--epsilon",
        "1",
        "--objective",
        "1,4,1",
        "--importance",
        "age=2",
        "--json",
        stdin=json.dumps(ATTRIBUTES),
    ).output
    assert hush.Plan.from_json(prior) == hush.design(schema, 1.0, objective=[1, 4, 1], importance={"age": 2})


def test_the_size_of_a_report_is_right() -> None:
    from hush.core.report import sizes

    for k in (1, 2):
        plan = hush.design(schemas.friendly(ATTRIBUTES), 2.0, numeric="piecewise", k=k)
        found = {len(hush.randomise(plan, {"age": 3, "os": "mac"}).encode()) for _ in range(60)}
        assert found == set(sizes(plan))  # a miss has probability 2^-59


def test_a_schema_may_be_friendly_or_strict() -> None:
    schema = schemas.friendly({"attributes": ATTRIBUTES})
    assert schema.attributes == (
        hush.Numeric("age", 0, 120),
        hush.Categorical("os", ["linux", "mac", "other"], optional=True),
    )
    assert schemas.friendly(schema.to_json()) == schema


@pytest.mark.parametrize(
    "attributes",
    [
        [{"low": 0, "high": 1}],
        ["age"],
        [{"name": "a", "low": 0}],
        [{"name": "a", "low": 0, "high": 1, "bins": 3}],
        [{"name": "a", "low": 1, "high": 0}],
        [{"name": "a", "low": "0", "high": 1}],
        [{"name": "a", "kind": "numeric", "values": ["x", "y"]}],
        [{"name": "a", "values": ["x", "y"], "low": 0}],
        [{"name": "a", "values": "xy"}],
        [{"name": "a", "values": ["x", "y"], "optional": 1}],
        {"fields": []},
        3,
    ],
)
def test_a_bad_schema_is_refused(attributes: Any) -> None:
    Path("bad.json").write_text(json.dumps(attributes))
    assert "bad.json" in refused("plan", "bad.json", "--epsilon", "1")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--epsilon", "99"], "epsilon must be"),
        (["--epsilon", "nan"], "epsilon must be"),
        (["--epsilon", "1", "--numeric", "magic"], "numeric must be one of"),
        (["--epsilon", "1", "--categorical", "magic"], "categorical must be one of"),
        (["--epsilon", "1", "-k", "most"], "best"),
        (["--epsilon", "1", "-k", "9"], "from 1 to 2"),
        (["--epsilon", "1", "-k", "many"], "k (if not"),
        (["--epsilon", "1", "--objective", "1,x"], "not a number"),
        (["--epsilon", "1", "--objective", "best"], "prior"),
        (["--epsilon", "1", "--importance", "age"], "NAME=WEIGHT"),
        (["--epsilon", "1", "--importance", "shoe=1"], "shoe"),
        (["--epsilon", "1", "-o", "nowhere/plan.json"], "no such folder"),
    ],
)
def test_what_cannot_be_designed_is_refused(options: list[str], why: str) -> None:
    assert why in refused("plan", "schema.json", *options)


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "F", "--epsilon", "1"],
        ["predict", "F", "--people", "9"],
        ["audit", "F"],
        ["law", "F", "age", "--value", "1"],
    ],
)
def test_files_that_cannot_be_read_are_refused(command: list[str]) -> None:
    def given(path: str) -> list[str]:
        return [path if word == "F" else word for word in command]

    assert "absent.json: no such file" in refused(*given("absent.json"))
    assert "directory" in refused(*given("."))
    Path("bad.json").write_text('{"a": ')
    assert "bad.json: not valid JSON" in refused(*given("bad.json"))
    Path("bad.json").write_bytes(b"\xff\xfe")
    assert "bad.json: not valid JSON" in refused(*given("bad.json"))
    assert "standard input" in refused(*given("-"), stdin="[")


def test_a_plan_that_leaks_more_is_refused() -> None:
    text = Path("plan.json").read_text()
    Path("plan.json").write_text(text.replace('"epsilon":"1.0"', '"epsilon":"0.5"'))
    assert "costs more than epsilon" in refused("audit", "plan.json")


# -- predict


def test_predict_says_what_the_library_says() -> None:
    plan = files.read_plan("plan.json")
    found = json.loads(run("predict", "plan.json", "--people", "5000", "--level", "0.9", "--json").output)
    assert found["rows"] == [vars(row) for row in hush.predict(plan, 5000, level=0.9)]
    table = run("predict", "plan.json", "--people", "5000").output
    for text in ("age", "mean", "each of 4 shares", "95 % margin", "5,000 people"):
        assert text in table
    only = run("predict", "plan.json", "--people", "5000", "--attribute", "os").output
    assert "age" not in only


def test_predict_turns_round() -> None:
    plan = files.read_plan("plan.json")
    needed = hush.people_needed(plan, 0.5, attribute="age")
    found = json.loads(run("predict", "plan.json", "--margin", "0.5", "--attribute", "age", "--json").output)
    assert found["people"] == needed
    assert f"{needed:,} people" in run("predict", "plan.json", "--margin", "0.5", "--attribute", "age").output


def test_predict_takes_guesses() -> None:
    plan = files.read_plan("plan.json")
    Path("guesses.json").write_text('{"age": {"mean": 40, "spread": 15}, "os": {"mac": 0.1, "(missing)": 0}}')
    found = json.loads(run("predict", "plan.json", "--people", "99", "--guesses", "guesses.json", "--json").output)
    guesses: dict[str, Any] = {"age": hush.Guess(40, 15), "os": {"mac": 0.1, hush.MISSING: 0.0}}
    assert found["rows"] == [vars(row) for row in hush.predict(plan, 99, guesses=guesses)]
    for bad in ('{"age": {"spread": 1}}', '{"age": 3}', '{"os": {"bsd": 1}}', '{"shoe": {"mean": 1}}', "[]"):
        Path("guesses.json").write_text(bad)
        refused("predict", "plan.json", "--people", "99", "--guesses", "guesses.json")


def test_predict_refuses() -> None:
    assert "either" in refused("predict", "plan.json")
    assert "either" in refused("predict", "plan.json", "--people", "3", "--margin", "1")
    assert "people" in refused("predict", "plan.json", "--people", "0")
    assert "level" in refused("predict", "plan.json", "--people", "3", "--level", "1")
    assert "shoe" in refused("predict", "plan.json", "--people", "3", "--attribute", "shoe")
    assert "margin" in refused("predict", "plan.json", "--margin", "-1")


def test_predict_draws() -> None:
    run("predict", "plan.json", "--people", "5000", "--picture", "margins.svg")
    assert Path("margins.svg").read_text().startswith("<svg")
    result = run("predict", "plan.json", "--people", "5000", "--picture", "margins.gif", code=2)
    assert ".svg, .png or .html" in result.stderr


# -- audit


def test_audit_speaks_and_passes() -> None:
    assert "passed" in run("audit", "plan.json", "--draws", "400").output
    found = json.loads(run("audit", "plan.json", "--draws", "400", "--json").output)
    assert found["passed"] is True
    assert Fraction(found["ratio"]) == files.read_plan("plan.json").ratio
    assert "draws" in refused("audit", "plan.json", "--draws", "4")


def test_audit_fails_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Window, "answer", lambda self, inputs, coins: 0)
    assert "FAILED" in run("audit", "plan.json", "--draws", "400", code=1).output
    assert json.loads(run("audit", "plan.json", "--draws", "400", "--json", code=1).output)["failures"]


# -- law


def test_law_is_exact_for_a_machine() -> None:
    plan = files.read_plan("plan.json")
    found = json.loads(run("law", "plan.json", "age", "--value", "20", "--value", "60", "--json").output)
    for index, value in enumerate((20, 60)):
        listed = [Fraction(row["probabilities"][index]) for row in found["rows"]]
        assert listed == list(plan.law("age", value).values())
    assert 1 < Fraction(found["favour"]) <= plan.ratio


def test_law_is_short_for_people() -> None:
    result = run("law", "plan.json", "age", "--value", "20", "--value", "60", "--rows", "5", "--picture", "a.png")
    assert len(result.output.splitlines()) == 2 + 5 + 2
    assert "2.72 times likelier" in result.output
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    alone = run("law", "plan.json", "os", "--value", "(missing)").output
    assert "if (missing)" in alone
    assert "For any other value" in alone


def test_law_and_plan_at_a_large_epsilon() -> None:
    """Nothing is shown as certain that is not, and the plan says that it is weak."""
    Path("two.json").write_text('{"attributes": [{"name": "ill", "values": ["yes", "no"]}]}')
    assert "Weak: above epsilon = 2" in run("plan", "two.json", "--epsilon", "8", "-o", "weak.json").output
    shown = run("law", "weak.json", "ill", "--value", "yes", "--value", "no").output
    assert "can become at most 99.97 % sure" in shown
    run("plan", "two.json", "--epsilon", "16", "-o", "weaker.json")
    shown = run("law", "weaker.json", "ill", "--value", "yes", "--value", "no").output
    assert "can become at most 99.99999 % sure" in shown
    assert "> 99.99 %" in shown
    assert "< 0.01 %" in shown
    assert "100" not in shown


def test_law_refuses() -> None:
    assert "number" in refused("law", "plan.json", "age", "--value", "old")
    assert "from 0.0 to 120.0" in refused("law", "plan.json", "age", "--value", "121")
    assert "NaN" in refused("law", "plan.json", "age", "--value", "nan")
    assert "one of the 3" in refused("law", "plan.json", "os", "--value", "bsd")
    assert "shoe" in refused("law", "plan.json", "shoe", "--value", "1")


def test_whole_numbers_are_values_too() -> None:
    schema = hush.Schema([hush.Categorical("code", list(range(40)))])
    Path("codes.json").write_text(hush.design(schema, 1.0).to_json())
    assert "includes 39" in run("law", "codes.json", "code", "--value", "3").output


# -- the rest


def test_demo_runs() -> None:
    assert "intervals contain the truth" in run("demo", "--people", "300", "--port", "0").output
    assert Path("demo/estimates.svg").exists()
    assert "epsilon" in refused("demo", "--people", "300", "--epsilon", "99")
    assert "--people" in refused("demo", "--people", "0")


def test_names_are_no_markup() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("[red]x[/red] :smile:", 0, 1)]), 1.0)
    Path("odd.json").write_text(plan.to_json())
    assert "[red]x[/red] :smile:" in run("predict", "odd.json", "--people", "9").output


def test_version() -> None:
    assert hush.__version__ in run("--version").output


@pytest.mark.parametrize(
    ("library", "extra", "command"),
    [
        ("altair", "plot", ["--picture", "a.svg", "--json"]),
        ("vl_convert", "plot", ["--picture", "a.svg", "--json"]),
        ("rich", "cli", []),
    ],
)
def test_a_missing_library_says_what_to_install(
    library: str, extra: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == library or name in ("hush.plots", "hush.cli.printing"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hush, "plots", raising=False)
    monkeypatch.delattr("hush.cli.printing", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    result = run("law", "plan.json", "age", "--value", "1", *command, code=2)
    assert f"pip install 'hush-ldp[{extra}]'" in result.stderr


def test_without_click_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['click'] = None; from hush.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 2
    hint = "pip install 'hush-ldp[cli]' (in a clone: '.[cli]')"
    assert result.stderr == f"hush: the command line needs more libraries: {hint}\n"


def test_help_loads_nothing_heavy() -> None:
    for words in ("--help", "plan --help", "randomise --help", "--version"):
        code = f"import sys; sys.argv[1:] = {words.split()!r}\nfrom hush.cli import main\n" + (
            "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        loaded = set(result.stderr.split())
        heavy = {"altair", "rich", "numpy", "numba", "pyarrow", "duckdb", "pyspark"}
        assert not loaded & {
            *heavy,
            "hush.core.plan",
            "hush.core.schema",
            "hush.core.channels",
            "hush.batch",
            "fractions",
        }


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "hush", "plan", "absent.json", "--epsilon", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (result.returncode, result.stderr) == (2, "hush: absent.json: no such file or directory\n")


@pytest.mark.parametrize("name", [None, *program.commands])
def test_every_command_has_an_example_and_is_documented(name: str | None) -> None:
    text = run(*([name] if name else []), "--help").output
    assert "Example:" in text
    assert f"hush {name or 'plan'} " in text.split("Example:")[1]
    assert f"hush {name or '--help'}" in PAGE


def test_the_help_knows_every_mechanism() -> None:
    words = set(re.findall(r"[\w-]+", run("plan", "--help").output))
    assert {*NUMERIC, *BLOCK, *CATEGORICAL} <= words


@pytest.mark.timeout(900)
def test_the_sessions_of_the_page_are_real() -> None:
    """Run what the page shows, one block after the other; `...` stands for anything.

    In blocks under `<!-- numbers vary -->` any number will do, as long as it is there.
    """
    shown = re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)
    for name in ("plan.json", "reports.parquet", "tally.json"):
        Path(name).unlink(missing_ok=True)  # nothing is overwritten unless asked
    Path("schema.json").write_text(shown[0] if shown else json.dumps({"attributes": ATTRIBUTES}))
    blocks = re.findall(r"(<!-- numbers vary -->\n)?^```(console|python)\n(.*?)^```", PAGE, re.M | re.S)
    assert any(kind == "console" for _, kind, _ in blocks)
    namespace: dict[str, object] = {}
    for vary, kind, block in blocks:
        if kind == "python":
            exec(compile(block, "page", "exec"), namespace)  # noqa: S102
            continue
        for command, _, wanted in (part.partition("\n") for part in block.split("$ hush ")[1:]):
            found = CliRunner().invoke(program, shlex.split(command)).output
            if vary:
                wanted, found = numberless(wanted), numberless(found)
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(wanted, found, flags), (command, found)


def numberless(text: str) -> str:
    """Return a text in which all numbers and all lines of dashes are alike."""
    return re.sub(r"─+", "─", re.sub(r"-?\d[\d,.]*(?<![,.])", "0", text))
