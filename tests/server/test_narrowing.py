"""How a range is narrowed, in numbers: which end follows from which survivals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import hush
from hush.core.following import check_follows
from hush.server import narrowing
from hush.server.ladders import Side
from hush.server.narrowing import _end, _round, narrow
from hush.server.tally import Tally
from tests.server import test_ladders as ladders

Rungs = list[tuple[float, float]]
PRECISE = 1.5 * 800**2
"""So that 0.04 * sqrt(PRECISE / 1.5) is 32, whose power 0.4 is 4."""
CUT = 566.0  # 100 * sqrt(2) * 4 = 565.69, rounded up
TAIL = (0.04, 0.01)


@dataclass
class Fit:
    """What a tally of a ladder shows: the knots, the survivals on each side, and how many rungs are in use."""

    places: list[float]
    origin: int
    survivals: list[Rungs]
    uses: list[int]

    @property
    def sides(self) -> list[Side]:
        found = [range(self.origin, len(self.places)), range(self.origin, -1, -1)]
        return [Side(tuple(states)) for states in found if len(states) > 1]

    def rungs(self, side: Side) -> Rungs:
        return self.survivals[self.sides.index(side)]

    def used(self, side: Side) -> int:
        return self.uses[self.sides.index(side)]


def end(fit: Fit, side: int = 0, precision: float = PRECISE) -> float:
    return _end(fit, fit.sides[side], precision)  # type: ignore[arg-type]


UP = [0.0, 10.0, 100.0, 1000.0, 10_000.0]


@pytest.mark.parametrize(
    "beside",
    [
        ((0.5, 0.01), (0.04, 0.03)),  # the survival itself
        ((0.5, 0.01), (0.0, 0.16)),  # a quarter of its error
        ((0.04 * 2**2.5, 0.01), (0.3, 0.02)),  # no more than a Pareto tail of index 2.5
        ((0.04 * 2**2.5, 0.01), (0.01, 4.0)),
    ],
)
def test_the_end_follows_from_the_tail(beside: tuple[tuple[float, float], tuple[float, float]]) -> None:
    assert end(Fit(UP, 0, [[(0.9, 0.01), *beside, (0.001, 0.02)]], [2])) == CUT


def test_no_tail_is_taken_as_empty() -> None:
    fit = Fit(UP, 0, [[(0.9, 0.01), (0.5, 0.01), (0.0, 0.0), (0.0, 0.0)]], [2])
    assert end(fit, precision=1.5 * 32e9**2) == CUT  # 1e-9 * 32e9 = 32


@pytest.mark.parametrize(
    ("precision", "high"), [(PRECISE, 50 + CUT), (0.01, 150.0), (1.5 * 3666**2, 1050.0), (1e12, 1050.0)]
)
def test_the_end_is_between_the_last_rung_in_use_and_the_range(precision: float, high: float) -> None:
    fit = Fit([50.0, 60.0, 150.0, 1050.0], 0, [[(0.9, 0.01), (0.5, 0.01), TAIL]], [2])
    assert end(fit, precision=precision) == high


def test_a_bound_that_is_rounded_up_stays_in_the_range() -> None:
    """Devices refuse a second plan whose range is wider than that of the pilot."""
    places = [0.0, 10.0, 100.0, 565.9]
    survivals = [[(0.9, 0.01), (0.5, 0.01), TAIL], [(0.9, 0.01), (0.5, 0.01), TAIL]]
    assert end(Fit(places, 0, survivals[:1], [2])) == 565.9
    assert end(Fit([-place for place in places[::-1]] + places[1:], 3, survivals, [2, 2]), 1) == -565.9


def test_a_narrowed_plan_follows_the_pilot_however_many_people_there_are() -> None:
    number = hush.Numeric("income", 0, 1_234_567, scale="log")
    tally = ladders.tally_of(number, 1.0, ladders.people(10), 20_000)
    for people, high in ((10**4, 219_000), (10**6, 549_000), (10**8, 1_234_567), (10**12, 1_234_567)):
        found = narrow(tally, "income", people=people)
        assert found.high == high
        check_follows(hush.design(hush.Schema([found]), 1.0, after=tally.plan), tally.plan)


def test_each_side_has_its_end() -> None:
    both = Fit([-1000.0, -100.0, -10.0, *UP], 3, [[(0.9, 0.01)] * 4, [(0.9, 0.01), (0.5, 0.01), TAIL]], [0, 2])
    assert end(both, 1) == -CUT
    assert end(both, 0) == 0.0  # no rung is in use
    both.uses[:] = [4, 3]
    assert [end(both, 0), end(both, 1)] == [10_000.0, -1000.0]  # all are


@pytest.mark.parametrize(
    ("x", "rounded"),
    [(565.69, 566.0), (1000.0, 1000.0), (1001.0, 1010.0), (123_456.0, 124_000.0), (0.012_341, 0.0124), (9.991, 10.0)],
)
def test_bounds_have_three_digits(x: float, rounded: float) -> None:
    assert _round(x) == rounded


# -- the whole


INCOME = hush.Numeric("income", 0, 1e4, scale="log")
DEBT = hush.Numeric("debt", -1000, -10, scale="log", optional=True)
PLAN = hush.design(hush.Schema([INCOME, DEBT, hush.Categorical("c", ["a", "b"])]), 1.0, k=1)
RECORD: dict[str, Any] = {"income": 5.0, "debt": -20.0, "c": "a"}
SEEN_UP = Fit(UP, 0, [[(0.9, 0.01), (0.5, 0.01), TAIL, (0.0, 0.01)]], [2])


def tally_of(name: str, answers: int, plan: hush.Plan = PLAN) -> Tally:
    """Reports until so many people have answered about an attribute."""
    tally, index = Tally(plan), plan.question(name)
    while tally.answered[index] < answers:
        report = hush.randomise(plan, RECORD)
        if tally.answered[index] + any(question == index for question, _ in report.answers) <= answers:
            tally.add(report)
    return tally


def narrowed(
    monkeypatch: pytest.MonkeyPatch,
    fit: Fit,
    name: str = "income",
    *,
    people: int,
    answers: int = 2,
    plan: hush.Plan = PLAN,
    variance: Fraction = Fraction(1, 4),
) -> tuple[hush.Numeric, list[Any]]:
    """Narrow a number of which the pilot showed this. Return what the variance of one report was asked for, too."""
    asked: list[Any] = []

    def least(*given: Any) -> Any:
        asked.append(given)
        return SimpleNamespace(worst_variance=variance)

    tally = tally_of(name, answers, plan)
    index = plan.question(name)

    def fitted(*given: Any) -> Fit | None:
        assert given == (tally, index)
        return fit if answers >= 2 else None

    monkeypatch.setattr(narrowing, "best_worst_case", least)
    monkeypatch.setattr(narrowing, "fitted", fitted)
    return narrow(tally, name, people=people), asked


def test_the_people_and_the_noise_of_a_report_make_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of 180,000 people, and a variance of 1/16 on a range of 1: a precision of 960,000."""
    assert PLAN.inclusions[PLAN.question("income")] == Fraction(1, 3)
    found, asked = narrowed(monkeypatch, SEEN_UP, people=180_000)
    assert found == hush.Numeric("income", 0, CUT, out_of_range="clip")
    assert asked == [(Fraction(1), False)]
    both = hush.design(PLAN.schema, 8.0, k=2)
    _, asked = narrowed(monkeypatch, SEEN_UP, people=180_000, plan=both)
    assert asked == [(Fraction(4), False)]


