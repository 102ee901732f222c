"""The attack on floating point: textbook mechanisms leak through the low bits of their outputs, hush has none.

An audit calls a mechanism for two inputs, and proves a lower bound of its epsilon from outputs alone. What is private
on paper must stay below the epsilon that it claims. The textbook mechanisms are Laplace and the paper's Algorithm 2, in
float64 as everybody writes them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hush
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row

TITLE = "The attack on floating point"
PAPER = "beyond"
INPUTS = (0.0, 1.0)
DRAWS, DRAWS_QUICK = 40_000, 8_000
TEXTBOOK = "textbook, floats"
HUSH = "hush, integers"
MECHANISMS = {"Laplace": "laplace", "PM": "piecewise", "Duchi": "duchi", "HM": "hybrid", "minimax": "minimax"}


def laplace(epsilon: float) -> Callable[[float], float]:
    """Return the Laplace mechanism by inversion, for numbers in [-1, 1]."""

    def draw(t: float) -> float:
        noise = 2 / epsilon * math.log(1 - random.random())  # noqa: S311  # the subject of the attack
        return t + noise if random.random() < 0.5 else t - noise  # noqa: S311

    return draw


def piecewise(epsilon: float) -> Callable[[float], float]:
    """Return Algorithm 2 of the paper, line by line."""
    half = math.exp(epsilon / 2)
    c = (half + 1) / (half - 1)

    def draw(t: float) -> float:
        left = (c + 1) / 2 * t - (c - 1) / 2
        right = left + c - 1
        if random.random() < half / (half + 1):  # noqa: S311
            return random.uniform(left, right)  # noqa: S311
        place = random.uniform(0, c + 1)  # noqa: S311
        return place - c if place < left + c else place - c + (right - left)

    return draw


TEXTBOOKS = {"Laplace": laplace, "PM": piecewise}


@dataclass(frozen=True)
class Subject:
    """What is audited."""

    mechanism: str
    maker: str
    epsilon: float
    draws: int


def audited(subject: Subject) -> Row:
    """Return what an audit proves, in the values of outputs and in their low bits."""
    if subject.maker == TEXTBOOK:
        randomiser: Any = TEXTBOOKS[subject.mechanism](subject.epsilon)
    else:
        schema = hush.Schema([hush.Numeric("x", -1, 1)])
        plan = hush.Plan.design(schema, subject.epsilon, numeric=MECHANISMS[subject.mechanism])

        def randomiser(t: float) -> Any:
            return hush.randomise(plan, {"x": t}).answers[0][1]

    result = hush.audit(randomiser, INPUTS, epsilon=subject.epsilon, draws=subject.draws)
    by_kind = {kind: [a.lower for a in result.attacks if a.kind == kind] for kind in ("values", "low bits")}
    return {
        "values": max(by_kind["values"]),
        "low bits": max(by_kind["low bits"], default=None),
        "lower": result.lower,
        "passed": result.passed,
    }


def compute(bench: Bench) -> list[Row]:
    """Return the lower bounds of epsilon that were proved, of each mechanism in both makes."""
    draws = DRAWS_QUICK if bench.settings.quick else DRAWS
    jobs = [
        Subject(mechanism, maker, epsilon, draws)
        for epsilon in bench.settings.epsilons
        for maker, mechanisms in ((TEXTBOOK, TEXTBOOKS), (HUSH, MECHANISMS))
        for mechanism in mechanisms
    ]
    found = bench.run(TITLE, jobs, audited)
    return [
        {"epsilon": job.epsilon, "mechanism": job.mechanism, "maker": job.maker, "draws": job.draws, **found[job]}
        for job in jobs
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of floats and of itself."""
    textbook = [row for row in rows if row["maker"] == TEXTBOOK]
    ours = [row for row in rows if row["maker"] == HUSH]
    caught = [row for row in textbook if not row["passed"]]
    missed = ", ".join(f"{row['mechanism']} at epsilon {row['epsilon']:g}" for row in textbook if row["passed"])
    paper = [row for row in textbook if row["values"] <= row["epsilon"]]
    passed = [row for row in ours if row["passed"]]
    excess = max(row["lower"] - row["epsilon"] for row in textbook)
    return [
        Claim(
            "(hush) textbook mechanisms in floats leak more than they claim",
            f"{len(caught)} of {len(textbook)} are caught, by up to {excess:.1f} more than their epsilon",
            len(caught) == len(textbook),
            f"not caught: {missed}; at a large epsilon a bound from so few draws cannot exceed it" if missed else "",
        ),
        Claim(
            "(hush) they are right on paper: the values of their outputs show no more than epsilon",
            f"so for {len(paper)} of {len(textbook)}",
            len(paper) == len(textbook),
        ),
        Claim(
            "(hush) the same attack on hush shows no more than epsilon, and finds no low bits",
            f"{len(passed)} of {len(ours)} pass; low bits in {sum(row['low bits'] is not None for row in ours)}",
            len(passed) == len(ours) and all(row["low bits"] is None for row in ours),
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the proven bounds beside what is claimed."""
    panels = {}
    for maker in (TEXTBOOK, HUSH):
        some = [row for row in rows if row["maker"] == maker]
        claimed = [{"epsilon": e, "lower": e, "mechanism": "claimed"} for e in sorted({row["epsilon"] for row in rows})]
        panels[maker] = [*claimed, *some]
    return charts.bars(panels, TITLE, "epsilon", "lower", "mechanism", names=("epsilon", "proven lower bound of epsilon"))
