"""Sixteen numbers that are uniform, or follow a power law."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import gaussian, populations
from experiments.reproduce.estimation import RIVALS, as_expected, both_outperform, outperforms
from experiments.reproduce.frame import Bench, Claim, Row

TITLE = "Sixteen uniform or power-law numbers"
PAPER = "Figure 6"
SHAPES = {"uniform": populations.uniform, "power law": populations.power_law}


def compute(bench: Bench) -> list[Row]:
    """Return the errors of every method on both shapes."""
    return gaussian.errors_of(bench, TITLE, SHAPES)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure: similar conclusions as before."""
    return [
        *both_outperform("{} outperforms all earlier methods on these data too", rows, RIVALS),
        outperforms("(hush) the default of hush is better than HM", rows, "hush", ("HM",)),
        as_expected(rows),
    ]


draw: Any = gaussian.draw
