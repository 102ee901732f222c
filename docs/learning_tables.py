"""The tables of docs/learning-figures.md, made from what was measured.

Errors come from experiments/results/learning.json (`make learning`), times from docs/measured/learn.json (`make
bench`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from speed_tables import Results, Row, heading, kept, number, size, table

RESULTS = Path(__file__).parent.parent / "experiments" / "results" / "learning.json"
TASKS = {
    "logistic": "logistic regression, misclassified",
    "svm": "SVM, misclassified",
    "linear": "linear regression, MSE",
    "linear, clipped": "linear regression, incomes clipped, MSE",
}
METHODS = ("Laplace", "Duchi", "PM", "HM", "hush", "PrivUnit")
PASSES = 3.0  # times that one private pass may cost of one pass in the clear


def results() -> Results:
    """Return the errors of the run that is kept."""
    found: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def _cell(row: Row | None, name: str = "error") -> str:
    if row is None:
        return ""
    spread = row["stderr" if name == "error" else "excess_stderr"]
    return f"{row[name]:.4f}" + ("" if spread is None else f" ± {spread:.4f}")


def _errors(data: str) -> str:
    """Errors of every method, at the epsilons that all of them have; the variants are in the other table."""
    rows = [r for r in results()["rows"] if r["data"] == data and not r["everybody"]]
    epsilons = sorted({r["epsilon"] for r in rows if r["method"] == "hush"})
    parts = []
    for task, title in TASKS.items():
        mine = [r for r in rows if r["task"] == task]
        lines = []
        for method in METHODS:
            cells = [next((r for r in mine if r["method"] == method and r["epsilon"] == e), None) for e in epsilons]
            if any(cells):
                first = next(r for r in cells if r is not None)
                fewer = "" if first["repetitions"] > 1 else f" ({first['people']:,} people, once)"
                lines.append([method + fewer, *map(_cell, cells)])
        if lines:
            clear = {r["method"]: _cell(r) for r in mine if r["epsilon"] == 0}
            lines = [[name, *[error] * len(epsilons)] for name, error in clear.items()] + lines
            head = [title, *(f"eps = {e:g}" for e in epsilons)]
            parts.append(table(head, lines))
    people = max(r["people"] for r in rows)
    return f"{people:,} people:\n\n" + "\n\n".join(parts)


def verdict() -> str:
    """The goal at epsilon 1."""
    constant = {
        (r["data"], r["task"], r["people"]): r["excess"] for r in results()["rows"] if r["method"] == "constant"
    }
    head = ["data, model", "people", "excess of a constant", "of HM", "of hush", "hush / HM", "at most a third"]
    rows = []
    for row in sorted(results()["verdicts"], key=lambda r: (-r["everybody"], r["data"])):
        rows.append(
            [
                f"{row['data']}, {row['task']}",
                f"{row['people']:,}",
                f"{constant[row['data'], row['task'], row['people']]:.4f}",
                f"{row['HM']:.4f}",
                f"{row['hush']:.4f}",
                f"{row['ratio']:.2f}",
                "reached" if row["reached"] else "**not reached**",
            ]
        )
    return table(head, rows)


def ablation() -> str:
    """What each part is worth: excess at epsilon 1."""
    rows = [r for r in results()["rows"] if r["epsilon"] in (0.0, 1.0) and not r["everybody"]]
    names = [
        "constant",
        "HM",
        "HM, the theorem's steps",
        "HM, attributes selected",
        "HM, projected to 30",
        "HM, pilot and averaging",
        "HM, all of hush's training",
        "hush, the paper's training",
        "hush, projected to 30",
        "hush, no pilot",
        "hush",
        "PrivUnit",
    ]
    sets = sorted({r["data"] for r in rows if r["method"] == "hush, no pilot"})
    tasks = ("logistic", "svm", "linear")
    head = ["excess at eps = 1", *(f"{data}, {task}" for data in sets for task in tasks)]
    lines = []
    for name in names:
        cells = [
            next((r for r in rows if r["data"] == data and r["task"] == task and r["method"] == name), None)
            for data in sets
            for task in tasks
        ]
        lines.append([name, *(_cell(cell, "excess") for cell in cells)])
    return table(head, lines)


def few() -> str:
    """Gradients and statistics by dimension."""
    head = ["people, eps, features", "statistics", "gradients", "measured ratio", "predicted ratio", "taken", "better"]
    rows = []
    for row in results()["few"]:
        better = min(("statistics", "gradients"), key=lambda way: row[way])
        rows.append(
            [
                f"{row['people']:,}, {row['epsilon']:g}, {row['d']}",
                f"{row['statistics']:.2g}",
                f"{row['gradients']:.2g}",
                f"{row['gradients'] / row['statistics']:.2g}",
                "" if row["predicted"] is None else f"{row['predicted']:.2g}",
                row["chosen"],
                better,
            ]
        )
    return table(head, rows)


def speed(measured: Results) -> str:
    """Nanoseconds of one person, and ratios."""
    head = [
        "people, epsilon",
        "ns a person",
        "one pass of SGD, ns",
        "ratio",
        "SGD to its end, ratio",
        "copies",
        "at most 3",
    ]
    rows = []
    for row in measured["rows"]:
        ratio = row["ns"] / row["pass_ns"]
        rows.append(
            [
                f"{size(row['n'])}, {row['epsilon']:g}",
                number(row["ns"]),
                number(row["pass_ns"]),
                number(ratio),
                f"{number(row['ns'] / row['sgd_ns'])} ({row['sgd_passes']} passes)",
                number(row["ns"] / row["copy_ns"]),
                "met" if ratio <= PASSES else "**missed**",
            ]
        )
    return table(head, rows)


def _of(make: Callable[[Results], str]) -> Callable[[], str]:
    return lambda: make(kept("learn"))


TABLES: dict[str, Callable[[], str]] = {
    "verdict": verdict,
    "errors-synthetic": lambda: _errors("synthetic"),
    "errors-br": lambda: _errors("br_like"),
    "ablation": ablation,
    "few": few,
    "learn-machine": _of(heading),
    "learn-speed": _of(speed),
}
