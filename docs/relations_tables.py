"""Writes the tables of docs/relations.md from what `python -m experiments.reproduce relations` has kept."""

from __future__ import annotations

from typing import Any

from reproduction_tables import FOLDER, KINDS, rows  # a neighbour, not a part of the package

EPSILONS = (1.0, 2.0, 4.0)
EDUCATION = ("no high school", "high school", "some college", "bachelor", "master or more")
RANGES = ("age", "income", "hours")
Found = dict[tuple[str, str, int | None, float], tuple[float, float | None]]


def _found(kind: str | None = None) -> Found:
    """Return all figures, of real people if there are such."""
    kept = [name for name in reversed(KINDS) if (FOLDER / name / "relations.csv").exists()]
    found: Found = {}
    for row in rows(kind or kept[0], "relations"):
        n = int(float(row["people"])) if row["people"] else None
        error = float(row["stderr"]) if row["stderr"] else None
        found[row["part"], row["what"], n, float(row["epsilon"])] = float(row["value"]), error
    return found


def _crowds(found: Found, part: str) -> list[int]:
    return sorted({n for name, _, n, _ in found if name == part and n is not None})


def _lines(head: list[str], body: list[list[str]]) -> str:
    every = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" if line[0] != "---" else "|---" * len(line) + "|" for line in every)


def _percent(value: tuple[float, float | None]) -> str:
    error = "" if value[1] is None else f" ± {100 * value[1]:.1f}"
    return f"{100 * value[0]:.1f}{error} %"


def halves() -> str:
    """How many times fewer people a relation needs than the product of two reports."""
    found = _found()

    def at(what: str, epsilon: float) -> float:
        return next(
            value for (part, name, _, e), (value, _) in found.items() if (part, name, e) == ("halves", what, epsilon)
        )

    body = []
    for name, top, bottom in (
        ("cell of a 5 x 5 table, one table alone", "naive", "raw"),
        ("the same, one of 45 tables of ten attributes", "naive", "pooled"),
        ("the same, simulated", "naive, simulated", "pooled, simulated"),
        ("mean of a fifth of the people", "naive mean", "mean"),
    ):
        body.append([name, *(f"{at(top, epsilon) / at(bottom, epsilon):.3g}" for epsilon in EPSILONS)])
    return _lines(["fewer people, times", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)], body)


def tables() -> str:
    """The error of a cell by every remedy."""
    found = _found()
    names = ("raw", "pooled", "proper", "shrunk", "independence")
    body = []
    for part, label in (("tables", ""), ("tables, a fifth asked alone", ", 20 % asked about one attribute")):
        for n in _crowds(found, part):
            for epsilon in EPSILONS:
                if (part, "raw", n, epsilon) in found:
                    cells = [f"{found[part, name, n, epsilon][0]:.4f}" for name in names]
                    body.append(
                        [f"{n:,}{label}", f"{epsilon:g}", *cells, _percent(found[part, "coverage", n, epsilon])]
                    )
    return _lines(["people", "epsilon", *names, "coverage"], body)


def means() -> str:
    """The margins of mean incomes by education."""
    found = _found()
    crowds = _crowds(found, "means")
    truth = [found["means", f"truth, {group}", crowds[0], 2.0][0] for group in EDUCATION]
    body = []
    for n in crowds:
        for epsilon in EPSILONS:
            cells = [f"±{found['means', f'margin, {group}', n, epsilon][0]:,.0f}" for group in EDUCATION]
            body.append([f"{n:,}", f"{epsilon:g}", *cells, _percent(found["means", "coverage", n, epsilon])])
    head = [f"{group} ({mean:,.0f})" for group, mean in zip(EDUCATION, truth, strict=True)]
    return _lines(["people", "epsilon", *head, "coverage"], body)


def associations() -> str:
    """Errors of ten associations."""
    found = _found()
    body = []
    for n in _crowds(found, "associations"):
        for epsilon in EPSILONS:
            if ("associations", "rmse", n, epsilon) in found:
                errors = [f"{found['associations', name, n, epsilon][0]:.3f}" for name in ("stderr", "rmse")]
                body.append(
                    [f"{n:,}", f"{epsilon:g}", *errors, _percent(found["associations", "coverage", n, epsilon])]
                )
    return _lines(["people", "epsilon", "standard error", "error", "coverage"], body)


def pairs() -> str:
    """The associations themselves, of one survey."""
    found = _found()
    n = _crowds(found, "associations")[-1]
    body = []
    for part, what, people, epsilon in found:
        if (part, people, epsilon) == ("associations", n, 1.0) and what.startswith("truth, "):
            pair = what.removeprefix("truth, ")
            truth, point, margin = (found[part, f"{name}, {pair}", n, 1.0][0] for name in ("truth", "point", "margin"))
            body.append([pair, f"{truth:+.3f}", f"{point:+.3f} ±{margin:.3f}"])
    return _lines(["numbers", "everybody", f"one survey of {n:,} people, epsilon 1"], body)


def ranges() -> str:
    """The largest error of the share below a cut."""
    found = _found()
    body = []
    for number in RANGES:
        (n,) = _crowds(found, f"ranges, {number}")
        for epsilon in EPSILONS:
            part = f"ranges, {number}"
            errors = [f"{found[part, name, n, epsilon][0]:.3f}" for name in ("EM", "tree", "nonnegative", "margin")]
            body.append([number, f"{epsilon:g}", *errors, _percent(found[part, "coverage", n, epsilon])])
    return _lines(
        ["number", "epsilon", "window and EM", "tree", "nonnegative", "margin in the middle", "coverage"], body
    )


def records() -> str:
    """How like people made-up records are."""
    found = _found()

    def line(label: str, name: str, n: int, epsilon: float) -> list[str]:
        cells = [f"{found['records', f'{name}, {order}', n, epsilon][0]:.4f}" for order in (1, 2, 3)]
        return [label, *cells, f"{100 * found['records', f'{name}, accuracy', n, epsilon][0]:.1f} %"]

    crowds = _crowds(found, "records")
    body = [line("as many people", "people", crowds[-1], 4.0), line("columns shuffled", "independent", crowds[-1], 4.0)]
    for n in crowds:
        for epsilon in EPSILONS:
            if ("records", "made up, 1", n, epsilon) in found:
                body.append(line(f"made up from {n:,} people, epsilon {epsilon:g}", "made up", n, epsilon))
    return _lines(["records", "one attribute", "two", "three", "classifier right"], body)


def limits() -> str:
    """The rows channel beside the limit."""
    found = _found()
    groups = sorted({name for name, what, _, _ in found if what == "ratio"})
    body = []
    for part in groups:
        cells = []
        for epsilon in EPSILONS:
            names = ("ratio", "ratio, even", "low", "high")
            ratio, even, low, high = (found[part, name, None, epsilon][0] for name in names)
            cells.append(f"{ratio:.3f}, {even:.3f} ({low:.4g} .. {high:.4g})")
        body.append([part.removeprefix("limit, "), *cells])
    return _lines(["", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)], body)


TABLES: dict[str, Any] = {
    "fewer people": halves,
    "tables": tables,
    "means": means,
    "associations": associations,
    "pairs": pairs,
    "ranges": ranges,
    "records": records,
    "limit": limits,
}
