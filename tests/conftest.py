"""Hypothesis without deadlines, as machines are shared; the same examples every time where CI is set.

Every test begins as a process that has answered nothing.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

settings.register_profile("hush", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("hush")


@pytest.fixture(autouse=True)
def nothing_answered() -> None:
    answered = sys.modules.get("hush.device.answered")
    if answered is not None:
        answered._memory.answers.clear()
