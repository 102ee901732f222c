"""Joint reports: several attributes in one answer with the whole epsilon, against one attribute each.

The error that hush predicts for the same people: numbers who are all alike, evenly spread or at the ends of the domain;
binary categories that are equally frequent. `docs/joint.md` says more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hush
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row

TITLE = "Joint reports"
PAPER = "beyond"
NUMBERS = 10
SPREADS = {"all alike": 0.0, "evenly spread": 3**-0.5, "at the ends": 1.0}
BLOCKS = {"2 binary": 2, "3 binary": 3, "4 binary": 4}
EPSILONS = (1.0, 2.0, 4.0, 8.0)
CUBE, CELLS, SINGLE = "cube", "cells", "one by one"
RIVALS: tuple[dict[str, Any], ...] = ({}, {"numeric": "hybrid"}, {"numeric": "piecewise-sub"}, {"numeric": "duchi"})


@dataclass(frozen=True)
class Case:
    """People and an epsilon."""

    kind: str
    people: str
    epsilon: float


def errors(case: Case) -> dict[str, float]:
    """Return the variance of a mean or share, times the people asked, by a joint report and by the best other plan."""
    if case.kind == "numbers":
        schema = hush.Schema([hush.Numeric(f"x{i}", -1, 1) for i in range(NUMBERS)])
        guesses: Any = {name: hush.Guess(0.0, SPREADS[case.people]) for name in schema.names}
        joint: dict[str, Any] = {"numeric": "cube"}
        rivals = RIVALS
    else:
        schema = hush.Schema([hush.Categorical(f"x{i}", [0, 1]) for i in range(BLOCKS[case.people])])
        guesses = {name: {0: 0.5, 1: 0.5} for name in schema.names}
        joint = {"joint": [list(schema.names)]}
        rivals = ({},)

    def error(**options: Any) -> float:
        plan = hush.design(schema, case.epsilon, **options)
        return max(row.stderr**2 for row in hush.predict(plan, 1, guesses=guesses))

    return {"joint": error(**joint), SINGLE: min(error(**options) for options in rivals)}


def compute(bench: Bench) -> list[Row]:
    """Return the error of both ways, and how many times the joint one's the other is."""
    cases = [
        Case(kind, people, epsilon)
        for kind, all_of_them in (("numbers", SPREADS), ("categories", BLOCKS))
        for people in all_of_them
        for epsilon in EPSILONS
    ]
    found = bench.run(TITLE, cases, errors)
    return [
        {
            "kind": case.kind,
            "people": case.people,
            "epsilon": case.epsilon,
            "channel": CUBE if case.kind == "numbers" else CELLS,
            "joint": found[case]["joint"],
            SINGLE: found[case][SINGLE],
            "gain": found[case][SINGLE] / found[case]["joint"],
        }
        for case in cases
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of joint reports, for and against."""
    gains = {(row["people"], row["epsilon"]): row["gain"] for row in rows}

    def said(people: str, least: float) -> list[float]:
        return [gain for (name, epsilon), gain in gains.items() if name == people and epsilon >= least]

    ends, alike, cells = said("at the ends", 2), said("all alike", 0), said("2 binary", 2)
    return [
        Claim(
            "(hush) from epsilon 2 on the cube is better for people at the ends of the domain",
            f"{min(ends):.2f} to {max(ends):.2f} times less error",
            min(ends) > 1,
        ),
        Claim(
            "(hush) for people who are all alike it is not: hush does not choose it by default",
            f"{min(alike):.2f} to {max(alike):.2f} times",
            max(alike) <= 1,
        ),
        Claim(
            "(hush) from epsilon 2 on two binary attributes are better reported as one cell",
            f"{min(cells):.2f} to {max(cells):.2f} times less error",
            min(cells) > 1,
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the gain against epsilon; above 1 the joint report is better."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    panels = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    return charts.lines(
        panels,
        TITLE,
        "epsilon",
        "gain",
        "people",
        names=("epsilon", "error one by one / joint"),
        order=[*SPREADS, *BLOCKS],
        log=(True, True),
        apart=True,
    )
