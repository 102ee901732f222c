"""Opened batches in every store: counted once, report by report, with the relay's own reports."""

from __future__ import annotations

from collections.abc import Sequence

from hush import Report
from hush.collector import formats
from hush.collector.stores.base import Store
from hush.collector.submissions import Opened, Outcome, Submission
from hush.collector.vectors import layout_of
from tests.collector import places
from tests.collector.places import Place, plan, tally_of


def opened(made: Sequence[Report], id_: bytes, own: int = 0) -> Opened:
    layout = layout_of(plan())
    vector = layout.zero()
    for report in made:
        layout.add(vector, report)
    return Opened(plan(), id_, vector, tuple(made), own)


def ids(store: Store) -> list[bytes]:
    return sorted(r.id for stored in store.bodies(plan()) for r in formats.split(plan(), stored.body))


def test_a_batch_counts_once_and_each_report_once(place: Place) -> None:
    made = places.reports(12)
    with place.opened() as store:
        store.add_plan(plan())
        first = opened(made[:5], b"1" * 16)
        assert store.commit([first, first]) == [Outcome.NEW, Outcome.REPEATED]
        assert store.commit([first]) == [Outcome.REPEATED]
        assert store.tally(plan()) == tally_of(plan(), made[:5])
        # Two of these were counted before, and one more comes alone in the same commit.
        group: list[Submission] = [*places.singles(made[9:10]), opened(made[3:10], b"2" * 16)]
        assert store.commit(group) == [Outcome.NEW, Outcome.NEW]
        assert store.tally(plan()) == tally_of(plan(), made[:10])
        assert store.commit([opened(made[:2], b"3" * 16)]) == [Outcome.NEW], "nothing of it is new, and it is known"
        assert store.commit(places.singles(made[:1])) == [Outcome.REPEATED]
        assert ids(store) == sorted(report.id for report in made[:10])
    with place.opened() as store:
        assert store.commit([first]) == [Outcome.REPEATED]
        assert store.tally(plan()) == tally_of(plan(), made[:10])


def test_own_reports_are_kept_with_the_counts(place: Place) -> None:
    made = places.reports(60)
    with place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(made[:20]))
        store.commit([opened(made[20:40], b"1" * 16, own=7)])
        assert (store.tally(plan()).people, store.tally(plan()).own) == (33, 7)
        shown = store.reveal(plan(), 0, 20)
        assert shown == store.tally(plan())
        store.commit([opened(made[40:], b"2" * 16, own=3)])
        assert store.reveal(plan(), shown.people, 20) == shown, "17 people more are too few"
        assert store.reveal(plan(), shown.people, 17).people == 50
    with place.opened() as store:
        assert (store.tally(plan()).people, store.tally(plan()).own) == (50, 10)
        assert store.reveal(plan(), None, 0).own == 10


def test_a_tally_that_is_handed_on_keeps_its_own_reports(place: Place) -> None:
    made = places.reports(60)
    with place.opened() as store:
        store.add_plan(plan())
        store.commit([opened(made[:40], b"1" * 16, own=7)])
        tally = store.tally(plan())
        for number, (kind, body) in enumerate(
            ((formats.JSON, tally.to_json().encode()), (formats.TALLY, tally.encode()))
        ):
            other = formats.tally_batch(plan(), formats.tally(plan(), kind, body), bytes([number]) * 16)
            group: list[Submission] = [*places.singles(made[40 + number : 41 + number]), other]
            assert store.commit(group) == [Outcome.NEW, Outcome.NEW]
        assert (store.tally(plan()).people, store.tally(plan()).own) == (3 * 33 + 2, 3 * 7)


def test_no_more_own_reports_than_reports(place: Place) -> None:
    made = places.reports(4)
    with place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(made[:3]))
        store.commit([opened(made, b"1" * 16, own=4)])
        assert store.tally(plan()).own <= 1


def test_a_closed_plan_takes_no_batch(place: Place) -> None:
    with place.opened() as store:
        store.add_plan(plan())
        store.close_plan(plan().id)
        assert store.commit([opened(places.reports(2), b"1" * 16)]) == [Outcome.CLOSED]
        assert store.tally(plan()).reports == 0
