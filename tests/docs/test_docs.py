"""Documents do not rot: code runs, links lead somewhere, tables are what the program computes."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest

import hush
from hush import batch
from hush.planning import audits
from tests.sessions import PLAYED, POSTGRES, ROOT, blocks_of

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "spec").glob("*.md")]
    if "_build" not in path.parts
)
PLAYED_PAGES = [
    (ROOT / "docs" / name).resolve() for name in (*PLAYED, POSTGRES)
]  # tests/docs/test_sessions.py runs these
OTHERS = [page for page in PAGES if page not in PLAYED_PAGES]

# Blocks that no test runs, and why. Nothing else may be here.
NOT_RUN = {
    ("README.md", "sh"): "the demo and the tests themselves",
    ("docs/tutorial.md", "sh"): "installs the package",
    (
        "docs/slow-pages.md",
        "sh",
    ): "needs a list of a million pages; experiments/pages.py takes its steps, and is tested",
    ("docs/deploy.md", "sh"): "starts containers and services; tests/release/test_deploy.py takes their steps",
    ("docs/postgres.md", "sql"): "tests/collector/test_what_postgres_keeps.py sets each of them",
    ("docs/postgres.md", "sh"): "makes a user and a database of the system",
    ("docs/spark.md", "sh"): "needs a cluster; make spark runs the program that it submits",
    ("docs/scale.md", "py"): "needs an extension of DuckDB and object storage",
    ("docs/learning.md", "py"): "needs Flower; tests/learn/test_flower.py tries the mod",
    ("docs/reproduction.md", "sh"): "takes an hour; tests/experiments/test_reproduce.py runs small ones",
}
# Blocks that other tests run: sessions and their files, pages of HTML, what make spark runs, units of systemd.
RUN_ELSEWHERE = {
    "tests/cli/test_commands.py": {("docs/cli.md", "json"), ("docs/cli.md", "console")},
    "tests/browser/test_embedding.py": {
        ("docs/browser.md", "html"),
        ("docs/telemetry.md", "html"),
        ("docs/train.md", "html"),
        ("web/README.md", "html"),
    },
    "tests/engines/test_spark.py": {("docs/spark.md", "py")},
    "tests/web/test_client.py": {("web/README.md", "js")},
    "tests/experiments/test_ipums.py": {("docs/data.md", "json")},
    "tests/collector/test_presentation.py": {("docs/browser.md", "json")},
    "tests/cli/test_schemas.py": {("docs/kinds.md", "json")},
    "tests/docs/test_docs.py": {("docs/operate.md", "ini"), ("docs/operate.md", "sh"), ("docs/cli-reference.md", "sh")},
}


def test_every_block_is_run_or_says_why_not() -> None:
    """Python runs everywhere, sessions and their files on the pages that are played."""
    elsewhere, seen = set().union(*RUN_ELSEWHERE.values()), set()
    for page in [*PAGES, ROOT / "web" / "README.md"]:
        name = str(page.relative_to(ROOT))
        for block in blocks_of(page):
            if block.kind in ("", "text"):  # drawings, formulas, what a terminal showed: nothing to be typed
                assert page in PLAYED_PAGES or not block.printed, f"{name}:{block.line}: nothing compares this"
                assert not re.search(r"^\$ ", block.text, re.M), (
                    f"{name}:{block.line} shows commands: make it a session"
                )
                continue
            played = page in PLAYED_PAGES and (block.kind == "console" or block.file)
            if not played and block.kind != "python" and page.parent.name != "api":  # declarations, as they are
                seen.add((name, block.kind))
                assert (name, block.kind) in elsewhere | set(NOT_RUN), f"{name}:{block.line}: nothing runs this"
    assert seen >= set(NOT_RUN), "an exception that is not needed any more"
    for test in RUN_ELSEWHERE:
        assert (ROOT / test).exists()


def test_the_service_is_one_that_starts() -> None:
    """The unit of systemd in docs/operate.md names a command and options that exist."""
    from hush.cli.commands import program

    (unit,) = (block.text for block in blocks_of(ROOT / "docs" / "operate.md") if block.kind == "ini")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    path, command, *arguments = line.split()
    assert Path(path).name == "hush"
    program.commands[command].make_context(command, arguments)
    with pytest.raises(click.UsageError):
        program.commands[command].make_context(command, [*arguments, "--no-such-option"])
    (byhand,) = (block.text for block in blocks_of(ROOT / "docs" / "operate.md") if block.kind == "sh")
    folder, start = byhand.splitlines()
    assert f"WorkingDirectory={folder.removeprefix('cd ')}\n" in unit
    user, _, first = start.removeprefix("sudo -u ").partition(" ")
    assert f"User={user}\n" in unit
    assert line.startswith(first.replace(" plan.json", ""))  # the same program, store and tokens
    program.commands[command].make_context(command, first.split()[2:])


def test_examples_of_the_commands_have_options_that_exist() -> None:
    from hush.cli.commands import program

    lines = [
        line
        for block in blocks_of(ROOT / "docs" / "cli-reference.md")
        if block.kind == "sh"
        for line in block.text.splitlines()
        if line.startswith("hush ")
    ]
    assert {line.split()[1] for line in lines} >= program.commands.keys()
    for line in lines:
        command, *arguments = shlex.split(line.partition(" | ")[0].partition(" > ")[0], comments=True)[1:]
        program.commands[command].make_context(command, arguments)


def neighbour(name: str) -> ModuleType:
    """Load a program of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_that_of_the_program() -> None:
    written = neighbour("api_pages").pages()
    assert {path.name for path in (ROOT / "docs" / "api").glob("*.md")} == written.keys()
    for page, text in written.items():
        path = ROOT / "docs" / "api" / page
        assert path.read_text(encoding="utf-8") == text, f"{page} is out of date: python docs/api_pages.py"


