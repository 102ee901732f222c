"""The rules that choose rounds, steps and thresholds, against their formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import hush
from hush.core.design.directions import direction, noise_of
from hush.core.training.courses import Wishes
from hush.core.training.directions import noise
from hush.core.training.losses import LOSSES, loss_named
from hush.core.training.training import Training
from hush.server.pilot import Pilot
from hush.server.rules import (
    FEW,
    FIRM,
    FLATTEST,
    LEAST_ROUNDS,
    LONGER,
    MAX_ROUNDS,
    MIN_ROUNDS,
    MOST_ROUNDS,
    PATH,
    planned,
    rounds_for,
    schedule,
    selection_threshold,
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


def test_noise_is_that_of_the_channel() -> None:
    for epsilon in (1.0, 16.0):
        assert noise_of(epsilon, 10) == noise(direction(Fraction(epsilon), 64))
    assert noise_of(0.1, 64) == noise_of(0.1, 3)
    assert noise_of(0.5, 10) > noise_of(1.0, 10) > noise_of(4.0, 10)


LONG = 2 * FEW


@pytest.mark.parametrize("people", [1, 20, 10**3, 10**5, 10**7])
@pytest.mark.parametrize("reach", [0.5, 3.0, 20.0])
def test_the_whole_path_is_limited_by_the_noise(people: int, reach: float) -> None:
    plan = schedule(people, 50, 1.0, curvature=0.25, reach=reach, length=LONG)
    assert plan.path == pytest.approx(min(PATH * math.sqrt(people / noise_of(1.0, 50)) / reach, MOST_ROUNDS))
    assert plan.rounds == min(people, max(LEAST_ROUNDS, math.ceil(plan.path)))
    assert plan.step * plan.rounds * 0.25 == pytest.approx(LONGER * plan.path)


def test_a_step_stays_stable_for_any_number_of_people() -> None:
    for people in (10**5, 10**8, 10**12):
        for length in (1.0, 0.0):  # of features in which a pilot saw no spread
            plan = schedule(people, 50, 8.0, curvature=0.25, reach=1.0, length=length, flat=0.1)
            assert plan.rounds <= MOST_ROUNDS
            assert plan.step * 0.25 <= LONGER * (1 + 1e-12)


def test_squares_have_more_rounds_and_the_same_path() -> None:
    for people in (10, 10**3, 10**5, 10**7):
        usual, firm = (
            schedule(people, 50, 1.0, curvature=2.0, reach=4.0, length=LONG, firm=firm) for firm in (False, True)
        )
        assert firm.path == usual.path
        assert firm.rounds == min(people, max(LEAST_ROUNDS, min(MOST_ROUNDS, math.ceil(FIRM * firm.path))))
        assert firm.step * firm.rounds == pytest.approx(usual.step * usual.rounds)


def test_given_rounds_change_the_step_and_not_the_path() -> None:
    some, few = (schedule(10**5, 50, 1.0, curvature=0.5, reach=2.0, length=LONG, rounds=rounds) for rounds in (40, 4))
    assert (some.rounds, few.rounds) == (40, 4)
    assert some.path == few.path
    assert few.step == pytest.approx(10 * some.step)


def test_short_features_and_a_flat_start_make_the_path_longer() -> None:
    def path(length: float, flat: float) -> float:
        return schedule(10**5, 50, 1.0, curvature=0.25, reach=2.0, length=length, flat=flat).path

    usual = path(LONG, 1.0)
    assert path(FEW, 1.0) == usual
    assert path(FEW / 3, 1.0) == pytest.approx(3 * usual)
    assert path(LONG, 0.5) == pytest.approx(2 * usual)
    assert path(FEW / 2, FLATTEST) == path(FEW / 2, 0.01) == pytest.approx(2 * usual / FLATTEST)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_training_starts_on_the_curvature_of_its_label(loss: str) -> None:
    """The rare class counts for the logistic loss with an intercept alone: the others have the same curvature there."""
    schema = hush.Schema([hush.Numeric(f"x{i}", -1, 1) for i in range(40)])
    kind = loss_named(loss)
    target = hush.Categorical("y", ["no", "yes"]) if kind.classes else hush.Numeric("y", -1, 1)
    steps = {}
    for mean in (0.0, 0.6, 0.999):
        for intercept in (True, False):
            draft = Training("t", loss, schema, target, 1.0, 20, 1.0, intercept=intercept)
            found = Pilot((0.0,) * 40, (1.0,) * 40, mean, 6.0, kind.slope_at_zero, 1000)
            plan = planned(draft, 100_000, found, Wishes())
            steps[mean, intercept] = plan.step * plan.rounds
    flat = {mean: steps[mean, True] / steps[0.0, True] for mean in (0.6, 0.999)}
    assert flat == pytest.approx({0.6: 1 / 0.64, 0.999: 1 / FLATTEST} if loss == "logistic" else {0.6: 1, 0.999: 1})
    assert steps[0.6, False] == steps[0.0, False]
    usual = PATH * math.sqrt(100_000 / noise_of(1.0, 41)) / (0.7 * 6.0)  # for every loss
    assert steps[0.0, True] * kind.curvature == pytest.approx(LONGER * usual)


def test_the_curvature_at_the_start_is_that_of_the_loss() -> None:
    """By differences of its slope, at the score with which a training begins."""
    for name in ("logistic", "squared"):
        loss = loss_named(name)
        for mean in (-0.9, -0.3, 0.0, 0.5):
            score, h = loss.constant(mean), 1e-5
            found = (loss.slope(score + h, 1.0) - loss.slope(score - h, 1.0)) / (2 * h)
            assert loss.curved(mean) == pytest.approx(found, rel=1e-6)
            assert loss.curved(mean) <= loss.curvature
