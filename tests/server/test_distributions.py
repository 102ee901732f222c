"""Remedies that are never a default: clipping, projection, distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import (
    MISSING,
    Categorical,
    Estimate,
    EstimateError,
    Estimates,
    Numeric,
    Plan,
    Schema,
    Tally,
    design,
    distribution,
    estimate,
)

SCHEMA = Schema([Numeric("x", 0, 10, optional=True), Categorical("c", list("abcd"))])


def known(rows: list[Estimate]) -> Estimates:
    return Estimates(rows, schema=SCHEMA)


def shares(points: list[float]) -> list[Estimate]:
    labels = [*"abcd"]
    return [Estimate("c", label, p, 0.1, p - 0.2, p + 0.2, 9) for label, p in zip(labels, points, strict=True)]


def test_clipping_moves_into_the_domain() -> None:
    rows = [Estimate("x", None, -3.0, 1.0, -5.0, 12.0, 9), Estimate("x", MISSING, 1.2, 0.1, 0.9, 1.4, 9)]
    clipped = known([*rows, *shares([-0.1, 0.5, 0.3, 0.3])]).clip()
    assert (clipped[0].point, clipped[0].low, clipped[0].high) == (0.0, 0.0, 10.0)
    assert (clipped[1].point, clipped[1].low, clipped[1].high) == (1.0, 0.9, 1.0)
    assert [row.point for row in clipped[2:]] == [0.0, 0.5, 0.3, 0.3]
    assert clipped[0].stderr == 1.0


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_projection_is_onto_the_simplex_and_nearest(points: list[float]) -> None:
    projected = [row.point for row in known(shares(points)).project()]
    assert min(projected) >= 0
    assert math.fsum(projected) == pytest.approx(1, abs=1e-9)
    # Optimality: the gap from point to projection is the same for all that stay positive, and no smaller elsewhere.
    gaps = [p - q for p, q in zip(points, projected, strict=True)]
    positive = [gap for gap, q in zip(gaps, projected, strict=True) if q > 1e-12]
    assert max(positive) - min(positive) < 1e-9
    assert all(gap <= max(positive) + 1e-9 for gap in gaps)


def test_projection_touches_only_categorical_points() -> None:
    rows = [Estimate("x", None, -3.0, 1.0, -5.0, 12.0, 9), Estimate("x", MISSING, 1.2, 0.1, 0.9, 1.4, 9)]
    result = known([*rows, *shares([0.7, 0.7, -0.2, -0.2])]).project()
    assert result[:2] == rows
    assert [row.point for row in result[2:]] == pytest.approx([0.5, 0.5, 0, 0])
    assert result[2].low == pytest.approx(0.5)
    assert result[2].stderr == 0.1


def test_projection_needs_all_categories_and_leaves_the_unknown() -> None:
    with pytest.raises(EstimateError, match="all of its categories"):
        known(shares([0.1, 0.2, 0.3, 0.4])[:3]).project()
    unknown = estimate(Tally(design(SCHEMA, 1.0))).project()
    assert all(math.isnan(row.point) for row in unknown)


def test_rows_without_a_schema_cannot_be_remedied() -> None:
    rows = Estimates(shares([0.1, 0.2, 0.3, 0.4]))
    for remedy in (rows.clip, rows.project):
        with pytest.raises(EstimateError, match="schema"):
            remedy()


# -- distributions


def population(rng: np.random.Generator, n: int) -> Any:
    return np.concatenate([rng.normal(2.5, 0.6, n // 2), rng.normal(7, 1, n - n // 2)]).clip(0, 10)


def simulated(plan: Plan, values: Any, missing: int = 0, people: int = 100_000) -> Tally:
    """A tally of people who are like these: their outputs are drawn by numpy from the channel's law."""
    rng = np.random.default_rng(5)
    channel: Any = plan.channel("x")
    total = np.zeros(channel.alphabet.size)
    for value in np.round(values, 1):
        total += channel.likelihood(float(value) / 10)
    if missing:
        total += missing * np.array(channel.likelihood(None))
    counts = rng.multinomial(people, total / total.sum())
    return Tally(plan, people, [people], [counts.tolist()])


