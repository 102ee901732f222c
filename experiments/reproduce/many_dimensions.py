"""Several numbers: the worst case as a fraction of that of Duchi et al.'s mechanism for several numbers."""

from __future__ import annotations

from typing import Any

from experiments import theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "Several numbers: worst case over Duchi et al.'s"
PAPER = "Figure 3"
PRINTED = "Duchi, as printed"
MOST = 0.77
EVEN = (
    "for even d the paper's Duchi et al. is not private as printed; the corrected mechanism has less noise. "
    "Against the one as printed the largest fraction is {:.2f}"
)


def compute(bench: Bench) -> list[Row]:  # noqa: ARG001 - nothing here takes long
    """Return rows of d, epsilon, mechanism and fraction."""
    return theory.many_dimensions()


def fractions(rows: list[Row], d: int, mechanism: str, below: str | None = None) -> dict[str, float]:
    """Return the fractions of a mechanism, or those over another mechanism's."""
    at = {row["epsilon"]: row["fraction"] for row in rows if (row["d"], row["mechanism"]) == (d, below)}
    return {
        f"epsilon {row['epsilon']:g}": row["fraction"] / at.get(row["epsilon"], 1.0)
        for row in rows
        if (row["d"], row["mechanism"]) == (d, mechanism)
    }


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure, for each d, as it depends on whether d is even."""
    found = []
    dimensions = sorted({row["d"] for row in rows})
    for name, text, most in (
        ("HM, paper", "HM is at most 77 % of Duchi et al.", MOST),
        ("PM, paper", "PM is below Duchi et al.", 1.0),
    ):
        for d in dimensions:
            setting, ratio = worst(fractions(rows, d, name))
            _, printed = worst(fractions(rows, d, name, PRINTED))
            holds = ratio <= most
            why = "" if holds else EVEN.format(printed) if d % 2 == 0 else ""
            found.append(Claim(f"d = {d}: {text}", f"at most {ratio:.2f} ({setting})", holds, why))
    for d in dimensions:
        setting, ratio = worst(fractions(rows, d, "hush", "HM, paper"))
        found.append(
            Claim(
                f"(hush) d = {d}: the minimax design with the ratio estimator is below HM",
                f"at most {ratio:.2f} of HM ({setting})",
                ratio < 1,
            )
        )
    setting, ratio = worst({f"d = {d}, {e}": v for d in dimensions for e, v in fractions(rows, d, "hush").items()})
    found.append(
        Claim(
            "(hush) the minimax design is below Duchi et al. even where HM is not",
            f"at most {ratio:.2f} ({setting})",
            ratio < 1,
        )
    )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw fractions against epsilon, a panel for each d."""
    panels = {f"d = {d}": [row for row in rows if row["d"] == d] for d in sorted({row["d"] for row in rows})}
    return charts.lines(panels, TITLE, "epsilon", "fraction", "mechanism", log=(False, False), points=False)
