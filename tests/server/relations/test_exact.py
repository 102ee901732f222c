"""Variances and fits are what they are said to be: against enumeration of all reports, and against generic solvers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hush
from hush.core.channels import Cells, Channel, Output, Rows, State, Subset, Unary
from hush.core.design.categorical import oue, subset
from hush.core.design.groups import rows
from hush.core.plan import Question
from hush.core.views import Bands
from hush.server.relations.bivariate import both_below, given, slope
from hush.server.relations.crosstabs import tabulated
from hush.server.relations.groups import grouped
from hush.server.relations.sets import law_of, sums
from hush.server.relations.tree import fitted
from tests.server.relations.crowds import expected, shares

HALF = 1 << 63
CHANNELS: list[Channel] = [
    Subset(4, 2, HALF + (1 << 62)),
    Subset(5, 1, HALF),
    Subset(3, 2, HALF + (1 << 62)),
    Cells((2, 3), 2, HALF),
    Cells((2, 2), 1, HALF),
    Rows(3, 2, 4, 2, HALF + (1 << 62)),
    Rows(4, 2, 3, 1, HALF),
    Rows(2, 1, 4, 2, HALF + (1 << 62)),
    oue(Fraction(1), 3),
]


def members(channel: Channel, output: Output) -> set[int]:
    """Return the items that a report names: categories, cells, or rows."""
    if isinstance(channel, Unary):
        assert isinstance(output, tuple)
        return {i for i in range(channel.size) if i in output}
    named = {output} if isinstance(output, int) else set(output)
    return {member // channel.group for member in named} if isinstance(channel, Rows) else named


def moments(
    law: Mapping[State, Fraction], channel: Channel, value: Callable[[Output], Fraction]
) -> tuple[Fraction, Fraction]:
    """Return the mean and the variance of a value of one report of a random person."""
    mean = square = Fraction(0)
    for state, share in law.items():
        for output, chance in channel.law(state).items():
            mean += share * chance * value(output)
            square += share * chance * value(output) ** 2
    return mean, square - mean**2


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: f"{channel.kind}")
def test_the_law_of_sets(channel: Channel) -> None:
    states = list(channel.states())
    items = 4 if not isinstance(channel, Rows) else channel.rows
    items = {"subset": getattr(channel, "size", 0), "unary": getattr(channel, "size", 0)}.get(channel.kind, items)
    items = channel.cells if isinstance(channel, Cells) else items
    weights = [Fraction((5 * i * i + 2 * i) % 7 - 2, 3) for i in range(items)]
    people = shares([1 + i * i for i in range(len(states))], [(i,) for i in range(len(states))])
    law = {states[record[0]]: share for record, share in people.items()}
    truth = [Fraction(0)] * items
    for state, share in law.items():
        assert isinstance(state, int | tuple)
        truth[state if isinstance(state, int) else state[0]] += share
    one: Any = channel.whole if isinstance(channel, Cells) else channel
    p, q = one.p, one.q
    total = sum(weights)

    def value(output: Output) -> Fraction:
        return Fraction((sum(weights[i] for i in members(channel, output)) - q * total) / (p - q))

    mean, variance = moments(law, channel, value)
    assert mean == sum(w * f for w, f in zip(weights, truth, strict=True))  # unbiased
    found = law_of(channel).variance(sums(list(map(float, weights)), list(map(float, truth))))
    assert found == pytest.approx(float(variance), rel=1e-9)


def covariance(channel: Channel, people: Mapping[State, Fraction]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the covariance of all counts of one report, by enumeration."""
    size = channel.alphabet.size
    mean, square = np.zeros(size), np.zeros((size, size))
    for state, share in people.items():
        for output, chance in channel.law(state).items():
            named = np.zeros(size)
            named[[output] if isinstance(output, int) else list(output)] = 1
            mean += float(share * chance) * named
            square += float(share * chance) * np.outer(named, named)
    return square - np.outer(mean, mean)


