"""A plugin of pytest: the processor time of every test, with that of its children, as lines of JSON.

    python -m pytest -p tests.seconds [TESTS...]

They are appended to the file that HUSH_SECONDS names, seconds.jsonl if it names none. Time on the clock would depend on
what else the machine does. A child counts when it has ended: one that serves a whole file counts for its last test.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Generator
from pathlib import Path

import pytest

FILE = Path(os.environ.get("HUSH_SECONDS", "seconds.jsonl"))


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test with its fixtures."""
    before = _used()
    try:
        return (yield)
    finally:
        with FILE.open("a", encoding="utf-8") as file:
            file.write(json.dumps([item.nodeid, round(_used() - before, 3)]) + "\n")
