"""The attack on floating point: textbook mechanisms leak through the low bits of their outputs, hush has none.

An audit calls a mechanism for two inputs, and proves a lower bound of its epsilon from outputs alone. The bound must
not exceed the epsilon that the mechanism claims. Worse, one input can have outputs that are impossible for another,
which no epsilon allows. For Algorithm 2 of the paper, and for hush, all such outputs are known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import Any

import hush
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.textbook import TextbookLaplace, TextbookPiecewise

TITLE = "The attack on floating point"
PAPER = "beyond"
INPUTS = (0.0, 1.0)
SEED = 1  # of what is attacked, not of hush
DRAWS, DRAWS_QUICK = 40_000, 8_000
TEXTBOOK = "textbook, floats"
HUSH = "hush, integers"
MECHANISMS = {"Laplace": "laplace", "PM": "piecewise", "Duchi": "duchi", "HM": "hybrid", "minimax": "minimax"}


TEXTBOOKS: dict[str, type[TextbookLaplace] | type[TextbookPiecewise]] = {
    "Laplace": TextbookLaplace,
    "PM": TextbookPiecewise,
}


@dataclass(frozen=True)
class Subject:
    """What is audited."""

    mechanism: str
    maker: str
    epsilon: float
    draws: int


def audited(subject: Subject) -> Row:
    """Return what an audit proves, by the values of outputs and by low bits; and the share of impossible outputs."""
    randomiser, possible = (_textbook if subject.maker == TEXTBOOK else _of_hush)(subject)
    result = hush.audit(randomiser, INPUTS, epsilon=subject.epsilon, possible=possible, draws=subject.draws)
    by_kind = {kind: [a.lower for a in result.attacks if a.kind == kind] for kind in ("values", "low bits")}
    shares = [item.count / item.draws for item in result.impossible]
    return {
        "values": max(by_kind["values"]),
        "low bits": max(by_kind["low bits"], default=None),
        "lower": max(attack.lower for attack in result.attacks),
        "impossible": max(shares, default=None),
        "passed": result.passed,
    }


def _textbook(subject: Subject) -> tuple[Any, Any]:
    """Return the mechanism in floats, and for PM whether an output is possible for an input."""
    mechanism, rng = TEXTBOOKS[subject.mechanism](subject.epsilon), random.Random(SEED)  # noqa: S311
    return partial(mechanism.draw, rng=rng), getattr(mechanism, "possible", None)


def _of_hush(subject: Subject) -> tuple[Any, Any]:
    """Return what a device sends, and whether the exact law of an input has an output."""
    schema = hush.Schema([hush.Numeric("x", -1, 1)])
    plan = hush.design(schema, subject.epsilon, numeric=MECHANISMS[subject.mechanism])
    channel = plan.channel("x")
    laws = {t: [channel.law(state) for state in channel.rounding([(t + 1) / 2])] for t in INPUTS}

    def randomiser(t: float) -> Any:
        return hush.randomise(plan, {"x": t}).answers[0][1]

    return randomiser, lambda output, t: any(law.get(output, 0) > 0 for law in laws[t])


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
    shares = [row["impossible"] for row in textbook if row["impossible"] is not None]
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
            "(hush) a part of the outputs of textbook PM for one input is impossible for another",
            f"{min(shares):.0%} to {max(shares):.0%} of them, in the worse direction",
            min(shares) > 0,
        ),
        Claim(
            "(hush) the same attack on hush shows no more than epsilon, and no output is impossible",
            f"{len(passed)} of {len(ours)} pass; {max(row['impossible'] or 0 for row in ours):.0%} of outputs are such",
            len(passed) == len(ours) and not any(row["impossible"] for row in ours),
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the proven bounds beside what is claimed."""
    panels = {}
    for maker in (TEXTBOOK, HUSH):
        some = [row for row in rows if row["maker"] == maker]
        claimed = [{"epsilon": e, "lower": e, "mechanism": "claimed"} for e in sorted({row["epsilon"] for row in rows})]
        panels[maker] = [*claimed, *some]
    return charts.bars(
        panels, TITLE, "epsilon", "lower", "mechanism", names=("epsilon", "proven lower bound of epsilon")
    )
