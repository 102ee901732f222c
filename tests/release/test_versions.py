"""What `make versions OPTIONS=--fast` runs can be collected where little is installed: CI would tell after minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.release import bare, versions

PLUGINS = (
    "tests.release.bare",
    "pytest_timeout",
    "_hypothesis_pytestplugin",
    "no:cacheprovider",
)  # the first one first
BROKEN = """
from tests.collector.served import Served  # as a conftest.py did once: it needs the libraries of collectors

def test_nothing() -> None:
    pass
"""


def collected(*tests: str) -> tuple[int, str]:
    """Collect tests with hush and `versions.TESTING` alone; return the exit status, and what pytest prints."""
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-qq", "--collect-only", *plugins, *tests]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603
        command, cwd=versions.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_fast_tests_need_little() -> None:
    status, printed = collected(*versions.FAST)
    assert status == 0, printed
    for file in versions.FAST:
        assert f"{file}: " in printed, file


def test_a_test_that_needs_more_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text(BROKEN)
    status, printed = collected(str(tmp_path))
    assert status != 0
    assert "is not among what versions.TESTING installs" in printed


def test_what_requirements_bring_is_found() -> None:
    found = bare.installed(versions.TESTING)
    assert {"hypothesis", "numpy", "pytest", "_pytest", "pytest_timeout", "pluggy"} <= found
    assert not {"httpx", "numba", "pyarrow", "starlette"} & found
