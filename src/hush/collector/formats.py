"""The bodies that a collector reads: each is checked whole before anything is counted.

- application/json: one report, as `Report.to_json` writes it
- application/vnd.hush.report: one report, as `Report.encode` writes it
- application/vnd.hush.reports: binary reports, one after the other, behind 16 bytes: the batch's id
- application/vnd.hush.columns: packed columns, see below
- application/vnd.apache.arrow.stream: an Arrow IPC stream of rows as in `spec/reports.md`; the batch's id is in the
  header `Hush-Batch`

**Packed columns**, for gateways that have no Arrow: `HUSHC1`, the plan's tag (8 bytes) and the batch's id (16 bytes),
the number of rows (4 bytes), then the columns of `spec/reports.md` one after the other: `attribute` (int16), `part`
(int16, where the plan has it), `output` (of the plan's type); integers are little-endian.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hush import codec
from hush.batch.counting import Counts
from hush.batch.rows import check_schema, report_schema, row_arrays
from hush.collector.submissions import ID_SIZE, Batch, Form, Single
from hush.collector.vectors import layout_of
from hush.errors import ReportError, TallyError
from hush.plan import Plan
from hush.report import TAG_SIZE, Report
from hush.tally import Tally

Array = np.ndarray[Any, Any]

JSON = "application/json"
REPORT = "application/vnd.hush.report"
REPORTS = "application/vnd.hush.reports"
COLUMNS = "application/vnd.hush.columns"
ARROW = "application/vnd.apache.arrow.stream"
TALLY = "application/vnd.hush.tally"

SINGLES = (JSON, REPORT)
BATCHES = (REPORTS, COLUMNS, ARROW)

MAGIC = b"HUSHC1"
HEADER = len(MAGIC) + TAG_SIZE + ID_SIZE + 4
MAX_ROWS = 1 << 20
MAX_TALLY = 1 << 50  # reports


class _Counter(threading.local):
    """Counters of plans, kept for the next batch: making them costs more than counting a thousand reports."""

    def __init__(self) -> None:
        self._held: dict[str, Counts] = {}

    def __call__(self, plan: Plan) -> Counts:
        if plan.id not in self._held:
            self._held[plan.id] = Counts(plan)
        return self._held[plan.id]


_counter = _Counter()


def single(plan: Plan, kind: str, body: bytes) -> Single:
    """Read one report."""
    report = Report.from_json(plan, body) if kind == JSON else Report.decode(plan, body)
    return Single(plan, report)


def id_of(kind: str, body: bytes) -> bytes:
    """Return the id of a report whose plan is gone, and which cannot be checked further."""
    if kind == JSON:
        value = codec.load(body, ReportError)
        text = value.get("id") if isinstance(value, dict) else None
        return codec.hexadecimal(text, ID_SIZE, ReportError, "the id of a report")
    if len(body) < 1 + TAG_SIZE + ID_SIZE:
        raise ReportError("the report is cut short")
    return body[1 + TAG_SIZE : 1 + TAG_SIZE + ID_SIZE]


def batch(plan: Plan, kind: str, body: bytes, id_: bytes | None, check_ids: bool) -> Batch:
    """Read a batch. `id_` is from the header, for bodies that have no id of their own."""
    if kind == COLUMNS:
        return packed(plan, body)
    if kind == REPORTS:
        return reports(plan, body, check_ids)
    if id_ is None:
        raise ReportError("a batch needs an id: 32 hexadecimal digits in the header Hush-Batch")
    return arrow(plan, body, id_, check_ids)


def arrow(plan: Plan, body: bytes, id_: bytes, check_ids: bool) -> Batch:
    """Read an Arrow IPC stream of reports."""
    ids: list[bytes] = []
    counts = _counter(plan)
    try:
        with pa.ipc.open_stream(body) as stream:
            check_schema(plan, stream.schema)
            rows = 0
            for piece in stream:
                piece.validate(full=True)
                rows += piece.num_rows
                if rows > MAX_ROWS:
                    raise ReportError(f"a batch may have at most {MAX_ROWS} rows")
                counts.add(*row_arrays(plan, piece))
                if check_ids:
                    ids += _ids(piece)
    except (pa.ArrowException, OSError, ValueError) as error:
        _drained(counts)
        if isinstance(error, ReportError):
            raise
        raise ReportError("not a valid Arrow IPC stream of reports") from None
    if not _ends(body):
        _drained(counts)
        raise ReportError("the Arrow IPC stream is cut short: its end mark is missing")
    return Batch(plan, id_, _nonempty(counts.drain()), Form.ARROW, body, tuple(dict.fromkeys(ids)))


def packed(plan: Plan, body: bytes) -> Batch:
    """Read packed columns."""
    if len(body) < HEADER or body[: len(MAGIC)] != MAGIC:
        raise ReportError("not packed columns of reports")
    at = len(MAGIC)
    if body[at : at + TAG_SIZE] != bytes.fromhex(plan.id)[:TAG_SIZE]:
        raise ReportError("these reports belong to another plan")
    id_ = body[at + TAG_SIZE : at + TAG_SIZE + ID_SIZE]
    rows = int.from_bytes(body[HEADER - 4 : HEADER], "little")
    types = _types(plan)
    if rows > MAX_ROWS:
        raise ReportError(f"a batch may have at most {MAX_ROWS} rows")
    if len(body) != HEADER + rows * sum(kind.itemsize for kind in types.values()):
        raise ReportError("packed columns have another size than their number of rows says")
    found = {"part": np.empty(0, dtype=np.int16)}
    start = HEADER
    for name, kind in types.items():
        found[name] = np.frombuffer(body, dtype=kind, count=rows, offset=start).astype(
            kind.newbyteorder("="), copy=False
        )
        start += rows * kind.itemsize
    counts = _counter(plan)
    counts.add(found["attribute"], found["part"], found["output"])
    return Batch(plan, id_, _nonempty(counts.drain()), Form.COLUMNS, body)


def unpack(plan: Plan, body: bytes) -> pa.Table:
    """Return packed columns, which were checked before, as a table."""
    rows = int.from_bytes(body[HEADER - 4 : HEADER], "little")
    schema, start, columns = report_schema(plan), HEADER, []
    for kind in _types(plan).values():
        columns.append(np.frombuffer(body, dtype=kind, count=rows, offset=start).astype(kind.newbyteorder("=")))
        start += rows * kind.itemsize
    return pa.table([pa.array(column) for column in columns], schema=schema)


def pack(plan: Plan, table: pa.Table, id_: bytes) -> bytes:
    """Return a table of reports as packed columns: for gateways."""
    table = table.combine_chunks()
    columns = [
        np.asarray(table.column(name).combine_chunks()).astype(kind).tobytes() for name, kind in _types(plan).items()
    ]
    head = MAGIC + bytes.fromhex(plan.id)[:TAG_SIZE] + id_ + table.num_rows.to_bytes(4, "little")
    return b"".join([head, *columns])


@lru_cache(maxsize=256)
def _types(plan: Plan) -> dict[str, np.dtype[Any]]:
    return {field.name: np.dtype(field.type.to_pandas_dtype()).newbyteorder("<") for field in report_schema(plan)}


def reports(plan: Plan, body: bytes, check_ids: bool) -> Batch:
    """Read binary reports, one after the other, behind the batch's id."""
    layout = layout_of(plan)
    vector = layout.zero()
    ids = []
    for report in split(plan, body[ID_SIZE:]):
        layout.add(vector, report)
        ids.append(report.id)
    if len(body) < ID_SIZE:
        raise ReportError("a batch of binary reports begins with its id of 16 bytes")
    if len(set(ids)) != len(ids):
        raise ReportError("a batch has the same report twice")
    return Batch(plan, body[:ID_SIZE], _nonempty(vector), Form.REPORTS, body[ID_SIZE:], tuple(ids) if check_ids else ())