TABLE = hush.Schema([hush.Categorical("a", [0, 1, 2]), hush.Categorical("b", [0, 1]), hush.Categorical("c", [0, 1])])
CROWD = shares([5, 1, 0, 7, 2, 3, 1, 1, 4, 0, 2, 6], list(product((0, 1, 2), (0, 1), (0, 1))))


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("by", ["a", "b"])
def test_the_variance_of_cells_and_parts(epsilon: float, by: str) -> None:
    """A pooled cell is linear in the counts of all questions: its variance follows from their covariances."""
    plan = hush.design(TABLE, epsilon, relations="all")
    tally = expected(plan, CROWD)
    other = "b" if by == "a" else "a"
    grid = tabulated(tally, by, other)
    sizes = len(grid.first.labels), len(grid.second.labels)
    covariances = []
    for question in plan.questions:
        looks = [view.look(TABLE) for view in question.views]
        states: dict[State, Fraction] = {}
        for record, share in CROWD.items():
            (state,) = question.channel.rounding([look(record) for look in looks])
            states[state] = states.get(state, Fraction(0)) + share
        covariances.append(covariance(question.channel, states))

    def read(counts: Sequence[Sequence[float]], i: int, j: int, x: float, y: float) -> float:
        """Return cell - x*row - y*column, for any counts per answer: hush's own estimate, which is linear."""
        scaled = [[round(c * 10**12) for c in row] for row in counts]
        asked = [10**12] * len(scaled)
        moved: Any = SimpleNamespace(
            plan=plan, counts=scaled, answered=asked, answers=asked.__getitem__, among=lambda question: None
        )
        here = tabulated(moved, by, other)
        return here.points[i][j] - x * here.margins[0][i] - y * here.margins[1][j]

    base = [[count / tally.answered[q] for count in row] for q, row in enumerate(tally.counts)]
    for i, j, x, y in [(0, 0, 0.0, 0.0), (sizes[0] - 1, 1, 0.3, 0.0), (0, sizes[1] - 1, 0.0, 0.6)]:
        start = read(base, i, j, x, y)
        total = 0.0
        for q, row in enumerate(base):
            slopes = np.zeros(len(row))
            for k in range(len(row)):
                moved = [list(line) for line in base]
                moved[q][k] += 0.25
                slopes[k] = (read(moved, i, j, x, y) - start) / 0.25
            total += float(slopes @ covariances[q] @ slopes) / tally.answered[q]
        known = float(sum(p for r, p in CROWD.items() if (r["abc".index(by)], r["abc".index(other)]) == (i, j)))
        # With one person more for each cell the variance may be a little larger, and then that counts.
        assert total * (1 - 1e-6) <= grid.variance(i, j, known, x, y) <= total * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("groups", [2, 3, 4])
def test_the_covariance_of_two_groups(epsilon: float, groups: int) -> None:
    schema = hush.Schema([hush.Categorical("g", range(groups)), hush.Numeric("x", -1, 1)])
    channel = rows(Fraction(epsilon), groups, size=4)
    question = hush.core.plan.Question(("g", "x"), channel)
    plan = hush.Plan(schema, Fraction(epsilon), 1, (question,))
    ends = (0.0, 1.0, channel.grid[0][1])  # inputs that are not rounded
    people = shares([3 + 5 * i % 7 for i in range(3 * groups)], list(product(range(groups), ends)))
    found = grouped(expected(plan, people), "x", "g")
    i, j, b, c = 0, groups - 1, 0.4, -0.3
    absent, here = channel.memberships

    def parts(output: Output) -> tuple[Fraction, Fraction]:
        decoded = channel.decode(output)
        one = decoded[groups + i] - Fraction(b) * decoded[i]
        other = decoded[groups + j] - Fraction(c) * decoded[j]
        return one, other

    first = second = both = Fraction(0)
    means = [Fraction(0)] * groups
    masses = [Fraction(0)] * groups
    for record, share in people.items():
        for state, weight in channel.rounding(list(record)).items():
            means[record[0]] += share * weight * channel.truth(state)[groups + record[0]]
            masses[record[0]] += share * weight
            for output, chance in channel.law(state).items():
                one, other = parts(output)
                first += share * weight * chance * one
                second += share * weight * chance * other
                both += share * weight * chance * one * other
    x, y = float(means[i] / masses[i]), float(means[j] / masses[j])
    assert found._within(i, j, b, c, x, y) == pytest.approx(float(both - first * second), rel=1e-6)
    assert (absent, here) == (channel.presences[0], channel.presences[1])


