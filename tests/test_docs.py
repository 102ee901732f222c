"""Documents do not rot: code runs, links lead somewhere, tables are what the program computes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "spec").glob("*.md")]
    if "_build" not in path.parts
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    namespace: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), namespace)  # noqa: S102


def test_the_readme_has_code() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("```python") >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_commands_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for command in re.findall(r"`make ([a-z]+)", page.read_text(encoding="utf-8")):
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
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    for page in tables.PAGES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert tables.filled(page) == text, f"{page} is out of date: make docs"


def test_the_readme_knows_every_mechanism() -> None:
    from hush.design import BLOCK, CATEGORICAL, NUMERIC

    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for name in (*NUMERIC, *BLOCK, *CATEGORICAL):
        assert f"| `{name}` |" in page
