"""The tutorial notebook runs from beginning to end, and is kept without outputs, which would go stale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent.parent / "docs" / "tutorial.ipynb"
# In the kernel, where pytest has no say. Its own end is announced by a warning that something is not deprecated yet.
STRICT = """
import warnings
warnings.simplefilter("error")
warnings.simplefilter("ignore", PendingDeprecationWarning)
"""


@pytest.fixture(scope="module")
def notebook() -> Any:
    found: Any = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(found)
    return found


def test_it_is_kept_without_outputs(notebook: Any) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


# What the kernel's own libraries warn of at their end is theirs; warnings inside of the notebook are errors.
@pytest.mark.filterwarnings("default")
@pytest.mark.timeout(900)
def test_it_runs_and_shows_tables_and_pictures(notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))  # not those of whoever runs the tests
    work = tmp_path / "work"
    work.mkdir()
    strict: Any = nbformat.v4.new_code_cell(STRICT)  # type: ignore[no-untyped-call]
    played = nbformat.v4.new_notebook(cells=[strict, *notebook.cells])  # type: ignore[no-untyped-call]
    client = NotebookClient(played, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(work)}})
    client.execute()
    assert not list(work.iterdir())  # it leaves nothing behind
    shown: dict[str, dict[str, str]] = {}  # by the last line of a cell
    for cell in played.cells:
        for output in cell.get("outputs", []):
            assert output.output_type in ("execute_result", "stream"), output
            assert output.get("name") != "stderr", output
            shown[cell.source.strip().splitlines()[-1]] = output.get("data", {})
    for table in ("plan", "hush.predict(plan, people=40)", "rows", 'hush.estimate(few).of("leaving")'):
        assert "<td" in shown[table]["text/html"], table
    for chart in ('plan.plot_law("overtime", 0, 20)', "plan.plot(people=1_000_000)", "tally.plot()", "found.plot()"):
        assert "<svg" in shown[chart]["image/svg+xml"], chart
