"""Whatever is sent: never a 500, nothing in the log, and the tally is that of what was acknowledged as new.

The tests send some thousand requests. `python -m tests.collector.test_fuzz --requests 1000000` sends as many as asked
to an application in its own process; `python -m tests.collector.storm --requests 1000000` sends them over sockets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hush
from hush.batch.reports import report_schema
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Batch, Form
from hush.collector.vectors import layout_of
from tests.collector.driving import call, run
from tests.collector.fuzzing import Sent
from tests.collector.oracle import Oracle, counted
from tests.collector.served import ALL, FEW, PLAN, PLANS, WIDE, anybody, packed, report_of, rows, stream_of
from tests.collector.storm import run as run_storm

QUICK = 3000  # requests of each of the two runs


@pytest.mark.parametrize("check_ids", [False, True])
def test_mutations(check_ids: bool) -> None:
    oracle = run(QUICK, seed=time.time_ns(), check_ids=check_ids)
    assert not oracle.failures
    assert sum(oracle.statuses.values()) == QUICK
    assert oracle.new > QUICK / 20  # so that the comparison of tallies means something
    assert {200, 202, 400, 404, 405, 409, 415, 422} <= set(oracle.statuses)


def careless(plan: hush.Plan, body: bytes) -> Batch:
    """A twin of `formats.packed` that looks at nothing but the size: it bends what is wrong until it fits."""
    rows_, kinds = int.from_bytes(body[30:34], "little"), formats._types(plan)
    if (
        len(body) < formats.HEADER
        or len(body) != 34 + rows_ * sum(kind.itemsize for kind in kinds.values())
        or not rows_
    ):
        raise hush.ReportError("bad")
    attribute = np.frombuffer(body, "<i2", rows_, 34).astype(np.int64) % len(plan.questions)
    vector = layout_of(plan).zero()
    vector[0] = rows_ // plan.k
    np.add.at(vector, 1 + attribute, 1)
    return Batch(plan, body[14:30], vector, Form.COLUMNS, body)


def forgetful(plan: hush.Plan, body: bytes) -> Batch:
    """A twin that checks everything and counts one report too few."""
    found = formats_packed(plan, body)
    return Batch(plan, found.id, found.vector - (np.arange(len(found.vector)) == 0), found.form, body)


formats_packed = formats.packed


@pytest.mark.parametrize("twin", [careless, forgetful])
def test_a_broken_twin_is_caught(twin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "packed", twin)
    assert run(1000, seed=1).failures


def test_a_storm_over_sockets() -> None:
    """As many as `python -m tests.collector.storm` sends in a moment: nothing is lost, counted twice or in the log."""
    storm = run_storm(800, seed=time.time_ns())
    assert not storm.oracle.failures
    assert storm.sent >= 800
    assert storm.oracle.new > 40
    assert storm.attacks
    assert {202, 400, 401, 404, 422} <= set(storm.oracle.statuses)


def test_a_storm_catches_a_collector_that_reads_trailers() -> None:
    storm = run_storm(800, seed=1, careless=True)
    assert any("in a trailer" in what for what in storm.oracle.failures)


# -- one content type after the other, in-process


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that sends a body to a collector, and its store."""
    store = SqliteStore(tmp_path_factory.mktemp("fuzz") / "hush.db")
    for plan in PLANS:
        store.add_plan(plan, "tallies")
    made = Collector(store, formats_settings())
    app = made.app()

    def send(plan: hush.Plan, kind: str, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        async def inner() -> tuple[int, Any]:
            async with lifespan(made):
                pairs = [(b"content-type", kind.encode()), (b"hush-batch", b"0" * 32)]
                pairs += [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
                status, _, answer = await call(app, Sent("POST", f"/plans/{plan.id}/reports", pairs, body, plan))
                return status, json.loads(answer)

        return asyncio.run(inner())

    yield send
    store.close()


def formats_settings() -> Any:

    return anybody(max_body=1 << 20)


class lifespan:  # noqa: N801  # used like a function
    """Run the intake for one request, and leave the store open."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    async def __aenter__(self) -> None:
        from hush.collector.intake import Intake

        self._collector.desk.intake = Intake(self._collector.store)

    async def __aexit__(self, *_: object) -> None:
        assert self._collector.desk.intake is not None
        await self._collector.desk.intake.stop()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["hush", "plan", "id", "answers"]), VALUES)
def test_json_of_other_values(collector: Any, name: str, value: Any) -> None:
    document = json.loads(report_of(PLAN).to_json()) | {name: value}
    try:
        hush.Report.from_json(PLAN, json.dumps(document))
    except hush.ReportError:
        assert collector(PLAN, formats.JSON, json.dumps(document).encode())[0] == 422
    else:
        assert collector(PLAN, formats.JSON, json.dumps(document).encode())[0] == 202


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1" * 60_000,
        b"-1e" + b"9" * 60_000,
        b'{"hush":2,"hush":2}',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"",
        b" " * 60_000,
        b'"\\ud800"',
        b'{"hush":2,"plan":"\\u0000","id":"","answers":[]}',
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.parametrize("kind", [formats.JSON, *formats.BATCHES, formats.REPORT])
def test_bombs(collector: Any, kind: str, body: bytes) -> None:
    start = time.process_time()
    assert collector(PLAN, kind, body)[0] == 422
    assert time.process_time() - start < 2


# -- Arrow, which can say much in few bytes


def arrow(collector: Any, plan: hush.Plan, body: bytes) -> str:
    status, answer = collector(plan, formats.ARROW, body)
    assert status == 422
    return str(answer["detail"])


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_streams_are_refused_unread(collector: Any, compression: str) -> None:
    table = pa.table([pa.array(np.zeros(1 << 22, "i2")), pa.array(np.zeros(1 << 22, "i8"))], schema=report_schema(PLAN))
    body = stream_of(table, compression=compression)
    assert len(body) < 1 << 19  # of 40 MiB
    before = pa.total_allocated_bytes()
    assert "compressed" in arrow(collector, PLAN, body)
    assert pa.total_allocated_bytes() - before < 1 << 20


def test_too_many_rows_and_pieces(collector: Any) -> None:
    table = rows(FEW, 1)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(formats.MAX_PIECES + 1):
            writer.write_batch(table.slice(0, 0).to_batches()[0] if table.slice(0, 0).to_batches() else _empty(table))
    assert "record batches" in arrow(collector, FEW, sink.getvalue().to_pybytes())
    count = formats.MAX_ROWS + 2
    many = pa.table({"attribute": np.zeros(count, "i1"), "output": np.zeros(count, "i1")})
    with pytest.raises(hush.ReportError, match="at most 1048576 rows"):
        formats.batch(FEW, formats.ARROW, stream_of(many), bytes(16), False)


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], type=field.type) for field in table.schema], schema=table.schema)


def test_streams_without_rows(collector: Any) -> None:
    table = rows(PLAN, 1)
    assert "without reports" in arrow(collector, PLAN, stream_of(table.slice(0, 0)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:  # pieces of no rows between others do no harm
        for piece in (_empty(table), *table.to_batches(), _empty(table)):
            writer.write_batch(piece)
    assert collector(PLAN, formats.ARROW, sink.getvalue().to_pybytes())[0] == 202


def test_columns_that_are_not_of_the_format(collector: Any) -> None:
    table = rows(PLAN, 3)
    attribute, output = table.column("attribute"), table.column("output")
    cases = {
        "alone": pa.table({"attribute": attribute, "output": output, "address": ["192.0.2.7"] * 3}),
        "one column 'output'": pa.table({"attribute": attribute}),
        "record batches alone": pa.table(
            {"attribute": attribute.cast(pa.int64()).dictionary_encode(), "output": output}
        ),
        "null": pa.table({"attribute": attribute, "output": pa.array([None, 1, 1], pa.int64())}),
        "16 bytes": pa.table({"attribute": attribute, "output": output, "report": ["a", "b", "c"]}),
        "'part'": pa.table({"attribute": attribute, "output": output, "part": pa.array([0, 1, 0], pa.int16())}),
        "in the column 'part'": pa.table({"attribute": attribute, "output": output, "part": ["a", "b", "c"]}),
        "another plan": rows(ALL, 3),
    }
    for why, case in cases.items():
        assert why in arrow(collector, PLAN, stream_of(case)), why
    twice = pa.Table.from_arrays([attribute, output, output], names=["attribute", "output", "output"])
    assert "one column 'output'" in arrow(collector, PLAN, stream_of(twice))
    registered = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 1, 1], pa.int8()))
    extension = pa.table({"attribute": attribute, "output": registered})
    assert "signed integers" in arrow(collector, PLAN, stream_of(extension))


def test_absurd_lengths(collector: Any) -> None:
    """Every 4 bytes of a stream in turn say that there is very much."""
    body = stream_of(rows(PLAN, 2))
    accepted = 0
    for at in range(0, len(body), 4):
        for number in (b"\xff\xff\xff\x7f", b"\0\0\0\x7f", b"\xff\xff\xff\xff"):
            bad = body[:at] + number + body[at + 4 :]
            try:
                found = formats.batch(PLAN, formats.ARROW, bad, bytes(16), False)
            except hush.ReportError:
                continue
            accepted += 1
            tally, _ = counted(PLAN, formats.ARROW, bad)  # what is accepted is what others read too
            assert (layout_of(PLAN).vector(tally) == found.vector).all()
    assert accepted < 120  # padding and names of no consequence


def test_streams_that_are_cut_or_go_on(collector: Any) -> None:
    body = stream_of(rows(PLAN, 20))
    for size in range(0, len(body), 8):
        with pytest.raises(hush.ReportError):
            formats.batch(PLAN, formats.ARROW, body[:size], bytes(16), False)
    for more in (b"\0" * 8, formats.END_MARK, body):
        assert arrow(collector, PLAN, body + more)
    # A set that reads like an end mark is none: without the real one the stream is cut.
    oue = hush.design(hush.Schema([hush.Categorical("c", list(range(64)))]), 1.0, categorical="oue")
    table = pa.table({"attribute": pa.array([0], pa.int16()), "output": pa.array([0xFFFFFFFF], pa.int64())})
    whole = stream_of(table.replace_schema_metadata({"hush.core.own": "0"}))
    assert formats.batch(oue, formats.ARROW, whole, bytes(16), False).vector[0] == 1
    with pytest.raises(hush.ReportError):
        formats.batch(oue, formats.ARROW, whole[:-8], bytes(16), False)


def test_parts_must_be_whole(collector: Any) -> None:
    table = rows(WIDE, 40)
    assert collector(WIDE, formats.ARROW, stream_of(table))[0] == 202
    place = table.column("part").to_pylist().index(1)
    broken = pa.concat_tables([table.slice(0, place), table.slice(place + 1)])
    assert "parts" in arrow(collector, WIDE, stream_of(broken))
    # The half set that this left open is gone: the next batch is counted as if nothing had been.
    good = packed(WIDE, 9, b"parts must whole")
    assert (formats.packed(WIDE, good).vector == layout_of(WIDE).vector(counted(WIDE, formats.COLUMNS, good)[0])).all()


def test_ids_in_header_and_body_agree(collector: Any) -> None:
    status, answer = collector(PLAN, formats.COLUMNS, packed(PLAN, 3, b"x" * 16))
    assert status == 422
    assert "another id" in answer["detail"]


# -- the long run


def main() -> int:
    """Send very many requests, half of them to a collector that looks at ids within batches."""
    from rich.progress import Progress

    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends it sees how far it came
    oracles = [Oracle(check_ids=False), Oracle(check_ids=True)]
    with Progress() as bar, suppress(KeyboardInterrupt):
        task = bar.add_task("requests", total=arguments.requests)
        for half, oracle in enumerate(oracles):

            def show(done: int, oracle: Oracle, start: int = half * (arguments.requests // 2)) -> None:
                bar.update(task, completed=start + done, description=f"{len(oracle.failures)} kinds of failures")

            count, seed = arguments.requests // 2, arguments.seed + half
            run(count, seed, check_ids=oracle.check_ids, progress=show, oracle=oracle)
    for oracle in oracles:
        total = sum(oracle.statuses.values())
        print(f"{total} requests, {oracle.new} counted: {dict(sorted(oracle.statuses.items()))}")
        for what, (count, example) in oracle.failures.items():
            print(f"{count} times {what}: {example!r}"[:2000])
    return int(any(oracle.failures for oracle in oracles))


if __name__ == "__main__":
    sys.exit(main())
