"""Try the changes of a file of the browser client: `web/mutants` makes them, and runs its tests.

Many promises of the client are tested from Python (`tests/web`): given the same plans, records and words, it must
answer as Python does. These tests are run once, with the client as it is. Their questions and the answers, which were
right, are recorded, and every changed client that its own tests let live is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from tests.mutants.modules import CACHE, ROOT, Module, Result, Save

WEB = ROOT / "web"
BUILT = ROOT / "src" / "hush" / "collector" / "static" / "hush.js"
RECORDED = (  # the quick ones first
    "tests/web/test_refusals.py::test_limits_are_the_same",
    "tests/web/test_refusals.py::test_privacy_is_checked_to_the_last_step",
    "tests/web/test_refusals.py::test_the_same_plans_are_refused",
    "tests/web/test_client.py::test_what_is_public_about_a_plan",
    "tests/web/test_client.py::test_likelihoods_are_those_of_the_exact_laws",
    "tests/web/test_client.py::test_likelihoods_of_large_sets_do_not_underflow_early",
    "tests/web/test_client.py::test_tickets_deal_the_same_questions",
    "tests/web/test_client.py::test_the_same_words_give_the_same_bytes",
)


def digest(source: str) -> str:
    """Return a name for what a source does: its layout, and comments on lines of their own, do not count."""
    bare = re.sub(r"^\s*(//[^\n]*|/\*.*?\*/[ \t]*)$", "", source, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in bare.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:16]


def tried(module: Module, known: Collection[str], hints: dict[str, str], workers: int, save: Save) -> Result:
    """Try all changes but those known, and return what noticed each."""
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules").exists():
        sys.exit(f"{module.name} is tried with Node, and what make web brings")
    asked = {
        "file": str(module.path),
        "tests": module.tests,
        "known": sorted(known),
        "hints": hints,
        "workers": workers,
    }
    cases = {"HUSH_CASES": str(_recorded())} if any("recorded" in test for test in module.tests) else {}
    errors = Path(tempfile.mkdtemp(prefix="mutants")) / "errors"
    with (
        errors.open("wb") as written,
        subprocess.Popen(  # noqa: S603
            [node, "mutants/try.mjs"],
            cwd=WEB,
            env=os.environ | cases | {"TMPDIR": tempfile.gettempdir()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        result = Result(json.loads(process.stdout.readline() or "[]"))
        for line in process.stdout:
            key, killer = json.loads(line)
            if killer is not None:
                result.killers[key] = killer
                save(result.killers)
    if process.returncode:
        sys.exit(f"the tester itself failed: {errors.read_text(encoding='utf-8')[-2000:]}")
    return result


def _recorded() -> Path:
    """Run the tests that compare the client with Python; return a file of what they asked, and what it answered.

    It is kept for the next time, as long as neither the tests nor what they compare changes.
    """
    sources = (ROOT / "src" / "hush").rglob("*.py")
    parts = [*sources, *(ROOT / "tests" / "web").glob("*.py"), WEB / "test" / "actions.mjs", BUILT]
    name = hashlib.sha256(b"".join(part.read_bytes() for part in sorted(parts))).hexdigest()[:16]
    file = CACHE / f"asked-{name}"
    if file.exists():
        return file
    draft = Path(tempfile.mkdtemp(prefix="mutants")) / "asked"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *RECORDED],
        cwd=ROOT,
        env=os.environ | {"HUSH_WEB_RECORD": str(draft)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode or not draft.exists():
        sys.exit(f"the client does not answer as Python does: {done.stdout[-2000:]}")
    for old in CACHE.glob("asked-*"):
        old.unlink()
    shutil.copyfile(draft, file)
    return file
