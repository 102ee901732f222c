"""Tests on the other supported Pythons: `make versions`.

    python tests/release/versions.py [--fast] [--newest] [INTERPRETER...]

Looks for an interpreter of each version that `pyproject.toml` names, and of the next, on the path and among pyenv's;
what is not here is skipped, and told. Each gets an environment of its own, `.venv-versions/X.Y`. `--fast` runs the core
alone, which needs little more than the standard library.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENTS = ROOT / ".venv-versions"
TESTING = ["hypothesis>=6.108", "numpy>=2.0", "pytest>=8.3", "pytest-timeout>=2.3.1"]
FAST = [
    *(f"tests/core/test_{name}.py" for name in ("codec", "coins", "exact", "plan", "report", "schema")),
    *(f"tests/device/test_{name}.py" for name in ("answered", "ledger", "randomise")),
    *(f"tests/server/test_{name}.py" for name in ("distributions", "estimates", "intervals", "tally")),
    "tests/files/test_atomic.py",
    "tests/test_vectors.py",
]
SLOW = "mutated or any_edit or largest_schema or kill or at_once"  # not among the fast ones
MORE = ["httpx>=0.27", "pandas>=2.2.2", "polars>=1.20", "scipy>=1.13"]
WHOLE = [
    *FAST,
    "tests/cli/test_commands.py",
    "tests/test_imports.py",
    "tests/planning/audits",
    "tests/core/channels",
    *(f"tests/batch/test_{name}.py" for name in ("batch", "columns", "counting", "sources", "words")),
    "tests/engines/test_duckdb.py",
    *(f"tests/learn/test_{name}.py" for name in ("estimators", "once")),
    *(f"tests/core/training/test_{name}.py" for name in ("losses", "moving", "rotations", "rounds", "travelling")),
    *(f"tests/collector/test_{name}.py" for name in ("http", "ids", "pages", "stores")),
]
LIMIT = {True: 600, False: 3600}  # seconds for one version: a test that hangs must end


def versions() -> list[str]:
    """Return the versions to look for: those that the package names, and the one after them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    prefix = "Programming Language :: Python :: 3."
    minors = sorted(
        int(line.removeprefix(prefix)) for line in settings["project"]["classifiers"] if line.startswith(prefix)
    )
    return [f"3.{minor}" for minor in [*minors, minors[-1] + 1]]


def version(interpreter: str) -> str | None:
    """Return which Python this is, if it runs: a shim of pyenv may be there without what it stands for."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def interpreters(wanted: str) -> Iterator[str]:
    """Yield where this version may be."""
    if found := shutil.which(f"python{wanted}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(str(path) for path in pyenv.glob(f"{wanted}.*/bin/python"))


def tested(interpreter: str, number: str, fast: bool) -> str | None:
    """Run the tests on this one; return why it failed, or nothing."""
    environment = ENVIRONMENTS / number
    python = str(environment / "bin" / "python")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if version(python) != number:
        subprocess.run([interpreter, "-m", "venv", "--clear", environment], check=True)  # noqa: S603
    needs = ["--editable", "." if fast else ".[all]", *TESTING, *([] if fast else MORE)]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
    pytest = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *([*FAST, "-k", f"not ({SLOW})"] if fast else WHOLE),
    ]
    downstream = [python, "-W", "error", str(ROOT / "tests" / "release" / "downstream.py")]
    for name, command in {"pip": pip, "a user's program": downstream, "pytest": pytest}.items():
        folder = environment if command is downstream else ROOT  # it writes a ledger
        try:
            done = subprocess.run(command, cwd=folder, env=clean, timeout=LIMIT[fast], check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            return f"{name} took more than {LIMIT[fast]} s"
        if done.returncode != 0:
            return f"{name} failed"
    return None


def main() -> None:
    """Find, run, and tell of each version what came of it."""
    parser = argparse.ArgumentParser(description="Run tests on the other supported Pythons.")
    parser.add_argument("--fast", action="store_true", help="the core alone")
    parser.add_argument("--newest", action="store_true", help="only the newest that is here")
    parser.add_argument("interpreters", nargs="*", help="these, instead of those that are found")
    options = parser.parse_args()
    own = ".".join(map(str, sys.version_info[:2]))
    chosen: dict[str, str | None] = {}
    for given in options.interpreters:
        found = version(given)
        chosen[found or given] = given if found else None
    for wanted in [] if options.interpreters else versions():
        chosen[wanted] = next((path for path in interpreters(wanted) if version(path) == wanted), None)
    told, bad = [], False
    if options.newest:
        for number in [number for number, path in chosen.items() if path is not None and number != own][:-1]:
            told.append(f"{number}: left out, as the newest alone was asked for")
            del chosen[number]
    for number, interpreter in chosen.items():
        if interpreter is None:
            told.append(f"{number}: SKIPPED, there is no such interpreter here")
        elif number == own and not options.interpreters:
            told.append(f"{number}: left to make test, which uses it")
        else:
            print(f"== Python {number}, {interpreter}", flush=True)
            start = time.monotonic()
            why = tested(interpreter, number, options.fast)
            bad |= why is not None
            what = "the core" if options.fast else "core, batch, engines, learning, collector, command line"
            told.append(f"{number}: {f'FAILED, {why}' if why else what} ({time.monotonic() - start:.0f} s)")
    print(*told, sep="\n")
    sys.exit(bad)


if __name__ == "__main__":
    main()
