"""Everything is unbiased: from the average counts of a crowd, every estimate is the truth about it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import hush
from hush.core.views import Bands, Value
from hush.server.relations.margins import margin
from hush.server.relations.tree import fitted
from tests.server.relations.crowds import expected, shares

SCHEMA = hush.Schema(
    [
        hush.Categorical("team", ["a", "b", "c"]),
        hush.Categorical("happy", ["no", "yes"], optional=True),
        hush.Numeric("hours", 0, 40),
        hush.Numeric("pay", -1, 3),
    ]
)
RECORDS = list(product((0, 1, 2), (0, 1, 2), (0.0, 0.3, 1.0), (0.1, 0.7)))
WEIGHTS = [1 + (7 * i * i + 3 * i) % 23 for i in range(len(RECORDS))]  # skewed, and nothing independent of anything
PEOPLE = shares(WEIGHTS, RECORDS)
NEAR = 1e-9


@pytest.fixture(scope="module", params=[1.0, 3.0])
def tally(request: pytest.FixtureRequest) -> hush.Tally:
    relations = [
        ("team", "happy"),
        ("team", "hours", "means"),
        ("pay", "team", "means"),
        ("hours", "happy", "table"),
        ("hours", "pay"),
        ("hours", "pay", "moments"),
    ]
    plan = hush.design(
        SCHEMA, request.param, relations=relations, bands={"hours": [5, 20], "pay": [1]}, ranges={"hours": 64}
    )
    return expected(plan, PEOPLE)


def share(wanted: Callable[..., bool]) -> float:
    return float(sum(part for record, part in PEOPLE.items() if wanted(record)))


def mean(place: int, low: float, high: float, wanted: Callable[..., bool]) -> float:
    total = sum(part * record[place] for record, part in PEOPLE.items() if wanted(record))
    return low + (high - low) * float(total) / share(wanted)


@pytest.mark.parametrize("pooled", [False, True])
def test_cells_and_shares_of_rows_and_columns(tally: hush.Tally, pooled: bool) -> None:
    def truth(i: int, j: int, whole: Callable[..., bool] = lambda _: True) -> float:
        return share(lambda r: (r[0], r[1]) == (i, j)) / share(whole)

    places = list(product(range(3), range(3)))
    cells = hush.crosstab(tally, "team", "happy", pooled=pooled)
    assert [row.point for row in cells] == pytest.approx([truth(i, j) for i, j in places], abs=NEAR)
    rows = hush.crosstab(tally, "team", "happy", shares="rows", pooled=pooled)
    expect = [truth(i, j, lambda r, i=i: r[0] == i) for i, j in places]
    assert [row.point for row in rows] == pytest.approx(expect, abs=NEAR)
    columns = hush.crosstab(tally, "team", "happy", shares="columns", pooled=pooled)
    expect = [truth(i, j, lambda r, j=j: r[1] == j) for i, j in places]
    assert [row.point for row in columns] == pytest.approx(expect, abs=NEAR)


def test_a_table_from_the_other_side_is_turned(tally: hush.Tally) -> None:
    one, other = hush.crosstab(tally, "hours", "happy"), hush.crosstab(tally, "happy", "hours")
    found = {(row.category, row.group): row.point for row in one}
    assert found == pytest.approx({(row.group, row.category): row.point for row in other}, abs=NEAR)
    bands = [lambda u: u <= 5 / 40, lambda u: 5 / 40 < u <= 0.5, lambda u: u > 0.5]
    for row, (i, j) in zip(one, product(range(3), range(3)), strict=True):
        assert row.point == pytest.approx(share(lambda r, i=i, j=j: bands[i](r[2]) and r[1] == j), abs=NEAR)


@pytest.mark.parametrize("pooled", [False, True])
def test_means_and_differences(tally: hush.Tally, pooled: bool) -> None:
    truth = [mean(3, -1, 3, lambda r, i=i: r[0] == i) for i in range(3)]
    found = hush.means(tally, "pay", by="team", pooled=pooled)
    assert [row.point for row in found] == pytest.approx(truth, abs=1e-6)
    gaps = {"b - a": truth[1] - truth[0], "c - a": truth[2] - truth[0], "c - b": truth[2] - truth[1]}
    assert {row.group: row.point for row in found.differences()} == pytest.approx(gaps, abs=1e-6)


def test_associations(tally: hush.Tally) -> None:
    from statistics import NormalDist

    from hush.server.relations.bivariate import both_below

    low = share(lambda r: r[2] <= 0.5), share(lambda r: r[3] <= 0.5)
    both = share(lambda r: r[2] <= 0.5 and r[3] <= 0.5)
    (row,) = hush.association(tally, "hours", "pay")
    a, b = map(NormalDist().inv_cdf, low)
    assert both_below(a, b, row.point) == pytest.approx(both, abs=1e-6)


def test_moments(tally: hush.Tally) -> None:
    def average(of: Callable[[Any], Any]) -> float:
        return float(sum(part * of(r) for r, part in PEOPLE.items()))

    x, y, xy = average(lambda r: r[2]), average(lambda r: r[3]), average(lambda r: r[2] * r[3])
    xx, yy = average(lambda r: r[2] ** 2), average(lambda r: r[3] ** 2)
    truth = (xy - x * y) / ((xx - x * x) * (yy - y * y)) ** 0.5
    (row,) = hush.association(tally, "hours", "pay", method="moments")
    assert row.point == pytest.approx(truth, abs=1e-6)


def test_ranges(tally: hush.Tally) -> None:
    for row in hush.below(tally, "hours"):
        truth = share(lambda r, cut=row.cut: r[2] <= cut / 40)
        assert row.point == pytest.approx(truth, abs=1e-8), row.cut
    assert fitted(tally, "hours").bands == pytest.approx(
        [share(lambda r, i=i: i / 64 < r[2] <= (i + 1) / 64 or (i == 0 and r[2] == 0)) for i in range(64)],
        abs=1e-8,
    )


def test_margins(tally: hush.Tally) -> None:
    found = margin(tally, Value("team"))
    assert len(found.parts) == 4  # alone, in a table, and twice as groups
    assert found.points == pytest.approx([share(lambda r, i=i: r[0] == i) for i in range(3)], abs=NEAR)
    bands = margin(tally, Bands("hours", (5.0, 20.0)))
    assert bands.points[0] == pytest.approx(share(lambda r: r[2] <= 5 / 40), abs=NEAR)
