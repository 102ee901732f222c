"""One round and two rounds about a wide number, many times, read by hush's own estimators.

No person is simulated: n reports of people who are drawn independently from a population are a multinomial draw from
the average of the channel's laws. Between the inputs of neighbouring states a law is linear, as numbers are rounded at
random to one of both, so the average law follows from the share of people at each state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

import hush
from experiments.reproduce.population import Array
from experiments.wide.people import People
from hush.core.channels import Channel, Ladder, Window

NAME = "number"
PILOT = 0.2  # of the people answer in the first round
RANKS = (0.5, 0.9)
KNOTS = 513  # where variances are computed; between them mean squares are interpolated
CLIPS = 61  # of which the best is taken


@dataclass(frozen=True)
class Surveys:
    """So many surveys of n people from a population, on its public range; `ranks`: quantiles are read as well."""

    data: str
    people: str
    high: float
    epsilon: float
    n: int
    runs: int
    ranks: bool = False
    seed: int = 0


@lru_cache(maxsize=256)
def wide_plan(high: float, epsilon: float) -> hush.Plan:
    """Return the plan of one wide number."""
    return hush.design(hush.Schema([hush.Numeric(NAME, 0, high, out_of_range="clip", scale="log")]), epsilon)


@lru_cache(maxsize=256)
def full_plan(high: float, epsilon: float, numeric: str) -> hush.Plan:
    """Return the plan of a number on its full range."""
    schema = hush.Schema([hush.Numeric(NAME, 0, high, out_of_range="clip")])
    return hush.design(schema, epsilon, numeric=numeric)


def law(channel: Channel, people: People, high: float) -> Array:
    """Return the probability of every output for somebody drawn from a population, on the range from 0 to high."""
    assert isinstance(channel, Ladder | Window)
    if isinstance(channel, Window) and channel.levels == "even":
        points = np.arange(channel.last + 1) / channel.last
    else:
        points = np.asarray(channel.grid[0])
    u = np.clip(people.values / high, 0, 1)
    s = np.clip(np.searchsorted(points, u, side="right") - 1, 0, len(points) - 2)
    up = np.minimum((u - points[s]) / (points[s + 1] - points[s]), 1)
    states = np.bincount(s, people.shares * (1 - up), len(points)) + np.bincount(s + 1, people.shares * up, len(points))
    found = states @ _laws(channel, tuple(points.tolist()))
    return np.asarray(found / found.sum())


@lru_cache(maxsize=64)
def _laws(channel: Channel, points: tuple[float, ...]) -> Array:
    return np.array([channel.likelihood(point) for point in points])


def tallied(plan: hush.Plan, counts: Array) -> hush.Tally:
    """Return the tally of a crowd."""
    n = int(counts.sum())
    return hush.Tally(plan, n, [n], [counts.tolist()])


def measured(job: Surveys, people: People) -> dict[str, Any]:
    """Return errors, coverage and widths of one round and of two, and the errors of quantiles."""
    mean, people = people.mean, people.on(job.high)
    rng = np.random.default_rng([job.n, round(100 * job.epsilon), round(job.high), job.runs, job.seed])
    plan = wide_plan(job.high, job.epsilon)
    chances = law(plan.channel(NAME), people, job.high)
    one, two, narrowed = Seen(people, mean), Seen(people, mean), 0
    ranks: dict[float, list[float]] = {q: [] for q in RANKS}
    for counts in rng.multinomial(job.n, chances, size=job.runs):
        tally = tallied(plan, counts)
        one.add(hush.estimate(tally)[0])
        if job.ranks:
            found = hush.distribution(tally, NAME)
            for q in RANKS:
                ranks[q].append(people.rank_error(found.quantile(q), q))
    first = round(PILOT * job.n)
    for counts in rng.multinomial(first, chances, size=job.runs):
        pilot = tallied(plan, counts)
        try:
            number = hush.narrow(pilot, NAME, people=job.n - first)
        except hush.EstimateError:  # the way back: the others answer the ladder too
            rest = tallied(plan, rng.multinomial(job.n - first, chances))
            two.add(hush.estimate(pilot + rest)[0])
            continue
        narrowed += 1
        second = hush.design(hush.Schema([number]), job.epsilon, after=plan)
        shares = law(second.channel(NAME), people, number.high)
        two.add(hush.estimate(tallied(second, rng.multinomial(job.n - first, shares)))[0], number.high)
    found_ranks = {f"rank {q:g}": math.sqrt(np.mean(np.square(errors))) for q, errors in ranks.items() if errors}
    return {"one": one.summary(), "two": two.summary() | {"narrowed": narrowed / job.runs}, "ranks": found_ranks}


def held(job: Surveys, people: People) -> dict[str, float]:
    """Return how often the interval and the bound of one round hold, and the rest of its summary."""
    mean, people = people.mean, people.on(job.high)
    rng = np.random.default_rng([job.n, round(100 * job.epsilon), round(job.high), job.runs, job.seed, 1])
    plan = wide_plan(job.high, job.epsilon)
    seen = Seen(people, mean)
    for counts in rng.multinomial(job.n, law(plan.channel(NAME), people, job.high), size=job.runs):
        seen.add(hush.estimate(tallied(plan, counts))[0])
    return seen.summary()


class Seen:
    """What the estimates of many surveys were like, beside the truth; numbers beyond the range count in `mean`."""

    def __init__(self, people: People, mean: float) -> None:
        self.people, self.mean = people, mean
        self.errors: list[float] = []
        self.inside: list[bool] = []
        self.bounded: list[bool] = []
        self.widths: list[float] = []
        self.clips: list[float] = []

    def add(self, row: hush.Estimate, clip: float | None = None) -> None:
        """Add an estimate of the mean, clipped at its ceiling or in a second round at the end of its range."""
        c = row.ceiling if clip is None else clip
        assert c is not None
        self.errors.append(row.point - self.mean)
        self.inside.append(row.low <= self.people.clipped(c) <= row.high)
        self.widths.append(row.high - row.low)
        self.clips.append(c)
        if row.beyond is not None:
            self.bounded.append(self.people.above(c) <= row.beyond)

    def summary(self) -> dict[str, float]:
        """Return the error and its bias as parts of the mean, the coverage, the mean width and the median clip."""
        return {
            "rmse": math.sqrt(np.mean(np.square(self.errors))) / self.mean,
            "bias": float(np.mean(self.errors)) / self.mean,
            "coverage": float(np.mean(self.inside)),
            "bounded": float(np.mean(self.bounded)) if self.bounded else 1.0,
            "width": float(np.mean(self.widths)) / self.mean,
            "clip": float(np.median(self.clips)),
        }


def full_error(people: People, high: float, epsilon: float, n: int, numeric: str = "minimax") -> float:
    """Return the error of the mean on the range from 0 to high as a part of the mean: exactly, what it clips included.

    It is the mean square of a report for these people, from the variances of the channel, and no simulation.
    """
    t = 2 * np.minimum(people.values / high, 1) - 1
    mean = float(people.shares @ t)
    variance = (float(people.shares @ np.interp(t, *_squares(epsilon, numeric))) - mean**2) * (high / 2) ** 2
    return math.sqrt(variance / n + (people.clipped(high) - people.mean) ** 2) / people.mean


@lru_cache(maxsize=64)
def _squares(epsilon: float, numeric: str) -> tuple[Array, Array]:
    """Return inputs of a channel on [-1, 1] and the mean square of the value reported."""
    channel = full_plan(1.0, epsilon, numeric).channel(NAME)
    ends = np.concatenate([[-1.0], -1 + np.geomspace(1e-6, 2, KNOTS - 1)])  # wide numbers lie near the lower end
    ends[-1] = 1.0
    return ends, np.array([float(channel.variance(Fraction(t))) + t * t for t in ends])


def best_clip(people: People, high: float, epsilon: float, n: int) -> float:
    """Return the error if the best clip for these people were known beforehand, and all answered on that range."""
    clips = high * 2.0 ** -np.linspace(0, 15, CLIPS)
    return min(full_error(people, float(c), epsilon, n) for c in clips)


def full_rank(people: People, high: float, epsilon: float, n: int, q: float, runs: int, seed: int) -> float:
    """Return the error of a quantile from reports on the full range: hush's own distribution, in 256 bins."""
    plan = full_plan(high, epsilon, "minimax")
    chances = law(plan.channel(NAME), people, high)
    errors = []
    for counts in np.random.default_rng(seed).multinomial(n, chances, size=runs):
        found = hush.distribution(tallied(plan, counts), NAME, bins=256)
        errors.append(people.rank_error(found.quantile(q), q))
    return math.sqrt(np.mean(np.square(errors)))
