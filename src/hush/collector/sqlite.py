"""The embedded store: one SQLite file in WAL mode, written by one process.

**Durability.** `synchronous = full`: a commit returns when the log is on disk. Tallies are written in the transaction
that counts, so after a crash they are exactly those of the ids and bodies that are there.

**Ids.** One row of 16 bytes and a few bytes around it per submission, in a tree ordered by plan and id, without row
numbers: about 26 bytes each. They are dropped when the plan is closed.

**Memory.** Plans, tallies and rounds are held in memory as well, as values that are replaced and never changed: they
are read without waiting for a commit.

**One process.** The file is locked for as long as the store is open, so a second collector on it is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from hush.collector.books import PlanBook, RoundBook
from hush.collector.stores import HeldPlan, Keep, Live, Past, Segment, Store, Stored, StoreError
from hush.collector.submissions import Batch, Form, Gradient, Outcome, Submission
from hush.collector.vectors import layout_of
from hush.learn.rounds import Round
from hush.plan import Plan
from hush.tally import Tally

Array = np.ndarray[Any, Any]

# Each step takes a database from one version to the next. Steps are only ever added.
MIGRATIONS = (
    """
    create table plans (
      number integer primary key, id text not null unique, plan text not null, keep text not null,
      open integer not null default 1, tally blob not null
    ) strict;
    create table seen (plan integer not null, id blob not null, primary key (plan, id)) strict, without rowid;
    create table bodies (
      place integer primary key autoincrement, plan integer not null, reports integer not null, form integer not null,
      body blob not null
    ) strict;
    create index bodies_of_plan on bodies (plan, place);
    create table segments (
      number integer primary key, plan integer not null, file text not null, reports integer not null,
      digest text not null
    ) strict;
    create table trainings (
      number integer primary key, name text not null unique, wanted integer not null, round text not null,
      gradients blob not null, losses blob not null
    ) strict;
    create table rounds (
      training integer not null, number integer not null, weights text not null, people integer not null,
      loss real, loss_error real, primary key (training, number)
    ) strict, without rowid;
    """,
)
TRAINING_IDS = 1 << 40  # in `seen`, trainings follow behind the plans


class SqliteStore(Store):
    """A store in one file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._lock = threading.RLock()
        self._doubtful = False
        self._file = _locked(self.path)
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, cached_statements=64)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")
            self._db.execute("pragma cache_size = -65536")
            self._migrate()
            self._load()
        except sqlite3.Error as error:
            self._file.close()
            raise StoreError(f"the store cannot be opened: {error}") from None
        except StoreError:
            self._file.close()
            raise

    def _migrate(self) -> None:
        version = self._db.execute("pragma user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise StoreError(f"this store is of version {version}; this hush knows versions up to {len(MIGRATIONS)}")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            with self._transaction():
                for statement in script.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"pragma user_version = {number}")

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
        for number, name, wanted, text, gradients, losses in self._db.execute(
            "select number, name, wanted, round, gradients, losses from trainings order by number"
        ):
            trainings[name] = number, RoundBook.decoded(Round.from_json(text), wanted, gradients, losses)
        self._plans, self._vectors, self._trainings = plans, vectors, trainings
        self._doubtful = False

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            if self._doubtful:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                self._load()
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                # Some errors roll back by themselves, others leave the transaction open. What is held in memory is
                # read again before the next one, in case that the disk says otherwise.
                self._doubtful = True
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    # -- plans

    def add_plan(self, plan: Plan, keep: Keep = "reports") -> None:
        """Take reports of a plan from now on."""
        with self._lock:
            if plan.id in self._plans:
                if self._plans[plan.id][1].keep != keep:
                    raise StoreError(f"this plan is in the store already, and keeps {self._plans[plan.id][1].keep}")
                return
            zero = layout_of(plan).zero()
            with self._transaction():
                cursor = self._db.execute(
                    "insert into plans (id, plan, keep, tally) values (?, ?, ?, ?)",
                    (plan.id, plan.to_json(), keep, layout_of(plan).encode(zero)),
                )
            number = int(cursor.lastrowid or 0)
            self._vectors[number] = zero  # before those who read can find the plan
            self._plans[plan.id] = number, HeldPlan(plan, keep)

    def plans(self) -> list[HeldPlan]:
        """Return all plans."""
        return [held for _, held in list(self._plans.values())]

    def close_plan(self, plan_id: str) -> None:
        """Take no more reports of a plan."""
        with self._lock:
            number, held = self._find(plan_id)
            with self._transaction():
                self._db.execute("update plans set open = 0 where number = ?", (number,))
                self._db.execute("delete from seen where plan = ?", (number,))
            self._plans[plan_id] = number, HeldPlan(held.plan, held.keep, open=False)

    def _find(self, plan_id: str) -> tuple[int, HeldPlan]:
        if plan_id not in self._plans:
            raise StoreError("this store does not have this plan")
        return self._plans[plan_id]

    # -- reports

    def commit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Count what is new, durably; return what became of each."""
        with self._lock:
            books: dict[int, PlanBook] = {}
            with self._transaction():
                rounds = dict(self._trainings)
                outcomes = [self._take(submission, books, rounds) for submission in submissions]
                vectors = {number: self._vectors[number] + book.added for number, book in books.items()}
                self._write(books, vectors)
                for name, (number, book) in rounds.items():
                    if book is not self._trainings[name][1]:
                        self._write_round(number, book)
            self._vectors.update(vectors)
            self._trainings = rounds
            return outcomes

    def _take(
        self, submission: Submission, books: dict[int, PlanBook], rounds: dict[str, tuple[int, RoundBook]]
    ) -> Outcome:
        if isinstance(submission, Gradient):
            return self._take_gradient(submission, rounds)
        if submission.plan.id not in self._plans:
            return Outcome.UNKNOWN
        number, held = self._plans[submission.plan.id]
        if not held.open:
            return Outcome.CLOSED
        if not self._is_new(number, submission.id):
            return Outcome.REPEATED
        if isinstance(submission, Batch) and submission.ids and not self._are_new(number, submission):
            return Outcome.OVERLAPPING
        if number not in books:
            books[number] = PlanBook(held.plan)
        books[number].count(submission)
        return Outcome.NEW

    def _is_new(self, number: int, id_: bytes) -> bool:
        return self._db.execute("insert or ignore into seen values (?, ?)", (number, id_)).rowcount == 1

    def _are_new(self, number: int, batch: Batch) -> bool:
        """Note the ids of the reports within a batch; if one is there already, forget all of them, and the batch's."""
        self._db.execute("savepoint within")
        cursor = self._db.executemany("insert or ignore into seen values (?, ?)", ((number, id_) for id_ in batch.ids))
        fresh = cursor.rowcount == len(batch.ids)
        if not fresh:
            self._db.execute("rollback to within")
            self._db.execute("delete from seen where plan = ? and id = ?", (number, batch.id))
        self._db.execute("release within")
        return fresh

    def _write(self, books: dict[int, PlanBook], vectors: dict[int, Array]) -> None:
        for number, book in books.items():
            held = next(held for other, held in self._plans.values() if other == number)
            self._db.execute(
                "update plans set tally = ? where number = ?", (layout_of(held.plan).encode(vectors[number]), number)
            )
            if held.keep == "reports":
                self._db.executemany(
                    "insert into bodies (plan, reports, form, body) values (?, ?, ?, ?)",
                    ((number, count, form.value, body) for count, form, body in book.bodies()),
                )

    def tally(self, plan: Plan) -> Tally:
        """Return the tally of all that was committed."""
        return layout_of(plan).tally(self._vectors[self._find(plan.id)[0]])

    def bodies(self, plan: Plan, after: int = 0) -> Iterator[Stored]:
        """Return the stored bodies of a plan behind a place, in order."""
        while True:
            with self._lock:
                number = self._find(plan.id)[0]
                rows = self._db.execute(
                    "select place, reports, form, body from bodies where plan = ? and place > ? "
                    "order by place limit 64",
                    (number, after),
                ).fetchall()
            if not rows:
                return
            for place, reports, form, body in rows:
                yield Stored(place, reports, Form(form), body)
                after = place

    # -- compaction

    def segments(self, plan: Plan) -> list[Segment]:
        """Return the Parquet files that hold reports of a plan."""
        with self._lock:
            number = self._find(plan.id)[0]
            rows = self._db.execute(
                "select file, reports, digest from segments where plan = ? order by number", (number,)
            ).fetchall()
        return [Segment(*row) for row in rows]

    def replace(self, plan: Plan, last: int, segments: Sequence[Segment]) -> None:
        """Record segments in place of all bodies (but tallies) up to a place, in one transaction."""
        with self._lock:
            number = self._find(plan.id)[0]
            with self._transaction():
                deleted = self._db.execute(
                    "delete from bodies where plan = ? and place <= ? and form != ? returning reports",
                    (number, last, Form.TALLY.value),
                ).fetchall()
                if sum(reports for (reports,) in deleted) != sum(segment.reports for segment in segments):
                    raise StoreError("these segments do not hold what the store has")
                self._db.executemany(
                    "insert into segments (plan, file, reports, digest) values (?, ?, ?, ?)",
                    ((number, *segment) for segment in segments),
                )

    # -- trainings

    def add_training(self, name: str, first: Round, wanted: int) -> None:
        """Begin a training."""
        with self._lock:
            if name in self._trainings:
                return
            book = RoundBook.begun(first, wanted)
            with self._transaction():
                cursor = self._db.execute(
                    "insert into trainings (name, wanted, round, gradients, losses) values (?, ?, ?, ?, ?)",
                    (name, wanted, first.to_json(), *book.encoded()),
                )
            self._trainings[name] = int(cursor.lastrowid or 0), book

    def _take_gradient(self, submission: Gradient, rounds: dict[str, tuple[int, RoundBook]]) -> Outcome:
        if submission.training not in rounds:
            return Outcome.UNKNOWN
        number, book = rounds[submission.training]
        if not self._is_new(TRAINING_IDS + number, submission.id):
            return Outcome.REPEATED
        if submission.report is None or not book.takes(submission):
            self._db.execute("delete from seen where plan = ? and id = ?", (TRAINING_IDS + number, submission.id))
            return Outcome.LATE
        book = book.counted(submission.report, submission.loss)
        if book.full:
            past, book = book.ended()
            self._db.execute(
                "insert into rounds values (?, ?, ?, ?, ?, ?)",
                (number, past.number, json.dumps(past.weights), past.people, past.loss, past.loss_error),
            )
        rounds[submission.training] = number, book
        return Outcome.NEW

    def _write_round(self, number: int, book: RoundBook) -> None:
        self._db.execute(
            "update trainings set round = ?, gradients = ?, losses = ? where number = ?",
            (book.round.to_json(), *book.encoded(), number),
        )

    def trainings(self) -> list[str]:
        """Return the names of all trainings."""
        return list(self._trainings)

    def _training(self, name: str) -> tuple[int, RoundBook]:
        if name not in self._trainings:
            raise StoreError("this store does not have this training")
        return self._trainings[name]

    def live(self, name: str) -> Live:
        """Return how a training stands."""
        return self._training(name)[1].live()

    def history(self, name: str) -> list[Past]:
        """Return the rounds of a training that are over."""
        with self._lock:
            rows = self._db.execute(
                "select number, weights, people, loss, loss_error from rounds where training = ? order by number",
                (self._training(name)[0],),
            ).fetchall()
        return [Past(row[0], tuple(json.loads(row[1])), *row[2:]) for row in rows]

    # -- life

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._db.close()
            self._file.close()


def _locked(path: Path) -> IO[str]:
    """Lock a file beside the database, until it is closed or the process ends."""
    try:
        file = path.with_name(f"{path.name}.lock").open("w")
    except OSError as error:
        raise StoreError(f"the store cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StoreError("another process has this store open; SQLite serves one collector, PostgreSQL many") from None
    return file
