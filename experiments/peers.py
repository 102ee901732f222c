"""What comparisons with other packages share: a peer's case runs in a child, in the environment of the peers.

`benchmarks/peers.py` makes that environment (`.venv-peers`). A comparison starts its own module there, with `--child`,
and imports nothing of hush then. A case that takes too long, or fails, is a row that says where it stops.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured"
MILLION = 1_000_000
MEMORY = 4 << 30  # bytes, of a child that limits itself
Row = dict[str, Any]


def parser(about: str | None, kept: Path) -> argparse.ArgumentParser:
    """Return the options that every comparison has."""
    found = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--python", type=Path, default=ROOT / ".venv-peers" / "bin" / "python")
    found.add_argument("--keep", action="store_true", help=f"write {kept.name}, for the documents")
    found.add_argument("--child", help=argparse.SUPPRESS)
    return found


def parse(
    parser: argparse.ArgumentParser, child: Callable[..., Row], given: Sequence[str] | None = None
) -> argparse.Namespace | None:
    """Return the options; in a child, run its case and return None."""
    options = parser.parse_args(given)
    if options.child is not None:
        print(json.dumps(child(*json.loads(options.child))))
        return None
    if not options.python.exists():
        parser.error("the peers are not installed: run benchmarks/peers.py, or name their Python with --python")
    return options


def ask(python: Path, module: str, case: Sequence[Any], people: int, limit: int) -> Row:
    """Run a case of a peer in its environment, for so many seconds at most."""
    command = [str(python), "-m", module, "--child", json.dumps(case)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"stops": f"more than {limit} s for {people:,} people"}
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return {
            "stops": f"it needs more than {MEMORY >> 30} GiB"
            if "MemoryError" in reason
            else reason[:80].replace("|", "/")
        }
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return {"people": people} | found


def keep(kept: Path, rows: list[Row]) -> None:
    """Write the rows for the documents."""
    kept.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
