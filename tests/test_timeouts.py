"""A test that hangs fails, and the others go on: alone, and on workers beside each other. Slow ones are named."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import slow
from tests.conftest import COLLECTED

ROOT = Path(__file__).parent.parent
HANGING = """
import signal, subprocess, sys, threading, time, pytest

def test_sleeps():
    time.sleep(600)

def test_waits_for_a_thread():
    threading.Event().wait()

def test_waits_for_a_child():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        child.communicate()
    finally:
        child.kill()
        child.wait()

@pytest.mark.timeout(600)
def test_has_its_own():
    time.sleep(1.5)

def test_handles_signals():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    signal.raise_signal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
"""


@pytest.mark.parametrize("workers", [["-p", "no:xdist"], ["-n", "1"]], ids=["alone", "worker"])
def test_what_hangs_fails(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 1\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers]
    result = subprocess.run(  # noqa: S603
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert "3 failed, 2 passed" in result.stdout, result.stdout
    assert result.stdout.count("Timeout (>1.0s) from pytest-timeout") >= 3


def test_every_test_has_a_limit() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 0 < settings["timeout"] <= 600


def test_slow_tests_are_there_and_none_is_kept_without_need() -> None:
    texts = {f"/{path.relative_to(ROOT).as_posix()}": path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    for name in (*slow.SLOW, *slow.KEPT):
        place, _, test = name.partition("::")
        if place.endswith("/"):
            assert any(f"/{place}" in path for path in texts), name
            continue
        (found,) = (text for path, text in texts.items() if path.endswith(f"/{place}"))
        if test:
            assert re.search(rf"^def {re.escape(test.partition('[')[0])}", found, re.M), name
    for name in slow.KEPT:
        assert any(name.startswith(start) for start in slow.SLOW), f"{name} would not be slow anyway"
        assert not slow.is_slow(name)


def test_every_key_names_a_test(request: pytest.FixtureRequest) -> None:
    """Those of files that were read: all in `make test-slow`, all with quick tests in `make test`."""
    if any("::" in argument for argument in request.config.args):
        pytest.skip("some tests of a file were chosen by name")
    names: list[str] = request.config.stash[COLLECTED]
    assert not slow.idle(names)


def test_a_key_that_names_none_is_noticed() -> None:
    names = [
        "tests/cli/test_some.py::test_one[1]",
        "tests/cli/test_some.py::test_two",
        "tests/web/test_some.py::test_one",
    ]
    good = ["test_some.py", "cli/", "cli/test_some.py::test_o", "web/test_some.py::test_one", "test_some.py::test_two"]
    bad = ["cli/test_some.py::test_one[2]", "web/test_some.py::test_two", "test_some.py::test_three"]
    elsewhere = ["test_other.py", "test_other.py::test_one", "web/test_other.py::test_one", "me.py::test_one"]
    assert slow.idle(names, [*good, *bad, *elsewhere]) == bad


def test_slow_tests_are_marked_and_have_more_time(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        assert (item.get_closest_marker("slow") is not None) == slow.is_slow(item.nodeid)
    assert not slow.is_slow(request.node.nodeid)


def test_every_test_is_run_before_a_change_is_taken() -> None:
    """`make test` leaves out what `make test-slow` runs, and .ci/run calls both."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test: .*\n\t.* -m 'not slow'$", makefile, re.M)
    assert re.search(r"^test-slow: .*\n\t.* -m slow$", makefile, re.M)
    stages = re.findall(r"^stage make ([a-z-]+)", (ROOT / ".ci" / "run").read_text(), re.M)
    assert stages.index("test") < stages.index("test-slow")
