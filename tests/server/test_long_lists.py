"""Estimates of long lists: the fast reading is the general one, and points out the largest shares."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import pytest

import hush
from hush.core.plan import Plan, Question
from hush.device.randomise import randomise_from
from hush.errors import EstimateError, TallyError
from hush.planning import predictions
from hush.server import estimates, manipulations
from hush.server.changes import comparable
from hush.server.estimates import Estimate
from hush.show.rows import Row
from hush.testing import SeededCoins
from tests.cases import small_geometry


def small_plan() -> Plan:
    schema = hush.Schema(
        [hush.Categorical("c", [f"v{i}" for i in range(18)], optional=True), hush.Categorical("b", ["x", "y"])]
    )
    questions = (
        Question(("c",), small_geometry(Fraction(2), 19, 4, 3)),
        Question(("b",), hush.design(hush.Schema(schema.attributes[1:]), 2.0).questions[0].channel),
    )
    return Plan(schema, Fraction(2), 1, questions)


def small_tally(n: int = 3000) -> hush.Tally:
    plan, coins = small_plan(), SeededCoins(1)
    tally = hush.Tally(plan)
    for i in range(n):
        record = {"c": None if i % 10 == 0 else f"v{i % 3}", "b": "xy"[i % 2]}
        tally.add(randomise_from(coins, plan, record))
    return tally


def by_the_general_way(tally: hush.Tally, **options: object) -> list[Estimate]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "long_lists", lambda _: [])
        return list(hush.estimate(tally, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("simultaneous", [False, True])
def test_shares_are_those_of_the_general_way(simultaneous: bool) -> None:
    tally = small_tally()
    assert list(hush.estimate(tally, simultaneous=simultaneous)) == by_the_general_way(tally, simultaneous=simultaneous)
    empty = hush.Tally(tally.plan)
    assert str(hush.estimate(empty)) == str(hush.Estimates(by_the_general_way(empty), level=0.95))


def test_the_paper_estimator_reads_them_too() -> None:
    tally = small_tally()
    assert list(hush.estimate(tally, estimator="paper")) == by_the_general_way(tally, estimator="paper")
    assert list(hush.estimate(tally, estimator="paper")) != list(hush.estimate(tally))


@pytest.mark.parametrize("module", [manipulations, predictions])
def test_one_category_stands_for_all(module: ModuleType) -> None:
    """Bounds on liars and predictions are made once for a long list, and are those that every category would have."""
    tally = small_tally()

    def rows() -> list[Row]:
        if module is predictions:
            return [*hush.predict(tally.plan, 5000)]
        return [
            *manipulations.leverage(tally.plan),
            *hush.manipulation(tally, 7),
            *hush.manipulation(tally, 7, estimator="paper"),
        ]

    fast = rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "long_lists", lambda _: [])
        slow = rows()
    for one, other in zip(fast, slow, strict=True):
        numbers = [[value for value in vars(row).values() if isinstance(value, float)] for row in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)
        assert (one.attribute, one.category) == (other.attribute, other.category)
    assert len(manipulations.levers(tally.plan)) == len(manipulations.shifts(tally, 7)) == 1 + 2
    assert len(predictions.prospects(tally.plan)) == 1 + 2


def test_guesses_tell_categories_apart() -> None:
    rows = hush.predict(small_plan(), 5000, guesses={"c": {"v1": 0.5}})
    errors = {row.category: row.stderr for row in rows if row.attribute == "c"}
    assert errors["v0"] == errors["v2"] != errors["v1"]


def test_a_search_keeps_the_shares_of_names_with_a_text() -> None:
    tally = small_tally()
    every = [row for row in hush.estimate(tally, simultaneous=True) if row.category is not None]
    found = hush.estimate(tally, simultaneous=True, search="V1")
    assert list(found) == [row for row in every if "v1" in str(row.category)]
    assert len(found) == 9  # v1 and v10 to v17
    assert (
        list(hush.estimate(tally, search="V1", top=2, simultaneous=False))
        == sorted(hush.estimate(tally, search="v1"), key=lambda row: -row.point)[:2]
    )
    assert [row.category for row in hush.estimate(tally, search="x")] == ["x"]
    assert list(hush.estimate(tally, search="nowhere")) == []
    for wrong in ("", 1):
        with pytest.raises(EstimateError, match="search must be a text"):
            hush.estimate(tally, search=wrong)  # type: ignore[arg-type]


def test_totals_that_were_read_are_used() -> None:
    tally = small_tally()
    totals = estimates.read_totals(tally)
    assert list(totals) == [0]
    wanted = estimates.Wanted(simultaneous=True, top=4)
    assert estimates.chosen(tally, wanted, totals) == hush.estimate(tally, top=4)
    other = {0: [*reversed(totals[0])]}
    assert estimates.chosen(tally, wanted, other) != hush.estimate(tally, top=4)


LONG = hush.Schema(
    [hush.Categorical("page", hush.Listed([f"page {i}" for i in range(5000)])), hush.Categorical("b", ["x", "y"])]
)


def test_only_some_shares_of_a_very_long_list_are_made() -> None:
    plan = hush.design(LONG, 2.0)
    tally = hush.Tally(plan)
    for i in range(300):
        tally.add(hush.randomise(plan, {"page": f"page {i}", "b": "x"}))
    rows = estimates.chosen(tally, estimates.Wanted(most=7))
    assert [row.attribute for row in rows] == ["page"] * 7 + ["b"] * 2
    assert list(rows.of("page")) == list(hush.estimate(tally, top=7, simultaneous=False).of("page"))
    assert comparable(plan, plan) == (["page", "b"], [])
    assert {row.attribute for row in hush.change(tally, tally, attributes=["b"], simultaneous=True)} == {"b"}


@pytest.fixture(scope="module")
def weeks() -> tuple[hush.Tally, hush.Tally]:
    """Two weeks, in plans of different costs: page 7 falls, page 4000 is new, and page 9 stays."""
    found = []
    for plan, shares in (
        (hush.design(LONG, 4.0), {"page 7": 0.6, "page 9": 0.4}),
        (hush.design(LONG, 3.0, title="again"), {"page 7": 0.2, "page 9": 0.4, "page 4000": 0.4}),
    ):
        tally = hush.Tally(plan)
        for page, share in shares.items():
            for _ in range(round(2500 * share)):
                tally.add(randomise_from(COINS, plan, {"page": page, "b": "x"}))
        found.append(tally)
    return found[0], found[1]


COINS = SeededCoins(12)


def test_the_largest_shares_of_long_lists_are_compared(weeks: tuple[hush.Tally, hush.Tally]) -> None:
    """The intervals hold for 5,000 pages at once, at a level of 1 - 1e-6: that is the probability of a false alarm."""
    rows = hush.change(*weeks, level=1 - 1e-6, simultaneous=True, top=5)
    pages = {str(row.category): row for row in rows if row.attribute == "page"}
    assert 5 <= len(pages) <= 10
    told = {name: row.told for name, row in pages.items() if row.told}
    assert told == {"page 7": "down", "page 4000": "up"}
    assert pages["page 7"].low <= -0.4 <= pages["page 7"].high
    assert pages["page 9"].low <= 0 <= pages["page 9"].high
    # As all shares one by one: the estimates are those of `estimate`.
    for tally, side in zip(weeks, ("before", "after"), strict=True):
        for row in hush.estimate(tally, search="page 4000"):
            assert getattr(pages["page 4000"], side) == row.point
    assert hush.change(*weeks, level=1 - 1e-6, top=5) == rows
    assert str(rows).count("hold together") == 1
    each = hush.change(*weeks, attributes=["page"], top=5, simultaneous=False)
    assert all(one.high - one.low < pages[str(one.category)].high - pages[str(one.category)].low for one in each)


def test_a_search_compares_what_it_finds(weeks: tuple[hush.Tally, hush.Tally]) -> None:
    rows = hush.change(*weeks, attributes=["page"], search="PAGE 400")
    assert next(row.category for row in rows) == "page 4000"
    assert {row.category for row in rows} == {"page 400", *(f"page 400{i}" for i in range(10))}
    for wrong in ({"top": 0}, {"top": True}, {"search": ""}):
        with pytest.raises(EstimateError):
            hush.change(*weeks, **wrong)


def test_intervals_hold_the_shares() -> None:
    """3,000 people and a level of 1 - 4e-8 for each of 19 shares: a false alarm has a probability below 1e-6."""
    rows = hush.estimate(small_tally(), level=1 - 4e-8).of("c")
    truth = {"v0": 0.3, "v1": 0.3, "v2": 0.3, hush.MISSING: 0.1}
    for row in rows:
        assert row.low <= truth.get(str(row.category), 0.0) <= row.high


def test_the_top_shares_come_first() -> None:
    tally = small_tally()
    every, top = hush.estimate(tally), hush.estimate(tally, top=3)
    assert [row.attribute for row in top] == ["c", "c", "c", "b", "b"]
    points = sorted((row.point for row in every.of("c")), reverse=True)
    assert [row.point for row in top.of("c")] == points[:3]
    for wrong in (0, -1, True, 1.5, "3"):
        with pytest.raises(EstimateError, match="top must be"):
            hush.estimate(tally, top=wrong)  # type: ignore[arg-type]


def test_intervals_of_the_top_shares_hold_together() -> None:
    """They were chosen because they are large: intervals of their own would be too narrow. Others must be asked for."""
    tally = small_tally()
    together, each = (hush.estimate(tally, simultaneous=both) for both in (True, False))
    wide, narrow = ({row.category: row for row in rows.of("c")} for rows in (together, each))
    top = hush.estimate(tally, top=3)
    assert all(row == wide[row.category] != narrow[row.category] for row in top.of("c"))
    alone = hush.estimate(tally, top=3, simultaneous=False)
    assert all(row == narrow[row.category] for row in alone.of("c"))
    assert hush.estimate(tally) == each
    assert [rows.simultaneous for rows in (top, alone, each)] == [True, False, False]
    assert [str(rows).count("hold together") for rows in (top, top.of("c"), alone, each)] == [1, 1, 0, 0]


def test_tallies_travel_and_add_up() -> None:
    tally = small_tally(200)
    assert hush.Tally.from_json(tally.to_json()) == tally
    assert hush.Tally.decode(tally.plan, tally.encode()) == tally
    assert (tally + tally).reports == 400
    assert sum([tally, tally]) == tally + tally
    more = tally.copy()
    more.update([])
    assert more == tally
    with pytest.raises(TallyError):
        hush.Tally.from_json(tally.to_json().replace('"counts":[[', '"counts":[[-1,'))
    with pytest.raises(TallyError):
        hush.Tally.decode(tally.plan, tally.encode() + b"\0")


def test_a_tally_of_four_million_points_is_small_and_quick() -> None:
    listed = hush.Listed.from_json({"count": 3_000_000, "name": "pages.txt", "sha256": "0" * 64})  # it is not here
    plan = Plan(
        hush.Schema([hush.Categorical("page", listed)]),
        Fraction(1),
        1,
        (Question(("page",), small_geometry(Fraction(1), 3_000_000, 2, 22)),),
    )
    assert plan.questions[0].channel.alphabet.size == (1 << 22) - 1
    tally = hush.Tally(plan)
    tally.add(hush.Report(plan, bytes(16), ((0, (1 << 22) - 2),)))
    assert len(tally.encode()) < 60
    assert hush.Tally.decode(plan, tally.encode()) == tally
