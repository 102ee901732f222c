"""Several collectors on one PostgreSQL: what they see of each other, and what happens when they meet."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections import Counter
from typing import Any

import psycopg
import pytest

from hush import Report
from hush.collector import formats
from hush.collector.stores import postgres_connections
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.postgres_watchdog import Watch
from hush.collector.submissions import Outcome, Submission
from hush.errors import StoreError
from tests.collector import places
from tests.collector.connections import until
from tests.collector.places import CLOSED, LATE, NEW, REPEATED, Place, plan
from tests.collector.postgres import Server


def test_plans_and_trainings_of_other_processes_are_seen(postgres_place: Place) -> None:
    with postgres_place.opened() as one, postgres_place.opened() as two:
        one.add_plan(plan(), "tallies")
        one.add_training("training", places.first_round(), 2)
        made = places.reports(4)
        assert two.commit(places.singles(made[:2])) == [NEW] * 2
        assert one.commit(places.singles(made)) == [REPEATED] * 2 + [NEW] * 2
        assert one.tally(plan()) == two.tally(plan()) == places.tally_of(plan(), made)
        first = two.live("training").round
        assert two.commit(places.gradients(first, 2)) == [NEW] * 2
        assert one.live("training").round == two.live("training").round
        assert one.commit(places.gradients(first, 1)) == [LATE]
        two.close_plan(plan().id)
        assert one.commit(places.singles(places.reports(1))) == [CLOSED]


def test_a_store_goes_on_after_the_server_was_restarted(server: Server) -> None:
    with Place(server.database()).opened() as store:
        store.add_plan(plan())
        made = places.singles(places.reports(4))
        store.commit(made[:1])
        server.stop()
        with pytest.raises(StoreError):
            store.commit(made[1:2])
        with pytest.raises(StoreError):
            store.tally(plan())
        server.start()
        assert store.commit(made[:2]) == [REPEATED, NEW]
        server.restart()
        assert store.tally(plan()).reports == 2  # the session of before has ended: that is not noticed
        assert store.commit(made[1:3]) == [REPEATED, NEW]
        server.restart()
        store.add_plan(plan("second"))
        server.restart()
        store.close_plan(plan().id)


def test_a_commit_is_durable_whatever_the_server_is_set_to(server: Server) -> None:
    url = server.database()
    with psycopg.connect(url, autocommit=True) as db:
        name = db.info.dbname
        db.execute(f"alter database {name} set synchronous_commit = off")
        db.execute(f"alter database {name} set default_transaction_isolation = 'serializable'")
    session = postgres_connections.connect(url, Watch())
    assert session.execute("show synchronous_commit").fetchone() == ("on",)
    assert session.execute("show transaction_isolation").fetchone() == ("read committed",)
    session.close()


def _commit_all(url: str, seed: int, groups: list[list[bytes]], batches: list[list[bytes]], answers: Any) -> None:
    """Commit encoded reports in an order of one's own, and say what became of them."""
    import random

    order = random.Random(seed)
    outcomes: Counter[tuple[bytes, str]] = Counter()
    with Place(url).opened() as store:
        made = [[Report.decode(plan(), data) for data in group] for group in groups]
        whole = [[Report.decode(plan(), data) for data in group] for group in batches]
        order.shuffle(made)
        for group in made:
            order.shuffle(group)
            sent: list[Submission] = [*places.singles(group)]
            if whole:
                sent.append(places.binary_batch(whole.pop(), check_ids=True))
            for submission, outcome in zip(sent, store.commit(sent), strict=True):
                assert isinstance(outcome, Outcome)
                outcomes[submission.id, outcome.value] += 1
    answers.put(outcomes)


