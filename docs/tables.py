"""Writes the tables of docs/mechanisms.md from the channels themselves. `make docs` runs it, a test compares."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hush.design.categorical import grr, oue, subset, sue, total_variance
from hush.design.numeric import NUMERIC

PAGE = Path(__file__).parent / "mechanisms.md"
EPSILONS = [Fraction(text) for text in ("0.5", "1", "2", "4", "6")]
START, END = "<!-- {} -->", "<!-- end of {} -->"


def numeric() -> str:
    """Worst variance of one numeric attribute."""
    lines = ["| mechanism | " + " | ".join(f"eps = {float(e):g}" for e in EPSILONS) + " |", "|---" * 6 + "|"]
    for name, make in NUMERIC.items():
        cells = " | ".join(f"{float(make(e, False).worst_variance):.4g}" for e in EPSILONS)
        lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines)


def categorical() -> str:
    """Total variance of a categorical attribute, at epsilon 1 and 4."""
    sizes = [2, 4, 8, 16, 64]
    lines = ["| mechanism, epsilon | " + " | ".join(f"K = {size}" for size in sizes) + " |", "|---" * 6 + "|"]
    for epsilon in (Fraction(1), Fraction(4)):
        for name, make in (("subset", subset), ("grr", grr), ("oue", oue), ("sue", sue)):
            cells = " | ".join(f"{float(total_variance(make(epsilon, size))):.4g}" for size in sizes)
            lines.append(f"| `{name}`, {float(epsilon):g} | {cells} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """Return the page with its tables made anew."""
    for name, table in (("numeric", numeric()), ("categorical", categorical())):
        start, end = START.format(name), END.format(name)
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n{table}\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
