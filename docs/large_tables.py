"""The table of docs/large-domains.md: hashing oracles of other packages, from docs/measured/large-peers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "measured" / "large-peers.json"


def peers() -> str:
    """Variance, bytes and time of each package."""
    lines = [
        "| categories | epsilon | package | variance | bytes | device, us | server, s for a million reports |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for row in json.loads(KEPT.read_text(encoding="utf-8")):
        head = f"| {row['size']:,} | {row['epsilon']:g} | {row['name']} |"
        lines.append(f"{head} {_rest(row)} |")
    return "\n".join(lines)


def _rest(row: dict[str, Any]) -> str:
    if "stops" in row:
        return f"stopped: {row['stops']} | | |"
    server = f"{row['server_s']:,.0f}" if row["server_s"] >= 10 else f"{row['server_s']:.2g}"
    return f"{row['variance']:.3g} | {row['bytes']} | {row['client_us']:.2g} | {server}"


TABLES = {"peers": peers}
