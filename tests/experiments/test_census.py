"""The synthetic people: two shapes, skewed, correlated, the same for a seed."""

from __future__ import annotations

import numpy as np
import pytest

import hush
from experiments import census
from hush import Features

FEATURES = {"br": (5, 10, 90), "mx": (4, 14, 94)}


@pytest.fixture(params=sorted(FEATURES))
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_shapes_are_those_of_the_paper(shape: str) -> None:
    people = census.synthetic(20_000, shape=shape)
    numbers, categories, features = FEATURES[shape]
    kinds = [type(attribute) for attribute in people.schema.attributes]
    assert kinds == [hush.Numeric] * numbers + [hush.Categorical] * categories
    assert len(Features(people.schema).names) == features
    assert tuple(people.columns) == people.schema.names
    for attribute in people.schema.attributes:
        column = people.columns[attribute.name]
        assert len(column) == len(people) == 20_000
        if isinstance(attribute, hush.Numeric):
            assert attribute.low <= column.min() < column.max() <= attribute.high
        else:
            assert set(np.unique(column).tolist()) <= set(attribute.values)


def test_shares_are_as_declared(shape: str) -> None:
    people = census.synthetic(100_000, shape=shape)
    for name in census.SHAPES[shape].categories:
        shares = census.SHAPES[shape].shares(name)
        found = np.bincount(people.columns[name], minlength=len(shares)) / len(people)
        # Six standard errors for each of 160 shares at most: a false alarm of less than 1e-6.
        assert np.all(np.abs(found - shares) <= 6 * np.sqrt(shares / len(people)) + 1e-4), name


def test_mixtures_have_variance_one_at_most(shape: str) -> None:
    chosen = census.SHAPES[shape]
    for loadings, _ in chosen.categories.values():
        assert len(loadings) == len(chosen.hidden)
        assert np.square(loadings).sum() <= 1


def test_income_is_skewed(shape: str) -> None:
    people = census.synthetic(50_000, shape=shape)
    low, high = people.bounds
    assert low <= people.income.min() < np.median(people.income) < 0.8 * people.income.mean()
    assert people.income.mean() < 0.05 * high
    assert 0.25 < np.mean(people.income > people.income.mean()) < 0.4
    assert 0.98 < np.mean(people.income <= people.clip) < 1


def test_attributes_hang_together() -> None:
    people = census.synthetic(50_000, shape="mx")

    def correlation(one: str, other: str) -> float:
        columns = people.columns | {"income": people.income}
        return float(np.corrcoef(columns[one].astype(float), columns[other].astype(float))[0, 1])

    assert correlation("hours", "weeks") > 0.8
    assert correlation("hours", "income") > 0.3
    assert correlation("schooling", "income") > 0.2
    assert correlation("age", "persons") < -0.3
    assert correlation("birthplace", "language") > 0.2
    idle = people.columns["hours"] == 0
    assert 0.35 < idle.mean() < 0.45
    assert np.mean(people.columns["worker"][idle] == 0) > 2 * np.mean(people.columns["worker"][~idle] == 0)
    assert np.all(people.income[~idle] > 0)
    assert 0.2 < np.mean(people.income[idle] == 0) < 0.35


def test_a_seed_makes_the_same_people(shape: str) -> None:
    first, second, third = (census.synthetic(2000, seed, shape) for seed in (1, 1, 2))
    assert all(np.array_equal(first.columns[name], second.columns[name]) for name in first.columns)
    assert np.array_equal(first.income, second.income)
    assert not np.array_equal(first.income, third.income)


def test_the_people_of_the_kept_results_are_still_the_same() -> None:
    people = census.synthetic(1000)
    assert people.columns["schooling"][:8].tolist() == [16, 9, 16, 14, 6, 8, 15, 16]
    assert people.columns["age"][:8].tolist() == [38, 68, 46, 39, 84, 36, 56, 34]
    assert people.income[:4] == pytest.approx([203330, 80650, 216860, 208140], rel=1e-3)


def test_names_say_which() -> None:
    assert [census.synthetic(10, shape=shape).name for shape in ("br", "mx")] == ["synthetic", "synthetic, mx"]
    with pytest.raises(ValueError, match="shape must be one of br, mx"):
        census.synthetic(10, shape="fr")