def test_a_range_below_zero_ends_at_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The side has two knots alone."""
    below = Fit([-1000.0, -10.0], 1, [[(0.9, 0.01)]], [1])
    found, asked = narrowed(monkeypatch, below, "debt", people=10)
    assert found == hush.Numeric("debt", -1000, -10, out_of_range="clip", optional=True)
    assert asked == [(Fraction(1), True)]


def test_the_lowest_rung_of_one_side_must_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [(0.75, 0.125), (0.9, 0.01), (0.9, 0.01), (0.9, 0.01)]  # 6 standard errors, and no more
    with pytest.raises(hush.EstimateError, match="saw too little"):
        narrowed(monkeypatch, Fit(UP, 0, [few], [4]), people=10)
    assert narrowed(monkeypatch, Fit(UP, 0, [[(0.76, 0.125), *few[1:]]], [4]), people=10)[0].high == 1e4
    two = Fit([-1000.0, -10.0, *UP], 2, [[(0.9, 0.01)] * 4, [few[0], few[0]]], [4, 0])
    assert narrowed(monkeypatch, two, people=10)[0].high == 1e4


def test_how_few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = narrowed(monkeypatch, SEEN_UP, people=1, answers=2)
    assert found.high == 100.0
    for answers in (0, 1):
        with pytest.raises(hush.EstimateError, match="nobody has answered the pilot yet"):
            narrowed(monkeypatch, SEEN_UP, people=1, answers=answers)
    for people in (0, -1, 1.0, True, None):
        with pytest.raises(hush.EstimateError, match="people must be a whole number"):
            narrow(Tally(PLAN), "income", people=people)  # type: ignore[arg-type]
    with pytest.raises(hush.EstimateError, match="needs a Tally"):
        narrow(PLAN, "income", people=1)  # type: ignore[arg-type]


def test_only_wide_numbers_are_narrowed() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])]), 1.0)
    for name in ("x", "c"):
        with pytest.raises(hush.EstimateError, match=f"'{name}': only a number with scale"):
            narrow(Tally(plan), name, people=10)