def test_processes_that_commit_the_same_reports(postgres_place: Place) -> None:
    """Three processes commit the same reports in other orders, and batches that hold some of them too."""
    made = places.reports(1200)
    encoded = [report.encode() for report in made]
    groups = [encoded[start : start + 40] for start in range(0, 1200, 40)]
    batches = [encoded[start : start + 25] for start in range(0, 500, 25)]
    with postgres_place.opened() as store:
        store.add_plan(plan())
        spawn = multiprocessing.get_context("spawn")
        answers = spawn.Queue()
        processes = [
            spawn.Process(target=_commit_all, args=(postgres_place.url, seed, groups, batches, answers))
            for seed in range(3)
        ]
        for process in processes:
            process.start()
        outcomes: Counter[tuple[bytes, str]] = Counter()
        for _ in processes:
            outcomes += answers.get(timeout=120)
        for process in processes:
            process.join()
        ids = {report.id for report in made}
        new = [id_ for (id_, kind), times in outcomes.items() if kind == "new" for _ in range(times)]
        assert len(new) == len(set(new))
        alone = ids.intersection(new)
        assert len(alone) + 25 * (len(new) - len(alone)) == 1200
        kept = [report for body in store.bodies(plan()) for report in formats.split(plan(), body.body)]
        # Every report is counted once: alone, or in the one batch that came first.
        assert Counter(report.id for report in kept) == Counter(report.id for report in made)
        assert store.tally(plan()) == places.tally_of(plan(), made)
        with psycopg.connect(postgres_place.url) as db:
            row = db.execute("select count(*), count(distinct shard) from hush.tallies").fetchone()
            assert row is not None
            assert row[0] == row[1] <= 4


def test_two_threads_that_commit_the_same_id_at_once(postgres_place: Place) -> None:
    """The second waits for the first; if that one rolls back, the second counts."""
    with postgres_place.opened() as store:
        store.add_plan(plan())
        made = places.singles(places.reports(2))
        for ends, outcome in (("rollback", NEW), ("commit", REPEATED)):
            sent = made.pop()
            with psycopg.connect(postgres_place.url) as other:
                other.execute("insert into hush.seen values (1, %s)", (sent.id,))
                outcomes: list[Any] = []
                thread = threading.Thread(target=lambda: outcomes.extend(store.commit([sent])))  # noqa: B023
                thread.start()
                thread.join(0.3)
                assert thread.is_alive()
                other.execute(ends)
                thread.join(30)
            assert outcomes == [outcome]


def waiting_for_locks(url: str) -> int:
    """Return how many sessions of a database wait for a lock that programs agree on."""
    with psycopg.connect(url) as db:
        query = "select count(*) from pg_locks join pg_database on oid = database where not granted"
        row = db.execute(f"{query} and locktype = 'advisory' and datname = current_database()").fetchone()
        assert row is not None
        return int(row[0])


def test_closing_waits_for_commits_and_commits_for_closing(postgres_place: Place) -> None:
    with postgres_place.opened() as store, postgres_place.opened() as other:
        store.add_plan(plan())
        with psycopg.connect(postgres_place.url) as slow:
            slow.execute("select pg_advisory_xact_lock_shared(%s, 1)", (postgres_connections.PLAN,))
            closing = threading.Thread(target=store.close_plan, args=(plan().id,))
            closing.start()
            until(lambda: waiting_for_locks(postgres_place.url) == 1)
            outcomes: list[Any] = []
            sent = places.singles(places.reports(1))
            committing = threading.Thread(target=lambda: outcomes.extend(other.commit(sent)))
            committing.start()
            # It waits behind the other: no stream of commits keeps a plan from being closed.
            until(lambda: waiting_for_locks(postgres_place.url) == 2)
            slow.commit()
            closing.join(30)
            committing.join(30)
        assert outcomes == [CLOSED]
        assert store.tally(plan()).reports == 0
        with psycopg.connect(postgres_place.url) as db:
            assert db.execute("select count(*) from hush.seen").fetchone() == (0,)


