"""The mutation tester itself, and what it found: the kept result is that of the present source, and is explained."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutants.__main__ import SURVIVED, Jobs, attempt, inside
from tests.mutants.changes import Change, changes, digest
from tests.mutants.modules import MODULES, ROOT, Module

KEPT: dict[str, Any] = json.loads((ROOT / "docs" / "measured" / "mutants.json").read_text(encoding="utf-8"))
REASONS = tomllib.loads((ROOT / "tests" / "mutants" / "survivors.toml").read_text(encoding="utf-8"))

SOURCE = '''
"""A docstring of 1."""
LIMIT = 3

def f(x: int, y: int = 0) -> int:
    """Another."""
    assert x != 7
    if not 0 <= x < LIMIT:
        raise ValueError(f"from 0 to {LIMIT}")
    check(x, 1, SomeError, "a number")
    return min(x, y) + 2
'''


def test_what_is_changed_and_what_is_not() -> None:
    found = [(change.function, change.before, change.after) for change in changes(SOURCE, "x.py")]
    check = "check(x, 1, SomeError, 'a number')"
    assert found == [
        (None, "LIMIT = 3", "LIMIT = 4"),
        (None, "LIMIT = 3", "LIMIT = 2"),
        (None, "0", "1"),
        (None, "0", "-1"),
        ("f", "not 0 <= x < LIMIT", "0 <= x < LIMIT"),
        ("f", "not 0 <= x < LIMIT", "not 0 < x < LIMIT"),
        ("f", "not 0 <= x < LIMIT", "not 0 <= x <= LIMIT"),
        ("f", "not 0 <= x < LIMIT", "not 1 <= x < LIMIT"),
        ("f", "not 0 <= x < LIMIT", "not -1 <= x < LIMIT"),
        ("f", "raise ValueError(f'from 0 to {LIMIT}')", "pass"),
        ("f", check, "pass"),
        ("f", check, check.replace("1", "2")),
        ("f", check, check.replace("1", "0")),
        ("f", "return min(x, y) + 2", "return None"),
        ("f", "return min(x, y) + 2", "return min(x, y) - 2"),
        ("f", "return min(x, y) + 2", "return max(x, y) + 2"),
        ("f", "return min(x, y) + 2", "return min(x, y) + 3"),
        ("f", "return min(x, y) + 2", "return min(x, y) + 1"),
    ]


def test_a_change_is_what_its_code_does() -> None:
    for change in changes("def f(x):\n    return x + 2\n", "x.py"):
        names: dict[str, Any] = {}
        exec(change.code, names)  # noqa: S102
        assert (
            names["f"](5)
            == {"return x - 2": 3, "return x + 3": 8, "return x + 1": 6, "return None": None}[change.after]
        )


class Item:
    """As much of a test as the tester needs."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.nodeid, self.runtest, self.session = "a test", run, SimpleNamespace(_setupstate=self)

    def setup(self, item: object) -> None:
        pass

    def teardown_exact(self, following: object) -> None:
        pass


def noticed(source: str, test: Callable[[Callable[[int], int]], object]) -> dict[str, bool]:
    """Which changes of a function f the test notices."""
    names: dict[str, Any] = {}
    exec(compile(source, "x.py", "exec"), names)  # noqa: S102
    found: dict[str, bool] = {}

    def note(change: Change) -> Callable[[int, str], None]:
        return lambda status, text: found.update({change.after: status != 0 or text != SURVIVED})

    jobs = Jobs(1)
    for change in changes(source, "x.py"):
        items = [Item(lambda: test(names["f"]))]
        jobs.start(partial(attempt, inside(change.code, "f"), [names["f"]], items, {"a test": 0.001}), note(change))
    jobs.wait()
    return found


def test_a_test_that_cannot_fail_notices_nothing() -> None:
    """The tester has its own broken twin: a test that calls the function and does not look."""

    def looks(f: Callable[[int], int]) -> None:
        assert [f(7), f(8)] == [3, 4]

    source = "def f(n):\n    return n // 2\n"
    after = ["return None", "return n / 2", "return n // 3", "return n // 1"]
    assert noticed(source, looks) == dict.fromkeys(after, True)
    assert noticed(source, lambda f: f(7)) == dict.fromkeys(after, False)


def test_an_endless_loop_is_noticed() -> None:
    found = noticed("def f(n):\n    while n > 0:\n        n -= 1\n    return 0\n", lambda f: f(3))
    assert found["pass"]
    assert not found["return None"]


def test_comments_do_not_count_but_code_does() -> None:
    assert digest(SOURCE) == digest(SOURCE.replace("Another", "A better one") + "\n# why\n")
    assert digest(SOURCE) != digest(SOURCE.replace("<=", "<"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_kept_result_is_of_this_source(module: Module) -> None:
    source = module.path.read_text(encoding="utf-8")
    assert module.name in KEPT
    if KEPT[module.name]["source"] != digest(source):
        # Not a failure: whoever mends a line need not wait for minutes. A release has none of these (CONTRIBUTING.md).
        command = f"make mutants OPTIONS={module.name}, then make mutants OPTIONS=--keep, then make docs"
        pytest.skip(f"docs/mutants.md is of an older source of {module.name}: {command}")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_nine_of_ten_are_noticed_and_the_others_explained(module: Module) -> None:
    result = KEPT[module.name]
    assert len(result["survivors"]) <= 0.1 * result["mutants"]
    reasons = REASONS.get(module.name, {})
    assert {survivor["change"]: survivor["why"] for survivor in result["survivors"]} == reasons
    assert all(len(why) > 20 for why in reasons.values())
