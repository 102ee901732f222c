"""A plugin of pytest: the same random words in every run, where CI is set.

A statistical test may fail by chance once in a million runs. But a run has thousands of tests, and one that is weaker
than its author thought would stop somebody else's change. So CI replaces the words of the operating system by words
that follow from the test's name. HUSH_SEED=2 draws others, which finds such tests. Without CI all words are real.

Only `os.urandom` of this process is replaced. Children, forked or started, draw real words.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

SEED = os.environ.get("HUSH_SEED", "")
_real = os.urandom
_seen = threading.RLock()  # a signal handler may draw too


def words(name: str) -> Callable[[int], bytes]:
    """Return a stand-in for `os.urandom` whose bytes follow from this name."""
    source = random.Random(f"{SEED}:{name}")

    def urandom(size: int, /) -> bytes:
        with _seen:
            return source.randbytes(size)

    return urandom


if "CI" in os.environ:
    os.register_at_fork(after_in_child=lambda: setattr(os, "urandom", _real))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
        """Give a test words of its own."""
        os.urandom = words(item.nodeid)
        try:
            return (yield)
        finally:
            os.urandom = _real

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Give a fixture of several tests words of its own: which of them runs first, nobody knows."""
        if fixturedef.scope == "function":
            return (yield)
        before = os.urandom
        os.urandom = words(f"{fixturedef.baseid}:{fixturedef.argname}:{getattr(request, 'param_index', 0)}")
        try:
            return (yield)
        finally:
            os.urandom = before
