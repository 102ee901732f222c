"""The operator's overview: the budget of a person, the size of the store, and for admins alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush.collector.http.operating import budget
from hush.collector.http.security import hashed
from hush.collector.stores.base import HeldPlan
from tests.collector.served import anybody, serving

SCHEMA = hush.Schema([hush.Categorical("c", ["a", "b"])])
ONE, TWO, HALF = (hush.design(SCHEMA, epsilon, title=f"costs {epsilon}") for epsilon in (1.0, 2.0, 0.5))


def test_the_budget_is_that_of_all_open_plans() -> None:
    assert budget([HeldPlan(ONE), HeldPlan(TWO), HeldPlan(HALF)]) == Fraction(7, 2)
    assert budget([HeldPlan(ONE), HeldPlan(TWO, open=False), HeldPlan(HALF)]) == Fraction(3, 2)
    assert budget([]) == 0


@pytest.mark.parametrize("after", [ONE, TWO])
def test_of_a_pilot_and_its_second_plan_the_dearer_one_counts(after: hush.Plan) -> None:
    second = replace(HALF, after=after.id)
    assert budget([HeldPlan(after), HeldPlan(second)]) == after.cost
    assert budget([HeldPlan(after, open=False), HeldPlan(second)]) == HALF.cost
    assert budget([HeldPlan(after), HeldPlan(second), HeldPlan(HALF)]) == after.cost + HALF.cost


def test_it_is_for_admins(tmp_path: Path) -> None:
    settings = anybody(tokens={"read": frozenset([hashed("reader")]), "admin": frozenset([hashed("chief")])})
    with serving(tmp_path, settings, plans=(ONE, TWO), trainings={}) as served:
        assert served.client.get("/overview").status_code == 401
        assert served.client.get("/overview", headers={"Authorization": "Bearer reader"}).status_code == 403
        found = served.client.get("/overview", headers={"Authorization": "Bearer chief"})
        assert found.headers["cache-control"] == "no-store"
        document = found.json()
        assert [entry["id"] for entry in document["plans"]] == [ONE.id, TWO.id]
        assert (document["budget"], document["waiting"]) == (3.0, 0)
        assert document["storage"] >= 4096
