"""Which of HM, PM and Duchi et al. has the smaller worst case, for one number and for several."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from experiments import theory
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "Regions of the worst cases"
PAPER = "Table 1"
STAR, SHARP = "epsilon*", "epsilon#"
PRINTED = {STAR: 0.61, SHARP: 1.29}
ONE = "d = 1, "
BELOW, BETWEEN, AT, ABOVE = (
    f"{ONE}epsilon <= epsilon*",
    f"{ONE}epsilon* < epsilon < epsilon#",
    f"{ONE}epsilon = epsilon#",
    f"{ONE}epsilon > epsilon#",
)
SEVERAL = "d > 1"
ORDERS = {
    BELOW: "HM = Duchi < PM",
    BETWEEN: "HM < Duchi < PM",
    AT: "HM < PM = Duchi",
    ABOVE: "HM < PM < Duchi",
    SEVERAL: "HM < PM < Duchi",
}
EPSILONS = tuple(i / 10 for i in range(1, 31))
DIMENSIONS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 20, 40)
MANY_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
SAME = 1e-3  # variances that differ by less are equal: PM is on a grid, and epsilon# is found by halving


def order(values: dict[str, float]) -> str:
    """Return methods by their values, with < and = between them."""
    names = sorted(values, key=lambda name: values[name])
    text = names[0]
    for one, other in pairwise(names):
        text += f" {'=' if values[other] < values[one] * (1 + SAME) else '<'} {other}"
    return text


def region_of(epsilon: float, ends: dict[str, float]) -> str:
    """Return the row of Table 1 for one number."""
    if epsilon == ends[SHARP]:
        return AT
    return BELOW if epsilon <= ends[STAR] else BETWEEN if epsilon < ends[SHARP] else ABOVE


def compute(bench: Bench) -> list[Row]:  # noqa: ARG001 - nothing here takes long
    """Return the worst cases at many epsilons, with what Table 1 says of them."""
    ends = theory.regions()
    rows: list[Row] = []
    for epsilon in sorted((*EPSILONS, ends[SHARP])):
        values = {
            name: float(theory.channel(mechanism, epsilon).worst_variance)
            for name, mechanism in (("HM", "hybrid"), ("PM", "piecewise"), ("Duchi", "duchi"))
        }
        rows.append(_row(1, epsilon, region_of(epsilon, ends), values) | ends)
    for d in DIMENSIONS:
        for epsilon in MANY_EPSILONS:
            values = {
                "HM": theory.by_paper("hybrid", epsilon, d),
                "PM": theory.by_paper("piecewise", epsilon, d),
                "Duchi": theory.of_duchi(epsilon, d),
            }
            printed = theory.printed(d, epsilon)
            rows.append(_row(d, epsilon, SEVERAL, values) | {"Duchi, as printed": printed} | ends)
    return rows


def _row(d: int, epsilon: float, region: str, values: dict[str, float]) -> Row:
    return {"d": d, "epsilon": epsilon, "region": region, **values}


def claims(rows: list[Row]) -> list[Claim]:
    """Return the rows of Table 1, each as a claim."""
    found = [
        Claim(
            f"{name} is about {printed}",
            f"{rows[0][name]:.4f}",
            abs(rows[0][name] - printed) < 0.005,
        )
        for name, printed in PRINTED.items()
    ]
    for region in (BELOW, BETWEEN, AT, ABOVE):
        orders = [order(_values(row)) for row in rows if row["region"] == region]
        # Names with equal values may stand in any order.
        right = [_sorted(text) == _sorted(ORDERS[region]) for text in orders]
        found.append(Claim(f"{region}: {ORDERS[region]}", f"so at {sum(right)} of {len(right)} epsilons", all(right)))
    several = [row for row in rows if row["region"] == SEVERAL]
    for name, parity in (("odd", 1), ("even", 0)):
        some = [row for row in several if row["d"] % 2 == parity]
        right = [order(_values(row)) == ORDERS[SEVERAL] for row in some]
        place, ratio = worst({f"d = {row['d']}, epsilon {row['epsilon']:g}": _highest(row) for row in some})
        found.append(
            Claim(
                f"{SEVERAL}, {name}: {ORDERS[SEVERAL]}",
                f"so at {sum(right)} of {len(right)} settings; at worst PM or HM is {ratio:.2f} of Duchi ({place})",
                all(right),
                "" if all(right) else _why(some),
            )
        )
    return found


def _values(row: Row) -> dict[str, float]:
    return {name: row[name] for name in ("HM", "PM", "Duchi")}


def _highest(row: Row) -> float:
    return float(max(row["HM"], row["PM"]) / row["Duchi"])


def _sorted(text: str) -> list[list[str]]:
    return [sorted(part.split(" = ")) for part in text.split(" < ")]


def _why(rows: list[Row]) -> str:
    """Return what is measured about the places where the order is another one."""
    others = [row for row in rows if order(_values(row)) != ORDERS[SEVERAL]]
    above = sum(_highest(row) >= 1 for row in others)
    swapped = sum(row["HM"] * (1 + SAME) >= row["PM"] for row in others)
    words = []
    if above:
        printed = sum(_highest(row) >= 1 and max(row["HM"], row["PM"]) < row["Duchi, as printed"] for row in others)
        words.append(
            f"in {above} settings PM or HM is not below Duchi et al.'s mechanism, which for even d must be corrected "
            f"to be private and then has less noise; against the one as printed they are below in {printed} of these"
        )
    if swapped:
        words.append(f"in {swapped} settings HM is not below PM")
    return "; ".join(words)


def draw(rows: list[Row]) -> Any:
    """Draw worst cases of one number as fractions of Duchi et al.'s, with the bounds of the regions."""
    import altair as alt

    one = [row for row in rows if row["d"] == 1]
    points = [
        {"epsilon": row["epsilon"], "mechanism": name, "fraction": row[name] / row["Duchi"]}
        for row in one
        for name in ("HM", "PM", "Duchi")
    ]
    chart = charts.lines({"": points}, TITLE, "epsilon", "fraction", "mechanism", log=(False, False), points=False)
    ends = [{"epsilon": one[0][name], "name": name} for name in PRINTED]
    rules = alt.Chart(alt.InlineData(values=ends)).mark_rule(strokeDash=[4, 4]).encode(x="epsilon:Q")
    chart.concat[0] = alt.layer(chart.concat[0], rules, rules.mark_text(dx=16, y=8).encode(text="name:N"))
    return chart
