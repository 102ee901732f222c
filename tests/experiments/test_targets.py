"""The limit of private trainings: no channel is above it, and the search for it finds what enumeration finds.

Models here have a handful of kinds of people with rational chances, so that information is a fraction: in coordinates
where the information of a person is the identity, |E[S; A]|^2 is m^T H^-1 m for the sum m of scores on A.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from experiments import information, made_up, targets

RATIO = Fraction(3)  # e^epsilon
EPSILON = math.log(3)
Vector = tuple[Fraction, ...]


@dataclass(frozen=True)
class Tiny:
    """Equally common people with two features, and the chances of their second class."""

    features: tuple[tuple[int, int], ...]
    chances: Vector

    @cached_property
    def kinds(self) -> list[tuple[Fraction, Vector]]:
        """Chance and score of each kind of person: with class 1, then with class 0."""
        people = [*zip(self.features, self.chances, strict=True)]
        first = [(p / len(people), tuple((1 - p) * z for z in person)) for person, p in people]
        return first + [((1 - p) / len(people), tuple(-p * z for z in person)) for person, p in people]

    @cached_property
    def hessian(self) -> Vector:
        """The information of a person: its first entry, the one beside it, and the last."""
        return tuple(
            sum((chance * score[i] * score[j] for chance, score in self.kinds), Fraction(0))
            for i, j in ((0, 0), (0, 1), (1, 1))
        )

    def square(self, m: Vector) -> Fraction:
        """Return m^T H^-1 m."""
        a, b, c = self.hessian
        return (c * m[0] ** 2 - 2 * b * m[0] * m[1] + a * m[1] ** 2) / (a * c - b * b)

    def column(self, q: Vector) -> tuple[Fraction, Fraction]:
        """Return the chance of a report with these chances for each kind of person, and its part of the trace."""
        kinds = self.kinds
        chance = sum((q_ * p for q_, (p, _) in zip(q, kinds, strict=True)), Fraction(0))
        m = tuple(
            sum((q_ * p * score[i] for q_, (p, score) in zip(q, kinds, strict=True)), Fraction(0)) for i in (0, 1)
        )
        return chance, self.square(m) / chance

    def trace(self, channel: list[Vector]) -> Fraction:
        """Return the trace of the information of a channel, which has a row for each report."""
        assert all(sum(column) == 1 for column in zip(*channel, strict=True))
        return sum((self.column(q)[1] for q in channel), Fraction(0))

    def patterns(self, ratio: Fraction = RATIO) -> list[Vector]:
        """Return all functions with the values 1 and the ratio."""
        size = len(self.kinds)
        return [
            tuple(ratio if bits >> kind & 1 else Fraction(1) for kind in range(size)) for bits in range(1, 2**size - 1)
        ]

    def most(self, ratio: Fraction = RATIO) -> Fraction:
        """Return B, by enumeration."""
        found = [self.column(q) for q in self.patterns(ratio)]
        return max(part / chance for chance, part in found)

    def model(self) -> information.Model:
        """Return the model whose most informative set is searched for."""
        return information.Model.of(np.array(self.features, dtype=float), np.array([float(p) for p in self.chances]))


def some(seed: int) -> Tiny:
    """Return a model at random."""
    generator = np.random.default_rng(seed)
    features = tuple((1, int(z)) for z in (-2, *generator.integers(-3, 4, 2), 3))
    return Tiny(features, tuple(Fraction(int(p), 20) for p in generator.integers(1, 20, 4)))


TINY = [some(seed) for seed in range(12)]


def responses(size: int, ratio: Fraction) -> list[Vector]:
    """Randomised response."""
    total = ratio + size - 1
    return [tuple((ratio if kind == report else Fraction(1)) / total for kind in range(size)) for report in range(size)]


def subsets(size: int, width: int, ratio: Fraction) -> list[Vector]:
    """Sets of so many kinds; those with the person's own are likelier."""
    rows = [
        tuple(ratio if kind in chosen else Fraction(1) for kind in range(size))
        for chosen in combinations(range(size), width)
    ]
    total = sum(row[0] for row in rows)
    return [tuple(value / total for value in row) for row in rows]


def mixtures(tiny: Tiny, seed: int, ratio: Fraction) -> Iterator[list[Vector]]:
    """Yield a mixture of answers whether the person is in a set, and what is left if reports of it are merged."""
    generator = np.random.default_rng(seed)
    patterns = tiny.patterns(ratio)
    chosen = [patterns[index] for index in generator.choice(len(patterns), 5)]
    weights = [Fraction(int(weight)) for weight in generator.integers(1, 10, 5)]
    rows = []
    for pattern, weight in zip(chosen, weights, strict=True):
        part = weight / sum(weights) / (ratio + 1)
        rows += [tuple(part * value for value in pattern), tuple(part * (ratio + 1 - value) for value in pattern)]
    yield rows
    yield [tuple(sum(values) for values in zip(*rows[start::3], strict=True)) for start in range(3)]