def split(plan: Plan, data: bytes) -> list[Report]:
    """Return binary reports that stand one after the other."""
    cursor = codec.Cursor(data, ReportError, "a batch of reports")
    found = []
    while cursor.left:
        found.append(Report.take(plan, cursor))
    return found


def tally(plan: Plan, kind: str, body: bytes, id_: bytes) -> Batch:
    """Read the tally of another collector."""
    found = Tally.from_json(plan, body) if kind == JSON else Tally.decode(plan, body)
    if not 0 < found.n <= MAX_TALLY:
        raise TallyError(f"a tally that is handed on has from 1 to {MAX_TALLY} reports")
    return Batch(plan, id_, layout_of(plan).vector(found), Form.TALLY, found.encode())


def _ids(piece: pa.RecordBatch) -> list[bytes]:
    """Return the report ids of rows, in order, each once."""
    if "report" not in piece.schema.names or piece.schema.field("report").type != pa.binary(ID_SIZE):
        raise ReportError("this collector checks report ids: batches need the column 'report' of 16 bytes")
    column = piece.column("report")
    if column.null_count:
        raise ReportError("the column 'report' must not have null")
    return list(dict.fromkeys(column.to_pylist()))


def _ends(body: bytes) -> bool:
    """Return whether a stream has its end mark, and nothing behind it."""
    return body.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")


def _drained(counts: Counts) -> None:
    """Forget what was counted of a body that is refused."""
    with suppress(ReportError):
        counts.drain()


def _nonempty(vector: Array) -> Array:
    if vector[0] == 0:
        raise ReportError("a batch without reports")
    return vector
