"""Tests with the oldest versions that `pyproject.toml` allows: `make lowest`.

    python tests/release/lowest.py FILE

Writes a constraint `name==X` for every requirement `name>=X` of every extra, so that pip installs these and no others.
A lower bound is a promise like any other: `make lowest` runs the tests of `make test` with all of them at once.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent.parent


def constraints(table: dict[str, list[str]], own: str) -> list[str]:
    """Return the oldest version that is allowed of each package; of two extras, the one that asks for more decides."""
    found: dict[str, Version] = {}
    for texts in table.values():
        for text in texts:
            need = Requirement(text)
            if need.name == own:
                continue
            least = [Version(rule.version) for rule in need.specifier if rule.operator == ">="]
            if len(least) != 1:
                raise SystemExit(f"lowest: {text!r} must have one lower bound")
            found[need.name] = max(found.get(need.name, least[0]), least[0])
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def main(path: Path) -> None:
    """Write the constraints of this project to a file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = constraints(project["optional-dependencies"], project["name"])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
