"""How far each mechanism is from the limit that no unbiased mechanism of one number can beat.

A quick run takes the limits that `make limit` has kept; a full one solves the linear programs anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments import limit, theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst
from experiments.reproduce.worst_variance import NAMES

TITLE = "Distance to the limit"
PAPER = "beyond"
NEAR = 0.02  # how near hush is to be
DIGITS = 1e-3  # to which a limit is known


@dataclass(frozen=True)
class Program:
    """A limit: epsilon, and the numbers of inputs of the linear programs that it is extrapolated from."""

    epsilon: str
    inputs: tuple[int, ...]


def solved(program: Program) -> Row:
    """Solve the linear programs."""
    return limit.row(program.epsilon, program.inputs)


def limits(bench: Bench) -> list[Row]:
    """Return the limits, kept or computed anew."""
    if bench.settings.quick:
        return theory.limits()
    jobs = [Program(name, sizes) for name, sizes in limit.INPUTS.items()]
    found = bench.run(f"{TITLE}: linear programs", jobs, solved)
    return [found[job] for job in jobs]


def compute(bench: Bench) -> list[Row]:
    """Return rows of epsilon, mechanism, variance, limit, and how far above it the variance is."""
    return [
        {
            "epsilon": row["eps"],
            "mechanism": name,
            "variance": (variance := float(theory.channel(mechanism, row["eps"]).worst_variance)),
            "limit": row["limit"],
            "lower": row["lower"],
            "above": variance / row["limit"] - 1,
        }
        for row in limits(bench)
        for name, mechanism in NAMES.items()
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of its distance."""
    below = [row for row in rows if row["variance"] < row["lower"] * (1 - DIGITS)]
    found = [
        Claim(
            "(hush) no mechanism is below the proven lower bound: the limit is one",
            f"{len(below)} of {len(rows)} are below",
            not below,
        )
    ]
    by_name = {
        name: {f"epsilon {row['epsilon']:g}": row["above"] for row in rows if row["mechanism"] == name}
        for name in NAMES
    }
    setting, most = worst(by_name["hush"])
    found.append(
        Claim(
            "(hush) the minimax design is within 2 % of the limit", f"at most {most:.2%} above ({setting})", most < NEAR
        )
    )
    setting, most = worst(by_name["HM"])
    distances = [row["above"] for row in sorted(rows, key=lambda row: row["epsilon"]) if row["mechanism"] == "HM"]
    ours = [row["above"] for row in sorted(rows, key=lambda row: row["epsilon"]) if row["mechanism"] == "hush"]
    found.append(
        Claim(
            "(hush) HM is further from it, and ever further as epsilon grows",
            f"{distances[0]:.1%} at the smallest epsilon, up to {most:.0%} ({setting})",
            distances == sorted(distances) and all(a > b for a, b in zip(distances, ours, strict=True)),
        )
    )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw the distance in per cent against epsilon."""
    shown = [{**row, "per cent": max(100 * row["above"], 0.001)} for row in rows]
    return charts.lines(
        {"": shown},
        TITLE,
        "epsilon",
        "per cent",
        "mechanism",
        names=("epsilon", "per cent above the limit"),
        order=[*NAMES],
    )
