"""Writes the tables of docs/wide-figures.md and docs/small.md from what `python -m experiments.reproduce` has kept."""

from __future__ import annotations

import math
from typing import Any

from reproduction_tables import FOLDER, KINDS, rows  # a neighbour, not a part of the package

USUAL = 100_000
COLUMNS = ("income", "wages", "household income", "home value", "rent", "commute")
WAYS = {"one": "one round", "two": "two rounds"}
MIDDLE = ("full", "one", "two", "best clip")
Found = dict[tuple[str, float, int, str, str], float]


def _found(part: str = "columns") -> Found:
    """Return all figures, of real people if there are such."""
    kept = [name for name in reversed(KINDS) if (FOLDER / name / "wide.csv").exists()]
    return {
        (row["population"], float(row["epsilon"]), int(row["people"]), row["way"], row["what"]): float(row["value"])
        for row in rows(kept[0], "wide")
        if row["part"] == part
    }


def _lines(head: list[str], body: list[list[str]]) -> str:
    every = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" if line[0] != "---" else "|---" * len(line) + "|" for line in every)


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 1 else f"{100 * value:,.0f} %"


def columns() -> str:
    """Errors of the mean at epsilon 1, of every population."""
    found = _found()
    highs = {
        row["population"]: float(row["high"])
        for kind in KINDS
        if (FOLDER / kind / "wide.csv").exists()
        for row in rows(kind, "wide")
        if row["part"] == "columns"
    }
    body = []
    for name in dict.fromkeys(key[0] for key in found):
        errors = {way: found[name, 1.0, USUAL, way, "rmse"] for way in ("HM", *MIDDLE)}
        gains = [f"{errors['full'] / errors[way]:.3g}" for way in WAYS]
        body.append([f"{name}, 0 to {highs[name]:,.0f}", *map(_percent, errors.values()), *gains])
    head = ["number, range", "paper's HM", "full range", *WAYS.values(), "best clip", "gain, one", "gain, two"]
    return _lines(head, body)


def gains() -> str:
    """The geometric mean of the gains on the six columns."""
    found = _found()
    settings = sorted({key[1:3] for key in found if key[0] == "wages"})
    crowds = sorted({n for _, n in settings})
    body = []
    for epsilon in sorted({epsilon for epsilon, _ in settings}):
        cells = []
        for way in WAYS:
            for n in crowds:
                ratios = [
                    found[name, epsilon, n, "full", "rmse"] / found[name, epsilon, n, way, "rmse"] for name in COLUMNS
                ]
                cells.append(f"{math.prod(ratios) ** (1 / len(ratios)):.1f}")
        body.append([f"{epsilon:g}", *cells])
    return _lines(["epsilon", *(f"{way}, {n:,} people" for way in WAYS.values() for n in crowds)], body)


def covered() -> str:
    """How often intervals and bounds hold, by epsilon."""
    found = _found()
    body = []
    for epsilon in sorted({key[1] for key in found}):
        cells = []
        for way, what in (("one", "coverage"), ("two", "coverage"), ("one", "bounded")):
            shares = [value for key, value in found.items() if (key[1], *key[3:]) == (epsilon, way, what)]
            cells.append(f"{100 * sum(shares) / len(shares):.1f} %")
        body.append([f"{epsilon:g}", str(len(shares)), *cells])
    head = ["epsilon", "settings", "clipped mean, one round", "clipped mean, two rounds", "share beyond"]
    return _lines(head, body)


def ranks() -> str:
    """Errors of quantiles in rank."""
    found = _found()
    settings = sorted(key[1:3] for key in found if (key[0], *key[3:]) == ("income", "one", "rank 0.5"))
    crowds = sorted({n for _, n in settings})
    body = []
    for q, name in (("0.5", "median"), ("0.9", "0.9")):
        for epsilon in sorted({epsilon for epsilon, _ in settings}):
            cells = [f"{found['income', epsilon, n, 'one', f'rank {q}']:.3f}" for n in crowds]
            full = found.get(("income", epsilon, USUAL, "full", f"rank {q}"))
            body.append([f"{name}, epsilon {epsilon:g}", *cells, "" if full is None else f"{full:.2g}"])
    return _lines(["quantile", *(f"{n:,} people" for n in crowds), f"full range, {USUAL:,} people"], body)


def widths() -> str:
    """Widths of intervals with few answers, of the rule of old and of hush, and the least coverage of hush."""
    some: dict[tuple[float, int, str], list[float]] = {}
    for row in rows("synthetic", "small"):
        if row["part"] == "grid":
            key = float(row["epsilon"]), int(row["people"]), row["what"]
            some.setdefault(key, []).append(float(row["value"]))
    numbers = sorted({n for _, n, _ in some})
    body = []
    for epsilon in sorted({epsilon for epsilon, _, _ in some}):
        cells = []
        for n in numbers:
            old, new = (math.exp(sum(map(math.log, some[epsilon, n, w])) / 9) for w in ("old", "width"))
            cells.append(f"{old:.2f}, {new:.2f} ({100 * min(some[epsilon, n, 'coverage']):.1f} %)")
        body.append([f"{epsilon:g}", *cells])
    return _lines(["epsilon", *(f"{n:,} answers" for n in numbers)], body)


def margins() -> str:
    """Margins as parts of the range."""
    some: dict[tuple[float, int], dict[str, float]] = {}
    for row in rows("synthetic", "small"):
        if row["part"] == "grid" and row["what"] == "part":
            some.setdefault((float(row["epsilon"]), int(row["people"])), {})[row["population"]] = float(row["value"])
    numbers = sorted({n for _, n in some})
    body = []
    for epsilon in sorted({epsilon for epsilon, _ in some}):
        cells = [
            f"±{50 * min(some[epsilon, n].values()):.2g} to ±{50 * max(some[epsilon, n].values()):.2g} %"
            for n in numbers
        ]
        body.append([f"{epsilon:g}", *cells])
    return _lines(["epsilon", *(f"{n:,} answers" for n in numbers)], body)


TABLES: dict[str, Any] = {"wide columns": columns, "wide gains": gains, "wide coverage": covered, "wide ranks": ranks}
SMALL: dict[str, Any] = {"small margins": margins, "small widths": widths}
