"""The mutation tester itself, and what it found: the kept result is that of the present source, and is explained."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutants import __main__ as tester
from tests.mutants import scripts
from tests.mutants.__main__ import digest as digest_of
from tests.mutants.changes import Change, changes, digest
from tests.mutants.copies import SURVIVED, Jobs, attempt, inside
from tests.mutants.modules import MODULES, ROOT, Module

KEPT: dict[str, Any] = json.loads((ROOT / "docs" / "measured" / "mutants.json").read_text(encoding="utf-8"))
WEB = ROOT / "web"
NODE = shutil.which("node")
needs_web = pytest.mark.skipif(
    NODE is None or not (WEB / "node_modules").exists(), reason="scripts are tried with Node, and what make web brings"
)
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
        self.stash: dict[object, object] = {}

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


def test_of_overloads_the_function_itself_is_changed() -> None:
    source = "from typing import overload\n@overload\ndef f(n: int) -> int: ...\ndef f(n):\n    return n\n"
    assert inside(compile(source, "x.py", "exec"), "f").co_firstlineno == 4
    assert noticed(source, lambda f: f(7) / 7) == {"return None": True}


SCRIPT = """
import { ensure } from "./errors.js";
/** A comment of 1. */
const LIMIT = 3n;
const twice = (x: 1 | 2): number => x * 2;
export class Box {
  constructor(readonly size = 0) {
    ensure(size >= -1, `from 0 to ${LIMIT}`);
  }
  check(x: unknown): "yes" | undefined {
    if (!/^a{2}$/.test(`${x}`)) throw new Error("no");
    return this.size ** 2 && "yes";
  }
}
"""


@needs_web
def test_what_is_changed_in_a_script_and_what_is_not() -> None:
    code = """
        import { changes } from "./mutants/changes.mjs";
        import { text } from "node:stream/consumers";
        const source = await text(process.stdin);
        for (const { key, start, end, instead } of changes(source)) {
          console.log(JSON.stringify([key, source.slice(start, end), instead]));
        }
    """
    found = [json.loads(line) for line in _node("--input-type=module", "-e", code, given=SCRIPT).splitlines()]
    pattern, result = "!/^a{2}$/.test(`${x}`)", 'this.size ** 2 && "yes"'
    assert [key for key, _, _ in found] == [
        "module: const LIMIT = 3n; -> const LIMIT = 4n;",
        "module: const LIMIT = 3n; -> const LIMIT = 2n;",
        "twice: (x: 1 | 2): number => x * 2 -> (x: 1 | 2): number => undefined",
        "twice: (x: 1 | 2): number => x * 2 -> (x: 1 | 2): number => x / 2",
        "twice: (x: 1 | 2): number => x * 2 -> (x: 1 | 2): number => x * 3",
        "twice: (x: 1 | 2): number => x * 2 -> (x: 1 | 2): number => x * 1",
        "Box.constructor: readonly size = 0 -> readonly size = 1",
        "Box.constructor: readonly size = 0 -> readonly size = -1",
        "Box.constructor: ensure(size >= -1, `from 0 to ${LIMIT}`); -> ;",
        "Box.constructor: ensure(size >= -1, `from 0 to ${LIMIT}`) -> ensure(size > -1, `from 0 to ${LIMIT}`)",
        "Box.constructor: ensure(size >= -1, `from 0 to ${LIMIT}`) -> ensure(size >= 0, `from 0 to ${LIMIT}`)",
        "Box.constructor: ensure(size >= -1, `from 0 to ${LIMIT}`) -> ensure(size >= -2, `from 0 to ${LIMIT}`)",
        *(
            f"Box.check: {pattern} -> {after}"
            for after in (
                "/^a{2}$/.test(`${x}`)",
                "!/a{2}$/.test(`${x}`)",
                "!/^a{2}/.test(`${x}`)",
                "!/^a{3}$/.test(`${x}`)",
                "!/^a{2}$/.test(`${x}?`)",
            )
        ),
        'Box.check: throw new Error("no"); -> ;',
        f"Box.check: return {result}; -> return undefined;",
        f'Box.check: return {result}; -> return (this.size ** 2) || "yes";',
        f'Box.check: return {result}; -> return (this.size * 2) && "yes";',
        f'Box.check: return {result}; -> return this.size ** 3 && "yes";',
        f'Box.check: return {result}; -> return this.size ** 1 && "yes";',
        f'Box.check: return {result}; -> return this.size ** 2 && "yes?";',
    ]
    assert all(before and before != instead for _, before, instead in found)


LOOKS = "assert.equal(hush.VERSION, 2)"
WAITS = "while (hush.VERSION !== 2);"


@needs_web
@pytest.mark.parametrize(("does", "notices"), [(LOOKS, True), (WAITS, True), ("hush.VERSION", False)])
def test_a_test_of_the_client_that_cannot_fail_notices_nothing(tmp_path: Path, does: str, notices: bool) -> None:
    """Of all changes of a file the two of one number: one up, and one down. A test that never ends notices too."""
    file = tmp_path / "one.test.mjs"
    file.write_text(
        'import assert from "node:assert/strict";\nimport { test } from "node:test";\n'
        "const hush = await import(process.env.HUSH_MODULE);\nassert.ok(hush.Plan);\n"
        f'test("one", () => {{ {does}; }});\ntest("two", () => {{}});\n'
    )
    code = """
        import { changes } from "./mutants/changes.mjs";
        import { text } from "node:stream/consumers";
        console.log(JSON.stringify(changes(await text(process.stdin)).map(({ key }) => key)));
    """
    source = (WEB / "src" / "json.ts").read_text(encoding="utf-8")
    keys: list[str] = json.loads(_node("--input-type=module", "-e", code, given=source))
    wanted = [f"module: export const VERSION = 2; -> export const VERSION = {version};" for version in (3, 1)]
    others = [key for key in keys if key not in wanted]
    asked = {"file": "src/json.ts", "tests": [str(file)], "known": others, "hints": {}, "workers": 2}
    found, *tried = map(json.loads, _node("mutants/try.mjs", given=json.dumps(asked)).splitlines())
    assert found == keys
    killer = {LOOKS: "one.test.mjs: one", WAITS: "late, or SIGKILL"}.get(does)
    assert dict(tried) == dict.fromkeys(wanted, killer)
    assert (killer is not None) == notices


def _node(*arguments: str, given: str) -> str:
    done = subprocess.run(  # noqa: S603
        [str(NODE), *arguments], cwd=WEB, input=given, capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_comments_do_not_count_but_code_does() -> None:
    assert digest(SOURCE) == digest(SOURCE.replace("Another", "A better one") + "\n# why\n")
    assert digest(SOURCE) != digest(SOURCE.replace("<=", "<"))
    again = SCRIPT.replace("A comment of 1.", "A better one\n *  of two lines.").replace("    ensure", "// why\nensure")
    assert scripts.digest(SCRIPT) == scripts.digest(again)
    assert scripts.digest(SCRIPT) != scripts.digest(SCRIPT.replace(">= -1", "> -1"))
    assert scripts.digest(SCRIPT) != scripts.digest(SCRIPT.replace("3n", "4n"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_nearly_all_are_noticed_and_the_others_explained(module: Module) -> None:
    """The kept result is of this source; survivors.toml says why each change that lives may live."""
    assert module.path.exists()
    assert all((WEB / test if module.script else ROOT / test).exists() for test in module.tests)
    result = KEPT.get(module.name, {})
    if result.get("source") != digest_of(module):
        # Not a failure: whoever mends a line need not wait for minutes. A release has none of these (CONTRIBUTING.md).
        command = f"make mutants OPTIONS={module.name}, then make mutants OPTIONS=--keep, then make docs"
        pytest.skip(f"docs/mutants.md is of an older source of {module.name}, or of none: {command}")
    assert len(result["survivors"]) <= 0.08 * result["mutants"]
    reasons = REASONS.get(module.name, {})
    assert {survivor["change"]: survivor["why"] for survivor in result["survivors"]} == reasons
    assert all(len(why) > 20 for why in reasons.values())


def test_whoever_releases_is_told_what_is_stale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["mutants", "--stale"])
    monkeypatch.setattr(tester, "kept", dict)
    with pytest.raises(SystemExit) as ended:
        tester.main()
    assert ended.value.code == 1
    assert "core/codec: never tried" in capsys.readouterr().out.splitlines()
    present = {module.name: {"source": digest_of(module)} for module in MODULES}
    monkeypatch.setattr(tester, "kept", lambda: present)
    with pytest.raises(SystemExit) as ended:
        tester.main()
    assert (ended.value.code, capsys.readouterr().out) == (0, "")
    present["web/plan"] = {"source": "another"}
    with pytest.raises(SystemExit) as ended:
        tester.main()
    assert (ended.value.code, capsys.readouterr().out) == (1, "web/plan: older than the source\n")


def test_nothing_is_explained_that_is_not_tried() -> None:
    names = {module.name for module in MODULES}
    assert KEPT.keys() <= names
    assert REASONS.keys() <= names


def test_every_script_of_the_client_is_tried() -> None:
    """Of Python it is the core and the device; the browser client is small enough to be tried as a whole."""
    files = {f"web/{path.relative_to(WEB / 'src').with_suffix('').as_posix()}" for path in WEB.glob("src/**/*.ts")}
    assert {module.name for module in MODULES if module.script} == files
