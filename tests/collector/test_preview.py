"""A collector that was started for a preview counts nothing, on whatever way a report comes."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http.sealed import SEALED
from hush.collector.stores.preview import PreviewStore
from hush.collector.stores.sqlite import SqliteStore
from hush.core.sealing import SealedBatch, batch_id
from hush.device.gradient import gradient
from hush.relay.mixing import seal
from hush.server.step import first_round
from tests.collector.served import PLAN, TRAINING, Served, anybody, packed, problem, report_of, rows, serving, stream_of
from tests.relay.relayed import KEY, SECRET

BATCH = "1" * 32


def sent(served: Served) -> list[httpx.Response]:
    """Send something on every way that there is."""
    tally = hush.Tally(PLAN)
    tally.add(report_of(PLAN))
    sealed = SealedBatch(KEY, 0, tuple(seal(report_of(PLAN), KEY) for _ in range(2))).encode()
    head = {"content-type": SEALED, "hush-batch": batch_id(sealed).hex()}
    record = {"a": 0.5, "b": -0.25}
    taken = gradient(first_round(TRAINING), record, "yes").encode()
    kept = {"content-type": formats.REPORT}
    tallied = {"content-type": formats.TALLY, "hush-batch": "2" * 32}
    return [
        served.post(PLAN, report_of(PLAN).encode(), formats.REPORT),
        served.post(PLAN, report_of(PLAN).to_json().encode(), formats.JSON),
        served.post(PLAN, b"i" * 16 + report_of(PLAN).encode(), formats.REPORTS),
        served.post(PLAN, packed(PLAN, 3, b"c" * 16), formats.COLUMNS),
        served.post(PLAN, stream_of(rows(PLAN, 3)), formats.ARROW, hush_batch=BATCH),
        served.client.post(served.path("tally", PLAN), content=tally.encode(), headers=tallied),
        served.client.post(served.path("sealed", PLAN), content=sealed, headers=head),
        served.client.post(f"/trainings/{TRAINING.title}/gradients?round=1", content=taken, headers=kept),
    ]


@pytest.mark.parametrize("kind", [PreviewStore, SqliteStore])
def test_nothing_is_counted(kind: type[SqliteStore], tmp_path: Path) -> None:
    """A collector of the usual kind counts all of it: the same requests are good ones."""
    preview = kind is PreviewStore
    with serving(tmp_path, anybody(preview=preview, sealed_key=SECRET), kind=kind) as served:
        answers = sent(served)
        if not preview:
            assert [answer.status_code for answer in answers] == [202] * len(answers)
            assert served.tally(PLAN).reports == 1 + 1 + 1 + 3 + 3 + 1 + 2
            return
        for answer in answers:
            problem(answer, "preview")
        assert served.tally(PLAN).reports == 0
        assert served.client.get("/healthz").status_code == served.client.get("/readyz").status_code == 200
        assert b'data-preview="yes"' in served.client.get("/").content
        assert b'data-preview="yes"' in served.client.get("/train").content
    store = SqliteStore(tmp_path / "hush.db")
    assert (store.tally(PLAN).reports, list(store.bodies(PLAN))) == (0, [])
    assert store.live(TRAINING.title).received == 0
    store.close()
