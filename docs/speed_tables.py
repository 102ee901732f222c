"""The tables of docs/speed.md, made from what the benchmarks measured: docs/measured/batch.json and peers.json.

The benchmarks print the same tables of their own run. `make docs` writes those of the kept run into the page, and
a test compares, so no number in the page was typed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parent / "measured"
Results = dict[str, Any]
Row = dict[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with the first column to the left and the others to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Return a number with three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(n: int) -> str:
    """Return a power of ten, or any other number, in figures that can be read."""
    return f"{n / 1e6:g} million" if n >= 1_000_000 else f"{n:,}"


def heading(results: Results) -> str:
    """Say by what and on what it was measured."""
    m = results["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in m["libraries"].items())
    return (
        f"Command: `{results['command']}`. Machine: {m['processor']}, {m['cores']} cores, {m['system']}; "
        f"Python {m['python']}, {libraries}. Load when it began: {m['load']}."
        + (f" It took {results['wall_s'] / 60:.0f} minutes." if "wall_s" in results else "")
    )


def numeric(results: Results) -> str:
    """One column of floats."""
    head = ["channel, epsilon", "n", "ns per value", "with checks", "ratio to copy", "words", "share of the keystream"]
    rows = []
    for row in results["numeric"]:
        share = row["words"] * row["word_ns"] / row["ns"]
        rows.append(
            [
                f"`{row['channel']}`, {row['epsilon']:g}",
                size(row["n"]),
                number(row["ns"]),
                number(row["checked_ns"]),
                number(row["ns"] / row["copy_ns"]),
                f"{row['words']:.2f}",
                f"{100 * share:.0f} %",
            ]
        )
    return table(head, rows)


def flatness(results: Results) -> str:
    """How the time per value changes from the smallest to the largest column."""
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in results["numeric"]:
        groups.setdefault((row["channel"], row["epsilon"]), []).append(row)
    sizes = [row["n"] for row in next(iter(groups.values()))]
    head = ["channel, epsilon", *(f"{size(n)} / {size(sizes[0])}" for n in sizes[1:])]
    rows = [
        [f"`{channel}`, {epsilon:g}", *(number(row["ns"] / group[0]["ns"]) for row in group[1:])]
        for (channel, epsilon), group in groups.items()
    ]
    return table(head, rows)


def categorical(results: Results) -> str:
    """One column of categories."""
    head = ["channel, K", "ns per user", "with checks", "words", "share of the keystream", "tally, ns per user"]
    rows = []
    for row in results["categorical"]:
        share = row["words"] * row["word_ns"] / row["ns"]
        rows.append(
            [
                f"`{row['channel']}`, {row['size']}",
                number(row["ns"]),
                number(row["checked_ns"]),
                f"{row['words']:.2f}",
                f"{100 * share:.0f} %",
                number(row["tally_ns"]),
            ]
        )
    return table(head, rows)


def joint(results: Results) -> str:
    """Two columns in one question."""
    if "joint" not in results:
        return "The kept run does not have these rows yet."
    head = ["channel", "ns per user", "with checks", "words", "own work, in words", "tally, ns per user"]
    rows = [
        [
            row["channel"],
            number(row["ns"]),
            number(row["checked_ns"]),
            f"{row['words']:.2f}",
            number(row["ns"] / row["word_ns"] - row["words"]),
            number(row["tally_ns"]),
        ]
        for row in results["joint"]
    ]
    return table(head, rows)


def records(results: Results) -> str:
    """Records of 16 attributes, k = 1."""
    head = [
        "million records per second and core",
        "encoded",
        "integers, checked",
        "labels, checked",
        "collect",
        "words",
    ]
    rows = [
        [
            row["design"],
            *(number(1e3 / row[name]) for name in ("ns", "checked_ns", "labels_ns", "collect_ns")),
            f"{row['words']:.2f}",
        ]
        for row in results["records"]
    ]
    return table(head, rows)


def tallies(results: Results) -> str:
    """Counting rows of (attribute, output)."""
    head = ["design, threads", "ns per row, processor", "ns per row, wall", "ratio to copy"]
    rows = [
        [
            f"{row['design']}, {row['threads']}",
            number(row["ns"]),
            number(row["wall_ns"]),
            number(row["ns"] / row["copy_ns"]),
        ]
        for row in results["tallies"]
    ]
    return table(head, rows)


def whole(results: Results) -> str:
    """From records to estimates."""
    names = ("generate", "randomise", "tally", "estimate")
    head = ["records, threads", *(f"{name}, s" for name in names), "wall, s", "before, MB", "generator, MB", "peak, MB"]
    rows = []
    for row in results["whole"]:
        how = ", collect" if row["collect"] else ""
        rows.append(
            [
                f"{size(row['n'])}, {row['threads']}{how}",
                *(number(row["seconds"][name]) for name in names),
                number(row["wall"]),
                *(f"{row[name] / 1e6:.0f}" for name in ("before", "generator", "peak")),
            ]
        )
    worst = max(row["largest_error"] for row in results["whole"])
    count = results["whole"][0]["estimates"]
    return table(head, rows) + (
        f"\n\nThe largest error of the {count} estimates of a run, over all runs, was {worst:.1f} standard errors."
    )


def stages(results: Results) -> str:
    """Where the time goes."""
    head = [
        "channel",
        "words",
        "kernel",
        "streams",
        "rest",
        "whole",
        "words of the keystream alone",
        "own work, in words",
    ]
    rows = []
    for row in results["rows"]:
        alone = row["per_person"] * row["word"]
        rest = row["whole"] - row["words"] - row["kernel"] - row["stream"]
        parts = (row["words"], row["kernel"], row["stream"], rest, row["whole"], alone)
        rows.append([row["name"], *map(number, parts), number((row["whole"] - alone) / row["word"])])
    return table(head, rows)


def peers(results: Results) -> str:
    """Other packages."""
    head = ["channel, K", "peer", "users", "peer, ns per user", "hush, ns per user", "peer / hush"]
    rows, skipped = [], []
    for row in results["rows"]:
        name = f"`{row['channel']}`" + (f", {row['size']}" if row["size"] else "")
        if "skipped" in row:
            skipped.append([name, row["peer"], f"skipped: {row['skipped']}", "", "", ""])
            continue
        who = f"numpy {row['version']}, by hand" if row["peer"] == "by hand" else f"{row['peer']} {row['version']}"
        rows.append(
            [name, who, f"{row['n']:,}", number(row["ns"]), number(row["hush_ns"]), number(row["ns"] / row["hush_ns"])]
        )
    order = [row["channel"] for row in results["rows"]]
    rows.sort(key=lambda cells: order.index(cells[0].split("`")[1]))
    return table(head, [*rows, *skipped])


def cold(results: Results) -> str:
    """The first table on a machine that has compiled nothing."""
    plain, compiled, kept = (number(results[name]) for name in ("plain", "compiled", "kept"))
    return (
        f"A first table of {results['people']:,} people takes {plain} processor seconds in plain Python, {compiled} "
        f"with kernels that are compiled for it, and {kept} with kept ones, imports not counted "
        "(`python benchmarks/cold.py --keep`)."
    )


def kept(name: str) -> Results:
    """Return the run that is kept for the documents."""
    results: Results = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return results


def _of(name: str, make: Callable[[Results], str]) -> Callable[[], str]:
    return lambda: make(kept(name))


TABLES: dict[str, Callable[[], str]] = {
    "machine": _of("batch", heading),
    "numeric": _of("batch", numeric),
    "flatness": _of("batch", flatness),
    "categorical": _of("batch", categorical),
    "joint": _of("batch", joint),
    "records": _of("batch", records),
    "tallies": _of("batch", tallies),
    "whole": _of("batch", whole),
    "stages-machine": _of("stages", heading),
    "stages": _of("stages", stages),
    "cold": _of("cold", cold),
    "peers-machine": _of("peers", heading),
    "peers": _of("peers", peers),
}
