"""The tables of docs/large-domains.md, from docs/measured/large.json and large-peers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "measured" / "large-peers.json"
FIGURES = Path(__file__).parent / "measured" / "large.json"


def figures() -> str:
    """Points, sets and hashes: exact variances, bytes, and the time of decoding."""
    columns = ("categories", "epsilon", "q, t", "points", "variance: points / sets", "OLH / sets", "Hadamard / sets")
    more = ("bytes of a set", "of a point", "decoding, s", "decoding / adding up", "OLH, s")
    lines = ["| " + " | ".join([*columns, *more]) + " |", "|---|---|---|" + "---:|" * 9]
    for row in json.loads(FIGURES.read_text(encoding="utf-8")):
        variances = f"{row['variance']:.3f} | {row['olh']:.3f} | {row['hadamard']:.2f}"
        times = f"{row['decode_s']:.2f} | {row['decode_s'] / row['sum_s']:,.0f} | {row['olh_s']:,.0f}"
        lines.append(
            f"| {row['size']:,} | {row['epsilon']} | {row['order']}, {row['digits']} | {row['points']:,} | {variances} "
            f"| {row['set_bytes']:,} | {row['bytes']} | {times} |"
        )
    return "\n".join(lines)


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


TABLES = {"figures": figures, "peers": peers}
