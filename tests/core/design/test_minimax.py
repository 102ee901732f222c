"""The designer: close to the limit, never worse than what it replaces, quick and the same everywhere."""

from __future__ import annotations

import json
from fractions import Fraction
from math import cosh, sinh, tanh
from pathlib import Path
from typing import Any

import pytest

from hush import DesignError, Numeric, Schema, design
from hush.core.channels import Window
from hush.core.design.average import PRIORS, average_variance, averaged, histogram
from hush.core.design.minimax import minimax
from hush.core.design.numeric import best_average, best_worst_case, duchi, hybrid, piecewise, piecewise_sub

LIMITS = json.loads((Path(__file__).parent.parent.parent.parent / "experiments" / "results" / "limit.json").read_text())
ALL = [
    Fraction(text)
    for text in ("0.1", "0.3", "0.61", "0.75", "1", "1.3", "1.7", "2", "2.2", "3", "3.7", "4.5", "5", "6", "7", "8")
]


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: f"eps={row['eps']}")
def test_the_worst_case_is_close_to_the_limit(row: dict[str, Any]) -> None:
    """Within 1 % of the linear programming limit up to eps = 6, within 2 % up to 8, rounding of inputs included."""
    channel = best_worst_case(Fraction(repr(row["eps"])))
    assert channel.size <= 128
    allowed = 1.01 if row["eps"] <= 6 else 1.02
    assert row["lower"] <= float(channel.worst_variance) <= allowed * row["limit"]


@pytest.mark.parametrize("epsilon", ALL)
def test_it_is_never_worse_than_the_known_mechanisms(epsilon: Fraction) -> None:
    ours = best_worst_case(epsilon).worst_variance
    for rival in (duchi, piecewise, piecewise_sub, hybrid):
        assert ours <= rival(epsilon).worst_variance


@pytest.mark.parametrize("epsilon", [Fraction(10), Fraction(12), Fraction(16), Fraction(1, 1000), Fraction(1, 10**6)])
def test_the_ends_of_the_range_work_too(epsilon: Fraction) -> None:
    ours = best_worst_case(epsilon)
    rivals = min(duchi(epsilon).worst_variance, piecewise_sub(epsilon).worst_variance)
    # Thresholds are multiples of 2^-40 times the cells, which is felt where epsilon itself is next to nothing.
    assert ours.worst_variance <= rivals * (
        1 + (Fraction(1, 10**6) if epsilon > Fraction(1, 10**4) else Fraction(1, 10))
    )


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_optional_attributes_are_designed_for(epsilon: str) -> None:
    e = Fraction(epsilon)
    assert minimax(e, True).optional
    assert minimax(e, True).worst_variance <= piecewise(e, True).worst_variance
    assert minimax(e, True).worst_variance <= duchi(e, True).worst_variance


def test_half_a_window_meets_its_closed_form() -> None:
    """For W = N/2 and many cells the worst variance is coth(a)/a - 1 with a = tanh(eps/2)."""
    a = tanh(0.25)
    channel = minimax(Fraction(1, 2), False, 64)
    assert channel.width == 32
    assert float(channel.worst_variance) == pytest.approx(cosh(a) / sinh(a) / a - 1, rel=3e-4)


def test_the_factor_rho_of_the_papers_estimator_changes_the_design() -> None:
    """With rho = d/k the risk is rho*E[x^2] - t^2; the design for it is better in that respect, and only in that."""
    plain, scaled = minimax(Fraction(2)), minimax(Fraction(2), False, 32, Fraction(10))

    def risk(channel: Window) -> Fraction:
        return max(10 * square - t * t for t, square in channel.knots)

    assert risk(scaled) < risk(plain)
    assert plain.worst_variance < scaled.worst_variance


def test_the_design_is_the_same_everywhere() -> None:
    """Pinned: floats are added and multiplied in a fixed order, and exponentials come from rational bounds."""
    channel = minimax(Fraction(1), False, 16)
    assert (channel.size, channel.width) == (16, 8)
    assert channel.levels == minimax.__wrapped__(Fraction(1), False, 16).levels
    assert channel.levels[8:] == PINNED


PINNED = (29171, 32745, 36760, 41254, 46340, 52006, 58383, 65536)


@pytest.mark.parametrize("size", [8, 16, 24, 40, 64])
def test_any_size_may_be_asked_for(size: int) -> None:
    channel = minimax(Fraction(3), False, size)
    assert channel.size == size
    assert channel.worst_variance < Fraction(1, 2)


# -- averages


@pytest.mark.parametrize("prior", [*PRIORS, "lower end", "ends"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "8"])
def test_a_prior_is_made_use_of(prior: str, epsilon: str) -> None:
    e = Fraction(epsilon)
    weights: Any = {"lower end": [10, 1, 1, 1], "ends": [3, 1, 1, 3]}.get(prior, prior)
    shares = histogram(weights)
    ours = average_variance(best_average(e, shares), shares)
    for rival in (piecewise(e), piecewise_sub(e), duchi(e), minimax(e)):
        assert ours <= average_variance(rival, shares)


def test_the_centre_gains_most() -> None:
    shares = histogram("centre")
    e = Fraction(4)
    assert average_variance(averaged(e, shares), shares) < Fraction(6, 10) * average_variance(minimax(e), shares)
    assert averaged(e, shares).worst_variance > minimax(e).worst_variance


def test_the_average_is_the_integral() -> None:
    """Against a sum over many points, for a prior of three bins."""
    shares = histogram([1, 2, 5])
    assert shares == (Fraction(3, 8), Fraction(1, 4), Fraction(3, 8))
    channel = minimax(Fraction(2))
    n = 3000
    total = (
        sum(float(shares[i * 3 // n] * 3) * float(channel.variance(Fraction(2 * i + 1, n) - 1)) for i in range(n)) / n
    )
    assert total == pytest.approx(float(average_variance(channel, shares)), rel=1e-4)


@pytest.mark.parametrize(
    "prior", ["gauss", [], [0, 0], [-1, 2], [float("nan")], [float("inf")], ["x"], [True], [1] * 257]
)
def test_priors_that_make_no_sense_are_refused(prior: Any) -> None:
    with pytest.raises(DesignError, match="prior"):
        histogram(prior)


def test_a_plan_takes_an_objective() -> None:
    schema = Schema([Numeric("x", 0, 1)])
    worst, centre = design(schema, 2.0), design(schema, 2.0, objective="centre")
    assert centre.channel("x").variance(0) < worst.channel("x").variance(0)
    assert design(schema, 2.0, objective=[1, 2, 1]).id != worst.id
    with pytest.raises(DesignError, match="minimax"):
        design(schema, 2.0, numeric="hybrid", objective="centre")
    with pytest.raises(DesignError, match="prior"):
        design(schema, 2.0, objective="best")
