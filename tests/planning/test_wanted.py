"""Margins that users name are reached, or all too wide by the same factor, and the user is told."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import hush
from hush import Categorical, Choices, DesignError, Numeric, Schema, Text

SCHEMA = Schema(
    [
        Categorical("recommends", ["no", "yes"]),
        Numeric("sat", 1, 7),
        Categorical("team", [f"t{i}" for i in range(6)]),
        Numeric("age", 16, 80),
        Choices("uses", list("abcdefgh"), most=4),
        Numeric("pay", 0, 100, optional=True),
    ]
)
RELATED: dict[str, Any] = {"relations": [("sat", "team"), ("age", "sat")], "ranges": ["age"], "insist": True}


def margins(plan: hush.Plan, people: int) -> dict[Any, float]:
    """The widest margin of everything: what the user sees."""
    found: dict[Any, float] = {}
    for row in hush.predict(plan, people):
        if row.category != hush.MISSING:
            found[row.attribute] = max(found.get(row.attribute, 0.0), row.margin)
    for one in hush.foresee(plan, people):
        key = (one.attribute, one.by) if one.by else (one.attribute,)
        found[key] = max(found.get(key, 0.0), one.margin)
    return found


WISHES: list[tuple[dict[Any, float], dict[str, Any]]] = [
    ({"recommends": 0.04}, {}),
    ({"recommends": 0.04, "sat": 0.2, "pay": 6.0}, RELATED),
    ({("sat", "team"): 0.5, ("age",): 0.05}, RELATED),
    ({("team", "sat"): 0.6, ("age", "sat", "association"): 0.2, "uses": 0.1}, RELATED),
    ({("age", "range"): 0.06, "team": 0.05}, RELATED),
]


@pytest.mark.parametrize(("wanted", "options"), WISHES)
def test_margins_are_reached(wanted: dict[Any, float], options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = hush.design(SCHEMA, 4.0, people=20_000, margins=wanted, **options)
    found = margins(plan, 20_000)
    for key, margin in wanted.items():
        seen = key[:1] if key == ("age", "range") else key if isinstance(key, str) else key[:2]
        got = found[seen] if seen in found else found[seen[::-1]]
        assert got <= 1.005 * margin, key
        # Not more people than it takes: the rest of the people is divided as always, so it may be better known.
    assert plan.k == 1


def test_a_margin_takes_people_from_the_others() -> None:
    plain = hush.design(SCHEMA, 2.0, people=20_000, margins={"recommends": 0.5})
    plan = hush.design(SCHEMA, 2.0, people=20_000, margins={"recommends": 0.013})
    assert margins(plan, 20_000)["recommends"] == pytest.approx(0.013, rel=0.02)
    assert margins(plan, 20_000)["sat"] > 1.1 * margins(plain, 20_000)["sat"]


def test_too_few_people_are_told_how_many_would_do() -> None:
    wanted = {"recommends": 0.02, "sat": 0.1}
    with pytest.warns(UserWarning, match=r"The margins take ([\d,]+) people: with 500 they are ([\d.]+) times") as told:
        plan = hush.design(SCHEMA, 2.0, people=500, margins=wanted)
    found = re.search(r"take ([\d,]+) people.*are ([\d.]+) times", str(told[0].message))
    assert found is not None
    needed, factor = int(found[1].replace(",", "")), float(found[2])
    for name, margin in wanted.items():
        assert margins(plan, 500)[name] / margin == pytest.approx(factor, rel=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = margins(hush.design(SCHEMA, 2.0, people=round(1.02 * needed), margins=wanted), round(1.02 * needed))
    assert all(enough[name] <= 1.005 * margin for name, margin in wanted.items())


def test_a_relation_with_a_margin_is_not_left_out() -> None:
    with pytest.warns(UserWarning, match="The margins take"):
        plan = hush.design(SCHEMA, 1.0, relations=[("sat", "team")], people=100, margins={("sat", "team"): 0.5})
    assert any(question.channel.kind == "rows" for question in plan.questions)


def test_margins_go_with_a_central_promise() -> None:
    promise: dict[str, Any] = {"central": 1.0, "delta": 1e-6, "crowd": 5000, "local": 3.0}
    plan = hush.design(SCHEMA, **promise, people=20_000, margins={"recommends": 0.02})
    assert plan.epsilon > 1.5
    assert margins(plan, 20_000)["recommends"] <= 0.0201


BAD: list[tuple[dict[Any, Any], dict[str, Any], str]] = [
    ({"recommends": 0.1}, {"people": None}, "margins are for a number of people"),
    ({"recommends": 0}, {}, "'recommends' must be a number above 0"),
    ({"recommends": "wide"}, {}, "'recommends' must be a number above 0"),
    ({"recommends": True}, {}, "'recommends' must be a number above 0"),
    ({("sat", "age"): 0.1}, {}, "is not among the relations"),
    ({("age",): 0.1}, {}, "is not among the relations or ranges"),
    ({("sat", "age", "median"): 0.1}, {}, "the kind of a relation is one of"),
    ({("sat", "age", "table", "x"): 0.1}, {}, "margins are of attributes"),
    ({7: 0.1}, {}, "margins are of attributes"),
    ({"recommends": 0.1}, {"k": 2}, "with margins everybody answers one question"),
    ({"recommends": 0.1}, {"relations": [("recommends", "team")], "singles": 0}, "'sat': is in no relation"),
    (
        {("sat", "age"): 0.1},
        {"relations": [("sat", "age"), ("sat", "age", "moments")]},
        r"asked in two ways: write \('sat', 'age', 'association'\) or",
    ),
    ({("sat", "age"): 0.1, ("age", "sat"): 0.2}, {"relations": [("sat", "age")]}, "is named twice"),
]


@pytest.mark.parametrize(("wanted", "options", "rule"), BAD)
def test_wishes_that_make_no_sense_are_refused(wanted: dict[Any, Any], options: dict[str, Any], rule: str) -> None:
    with pytest.raises(DesignError, match=rule):
        hush.design(SCHEMA, 2.0, **{"people": 1000, "margins": wanted, **options})


def test_unknown_names_and_texts_are_refused() -> None:
    with pytest.raises(hush.SchemaError, match="'shoe'"):
        hush.design(SCHEMA, 2.0, people=1000, margins={"shoe": 0.1})
    schema = Schema([Text("word", 8), Categorical("c", ["a", "b"]), Categorical("d", ["a", "b"])])
    with pytest.raises(DesignError, match="'word': a text has no margin"):
        hush.design(schema, 2.0, people=1000, margins={"word": 0.1})
    pair = Schema(schema.attributes[1:])
    with pytest.raises(DesignError, match="'c': its margin needs singles above 0"):
        hush.design(pair, 2.0, relations=[("c", "d")], singles=0, people=10**5, margins={"c": 0.1})
