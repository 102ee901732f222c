"""The subset channel: every path of the sampler, and the formulas of its docstring."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest

from hush.core.channels import Subset
from hush.core.design.categorical import grr, oue, subset, total_variance
from tests.cases import EPSILONS, SMALL, branches


@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
@pytest.mark.parametrize("name", ["grr-2", "grr-5", "subset-9"])
def test_the_sampler_has_the_law_exactly(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    for state in channel.states():
        assert branches(lambda coins, state=state: channel.draw(state, coins)) == channel.law(state)  # type: ignore[misc]


def test_weight_one_is_generalised_randomised_response() -> None:
    channel = grr(Fraction(1), 7)
    law = channel.law(3)
    assert set(law) == set(range(7))
    assert float(law[3]) == pytest.approx(exp(1) / (exp(1) + 6), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 3, 4, 7, 16, 61])
def test_the_weight_has_the_least_total_variance_of_all(size: int, epsilon: Fraction) -> None:
    chosen = subset(epsilon, size)
    rivals = [Subset(size, weight, with_weight(epsilon, size, weight)) for weight in range(1, size)]
    assert total_variance(chosen) == min(map(total_variance, rivals))


def with_weight(epsilon: Fraction, size: int, weight: int) -> int:
    from hush.core.exact import exp_bounds, largest_threshold

    return largest_threshold(exp_bounds(epsilon)[0], weight, size - weight)


@pytest.mark.parametrize(("size", "epsilon", "gain"), [(2, "0.5", 3.9), (2, "1", 3.6), (4, "1", 1.75), (8, "1", 1.3)])
def test_it_beats_oue_as_the_design_says(size: int, epsilon: str, gain: float) -> None:
    e = Fraction(epsilon)
    assert total_variance(oue(e, size)) / total_variance(subset(e, size)) > gain


@pytest.mark.parametrize(("size", "weight"), [(2, 1), (3, 1), (3, 2), (4, 2), (5, 3), (6, 5)])
def test_pairs_of_categories_are_in_the_set_as_often_as_is_said(size: int, weight: int) -> None:
    """The true category and another one, and two others, by the law. Of two categories there are no two others."""
    channel = Subset(size, weight, with_weight(Fraction(2), size, weight))
    law = [(set() if isinstance(output, int) else set(output), p) for output, p in channel.law(0).items()]
    both = [sum((p for members, p in law if members.issuperset(pair)), Fraction(0)) for pair in ((0, 1), (1, 2))]
    assert channel.pairs == tuple(both)