def test_the_tree_is_the_least_squares_fit() -> None:
    schema = hush.Schema([hush.Numeric("x", 0, 1)])
    plan = hush.design(schema, 2.0, ranges={"x": 64}, singles=0.0)
    world = np.random.default_rng(3)
    asked = [900, 1700, 2500]
    counts = []
    for question, n in zip(plan.questions, asked, strict=True):
        channel = question.channel
        assert isinstance(channel, Subset)
        sets = [world.permutation(channel.size)[: channel.weight] for _ in range(n)]
        counts.append(np.bincount(np.concatenate(sets), minlength=channel.size).tolist())
    tree = fitted(hush.Tally(plan, sum(asked), asked, counts), "x")
    lines, wanted = [], []
    for level, noise in zip(tree.levels, tree._noise, strict=True):
        size = len(level.counts)
        lines.append(np.kron(np.eye(size), np.ones((1, 64 // size))) / math.sqrt(noise))
        wanted.append(np.array(level.points) / math.sqrt(noise))
    matrix, right = np.concatenate(lines), np.concatenate(wanted)
    # All bands add up to 1: Lagrange's equations.
    system = np.block([[matrix.T @ matrix, np.ones((64, 1))], [np.ones((1, 64)), np.zeros((1, 1))]])
    best = np.linalg.solve(system, np.append(matrix.T @ right, 1.0))[:64]
    assert tree.bands == pytest.approx(best.tolist(), abs=1e-9)
    twin = np.linalg.lstsq(lines[-1], wanted[-1], rcond=None)[0]  # the finest question alone
    assert np.abs(np.array(tree.bands) - twin).max() > 1e-3


@pytest.mark.parametrize("asked", [[900, 1700, 2500], [0, 1700, 2500], [900, 0, 2500], [900, 1700, 0]])
def test_the_weights_below_a_cut_are_those_of_both_passes(asked: list[int]) -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 2.0, ranges={"x": 32}, singles=0.0)
    tree = fitted(_alike(plan, asked), "x")
    zero = [[0.0] * (len(places) + 1) for places in tree.places]
    for level, row in enumerate(zero):
        for band in range(len(row)):
            unit = [list(one) for one in zero]
            unit[level][band] = 1.0
            below = np.cumsum(tree._fit(unit, 0.0))[:-1]
            assert [tree._form(cut)[level][band] for cut in range(len(tree.known))] == pytest.approx(
                below.tolist(), abs=1e-12
            )


def _alike(plan: hush.Plan, asked: list[int]) -> hush.Tally:
    """Return a tally in which all reports to a question name the same bands."""
    counts = []
    for question, n in zip(plan.questions, asked, strict=True):
        assert isinstance(question.channel, Subset)
        counts.append([n] * question.channel.weight + [0] * (question.channel.size - question.channel.weight))
    return hush.Tally(plan, sum(asked), asked, counts)


def test_a_range_of_too_many_bands_is_refused_at_once() -> None:
    """A reader could otherwise keep a server busy for minutes with a plan that another program made."""
    schema = hush.Schema([hush.Numeric("x", 0, 1)])
    for count, nested, fine in ((1024, 1, True), (2048, 1, False), (512, 9, False)):
        views = [Bands("x", tuple(i / count for i in range(1, count - skip))) for skip in range(nested)]
        questions = [Question([view], subset(Fraction(1), len(view.cuts) + 1)) for view in views]
        tally = _alike(hush.Plan(schema, Fraction(1), 1, tuple(questions)), [1] * nested)
        if fine:
            assert len(fitted(tally, "x").cuts) == count - 1
            continue
        for read in (hush.below, hush.quantiles):
            with pytest.raises(hush.EstimateError, match=r"'x': its range has too many bands"):
                read(tally, "x")
    hush.design(schema, 1.0, ranges={"x": 1024})
    with pytest.raises(hush.DesignError, match=r"'x': a range has a power of two of bands, 2 to 1024"):
        hush.design(schema, 1.0, ranges={"x": 2048})


def test_the_bivariate_normal() -> None:
    for r in (-0.999, -0.7, -0.2, 0.0, 0.4, 0.95, 0.9999):
        assert both_below(0.0, 0.0, r) == pytest.approx(0.25 + math.asin(r) / (2 * math.pi), abs=1e-12)
    assert both_below(1.0, 1.0, 0.5) == pytest.approx(0.7452035867, abs=1e-8)
    normal = NormalDist()
    assert both_below(0.3, 1.2, 1.0) == normal.cdf(0.3)
    assert both_below(0.3, -1.2, -1.0) == pytest.approx(max(0.0, normal.cdf(0.3) + normal.cdf(-1.2) - 1))
    assert both_below(0.3, 1.2, 0.0) == pytest.approx(normal.cdf(0.3) * normal.cdf(1.2))


def test_the_bivariate_normal_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for a, b, r in product((-1.5, 0.2), (-0.4, 2.0), (-0.9, -0.3, 0.6, 0.97)):
        exact = stats.multivariate_normal.cdf([a, b], cov=[[1, r], [r, 1]], abseps=1e-10, releps=1e-10)
        assert both_below(a, b, r) == pytest.approx(exact, abs=1e-8)
        step = 1e-5
        assert slope(a, b, r) == pytest.approx(
            (both_below(a, b, r + step) - both_below(a, b, r - step)) / (2 * step), rel=1e-5
        )
        ahead = both_below(a + step, b, r) - both_below(a - step, b, r)
        assert given(a, b, r) == pytest.approx(ahead / (2 * step) / NormalDist().pdf(a), rel=1e-5)
