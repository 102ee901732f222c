"""The rules that choose rounds, steps and thresholds, against their formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from hush.core.design.joint import cube
from hush.learn.rules import (
    LONGEST,
    MAX_ROUNDS,
    MIN_ROUNDS,
    PATH,
    rounds_for,
    schedule,
    selection_threshold,
    sigma_of,
    theorem_step,
)


def test_more_people_make_more_rounds() -> None:
    counts = [rounds_for(n, 90, 1.0) for n in (1, 5, 50, 10**4, 10**5, 10**6, 10**7, 10**9)]
    assert counts == sorted(counts)
    assert counts[:3] == [1, 5, MIN_ROUNDS]
    assert counts[-1] == MAX_ROUNDS


def test_more_dimensions_and_less_epsilon_make_fewer_rounds() -> None:
    by_size = [rounds_for(10**6, d, 1.0) for d in (2, 10, 50, 100, 500, 1000)]
    assert by_size == sorted(by_size, reverse=True)
    by_epsilon = [rounds_for(10**6, 90, epsilon) for epsilon in (0.1, 0.5, 1.0, 1.5, 2.0, 4.0)]
    assert by_epsilon == sorted(by_epsilon)
    assert by_epsilon[-1] == by_epsilon[-2]  # beyond 2 the noise no longer falls like 1/epsilon


def test_a_group_has_of_order_d_log_d_over_epsilon_squared_people() -> None:
    """Where the limits do not bind, people / rounds over d log d / epsilon^2 is the same constant, up to rounding."""
    constants = []
    for d in (20, 50, 100, 400):
        for epsilon in (0.5, 1.0, 2.0):
            size = d * math.log(d) / epsilon**2
            rounds = rounds_for(round(3000 * size), d, epsilon)
            assert MIN_ROUNDS < rounds < MAX_ROUNDS
            constants.append(3000 / rounds)
    assert max(constants) / min(constants) < 1.02


@pytest.mark.parametrize(("d", "group", "epsilon"), [(10, 1000.0, 1.0), (90, 50_000.0, 4.0), (1, 1.0, 0.1)])
def test_the_step_is_that_of_the_theorem(d: int, group: float, epsilon: float) -> None:
    """By coth(epsilon/2), which is (e^epsilon + 1)/(e^epsilon - 1)."""
    second_moment = d * d / group / math.tanh(epsilon / 2) ** 2 + d * (1 - 1 / group)
    assert theorem_step(d, group, epsilon) == pytest.approx(2 * math.sqrt(d) / math.sqrt(second_moment))


def test_the_threshold_of_the_selection() -> None:
    assert selection_threshold(90, 10_000, 2.0) == pytest.approx(math.sqrt(90 * math.log(90)) / (2.0 * 100))
    assert selection_threshold(90, 40_000, 2.0) == pytest.approx(selection_threshold(90, 10_000, 2.0) / 2)
    assert selection_threshold(1, 100, 1.0) == pytest.approx(math.sqrt(math.log(2)) / 10)


def test_sigma_is_the_noise_of_one_reported_sign() -> None:
    for epsilon in (1.0, 4.0):
        channel = cube(Fraction(epsilon), 64)
        assert sigma_of(epsilon, 10) ** 2 == pytest.approx(float(channel.worst_variance) / channel.sample)
    assert sigma_of(0.1, 64) == sigma_of(0.1, 3)
    assert sigma_of(0.5, 10) > sigma_of(1.0, 10) > sigma_of(4.0, 10)


@pytest.mark.parametrize("people", [1, 20, 10**3, 10**5, 10**7])
@pytest.mark.parametrize("length", [0.5, 3.0, 20.0])
def test_the_whole_path_is_limited_by_the_noise_and_each_step_by_stability(people: int, length: float) -> None:
    plan = schedule(people, 50, 1.0, curvature=0.25, length=length)
    path = PATH * math.sqrt(people) / (sigma_of(1.0, 50) * 0.25 * length**2)
    longest = max(1.0, min(LONGEST, length**2 / 4)) / (0.25 * length**2)
    assert 1 <= plan.rounds <= min(people, MAX_ROUNDS)
    assert plan.step * plan.rounds <= path * (1 + 1e-9)
    assert plan.step <= longest * (1 + 1e-9)
    assert plan.step == pytest.approx(min(longest, path / plan.rounds))
    if plan.rounds < min(people, MAX_ROUNDS):
        assert plan.step * plan.rounds == pytest.approx(path)  # no path is given away while rounds are left


def test_more_rounds_are_taken_if_the_path_needs_them() -> None:
    """With 1000 features 40,000 people are one group, but the path that they allow takes 56 steps of the longest."""
    assert rounds_for(40_000, 1000, 1.0) == MIN_ROUNDS
    found = schedule(40_000, 1000, 1.0, curvature=0.25, length=1.0)
    path = 4 * PATH * math.sqrt(40_000) / sigma_of(1.0, 1000)
    assert found.rounds == math.ceil(path / 4) > MIN_ROUNDS
    assert found.step * found.rounds == pytest.approx(path)
    assert found.step <= 4


def test_steps_and_lengths_scale_together() -> None:
    """Long features need short steps; the number of rounds grows with the path."""
    near, far = (schedule(10**6, 50, 1.0, curvature=0.25, length=length) for length in (4.0, 8.0))
    assert near.step * near.rounds == pytest.approx(4 * far.step * far.rounds)
    assert schedule(10**6, 50, 1.0, curvature=0.5, length=4.0).step < near.step
