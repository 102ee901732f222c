"""The naive way to a relation: two reports with half of epsilon each, multiplied; against one report of both at once.

Ten categories of five values each, evenly spread and independent, all 45 tables. Naively each person reports two of the
ten, each by the subset channel with epsilon/2. An indicator decoded from a report has mean square h if the person has
that value, and o if not. The product of two decoded indicators is unbiased for a cell with share f in a row and a
column of share g; its variance is f*h^2 + 2(g - f)*h*o + (1 - 2g + f)*o^2 - f^2. hush asks for the cell with the whole
epsilon; its variance is that which `hush.crosstab` reports for the expected counts.

Means by group go likewise: naively, a number by a window and the group by a subset with epsilon/2 each, multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np

import hush
from experiments.reproduce.population import Array
from experiments.surveys import survey
from hush.core.channels import Subset
from hush.core.design.average import average_variance, histogram
from hush.core.design.categorical import subset
from hush.core.design.groups import rows
from hush.core.design.numeric import best_average

ATTRIBUTES, SIZE = 10, 5
NAMES = [f"x{i}" for i in range(ATTRIBUTES)]
PAIRS = list(combinations(range(ATTRIBUTES), 2))
CROWD = 10**9  # people of the expected counts: rounding to whole numbers must not matter


@dataclass(frozen=True)
class Halves:
    """Surveys in both ways."""

    n: int
    epsilon: float
    runs: int


@lru_cache(maxsize=8)
def design(epsilon: float) -> hush.Plan:
    """Return the plan of all tables."""
    schema = hush.Schema([hush.Categorical(name, list(range(SIZE))) for name in NAMES])
    return hush.design(schema, epsilon, relations="all", singles=0.0)


def squares(channel: Subset) -> tuple[float, float]:
    """Return the mean square of a decoded indicator: for people who have the value, and for others."""
    p, q = float(channel.p), float(channel.q)
    return (p * (1 - q) ** 2 + (1 - p) * q**2) / (p - q) ** 2, (q * (1 - q) ** 2 + (1 - q) * q**2) / (p - q) ** 2


def naive_cell(epsilon: float) -> float:
    """Return the variance of a cell, times the people asked about its table, by the product of two reports."""
    h, o = squares(subset(Fraction(epsilon) / 2, SIZE))
    g, f = 1 / SIZE, 1 / SIZE**2
    return f * h * h + 2 * (g - f) * h * o + (1 - 2 * g + f) * o * o - f * f


def hush_cell(epsilon: float, pooled: bool) -> float:
    """Return the variance of a cell by hush's own report, times the people asked about its table."""
    plan = design(epsilon)
    asked = [CROWD] * len(plan.questions)
    counts = []
    for question in plan.questions:
        share = CROWD * Fraction(question.channel.whole.weight, SIZE**2)  # type: ignore[attr-defined]  # all are cells
        counts.append([round(share)] * SIZE**2)
    tally = hush.Tally(plan, sum(asked), asked, counts)
    return hush.crosstab(tally, NAMES[0], NAMES[1], pooled=pooled)[0].stderr ** 2 * CROWD


def naive_mean(epsilon: float) -> float:
    """Return the variance of a group's mean, times the people: number and group by reports with epsilon/2 each."""
    h, o = squares(subset(Fraction(epsilon) / 2, SIZE))
    uniform = histogram("uniform")
    number = float(average_variance(best_average(Fraction(epsilon) / 2, uniform), uniform)) + 1 / 3
    share = 1 / SIZE
    return (share * h + (1 - share) * o) * number / share**2


def hush_mean(epsilon: float) -> float:
    """Return the same by the rows channel; the mean is 0, the middle of the domain, and numbers are evenly spread."""
    channel = rows(Fraction(epsilon), SIZE)
    share = 1 / SIZE
    own = 0.0
    knots = [(float(t), float(square)) for t, square in channel.knots]
    for (left, low), (right, high) in pairwise(knots):
        own += (right - left) / 2 * (low + high) / 2
    return (share * own + (1 - share) * float(channel.elsewhere)) / share**2


def measured(job: Halves) -> dict[str, float]:
    """Return the variances by formula, and the mean squared errors of simulated surveys, times people per table."""
    rng = np.random.default_rng([job.n, job.runs, round(job.epsilon * 100)])
    errors: dict[str, list[float]] = {"naive": [], "raw": [], "pooled": []}
    truth = 1 / SIZE**2
    for _ in range(job.runs):
        people = rng.integers(0, SIZE, (ATTRIBUTES, job.n))
        tally = survey(design(job.epsilon), dict(zip(NAMES, people, strict=True)), rng)
        for pooled in (False, True):
            for one, other in PAIRS:
                found = hush.crosstab(tally, NAMES[one], NAMES[other], pooled=pooled)
                errors["pooled" if pooled else "raw"].append(
                    float(np.mean([(row.point - truth) ** 2 for row in found]))
                )
        errors["naive"] += [float(np.mean((table - truth) ** 2)) for table in products(people, job.epsilon, rng)]
    scale = job.n / len(PAIRS)
    simulated = {f"{name}, simulated": scale * float(np.mean(found)) for name, found in errors.items()}
    return simulated | {
        "naive": naive_cell(job.epsilon),
        "raw": hush_cell(job.epsilon, False),
        "pooled": hush_cell(job.epsilon, True),
        "naive mean": naive_mean(job.epsilon),
        "mean": hush_mean(job.epsilon),
    }


def products(people: Array, epsilon: float, rng: np.random.Generator) -> list[Array]:
    """Return all tables by the products of two reports with half of epsilon each."""
    channel = subset(Fraction(epsilon) / 2, SIZE)
    p, q = float(channel.p), float(channel.q)
    asked = rng.integers(0, len(PAIRS), people.shape[1])
    tables = []
    for index, pair in enumerate(PAIRS):
        who = asked == index
        values = [decoded(channel, people[attribute, who], rng) for attribute in pair]
        one, other = ((value - q) / (p - q) for value in values)
        tables.append(one.T @ other / who.sum())
    return tables


def decoded(channel: Subset, truth: Array, rng: np.random.Generator) -> Array:
    """Return which values each person's set has, as zeros and ones."""
    keys = rng.random((len(truth), channel.size))
    inside = rng.random(len(truth)) < float(channel.p)
    keys[np.arange(len(truth)), truth] = np.where(inside, -1, 2)
    ranks = np.argsort(np.argsort(keys, axis=1), axis=1)
    return (ranks < channel.weight).astype(float)