def test_a_deadlock_is_tried_again(postgres_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.collector.stores import postgres_commits

    with postgres_place.opened() as store:
        store.add_plan(plan())
        run, failures = (
            postgres_commits.Commit.run,
            iter([psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure]),
        )

        def sometimes(self: Any, submissions: Any) -> Any:
            if (failure := next(failures, None)) is not None:
                raise failure
            return run(self, submissions)

        monkeypatch.setattr(postgres_commits.Commit, "run", sometimes)
        assert store.commit(places.singles(places.reports(2))) == [NEW, NEW]


def test_shards_are_claimed_again(postgres_place: Place) -> None:
    """Processes that come and go leave no more shards behind than there were at one time."""
    with postgres_place.opened() as store:
        store.add_plan(plan())
    for _ in range(3):
        with postgres_place.opened() as one, postgres_place.opened() as two:
            for store in (one, two):
                store.commit(places.singles(places.reports(2)))
        with psycopg.connect(
            postgres_place.url, autocommit=True
        ) as db:  # the server notices a little later that they left
            while db.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone() != (0,):
                time.sleep(0.01)
    with postgres_place.opened() as store:
        assert store.tally(plan()).reports == 12
    with psycopg.connect(postgres_place.url) as db:
        assert db.execute("select array_agg(shard order by shard) from hush.tallies").fetchone() == ([0, 1],)


def test_rounds_step_once_whoever_ends_them(postgres_place: Place) -> None:
    """Three stores at once take gradients of the same round: as many are counted as are wanted, and no more."""
    first = places.first_round(rounds=4)
    stores = [PostgresStore(postgres_place.url) for _ in range(3)]
    stores[0].add_training("training", first, 20)
    outcomes: list[Any] = []

    def take_part(store: PostgresStore) -> None:
        while not (round_ := store.live("training").round).done:
            sent = places.gradients(round_, 3)
            outcomes.extend(store.commit(sent))
            outcomes.extend(store.commit(sent))

    threads = [threading.Thread(target=take_part, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [(past.number, past.people) for past in stores[0].history("training")] == [(n, 20) for n in range(1, 5)]
    assert outcomes.count(NEW) == outcomes.count(REPEATED) == 80
    assert {store.live("training").round for store in stores} == {stores[0].live("training").round}
    for store in stores:
        store.close()


def test_a_crash_while_a_plan_was_closed(postgres_place: Place) -> None:
    """The plan is closed first, and its ids are forgotten afterwards: by the next store, if need be."""
    with postgres_place.opened() as store:
        store.add_plan(plan())
        store.add_plan(plan("second"))
        store.commit(places.singles(places.reports(3)))
        store.commit(places.singles(places.reports(4, plan("second"))))
        with psycopg.connect(postgres_place.url) as db:
            db.execute("update hush.plans set open = false where number = 1")
    with postgres_place.opened() as store:
        assert isinstance(store, PostgresStore)
        assert [(held.open, store.tally(held.plan).reports) for held in store.plans()] == [(False, 3), (True, 4)]
        for thread in store._sweeper._threads:
            thread.join(60)
        with psycopg.connect(postgres_place.url) as db:
            assert db.execute("select count(*), min(plan) from hush.seen").fetchone() == (4, 2)


def test_a_commit_takes_as_many_statements_for_one_report_as_for_a_thousand(postgres_place: Place) -> None:
    with postgres_place.opened() as store:
        assert isinstance(store, PostgresStore)
        store.add_plan(plan())
        store.commit(places.singles(places.reports(1)))
        assert store._writer is not None
        db, shard = store._writer
        counts = []
        for number in (1, 1000):
            counting = Counting(db)
            store._writer = counting, shard  # type: ignore[assignment]
            assert store.commit(places.singles(places.reports(number))) == [NEW] * number
            counts.append(counting.statements)
        store._writer = db, shard
        assert counts[0] == counts[1] <= 10


class Counting:
    """A session that counts statements."""

    def __init__(self, db: Any) -> None:
        self._db, self.statements = db, 0

    def __getattr__(self, name: str) -> Any:
        self.statements += name == "execute"
        return getattr(self._db, name)
