"""The list of a plan's relations has those that can be estimated, and no others."""

from __future__ import annotations

import itertools

import pytest

import hush
from hush.server.relations.related import related
from tests import relating
from tests.relating import PLAN, SCHEMA


def test_every_relation_is_listed_once() -> None:
    assert [tuple(one) for one in related(PLAN)] == list(relating.RELATIONS)


def test_listed_relations_can_be_estimated_and_no_others() -> None:
    counted = relating.tally()
    listed = {tuple(one) for one in related(PLAN)}
    asking = {
        "table": lambda a, b: hush.crosstab(counted, a, b),
        "means": lambda a, b: hush.means(counted, a, by=b),
        "association": lambda a, b: hush.association(counted, a, b),
        "moments": lambda a, b: hush.association(counted, a, b, method="moments"),
    }
    for (kind, ask), (one, other) in itertools.product(asking.items(), itertools.permutations(SCHEMA.names, 2)):
        if (kind, one, other) in listed or (kind != "means" and (kind, other, one) in listed):
            assert len(ask(one, other)) > 0
        else:
            with pytest.raises(hush.EstimateError):
                ask(one, other)


def test_a_plan_without_relations_has_none() -> None:
    assert related(hush.design(SCHEMA, 1.0)) == []


def test_tables_of_joint_questions_count_and_single_cuts_do_not() -> None:
    schema = hush.Schema(
        [hush.Categorical("a", ["x", "y"]), hush.Categorical("b", ["x", "y"]), hush.Numeric("n", 0, 1)]
    )
    assert [tuple(one) for one in related(hush.design(schema, 1.0, joint=[["a", "b"]]))] == [("table", "a", "b")]
    numbers = hush.Schema([hush.Numeric("n", 0, 1), hush.Numeric("m", 0, 1)])
    plan = hush.design(numbers, 1.0, relations=[("n", "m")])
    assert [tuple(one) for one in related(plan)] == [("association", "n", "m")]
