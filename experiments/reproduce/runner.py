"""Running figures: numbers as CSV, pictures as SVG and PNG, claims as pass or fail, all in one folder."""

from __future__ import annotations

import csv
import inspect
import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.reproduce import catalogue
from experiments.reproduce.frame import Bench, Claim, Row

SUMMARY = "claims.json"


def reproduce(
    names: Iterable[str], bench: Bench, folder: Path, told: Callable[[str, Any, list[Claim]], None] | None = None
) -> dict[str, list[Claim]]:
    """Compute figures one after the other, and write each into the folder as soon as it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Claim]] = {}
    for name in names:
        figure = catalogue.figure(name)
        before, start, bench.resumed = bench.seconds, time.monotonic(), False
        rows = figure.compute(bench)
        took = {"seconds": round(bench.seconds - before)}
        if not bench.resumed:  # else the clock has not seen all of it
            took["wall"] = round(time.monotonic() - start)
        found[name] = figure.claims(rows)
        write(folder, name, figure, bench, rows, found[name], took)
        if told is not None:
            told(name, figure, found[name])
    return found


def write(
    folder: Path, name: str, figure: Any, bench: Bench, rows: list[Row], claims: list[Claim], took: dict[str, int]
) -> None:
    """Write the numbers, the picture and the claims of a figure, and the time it took: processors, clock."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(field for row in rows for field in row)))
        writer.writeheader()
        writer.writerows(rows)
    chart = figure.draw(rows)
    chart.save(str(folder / f"{name}.svg"))
    chart.save(str(folder / f"{name}.png"), scale_factor=2)
    path = folder / SUMMARY
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[name] = {
        "title": figure.TITLE,
        "about": inspect.getdoc(figure),
        "paper": figure.PAPER,
        "settings": asdict(bench.settings),
        **({"surveys": figure.SURVEYS} if hasattr(figure, "SURVEYS") else {}),
        "real": bench.data is not None,
        **took,
        "machine": machine(),
        "claims": [asdict(claim) for claim in claims],
    }
    ordered = {key: known[key] for key in catalogue.NAMES if key in known}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine(about: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor, as far as the system names it, and how many cores there are."""
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = f"{names[0]}, " if names else ""
    return f"{name}{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
