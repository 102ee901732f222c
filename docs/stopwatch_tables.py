"""The table of what a stop-watch learns, from the kept result of `make stopwatch KEEP=--keep`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "measured" / "stopwatch.json"
TIMES = {
    "first report": ("first", "few", "first_size"),
    "later reports": ("later", "many", "size"),
    "given the report": ("given", "count", "given_size"),
}


def stopwatch() -> str:
    """Right guesses for every plan: the first report after reading it, later ones, and those with the report known."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    plans = kept.get("plans", kept)  # files were once plans alone
    head = " | ".join(f"{name} | by chance | size" for name in TIMES)
    lines = [f"| plan | {head} |", "|---" * 10 + "|"]
    for name, row in plans.items():
        cells = (
            f"{row[share]:.3f} | {_chance(row[count]):.3f} | {_percent(row.get(size))}" if share in row else " |  | "
            for share, count, size in TIMES.values()
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_measured(plans, kept.get("runs", {}))])


def _measured(plans: dict[str, Any], runs: dict[str, Any]) -> list[str]:
    """Return a sentence about each run that measured some plans, and one about plans of which no run is known."""
    found = []
    for run, on in runs.items():
        rows = [row for row in plans.values() if row.get("run") == run]
        machine = f"{on['processor']} with {on['cores']} cores, {on['system']}, {on['python']}"
        busy = [row["others"] for row in rows if row.get("others") is not None]
        load = "" if on["load"] is None else f" The load was {on['load']:.2f} when it began."
        meanwhile = f" Other programs used at most {100 * max(busy):.1f} % of the processors meanwhile." if busy else ""
        found.append(f"Measured on {run}, {len(rows)} plans: {machine}.{load}{meanwhile}")
    unknown = [row for row in plans.values() if row.get("run") not in runs]
    if unknown:
        sizes = sum(size not in row for row in unknown for share, _, size in TIMES.values() if share in row)
        found.append(
            f"Of {len(unknown)} plans the kept measurement states neither the machine nor its load, and {sizes} of"
            " their sizes are not known."
        )
    return found


def _percent(size: float | None) -> str:
    return "" if size is None else f"{100 * size:.2f} %"


def _chance(n: int) -> float:
    """Return the share of right guesses that 99 of 100 such measurements stay below if nothing is learnt."""
    return (1 + math.sqrt(math.log(2 / 0.01) / n)) / 2


TABLES = {"stopwatch": stopwatch}
