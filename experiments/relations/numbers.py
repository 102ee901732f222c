"""Relations and ranges of numbers: ten associations of five numbers, and the whole distribution of three."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from statistics import NormalDist

import numpy as np

import hush
from experiments.relations import people
from experiments.reproduce.population import Array, Population
from experiments.surveys import survey
from hush.server.relations.bivariate import both_below
from hush.server.relations.tree import Tree, fitted

NAMES = list(people.NUMBERS)
PAIRS = list(combinations(NAMES, 2))
RANGES = ("age", "income", "hours")
EM_BINS = 64
SLOW = 4  # runs of what takes long


@dataclass(frozen=True)
class Associations:
    """Surveys about all associations."""

    data: str
    n: int
    epsilon: float
    runs: int


@dataclass(frozen=True)
class Ranges:
    """Surveys about the range of a number."""

    data: str
    number: str
    n: int
    epsilon: float
    runs: int


@lru_cache(maxsize=8)
def associations(epsilon: float) -> hush.Plan:
    """Return the plan of all associations."""
    cuts = {name: [cut] for name, cut in people.CUTS.items()}
    return hush.design(people.schema(NAMES), epsilon, relations="all", bands=cuts, singles=0.0)


def association_of(x: Array, y: Array, cuts: tuple[float, float]) -> float:
    """Return the association of everybody, by the same definition as hush's."""
    low, other = x <= cuts[0], y <= cuts[1]
    a, b = (NormalDist().inv_cdf(float(side.mean())) for side in (low, other))
    wanted, left, right = float((low & other).mean()), -1.0, 1.0
    for _ in range(50):
        middle = (left + right) / 2
        left, right = (middle, right) if both_below(a, b, middle) < wanted else (left, middle)
    return left


def associated(job: Associations, population: Population) -> dict[str, object]:
    """Return the mean standard error and the rmse over all pairs, the coverage of each survey, and one's estimates."""
    rng = np.random.default_rng([job.runs, job.n, round(job.epsilon * 100)])
    columns = population.columns
    truth = {
        pair: association_of(columns[pair[0]], columns[pair[1]], (people.CUTS[pair[0]], people.CUTS[pair[1]]))
        for pair in PAIRS
    }
    errors, squares, covered = [], [], []
    first: list[list[object]] = []
    for _ in range(job.runs):
        tally = survey(associations(job.epsilon), people.sample(population, NAMES, job.n, rng), rng)
        inside = []
        for pair, known in truth.items():
            (row,) = hush.association(tally, *pair)
            errors.append(row.stderr)
            squares.append((row.point - known) ** 2)
            inside.append(row.low <= known <= row.high)
            if len(first) < len(PAIRS):
                first.append([" and ".join(pair), known, row.point, row.low, row.high])
        covered.append(float(np.mean(inside)))
    return {
        "stderr": float(np.mean(errors)),
        "rmse": float(np.sqrt(np.mean(squares))),
        "coverage": covered,
        "first": first,
    }


@lru_cache(maxsize=8)
def tree_plan(name: str, epsilon: float) -> hush.Plan:
    """Return the plan of a range alone."""
    return hush.design(people.schema([name]), epsilon, ranges=[name], singles=0.0)


def ranged(job: Ranges, population: Population) -> dict[str, float]:
    """Return the largest errors of P(x <= cut) by the tree, made nonnegative, and by EM on a window; the coverage."""
    rng = np.random.default_rng([job.runs, job.n, round(job.epsilon * 100)])
    plan = tree_plan(job.number, job.epsilon)
    alone = hush.design(people.schema([job.number]), job.epsilon)
    everybody = population.columns[job.number].astype(float)
    found: dict[str, list[float]] = {"tree": [], "nonnegative": [], "EM": []}
    inside, margins = [], []
    for run in range(job.runs):
        sample = people.sample(population, [job.number], job.n, rng)
        rows = hush.below(tally := survey(plan, sample, rng), job.number)
        cuts = np.array([row.cut for row in rows])
        truth = np.searchsorted(np.sort(everybody), cuts, side="right") / len(everybody)
        points = np.array([row.point for row in rows])
        found["tree"].append(float(np.abs(points - truth).max()))
        if run < SLOW:
            found["nonnegative"].append(float(np.abs(nonnegative(fitted(tally, job.number)) - truth).max()))
        guess = hush.distribution(survey(alone, sample, rng), job.number, bins=EM_BINS)
        read = np.interp(cuts, guess.edges, np.concatenate([[0], np.cumsum(guess.shares)]))
        found["EM"].append(float(np.abs(read - truth).max()))
        inside += [row.low <= known <= row.high for row, known in zip(rows, truth, strict=True)]
        margins.append((rows[len(rows) // 2].high - rows[len(rows) // 2].low) / 2)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    return means | {"coverage": float(np.mean(inside)), "margin": float(np.median(margins))}


def nonnegative(tree: Tree) -> Array:
    """Return the shares below all cuts by the best fit of nonnegative bands to all questions (biased)."""
    from scipy.optimize import nnls

    bands = len(tree.known) + 1
    matrix, wanted = [np.full((1, bands), 1e4)], [np.array([1e4])]  # all bands add up to 1
    for one, places in zip(tree.levels, tree.places, strict=True):
        edges = [0, *(place + 1 for place in places), bands]
        sums = np.zeros((len(edges) - 1, bands))
        for band, (low, high) in enumerate(pairwise(edges)):
            sums[band, low:high] = 1
        weight = np.sqrt(one.n * (one.law.p - one.law.q) ** 2 / (one.law.q * (1 - one.law.q)))
        matrix.append(weight * sums)
        wanted.append(weight * np.array(one.points))
    shares, _ = nnls(np.concatenate(matrix), np.concatenate(wanted), maxiter=20 * bands)
    return np.cumsum(shares)[:-1]
