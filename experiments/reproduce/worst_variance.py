"""One number: the worst-case variance of a report against epsilon, for every mechanism, and the limit for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments import theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "One number: worst-case variance"
PAPER = "Figure 1"
NAMES = {
    "Laplace": "laplace",
    "SCDF": "scdf",
    "Staircase": "staircase",
    "Duchi": "duchi",
    "PM": "piecewise",
    "HM": "hybrid",
    "PM-SUB": "piecewise-sub",
    "hush": "minimax",
}
LIMIT = "limit"
EPSILONS = tuple(map(float, theory.EPSILONS))
SMALL = 2.0  # up to here Duchi et al. are said to be better than Laplace
SHARP = 1.29  # from here PM is said to be better than Duchi et al.
CLOSE = 1.3  # how "slightly larger" and "close" are read
WORDS = "as epsilon falls PM tends to 4/3 of Duchi et al., and of HM, which is theirs there: a matter of words"
SAME = 1 + 1e-9


@dataclass(frozen=True)
class Point:
    """A mechanism at an epsilon."""

    mechanism: str
    epsilon: float


def worst_case(point: Point) -> float:
    """Return the worst-case variance, from the channel itself."""
    return float(theory.channel(NAMES[point.mechanism], point.epsilon).worst_variance)


def compute(bench: Bench) -> list[Row]:
    """Return rows of epsilon, mechanism and variance."""
    found = bench.run(TITLE, [Point(name, epsilon) for name in NAMES for epsilon in EPSILONS], worst_case)
    rows: list[Row] = [
        {"epsilon": point.epsilon, "mechanism": point.mechanism, "variance": value} for point, value in found.items()
    ]
    rows += [{"epsilon": row["eps"], "mechanism": LIMIT, "variance": row["limit"]} for row in theory.limits()]
    order = [*NAMES, LIMIT]
    return sorted(rows, key=lambda row: (order.index(row["mechanism"]), row["epsilon"]))


def over(rows: list[Row], above: str, below: str, where: tuple[float, float] = (0, 99)) -> dict[str, float]:
    """Return the variance of one mechanism over that of another, for the epsilons in a range."""
    at = {(row["mechanism"], row["epsilon"]): row["variance"] for row in rows}
    return {
        f"epsilon {epsilon:g}": value / at[below, epsilon]
        for (mechanism, epsilon), value in at.items()
        if mechanism == above and where[0] <= epsilon <= where[1] and (below, epsilon) in at
    }


def claims(rows: list[Row]) -> list[Claim]:
    """Return what the paper says about this figure."""

    def says(text: str, above: str, below: str, most: float, where: tuple[float, float] = (0, 99)) -> Claim:
        """The claim that a mechanism is at most so many times another."""
        setting, ratio = worst(over(rows, above, below, where))
        why = WORDS if most == CLOSE and ratio > most else ""
        return Claim(text, f"{above} over {below} is at most {ratio:.3g} ({setting})", ratio <= most, why)

    largest = max(row["epsilon"] for row in rows if row["mechanism"] == "Duchi")
    found = [
        says("Duchi et al. have smaller variance than Laplace for epsilon <= 2", "Duchi", "Laplace", 1, (0, SMALL)),
        says("Laplace outperforms Duchi et al. when epsilon is large", "Laplace", "Duchi", 1, (largest, largest)),
        says("PM is below Duchi et al. for epsilon >= 1.29", "PM", "Duchi", 1, (SHARP, 99)),
        says("PM is only slightly (30 %) above Duchi et al. for epsilon < 1.29", "PM", "Duchi", CLOSE, (0, SHARP)),
        says("PM is below Laplace at every epsilon", "PM", "Laplace", 1),
        says("HM is never above Duchi et al.", "HM", "Duchi", SAME),
        says("HM is never above PM", "HM", "PM", SAME),
        says("HM is never above Laplace", "HM", "Laplace", SAME),
        says("PM is close (within 30 %) to HM", "PM", "HM", CLOSE),
    ]
    found += [
        says(f"(hush) the minimax design is never above {rival}", "hush", rival, SAME)
        for rival in NAMES
        if rival != "hush"
    ]
    return found


def draw(rows: list[Row]) -> Any:
    """Draw variance against epsilon."""
    return charts.lines(
        {"": rows},
        TITLE,
        "epsilon",
        "variance",
        "mechanism",
        names=("epsilon", "worst-case variance"),
        order=[*NAMES, LIMIT],
        points=False,
    )
