"""Naive Bayes from relations: one ordinary plan, lifts that noise does not blow up, and classes that are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hush import Categorical, DesignError, EstimateError, Integer, Numeric, Plan, Schema, SchemaError, Tally, batch
from hush.learn.bayes import NaiveBayes, one_round, usual_bands

SCHEMA = Schema([Numeric("age", 0, 96, optional=True), Categorical("town", ["a", "b", "c"])])
LABEL = Categorical("class", ["x", "y", "z"])


def crowd(n: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Three classes: one is old, one lives in town a, and one is neither; a tenth do not say their age."""
    world = np.random.default_rng(seed)
    y = world.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2])
    age = np.clip(np.where(y == "x", 65, 30) + world.normal(0, 12, n), 0, 96)
    town = np.where((y == "y") & (world.random(n) < 0.8), "a", world.choice(["b", "c"], n))
    ages = [None if missing else value for value, missing in zip(age.tolist(), world.random(n) < 0.1, strict=True)]
    return {"age": ages, "town": town}, y


def test_one_ordinary_plan_asks_about_each_feature_with_the_class() -> None:
    plan = one_round(SCHEMA, LABEL, 1.0, title="classes")
    assert plan.k == 1
    assert [tuple(view.of[0] for view in question.views) for question in plan.questions] == [
        ("age", "class"),
        ("town", "class"),
    ]
    assert Plan.from_json(plan.to_json()) == plan  # privacy is checked again


def test_bands_are_public_rules() -> None:
    assert usual_bands(Numeric("n", 0, 64)) == [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0]
    assert usual_bands(Integer("n", 0, 3)) == [0.0, 1.0, 2.0]


def test_classes_are_found_from_one_report_of_each_person() -> None:
    """At epsilon 4, 20,000 people; a constant is right for half of them. Only the noise differs between runs: in 30 of
    them the share was between 0.863 and 0.872, so one below 0.75 is 50 standard deviations off (far below 1e-6). The
    twin's labels are shuffled, and it is no better than the constant."""
    (some, y), (other, truth) = crowd(20_000, 1), crowd(4_000, 2)
    plan = one_round(SCHEMA, LABEL, 4.0)
    model = NaiveBayes(batch.collect(plan, {**some, "class": y}), "class")
    assert np.mean(model.predict(other) == truth) > 0.75
    chances = model.predict_proba(other)
    assert chances.shape == (4_000, 3)
    assert np.allclose(chances.sum(axis=1), 1.0)
    twin = NaiveBayes(batch.collect(plan, {**some, "class": np.random.default_rng(1).permutation(y)}), "class")
    assert np.mean(twin.predict(other) == truth) < 0.6


def test_noise_alone_gives_lifts_near_one() -> None:
    """Few people at a small epsilon: whatever they report, no lift is extreme.

    A lift is at most 1 + z, where z is how many standard errors a cell lies above its expectation. One of the 48 cells
    is beyond 9 with a chance below 1e-16. Lifts from raw margins reached 10 in a third of all trials.
    """
    (some, y), plan = crowd(300, 1), one_round(SCHEMA, LABEL, 0.1)
    for _ in range(20):
        model = NaiveBayes(batch.collect(plan, {**some, "class": y}), "class")
        for lifts in model.lifts.values():
            assert np.isfinite(lifts).all()
            assert (lifts > 0).all()
            assert lifts.max() < 10


def test_one_row_is_predicted_as_its_table_says() -> None:
    (some, y), plan = crowd(2_000, 1), one_round(SCHEMA, LABEL, 4.0, bands={"age": [20, 40]})
    model = NaiveBayes(batch.collect(plan, {**some, "class": y}), "class")
    for age, place in ((20.0, 0), (20.5, 1), (40.0, 1), (96.0, 2), (None, 3)):
        expected = np.log(model.shares * model.lifts["age"][place] * model.lifts["town"][1])
        np.testing.assert_allclose(model.scores({"age": [age], "town": ["b"]})[0], expected)


def test_bad_requests_are_refused_in_words() -> None:
    for label in (Numeric("class", 0, 1), Categorical("class", [0, 1], optional=True)):
        with pytest.raises(DesignError, match="a category that everybody has"):
            one_round(SCHEMA, label, 1.0)  # type: ignore[arg-type]
    with pytest.raises(DesignError, match="must not be one of the features"):
        one_round(SCHEMA, Categorical("town", ["a", "b"]), 1.0)
    with pytest.raises(EstimateError, match="needs a Tally"):
        NaiveBayes(None, "class")  # type: ignore[arg-type]
    tally = Tally(one_round(SCHEMA, LABEL, 1.0))
    with pytest.raises(EstimateError, match="nobody has answered"):
        NaiveBayes(tally, "class")
    with pytest.raises(EstimateError, match="must be a category"):
        NaiveBayes(tally, "age")
    with pytest.raises(SchemaError, match="weather"):
        NaiveBayes(tally, "weather")