def test_a_docstring_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin."""
    monkeypatch.setattr(hush.estimate, "__doc__", "Return other words.")
    page = neighbour("api_pages").pages()["hush.md"]
    assert page != (ROOT / "docs" / "api" / "hush.md").read_text(encoding="utf-8")


def test_every_public_name_is_in_the_reference() -> None:
    for module in (hush, batch, audits):
        page = (ROOT / "docs" / "api" / f"{module.__name__}.md").read_text(encoding="utf-8")
        shown = re.findall(r"^### (\w+)$", page, re.M)
        assert sorted(shown) == sorted(module.__all__)
    signature = (
        "design(\n    schema: Schema,\n    epsilon: float | None = None,\n    *,\n    central: float | None = None,\n"
    )
    assert signature in (ROOT / "docs" / "api" / "hush.md").read_text(encoding="utf-8")


def test_every_page_is_on_the_front_page() -> None:
    """Under exactly one of the headings, by a plain link; no page is only there to include another."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = [link for part in re.split(r"^## ", text, flags=re.M)[1:] for link in re.findall(r"\]\(([^)#]+)", part)]
    decisions = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.parent == ROOT / "docs" and page.name != "index.md":
            assert listed.count(page.name) == 1, page
        if page.parent == ROOT / "docs" / "decisions" and page.name != "index.md":
            assert f"]({page.name})" in decisions, page
        if page.parent == ROOT / "spec" or page.name in ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
            assert listed.count(f"../{page.relative_to(ROOT)}") == 1, page
        for block in blocks_of(page):
            assert not block.kind.startswith("{"), f"{page}:{block.line}: a code host does not know this directive"


@pytest.mark.parametrize("page", OTHERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    namespace: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), namespace)  # noqa: S102


def test_the_readme_is_short_and_ends_its_session_in_estimates() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    assert [block.printed for block in blocks_of(ROOT / "README.md")] == [False, True, False]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_commands_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for command in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert command in targets, page
    assert set(re.findall(r"^make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)) == {
        "demo",
        "test",
    }


def test_files_named_in_the_documents_exist() -> None:
    for page in PAGES:
        for name in re.findall(
            r"`((?:tests|src|spec|docs|benchmarks|experiments)/[\w/.-]+)`", page.read_text(encoding="utf-8")
        ):
            assert (ROOT / name).exists(), (page, name)


def test_tables_are_those_of_the_program() -> None:
    tables = neighbour("tables")
    for page in tables.PAGES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert tables.filled(page) == text, f"{page} is out of date: make docs"


def test_the_table_of_times_says_what_its_file_does_not_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of today has machine, load and sizes; in an older one most are missing, and the page says so."""
    tables, kept = neighbour("stopwatch_tables"), tmp_path / "kept.json"
    monkeypatch.setattr(tables, "KEPT", kept)
    old = {"first": 0.5, "few": 100, "later": 0.6, "many": 400, "size": 0.01, "given": 0.7, "count": 100}
    new = old | {"first_size": 0.02, "given_size": 0.03, "run": "today", "others": 0.041}
    on = {"processor": "P", "cores": 2, "system": "Linux", "python": "CPython 3.11", "load": 0.07}
    kept.write_text(json.dumps({"old": old}))
    text = tables.stopwatch()
    assert "| old | 0.500 | 0.615 |  | 0.600 | 0.558 | 1.00 % | 0.700 | 0.615 |  |\n" in text
    assert "Of 1 plans the kept measurement states neither the machine nor its load, and 2 of their sizes" in text
    assert "Measured on" not in text
    kept.write_text(json.dumps({"runs": {"today": on}, "plans": {"new": new, "old": old, "alone": {}}}))
    text = tables.stopwatch()
    assert "| new | 0.500 | 0.615 | 2.00 % | 0.600 | 0.558 | 1.00 % | 0.700 | 0.615 | 3.00 % |\n" in text
    assert "| alone |  |  |  |  |  |  |  |  |  |\n" in text
    assert "Measured on today, 1 plans: P with 2 cores, Linux, CPython 3.11. The load was 0.07 when it began." in text
    assert "Other programs used at most 4.1 % of the processors meanwhile." in text
    assert "Of 2 plans the kept measurement" in text
    kept.write_text(json.dumps({"runs": {"today": on | {"load": None}}, "plans": {"new": new | {"others": None}}}))
    assert tables.stopwatch().endswith("today, 1 plans: P with 2 cores, Linux, CPython 3.11.")


def test_the_readme_knows_every_mechanism() -> None:
    from hush.core.design import BLOCK, CATEGORICAL, NUMERIC

    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for name in (*NUMERIC, *BLOCK, *CATEGORICAL):
        assert f"| `{name}` |" in page
