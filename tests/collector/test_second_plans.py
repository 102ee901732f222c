"""A store holds one second plan of a pilot, whatever other writers, intruders and kills do."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import hush
from hush.collector import formats
from hush.collector.narrowing import Narrower, second_plan
from hush.collector.stores.base import NotHeld
from hush.errors import InputError, StoreError
from tests.collector.pilots import (
    FIRST,
    INCOME,
    OTHERS,
    PILOT,
    REGION,
    SCHEMA,
    answers,
    commit,
    pilot_in,
    tally_of,
    until,
)
from tests.collector.places import Place


@cache
def one(seed: int = 1, typical: float = 10.5) -> hush.Plan:
    """Return a plan that may follow the pilot."""
    found = second_plan(tally_of(answers(200, seed, typical)), OTHERS)
    assert found is not None
    return found


def other() -> hush.Plan:
    """Return another one."""
    return one(2, 13.0)


# -- the store: one decision


def test_a_pilot_keeps_its_numbers(place: Place) -> None:
    with place.opened() as store:
        with pytest.raises(NotHeld):
            store.add_narrowing(PILOT, FIRST, OTHERS)
        store.add_plan(PILOT)
        for _ in range(2):
            store.add_narrowing(PILOT, FIRST, OTHERS)
        for numbers in ((FIRST, OTHERS + 1), (FIRST + 1, OTHERS)):
            with pytest.raises(InputError, match=f"of {FIRST} people, and of {OTHERS} who come later"):
                store.add_narrowing(PILOT, *numbers)
        assert store.narrowings() == [(PILOT.id, FIRST, OTHERS, FIRST, None)]
    with place.opened() as store:
        assert store.narrowings() == [(PILOT.id, FIRST, OTHERS, FIRST, None)]


def test_the_first_second_plan_stays(place: Place) -> None:
    """A second writer, slow or hostile, finds the plan of the first, and changes nothing."""
    first, later = one(), other()
    assert first.id != later.id
    with place.opened() as store:
        store.add_plan(PILOT, "tallies")
        store.add_narrowing(PILOT, FIRST, OTHERS)
        for tried, second in ((FIRST, first), (FIRST, later), (FIRST, None), (7, later)):
            assert store.narrowed(PILOT, tried, second, 999) == (PILOT.id, FIRST, OTHERS, FIRST, first.id)
        assert [(held.plan, held.keep, held.open) for held in store.plans()] == [
            (PILOT, "tallies", True),
            (first, "tallies", True),
        ]
        commit(store, answers(3, 5, plan=first))
        assert store.tally(first).reports == 3
    with place.opened() as store:
        assert store.narrowed(PILOT, FIRST, later, 999).second == first.id
        assert store.tally(first).reports == 3


def test_a_plan_of_the_operator_may_be_the_second(place: Place) -> None:
    second = one()
    with place.opened() as store:
        pilot_in(store)
        store.add_plan(second, "tallies")
        commit(store, answers(2, 5, plan=second))
        assert store.narrowed(PILOT, FIRST, second, 0).second == second.id
        assert store.tally(second).reports == 2


def test_a_plan_that_does_not_follow_is_never_stored(place: Place) -> None:
    wrong = [
        replace(one(), after=None),
        replace(one(), after="0" * 64),
        hush.design(one().schema, 4.0, after=PILOT),
        hush.design(hush.Schema([replace(INCOME, high=5e6), REGION]), 8.0, after=PILOT),
    ]
    with place.opened() as store:
        pilot_in(store)
        for plan in wrong:
            with pytest.raises(InputError, match="not its pilot's"):
                store.narrowed(PILOT, FIRST, plan, 0)
        assert [held.plan for held in store.plans()] == [PILOT]
        with pytest.raises(NotHeld):
            store.narrowed(hush.design(SCHEMA, 1.0), FIRST, None, 0)


def edit(place: Place, statement: str) -> None:
    """Change the tables as an intruder would, or a failing disk."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.url.removeprefix("sqlite://"))) as db, db:
            db.execute(statement)
    else:
        with psycopg.connect(place.url, autocommit=True) as server:
            server.execute("set search_path to hush")
            server.execute(statement)


