"""The tables of frequent texts, from docs/measured/words*.json and word-trends.json."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hush.server.binomial import at_least

KEPT = Path(__file__).parent / "measured" / "words.json"
FALSE = Path(__file__).parent / "measured" / "words-false.json"
PEERS = Path(__file__).parent / "measured" / "words-peers.json"
TRENDS = Path(__file__).parent / "measured" / "word-trends.json"
PROMISE = 0.05
DATA = ("made-up words", "job titles, letters alike", "job titles, model of English")


def words() -> str:
    """F1 of the first texts by data, epsilon and rounds, and the share of false ones."""
    columns = ("data", "questions", "epsilon", "rounds", "first 10", "16", "32", "64", "returned", "false", "±")
    head = "| " + " | ".join([*columns, "intervals wrong", "error"]) + " |"
    lines = [head, "|---" * 13 + "|"]
    for row in json.loads(KEPT.read_text(encoding="utf-8")):
        scores = " | ".join(f"{row[f'f1_{top}']:.2f}" for top in (10, 16, 32, 64))
        false, wrong = (100 * row[name] / max(row["returned"], 1) for name in ("false", "wrong"))
        lines.append(
            f"| {row['data']} | {row['questions']} | {row['epsilon']:g} | {row['rounds']} | {scores} "
            f"| {row['returned']:.0f} | {false:.1f} % | {100 * _noise(row):.1f} % | {wrong:.1f} % | {row['rmse']:.4f} |"
        )
    return "\n".join(lines)


def _texts(row: dict[str, Any]) -> tuple[int, int]:
    """How many texts were returned in all repetitions of a cell, and how many of them nobody holds."""
    return round(row["returned"] * row["repetitions"]), round(row["false"] * row["repetitions"])


def _noise(row: dict[str, Any]) -> float:
    """The standard error of a cell's share of false texts, if the true one is the promised 5 %."""
    return math.sqrt(PROMISE * (1 - PROMISE) / max(_texts(row)[0], 1))


def false_facts() -> str:
    """Whether the largest share of false texts is within the noise, and the share of all cells together."""
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    worst = max(rows, key=lambda row: row["false"] / row["returned"])
    returned, false = _texts(worst)
    every, wrong = (sum(column) for column in zip(*map(_texts, rows), strict=True))
    chance = at_least(false, returned, PROMISE)
    return (
        f'"±" is the standard error of "false" if its true value is 5 %. The largest value is '
        f"{100 * false / returned:.1f} % ({false} of {returned} texts in {worst['repetitions']} collections): that "
        f"many or more come by chance in {100 * chance:.0f} % of such cells, if 5 % is true. In all cells it is "
        f"{100 * wrong / every:.1f} % ({wrong} of {every:,})."
    )


GOALS = (
    ("one round, epsilon 4, first 32: 0.90", "made-up words", 4.0, 1, 32, 0.90),
    ("one round, epsilon 4, first 32: 0.85", "job titles, letters alike", 4.0, 1, 32, 0.85),
    ("one round, epsilon 4, first 32: 0.85", "job titles, model of English", 4.0, 1, 32, 0.85),
    *(("two rounds, epsilon 2, first 10: 0.90", data, 2.0, 2, 10, 0.90) for data in DATA),
    *(("two rounds, epsilon 4, first 32: 0.93", data, 4.0, 2, 32, 0.93) for data in DATA),
)


def false_exact() -> str:
    """How many of the returned texts nobody holds, over many collections."""
    lines = ["| people | epsilon | rounds | collections | returned | false | intervals wrong |", "|---:" * 7 + "|"]
    for row in json.loads(FALSE.read_text(encoding="utf-8")):
        share = f"{100 * row['share']:.1f} % ± {100 * row['stderr']:.1f} %"
        lines.append(
            f"| {row['people']:,} | {row['epsilon']:g} | {row['rounds']} | {row['repetitions']} | {row['returned']} "
            f"| {share} | {100 * row['wrong']:.1f} % |"
        )
    return "\n".join(lines)


def goals() -> str:
    """Which goals are met."""
    rows = {(row["data"], row["epsilon"], row["rounds"]): row for row in json.loads(KEPT.read_text(encoding="utf-8"))}
    lines = ["| goal (F1) | data | measured | |", "|---|---|---:|---|"]
    for words_, data, epsilon, rounds, top, least in GOALS:
        found = rows[data, epsilon, rounds][f"f1_{top}"]
        lines.append(f"| {words_} | {data} | {found:.3f} | {'met' if found >= least else '**missed**'} |")
    return "\n".join(lines)


def _gain(rows: dict[Any, Any]) -> float:
    before, after = (rows[name, 4.0, 1]["f1_32"] for name in DATA[1:])
    return float(after - before)


def model() -> str:
    """What the model of English changes."""
    rows = {(row["data"], row["epsilon"], row["rounds"]): row for row in json.loads(KEPT.read_text(encoding="utf-8"))}
    alike, english = (rows[name, 2.0, 1] for name in DATA[1:])
    parts = []
    for epsilon in (2.0, 4.0):
        before, after = (rows[name, epsilon, 1]["f1_32"] for name in DATA[1:])
        parts.append(f"from {before:.2f} to {after:.2f} at epsilon {epsilon:g}")
    return (
        f"Job titles take {english['questions']} questions with the model, and {alike['questions']} without. In one "
        f"round, F1 of the first 32 went {' and '.join(parts)}: the model helps at epsilon 2. At epsilon 4 "
        f"the result is worse by {32 * -_gain(rows):.1f} texts of 32, on average over three collections."
    )


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


TABLES = {
    "words": words,
    "false facts": false_facts,
    "false exact": false_exact,
    "goals": goals,
    "model": model,
    "word peers": peers,
    "lengths": lengths,
    "trends": trends,
    "trend facts": trend_facts,
}
