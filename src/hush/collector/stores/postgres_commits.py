"""One group of submissions, committed to PostgreSQL in two round trips, however large it is.

The first locks, in an order that is the same for all processes: the version of the tables, the plans, the rows of this
process's shard, the trainings, what other stores have handed on, and the ids as they are inserted. The second writes
the counts, and commits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from hush.collector.stores.base import HeldPlan, Keep
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
from hush.collector.stores.postgres_connections import PLAN, Connection
from hush.collector.stores.postgres_tables import VERSION, check_version
from hush.collector.submissions import Result, Submission
from hush.collector.vectors import ROW, layout_of, packed, plus, unpacked
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.core.training.courses import Course
from hush.core.training.stages import Phase, phase_from_json

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


HANDED = """
select h.plan, h.name, h.vector, h.later
from handed h join unnest(%s::int[], %b::bytea[]) as g (plan, name) on h.plan = g.plan and h.name = g.name
"""


class Commit:
    """The changes of one group. `plans` and `trainings`: those of its submissions that the store has, by id and by
    name. `rounds`: those known here, by number of the training; they are kept up to date. So is `increments`: how many
    bytes those of this shard take, by plan, as far as this process knows.
    """

    def __init__(
        self,
        db: Connection,
        shard: int,
        plans: Mapping[str, tuple[int, Plan, Keep]],
        trainings: Mapping[str, tuple[int, int, Course | None]],
        rounds: dict[int, Phase],
        increments: dict[tuple[int, int], int],
    ) -> None:
        self._db, self._shard, self._plans, self._trainings, self._rounds = db, shard, plans, trainings, rounds
        self._increments = increments
        self._wide = {number for number, plan, _ in plans.values() if layout_of(plan).is_wide}
        self._grown: dict[tuple[int, int], int] = {}

    def run(self, submissions: Sequence[Submission]) -> list[Result]:
        """Count new submissions, durably; return the outcome of each."""
        with self._db.pipeline():
            group = self._lock(submissions)
            outcomes = [group.take(submission) for submission in submissions]
            for number, book in group.plans.items():
                self._write_plan(number, book)
            self._write_handed(group)
            self._write_rounds(group)
            if left := group.ids.left():
                self._db.execute(
                    "delete from seen using unnest(%s::bigint[], %b::bytea[]) as given (plan, id) "
                    "where seen.plan = given.plan and seen.id = given.id",
                    ([number for number, _ in left], [id_ for _, id_ in left]),
                )
            done = self._db.execute("commit")
        if done.statusmessage != "COMMIT":
            raise psycopg.OperationalError("the server did not commit")
        self._rounds.update({number: now.round for number, now in group.rounds.values()})
        self._increments.update(self._grown)
        return outcomes

    # -- the first round trip

    def _lock(self, submissions: Sequence[Submission]) -> Group:
        """Begin; lock and read the plans and trainings of the group, and insert its ids."""
        db, numbers = self._db, sorted(number for number, _, _ in self._plans.values())
        asked = ids_of(submissions, self._plans, self._trainings)
        db.execute("begin")
        db.execute(
            "select pg_advisory_xact_lock_shared(kind, number) from unnest(%s::int[], %s::int[]) as l (kind, number)",
            ([VERSION] + [PLAN] * len(numbers), [0, *numbers]),
        )
        version = db.execute("select number from version")
        opened = db.execute("select number from plans where number = any (%s::int[]) and open", (numbers,))
        vectors = db.execute(
            "select plan, vector from tallies where shard = %s and plan = any (%s::int[]) order by plan for update",
            (self._shard, [number for number in numbers if number not in self._wide]),
        )
        trainings = db.execute(
            "select number, current, gradients, losses from trainings where number = any (%s::int[]) "
            "order by number for update",
            (sorted(number for number, _, _ in self._trainings.values()),),
        )
        places = names_of(submissions, self._plans)
        handed = None
        if places:  # which few groups have
            handed = db.execute(f"{HANDED} order by h.plan, h.name for update of h", _columns(places))
        fresh = db.execute(INSERT_IDS, (list(asked), [b"".join(ids) for ids in asked.values()]))
        check_version(version.fetchall()[0][0])
        still = {number for (number,) in opened.fetchall()}
        held = {
            id_: (number, HeldPlan(plan, keep, number in still)) for id_, (number, plan, keep) in self._plans.items()
        }
        self._vectors: dict[int, bytes] = dict(vectors.fetchall())
        named = {number: (name, wanted, course) for name, (number, wanted, course) in self._trainings.items()}
        books = {}
        for number, current, gradients, losses in trainings.fetchall():
            name, wanted, course = named[number]
            books[name] = number, RoundBook.decoded(self._round(number, current), wanted, gradients, losses, course)
        known = {} if handed is None else _known(handed)
        if rivals := rivals_of(known):  # read after the rows above are locked: whoever comes in their place locks them
            known |= _known(db.execute(HANDED, _columns(rivals)))
        ids = IdBook({number: _cut(ids, asked[number]) for number, ids in fresh.fetchall()})
        return Group(held, books, ids, known)

    def _round(self, number: int, current: int) -> Phase:
        known = self._rounds.get(number)
        if known is None or known.number != current:
            rows = self._db.execute("select round from trainings where number = %s", (number,)).fetchall()
            known = self._rounds[number] = phase_from_json(rows[0][0])
        return known

    # -- the second round trip

    def _write_plan(self, number: int, book: PlanBook) -> None:
        layout = book.layout
        if book.refused:
            self._db.execute(
                "insert into refused values (%s, %s, %s) on conflict (plan, shard) "
                "do update set reports = refused.reports + excluded.reports",
                (number, self._shard, book.refused),
            )
        if number in self._wide:
            self._write_wide(number, book)
        elif number in self._vectors:
            vector = layout.encode(plus(layout.decode(self._vectors[number]), book.added))
            self._db.execute(
                "update tallies set vector = %b where plan = %s and shard = %s", (vector, number, self._shard)
            )
        else:
            self._db.execute(
                "insert into tallies (plan, shard, vector) values (%s, %s, %b)",
                (number, self._shard, layout.encode(book.added)),
            )
        for kept in book.bodies():
            self._db.execute(
                "insert into bodies (plan, reports, form, body, own) values (%s, %s, %s, %b, %s)",
                (number, kept.reports, kept.form.value, kept.body, kept.own),
            )

    def _write_wide(self, number: int, book: PlanBook) -> None:
        """Write the counts that were changed; or all of them, if the increments have become long."""
        layout, place = book.layout, (number, self._shard)
        few = layout.encode_few(book.added)
        after = layout.room(self._taken(place), few)
        self._grown[place] = after or 0
        if after is not None:
            self._db.execute("insert into increments (plan, shard, counts) values (%s, %s, %b)", (*place, few))
            return
        zero = layout.encode(layout.zero())
        self._db.execute("insert into tallies values (%s, %s, %b) on conflict do nothing", (*place, zero))
        held = self._db.execute("select vector from tallies where plan = %s and shard = %s for update", place)
        vector = plus(layout.decode(held.fetchall()[0][0]), book.added)
        for (counts,) in self._db.execute(
            "delete from increments where plan = %s and shard = %s returning counts", place
        ).fetchall():
            vector = layout.add_few(vector, counts)
        self._db.execute(
            "update tallies set vector = %b where plan = %s and shard = %s", (layout.encode(vector), *place)
        )

    def _taken(self, place: tuple[int, int]) -> int:
        """Return how many bytes the increments of a plan and shard take."""
        if place not in self._increments:
            rows = self._db.execute(
                "select coalesce(sum(length(counts) + %s), 0)::bigint from increments where plan = %s and shard = %s",
                (ROW, *place),
            ).fetchall()
            return int(rows[0][0])
        return self._increments[place]

    def _write_handed(self, group: Group) -> None:
        """Write what other stores have handed on.

        A row that another process has inserted meanwhile is an error, after which the group is tried again: its
        difference was taken from nothing.
        """
        for (number, name), (vector, later) in group.changed.items():
            row = (None if vector is None else packed(vector), later, number, name)
            if (number, name) in group.handed:
                self._db.execute("update handed set vector = %b, later = %b where plan = %s and name = %b", row)
            else:
                self._db.execute("insert into handed (vector, later, plan, name) values (%b, %b, %s, %b)", row)

    def _write_rounds(self, group: Group) -> None:
        for number, past in group.past:
            self._db.execute(
                "insert into rounds values (%s, %s, %s, %s, %s, %s)",
                (number, past.number, json.dumps(past.weights), past.people, past.loss, past.loss_error),
            )
        for number, book in group.rounds.values():
            self._db.execute(
                "update trainings set current = %s, round = %s, gradients = %b, losses = %b where number = %s",
                (book.round.number, book.round.to_json(), *book.encoded(), number),
            )


def rehearse(db: Connection, shard: int) -> None:
    """Make a test commit, behind the locks of tables that a commit takes."""
    with db.transaction():
        db.execute("select pg_advisory_xact_lock_shared(%s, 0)", (VERSION,))
        check_version(db.execute("select number from version").fetchall()[0][0])
        db.execute("lock table plans in access share mode")
        db.execute(
            "lock table tallies, increments, trainings, seen, bodies, rounds, refused, handed in row exclusive mode"
        )
        db.execute(
            "insert into pulse values (%s, 1) on conflict (shard) do update set beats = pulse.beats + 1", (shard,)
        )


def _columns(places: Sequence[Place]) -> tuple[list[int], list[bytes]]:
    return [number for number, _ in places], [name for _, name in places]


def _known(rows: psycopg.Cursor[tuple[Any, ...]]) -> dict[Place, Named]:
    """Return what was handed on, from rows of the table."""
    return {
        (number, bytes(name)): Named(
            None if vector is None else unpacked(vector), None if later is None else bytes(later)
        )
        for number, name, vector, later in rows.fetchall()
    }


def _cut(data: bytes, asked: set[bytes]) -> set[bytes]:
    """Return the ids in a row of bytes; most often they are all that were given."""
    if len(data) == ID_SIZE * len(asked):
        return asked
    return {data[start : start + ID_SIZE] for start in range(0, len(data), ID_SIZE)}
