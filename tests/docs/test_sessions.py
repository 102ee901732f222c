"""The pages that are told as sessions are true: commands are typed, files written, blocks of Python run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions import PLAYED, ROOT, Session, numberless

pytestmark = pytest.mark.timeout(900)  # a page has a dozen commands, and each may take a minute or two


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


@pytest.mark.parametrize("page", PLAYED)
def test_the_page_is_true(page: str, session: Session) -> None:
    if PLAYED[page] and shutil.which("curl") is None:
        pytest.skip("the page shows curl")
    session.play(ROOT / "docs" / page)
    assert session.commands >= PLAYED[page]


def test_what_a_page_gets_wrong_is_noticed(session: Session, tmp_path: Path) -> None:
    """The twin: an output that is not printed, a number too few, code that fails."""
    for text in (
        "```console\n$ echo one two\none three\n```\n",
        "<!-- numbers vary -->\n```console\n$ echo 1 2\n1\n```\n",
        "```python\nassert False\n```\n",
        "```python\nprint(1)\n```\n<!-- printed -->\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n<!-- printed; numbers vary -->\n```text\none\n```\n",
        "<!-- printed -->\n```text\nprinted by nothing\n```\n",
    ):
        (tmp_path / "page.md").write_text(text)
        with pytest.raises(AssertionError):
            session.play(tmp_path / "page.md")
    (tmp_path / "page.md").write_text("<!-- numbers vary -->\n```console\n$ echo 1 to 2\n30 to 40\n```\n")
    session.play(tmp_path / "page.md")
    assert session.commands == 1
    (tmp_path / "page.md").write_text("```python\nprint(1)\n```\n<!-- printed; numbers vary -->\n```text\n2\n```\n")
    session.play(tmp_path / "page.md")


def test_any_number_stands_for_any_other() -> None:
    """Whatever its sign, size and digits; but there must be as many."""
    shown = "income,(missing),0.01,0.013,-0.016,0.036,9988 of 20,000 ─────"
    for found in (
        "income,(missing),-8.3e-05,0.013,-0.02,0.02,10012 of 20,000 ──",
        "income,(missing),0.03,0.013,0.004,0.056,9988 of 900 ───",
    ):
        assert numberless(shown) == numberless(found)
    assert numberless(shown) != numberless(shown.replace("0.01,", ""))
