"""The store for several collectors, each without state of its own, in front of one PostgreSQL.

**Once.** One statement inserts the ids of a whole group, and returns those that are new. If another
process is about to commit one of them, the statement waits for it, and then sees it. Ids go in by order, so two
processes never wait for each other; should the server find a deadlock all the same, the group is tried again.

**Tallies.** Every process adds to rows of its own, its shard, and a tally is the sum over shards: nobody waits for
anybody. A shard is claimed by a lock that ends with the session, so there are as many as processes at one time. The
row is locked as well when it is changed: two processes on one shard would be slow, not wrong.

**Wide tallies.** A tally of texts takes megabytes. A commit of few reports writes the counts that it changes, as an
increment; when those of a shard take a quarter of a tally, they are added to it. Readers add up both, in one statement.

**Closing.** A commit holds a shared lock on its plans, and closing takes it alone: it waits for the commits that run,
and those that follow see the plan closed.

**Durability.** `synchronous_commit` is on, if the server has turned it off. A commit takes two round trips.

**Times.** The tables have none, but the server's log has the time of each commit: durability needs that log.

**Waiting.** A commit that waits too long for a lock, or for the server, fails, and its submissions may be sent again:
either nothing of it was counted, or its ids are there (`hush.collector.stores.postgres_connections`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from secrets import token_bytes
from typing import Any, TypeVar

import numpy as np
import psycopg
from psycopg import errors

from hush.collector.periods import Period, latest
from hush.collector.stores.base import (
    PILOTS,
    HeldPlan,
    Keep,
    Live,
    Narrowing,
    NotHeld,
    Past,
    Segment,
    Site,
    Store,
    Stored,
    check_numbers,
    check_second,
    understanding,
)
from hush.collector.stores.bookkeeping import RoundBook
from hush.collector.stores.postgres_commits import Commit, rehearse
from hush.collector.stores.postgres_connections import COMPACTING, PLAN, QUICK, SHARD, Connection, Pool, connect
from hush.collector.stores.postgres_errors import failing
from hush.collector.stores.postgres_sweeping import Sweeper
from hush.collector.stores.postgres_tables import upgrading
from hush.collector.stores.postgres_watchdog import Watch
from hush.collector.submissions import Form, Gradient, Result, Submission
from hush.collector.vectors import Layout, layout_of, minus, plus, unpacked
from hush.core.plan import Plan
from hush.core.stores import NAME_SIZE
from hush.core.training.courses import Course
from hush.core.training.stages import Phase, phase_from_json
from hush.errors import InputError, StoreError
from hush.server.tally import Tally

ATTEMPTS = 5
AGAIN = (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation)
PAGE = 64  # bodies that are fetched at a time
# All counts of a plan, in one snapshot: whole vectors, and increments.
COUNTS = """
select true, vector from tallies where plan = %s union all select false, counts from increments where plan = %s
"""
# How many bytes the counts of plans have.
SIZES = """
select plan, length(vector) from tallies union select plan, length(vector) from shown
union select plan, length(vector) from periods
"""
SENDING = 30.0  # seconds more that a commit may take, as it may be large
CLOSING = 5.0  # seconds that a commit has to notice that its session was cut

Array = np.ndarray[Any, Any]
Done = TypeVar("Done")


class PostgresStore(Store):
    """A store in a PostgreSQL database, in the schema `hush`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._watch = Watch()
        self._pool = Pool(url, self._watch)
        self._committing = threading.Lock()
        self._writer: tuple[Connection, int] | None = None
        # These never change once they exist: the number of a plan and how it is kept, the number of a training and
        # how many people it wants, and rounds.
        self._plans: dict[str, tuple[int, Plan, Keep]] = {}
        self._trainings: dict[str, tuple[int, int, Course | None]] = {}
        self._rounds: dict[int, Phase] = {}
        self._increments: dict[tuple[int, int], int] = {}
        self._giving: bytes | None = None
        try:
            with self._pool.session("opened") as db, upgrading(db):
                self._read(db)
        except BaseException:
            self._watch.close()
            self._pool.close()
            raise
        self._sweeper = Sweeper(self._pool)
        self._sweeper.begin()

    @understanding()
    def _read(self, db: Connection) -> None:
        """Read what an upgrade must leave readable: plans and trainings, and how long their counts are."""
        rows = db.execute("select number, id, plan, keep from plans order by number").fetchall()
        layouts = {}
        for number, plan_id, text, keep in rows:
            self._plans[plan_id] = number, Plan.from_json(text, plan_id), keep
            layouts[number] = layout_of(self._plans[plan_id][1])
        for number, size in db.execute(SIZES).fetchall():
            if number in layouts:  # else another process has just added it
                layouts[number].check_size(size)
        for number, name, wanted, text, course, gradients, losses in db.execute(
            "select number, name, wanted, round, course, gradients, losses from trainings order by number"
        ).fetchall():
            found = None if course is None else Course.from_json(course)
            self._trainings[name] = number, wanted, found
            self._rounds[number] = phase_from_json(text)
            RoundBook.decoded(self._rounds[number], wanted, gradients, losses, found)
        for pilot in db.execute(PILOTS).fetchall():
            self._checked(pilot)

    # -- plans

    def add_plan(self, plan: Plan, keep: Keep = "reports") -> None:
        """Take reports of a plan from now on."""
        with self._pool.transaction() as db:
            db.execute(
                "insert into plans (id, plan, keep) values (%s, %s, %s) on conflict do nothing",
                (plan.id, plan.to_json(), keep),
            )
            self._give(db, plan.id)
        held = self._plan(plan.id)[2]
        if held != keep:
            raise InputError(f"this plan is in the store already, and keeps {held}")

    def _give(self, db: Connection, plan_id: str) -> None:
        """Note the key that is given out for a plan that was added."""
        if self._giving is not None:
            db.execute(
                "insert into given select number, %b from plans where id = %s and open on conflict do nothing",
                (self._giving, plan_id),
            )

    def plans(self) -> list[HeldPlan]:
        """Return all plans."""
        rows = self._pool.rows("select id, open from plans order by number")
        return [HeldPlan(plan, keep, open_) for id_, open_ in rows for _, plan, keep in [self._plan(id_)]]

    def size(self) -> int:
        """Return the bytes of its database."""
        return int(self._pool.rows("select pg_database_size(current_database())")[0][0])

    @understanding()
    def _plan(self, plan_id: str) -> tuple[int, Plan, Keep]:
        if plan_id not in self._plans:
            rows = self._pool.rows("select number, plan, keep from plans where id = %s", (plan_id,))
            if not rows:
                raise NotHeld("this store does not have this plan")
            number, text, keep = rows[0]
            self._plans[plan_id] = number, Plan.from_json(text, plan_id), keep
        return self._plans[plan_id]

    def close_plan(self, plan_id: str) -> None:
        """Take no more reports of a plan."""
        number = self._plan(plan_id)[0]
        with self._pool.transaction() as db:
            db.execute("select pg_advisory_xact_lock(%s, %s)", (PLAN, number))
            db.execute("update plans set open = false where number = %s", (number,))
            db.execute("delete from given where plan = %s", (number,))
        if not self._sweeper.forget(number):  # another process has begun to, and may be killed
            self._sweeper.begin()

    # -- reports

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        """Count new submissions, durably; return the outcome of each."""

        def run(db: Connection, shard: int) -> list[Result]:
            return Commit(db, shard, plans, trainings, self._rounds, self._increments).run(submissions)

        with self._committing, failing():
            plans, trainings = self._named(submissions)
            return self._written(run)

    def _written(self, work: Callable[[Connection, int], Done]) -> Done:
        """Do work with the session that commits, and return its result; try again where that may help."""
        for attempt in range(ATTEMPTS):
            fresh, began = self._writer is None, time.monotonic()
            try:
                return self._attempt(work)
            except AGAIN:
                if attempt == ATTEMPTS - 1:
                    raise
            except psycopg.OperationalError:
                # The session may have ended while nothing was sent: the server was restarted. Even if the commit
                # went through and only its answer was lost, trying again is right: its ids are there then.
                if fresh or attempt or time.monotonic() - began > QUICK:
                    raise
        raise AssertionError

    def _attempt(self, work: Callable[[Connection, int], Done]) -> Done:
        if self._writer is None:
            self._writer = self._claim()
        db, shard = self._writer
        try:
            with self._watch.over(db, db.patience + SENDING):
                return work(db, shard)
        except BaseException:
            # The server rolls back when the session ends, whatever state it is in.
            self._writer = None
            db.close()
            raise

    def _claim(self) -> tuple[Connection, int]:
        """Open a session for commits, and claim the first shard that no other session has."""
        db = connect(self._url, self._watch)
        try:
            shard = 0
            with self._watch.over(db, db.patience):
                while db.execute("select pg_try_advisory_lock(%s, %s)", (SHARD, shard)).fetchone() != (True,):
                    shard += 1
        except BaseException:
            db.close()
            raise
        return db, shard

    def _named(
        self, submissions: Sequence[Submission]
    ) -> tuple[dict[str, tuple[int, Plan, Keep]], dict[str, tuple[int, int, Course | None]]]:
        """Return those plans and trainings of the submissions that the store has."""
        plans, trainings = {}, {}
        for submission in submissions:
            with suppress(NotHeld):
                if isinstance(submission, Gradient):
                    trainings[submission.training] = self._training(submission.training)
                else:
                    plans[submission.plan.id] = self._plan(submission.plan.id)
        return plans, trainings

    @understanding()
    def tally(self, plan: Plan) -> Tally:
        """Return the tally of everything committed."""
        layout, number = layout_of(plan), self._plan(plan.id)[0]
        return layout.tally(_sum(layout, self._pool.rows(COUNTS, (number, number))))

    @understanding()
    def reveal(self, plan: Plan, known: int | None, least: int, period: Period | None = None) -> Tally:
        """Return the tally that readers see, and move it if it is time."""
        layout, number = layout_of(plan), self._plan(plan.id)[0]
        rows = self._pool.rows("select vector from shown where plan = %s", (number,))
        shown = layout.decode(rows[0][0]) if rows else layout.zero()
        if known is None or layout.people(shown) != known:
            return layout.tally(shown)
        with self._pool.transaction() as db:
            zero = layout.encode(layout.zero())
            db.execute("insert into shown (plan, vector) values (%s, %b) on conflict do nothing", (number, zero))
            held = db.execute("select vector from shown where plan = %s for update", (number,)).fetchall()
            shown, now = layout.decode(held[0][0]), _sum(layout, db.execute(COUNTS, (number, number)).fetchall())
            if layout.people(shown) == known and layout.people(now) - known >= max(least, 1):
                db.execute("update shown set vector = %b where plan = %s", (layout.encode(now), number))
                if period is not None and layout.is_tally(minus(now, shown)):
                    _count(db, plan, number, period, minus(now, shown))
                shown = now
        return layout.tally(shown)

    @understanding()
    def periods(self, plan: Plan) -> list[tuple[Period, Tally]]:
        """Return the tally of every period."""
        layout, number = layout_of(plan), self._plan(plan.id)[0]
        rows = self._pool.rows(
            "select start, days, vector from periods where plan = %s order by start + days, start", (number,)
        )
        return [(Period(start, days), layout.tally(layout.decode(data))) for start, days, data in rows]

    def refused(self, plan: Plan) -> int:
        """Return how many sealed reports of a plan were dropped."""
        number = self._plan(plan.id)[0]
        rows = self._pool.rows("select coalesce(sum(reports), 0)::bigint from refused where plan = %s", (number,))
        return int(rows[0][0])

    # -- names of stores

    def names(self) -> tuple[bytes, ...]:
        """Return the names of this store, the newest first."""
        return tuple(bytes(name) for (name,) in self._pool.rows("select name from names order by number desc"))

    def rename(self) -> tuple[bytes, ...]:
        """Take a new name."""
        with self._pool.transaction() as db:
            db.execute("insert into names (name) values (%b)", (token_bytes(NAME_SIZE),))
        return self.names()

    def sites(self, plan: Plan) -> list[Site]:
        """Return the other stores whose tallies were handed on."""
        rows = self._pool.rows(
            "select name, vector from handed where plan = %s order by name", (self._plan(plan.id)[0],)
        )
        return [Site(bytes(name), None if data is None else int(unpacked(data)[0])) for name, data in rows]

    # -- keys of sealed reports

    def give_key(self, key: bytes) -> None:
        """Note a public key that is given out from now on."""
        with self._pool.transaction() as db:
            db.execute("insert into given select number, %b from plans where open on conflict do nothing", (key,))
        self._giving = key

    def given_keys(self) -> dict[str, set[bytes]]:
        """Return the keys that were given out for each open plan."""
        found: dict[str, set[bytes]] = {}
        for plan_id, key in self._pool.rows("select id, key from given join plans on number = given.plan where open"):
            found.setdefault(plan_id, set()).add(bytes(key))
        return found

    def take_back_key(self, key: bytes) -> None:
        """Forget that a key was given out."""
        with self._pool.transaction() as db:
            db.execute("delete from given where key = %b", (key,))

    def bodies(self, plan: Plan, after: int = 0) -> Iterator[Stored]:
        """Return the stored bodies of a plan behind a place, in order.

        Places are assigned before their commit. So this takes all bodies of a moment at which nobody commits: no body
        can appear before them any more.
        """
        number = self._plan(plan.id)[0]
        with self._pool.transaction() as db:
            db.execute("select pg_advisory_xact_lock(%s, %s)", (PLAN, number))
            row = db.execute("select max(place) from bodies where plan = %s", (number,)).fetchone()
        last = row[0] if row is not None else None
        while last is not None:
            rows = self._pool.rows(
                "select place, reports, form, body, own from bodies where plan = %s and place > %s and place <= %s "
                "order by place limit %s",
                (number, after, last, PAGE),
            )
            if not rows:
                return
            for place, reports, form, body, own in rows:
                yield Stored(place, reports, Form(form), body, own)
                after = place

    # -- compaction

    @contextmanager
    def compacting(self, plan: Plan) -> Iterator[None]:
        """Keep other processes from compacting or exporting the same plan."""
        number = self._plan(plan.id)[0]
        with self._pool.session() as db:
            row = db.execute("select pg_try_advisory_lock(%s, %s)", (COMPACTING, number)).fetchone()
            if row != (True,):
                raise StoreError("another process is compacting or exporting this plan")
            yield
            db.execute("select pg_advisory_unlock(%s, %s)", (COMPACTING, number))

    def segments(self, plan: Plan) -> list[Segment]:
        """Return the Parquet files that hold reports of a plan."""
        rows = self._pool.rows(
            "select file, reports, digest, own from segments where plan = %s order by number", (self._plan(plan.id)[0],)
        )
        return [Segment(*row) for row in rows]

    def replace(self, plan: Plan, last: int, segments: Sequence[Segment]) -> None:
        """Record segments in place of all bodies (but tallies) up to a place, in one transaction."""
        number = self._plan(plan.id)[0]
        with self._pool.transaction(patient=True) as db:
            rows = db.execute(
                "delete from bodies where plan = %s and place <= %s and form <> %s returning reports",
                (number, last, Form.TALLY.value),
            ).fetchall()
            if sum(reports for (reports,) in rows) != sum(segment.reports for segment in segments):
                raise StoreError("these segments do not hold the same reports as the store")
            for segment in segments:
                db.execute(
                    "insert into segments (plan, file, reports, digest, own) values (%s, %s, %s, %s, %s)",
                    (number, *segment),
                )

    # -- trainings

    def add_training(self, name: str, first: Phase, wanted: int, course: Course | None = None) -> None:
        """Begin a training."""
        book = RoundBook.begun(first, wanted, course)
        with self._pool.transaction() as db:
            db.execute(
                "insert into trainings (name, wanted, current, round, gradients, losses, course) "
                "values (%s, %s, %s, %s, %b, %b, %s) on conflict do nothing",
                (name, wanted, first.number, first.to_json(), *book.encoded(), course and course.to_json()),
            )

    def trainings(self) -> list[str]:
        """Return the names of all trainings."""
        return [name for (name,) in self._pool.rows("select name from trainings order by number")]

    def _training(self, name: str) -> tuple[int, int, Course | None]:
        if name not in self._trainings:
            held = "\0" not in name  # which is in no text of PostgreSQL: it would complain
            rows = (
                self._pool.rows("select number, wanted, course from trainings where name = %s", (name,)) if held else []
            )
            if not rows:
                raise NotHeld("this store does not have this training")
            number, wanted, text = rows[0]
            self._trainings[name] = number, wanted, None if text is None else Course.from_json(text)
        return self._trainings[name]

    @understanding()
    def live(self, name: str) -> Live:
        """Return the state of a training."""
        number, wanted, course = self._training(name)
        known = self._rounds.get(number)
        ((current, text, gradients, losses),) = self._pool.rows(
            "select current, case when current = %s then '' else round end, gradients, losses "
            "from trainings where number = %s",
            (known.number if known is not None else None, number),
        )
        if known is None or known.number != current:
            known = self._rounds[number] = phase_from_json(text)
        return RoundBook.decoded(known, wanted, gradients, losses, course).live()

    def history(self, name: str) -> list[Past]:
        """Return the rounds of a training that are over."""
        rows = self._pool.rows(
            "select number, weights, people, loss, loss_error from rounds where training = %s order by number",
            (self._training(name)[0],),
        )
        return [Past(row[0], tuple(json.loads(row[1])), *row[2:]) for row in rows]

    # -- pilots

    def add_narrowing(self, pilot: Plan, first: int, people: int) -> None:
        """Let a plan be a pilot."""
        number = self._plan(pilot.id)[0]
        with self._pool.transaction() as db:
            db.execute(
                "insert into narrowings (plan, first, people, wanted) values (%s, %s, %s, %s) on conflict do nothing",
                (number, first, people, first),
            )
        check_numbers(self._narrowing(pilot.id), first, people)

    @understanding()
    def narrowings(self) -> list[Narrowing]:
        """Return all pilots."""
        return [self._checked(row) for row in self._pool.rows(PILOTS)]

    def _checked(self, row: tuple[Any, ...]) -> Narrowing:
        found = Narrowing(*row)
        if found.second is not None:
            check_second(self._plan(found.pilot)[1], self._plan(found.second)[1])
        return found

    def _narrowing(self, pilot_id: str) -> Narrowing:
        found = [one for one in self.narrowings() if one.pilot == pilot_id]
        if not found:
            raise NotHeld("this plan is no pilot of this store")
        return found[0]

    def narrowed(self, pilot: Plan, tried: int, second: Plan | None, wanted: int) -> Narrowing:
        """Record the outcome of a try."""
        number, _, keep = self._plan(pilot.id)
        if second is not None:
            check_second(pilot, second)
        with self._pool.transaction() as db:
            # Both rows are locked: no other process decides meanwhile, nor closes the pilot.
            due = db.execute(
                "select 1 from narrowings join plans on plans.number = narrowings.plan "
                "where plans.number = %s and wanted = %s and second is null and open for update",
                (number, tried),
            ).fetchone()
            if due is not None and second is not None:
                db.execute(
                    "insert into plans (id, plan, keep) values (%s, %s, %s) on conflict do nothing",
                    (second.id, second.to_json(), keep),
                )
                self._give(db, second.id)
                db.execute(
                    "update narrowings set second = (select number from plans where id = %s) where plan = %s",
                    (second.id, number),
                )
            elif due is not None:
                db.execute("update narrowings set wanted = %s where plan = %s", (wanted, number))
        return self._narrowing(pilot.id)

    # -- life

    def check(self) -> None:
        """Make a test commit, by the session that commits, behind the locks that a commit takes."""
        with self._committing, failing():
            self._written(rehearse)

    def close(self) -> None:
        """Let go of the database. Sessions that still wait for the server are cut: their work was not acknowledged."""
        self._sweeper.close()
        self._watch.close()
        if self._committing.acquire(timeout=CLOSING):
            if self._writer is not None:
                self._writer[0].close()
                self._writer = None
            self._committing.release()
        self._pool.close()


def _sum(layout: Layout, rows: Sequence[tuple[Any, ...]]) -> Array:
    """Return the sum of whole vectors and increments."""
    vector = layout.zero()
    for whole, data in rows:
        vector = plus(vector, layout.decode(data)) if whole else layout.add_few(vector, data)
    return vector


def _count(db: Connection, plan: Plan, number: int, period: Period, added: Array) -> None:
    """Add counts to a period. The caller has locked what is shown, so nobody else counts meanwhile."""
    rows = db.execute("select start, days, vector from periods where plan = %s", (number,)).fetchall()
    held = {Period(start, days): data for start, days, data in rows}
    period = latest(held, period)
    if period in held:
        added = plus(added, layout_of(plan).decode(held[period]))
    db.execute(
        "insert into periods (plan, start, days, vector) values (%s, %s, %s, %b) "
        "on conflict (plan, start, days) do update set vector = excluded.vector",
        (number, *period, layout_of(plan).encode(added)),
    )
