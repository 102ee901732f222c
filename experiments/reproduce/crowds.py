"""Shuffled crowds: the error under a central promise of (1, 1e-6), beside local epsilon 1 and a trusted server.

Everything is done as in a real collection, by the batch engine: design, randomise, tally, estimate. People are drawn
anew in each run. *Noise* is the distance from the truth about these very people. Sampling alone is the distance of that
truth from the population. The local epsilon is at most 6 (the default), or as large as the central promise permits. A
trusted server would see the records, and add Laplace's or normal noise to their average: its error is computed. In the
last rows a relay adds reports of its own, and nothing is assumed of other people. Verdicts follow from the exact
variances of the channels, with which all measured errors must agree.

The targets for the shares of 16 categories: each has 1/16 of the people (*even*), and half of the people have one of
them (*half*), the others are even, and one has nobody. [Hide in a crowd](shuffle.md) has the figures in a table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import hush
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row
from hush import batch
from hush.core.blanket import blanket_of
from hush.core.design import design as design_local
from hush.device.coins import SystemCoins
from hush.planning.shuffle.searches import sensitivity
from hush.server.estimates import unbounded
from hush.server.tally import with_own

TITLE = "Shuffled crowds"
PAPER = "beyond"
SURVEYS = "2,000 runs with up to 100,000 people, 200 with 1,000,000"
CENTRAL, DELTA = 1.0, 1e-6
NUMBERS = (1_000, 10_000, 100_000, 1_000_000)
MOST = 16.0  # a local epsilon as large as the central promise permits
USUAL = 6.0
ANSWERS = 200_000_000  # in all runs of a setting: 200 runs of 1,000,000 people
RUNS = 2000
CATEGORIES = 16
OWN = 150
OWN_LOCAL = 4.0
MEANS, SHARES = 1 / 10, 1 / 15
PLACES = 200  # of a number, for averages over a uniform population
AGREE = 4.5  # standard errors between a measured error and the exact one, at most, of dozens

LOCAL, FREE, CAPPED, RELAY = "local", "shuffled", "shuffled, local at most 6", "own reports of a relay"
GAUSSIAN, LAPLACE, SAMPLING = "trusted server, Gaussian", "trusted server, Laplace", "sampling alone"
POPULATIONS = {"number": ("uniform",), "one of 16": ("even", "half"), "yes or no": ("even",)}


@dataclass(frozen=True)
class Survey:
    """Runs with n people of a population, under a plan of a given epsilon; and a relay's own reports."""

    kind: str
    population: str
    n: int
    epsilon: float
    runs: int
    own: int = 0


@dataclass(frozen=True)
class Wish:
    """A plan for a central promise."""

    kind: str
    crowd: int | None
    own: int | None
    local: float


def schema(kind: str) -> hush.Schema:
    """Return the question."""
    if kind == "number":
        return hush.Schema([hush.Numeric("x", -1, 1)])
    return hush.Schema([hush.Categorical("x", range(CATEGORIES if kind == "one of 16" else 2))])


