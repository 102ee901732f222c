"""The experiment in learning: its people, its yardstick, and a tiny run of all of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import cached, census, few_dimensions, learning, learning_charts, privunit
from hush import Features
from hush.learn.simulate import LogisticRegression

ROOT = Path(__file__).parent.parent.parent
# Two-sided, for a false alarm of 1e-6 in all: each of d coordinates is held to 1e-6/d.
DIMENSIONS = 12
LIMIT = 5.8


def test_the_synthetic_people_have_the_shape_of_a_census() -> None:
    people = census.synthetic(30_000)
    assert len(people) == 30_000
    assert len(people.schema) == 15
    assert len(Features(people.schema).names) == 90
    assert sorted(len(a.labels) for a in people.schema.attributes if hasattr(a, "labels")) == [
        2, 2, 2, 5, 5, 7, 9, 14, 24, 25,
    ]  # fmt: skip
    low, high = people.bounds
    assert low <= people.income.min() < np.median(people.income) < people.income.mean() < people.clip < high
    assert 0.25 < np.mean(people.income > people.income.mean()) < 0.4
    schooling = people.columns["schooling"].astype(float)
    assert np.corrcoef(schooling, np.log(people.income + 1))[0, 1] > 0.2


def test_a_seed_makes_the_same_people() -> None:
    first, second, third = census.synthetic(2000, 1), census.synthetic(2000, 1), census.synthetic(2000, 2)
    assert all(np.array_equal(first.columns[name], second.columns[name]) for name in first.columns)
    assert np.array_equal(first.income, second.income)
    assert not np.array_equal(first.income, third.income)


def test_people_are_dealt_without_testing_those_who_train() -> None:
    people = census.synthetic(1000)
    people.columns["id"] = np.arange(1000)
    for repetition in range(10):
        job = learning.Job("synthetic", 1000, "linear", "hush", 1.0, 0, repetition)
        (train, _), (test, _) = learning.dealt(people, job)
        assert sorted([*train["id"], *test["id"]]) == list(range(1000))


def test_microdata_are_read_from_a_folder(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"age": np.arange(50) % 90, "sex": np.arange(50) % 2 + 1, "pay": np.arange(50) * 100})
    pq.write_table(table, tmp_path / "people.parquet")
    chosen = {
        "file": "people.parquet",
        "target": "pay",
        "numeric": ["age"],
        "categorical": ["sex"],
        "bounds": {"age": [0, 90], "pay": [0, 5000]},
        "categories": {"sex": 2},
    }
    (tmp_path / "column_sets.json").write_text(json.dumps({"small": chosen}))
    people = census.microdata(tmp_path, "small", 4000.0)
    assert len(people) == 50
    assert not np.array_equal(people.income, np.sort(people.income))  # shuffled, rows still together
    assert np.array_equal(people.columns["age"] % 2 + 1, people.columns["sex"])
    assert people.bounds == (0, 5000)


# -- PrivUnit


def worst_z(mechanism: privunit.PrivUnit, scale: float = 1.0) -> float:
    """Return the largest z of 40,000 reports of one vector, with outputs multiplied by `scale`."""
    n = 40_000
    u = np.arange(1.0, mechanism.d + 1)
    u /= np.linalg.norm(u)
    found = scale * mechanism.means(np.tile(u, (n, 1)).astype(np.float32), np.random.default_rng(5))
    # Coordinates of V/m have a second moment between that inside and outside of the cap: 1/m^2 bounds it from above,
    # and 1/(d m^2) is its average.
    sigma = 1.15 / (mechanism.m * math.sqrt(mechanism.d * n))
    return float(np.max(np.abs(found - u)) / sigma)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_privunit_is_unbiased(epsilon: float) -> None:
    assert worst_z(privunit.best(DIMENSIONS, epsilon)) < LIMIT


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_wrong_scale_is_caught(epsilon: float) -> None:
    assert worst_z(privunit.best(DIMENSIONS, epsilon), 1.15) > LIMIT


@pytest.mark.parametrize("d", [5, 91])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_privunit_spends_epsilon_and_no_cap_is_better(d: int, epsilon: float) -> None:
    best = privunit.best(d, epsilon)
    assert best.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert 0 < best.m < 1
    for gamma in (0.5 * best.gamma, 1.5 * best.gamma):
        q = 1 - privunit.PrivUnit(d, gamma, 0.5).outside
        p = math.exp(epsilon) * q / (math.exp(epsilon) * q + 1 - q)
        assert privunit.PrivUnit(d, gamma, p).m < best.m


def test_models_train_by_privunit() -> None:
    generator = np.random.default_rng(2)
    x = generator.uniform(-1, 1, (20_000, 3))
    y = np.where(x[:, 0] > 0, 1, -1)
    model = privunit.by_privunit(LogisticRegression)(8.0, random_state=1, progress=False).fit(x, y)
    assert np.mean(model.predict(x) == y) > 0.9


# -- the run


def test_a_tiny_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "CACHE", tmp_path)
    monkeypatch.setattr(few_dimensions, "REPETITIONS", 1)
    monkeypatch.setattr(learning, "STEPS", 1e5)  # whether it converges is not what is tested here
    short = {
        name: replace(learning.ALL[name], options=learning.ALL[name].options | {"rounds": 2})
        for name in ("HM", "hush", "PrivUnit", "hush, no pilot")
    }
    monkeypatch.setattr(learning, "ALL", short)
    monkeypatch.setattr(learning, "METHODS", {name: short[name] for name in ("HM", "hush", "PrivUnit")})
    monkeypatch.setattr(learning, "ABLATIONS", {"hush, no pilot": short["hush, no pilot"]})
    settings = learning.Settings(3000, 2000, 2, (1.0,), (1, 2), (600,))
    results: dict[str, Any] = learning.compute(iter([census.synthetic(3000)]), settings, 1)
    kept = len(list(tmp_path.glob("*.json")))
    methods = {row["method"] for row in results["rows"]}
    assert methods == {"constant", "non-private", "HM", "hush", "PrivUnit", "hush, no pilot"}
    assert all(row["repetitions"] == 2 and 0 <= row["error"] < math.inf for row in results["rows"])
    assert len(results["verdicts"]) == 7  # three models twice, one for everybody alone
    assert {row["d"] for row in results["few"]} == {1, 2}
    again = learning.compute(iter([census.synthetic(3000)]), settings, 1)
    assert again == results  # all of it from the cache
    assert len(list(tmp_path.glob("*.json"))) == kept
    learning_charts.draw(results, tmp_path / "images", [*learning.METHODS], learning.UNCLIPPED, learning.EPSILONS)
    assert (tmp_path / "images" / "learning.svg").read_text().startswith("<svg")


def test_the_kept_results_are_complete() -> None:
    stored = json.loads(learning.RESULTS.read_text(encoding="utf-8"))
    for data in ("synthetic", *census.SETS):
        rows = [row for row in stored["rows"] if row["data"] == data]
        brief = data in learning.BRIEF
        expected = {*learning.EVERYBODY} if brief else {*learning.ALL}
        assert {row["method"] for row in rows} == {*expected, *learning.CLEAR}
        assert {row["epsilon"] for row in rows if row["method"] == "hush"} == ({1.0} if brief else {*learning.EPSILONS})
        assert all(row["repetitions"] >= 3 for row in rows if row["method"] != "Laplace")
    assert {row["people"] for row in stored["few"]} == set(learning.Settings().few)
