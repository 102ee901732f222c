"""What a server publishes: fetched once, and believed only if it is the very thing that was asked for."""

from __future__ import annotations

import json

import pytest

import hush
from hush.core import lists
from hush.core.plan import Plan
from hush.device.published import Published
from hush.errors import CollectorError, PlanError, SchemaError
from tests.collector.pilots import PILOT, SCHEMA
from tests.collector.served import FEW, PLAN
from tests.device.clients import Scripted

PAGES = [f"page {i}" for i in range(40)]
INCOME = hush.Numeric("income", 0, 5e4, out_of_range="clip")
SECOND = hush.design(hush.Schema([INCOME, SCHEMA["region"]]), 8.0, k=2, after=PILOT)


def text(plan: Plan) -> bytes:
    return plan.to_json().encode()


def test_a_plan_is_fetched_once() -> None:
    server = Scripted(text(PLAN), text(FEW))
    published = Published(server, lists=True)
    assert [published.plan(PLAN.id), published.plan(FEW.id), published.plan(PLAN.id)] == [PLAN, FEW, PLAN]
    assert server.calls == [(f"/plans/{PLAN.id}", None, None), (f"/plans/{FEW.id}", None, None)]


def test_another_plan_is_refused_and_not_kept() -> None:
    server = Scripted(text(FEW), text(PLAN))
    published = Published(server, lists=True)
    with pytest.raises(PlanError):
        published.plan(PLAN.id)
    assert published.plan(PLAN.id) == PLAN


@pytest.mark.parametrize("id_", ["", "0" * 63, "0" * 65, PLAN.id.upper(), f"{PLAN.id}\n", f"{PLAN.id[:-1]}g"])
def test_nothing_is_asked_for_what_is_no_id(id_: str) -> None:
    server = Scripted()
    with pytest.raises(PlanError, match="64 hexadecimal"):
        Published(server, lists=True).plan(id_)
    assert server.calls == []


def test_long_lists_are_fetched_with_their_plan_where_they_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_known", {})
    listed = hush.Listed(PAGES, "pages.txt")
    first, second = (
        hush.design(hush.Schema([hush.Categorical(name, listed)]), 1.0, title="long") for name in ("first", "last")
    )
    data, there = listed.text(), (f"/lists/{listed.sha256}", 1 << 28, 600.0)
    lists._known.clear()

    relayed = Scripted(text(first))
    assert Published(relayed, lists=False).plan(first.id) == first
    assert relayed.calls == [(f"/plans/{first.id}", None, None)]
    assert not listed.here

    server = Scripted(text(first), data[:-1], text(first), data, text(second))
    published = Published(server, lists=True)
    with pytest.raises(SchemaError, match="hash is another one"):
        published.plan(first.id)
    assert published.plan(first.id) == first
    assert published.plan(second.id) == second
    assert listed.values == tuple(PAGES)
    asked = (f"/plans/{first.id}", None, None)
    assert server.calls == [asked, there, asked, there, (f"/plans/{second.id}", None, None)]


# -- the plan that follows


def named(id_: object) -> bytes:
    return json.dumps({"plan": id_}).encode()


def test_the_current_plan_is_the_pilot_or_one_that_follows_it() -> None:
    server = Scripted(named(PILOT.id), named(SECOND.id), text(SECOND))
    published = Published(server, lists=True)
    assert published.current(PILOT) is PILOT
    assert published.current(PILOT) == SECOND
    where = (f"/plans/{PILOT.id}/current", None, None)
    assert server.calls == [where, where, (f"/plans/{SECOND.id}", None, None)]


def test_what_follows_a_pilot_is_followed_by_nothing() -> None:
    server = Scripted()
    assert Published(server, lists=True).current(SECOND) is SECOND
    assert server.calls == []


def test_a_plan_that_does_not_follow_is_refused() -> None:
    with pytest.raises(PlanError, match="does not follow the pilot"):
        Published(Scripted(named(FEW.id), text(FEW)), lists=True).current(PILOT)


@pytest.mark.parametrize(
    "said",
    [
        *(b"", b"{}", b"[]"),
        *map(named, (3, None, PILOT.id.upper(), "0" * 62, "0" * 66)),
        *(json.dumps(said).encode() for said in ({"plan": PILOT.id, "more": 1}, {"id": PILOT.id})),
    ],
)
def test_an_answer_that_names_no_plan_is_refused(said: bytes) -> None:
    server = Scripted(said)
    with pytest.raises(CollectorError):
        Published(server, lists=True).current(PILOT)
    assert len(server.calls) == 1