def people(kind: str, population: str, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Draw people."""
    if kind == "number":
        return rng.uniform(-1, 1, n)
    return rng.choice(len(shares(kind, population)), n, p=shares(kind, population))


def shares(kind: str, population: str) -> list[float]:
    """Return the share of each category."""
    if kind == "yes or no":
        return [0.5, 0.5]
    if population == "even":
        return [1 / CATEGORIES] * CATEGORIES
    return [0.5, *([0.5 / (CATEGORIES - 2)] * (CATEGORIES - 2)), 0.0]


def targets(kind: str, population: str) -> dict[str, list[int]]:
    """Return the rows of an estimate that a target is about."""
    if kind == "number":
        return {"mean": [0]}
    if kind == "yes or no":
        return {"share of 1/2": [0]}
    if population == "even":
        return {"share of 1/16": [*range(CATEGORIES)]}
    return {"share of 1/2, among 16": [0], "share of nobody, among 16": [CATEGORIES - 1]}


def chosen(wish: Wish) -> dict[str, float]:
    """Return the local epsilon of a plan for the central promise."""
    plan = hush.design(
        schema(wish.kind), central=CENTRAL, delta=DELTA, crowd=wish.crowd, own=wish.own, local=wish.local
    )
    return {"epsilon": plan.epsilon}


def measured(job: Survey) -> dict[str, list[float]]:
    """Return the mean squares of noise and of sampling for every target, with their standard errors."""
    plan = design_local(schema(job.kind), job.epsilon)
    rng = np.random.default_rng([job.n, round(1000 * job.epsilon), job.own, len(job.population)])
    goals = targets(job.kind, job.population)
    squares: dict[str, list[float]] = {goal: [] for goal in goals}
    sampled: dict[str, list[float]] = {goal: [] for goal in goals}
    for _ in range(job.runs):
        values = people(job.kind, job.population, job.n, rng)
        tally = batch.tally(plan, batch.randomise(plan, pa.table({"x": values})))
        if job.own:
            added, blanket, coins = hush.Tally(plan), blanket_of(plan), SystemCoins()
            added.update(hush.Report(plan, bytes(16), blanket.draw(coins)) for _ in range(job.own))
            tally = with_own(tally + added, job.own)
        points = [row.point for row in unbounded(tally)]
        if job.kind == "number":
            truths, known = [float(values.mean())], [0.0]
        else:
            known = shares(job.kind, job.population)
            truths = (np.bincount(values, minlength=len(known)) / job.n).tolist()
        for goal, indexes in goals.items():
            squares[goal].append(float(np.mean([(points[i] - truths[i]) ** 2 for i in indexes])))
            sampled[goal].append(float(np.mean([(truths[i] - known[i]) ** 2 for i in indexes])))
    return {
        goal: [*_root(squares[goal]), *_root(sampled[goal])] for goal in goals
    }  # the root of a mean square, and its standard error


def _root(squares: list[float]) -> tuple[float, float]:
    """Return the root of the mean, and its standard error to first order."""
    mean = float(np.mean(squares))
    error = float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) if len(squares) > 1 else math.nan
    return math.sqrt(mean), error / (2 * math.sqrt(mean)) if mean else 0.0


def compute(bench: Bench) -> list[Row]:
    """Return errors for every target, number of people and way."""
    numbers = NUMBERS[1:3] if bench.settings.quick else NUMBERS
    part = bench.settings.runs / 100
    wishes = {}
    for kind in POPULATIONS:
        for n in numbers:
            wishes[kind, n, FREE] = Wish(kind, n, None, MOST)
            wishes[kind, n, CAPPED] = Wish(kind, n, None, USUAL)
        wishes[kind, numbers[0], RELAY] = Wish(kind, None, OWN, OWN_LOCAL)
    found = bench.run("plans for crowds", list(dict.fromkeys(wishes.values())), chosen)
    jobs: dict[tuple[str, str, int, str], Survey] = {}
    for kind, populations in POPULATIONS.items():
        for population in populations:
            for n in numbers:
                runs = max(4, round(min(RUNS, ANSWERS // n) * part))
                epsilons = {LOCAL: CENTRAL, **{way: found[wishes[kind, n, way]]["epsilon"] for way in (FREE, CAPPED)}}
                for way, epsilon in epsilons.items():
                    jobs[kind, population, n, way] = Survey(kind, population, n, epsilon, runs)
                epsilon = found[wishes[kind, numbers[0], RELAY]]["epsilon"]
                jobs[kind, population, n, RELAY] = Survey(kind, population, n, epsilon, max(4, runs // 2), OWN)
    results = bench.run("crowds", list(dict.fromkeys(jobs.values())), measured)
    rows = []
    for (kind, _, n, way), job in jobs.items():
        for goal, (noise, error, sampled, other) in results[job].items():
            known = None if job.own else exact(job, goal)
            rows.append(_row(goal, n, way, job.epsilon, noise, error, job.runs) | {"exact": known})
            if way == LOCAL:
                rows.append(_row(goal, n, SAMPLING, None, sampled, other, job.runs))
                for server, sd in trusted(kind, n).items():
                    rows.append(_row(goal, n, server, None, sd, None, None))
    return rows


def exact(job: Survey, goal: str) -> float:
    """Return the noise to expect, from the variances of the channel."""
    channel = design_local(schema(job.kind), job.epsilon).questions[0].channel
    if job.kind == "number":
        places = [Fraction(2 * i + 1, PLACES) - 1 for i in range(PLACES)]
    else:
        held = shares(job.kind, job.population)
        places = [Fraction(held[i]).limit_denominator(1000) for i in targets(job.kind, job.population)[goal]]
    known = {place: float(channel.variance(place)) for place in set(places)}
    return math.sqrt(sum(known[place] for place in places) / len(places) / job.n)


def trusted(kind: str, n: int) -> dict[str, float]:
    """Return the standard deviations of a server that sees all records and adds noise to their average.

    One record that is replaced moves a mean on [-1, 1] by 2/n, the share of a yes by 1/n, and two of 16 shares by 1/n
    each.
    """
    moved = {"number": (2 / n, 2 / n), "yes or no": (1 / n, 1 / n), "one of 16": (math.sqrt(2) / n, 2 / n)}
    furthest, sum_of = moved[kind]
    return {GAUSSIAN: furthest / sensitivity(CENTRAL, DELTA), LAPLACE: math.sqrt(2) * sum_of / CENTRAL}


def _row(
    target: str, n: int, way: str, epsilon: float | None, error: float, stderr: float | None, runs: int | None
) -> Row:
    return {
        "target": target,
        "people": n,
        "way": way,
        "epsilon": epsilon,
        "error": error,
        "stderr": stderr,
        "runs": runs,
    }


def error(rows: list[Row], target: str, n: int, way: str) -> tuple[float, float]:
    """Return an error and its standard error."""
    (row,) = (row for row in rows if (row["target"], row["people"], row["way"]) == (target, n, way))
    return float(row["error"]), float(row["stderr"] or 0)


def gain(rows: list[Row], target: str, n: int, way: str = FREE) -> tuple[float, float]:
    """Return how many times smaller than at local epsilon 1 the noise is, and its standard error."""
    (alone, first), (together, second) = error(rows, target, n, LOCAL), error(rows, target, n, way)
    times = alone / together
    return times, times * math.hypot(first / alone, second / together)


def promised(rows: list[Row], target: str, n: int) -> float:
    """Return how many times smaller than at local epsilon 1 the noise is by the exact variances."""
    alone, together = (
        row["exact"]
        for way in (LOCAL, FREE)
        for row in rows
        if (row["target"], row["people"], row["way"]) == (target, n, way)
    )
    return float(alone / together)


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of crowds."""
    n = 10_000

    def smaller(text: str, target: str, wanted: float, why: str) -> Claim:
        (times, noise), true = gain(rows, target, n), promised(rows, target, n)
        said = f"{times:.1f} ± {noise:.1f} times smaller; by the exact variances {true:.2f} times"
        return Claim(f"(hush) {text}", said, true >= 1 / wanted, "" if true >= 1 / wanted else why)

    numbers = sorted({row["people"] for row in rows})
    rare, server = "share of nobody, among 16", GAUSSIAN
    worst = max(error(rows, rare, m, FREE)[0] / error(rows, rare, m, server)[0] for m in numbers if m >= n)
    off = [abs(row["error"] - row["exact"]) / row["stderr"] for row in rows if row.get("exact") and row["stderr"]]
    added = {target: gain(rows, target, n, RELAY)[0] for target in ("mean", "share of 1/2")}
    others = [
        gain(rows, target, n, RELAY)[0]
        for target in dict.fromkeys(row["target"] for row in rows if row["target"] not in added)
    ]
    return [
        smaller(
            "10,000 people, the mean of a number: the noise is at most 1/10 of that at local epsilon 1",
            "mean",
            MEANS,
            "the local epsilon is too small",
        ),
        smaller("the share of a category that nobody has, among 16: at most 1/15", rare, SHARES, "as above"),
        smaller("shares of 1/16: at most 1/15", "share of 1/16", SHARES, "as above"),
        smaller(
            "the share of a yes: at most 1/15",
            "share of 1/2",
            SHARES,
            "the proof for yes or no is the loosest: no proof can be better by more than a factor of 1.43 in epsilon",
        ),
        smaller(
            "the share of a category that half of the people have, among 16: at most 1/15",
            "share of 1/2, among 16",
            SHARES,
            "its noise comes from the many people who have the category, and 1 in 17 of their answers is another",
        ),
        Claim(
            "(hush) measured errors are those of the exact variances",
            f"at most {max(off):.1f} standard errors apart in {len(off)} settings",
            max(off) <= AGREE,
        ),
        Claim(
            "(hush) from 10,000 people on, the share of nobody is within 15 % of a trusted server with normal noise",
            f"at most {worst:.2f} times its error",
            worst <= 1.15,
        ),
        Claim(
            f"(hush) {OWN} reports of a relay, a local epsilon of at most 4 and nobody else honest, with 10,000 people "
            "a mean and the share of a yes have at most 1/4 of the noise at local epsilon 1",
            f"{added['mean']:.1f} and {added['share of 1/2']:.1f} times smaller; shares among 16, for which these "
            f"reports permit a smaller local epsilon, {min(others):.1f} to {max(others):.1f} times",
            min(added.values()) >= 4,
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw errors against the number of people: of a mean, and of a share."""
    ways = (LOCAL, FREE, CAPPED, SAMPLING, GAUSSIAN, LAPLACE)
    panels = {
        target: [
            {"people": row["people"], "way": row["way"], "error": row["error"]}
            for row in rows
            if row["target"] == target and row["way"] in ways
        ]
        for target in ("mean", "share of 1/16")
    }
    return charts.lines(
        panels,
        "Error under a central promise of (1, 1e-6)",
        "people",
        "error",
        "way",
        names=("people", "error"),
        order=ways,
        log=(True, True),
    )
