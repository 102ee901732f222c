"""Sixteen numbers that are uniform, or follow a power law."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import gaussian, populations
from experiments.reproduce.estimation import PROPOSED, RIVALS, ratios
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "Sixteen uniform or power-law numbers"
PAPER = "Figure 6"
SHAPES = {"uniform": populations.uniform, "power law": populations.power_law}


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method on both shapes."""
    return gaussian.errors_of(bench, TITLE, SHAPES)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure: similar conclusions as before."""
    found = []
    for method in PROPOSED:
        setting, ratio = worst({f"{rival}: {name}": v for rival in RIVALS for name, v in ratios(rows, method, rival).items()})
        found.append(
            Claim(
                f"{method} outperforms all earlier methods on uniform and power-law data too",
                f"at worst its error is {ratio:.2f} of that of {setting}",
                ratio < 1,
            )
        )
    setting, ratio = worst(ratios(rows, "hush", "HM"))
    found.append(
        Claim("(hush) the default of hush is better than HM", f"at worst its error is {ratio:.2f} of HM's ({setting})", ratio < 1)
    )
    return found


draw: Any = gaussian.draw
