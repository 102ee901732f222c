"""The table of what a stop-watch learns, from the kept result of `make stopwatch KEEP=--keep`."""

from __future__ import annotations

import json
import math
from pathlib import Path

KEPT = Path(__file__).parent / "measured" / "stopwatch.json"


def stopwatch() -> str:
    """Right guesses for every plan: the first report after reading it, and later ones."""
    lines = ["| plan | first report | by chance | later reports | by chance |", "|---" * 5 + "|"]
    for name, row in json.loads(KEPT.read_text(encoding="utf-8")).items():
        first, later = (_chance(row[count]) for count in ("few", "many"))
        lines.append(f"| {name} | {row['first']:.3f} | {first:.3f} | {row['later']:.3f} | {later:.3f} |")
    return "\n".join(lines)


def _chance(n: int) -> float:
    """Return the share of right guesses that 99 of 100 such measurements stay below if nothing is learnt."""
    return (1 + math.sqrt(math.log(2 / 0.01) / n)) / 2


TABLES = {"stopwatch": stopwatch}
