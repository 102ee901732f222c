"""What the parts of the way of a report earn or cost: `python benchmarks/ways.py`.

A collector without a part of itself runs in turns with the whole one, and both take single reports over the same number
of connections. What is compared is the processor time of the server for a request, the best of all turns, as rates
depend on who else uses the machine. `--against FOLDER` adds the collector whose sources are in that folder (`src` of
another checkout), as the version before. `--keep` writes docs/measured/ways.json.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from census import Census, schema
from measure import machine, progress, write

from collector import Served, measured, settle, singles
from hush import Plan, design

WITHOUT = {
    "whole": "",
    "without known heads": "from hush.collector.http import direct; direct.Heads.find = lambda self, data: None",
    "without the short way": (
        "from hush.collector.http import direct; direct.Heads.find = lambda self, data: None; "
        "direct.found = lambda collector, scope: None"
    ),
    "without bounds on connections and bytes": (
        "from hush.collector.http.bounds import Bounds; Bounds.admit = lambda self, connection, address: ''; "
        "Bounds.take = lambda self, exchange, size: True; Bounds.has_room = lambda self, size: True"
    ),
    "without waiting for a group": "from hush.collector import queues; queues.LULL = queues.LONGEST = 0.0",
}
CONNECTIONS = (1, 16, 64)
PEOPLE = 1000


@contextmanager
def collector(plan: Plan, folder: Path, change: str, source: str) -> Iterator[Served]:
    """Run a collector with a part of it changed, on a store of its own."""
    place = folder / secrets.token_hex(4)
    place.mkdir()
    (place / "plan.json").write_text(plan.to_json())
    program = f"{change}\nimport sys; from hush.cli import main; sys.exit(main())"
    options = ["--port", "0", "--open", "submit,submit-batch,read", "--store", f"sqlite://{place / 'store.db'}"]
    environment = os.environ | ({"PYTHONPATH": source} if source else {})
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, "serve", str(place / "plan.json"), *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)", process.stdout.readline())
        assert found is not None, "the collector did not start"
        settle(process.pid)
        yield Served(int(found[1]), process.pid)
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--against", default="", help="a folder with the sources of another version")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/ways.json")
    options = parser.parse_args()
    people = Census(PEOPLE).draw(PEOPLE)
    plan = design(schema(), 1.0, title=f"benchmark {secrets.token_hex(4)}")
    ways = {name: (change, "") for name, change in WITHOUT.items()}
    if options.against:
        ways["before"] = "", str(Path(options.against).resolve())
    best: dict[tuple[str, int], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        for turn in range(options.turns):
            progress(f"turn {turn + 1} of {options.turns}")
            for way, (change, source) in ways.items():
                with collector(plan, Path(name), change, source) as at:
                    make = singles(plan, people)
                    for number in CONNECTIONS:
                        measured(at, make, number, options.seconds / 4)
                        found = measured(at, make, number, options.seconds)
                        held = best.setdefault((way, number), found)
                        held["server_us"] = min(held["server_us"], found["server_us"])
                        held["per_second"] = max(held["per_second"], found["per_second"])
                        held["p50"] = min(held["p50"], found["p50"])
    rows = []
    for (way, number), found in best.items():
        whole = best["whole", number]
        row = {
            "way": way,
            "connections": number,
            "processor": round(found["server_us"] / whole["server_us"], 2),
            "rate": round(found["per_second"] / whole["per_second"], 2),
            "p50": round(found["p50"] / whole["p50"], 2),
            "server_us": found["server_us"],
        }
        rows.append(row)
        print(
            f"{way}, {number} connections: {row['processor']:.2f} times the processor time of the whole, "
            f"{row['rate']:.2f} times its rate, {row['p50']:.2f} times its median latency"
        )
    write("ways", {"machine": machine(), "turns": options.turns, "rows": rows}, options.keep)


if __name__ == "__main__":
    main()
