"""Segments of every store: reports are kept in files, compacted and exported."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hush import Tally, batch
from hush.batch.files import tally_files
from hush.collector import segments
from hush.collector.stores import postgres_connections
from hush.collector.stores.base import Segment, Store
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import REPEATED, Place, plan


class Fault(Exception):
    """What a test throws while a store is compacted."""


def counted(store: Store, folder: Path, out: Path) -> Tally:
    segments.export(store, plan(), folder, out)
    return tally_files(plan(), [str(out)])


def test_compaction_and_export(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "segments"
    made = places.reports(20)
    store.commit([*places.singles(made), places.columns_batch(30)])
    store.commit([places.arrow_batch(10), places.binary_batch(places.reports(5))])
    whole = store.tally(plan())
    assert counted(store, folder, tmp_path / "before") == whole
    compacted = segments.compact(store, plan(), folder)
    assert sorted(segment.reports for segment in compacted) == [25, 40]
    assert list(store.bodies(plan())) == []
    assert segments.compact(store, plan(), folder) == []
    assert store.segments(plan()) == compacted
    assert counted(store, folder, tmp_path / "after") == whole
    assert batch.tally(plan(), _tables(folder)) == whole
    store.commit(places.singles(places.reports(3)))
    assert counted(store, folder, tmp_path / "both") == store.tally(plan())
    segments.compact(store, plan(), folder)
    assert counted(store, folder, tmp_path / "all") == store.tally(plan())
    assert store.commit(places.singles(made)) == [REPEATED] * 20


def test_segments_and_exports_are_their_owners_whatever_the_umask(store: Store, tmp_path: Path) -> None:
    """They hold the reports of a store that only its owner may read."""
    store.commit([*places.singles(places.reports(3)), places.columns_batch(4)])
    folder, out = tmp_path / "deep" / "segments", tmp_path / "out"
    before = os.umask(0)
    try:
        segments.compact(store, plan(), folder)
        store.commit(places.singles(places.reports(2)))
        segments.export(store, plan(), folder, out)
    finally:
        os.umask(before)
    made = [*folder.iterdir(), *out.iterdir()]
    assert len(made) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, out)} == {0o700}


def test_what_a_kill_left_is_not_written_into(store: Store, tmp_path: Path) -> None:
    """Somebody may have it open."""
    store.commit(places.singles(places.reports(3)))
    out = tmp_path / "out"
    out.mkdir()
    for ids in ("ids", "rows"):
        left = out / f"{plan().id[:16]}-{ids}.parquet.new"
        left.write_bytes(b"left")
        left.chmod(0o666)
    with (out / f"{plan().id[:16]}-ids.parquet.new").open("rb") as held:
        segments.export(store, plan(), tmp_path, out)
        assert held.read() == b"left"
    (made,) = out.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_segments_that_others_may_read_are_said(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store.commit(places.singles(places.reports(3)))
    (made,) = segments.compact(store, plan(), tmp_path)
    assert "may read" not in caplog.text
    (tmp_path / made.file).chmod(0o644)
    store.commit(places.singles(places.reports(3)))
    segments.compact(store, plan(), tmp_path)
    assert f"others on this machine may read segments: chmod 600 {tmp_path}/*" in caplog.text


def _tables(folder: Path) -> Any:
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        yield from table.select([name for name in table.schema.names if name != "report"]).to_batches()


def test_tallies_of_others_stay_in_the_database(store: Store, tmp_path: Path) -> None:
    handed_on = places.tally_batch(places.reports(4))
    store.commit([handed_on, *places.singles(places.reports(6))])
    segments.compact(store, plan(), tmp_path)
    assert [stored.reports for stored in store.bodies(plan())] == [4]
    assert segments.export(store, plan(), tmp_path, tmp_path / "out").reports == 6
    assert store.tally(plan()).reports == 10


def test_a_crash_between_file_and_record(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.commit(places.singles(places.reports(6)))
    with monkeypatch.context() as patch:
        patch.setattr(store, "replace", _fail)
        with pytest.raises(Fault):
            segments.compact(store, plan(), tmp_path)
    (orphan,) = tmp_path.glob("*.parquet")
    store.commit(places.singles(places.reports(1)))
    (made,) = segments.compact(store, plan(), tmp_path)
    assert made.reports == 7
    assert [path.name for path in tmp_path.glob("*.parquet")] == [made.file] != [orphan.name]
    assert counted(store, tmp_path, tmp_path / "out") == store.tally(plan())


def _fail(*_: Any) -> None:
    raise Fault


def test_segments_must_hold_what_they_replace(store: Store) -> None:
    store.commit(places.singles(places.reports(6)))
    (stored,) = store.bodies(plan())
    with pytest.raises(StoreError, match="do not hold"):
        store.replace(plan(), stored.place, [Segment("file", 5, "digest")])
    assert list(store.bodies(plan())) == [stored]
    assert store.segments(plan()) == []


def test_a_damaged_segment_is_refused(store: Store, tmp_path: Path) -> None:
    store.commit(places.singles(places.reports(6)))
    (made,) = segments.compact(store, plan(), tmp_path)
    data = bytearray((tmp_path / made.file).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / made.file).write_bytes(data)
    with pytest.raises(OSError, match="damaged"):
        segments.export(store, plan(), tmp_path, tmp_path / "out")


def test_sets_too_wide_for_a_word_survive_compaction(store: Store, tmp_path: Path) -> None:
    wide = places.wide_plan()
    store.add_plan(wide)
    store.commit(places.singles(places.reports(20, wide)))
    segments.compact(store, wide, tmp_path)
    segments.export(store, wide, tmp_path, tmp_path / "out")
    assert tally_files(wide, [str(tmp_path / "out")]) == store.tally(wide)


def test_two_processes_do_not_compact_at_once(postgres_place: Place, tmp_path: Path) -> None:
    with postgres_place.opened() as one, postgres_place.opened() as two:
        one.add_plan(plan())
        one.commit(places.singles(places.reports(2)))
        with one.compacting(plan()), pytest.raises(StoreError, match="another process is compacting"):
            segments.compact(two, plan(), tmp_path)
        assert [made.reports for made in segments.compact(two, plan(), tmp_path)] == [2]


def test_compaction_takes_nothing_that_is_still_being_committed(postgres_place: Place, tmp_path: Path) -> None:
    """Places are given before they are committed: a later one may be there while an earlier one is not."""
    with postgres_place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(2)))
        body = next(store.bodies(plan()))
        with psycopg.connect(postgres_place.url) as slow:
            # As a commit of another process does it, only slower.
            slow.execute("select pg_advisory_xact_lock_shared(%s, 1)", (postgres_connections.PLAN,))
            slow.execute("insert into hush.bodies (plan, reports, form, body) values (1, 2, 0, %s)", (body.body,))
            store.commit(places.singles(places.reports(3)))
            made: list[Segment] = []
            thread = threading.Thread(target=lambda: made.extend(segments.compact(store, plan(), tmp_path)))
            thread.start()
            thread.join(0.5)
            assert thread.is_alive()
            slow.commit()
            thread.join(30)
        assert [segment.reports for segment in made] == [7]
        assert list(store.bodies(plan())) == []
