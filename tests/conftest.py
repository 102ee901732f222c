"""Hypothesis without deadlines, as machines are shared; the same examples and random words where CI is set.

Every test begins as a process that has answered nothing. Those of tests/slow.py are marked as slow.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import slow

pytest_plugins = ["tests.repeatable"]

os.environ.setdefault("HUSH_COMPILE", "1")  # small tables go through kernels too; tests/batch/test_plainly.py does not

settings.register_profile("hush", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("hush")

COLLECTED = pytest.StashKey[list[str]]()  # the names of all tests that were read, slow ones too


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files of slow tests unread where none of them would run: some make plans for seconds when imported."""
    quick = config.getoption("markexpr") == "not slow"
    return True if quick and collection_path.is_file() and slow.has_none(collection_path.as_posix()) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from ten thousand collected tests: it would walk over them again and again.

    They live until the end, so there is nothing to collect among them. Tests make little garbage: it is looked for
    rarely, which saves a fifteenth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


def pytest_unconfigure() -> None:
    """Let everything be collected at the end: libraries complain about what is left."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = [item.nodeid for item in items]
    for item in items:
        if slow.is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(slow.TIMEOUT))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the run cost, with its workers and their children; time on the clock depends on other programs."""
    terminalreporter.write_line(f"{sum(os.times()[:4]):.0f} seconds of processor time")


@pytest.fixture(autouse=True)
def nothing_answered() -> None:
    """Every test begins as a new process does: nothing is remembered, and no other test has forked."""
    family = sys.modules.get("hush.device.family")
    if family is not None:
        vars(family)["forks"] = 0
    answered = sys.modules.get("hush.device.answered")
    if answered is not None:
        answered._memory.answers.clear()
        answered._memory.asked.clear()
