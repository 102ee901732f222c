"""The parts of an excess: scores that err in a known way, and a small training."""

from __future__ import annotations

import numpy as np
from experiments.remainder import measure, parted

from experiments import made_up


def test_what_all_trainings_get_wrong_is_the_rest_and_what_they_get_wrong_apart_is_noise() -> None:
    """Over seeds the rest varies by .0005; a rest that was not computed, as the plain excess, is .015 off."""
    world = np.random.default_rng(1)
    x, other, *more = world.normal(size=(22, 400_000))
    truth = np.where(world.random(len(x)) < 1 / (1 + np.exp(-2 * x)), 1, -1)
    base = float(np.mean(np.where(x > 0, 1, -1) != truth))
    noisy = [x + sum(turn * one for turn, one in zip(world.normal(0, 0.07, 20), more, strict=True)) for _ in range(8)]
    alike, apart, both = (
        parted(scores, truth, base) for scores in (8 * [x + 0.3 * other], noisy, [one + 0.3 * other for one in noisy])
    )
    assert alike["value"] > 0.012
    assert apart["value"] > 0.012
    np.testing.assert_allclose(alike["rest"], alike["value"])
    assert abs(apart["rest"]) < 0.004
    assert abs(both["rest"] - alike["rest"]) < 0.004
    assert both["value"] > alike["value"] + 0.01


def test_a_small_task_has_both_parts() -> None:
    rows = measure(made_up.uniform(6_000), 5_000, (2.0,), 2, 1)
    assert [(row["data"], row["model"], row["epsilon"]) for row in rows] == [
        ("uniform", "logistic", 2.0),
        ("uniform", "svm", 2.0),
    ]
    for row in rows:
        assert 0 < row["value"] < 0.5
        assert row["rest"] < row["value"]