def best_channel(tiny: Tiny, ratio: Fraction) -> float:
    """Return the largest trace of all private channels, by a linear program with a column for each pattern."""
    patterns = tiny.patterns(ratio)
    parts = [float(tiny.column(q)[1]) for q in patterns]
    columns = np.array([[float(value) for value in q] for q in patterns]).T
    found = linprog([-part for part in parts], A_eq=columns, b_eq=np.ones(len(columns)))
    assert found.status == 0
    return float(-found.fun)


def channels(tiny: Tiny, ratio: Fraction = RATIO) -> Iterator[list[Vector]]:
    size = len(tiny.kinds)
    yield responses(size, ratio)
    for width in (2, size // 2):
        yield subsets(size, width, ratio)
    for seed in range(8):
        yield from mixtures(tiny, seed, ratio)


@pytest.mark.parametrize("tiny", TINY)
def test_no_private_channel_has_more_information(tiny: Tiny) -> None:
    most = tiny.most()
    for channel in channels(tiny):
        assert all(max(q) <= RATIO * min(q) for q in channel)
        assert tiny.trace(channel) <= most
    assert best_channel(tiny, RATIO) <= float(most) * (1 + 1e-9)
    assert float(most) <= information.certain(EPSILON, 2) * (1 + 1e-12)


def test_the_bound_is_nearly_reached_so_that_smaller_ones_are_caught() -> None:
    """A bound that is 10% smaller, and one with e^epsilon in the place of 1 + (e^epsilon - 1) P(A), do not hold."""
    ratio = Fraction(3, 2)
    reached = [(best_channel(tiny, ratio), tiny) for tiny in TINY]
    assert any(found > 0.9 * float(tiny.most(ratio)) for found, tiny in reached)
    for found, tiny in reached:
        broken = max(part * chance for chance, part in map(tiny.column, tiny.patterns(ratio))) / ratio**2
        assert found > float(broken)


@pytest.mark.parametrize("tiny", TINY)
def test_a_channel_that_spends_twice_epsilon_is_caught(tiny: Tiny) -> None:
    assert best_channel(tiny, RATIO**2) > float(tiny.most())
    assert max(tiny.trace(channel) for channel in channels(tiny, RATIO**4)) > tiny.most()


@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize("ratio", [Fraction(3, 2), RATIO, Fraction(8)])
def test_the_search_finds_the_maximum(tiny: Tiny, ratio: Fraction) -> None:
    found = tiny.model().search(math.log(ratio))
    most = min(float(tiny.most(ratio)), 2.0)
    assert max(found.values()) == pytest.approx(most, rel=1e-9)
    assert found["random"] == pytest.approx(most, rel=1e-9)


def test_climbing_from_one_start_can_end_below_the_maximum() -> None:
    """This is why there are many starts, and why the estimate is called a lower one."""
    ends = []
    for tiny in TINY:
        rows, chances = tiny.model().scores()
        squares, _ = information.climb(rows, chances, EPSILON, np.random.default_rng(1).normal(0, 1, (2, 40)))
        assert np.all(squares <= float(tiny.most()) * (1 + 1e-9))
        ends.append(squares.min() / float(tiny.most()))
    assert min(ends) < 0.99


@pytest.mark.parametrize("tiny", TINY[:4])
def test_without_privacy_the_information_is_that_of_the_person(tiny: Tiny) -> None:
    assert max(tiny.model().search(20.0).values()) == information.certain(20.0, 2) == 2.0
    assert tiny.most(Fraction(10**8)) > 2  # the sets alone would say more
    assert 1.999 < float(tiny.trace(responses(8, Fraction(10**8)))) <= 2


def test_the_certain_bound_is_reached_by_one_feature_and_a_rare_class() -> None:
    """The class alone, with the chance 1/(1 + e^epsilon), has the most information that there can be."""
    model = information.Model.of(np.ones((1, 1)), np.array([1 / (1 + float(RATIO))]))
    assert max(model.search(EPSILON).values()) == pytest.approx(information.certain(EPSILON, 1), rel=1e-12)
    assert information.certain(EPSILON, 1) == pytest.approx(float((RATIO - 1) ** 2 / (4 * RATIO)), rel=1e-12)


def test_scores_have_the_identity_as_covariance() -> None:
    generator = np.random.default_rng(3)
    features = generator.normal(0, 1, (500, 4)) @ generator.normal(0, 1, (4, 4))
    features = np.concatenate([features, features[:, :1]], axis=1)  # the last says nothing more
    model = information.Model.of(features, generator.uniform(0.05, 0.95, 500))
    rows, chances = model.scores()
    assert model.d == 4
    assert chances.sum() == pytest.approx(1)
    assert chances @ rows == pytest.approx(np.zeros(4), abs=1e-12)
    assert (rows * chances[:, None]).T @ rows == pytest.approx(np.eye(4), abs=1e-10)


def test_noise_has_the_covariance_of_the_limit() -> None:
    """The mean of 20,000 squares, in coordinates of variance 1: z over 7 has a chance below 1e-10 for each."""
    generator = np.random.default_rng(4)
    features = generator.normal(0, 1, (300, 3)) * [1, 5, 0.2]
    chances = generator.uniform(0.1, 0.9, 300)
    model = information.Model.of(features, chances)
    hessian = (features * (chances * (1 - chances))[:, None]).T @ features / 300
    drawn = np.array([model.noise(0.2, 1000, generator) for _ in range(20_000)])
    found = np.linalg.cholesky(hessian).T @ (drawn.T @ drawn / len(drawn)) @ np.linalg.cholesky(hessian)
    expected = 3 / (1000 * 0.2)
    far = np.abs(found - expected * np.eye(3)) / (expected * math.sqrt(2 / len(drawn)))
    assert far.max() < 7
    assert np.abs(1.1 * found - expected * np.eye(3)).max() / (expected * math.sqrt(2 / len(drawn))) > 7


# -- the run


def small(name: str) -> made_up.Task:
    return made_up.TASKS[name](2000)


def test_two_processes_measure_what_one_does() -> None:
    one = targets.measure(small("uniform"), (1.0,), None, 2, ("HM",), 1)
    two = targets.measure(small("uniform"), (1.0,), None, 2, ("HM",), 2)
    assert one == two
    assert [(row["model"], row["method"]) for row in one] == [
        (model, method) for model in ("logistic", "svm") for method in ("clear", "HM", "limit", "certain")
    ]
    limit, certain = (next(row["value"] for row in one if row["method"] == name) for name in ("limit", "certain"))
    assert 0 < certain < limit
    assert len({row["people"] for row in one}) == 1


def test_limits_alone_leave_all_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "training.json"

    def row(data: str, method: str, people: int = 3600) -> dict[str, Any]:
        return {"data": data, "people": people, "model": "logistic", "method": method, "epsilon": 1.0, "value": 9.0}

    before = [row("uniform", "HM"), row("uniform", "limit"), row("mixed", "limit"), row("uniform", "limit", 5)]
    kept.write_text(json.dumps(before), encoding="utf-8")
    monkeypatch.setattr(targets, "KEPT", kept)
    monkeypatch.setattr(targets, "PEOPLE", 3600)
    monkeypatch.setattr("sys.argv", ["targets", "--limits", "--only", "uniform", "--processes", "1"])
    targets.main()
    after = json.loads(kept.read_text(encoding="utf-8"))
    assert [after[index] for index in (0, 2, 3)] == [before[index] for index in (0, 2, 3)]
    assert after[1]["method"] == "limit"
    assert after[1]["value"] < 1
    assert {row["method"] for row in after[4:]} == {"limit", "certain"}
    monkeypatch.setattr("sys.argv", ["targets", "--only", "uniform,nobody"])
    with pytest.raises(SystemExit):
        targets.main()


def test_the_kept_limits_are_complete() -> None:
    rows = json.loads(targets.KEPT.read_text(encoding="utf-8"))
    at = {(row["data"], row["people"], row["model"], row["method"], row["epsilon"]): row for row in rows}
    for data, people, model, method, epsilon in [*at]:
        if method == "hush" and (people <= targets.PEOPLE or (data, people, model, "certain", epsilon) in at):
            limit, certain = at[data, people, model, "limit", epsilon], at[data, people, model, "certain", epsilon]
            assert certain["value"] < limit["value"] + 0.001
            assert limit["repetitions"] == certain["repetitions"] == 3
            starts = at[data, people, "logistic", "limit", epsilon]["starts"]
            found = [max(values) for values in zip(*starts.values(), strict=True)]
            assert max(found) <= math.sinh(epsilon / 2) ** 2
            assert max(found) < 1.15 * min(found)  # repetitions agree on the maximum
