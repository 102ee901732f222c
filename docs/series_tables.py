"""The tables of docs/over-time.md: what levels cost in accuracy, and which are best for a total epsilon."""

from __future__ import annotations

from fractions import Fraction

from hush.core.channels.window import Window, worst
from hush.core.design.numeric import best_worst_case

LEVELS = (2, 3, 5, 9, 17)


def rounded_variance(channel: Window, levels: int) -> Fraction:
    """Return the largest variance of one report of a number that is first rounded to levels, over all numbers."""
    points = [Fraction(2 * j, levels - 1) - 1 for j in range(levels)]
    return worst([(t, channel.mean_square(t)) for t in points])


def levels() -> str:
    """The worst variance with so many levels, over that without."""
    lines = ["| epsilon | " + " | ".join(f"{g} levels" for g in LEVELS) + " |", "|---" * 6 + "|"]
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)):
        channel = best_worst_case(epsilon)
        cells = " | ".join(f"{float(rounded_variance(channel, g) / channel.worst_variance):.3f}" for g in LEVELS)
        lines.append(f"| {float(epsilon):g} | {cells} |")
    return "\n".join(lines)


def totals() -> str:
    """The worst variance if the expected total epsilon is fixed, for numbers that move within a part of their range."""
    lines = ["| total, part | " + " | ".join(f"{g} levels" for g in LEVELS) + " |", "|---" * 6 + "|"]
    for total in (1, 2, 4):
        for part in (Fraction(1, 20), Fraction(1, 4), Fraction(1)):
            found = []
            for g in LEVELS:
                epsilon = Fraction(round(1000 * total / (1 + part * (g - 1))), 1000)
                found.append(float(rounded_variance(best_worst_case(epsilon), g)))
            texts = [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in found]
            cells = " | ".join(f"**{t}**" if v == min(found) else t for t, v in zip(texts, found, strict=True))
            lines.append(f"| {total}, {float(part):.0%} | {cells} |")
    return "\n".join(lines)


TABLES = {"levels": levels, "totals": totals}