def test_a_second_plan_that_somebody_wrote_into_the_tables_is_noticed(place: Place) -> None:
    other = hush.design(hush.Schema([replace(INCOME, high=1.0), REGION]), 8.0, after=PILOT)
    with place.opened() as store:
        pilot_in(store)
        store.add_plan(other)
    edit(place, "update narrowings set second = 2")
    with pytest.raises(StoreError, match="unreadable data: a second plan is not its pilot's"), place.opened() as store:
        store.narrowings()


def test_a_closed_pilot_gets_no_second_plan(place: Place) -> None:
    with place.opened() as store:
        pilot_in(store)
        commit(store, answers(FIRST, 1))
        store.close_plan(PILOT.id)
        Narrower(store, store.tally).look()
        assert store.narrowed(PILOT, FIRST, one(), 0).second is None
        assert [held.plan for held in store.plans()] == [PILOT]


# -- kills


BREAK = {
    "sqlite": "create trigger broken before update on narrowings begin select raise(abort, 'the disk is full'); end",
    "postgresql": "alter table narrowings add constraint broken check (second is null)",
}
MEND = {
    "sqlite": "drop trigger broken",
    "postgresql": "alter table narrowings drop constraint broken",
}


def test_a_decision_that_fails_half_way_leaves_nothing(place: Place) -> None:
    """The plan is written before it becomes the pilot's: one transaction has both, or none."""
    made = answers(FIRST + 30, 1)
    with place.opened() as store:
        pilot_in(store)
        commit(store, made[:FIRST])
    edit(place, BREAK[place.kind])
    with place.opened() as store:
        with pytest.raises(StoreError):
            Narrower(store, store.tally).look()
        assert [held.plan for held in store.plans()] == [PILOT]
        assert store.narrowings()[0].second is None
    edit(place, MEND[place.kind])
    with place.opened() as store:
        assert [held.plan for held in store.plans()] == [PILOT]
        commit(store, made[FIRST:])  # the tally has moved on: nobody has seen a second plan yet
        Narrower(store, store.tally).look()
        (state,) = store.narrowings()
        assert [held.plan.id for held in store.plans()] == [PILOT.id, state.second]


class Ended(BaseException):
    """The process was killed."""


@pytest.mark.parametrize("step", ["before the design", "before the decision", "after the decision"])
def test_a_kill_between_the_steps(place: Place, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object, **__: object) -> None:
        raise Ended

    def decide(*given: Any) -> None:
        real(*given)
        raise Ended

    made = answers(FIRST, 1)
    with place.opened() as store:
        pilot_in(store)
        commit(store, made)
        real = store.narrowed
        with monkeypatch.context() as patch:
            if step == "before the design":
                patch.setattr("hush.collector.narrowing.narrow", end)
            elif step == "before the decision":
                patch.setattr(store, "narrowed", end)
            else:
                patch.setattr(store, "narrowed", decide)
            with pytest.raises(Ended):
                Narrower(store, store.tally).look()
    for _ in range(2):
        with place.opened() as store:
            Narrower(store, store.tally).look()
            expected = second_plan(tally_of(made), OTHERS)
            assert [held.plan for held in store.plans()] == [PILOT, expected]


def others(web: httpx.Client) -> Callable[[], set[str]]:
    """Return a function that asks a collector for the second plan."""
    return lambda: {web.get(f"/plans/{PILOT.id}/current").json()["plan"]} - {PILOT.id}


def test_killed_processes_end_with_one_second_plan(place: Place, tmp_path: Path) -> None:
    """Real processes, killed at once after the last report of the pilot, and again after the decision."""
    (tmp_path / "plan.json").write_text(PILOT.to_json())
    options = ["--store", place.url, "--port", "0", "--reveal-every", "0s", "--reveal-least", "0"]
    named: set[str] = set()
    made = answers(FIRST, 1)
    for life in range(4):
        narrow = ["--narrow", f"{tmp_path}/plan.json={FIRST}+{OTHERS}"] if life != 2 else []  # it is in the store
        command = [sys.executable, "-m", "hush", "serve", *narrow, *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)  # noqa: S603
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=address, trust_env=False, timeout=30) as web:
                for report in made if life == 0 else ():
                    head = {"content-type": formats.REPORT}
                    sent = web.post(f"/plans/{PILOT.id}/reports", content=report.encode(), headers=head)
                    assert sent.json()["new"]
                if life > 0:
                    named |= until(others(web))
        finally:
            process.kill()
            process.communicate()
    assert len(named) == 1
    with place.opened() as store:
        assert len(store.plans()) == 2
        assert store.tally(PILOT).reports == FIRST
