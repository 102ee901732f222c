"""Hypothesis without deadlines, as machines are shared; the same examples every time where CI is set.

Every test begins as a process that has answered nothing. Those of tests/slow.py are marked as slow.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

from tests import slow

settings.register_profile("hush", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("hush")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if slow.is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(slow.TIMEOUT))


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
