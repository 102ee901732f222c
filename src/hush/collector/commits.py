"""One group of submissions, committed to PostgreSQL in two round trips, however large it is.

The first locks, in an order that is the same for all processes: the version of the tables, the plans, the rows of this
process's shard, the trainings, and the ids as they are inserted. The second writes what was counted, and commits.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psycopg

from hush.collector.books import IdBook, PlanBook, RoundBook
from hush.collector.database import PLAN, VERSION, Connection, check_version
from hush.collector.stores import Keep, Past
from hush.collector.submissions import ID_SIZE, Batch, Gradient, Outcome, Submission
from hush.collector.vectors import layout_of
from hush.learn.rounds import Round
from hush.plan import Plan

Array = np.ndarray[Any, Any]

TRAINING_IDS = 1 << 40  # in `seen`, trainings follow behind the plans

# A closed plan has forgotten its ids, and must not learn new ones.
INSERT_IDS = """
with fresh as (
  insert into seen (plan, id)
  select given.plan, substring(given.ids from 16 * i + 1 for 16)
  from unnest(%s::bigint[], %b::bytea[]) as given (plan, ids), generate_series(0, length(given.ids) / 16 - 1) as i
  where given.plan not in (select number from plans where not open)
  order by 1, 2
  on conflict do nothing returning plan, id
)
select plan, string_agg(id, ''::bytea) from fresh group by plan
"""


class Commit:
    """What one group changes. `plans` and `trainings` are those of its submissions that the store has, by id and by
    name; `rounds` are those known here, by number of the training, and are kept up to date.
    """

    def __init__(
        self,
        db: Connection,
        shard: int,
        plans: Mapping[str, tuple[int, Plan, Keep]],
        trainings: Mapping[str, tuple[int, int]],
        rounds: dict[int, Round],
    ) -> None:
        self._db, self._shard, self._plans, self._trainings, self._rounds = db, shard, plans, trainings, rounds
        self._plan_books: dict[int, PlanBook] = {}
        self._round_books: dict[int, RoundBook] = {}
        self._past: list[tuple[int, Past]] = []

    def run(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Count what is new, durably; return what became of each."""
        with self._db.pipeline():
            ids = self._lock(submissions)
            before = dict(self._round_books)
            outcomes = [self._take(submission, ids) for submission in submissions]
            self._write_plans()
            for number, book in self._round_books.items():
                if book is not before[number]:
                    self._write_round(number, book)
            if left := ids.left():
                self._db.execute(
                    "delete from seen using unnest(%s::bigint[], %b::bytea[]) as given (plan, id) "
                    "where seen.plan = given.plan and seen.id = given.id",
                    ([number for number, _ in left], [id_ for _, id_ in left]),
                )
            done = self._db.execute("commit")
        if done.statusmessage != "COMMIT":
            raise psycopg.OperationalError("the server did not commit")
        self._rounds.update({number: book.round for number, book in self._round_books.items()})
        return outcomes

    # -- the first round trip

    def _lock(self, submissions: Sequence[Submission]) -> IdBook:
        """Begin; lock and read what the group is about, and insert its ids."""
        db, numbers = self._db, sorted(number for number, _, _ in self._plans.values())
        asked = self._asked(submissions)
        db.execute("begin")
        db.execute(
            "select pg_advisory_xact_lock_shared(kind, number) from unnest(%s::int[], %s::int[]) as l (kind, number)",
            ([VERSION] + [PLAN] * len(numbers), [0, *numbers]),
        )
        version = db.execute("select number from version")
        opened = db.execute("select number from plans where number = any (%s::int[]) and open", (numbers,))
        vectors = db.execute(
            "select plan, vector from tallies where shard = %s and plan = any (%s::int[]) order by plan for update",
            (self._shard, numbers),
        )
        trainings = db.execute(
            "select number, current, gradients, losses from trainings where number = any (%s::int[]) "
            "order by number for update",
            (sorted(number for number, _ in self._trainings.values()),),
        )
        fresh = db.execute(INSERT_IDS, (list(asked), [b"".join(ids) for ids in asked.values()]))
        check_version(version.fetchall()[0][0])
        self._open = {number for (number,) in opened.fetchall()}
        self._vectors: dict[int, bytes] = dict(vectors.fetchall())
        wanted = dict(self._trainings.values())
        for number, current, gradients, losses in trainings.fetchall():
            round_ = self._round(number, current)
            self._round_books[number] = RoundBook.decoded(round_, wanted[number], gradients, losses)
        return IdBook({number: _cut(ids, asked[number]) for number, ids in fresh.fetchall()})

    def _asked(self, submissions: Sequence[Submission]) -> dict[int, set[bytes]]:
        """Return all ids of a group, by plan."""
        asked: dict[int, set[bytes]] = defaultdict(set)
        for submission in submissions:
            if isinstance(submission, Gradient):
                if submission.training in self._trainings:
                    asked[TRAINING_IDS + self._trainings[submission.training][0]].add(submission.id)
            elif submission.plan.id in self._plans:
                ids = asked[self._plans[submission.plan.id][0]]
                ids.add(submission.id)
                if isinstance(submission, Batch):
                    ids.update(submission.ids)
        if any(len(id_) != ID_SIZE for ids in asked.values() for id_ in ids):
            raise ValueError(f"an id has {ID_SIZE} bytes")
        return asked

    def _round(self, number: int, current: int) -> Round:
        known = self._rounds.get(number)
        if known is None or known.number != current:
            rows = self._db.execute("select round from trainings where number = %s", (number,)).fetchall()
            known = self._rounds[number] = Round.from_json(rows[0][0])
        return known

    # -- between them

    def _take(self, submission: Submission, ids: IdBook) -> Outcome:
        if isinstance(submission, Gradient):
            return self._take_gradient(submission, ids)
        if submission.plan.id not in self._plans:
            return Outcome.UNKNOWN
        number, plan, _ = self._plans[submission.plan.id]
        if number not in self._open:
            return Outcome.CLOSED
        if not ids.take(number, submission.id):
            return Outcome.REPEATED
        if isinstance(submission, Batch) and submission.ids and not ids.take_all(number, submission):
            return Outcome.OVERLAPPING
        if number not in self._plan_books:
            self._plan_books[number] = PlanBook(plan)
        self._plan_books[number].count(submission)
        return Outcome.NEW

    def _take_gradient(self, submission: Gradient, ids: IdBook) -> Outcome:
        if submission.training not in self._trainings:
            return Outcome.UNKNOWN
        number = self._trainings[submission.training][0]
        book = self._round_books[number]
        if not ids.take(TRAINING_IDS + number, submission.id):
            return Outcome.REPEATED
        if submission.report is None or not book.takes(submission):
            ids.give_back(TRAINING_IDS + number, submission.id)
            return Outcome.LATE
        book = book.counted(submission.report, submission.loss)
        if book.full:
            past, book = book.ended()
            self._past.append((number, past))
        self._round_books[number] = book
        return Outcome.NEW

    # -- the second round trip

    def _write_plans(self) -> None:
        for number, plan, keep in self._plans.values():
            book = self._plan_books.get(number)
            if book is None:
                continue
            layout = layout_of(plan)
            if number in self._vectors:
                vector = layout.encode(layout.decode(self._vectors[number]) + book.added)
                self._db.execute(
                    "update tallies set vector = %b where plan = %s and shard = %s", (vector, number, self._shard)
                )
            else:
                self._db.execute(
                    "insert into tallies (plan, shard, vector) values (%s, %s, %b)",
                    (number, self._shard, layout.encode(book.added)),
                )
            if keep == "reports":
                for count, form, body in book.bodies():
                    self._db.execute(
                        "insert into bodies (plan, reports, form, body) values (%s, %s, %s, %b)",
                        (number, count, form.value, body),
                    )

    def _write_round(self, number: int, book: RoundBook) -> None:
        for training, past in self._past:
            if training == number:
                self._db.execute(
                    "insert into rounds values (%s, %s, %s, %s, %s, %s)",
                    (number, past.number, json.dumps(past.weights), past.people, past.loss, past.loss_error),
                )
        self._db.execute(
            "update trainings set current = %s, round = %s, gradients = %b, losses = %b where number = %s",
            (book.round.number, book.round.to_json(), *book.encoded(), number),
        )


def _cut(data: bytes, asked: set[bytes]) -> set[bytes]:
    """Return ids that stand one after the other; most often they are all that were asked for."""
    if len(data) == ID_SIZE * len(asked):
        return asked
    return {data[start : start + ID_SIZE] for start in range(0, len(data), ID_SIZE)}
