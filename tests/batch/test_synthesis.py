"""Made-up records: they have the tables of the tally, the schema's own values, and cost nothing more."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import hush
from hush.errors import EstimateError
from tests.server.relations.crowds import expected, shares

SCHEMA = hush.Schema(
    [
        hush.Categorical("team", ["red", "green", "blue"]),
        hush.Categorical("happy", ["no", "yes"], optional=True),
        hush.Numeric("hours", 0, 40, optional=True),
        hush.Categorical("floor", [3, 1, 2]),
        hush.Categorical("shift", ["early", "late"]),
        hush.Numeric("pay", 0, 1),
    ]
)
RELATIONS = [("team", "happy"), ("team", "hours", "table"), ("happy", "hours", "table"), ("team", "floor")]
RECORDS = list(product((0, 1, 2), (0, 1, 2), (0.1, 0.5, None), (0, 1, 2), (0, 1), (0.5,)))
WEIGHTS = [1 + (5 * i * i + i) % 17 + 40 * (r[0] == r[1]) + 30 * (r[0] == r[3]) for i, r in enumerate(RECORDS)]
PEOPLE = shares(WEIGHTS, RECORDS)
MADE = 20_000


@pytest.fixture(scope="module")
def tally() -> hush.Tally:
    plan = hush.design(SCHEMA, 4.0, relations=RELATIONS, bands={"hours": [10, 30]})
    return expected(plan, PEOPLE)


@pytest.fixture(scope="module")
def records(tally: hush.Tally) -> Any:
    return hush.synthesise(tally, MADE, seed=1)


def coded(records: Any, name: str) -> np.ndarray[Any, Any]:
    """Return the place of every value among the labels; bands for hours."""
    values = records[name].to_pylist()
    if name == "hours":
        return np.array([3 if v is None else int(v > 10) + int(v > 30) for v in values])
    places = {label: place for place, label in enumerate(SCHEMA[name].labels)}  # type: ignore[union-attr]
    return np.array([places[hush.MISSING if v is None else v] for v in values])


def test_tables_are_the_consistent_ones(tally: hush.Tally, records: Any) -> None:
    """From average counts nothing is random but the rounding to whole records: no false alarm is possible."""
    for (first, second), table in hush.consistent(tally, "shrunk").tables.items():
        known = np.array(table)
        one, other = (coded(records, view.of[0]) for view in (first, second))
        found = np.bincount(one * known.shape[1] + other, minlength=known.size).reshape(known.shape) / MADE
        assert np.abs(found - known).max() < 0.004, (first.of, second.of)
        independent = np.outer(known.sum(1), known.sum(0))
        if first.of == ("team",) and second.of == ("happy",):  # records of independent columns would be caught
            assert np.abs(independent - known).max() > 0.02


def test_margins_are_the_consistent_ones(tally: hush.Tally, records: Any) -> None:
    for view, known in hush.consistent(tally, "shrunk").margins.items():
        found = np.bincount(coded(records, view.of[0]), minlength=len(known)) / MADE
        assert found == pytest.approx(known, abs=0.004), view.of


def test_values_are_those_of_the_schema(records: Any) -> None:
    assert records.num_rows == MADE
    assert records.column_names == ["team", "happy", "hours", "floor", "shift"]  # pay has neither bands nor shares
    assert set(records["happy"].to_pylist()) == {"no", "yes", None}
    assert set(records["floor"].to_pylist()) == {1, 2, 3}
    hours = [value for value in records["hours"].to_pylist() if value is not None]
    assert min(hours) >= 0
    assert max(hours) <= 40
    assert hours != [round(value) for value in hours]  # uniform within the bands
    share = np.mean([value == "late" for value in records["shift"].to_pylist()])  # in no table: from its own shares
    assert share == pytest.approx(float(sum(p for r, p in PEOPLE.items() if r[4])), abs=0.004)


def test_a_seed_makes_the_same_records(tally: hush.Tally) -> None:
    first, second, third = (hush.synthesise(tally, 500, seed=seed) for seed in (5, 5, 6))
    assert first.equals(second)
    assert not first.equals(third)
    assert hush.synthesise(tally, 1).num_rows == 1


def test_noise_and_empty_rows_do_no_harm() -> None:
    """A few people, so that shares are zero after shrinking, and a category that nobody has."""
    schema = hush.Schema([hush.Categorical("a", range(4)), hush.Categorical("b", range(3))])
    plan = hush.design(schema, 1.0, relations="all")
    everybody = {(0, 0): Fraction(1)}
    records = hush.synthesise(expected(plan, everybody, 300), 1000, seed=2)
    assert records["a"].to_pylist().count(0) > 900


def test_what_cannot_be_made_up_is_refused(tally: hush.Tally) -> None:
    plan = hush.design(SCHEMA, 1.0, relations=[("pay", "team")])
    with pytest.raises(EstimateError, match="the plan has no tables"):
        hush.synthesise(expected(plan, PEOPLE), 10)
    with pytest.raises(EstimateError, match="nobody has answered"):
        hush.synthesise(hush.Tally(tally.plan), 10)
    for people in (0, 1.5, True, 1 << 40):
        with pytest.raises(EstimateError, match="people must be a whole number"):
            hush.synthesise(tally, people)  # type: ignore[arg-type]
    for seed in (-1, 1.5, True):
        with pytest.raises(EstimateError, match="seed must be"):
            hush.synthesise(tally, 10, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(EstimateError, match="needs a Tally"):
        hush.synthesise(plan, 10)  # type: ignore[arg-type]
