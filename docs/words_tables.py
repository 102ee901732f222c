"""The tables of frequent texts, from docs/measured/words.json, words-peers.json and word-trends.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "measured" / "words.json"
PEERS = Path(__file__).parent / "measured" / "words-peers.json"
TRENDS = Path(__file__).parent / "measured" / "word-trends.json"


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


def trends() -> str:
    """A new word, week by week: what is found, what it costs, and what a change shows."""
    kept = json.loads(TRENDS.read_text(encoding="utf-8"))
    columns = ("week", "hold it", "estimate", "95 % interval", "texts found", "held by nobody", "took another word")
    costs = ("reports changed", "of these, hold it", "epsilon so far, on average", "afresh")
    lines = ["| " + " | ".join([*columns, *costs]) + " |", "|---" + "|---:" * 10 + "|"]
    for row in kept["weeks"]:
        share, low, high = row["found"] or (None, None, None)
        found = "not found | " if share is None else f"{share:.2%} | {low:.2%} .. {high:.2%}"
        changes = f"{row['changed']:.2%} | {row['seen']:.2%} | {_part(row['guess'])}"
        lines.append(
            f"| {row['week']} | {row['truth']:.2%} | {found} | {row['returned']} | {row['false']} | {changes} "
            f"| {row['spent']:.3f} | {row['week'] * kept['about']['epsilon']:g} |".replace("%", " %")
        )
    return "\n".join(lines)


def _part(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def trend_facts() -> str:
    """What holds for all weeks, in sentences."""
    kept = json.loads(TRENDS.read_text(encoding="utf-8"))
    about, last = kept["about"], kept["weeks"][-1]
    times = sorted(int(text) for text in last["words"] if text != "1")
    several = ", ".join(f"{last['words'][str(time)]:.2%} {time} times" for time in times)
    weeks, epsilon, silent = len(kept["weeks"]), about["epsilon"], round(last["silent"] * about["people"])
    facts = (
        f"Each word that is new to a device costs exactly epsilon = {about['cost']}. After {weeks} weeks "
        f"{last['words']['1']:.2%} of the people had paid it once, {several}. Of {about['people']:,} devices, "
        f"{silent or 'none'} fell silent in the last week, under a cap of {about['cap']:g}.",
        "A report that changed proves that the word changed. A word that changed leaves the report as it was with "
        f"probability {about['unseen']:.1e} (exact, for words with other points): the fresh answer is the old one by "
        "chance.",
        f"With fresh noise, {weeks} weeks cost {weeks * epsilon:g}. Fresh noise for a total of {epsilon:g} would have "
        f"{about['fresh_noise']:.1f} times the standard error each week.",
    )
    return "\n".join(f"- {fact}" for fact in facts).replace("%", " %")


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _peers(length: int) -> list[dict[str, Any]]:
    found = [row for row in json.loads(PEERS.read_text(encoding="utf-8")) if row["length"] == length]
    return sorted(found, key=lambda row: -float(row["epsilon"]))


TABLES = {"words": words, "word peers": peers, "lengths": lengths, "trends": trends, "trend facts": trend_facts}
