"""The table of docs/mutants.md, made from the run that is kept: docs/measured/mutants.json."""

from __future__ import annotations

import sys
from pathlib import Path

from speed_tables import table

sys.path.append(str(Path(__file__).parent.parent))  # the folder of the tests' package
from tests.mutants.__main__ import kept, stale

EQUIVALENT = "Equivalent"


def modules() -> str:
    """How many changes of every module were noticed, and which of these results are not of the present source."""
    rows, total, old = [], [0, 0, 0], stale()
    for name, result in kept().items():
        same = sum(survivor["why"].startswith(EQUIVALENT) for survivor in result["survivors"])
        numbers = [result["mutants"], len(result["survivors"]), same]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        rows.append([*_row(f"`{name}`", *numbers), "older than the source" if name in old else "present"])
    rows += [[f"`{name}`", *[""] * 5, state] for name, state in old.items() if name not in kept()]
    return table(
        ["module", "changes", "noticed", "share", "equivalent", "others", "source"],
        [*rows, [*_row("**together**", *total), f"{len(rows) - len(old)} of {len(rows)} present"]],
    )


def _row(name: str, made: int, alive: int, same: int) -> list[str]:
    share = f"{100 * (made - alive) / made:.1f} %" if made else ""  # a file of exports alone has nothing to change
    return [name, f"{made}", f"{made - alive}", share, f"{same}", f"{alive - same}"]


TABLES = {"modules": modules}