@pytest.mark.parametrize(("numeric", "epsilon"), [("piecewise", 2.0), ("hybrid", 4.0), ("piecewise-sub", 3.0)])
@pytest.mark.parametrize("optional", [False, True])
def test_a_distribution_with_two_humps_is_found(numeric: str, epsilon: float, optional: bool) -> None:
    plan = design(Schema([Numeric("x", 0, 10, optional=optional)]), epsilon, numeric=numeric)
    values = population(np.random.default_rng(1), 4000)
    found = distribution(simulated(plan, values, 1500 * optional), "x", bins=20)
    assert sum(found.shares) == pytest.approx(1)
    assert (found.edges[0], found.edges[-1], len(found.edges)) == (0, 10, 21)
    truth, _ = np.histogram(values, bins=found.edges)
    distance = np.abs(np.cumsum(found.shares) - np.cumsum(truth) / len(values)).max()
    assert distance < 0.04
    for q in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert found.quantile(q) == pytest.approx(float(np.quantile(values, q)), abs=0.4)


def test_many_missing_values_do_not_disturb_the_rest() -> None:
    plan = design(Schema([Numeric("x", 0, 10, optional=True)]), 4.0, numeric="piecewise")
    found = distribution(simulated(plan, np.full(300, 7.2), 700), "x", bins=10)
    assert found.shares[7] > 0.7


def test_the_broken_twin_is_seen() -> None:
    """With the channel of another epsilon the same counts give another distribution."""
    right = design(Schema([Numeric("x", 0, 10)]), 4.0, numeric="piecewise")
    wrong = design(Schema([Numeric("x", 0, 10)]), 1.5, numeric="piecewise")
    values = population(np.random.default_rng(1), 4000)
    tally = simulated(right, values)
    size = wrong.channel("x").alphabet.size
    counts = np.interp(np.linspace(0, 1, size), np.linspace(0, 1, len(tally.counts[0])), tally.counts[0]).round()
    rough = [int(count) for count in counts]
    confused = Tally(wrong, sum(rough), [sum(rough)], [rough])
    truth, _ = np.histogram(values, bins=np.linspace(0, 10, 21))

    def distance(found: Any) -> float:
        return float(np.abs(np.cumsum(found.shares) - np.cumsum(truth) / len(values)).max())

    assert distance(distribution(tally, "x", bins=20)) < 0.04
    assert distance(distribution(confused, "x", bins=20)) > 0.04


def test_quantiles_interpolate() -> None:
    from hush import Distribution

    found = Distribution("x", (0.0, 1.0, 2.0, 4.0), (0.5, 0.0, 0.5))
    assert [found.quantile(q) for q in (0.0, 0.25, 0.5, 0.75, 1.0)] == [0.0, 0.5, 1.0, 3.0, 4.0]
    assert found.quantile(0.500001) > 2
    assert Distribution("x", (0.0, 1.0, 2.0), (0.5, 0.5 - 1e-12)).quantile(1.0) == 2.0
    with pytest.raises(EstimateError, match="from 0 to 1"):
        found.quantile(1.5)


def test_what_has_no_distribution_says_so() -> None:
    plan = design(Schema([Numeric("x", 0, 1), Numeric("y", 0, 1), Categorical("c", [1, 2])]), 0.5, numeric="hybrid")
    tally = Tally(plan, 3, [1, 1, 1], [[0, 1], [1, 0], [1, 0]])
    with pytest.raises(EstimateError, match="too little"):
        distribution(tally, "x")  # below 0.61 the hybrid mechanism is Duchi's, with two outputs
    with pytest.raises(EstimateError, match="categorical"):
        distribution(tally, "c")
    for bins in (1, 1025, 2.0):
        with pytest.raises(EstimateError, match="bins"):
            distribution(tally, "x", bins=bins)  # type: ignore[arg-type]
    with pytest.raises(EstimateError, match="nobody"):
        distribution(Tally(design(Schema([Numeric("x", 0, 1)]), 2.0)), "x")
    multi = design(Schema([Numeric("x", 0, 1), Numeric("y", 0, 1)]), 1.0, numeric="duchi-multi")
    with pytest.raises(EstimateError, match="too little"):
        distribution(Tally(multi, 1, [1], [[1, 0]]), "y")
