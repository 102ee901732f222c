"""A collector keeps each key that it gave out for a plan until the plan is closed, and says what it could not open."""

from __future__ import annotations

import logging
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hush import Numeric, Report, Schema, Tally, design
from hush.collector.http.metrics import Metrics
from hush.collector.keys import Keys, settle
from hush.collector.opening import Opener
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Opened, Outcome
from hush.collector.vectors import layout_of
from hush.core.sealing import CollectorKey, SealedBatch, batch_id
from hush.errors import InputError, ReportError
from hush.relay.mixing import seal
from tests.collector import places
from tests.collector.places import Place, plan
from tests.collector.served import Served, anybody, problem, serving
from tests.collector.watching import Clock

OLD, NOW, LOST = (bytes([number]) * 32 for number in (1, 2, 3))
PUBLIC = {secret: Opener(secret).key.public for secret in (OLD, NOW, LOST)}


def sealed_for(*secrets: bytes) -> Settings:
    return anybody(sealed_key=secrets[0], older_keys=secrets[1:], sealed_only=True)


# -- what a store notes


def test_a_store_notes_the_keys_of_open_plans(place: Place) -> None:
    first, second, third = (plan(title) for title in ("first", "second", "third"))
    with place.opened() as store:
        store.add_plan(first)
        assert store.given_keys() == {}
        store.give_key(PUBLIC[OLD])
        store.give_key(PUBLIC[OLD])
        store.add_plan(second)
        store.add_plan(second)
        assert store.given_keys() == {one.id: {PUBLIC[OLD]} for one in (first, second)}
        store.give_key(PUBLIC[NOW])
        store.add_plan(third)
        both = {PUBLIC[OLD], PUBLIC[NOW]}
        assert store.given_keys() == {first.id: both, second.id: both, third.id: {PUBLIC[NOW]}}
        store.close_plan(first.id)
    with place.opened() as store:
        assert store.given_keys() == {second.id: both, third.id: {PUBLIC[NOW]}}
        store.give_key(PUBLIC[LOST])
        assert first.id not in store.given_keys()
        store.take_back_key(PUBLIC[NOW])
        assert store.given_keys() == {second.id: {PUBLIC[OLD], PUBLIC[LOST]}, third.id: {PUBLIC[LOST]}}


def test_a_second_plan_of_a_pilot_has_the_key_too(place: Place) -> None:
    schema = Schema([Numeric("income", 0, 1e6, scale="log")])
    pilot = design(schema, 2.0, title="pilot")
    narrow = design(Schema([Numeric("income", 1e3, 1e5, out_of_range="clip")]), 2.0, title="narrow", after=pilot)
    with place.opened() as store:
        store.add_plan(pilot)
        store.add_narrowing(pilot, 10, 20)
        store.give_key(PUBLIC[NOW])
        store.narrowed(pilot, 10, narrow, 0)
        assert store.given_keys() == {one.id: {PUBLIC[NOW]} for one in (pilot, narrow)}


def opened(made: list[Report], id_: bytes, refused: int) -> Opened:
    layout = layout_of(plan())
    vector = layout.zero()
    for report in made:
        layout.add(vector, report)
    return Opened(plan(), id_, vector, tuple(made), 0, refused)


def test_a_store_counts_what_did_not_open(place: Place) -> None:
    made = places.reports(6)
    with place.opened() as store:
        store.add_plan(plan())
        assert store.refused(plan()) == 0
        first = opened(made[:3], b"1" * 16, 5)
        assert store.commit([first, first, opened([], b"2" * 16, 7)]) == [Outcome.NEW, Outcome.REPEATED, Outcome.NEW]
        assert store.refused(plan()) == 12
    with place.opened() as store:
        assert store.commit([first, opened(made[3:], b"3" * 16, 1)]) == [Outcome.REPEATED, Outcome.NEW]
        assert store.refused(plan()) == 13
        store.close_plan(plan().id)
        assert store.refused(plan()) == 13
        assert store.tally(plan()).reports == 6


# -- the start


def test_a_collector_does_not_start_without_a_key_that_it_gave_out(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "hush.db")
    store.add_plan(plan("one"))
    store.add_plan(plan("two"))
    settle(store, anybody())
    settle(store, sealed_for(OLD))
    settle(store, sealed_for(OLD))
    for settings in (sealed_for(NOW), sealed_for(NOW, LOST), anybody()):
        with pytest.raises(InputError, match=f"was given out with the key {PUBLIC[OLD].hex()}.*as a further --sealed"):
            settle(store, settings)
    assert all(keys == {PUBLIC[OLD]} for keys in store.given_keys().values()), "a key that is refused is not given out"
    settle(store, sealed_for(NOW, OLD))
    settle(store, sealed_for(OLD, NOW))
    with pytest.raises(InputError, match=f"--lost-key {PUBLIC[NOW].hex()}"):
        settle(store, sealed_for(OLD))
    store.take_back_key(PUBLIC[NOW])
    settle(store, sealed_for(OLD))
    for title in ("one", "two"):
        store.close_plan(plan(title).id)
    settle(store, sealed_for(LOST))
    settle(store, anybody())
    store.close()


