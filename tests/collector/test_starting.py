"""A collector that says it listens has loaded everything that its first batches and its first readers need.

Once it compiled the kernels of a plan in the loop for its first packed batch: for seconds, in which nobody had an
answer. The kernels were prepared, though for arrays of another type, which only a collector in a process of its own
shows: here other tests have loaded everything.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import pyarrow as pa
import pytest

import hush
from hush.collector import formats
from hush.collector.http.app import make_app
from hush.collector.stores.sqlite import SqliteStore
from hush.server.step import first_round
from tests import relating, texting
from tests.collector.served import FEW, PLAN, TRAINING, WIDE, packed, report_of, rows, stream_of
from tests.collector.starting import Noted, kernels

ROOT = Path(__file__).parent.parent.parent
SENT = (PLAN, FEW, WIDE)  # sets, small symbols, and sets in several parts
QUERIES = {  # of addresses that need one; those of other plans have the plan, too
    "distribution": ("?attribute=age", PLAN),
    "changes": (f"?against={FEW.id}", PLAN),
    "crosstab": ("?attribute=education&by=children", relating.PLAN),
    "means": ("?attribute=hours&by=education", relating.PLAN),
    "association": ("?attribute=age&by=hours", relating.PLAN),
    "quantiles": ("?attribute=age", relating.PLAN),
    "frequent": (f"?attribute={texting.PLAN.schema.names[0]}", texting.PLAN),
}
OTHERWISE = {"ticket": 204, "relay": 404, "overview": 401}  # than 200
LONGEST = 2.0  # units: a kernel that is only read from the disk takes four or more
LOOKED_AT = 0.2  # of all objects
LEFT_OUT = ("stream", "{list}", "{file}")  # the first has no end; the others are files


def store_of(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "hush.db")
    for plan in (*SENT, relating.PLAN, texting.PLAN):
        store.add_plan(plan)
    store.add_training(TRAINING.title, first_round(TRAINING), 4)
    return store


def paths(folder: Path) -> list[str]:
    """Return every address that is read, of a plan and a training that are there."""
    (folder / "other").mkdir()
    store = store_of(folder / "other")
    routes: Any = [route for route in make_app(store).routes if "GET" in cast("Any", route).methods]
    store.close()
    found = []
    for route in routes:
        if route.path.endswith(LEFT_OUT):
            continue
        query, plan = QUERIES.get(route.path.rsplit("/", 1)[-1], ("", PLAN))
        found.append(route.path.replace("{plan}", plan.id).replace("{training}", TRAINING.title) + query)
    return [*found, *(f"/plans/{plan.id}/estimates?format=csv" for plan in SENT)]


def bodies(plan: hush.Plan) -> list[tuple[int, str, bytes]]:
    """Return a first body of every kind, and how it is answered."""
    several = secrets.token_bytes(16) + b"".join(report_of(plan).encode() for _ in range(5))
    table = rows(plan, 50)
    wide = table.cast(pa.schema([(name, pa.int64()) for name in table.schema.names], table.schema.metadata))
    wrong = bytearray(packed(plan, 50, secrets.token_bytes(16)))
    wrong[-16:] = bytes([255]) * 16
    return [
        (202, formats.JSON, report_of(plan).to_json().encode()),
        (202, formats.REPORT, report_of(plan).encode()),
        (202, formats.COLUMNS, packed(plan, 50, secrets.token_bytes(16))),
        (202, formats.COLUMNS, packed(plan, 51, secrets.token_bytes(16))),  # which lies otherwise in memory
        (422, formats.COLUMNS, bytes(wrong)),
        (202, formats.ARROW, stream_of(table)),
        (202, formats.ARROW, stream_of(wide)),
        (202, formats.REPORTS, several),
    ]


@pytest.mark.parametrize("plan", SENT, ids=["sets", "symbols", "parts"])
def test_integers_of_another_size_are_counted_alike_and_compile_nothing(plan: hush.Plan) -> None:
    formats.prepare(plan)
    table = rows(plan, 50)  # which compiles kernels of its own
    before = kernels()
    wide = table.cast(pa.schema([(name, pa.int64()) for name in table.schema.names], table.schema.metadata))
    usual = formats.arrow(plan, stream_of(table), bytes(16), False)
    assert formats.arrow(plan, stream_of(wide), bytes(16), False).vector.tolist() == usual.vector.tolist()
    assert kernels() == before


@pytest.mark.parametrize("number", [1 << 16, 1 << 32, -(1 << 16), (1 << 16) + 1])
def test_a_number_that_does_not_fit_is_no_output(number: int) -> None:
    """Cut to 16 bits, all of these would be symbols."""
    table = rows(FEW, 50)
    schema = pa.schema([("attribute", pa.int16()), ("output", pa.int64())], table.schema.metadata)
    outputs = pa.array([number, *table.column("output").to_pylist()[1:]], pa.int64())
    wrong = pa.table([table.column("attribute"), outputs], schema=schema)
    with pytest.raises(hush.ReportError, match="a symbol outside the alphabet"):
        formats.arrow(FEW, stream_of(wrong), bytes(16), False)


def noted(folder: Path, twin: str = "") -> Noted:
    """Start a collector, send it everything for the first time, all at once, and return what it noted."""
    folder.mkdir()
    store_of(folder).close()
    asked = paths(folder)
    assert len(asked) > 30
    sent = [(plan, *body) for plan in SENT for body in bodies(plan)]
    command = [sys.executable, "-m", "tests.collector.starting", str(folder), twin]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client, ThreadPoolExecutor(8) as threads:

            def send(plan: hush.Plan, status: int, kind: str, body: bytes) -> None:
                head = {"content-type": kind} | ({"hush-batch": secrets.token_hex(16)} if kind == formats.ARROW else {})
                answer = client.post(f"/plans/{plan.id}/reports", content=body, headers=head)
                assert answer.status_code == status, (kind, answer.text)

            def ask(path: str) -> None:
                answer = client.get(path)
                expected = OTHERWISE.get(path.partition("?")[0].rsplit("/", 1)[-1], 200)
                assert answer.status_code == expected, (path, answer.text)

            actions = [partial(send, *one) for one in sent] + [partial(ask, path) for path in asked]
            for future in [threads.submit(action) for action in actions]:
                future.result()
        process.terminate()
        last = process.communicate(timeout=60)[0].splitlines()[-1]
    finally:
        process.kill()
        process.wait()
    return cast("Noted", json.loads(last))


def test_first_requests_load_nothing_and_hold_up_nobody(tmp_path: Path) -> None:
    """A callback is the loop's own processor time: at most about five milliseconds, whatever else runs here."""
    found = noted(tmp_path / "first")
    assert found["modules"] == []
    assert found["compiled"] == []
    assert found["looked_at"] < LOOKED_AT
    again = found
    for place in range(2):  # a machine pauses at times
        if again["longest"] < LONGEST:
            break
        again = noted(tmp_path / f"again {place}")
    assert again["longest"] < LONGEST


@pytest.mark.parametrize("twin", ["unprepared", "views", "unfrozen"])
def test_collectors_without_a_part_of_the_preparation_are_caught(tmp_path: Path, twin: str) -> None:
    found = noted(tmp_path / "first", twin)
    if twin == "unprepared":
        assert found["modules"]
    if twin != "unfrozen":
        assert found["compiled"]
    if twin == "unfrozen":
        assert found["looked_at"] > LOOKED_AT
    if twin == "views":  # the kernels are compiled, or read from the disk, within the loop
        assert found["longest"] > LONGEST
