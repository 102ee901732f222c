"""The embedded store: one SQLite file in WAL mode, written by one process.

**Durability.** `synchronous = full`: a commit returns when the log is on disk. Tallies are written in the transaction
that counts, so after a crash they are exactly those of the ids and bodies that are there.

**Wide tallies.** A tally of texts takes megabytes. A commit of few reports writes the counts that it changes, as an
increment. When the increments of a plan take a quarter of its tally, the tally is written anew, and they are deleted.

**Ids.** 16 bytes each, in few rows (`hush.collector.stores.sqlite_runs`). They are dropped when the plan is closed.

**Memory.** Plans, tallies and rounds are held in memory as well, as values that are replaced and never changed: they
are read without waiting for a commit.

**One process.** The file is locked for as long as the store is open, so a second collector on it is refused. Every
transaction makes sure that the next start will find it (`hush.collector.stores.sqlite_file`).

**Others.** Any program may still write to a SQLite file. A transaction that notices it reads everything again before it
counts: within a transaction nobody else writes, so the counts and ids are those on disk, and nothing is lost or counted
twice. Refusing for good would need a restart, which would read the same.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_bytes
from typing import Any

import numpy as np

from hush.collector.periods import Period, latest
from hush.collector.stores import sqlite_file
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
from hush.collector.stores.bookkeeping import (
    Group,
    IdBook,
    Named,
    Place,
    PlanBook,
    RoundBook,
    ids_of,
    names_of,
    rivals_of,
)
from hush.collector.stores.sqlite_runs import Runs
from hush.collector.submissions import Form, Result, Submission
from hush.collector.vectors import ROW, layout_of, minus, packed, plus, unpacked
from hush.core.plan import Plan
from hush.core.stores import NAME_SIZE
from hush.core.training.courses import Course
from hush.core.training.stages import Phase, phase_from_json
from hush.errors import InputError, StoreError
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

logger = logging.getLogger("hush.collector")

JOINED = 10  # the version of the tables from which on short runs are put together
CLOSING = 5.0  # seconds that a commit may still take when the store is closed


class SqliteStore(Store):
    """A store in one file."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path).resolve()  # the log lies beside the file itself, and not beside a link to it
        self._lock = threading.RLock()
        self._doubtful = False
        self._closing = threading.Event()
        self._giving: bytes | None = None
        with ExitStack() as undo:  # a store that is refused leaves nothing open
            self._files = sqlite_file.Locked(self.path, create=create)
            undo.callback(self._files.close)
            with sqlite_file.failing("opened"):
                self._db = sqlite_file.connect(self.path)
                undo.callback(self._db.close)
                self._runs = Runs(self._db)
                with sqlite_file.upgrading(self._db) as before:
                    if before.tables < JOINED:
                        self._runs.join()
                    self._others = sqlite_file.writes_of_others(self._db)
                    self._load()
            self._files.settle()
            undo.pop_all()
        self._sweeping: threading.Thread | None = None
        if left := self._runs.left():
            self._sweeping = threading.Thread(target=self._sweep, args=(left,), name="hush-sweep", daemon=True)
            self._sweeping.start()

    @understanding()
    def _load(self) -> None:
        plans: dict[str, tuple[int, HeldPlan]] = {}
        vectors: dict[int, Array] = {}
        trainings: dict[str, tuple[int, RoundBook]] = {}
        for number, text, keep, open_, tally in self._db.execute(
            "select number, plan, keep, open, tally from plans order by number"
        ):
            plan = Plan.from_json(text)
            plans[plan.id] = number, HeldPlan(plan, keep, bool(open_))
            vectors[number] = layout_of(plan).decode(tally)
        for number, name, wanted, text, gradients, losses, given in self._db.execute(
            "select number, name, wanted, round, gradients, losses, course from trainings order by number"
        ):
            course = None if given is None else Course.from_json(given)
            trainings[name] = number, RoundBook.decoded(phase_from_json(text), wanted, gradients, losses, course)
        layouts = {number: layout_of(held.plan) for number, held in plans.values()}
        increments: dict[int, int] = {}
        for number, counts in self._db.execute("select plan, counts from increments order by rowid"):
            vectors[number] = layouts[number].add_few(vectors[number], counts)
            increments[number] = increments.get(number, 0) + ROW + len(counts)
        self._shown: dict[int, Array] = {
            number: layouts[number].decode(tally) for number, tally in self._db.execute("select plan, tally from shown")
        }
        narrowings = {row[0]: Narrowing(*row) for row in self._db.execute(PILOTS)}
        for found in narrowings.values():
            if found.second is not None:
                check_second(plans[found.pilot][1].plan, plans[found.second][1].plan)
        self._names: tuple[bytes, ...] = tuple(
            name for (name,) in self._db.execute("select name from names order by number desc")
        )
        self._plans, self._vectors, self._trainings = plans, vectors, trainings
        self._narrowings, self._increments = narrowings, increments
        self._runs.load()
        self._doubtful = False

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, sqlite_file.failing():
            if self._db.in_transaction:
                self._db.execute("rollback")
            self._files.check()
            self._db.execute("begin immediate")
            try:
                self._refresh()
                yield
            except BaseException:
                self._roll_back()  # nothing in memory has changed yet
                raise
            try:
                self._db.execute("commit")
                self._files.check()
            except BaseException:
                # The next transaction reads everything into memory again: the disk decides.
                self._doubtful = True
                self._roll_back()
                raise

    def _refresh(self) -> None:
        """Read everything again if memory may differ from the disk. Called within a transaction."""
        others = sqlite_file.writes_of_others(self._db)
        if others == self._others and not self._doubtful:
            return
        if others != self._others:
            logger.warning("another program has written to the file of the store, which is read again")
        self._doubtful = True
        sqlite_file.check_kind(self._db)
        self._load()
        self._others = others

    def _roll_back(self) -> None:
        """Undo a transaction. Some errors have done that by themselves, others leave it open."""
        if self._db.in_transaction:
            self._doubtful, was = True, self._doubtful
            self._db.execute("rollback")
            self._doubtful = was

    # -- plans

    def add_plan(self, plan: Plan, keep: Keep = "reports") -> None:
        """Take reports of a plan from now on."""
        with self._lock:
            zero = layout_of(plan).zero()
            with self._transaction():
                if plan.id in self._plans:
                    held = self._plans[plan.id][1].keep
                    if held != keep:
                        raise InputError(f"this plan is in the store already, and keeps {held}")
                    return
                number = self._insert(plan, keep)
            self._vectors[number] = zero  # before readers can find the plan
            self._plans[plan.id] = number, HeldPlan(plan, keep)

    def _insert(self, plan: Plan, keep: Keep) -> int:
        """Write a new plan, and return its number."""
        cursor = self._db.execute(
            "insert into plans (id, plan, keep, tally) values (?, ?, ?, ?)",
            (plan.id, plan.to_json(), keep, layout_of(plan).encode(layout_of(plan).zero())),
        )
        number = int(cursor.lastrowid or 0)
        if self._giving is not None:
            self._db.execute("insert into given values (?, ?)", (number, self._giving))
        return number

    def plans(self) -> list[HeldPlan]:
        """Return all plans."""
        return [held for _, held in list(self._plans.values())]

    def size(self) -> int:
        """Return the bytes of its file and of the log beside it."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(path.stat().st_size for path in (self.path, log) if path.exists())

    def close_plan(self, plan_id: str) -> None:
        """Take no more reports of a plan."""
        with self._lock:
            with self._transaction():
                number, held = self._find(plan_id)
                self._db.execute("update plans set open = 0 where number = ?", (number,))
                self._db.execute("delete from given where plan = ?", (number,))
            self._runs.drop(number)
            self._plans[plan_id] = number, HeldPlan(held.plan, held.keep, open=False)
        self._forget(number)

    def _forget(self, number: int) -> None:
        """Forget the ids of a closed plan on disk, a piece at a time: commits go on in between."""
        last: int | None = 0
        while last is not None and not self._closing.is_set():
            with self._transaction():
                last = self._runs.forget(number, last)

    def _sweep(self, left: Sequence[int]) -> None:
        """Forget what a kill has left of closed plans. What a failure leaves is found by the next start."""
        try:
            for number in left:
                self._forget(number)
        except StoreError as error:
            if not self._closing.is_set():
                logger.warning("ids of closed plans are not forgotten yet: %s", error)

    def _find(self, plan_id: str) -> tuple[int, HeldPlan]:
        if plan_id not in self._plans:
            raise NotHeld("this store does not have this plan")
        return self._plans[plan_id]

    # -- reports

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        """Count new submissions, durably; return the outcome of each."""
        with self._lock:
            with self._transaction():
                asked = ids_of(submissions, self._plans, self._trainings)
                ids = IdBook(self._runs.fresh(asked))
                handed = self._handed(names_of(submissions, self._plans))
                group = Group(self._plans, self._trainings, ids, handed)
                outcomes = [group.take(submission) for submission in submissions]
                vectors = {number: plus(self._vectors[number], book.added) for number, book in group.plans.items()}
                increments = {
                    number: self._write_plan(number, book, vectors[number]) for number, book in group.plans.items()
                }
                self._db.executemany(
                    "insert or replace into handed (plan, name, tally, later) values (?, ?, ?, ?)",
                    [
                        (*place, None if vector is None else packed(vector), later)
                        for place, (vector, later) in group.changed.items()
                    ],
                )
                self._write_rounds(group)
                written = self._runs.write(ids.taken())
                self._doubtful = True  # until memory and disk agree: a failure in between must not be missed
            self._runs.take(written)
            self._vectors.update(vectors)
            self._increments.update(increments)
            self._trainings = self._trainings | group.rounds
            self._doubtful = False
            return outcomes

    def _handed(self, places: Sequence[Place]) -> dict[Place, Named]:
        """Return what other stores have handed on under these names, and in their place, within a transaction."""
        found: dict[Place, Named] = {}

        def read(place: Place) -> None:
            row = self._db.execute("select tally, later from handed where plan = ? and name = ?", place).fetchone()
            if row is not None:
                found[place] = Named(None if row[0] is None else unpacked(row[0]), row[1])

        for place in places:
            read(place)
        for place in rivals_of(found):
            read(place)
        return found

    def _write_plan(self, number: int, book: PlanBook, vector: Array) -> int:
        """Write counts and bodies; return how many bytes the increments of the plan take then."""
        if book.refused:
            self._db.execute(
                "insert into refused values (?, ?) on conflict do update set reports = reports + excluded.reports",
                (number, book.refused),
            )
        few, before = book.layout.encode_few(book.added), self._increments.get(number, 0)
        after = book.layout.room(before, few)
        self._db.executemany(
            "insert into bodies (plan, reports, form, body, own) values (?, ?, ?, ?, ?)",
            ((number, kept.reports, kept.form.value, kept.body, kept.own) for kept in book.bodies()),
        )
        if after is not None:
            self._db.execute("insert into increments (plan, counts) values (?, ?)", (number, few))
            return after
        self._db.execute("update plans set tally = ? where number = ?", (book.layout.encode(vector), number))
        if before:
            self._db.execute("delete from increments where plan = ?", (number,))
        return 0

    def _write_rounds(self, group: Group) -> None:
        for number, past in group.past:
            self._db.execute(
                "insert into rounds values (?, ?, ?, ?, ?, ?)",
                (number, past.number, json.dumps(past.weights), past.people, past.loss, past.loss_error),
            )
        for number, book in group.rounds.values():
            self._db.execute(
                "update trainings set round = ?, gradients = ?, losses = ? where number = ?",
                (book.round.to_json(), *book.encoded(), number),
            )

    @understanding()
    def tally(self, plan: Plan) -> Tally:
        """Return the tally of everything committed."""
        return layout_of(plan).tally(self._vectors[self._find(plan.id)[0]])

    @understanding()
    def reveal(self, plan: Plan, known: int | None, least: int, period: Period | None = None) -> Tally:
        """Return the tally that readers see, and move it if it is time."""
        layout = layout_of(plan)
        if known is not None:
            with self._lock:
                if self._to_show(plan, known, least) is not None:
                    with self._transaction():
                        found = self._to_show(plan, known, least)  # what the transaction has read may be new
                        if found is not None:
                            row = (found[0], layout.encode(found[1]))
                            self._db.execute("insert or replace into shown (plan, tally) values (?, ?)", row)
                            if period is not None:
                                added = minus(found[1], self._shown.get(found[0], layout.zero()))
                                if layout.is_tally(added):
                                    self._count(plan, found[0], period, added)
                    if found is not None:
                        self._shown[found[0]] = found[1]
        return layout.tally(self._shown.get(self._find(plan.id)[0], layout.zero()))

    def _to_show(self, plan: Plan, known: int, least: int) -> tuple[int, Array] | None:
        """Return the number of a plan and what is to be shown of it, if it is time to move what `known` saw."""
        number = self._find(plan.id)[0]
        layout = layout_of(plan)
        shown, now = self._shown.get(number, layout.zero()), self._vectors[number]
        moves = layout.people(shown) == known and layout.people(now) - known >= max(least, 1)
        return (number, now) if moves else None

    def _count(self, plan: Plan, number: int, period: Period, added: Array) -> None:
        """Add counts to a period, within a transaction."""
        rows = self._db.execute("select start, days, tally from periods where plan = ?", (number,)).fetchall()
        held = {Period(start, days): data for start, days, data in rows}
        period = latest(held, period)
        if period in held:
            added = plus(added, layout_of(plan).decode(held[period]))
        self._db.execute(
            "insert or replace into periods (plan, start, days, tally) values (?, ?, ?, ?)",
            (number, *period, layout_of(plan).encode(added)),
        )

    @understanding()
    def periods(self, plan: Plan) -> list[tuple[Period, Tally]]:
        """Return the tally of every period."""
        layout = layout_of(plan)
        with self._lock, sqlite_file.failing():
            rows = self._db.execute(
                "select start, days, tally from periods where plan = ? order by start + days, start",
                (self._find(plan.id)[0],),
            ).fetchall()
        return [(Period(start, days), layout.tally(layout.decode(data))) for start, days, data in rows]

    def refused(self, plan: Plan) -> int:
        """Return how many sealed reports of a plan were dropped."""
        with self._lock, sqlite_file.failing():
            row = self._db.execute("select reports from refused where plan = ?", (self._find(plan.id)[0],)).fetchone()
        return 0 if row is None else int(row[0])

    # -- names of stores

    def names(self) -> tuple[bytes, ...]:
        """Return the names of this store, the newest first."""
        return self._names

    def rename(self) -> tuple[bytes, ...]:
        """Take a new name."""
        name = token_bytes(NAME_SIZE)
        with self._lock:
            with self._transaction():
                self._db.execute("insert into names (name) values (?)", (name,))
            self._names = name, *self._names
            return self._names

    def sites(self, plan: Plan) -> list[Site]:
        """Return the other stores whose tallies were handed on."""
        with self._lock, sqlite_file.failing():
            rows = self._db.execute(
                "select name, tally from handed where plan = ? order by name", (self._find(plan.id)[0],)
            ).fetchall()
        return [Site(name, None if data is None else int(unpacked(data)[0])) for name, data in rows]

    # -- keys of sealed reports

    def give_key(self, key: bytes) -> None:
        """Note a public key that is given out from now on."""
        with self._transaction():
            self._db.execute("insert or ignore into given select number, ? from plans where open", (key,))
            self._giving = key

    def given_keys(self) -> dict[str, set[bytes]]:
        """Return the keys that were given out for each open plan."""
        with self._lock, sqlite_file.failing():
            rows = self._db.execute("select id, key from given join plans on number = given.plan where open").fetchall()
        found: dict[str, set[bytes]] = {}
        for plan_id, key in rows:
            found.setdefault(plan_id, set()).add(bytes(key))
        return found

    def take_back_key(self, key: bytes) -> None:
        """Forget that a key was given out."""
        with self._transaction():
            self._db.execute("delete from given where key = ?", (key,))

    def bodies(self, plan: Plan, after: int = 0) -> Iterator[Stored]:
        """Return the stored bodies of a plan behind a place, in order."""
        while True:
            with self._lock, sqlite_file.failing():
                number = self._find(plan.id)[0]
                rows = self._db.execute(
                    "select place, reports, form, body, own from bodies where plan = ? and place > ? "
                    "order by place limit 64",
                    (number, after),
                ).fetchall()
            if not rows:
                return
            for place, reports, form, body, own in rows:
                yield Stored(place, reports, Form(form), body, own)
                after = place

    # -- compaction

    def segments(self, plan: Plan) -> list[Segment]:
        """Return the Parquet files that hold reports of a plan."""
        with self._lock, sqlite_file.failing():
            number = self._find(plan.id)[0]
            rows = self._db.execute(
                "select file, reports, digest, own from segments where plan = ? order by number", (number,)
            ).fetchall()
        return [Segment(*row) for row in rows]

    def replace(self, plan: Plan, last: int, segments: Sequence[Segment]) -> None:
        """Record segments in place of all bodies (but tallies) up to a place, in one transaction."""
        with self._lock, self._transaction():
            number = self._find(plan.id)[0]
            deleted = self._db.execute(
                "delete from bodies where plan = ? and place <= ? and form != ? returning reports",
                (number, last, Form.TALLY.value),
            ).fetchall()
            if sum(reports for (reports,) in deleted) != sum(segment.reports for segment in segments):
                raise StoreError("these segments do not hold the same reports as the store")
            self._db.executemany(
                "insert into segments (plan, file, reports, digest, own) values (?, ?, ?, ?, ?)",
                ((number, *segment) for segment in segments),
            )

    # -- trainings

    def add_training(self, name: str, first: Phase, wanted: int, course: Course | None = None) -> None:
        """Begin a training."""
        with self._lock:
            book = RoundBook.begun(first, wanted, course)
            with self._transaction():
                if name in self._trainings:
                    return
                cursor = self._db.execute(
                    "insert into trainings (name, wanted, round, gradients, losses, course) values (?, ?, ?, ?, ?, ?)",
                    (name, wanted, first.to_json(), *book.encoded(), None if course is None else course.to_json()),
                )
            self._trainings[name] = int(cursor.lastrowid or 0), book

    def trainings(self) -> list[str]:
        """Return the names of all trainings."""
        return list(self._trainings)

    def _training(self, name: str) -> tuple[int, RoundBook]:
        if name not in self._trainings:
            raise NotHeld("this store does not have this training")
        return self._trainings[name]

    def live(self, name: str) -> Live:
        """Return the state of a training."""
        return self._training(name)[1].live()

    def history(self, name: str) -> list[Past]:
        """Return the rounds of a training that are over."""
        with self._lock, sqlite_file.failing():
            rows = self._db.execute(
                "select number, weights, people, loss, loss_error from rounds where training = ? order by number",
                (self._training(name)[0],),
            ).fetchall()
        return [Past(row[0], tuple(json.loads(row[1])), *row[2:]) for row in rows]

    # -- pilots

    def add_narrowing(self, pilot: Plan, first: int, people: int) -> None:
        """Let a plan be a pilot."""
        with self._lock:
            made = Narrowing(pilot.id, first, people, first, None)
            with self._transaction():
                number = self._find(pilot.id)[0]
                if pilot.id in self._narrowings:
                    check_numbers(self._narrowings[pilot.id], first, people)
                    return
                self._db.execute(
                    "insert into narrowings (plan, first, people, wanted) values (?, ?, ?, ?)",
                    (number, first, people, first),
                )
            self._narrowings[pilot.id] = made

    def narrowings(self) -> list[Narrowing]:
        """Return all pilots."""
        return list(self._narrowings.values())

    def narrowed(self, pilot: Plan, tried: int, second: Plan | None, wanted: int) -> Narrowing:
        """Record the outcome of a try."""
        if second is not None:
            check_second(pilot, second)
        with self._lock:
            with self._transaction():
                number, held = self._find(pilot.id)
                if pilot.id not in self._narrowings:
                    raise NotHeld("this plan is no pilot of this store")
                found = self._narrowings[pilot.id]
                if found.wanted != tried or found.second is not None or not held.open:
                    return found
                if second is None:
                    found = found._replace(wanted=wanted)
                    self._db.execute("update narrowings set wanted = ? where plan = ?", (wanted, number))
                else:
                    found = found._replace(second=second.id)
                    known = self._plans.get(second.id)  # an operator may have added the same plan
                    added = self._insert(second, held.keep) if known is None else known[0]
                    self._db.execute("update narrowings set second = ? where plan = ?", (added, number))
            if second is not None and known is None:
                self._vectors[added] = layout_of(second).zero()
                self._plans[second.id] = added, HeldPlan(second, held.keep)
            self._narrowings[pilot.id] = found
            return found

    # -- life

    def check(self) -> None:
        """Make a test commit. It waits for a commit that is under way, which may be stuck."""
        with self._transaction():
            self._db.execute("update pulse set beats = beats + 1")

    def close(self) -> None:
        """Let go of the database. A commit that is stuck keeps it until the process ends."""
        self._closing.set()
        if self._sweeping is not None:
            self._sweeping.join(CLOSING)
        if not self._lock.acquire(timeout=CLOSING):
            logger.error("the store is not closed: a commit is stuck")
            return
        try:
            self._db.close()
            self._files.close()
        finally:
            self._lock.release()
