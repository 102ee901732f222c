"""Documents of plans whose questions share attributes and look through views."""

from __future__ import annotations

import msgspec
import pytest

import hush
from hush import Plan, Tally, design
from hush.collector.http import statements
from hush.planning.predictions import prospects
from tests.cases import RELATED, related_plan

PLANS = {
    "relations": related_plan(),
    "no singles": design(RELATED, 1.0, relations=[("edu", "region"), ("age", "hours")], singles=0),
}
RECORDS = [
    {"age": 20 + i % 60, "hours": None if i % 3 else i % 80, "edu": "school", "region": None if i % 2 else "north"}
    for i in range(60)
]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("people", [0, 60])
def test_every_document_can_be_written(name: str, people: int) -> None:
    plan: Plan = PLANS[name]
    tally = Tally(plan)
    tally.update(hush.randomise(plan, record) for record in RECORDS[:people])
    rows = hush.estimate(tally)
    statement = statements.statement(plan)
    assert [question.attributes for question in statement.questions] == [[*q.attributes] for q in plan.questions]
    assert len(statement.attributes) == len(plan.schema)
    targets = {(row.attribute, row.estimate) for row in statement.leverage}
    margins = statements.margins(tally, 0.95, [*rows], prospects(plan))
    assert {(row.attribute, row.estimate) for row in margins.margins} == targets
    moved = statements.manipulations(tally, 0.1)
    for document in (statement, margins, moved):
        assert msgspec.json.decode(msgspec.json.encode(document))


def test_a_number_that_is_seen_through_views_alone_has_no_distribution() -> None:
    """It says why, as for channels that report too little."""
    found = statements.spread(Tally(PLANS["no singles"]), "age")
    assert (found.edges, found.shares, found.answers) == ([], [], 0)
    assert "in bands or together with others only" in str(found.why)
    assert "nobody has answered" in str(statements.spread(Tally(PLANS["relations"]), "age").why)
