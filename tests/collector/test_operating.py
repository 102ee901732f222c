"""The operator's overview: the budget of a person, the size of the store, and for admins alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush.collector.http.operating import budget
from hush.collector.http.security import hashed
from hush.collector.stores.base import HeldPlan, Live
from hush.server.step import first_round, step
from hush.server.tally import Tally
from tests.collector.served import TRAINING, anybody, serving

SCHEMA = hush.Schema([hush.Categorical("c", ["a", "b"])])
ONE, TWO, HALF = (hush.design(SCHEMA, epsilon, title=f"costs {epsilon}") for epsilon in (1.0, 2.0, 0.5))


def test_the_budget_is_that_of_all_open_plans() -> None:
    assert budget([HeldPlan(ONE), HeldPlan(TWO), HeldPlan(HALF)]) == Fraction(7, 2)
    assert budget([HeldPlan(ONE), HeldPlan(TWO, open=False), HeldPlan(HALF)]) == Fraction(3, 2)
    assert budget([]) == 0


def test_trainings_that_go_on_count_once() -> None:
    begun = first_round(TRAINING)
    over = begun
    for _ in range(TRAINING.rounds):
        over = step(over, Tally(over.plan))
    assert over.done
    assert budget([HeldPlan(ONE)], [Live(begun, 4, 0)]) == 1 + begun.plan.cost
    assert budget([HeldPlan(ONE)], [Live(over, 4, 0)]) == 1


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
        assert [(entry["role"], entry["open"], entry["tokens"]) for entry in document["access"]] == [
            ("submit", True, 0),
            ("submit-batch", True, 0),
            ("read", False, 1),
            ("admin", False, 1),
        ]
        assert hashed("reader") not in found.text
