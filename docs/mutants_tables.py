"""The table of docs/mutants.md, made from the run that is kept: docs/measured/mutants.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speed_tables import table

KEPT = Path(__file__).parent / "measured" / "mutants.json"
EQUIVALENT = "Equivalent"


def kept() -> dict[str, Any]:
    """Return the run that is kept for the documents, by module."""
    results: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return results


def modules() -> str:
    """How many changes of every module were noticed."""
    rows, total = [], [0, 0, 0]
    for name, result in kept().items():
        same = sum(survivor["why"].startswith(EQUIVALENT) for survivor in result["survivors"])
        numbers = [result["mutants"], len(result["survivors"]), same]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        rows.append(_row(f"`{name}`", *numbers))
    return table(
        ["module", "changes", "noticed", "share", "equivalent", "others"], [*rows, _row("**together**", *total)]
    )


def _row(name: str, made: int, alive: int, same: int) -> list[str]:
    share = f"{100 * (made - alive) / made:.1f} %"
    return [name, f"{made}", f"{made - alive}", share, f"{same}", f"{alive - same}"]


TABLES = {"modules": modules}
