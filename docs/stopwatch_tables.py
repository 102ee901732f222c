"""The table of what a stop-watch learns, from the kept result of `make stopwatch KEEP=--keep`."""

from __future__ import annotations

import json
import math
from pathlib import Path

KEPT = Path(__file__).parent / "measured" / "stopwatch.json"


def stopwatch() -> str:
    """Right guesses for every plan: the first report after reading it, later ones, and those with the report known."""
    times = {
        "first report": ("first", "few"),
        "later reports": ("later", "many"),
        "given the report": ("given", "count"),
    }
    lines = ["| plan | " + " | ".join(f"{name} | by chance" for name in times) + " |", "|---" * 7 + "|"]
    for name, row in json.loads(KEPT.read_text(encoding="utf-8")).items():
        cells = (
            f"{row[share]:.3f} | {_chance(row[count]):.3f}" if share in row else " | "
            for share, count in times.values()
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _chance(n: int) -> float:
    """Return the share of right guesses that 99 of 100 such measurements stay below if nothing is learnt."""
    return (1 + math.sqrt(math.log(2 / 0.01) / n)) / 2


TABLES = {"stopwatch": stopwatch}
