"""The experiments on wide numbers and small crowds: exact laws, tiny runs, and estimators that are broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

from experiments.coverage import Cell
from experiments.crowds import Target
from experiments.reproduce import small, wide
from experiments.reproduce.frame import Bench, Claim, Row, Settings
from experiments.wide import people, rounds

import hush
from hush.server import estimates, intervals, ladders

TINY = Settings(runs=1, people=4000, quick=True)


def crowd(seed: int = 1, high: float = 1e6) -> people.People:
    world = np.random.default_rng(seed)
    return people.counted("people", np.concatenate([np.zeros(30), np.exp(world.normal(9, 1, 200))]), high)


# -- people and laws


def test_what_is_true_of_people() -> None:
    found = people.counted("people", np.array([5.0, -1.0, 5.0, 40.0]), 20.0)
    assert found.values.tolist() == [0, 5, 20]
    assert found.shares.tolist() == [0.25, 0.5, 0.25]
    assert found.mean == 7.5
    assert found.clipped(4.0) == 3.0
    assert found.above(5.0) == 0.25
    assert found.on(10.0).mean == 5.0
    assert [found.rank_error(x, 0.5) for x in (0.0, 3.0, 5.0, 6.0, 21.0)] == [-0.25, -0.25, 0.0, 0.25, 0.5]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_law_of_a_crowd_is_the_average_of_all_laws(epsilon: float) -> None:
    some = crowd()
    for plan in (rounds.wide_plan(some.high, epsilon), rounds.full_plan(some.high, epsilon, "minimax")):
        channel = plan.channel(rounds.NAME)
        laws = np.array([channel.likelihood(float(value / some.high)) for value in some.values])
        assert rounds.law(channel, some, some.high) == pytest.approx(some.shares @ laws, abs=1e-12)
        twin = np.array([channel.likelihood(0.9 * float(value / some.high)) for value in some.values])
        assert rounds.law(channel, some, some.high) != pytest.approx(some.shares @ twin, abs=1e-12)


@pytest.mark.parametrize("numeric", ["minimax", "hybrid"])
def test_the_error_on_the_full_range_is_that_of_estimates(numeric: str) -> None:
    """To six standard errors of 400 surveys' mean square: wrong with a probability of 1e-8."""
    some, n, runs = crowd(), 1000, 400
    plan = rounds.full_plan(some.high, 1.0, numeric)
    channel = plan.channel(rounds.NAME)
    laws = np.array([channel.likelihood(float(value / some.high)) for value in some.values])
    shares = some.shares @ laws
    squares = []
    for counts in np.random.default_rng(2).multinomial(n, shares / shares.sum(), size=runs):
        squares.append((hush.estimate(rounds.tallied(plan, counts))[0].point / some.mean - 1) ** 2)
    expected = rounds.full_error(some, some.high, 1.0, n, numeric) ** 2
    assert abs(np.mean(squares) - expected) < 6 * np.std(squares) / np.sqrt(runs)
    assert rounds.best_clip(some, some.high, 1.0, n) < np.sqrt(expected) / 3


# -- estimators that are broken


def survey(n: int = 40_000, runs: int = 60) -> dict[str, Any]:
    return rounds.measured(rounds.Surveys("test", "people", 1e6, 1.0, n, runs, ranks=True), crowd())


def test_surveys_hold_what_is_said() -> None:
    """With 60 surveys: fewer than 45 cover with a probability below 1e-6 if 93.5 % should."""
    found = survey()
    for way in ("one", "two"):
        assert found[way]["coverage"] >= 0.75
        assert found[way]["rmse"] < 0.5 * rounds.full_error(crowd(), 1e6, 1.0, 40_000)
    assert found["one"]["bounded"] >= 0.75
    assert found["two"]["narrowed"] == 1.0
    assert found["ranks"]["rank 0.5"] < 0.1


def test_intervals_that_are_too_narrow_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladders, "CHOSEN", 0.3)
    monkeypatch.setattr(intervals, "student", lambda level, freedom: 0.6)
    found = survey()
    assert found["one"]["coverage"] < 0.75
    assert found["two"]["coverage"] < 0.75


def test_a_ladder_that_does_not_clip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = survey()["one"]["rmse"]
    monkeypatch.setattr(ladders, "SURE", -1.0)
    assert survey()["one"]["rmse"] > 2 * kept


def test_a_bound_without_people_near_the_clip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def twin(fit: ladders.Fitted, level: float) -> float:
        clip = fit.places[fit.sides[0].states[fit.used(fit.sides[0])]]
        return fit.value([float(place > clip) for place in fit.places])

    monkeypatch.setattr(ladders, "_beyond", twin)
    assert survey()["one"]["bounded"] < 0.75


def test_a_way_back_is_taken_where_the_pilot_sees_too_little() -> None:
    few = people.counted("few", np.concatenate([np.zeros(970), np.full(30, 100.0)]), 1e6)
    found = rounds.measured(rounds.Surveys("test", "few", 1e6, 1.0, 5000, 10), few)
    assert found["two"]["narrowed"] == 0.0
    assert found["two"]["coverage"] > 0


# -- the figure of wide numbers


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    patch = pytest.MonkeyPatch()
    patch.setattr(people, "POINTS", 400)
    found = wide.compute(Bench(TINY, tmp_path_factory.mktemp("cache"), 1))
    patch.undo()
    return found


def changed(rows: list[Row], change: Any) -> list[Row]:
    return [row | {"value": change(row)} for row in rows]


