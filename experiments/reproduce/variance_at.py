"""One number: the variance of a report at four inputs. The source of the paper has this figure; its print has not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from experiments import theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.worst_variance import EPSILONS, NAMES

TITLE = "One number: variance at four inputs"
PAPER = "In the source"  # of the paper, but not printed
INPUTS = ("0", "1/3", "2/3", "1")
STAR = 0.61  # from here HM is a mixture
FLAT = 0.01  # what still counts as the same variance at all inputs


@dataclass(frozen=True)
class Point:
    """A mechanism at an epsilon and an input."""

    mechanism: str
    epsilon: float
    t: str


def variance(point: Point) -> float:
    """Return the variance at an input, from the channel itself."""
    return float(theory.channel(NAMES[point.mechanism], point.epsilon).variance(Fraction(point.t)))


def compute(bench: Bench) -> list[Row]:
    """Return rows of input, epsilon, mechanism and variance."""
    jobs = [Point(name, epsilon, t) for name in NAMES for epsilon in EPSILONS for t in INPUTS]
    found = bench.run(TITLE, jobs, variance)
    return [
        {"t": job.t, "epsilon": job.epsilon, "mechanism": job.mechanism, "variance": found[job]}
        for job in sorted(jobs, key=lambda job: (job.t, [*NAMES].index(job.mechanism), job.epsilon))
    ]


def by_input(rows: list[Row], mechanism: str, least: float = 0) -> dict[float, list[float]]:
    """Return the variances of a mechanism at the four inputs, smallest input first, for each epsilon."""
    found: dict[float, dict[str, float]] = {}
    for row in rows:
        if row["mechanism"] == mechanism and row["epsilon"] >= least:
            found.setdefault(row["epsilon"], {})[row["t"]] = row["variance"]
    return {epsilon: [values[t] for t in INPUTS] for epsilon, values in found.items()}


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about inputs."""
    piecewise, duchi = by_input(rows, "PM"), by_input(rows, "Duchi")
    rising = [epsilon for epsilon, values in piecewise.items() if values == sorted(values)]
    falling = [epsilon for epsilon, values in duchi.items() if values == sorted(values, reverse=True)]
    least = min(values[0] for values in duchi.values())
    noise = [values[0] * epsilon**2 for epsilon, values in by_input(rows, "Laplace").items()]
    flat = {epsilon: max(values) / min(values) - 1 for epsilon, values in by_input(rows, "HM", STAR).items()}
    return [
        Claim(
            "the variance of PM falls with |t|",
            f"so at {len(rising)} of {len(piecewise)} epsilons",
            len(rising) == len(piecewise),
        ),
        Claim(
            "the variance of Duchi et al. grows as |t| falls",
            f"so at {len(falling)} of {len(duchi)} epsilons",
            len(falling) == len(duchi),
        ),
        Claim(
            "the variance of Duchi et al. at t = 0 is above 1 whatever epsilon is", f"at least {least:.4f}", least > 1
        ),
        Claim(
            "the variance of Laplace is 8/epsilon^2",
            f"epsilon^2 times the variance is {min(noise):.3f} to {max(noise):.3f}",
            max(abs(value / 8 - 1) for value in noise) < FLAT,
        ),
        Claim(
            "HM's alpha takes t out of its variance, for epsilon > 0.61",
            f"over t it varies by {max(flat.values()):.2%} at most",
            max(flat.values()) < FLAT,
            ""
            if max(flat.values()) < FLAT
            else "rounding to the cells of a grid adds a little, more at a large epsilon",
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw variance against epsilon, a panel for each input."""
    panels = {f"t = {t}": [row for row in rows if row["t"] == t] for t in INPUTS}
    return charts.lines(panels, TITLE, "epsilon", "variance", "mechanism", order=[*NAMES], points=False)
