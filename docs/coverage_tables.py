"""Writes the table of docs/decisions/0008-intervals.md from experiments/results/coverage.json. `make docs` runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "experiments" / "results" / "coverage.json").read_text(encoding="utf-8")
)


def coverage() -> str:
    """The least coverage of every group, where it is, and how wide its intervals are."""
    lines = ["| cells | number | least coverage | where | width |", "|---" * 5 + "|"]
    for row in ROWS:
        least = f"{100 * row['least']:.1f} %"
        if "where" not in row:
            lines.append(f"| {row['group']} | all | {least} | probability {row['probability']:.3f} | |")
            continue
        where = row["where"]
        asked = "" if where["asked"] == 1 else f", 1 in {1 / where['asked']:.0f} asked"
        place = f"{where['kind']}, epsilon {where['epsilon']:g}, n = {where['n']}{asked}; {where['people']}"
        lines.append(f"| {row['group']} | {row['cells']} | {least} | {place} | {row['widening']:.2f} |")
    return "\n".join(lines)


TABLES = {"coverage": coverage}
