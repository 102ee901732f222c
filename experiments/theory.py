"""The paper's theory, recomputed from hush's channels, with pictures. `make theory` runs it.

Three things are computed in exact arithmetic from the channels themselves, not from the paper's formulas: the
worst-case variance of every one-dimensional mechanism against epsilon, with the limit of linear programming; the
regions of the paper's Table 1, bounded by epsilon* and epsilon#; and the worst-case variance for d attributes as a
fraction of that of Duchi et al.'s multidimensional mechanism: for the paper's PM and HM with its k and estimator, for
Duchi in one dimension on a sampled attribute, and for the minimax design with the ratio estimator. Numbers go to
experiments/results/theory.json, pictures to docs/images.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from hush.core.channels import Channel
from hush.core.design.numeric import NUMERIC, best_worst_case, duchi, piecewise, signs

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results" / "theory.json"
LIMITS = ROOT / "experiments" / "results" / "limit.json"
IMAGES = ROOT / "docs" / "images"
EPSILONS = [Fraction(i, 4) for i in range(1, 33)]
DIMENSIONS = [5, 10, 20, 40]


def channel(mechanism: str, epsilon: float | Fraction) -> Channel:
    """Return the channel of one number that is asked with the whole epsilon."""
    return NUMERIC[mechanism](Fraction(str(epsilon)), False)


def limits() -> list[dict[str, Any]]:
    """Return the limits that `make limit` has kept."""
    found: list[dict[str, Any]] = json.loads(LIMITS.read_text(encoding="utf-8"))
    return found


def one_dimension() -> list[dict[str, Any]]:
    """Worst-case variance of every mechanism, and the limit."""
    rows: list[dict[str, Any]] = [
        {"epsilon": float(epsilon), "mechanism": name, "variance": float(channel(name, epsilon).worst_variance)}
        for name in NUMERIC
        for epsilon in EPSILONS
    ]
    return rows + [{"epsilon": row["eps"], "mechanism": "limit", "variance": row["limit"]} for row in limits()]


def crossing(first: Callable[[Fraction], Fraction], second: Callable[[Fraction], Fraction]) -> float:
    """Return the epsilon between 0.3 and 3 at which first ceases to be the larger."""
    low, high = Fraction(3, 10), Fraction(3)
    while high - low > Fraction(1, 10**4):
        middle = (low + high) / 2
        if first(middle) > second(middle):
            low = middle
        else:
            high = middle
    return float(high)


def regions() -> dict[str, float]:
    """The two epsilons of Table 1: where PM meets Duchi at t = 0, and where their worst cases meet."""
    return {
        "epsilon*": crossing(lambda e: piecewise(e).variance(0), lambda e: duchi(e).variance(0)),
        "epsilon#": crossing(lambda e: piecewise(e).worst_variance, lambda e: duchi(e).worst_variance),
    }


def sampled(asked: Channel, d: int, k: int) -> float:
    """The worst case of (d/k) E[x^2] - t^2, for k of d attributes with the paper's estimator."""
    grid = [Fraction(i, 16) for i in range(17)]
    return max(float(Fraction(d, k) * (asked.variance(t) + t * t) - t * t) for t in grid)


def printed(d: int, epsilon: float) -> float:
    """B^2 as the paper prints it. For even d that mechanism is not private, and the right one has a smaller B."""
    if d % 2:
        c_d = Fraction(2 ** (d - 1), math.comb(d - 1, (d - 1) // 2))
    else:
        c_d = (2 ** (d - 1) + Fraction(math.comb(d, d // 2), 2)) / math.comb(d - 1, d // 2)
    return (float(c_d) * (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2


def paper_k(epsilon: float | Fraction, d: int) -> int:
    """Return how many of d attributes the paper asks a person about."""
    return max(1, min(d, math.floor(Fraction(str(epsilon)) / Fraction(5, 2))))


def of_duchi(epsilon: float | Fraction, d: int) -> float:
    """The worst case of Duchi et al.'s mechanism for d attributes, the corrected one."""
    return float(signs(Fraction(str(epsilon)), d).worst_variance)


def by_paper(mechanism: str, epsilon: float | Fraction, d: int, k: int | None = None) -> float:
    """The worst case of a mechanism on k of d attributes, by default the paper's k, with the paper's estimator."""
    k = k or paper_k(epsilon, d)
    return sampled(channel(mechanism, Fraction(str(epsilon)) / k), d, k)


def many_dimensions() -> list[dict[str, Any]]:
    """Worst cases for people who are all alike, as fractions of that of Duchi et al.'s (corrected) mechanism."""
    rows: list[dict[str, Any]] = []
    for d in DIMENSIONS:
        for epsilon in EPSILONS:
            rival = of_duchi(epsilon, d)
            ways = {
                "PM, paper": by_paper("piecewise", epsilon, d),
                "HM, paper": by_paper("hybrid", epsilon, d),
                "sampled Duchi": by_paper("duchi", epsilon, d),
                "hush": d * float(best_worst_case(epsilon).worst_variance),
                "Duchi, as printed": printed(d, float(epsilon)),
            }
            rows += [
                {"d": d, "epsilon": float(epsilon), "mechanism": name, "fraction": value / rival}
                for name, value in ways.items()
            ]
    return rows


def draw(results: dict[str, Any]) -> None:
    """Write the pictures."""
    import altair as alt

    IMAGES.mkdir(exist_ok=True)
    lines = (
        alt.Chart(alt.InlineData(values=results["one dimension"]))
        .mark_line()
        .encode(
            x=alt.X("epsilon:Q").title("epsilon"),
            y=alt.Y("variance:Q").scale(type="log").title("worst-case variance"),
            color=alt.Color("mechanism:N").title(None).scale(scheme="category10"),
            strokeDash=alt.StrokeDash("mechanism:N").title(None),
        )
        .properties(width=520, height=320, title="One number in [-1, 1]: worst-case variance of a report")
    )
    lines.save(IMAGES / "worst-variance.svg")
    many = (
        alt.Chart(alt.InlineData(values=results["many dimensions"]))
        .mark_line()
        .encode(
            x=alt.X("epsilon:Q").title("epsilon"),
            y=alt.Y("fraction:Q").title("fraction of Duchi et al.'s").scale(domain=[0, 1.6], clamp=True),
            color=alt.Color("mechanism:N").title(None),
            facet=alt.Facet("d:N", columns=2).title("attributes"),
        )
        .properties(width=260, height=180)
    )
    many.save(IMAGES / "many-dimensions.svg")


def compute() -> dict[str, Any]:
    """Return all numbers."""
    return {"one dimension": one_dimension(), "regions": regions(), "many dimensions": many_dimensions()}


def main() -> None:
    """Compute, write, draw."""
    results = compute()
    RESULTS.write_text(json.dumps(results, indent=0) + "\n")
    draw(results)
    sys.stdout.write(f"{results['regions']}\n")


if __name__ == "__main__":
    main()