def test_the_figure_is_whole(figure: list[Row]) -> None:
    assert {row["part"] for row in figure} == {"columns", "ranges", "anew"}
    assert {row["population"] for row in figure} >= {*people.COLUMNS, people.GAINS, people.UNIFORM, people.ZEROS}
    found = wide.claims(figure)
    assert len(found) == 9
    assert all(isinstance(claim, Claim) and claim.text.startswith("(hush)") for claim in found)


GOOD = {"one": 0.05, "two": 0.04, "full": 0.6, "HM": 0.7, "best clip": 0.03}
SHARES = {"coverage": 0.95, "bounded": 0.99, "rank 0.5": 0.01}


def good(row: Row) -> float:
    if row["population"] == people.UNIFORM and row["what"] == "rmse":
        return 0.01
    return SHARES[row["what"]] if row["what"] in SHARES else GOOD[row["way"]]


def test_claims_follow_from_rows(figure: list[Row]) -> None:
    """Each claim turns with the figures that it is about, and no other."""

    def verdicts(change: Any) -> list[bool | None]:
        return [claim.holds for claim in wide.claims(changed(figure, change))]

    assert verdicts(good) == [True] * 9
    for way, claims in (("one", {0, 2}), ("two", {1, 3})):
        worse = verdicts(lambda row, way=way: 0.2 if row["way"] == way and row["what"] == "rmse" else good(row))
        assert {index for index, holds in enumerate(worse) if not holds} == claims | ({4} if way == "two" else set())
    for what, claims in (("coverage", {5, 6}), ("bounded", {7})):
        worse = verdicts(lambda row, what=what: 0.1 if row["what"] == what else good(row))
        assert {index for index, holds in enumerate(worse) if not holds} == claims
    assert verdicts(lambda row: 0.999 if row["what"] == "coverage" else good(row))[5:7] != [True, True]
    assert verdicts(lambda row: 0.1 if row["what"] == "rank 0.5" else good(row)).index(False) == 8


def test_the_figure_can_be_drawn(figure: list[Row], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    wide.draw(figure).save(str(tmp_path / "wide.json"))


# -- small crowds


@pytest.fixture(scope="module")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    patch = pytest.MonkeyPatch()
    patch.setattr(small, "MISSING", (0.2,))
    found = small.compute(Bench(TINY, tmp_path_factory.mktemp("cache"), 1))
    patch.undo()
    return found


def test_small_crowds_are_whole(crowds: list[Row], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    assert {row["part"] for row in crowds} == {"grid", "levels", "optional", "search", "anew", "groups"}
    assert len(small.claims(crowds)) == 7
    small.draw(crowds).save(str(tmp_path / "small.json"))


def test_claims_about_small_crowds_follow_from_rows(crowds: list[Row]) -> None:
    def verdicts(change: Any) -> list[bool | None]:
        return [claim.holds for claim in small.claims(changed(crowds, change))]

    shares = {"coverage": 0.9999, "least": 0.96, "old coverage": 0.9}
    assert verdicts(lambda row: shares.get(row["what"], 1.0)) == [True] * 7
    bad = {"coverage": 0.5, "least": 0.5, "part, error": 0.001}
    assert verdicts(lambda row: bad.get(row["what"], row["epsilon"] ** 2)) == [False] * 7
    noisy = bad | {"part, error": 100.0}  # of widths that may be equal, nobody can say which is larger
    assert verdicts(lambda row: noisy.get(row["what"], row["epsilon"] ** 2))[3] is None


def test_an_interval_that_is_not_its_test_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of half the width: hush's own no longer cover whenever the test says so."""
    job = small.Crowds("grid", small.NINE[6], 2.0, 50, 300, 100)
    assert small.measured(job)["coverage"] > 0.9
    usual = intervals.bounds

    def narrow(sample: Any, level: float) -> tuple[float, float]:
        low, high = usual(sample, level)
        return sample.mean + (low - sample.mean) / 2, sample.mean + (high - sample.mean) / 2

    monkeypatch.setattr(estimates, "bounds", narrow)
    with pytest.raises(AssertionError, match="the interval and its test differ"):
        small.measured(job)


def test_a_rule_without_missing_people_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that forgets people who were not met covers 60 % of 20 answers at epsilon 8, not 94."""
    job = small.Crowds("grid", small.NINE[7], 8.0, 20, 2000, 0)
    assert small.measured(job)["coverage"] > small.LEAST
    usual = Target.covers
    monkeypatch.setattr(Target, "covers", lambda self, counts, level: usual(self, counts, level, unmet=False))
    assert small.measured(job)["coverage"] < 0.8


def test_the_rule_of_old_is_as_wide_as_it_was() -> None:
    """Empirical Bernstein's width of a crowd whose reports are all alike, by hand; never less than the normal one."""
    target, _, counts = Cell("grid", "minimax", False, 4.0, 50, small.NINE[0], runs=20).draw(np.random.default_rng(1))
    low, high = small.of_old(target, counts, small.rare(4.0), 0.95)
    mean = counts @ target.values / 50
    variance = (counts @ target.values**2 / 50 - mean**2) * 50 / 49
    log = np.log(80)
    margin = np.sqrt(2 * variance * log / 50) + 7 * np.ptp(target.values) * log / (3 * 49)
    assert high - low == pytest.approx(2 * margin)
    assert 0 < small.rare(4.0) < small.rare(1.0) < 1