def test_older_keys_come_with_one_of_now() -> None:
    with pytest.raises(InputError, match="older_keys need a sealed_key"):
        anybody(older_keys=(OLD,))
    assert Keys.of(anybody()) is None


# -- opening


def test_any_of_the_keys_opens(tmp_path: Path) -> None:
    keys, (report,) = Keys([NOW, OLD]), places.reports(1)
    assert keys.given == Opener(NOW).key
    known = [CollectorKey(PUBLIC[secret]) for secret in (NOW, OLD)]
    assert [key in keys for key in known] == [True, True]
    assert CollectorKey(PUBLIC[LOST]) not in keys
    for key in known:
        for likely in known:
            assert keys.open(plan(), seal(report, key), likely) == report
    for likely in known:
        with pytest.raises(ReportError, match="not a report of the plan"):
            keys.open(plan(), seal(report, CollectorKey(PUBLIC[LOST])), likely)
    assert Keys([NOW]).open(plan(), seal(report, known[0]), known[0]) == report


def send(served: Served, key: CollectorKey, *sealed: bytes) -> Any:
    body = SealedBatch(key, 0, sealed).encode()
    head = {"content-type": "application/vnd.hush.sealed", "hush-batch": batch_id(body).hex()}
    return served.client.post(served.path("sealed", plan()), content=body, headers=head)


def test_reports_for_an_older_key_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A device has the key built in, and a relay may have held its report. A collector dropped it, and thanked."""
    old, now, lost = (Opener(secret).key for secret in (OLD, NOW, LOST))
    made = places.reports(9)
    with serving(tmp_path, sealed_for(OLD), plans=[plan()], trainings={}) as served:
        assert send(served, old, seal(made[0], old)).json()["reports"] == 1
    with serving(tmp_path, sealed_for(NOW, OLD), plans=[plan()], trainings={}) as served:
        assert send(served, old, *(seal(report, old) for report in made[1:4])).json()["reports"] == 3
        assert send(served, now, seal(made[4], now), seal(made[5], old)).json()["reports"] == 2
        problem(send(served, lost, seal(made[6], lost)), "other-key")
        with caplog.at_level(logging.WARNING):
            answer = send(
                served, now, seal(made[6], lost), seal(made[7], now), seal(made[7], now), bytes(len(seal(made[8], now)))
            )
        assert (answer.json()["reports"], answer.json()["refused"]) == (1, 3)
        assert "3 sealed reports of a batch did not open" in caplog.text
        expected = Tally(plan())
        expected.update([*made[:6], made[7]])
        assert served.store.tally(plan()) == expected
        (entry,) = served.client.get("/plans").json()["plans"]
        assert (entry["reports"], entry["refused"]) == (7, 3)
        assert f'hush_refused_total{{plan="{plan().id}"}} 3' in served.client.get("/metrics").text
    with pytest.raises(InputError, match="was given out"), serving(tmp_path, sealed_for(NOW), plans=[], trainings={}):
        pass


# -- what readers see of it


class Counting:
    """As much of a store as readers of refused reports need."""

    def __init__(self) -> None:
        self.number = 0

    def refused(self, _: object) -> int:
        return self.number


def test_readers_see_refused_reports_by_many_and_not_often() -> None:
    """Otherwise somebody who sends fakes would see when the next batch has come."""
    clock, store = Clock(), Counting()
    held: Any = store
    rule = Reveals(held, Settings(), lambda *_: None, clock)
    seen = []
    for number in range(100):
        store.number = number
        clock.now += 13.0
        seen.append(rule.refused(plan()))
    assert set(seen) == {0, 20, 40, 60, 80}
    moved = [i for i in range(1, 100) if seen[i] != seen[i - 1]]
    assert min(b - a for a, b in pairwise(moved)) * 13.0 >= 60.0
    exact = Reveals(held, Settings(reveal_every=0.0, reveal_least=0), lambda *_: None, clock)
    assert exact.refused(plan()) == 99


def test_the_metric_moves_by_many() -> None:
    metrics = Metrics(20)
    for number, shown in ((19, None), (1, 20), (19, 20), (1, 40)):
        metrics.refused["a"] += number
        found = re.findall(
            r'^hush_refused_total\{plan="a"\} (\d+)$', "\n".join(metrics.of_people(0)["hush_refused_total"]), re.M
        )
        assert found == ([] if shown is None else [str(shown)])
