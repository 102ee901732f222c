"""The tables of frequent texts, from docs/measured/words.json and words-peers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "measured" / "words.json"
PEERS = Path(__file__).parent / "measured" / "words-peers.json"


def words() -> str:
    """F1 of the first texts by data, epsilon and rounds, and the share of false ones."""
    columns = ("data", "questions", "epsilon", "rounds", "first 10", "16", "32", "64", "returned", "false")
    head = "| " + " | ".join([*columns, "intervals wrong", "error"]) + " |"
    lines = [head, "|---" * 12 + "|"]
    for row in json.loads(KEPT.read_text(encoding="utf-8")):
        scores = " | ".join(f"{row[f'f1_{top}']:.2f}" for top in (10, 16, 32, 64))
        false, wrong = (100 * row[name] / max(row["returned"], 1) for name in ("false", "wrong"))
        lines.append(
            f"| {row['data']} | {row['questions']} | {row['epsilon']:g} | {row['rounds']} | {scores} "
            f"| {row['returned']:.0f} | {false:.1f} % | {wrong:.1f} % | {row['rmse']:.4f} |"
        )
    return "\n".join(lines)


def peers() -> str:
    """F1, bytes and time of each package on the same strings."""
    columns = ("package", "epsilon", "first 10", "32", "held by nobody", "bytes", "device, us", "server, s")
    lines = ["| " + " | ".join(columns) + " |", "|---|---|" + "---:|" * (len(columns) - 2)]
    for row in _peers(8):
        if "stops" not in row:
            found = f"{row['f1_10']:.2f} | {row['f1_32']:.2f} | {row['false']} of {row['returned']} | {row['bytes']}"
            times = f"{_short(row['client_us'])} | {_short(row['server_s'])}"
            lines.append(f"| {row['name']} | {row['epsilon']:g} | {found} | {times} |")
    return "\n".join(lines)


def lengths() -> str:
    """How long the default oracle of a peer takes, by the length of strings."""
    lines = ["| characters | strings | reports tried | server, s for one | days for a million |", "|---:" * 5 + "|"]
    for row in json.loads(PEERS.read_text(encoding="utf-8")):
        if not row["name"].endswith("local hashing"):
            continue
        head = f"| {row['length']} | {64 ** row['length']:,} |"
        if "stops" in row:
            lines.append(f"{head} stopped: {row['stops']} | | |")
        else:
            each = row["server_s"] / row["people"]
            lines.append(f"{head} {row['people']} | {each:.2g} | {each * 1e6 / 86400:,.2g} |")
    return "\n".join(lines)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _peers(length: int) -> list[dict[str, Any]]:
    found = [row for row in json.loads(PEERS.read_text(encoding="utf-8")) if row["length"] == length]
    return sorted(found, key=lambda row: -float(row["epsilon"]))


TABLES = {"words": words, "word peers": peers, "lengths": lengths}
