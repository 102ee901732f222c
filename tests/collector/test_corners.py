"""Corners where something was once lost, counted twice, or stored that should not be."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hush import ReportError, batch
from hush.collector import formats
from hush.collector.segments import compact, export
from hush.collector.stores import ids
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Outcome
from hush.device.client import Client
from hush.errors import BudgetError, CollectorError, LedgerError, StoreError
from tests.collector import places

NEW, REPEATED = Outcome.NEW, Outcome.REPEATED


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def reports(rows: int) -> pa.Table:
    return batch.randomise(places.plan(), pa.table({"age": [40.0] * rows, "colour": ["red"] * rows}), ids=True)


def read(table: pa.Table, check_ids: bool = False) -> Any:
    return formats.batch(places.plan(), formats.ARROW, stream(table), secrets.token_bytes(16), check_ids)


def test_a_failure_behind_the_commit_is_mended_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was on disk when memory failed is found again; what was there before is not forgotten."""
    monkeypatch.setattr(ids, "NEWEST", 0)  # every commit goes into the sorted arrays
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(places.plan())
    first, second, third = places.reports(3), places.reports(2), places.reports(1)
    assert store.commit(places.singles(first)) == [NEW] * 3
    with monkeypatch.context() as patch:
        patch.setattr(ids, "_merge", lambda a, b: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.commit(places.singles(second))
    assert store.commit(places.singles([*first, *second, *third])) == [REPEATED] * 5 + [NEW]
    assert store.tally(places.plan()).reports == 6
    store.close()
    again = SqliteStore(tmp_path / "a.db")
    assert again.tally(places.plan()).reports == 6
    again.close()


def test_a_store_has_one_lock_whatever_it_is_called(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(StoreError, match="this process has this store open"):
        SqliteStore(tmp_path / "b.db")
    store.close()


def test_an_export_is_not_mixed_with_an_earlier_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(places.plan())
    store.commit(places.singles(places.reports(5)))
    assert export(store, places.plan(), tmp_path / "segments", tmp_path / "out").reports == 5
    compact(store, places.plan(), tmp_path / "segments")
    with pytest.raises(FileExistsError):
        export(store, places.plan(), tmp_path / "segments", tmp_path / "out")
    assert export(store, places.plan(), tmp_path / "segments", tmp_path / "fresh").reports == 5
    store.close()


def test_compaction_leaves_what_may_be_another_stores(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(places.plan())
    store.commit(places.singles(places.reports(5)))
    stranger = tmp_path / f"{places.plan().id[:16]}-000000000009-ids.parquet"
    stranger.write_bytes(b"of another store")
    compact(store, places.plan(), tmp_path, tidy=False)
    assert stranger.exists()
    store.close()


def test_ids_that_are_missing_or_shared_are_refused() -> None:
    table = reports(4)
    assert len(read(table, check_ids=True).ids) == 4
    column = table.column("report").to_pylist()
    for check_ids, changed in ((False, [None, *column[1:]]), (True, [column[0]] * 4), (True, [*column[:3], column[0]])):
        with pytest.raises(ReportError):
            read(table.set_column(2, pa.field("report", pa.binary(16)), pa.array(changed, pa.binary(16))), check_ids)


@pytest.mark.parametrize("where", ["schema", "column"])
def test_metadata_that_would_be_stored_is_refused(where: str) -> None:
    table = reports(2)
    note = {b"client": b"192.0.2.1"}
    if where == "schema":
        table = table.replace_schema_metadata({**table.schema.metadata, **note})
    else:
        field = table.schema.field("attribute").with_metadata(note)
        table = table.cast(table.schema.set(0, field))
    with pytest.raises(ReportError, match="metadata"):
        read(table)


def test_a_training_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a ledger the device says the most that it may cost; a round of another training is refused."""
    collector = Client("http://127.0.0.1:9")
    with pytest.raises(LedgerError, match="needs a ledger"):
        collector.train("tiny", {"a": 0.0, "b": 0.0}, "yes")
    first = places.first_round()
    monkeypatch.setattr(collector, "round", lambda name: first)
    x = {"a": 0.0, "b": 0.0}
    with pytest.raises(CollectorError, match="another training"):
        collector.train("other", x, "yes", epsilon=16.0)
    with pytest.raises(BudgetError, match="more epsilon"):
        collector.train(first.training.title, x, "yes", epsilon=first.training.epsilon / 2)
