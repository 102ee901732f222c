"""A relay's own reports stay known on every way out of a collector: export, compaction, engines, streams, copies.

What was lost on one of these ways counted as people: twice as many people as there are, and intervals that miss.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hush
from hush import Categorical, Numeric, Plan, Report, Schema, Tally, batch
from hush.batch.files import randomise_file, tally_files
from hush.collector import formats, segments
from hush.collector.periods import Period
from hush.collector.stores.base import Store
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.stores.sqlite_file import MIGRATIONS
from hush.collector.submissions import Opened, Outcome
from hush.collector.vectors import layout_of
from hush.core.blanket import blanket_of
from hush.core.owned import stated
from hush.core.report import ID_SIZE
from hush.errors import ReportError
from hush.testing import SeededCoins
from tests.collector import places
from tests.collector.places import Place, plan
from tests.collector.test_backup import copied

PEOPLE, OWN = 60, 40


def own_reports(of: Plan, number: int) -> list[Report]:
    """What a relay adds."""
    coins = SeededCoins(number)
    return [Report(of, secrets.token_bytes(ID_SIZE), blanket_of(of).draw(coins)) for _ in range(number)]


def opened(of: Plan, people: Sequence[Report], own: int) -> Opened:
    """A batch of a relay, as the collector opens it."""
    made, layout = (*people, *own_reports(of, own)), layout_of(of)
    vector = layout.zero()
    for report in made:
        layout.add(vector, report)
    return Opened(of, secrets.token_bytes(16), vector, made, own)


def mixed(people: int = PEOPLE, own: int = OWN) -> Opened:
    return opened(plan(), places.reports(people), own)


def same(one: Tally, two: Tally) -> bool:
    return (one, one.own) == (two, two.own)


def counts(of: Plan, folder: Path) -> list[Tally]:
    """What every way to count a folder of files says."""
    from hush.engines import duckdb

    files = sorted(folder.glob("*.parquet"))
    parts = [tally_files(of, [str(file)]) for file in files]
    read = [batch.tally(of, pq.read_table(file)) for file in files]
    streamed = [batch.tally(of, pq.ParquetFile(file).iter_batches(7), threads=2) for file in files]
    whole = [tally_files(of, str(folder)), duckdb.tally(of, folder)]
    return [*whole, *(sum(some, Tally(of)) for some in (parts, read, streamed))]


def test_an_export_says_how_many_reports_are_own_ones(store: Store, tmp_path: Path) -> None:
    store.commit([mixed(), *places.singles(places.reports(5)), places.columns_batch(30)])
    store.commit([mixed(own=3), places.arrow_batch(10)])
    whole = store.tally(plan())
    assert (whole.people, whole.own) == (2 * PEOPLE + 5 + 30 + 10, OWN + 3)
    assert segments.export(store, plan(), tmp_path, tmp_path / "out") == (whole.reports, whole.own)
    for counted in counts(plan(), tmp_path / "out"):
        assert same(counted, whole)
    compacted = segments.compact(store, plan(), tmp_path / "segments")
    assert sorted((made.reports, made.own) for made in compacted) == [(40, 0), (168, 43)]
    assert store.segments(plan()) == compacted
    store.commit([mixed(own=20)])
    assert segments.export(store, plan(), tmp_path / "segments", tmp_path / "both").own == 63
    for counted in counts(plan(), tmp_path / "both"):
        assert same(counted, store.tally(plan()))


def test_without_a_relay_an_export_says_none(store: Store, tmp_path: Path) -> None:
    store.commit(places.singles(places.reports(5)))
    assert segments.export(store, plan(), tmp_path, tmp_path / "out") == (5, 0)
    (file,) = (tmp_path / "out").glob("*.parquet")
    notes = pq.ParquetFile(file).metadata.metadata
    assert (notes[b"hush.core.own"], notes[b"hush.core.rows"]) == (b"0", b"5")
    assert counts(plan(), tmp_path / "out")[0] == store.tally(plan())


def test_what_was_counted_before_is_no_longer_in_a_batch(store: Store, tmp_path: Path) -> None:
    made = mixed(people=2, own=5)
    store.commit(places.singles(made.found[:4]))
    assert store.commit([made]) == [Outcome.NEW]
    assert segments.export(store, plan(), tmp_path, tmp_path / "out").own == store.tally(plan()).own == 3
    for counted in counts(plan(), tmp_path / "out"):
        assert same(counted, store.tally(plan()))


def test_tallies_of_others_take_their_own_reports_with_them(store: Store, tmp_path: Path) -> None:
    """They have no rows, so an export has neither their reports nor their own ones."""
    other = formats.tally_batch(plan(), _tally(mixed()), secrets.token_bytes(16))
    store.commit([other, mixed(own=7)])
    assert store.tally(plan()).own == OWN + 7
    assert segments.export(store, plan(), tmp_path, tmp_path / "out") == (PEOPLE + 7, 7)
    total = tally_files(plan(), str(tmp_path / "out")) + Tally.decode(plan(), other.body)
    assert same(total, store.tally(plan()))


def _tally(made: Opened) -> Tally:
    layout = layout_of(made.plan)
    return layout.tally(layout.with_own(made.vector, made.own))


RECORD = {"place": 3, "age": 40.0, "colour": "red", "uses": ["mail"]}
PLANS = {
    "sets": hush.design(Schema([Categorical("place", list(range(40)))]), 1.0),
    "means": hush.design(
        Schema([Numeric("age", 0, 100), Categorical("colour", ["red", "green", "blue"], optional=True)]),
        2.0,
        relations=[("age", "colour", "means")],
    ),
    "choices": hush.design(Schema([hush.Choices("uses", ["mail", "chat", "wiki"], optional=True)]), 2.0),
    "wide": hush.design(Schema([Numeric("age", 0, 1e6, scale="log")]), 2.0),
    "two answers": hush.design(Schema([Numeric("age", 0, 100), Categorical("colour", ["red", "green"])]), 4.0, k=2),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_report(name: str, tmp_path: Path) -> None:
    of = PLANS[name]
    record = {key: value for key, value in RECORD.items() if key in of.schema.names}
    with Place(f"sqlite://{tmp_path / 'hush.db'}").opened() as store:
        store.add_plan(of)
        store.commit([opened(of, [hush.randomise(of, record) for _ in range(50)], 30)])
        whole = store.tally(of)
        assert (whole.people, whole.own) == (50, 30)
        segments.export(store, of, tmp_path, tmp_path / "out")
        segments.compact(store, of, tmp_path / "segments")
        segments.export(store, of, tmp_path / "segments", tmp_path / "again")
    for folder in ("out", "again"):
        for counted in counts(of, tmp_path / folder):
            assert same(counted, whole)


def test_merged_exports(tmp_path: Path) -> None:
    """As files they are added; as one table they are refused, as it says what its first part said."""
    from hush.engines import duckdb

    total = Tally(plan())
    for name, own in (("north", 0), ("south", 9), ("west", 4)):
        with closing(SqliteStore(tmp_path / f"{name}.db")) as other:
            other.add_plan(plan())
            other.commit([mixed(own=own)])
            segments.export(other, plan(), tmp_path, tmp_path / "out" / name)
            total += other.tally(plan())
    folders = [str(tmp_path / "out" / name) for name in ("north", "south", "west")]
    assert (total.people, total.own) == (3 * PEOPLE, 13)
    assert same(tally_files(plan(), folders), total)
    assert same(duckdb.tally(plan(), folders), total)
    joined = pa.concat_tables([pq.read_table(folder) for folder in folders])
    for reports in (joined, joined.to_batches(), joined.slice(70)):
        with pytest.raises(ReportError, match="the reports were joined or cut"):
            batch.tally(plan(), reports)
    assert same(batch.tally(plan(), joined, own=13), total)
    pq.write_table(joined, tmp_path / "joined.parquet")
    for engine in (tally_files, duckdb.tally):
        with pytest.raises(ReportError, match="the reports were joined or cut"):
            engine(plan(), str(tmp_path / "joined.parquet"))
        assert same(engine(plan(), str(tmp_path / "joined.parquet"), own=13), total)


def test_with_reports_of_people_who_were_randomised(tmp_path: Path) -> None:
    """`hush randomise` states that no relay added any, in all of its formats."""
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        store.commit([mixed()])
        segments.export(store, plan(), tmp_path, tmp_path / "out")
        whole = store.tally(plan())
    (tmp_path / "people.csv").write_text("age,colour\n" + "40,red\n" * 20)
    for name in ("a.parquet", "b.arrow", "c.arrows"):
        randomise_file(plan(), tmp_path / "people.csv", tmp_path / name)
        alone = tally_files(plan(), tmp_path / name)
        assert (alone.people, alone.own) == (20, 0)
        assert same(tally_files(plan(), [tmp_path / name, tmp_path / "out"]), whole + alone)


def test_a_stream_of_reports_says_it_to_the_collector(store: Store, tmp_path: Path) -> None:
    """An export that is posted to another collector: its own reports are known there, and in what that one exports."""
    store.commit([mixed()])
    segments.export(store, plan(), tmp_path, tmp_path / "out")
    whole = store.tally(plan())
    (file,) = (tmp_path / "out").glob("*.parquet")
    table = pq.read_table(file)
    with closing(SqliteStore(tmp_path / "other.db")) as other:
        other.add_plan(plan())
        other.commit([formats.batch(plan(), formats.ARROW, stream(table), bytes(16), True)])
        assert same(other.tally(plan()), whole)
        segments.export(other, plan(), tmp_path, tmp_path / "again")
    assert same(tally_files(plan(), tmp_path / "again"), whole)


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({"hush": "2"}, "do not say how many of them are a relay's own. Say it, in the metadata hush.core.own"),
        (stated(1), "needs hush.core.rows"),
        (stated(1, 29), "for 29 rows, and there are 30"),
        (stated(31, 30), "there are 30 reports, and 31 of them"),
    ],
)
def test_a_stream_that_does_not_say_it_is_refused(notes: dict[str, str], why: str) -> None:
    table = batch.randomise(plan(), {"age": [40.0] * 30, "colour": ["red"] * 30})
    with pytest.raises(ReportError, match=why):
        formats.batch(plan(), formats.ARROW, stream(table.replace_schema_metadata(notes)), bytes(16), False)


def test_periods_and_copies(tmp_path: Path) -> None:
    """The tallies of weeks, a copy of the database, and what is exported from the copy."""
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        shown = store.reveal(plan(), 0, 0, Period(0, 7))
        for week, own in enumerate((9, 0, 4)):
            store.commit([mixed(own=own)])
            shown = store.reveal(plan(), shown.people, 1, Period(7 * week, 7))
        assert [tally.own for _, tally in store.periods(plan())] == [9, 0, 4]
        whole = store.tally(plan())
        copied(tmp_path / "hush.db", tmp_path / "copy.db")
    with closing(SqliteStore(tmp_path / "copy.db")) as store:
        assert same(store.tally(plan()), whole)
        assert same(sum((tally for _, tally in store.periods(plan())), Tally(plan())), whole)
        segments.export(store, plan(), tmp_path, tmp_path / "out")
    assert same(tally_files(plan(), tmp_path / "out"), whole)


def test_a_store_of_an_older_hush_does_not_know(tmp_path: Path) -> None:
    """What was kept before the number was: without any own reports it is 0, else the file is silent."""
    for own in (0, 5):
        file = tmp_path / f"{own}.db"
        with closing(SqliteStore(file)) as store:
            store.add_plan(plan())
            store.commit([mixed(own=own)])
            whole = store.tally(plan())
        with sqlite3.connect(file) as db:
            db.execute("update bodies set own = null")
        db.close()
        with closing(SqliteStore(file)) as store:
            written = segments.export(store, plan(), tmp_path, tmp_path / f"out{own}")
        assert written == (PEOPLE + own, None if own else 0)
        if own:
            with pytest.raises(ReportError, match="do not say how many"):
                tally_files(plan(), tmp_path / "out5")
            assert same(tally_files(plan(), tmp_path / "out5", own=5), whole)
        else:
            assert same(tally_files(plan(), tmp_path / "out0"), whole)


def test_the_steps_to_this_version_keep_what_is_there(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        store.commit([mixed()])
    with sqlite3.connect(tmp_path / "hush.db") as db:
        db.execute("alter table bodies drop column own")
        db.execute("alter table segments drop column own")
        db.executescript("drop table names; drop table handed; drop table writer")
        db.execute(f"pragma user_version = {len(MIGRATIONS) - 3}")
    db.close()
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        assert [stored.own for stored in store.bodies(plan())] == [None]
        assert store.tally(plan()).own == OWN
        assert [len(name) for name in store.names()] == [16]
