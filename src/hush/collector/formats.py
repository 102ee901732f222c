"""The bodies that a collector reads: each is checked whole before anything is counted.

- application/json: one report, as `Report.to_json` writes it
- application/vnd.hush.report: one report, as `Report.encode` writes it
- application/vnd.hush.reports: binary reports, one after the other, behind 16 bytes: the batch's id
- application/vnd.hush.columns: packed columns, see below
- application/vnd.apache.arrow.stream: an Arrow IPC stream of rows as in `spec/reports.md`; the batch's id is in the
  header `Hush-Batch`

`spec/http.md` describes them byte by byte. Nothing here allocates more than a small multiple of the body: Arrow
that could unpack to more (compressed or dictionary-encoded) is refused unread. Bodies are stored unchanged, so a stream
may have only the columns of the format: others could hold data that nobody agreed to send.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from hush.batch.binary import ids_of, rows_of
from hush.batch.counting import Counts
from hush.batch.plainly import kernels_only
from hush.batch.reports import check_schema, notes_of, report_schema, row_arrays
from hush.collector.submissions import Batch, Form, Handed, Single
from hush.collector.vectors import layout_of
from hush.core import codec
from hush.core.blanket import blanket_of
from hush.core.channels import Grouped, Output, Subsets
from hush.core.columnar import parts
from hush.core.owned import OWN, ROWS, Owned
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, MAX_TEXT, TAG_SIZE, VERSION, Report, sizes
from hush.errors import PlanError, ReportError, TallyError
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

JSON = "application/json"
REPORT = "application/vnd.hush.report"
REPORTS = "application/vnd.hush.reports"
COLUMNS = "application/vnd.hush.columns"
ARROW = "application/vnd.apache.arrow.stream"
TALLY = "application/vnd.hush.tally"

SINGLES = (JSON, REPORT)
BATCHES = (REPORTS, COLUMNS, ARROW)

ANSWERS_MARK, ID_MARK, PLAN_MARK, END = b'{"answers":', b',"hush":%d,"id":"' % VERSION, b'","plan":"', b'"}'
_answers = msgspec.json.Decoder(list[tuple[int, int | list[int]]])
MAGIC = b"HUSHC1"
HEADER = len(MAGIC) + TAG_SIZE + ID_SIZE + 4
MAX_ROWS = 1 << 20
FEW_ROWS = 1 << 13  # of a batch that is counted in one step
NO_PARTS = np.empty(0, dtype=np.int16)
MAX_REPORTS = 1 << 16  # binary ones, which are read one by one
MAX_TALLY = 1 << 40  # reports
MAX_PIECES = 4096  # record batches of a stream
MAX_METADATA = 1 << 16  # bytes of a message of a stream, without the rows
KEPT_SCHEMAS, MAX_KEPT = 64, 1 << 12  # how many, and of how many bytes at most
METADATA = {"hush", "hush.core.plan", OWN, ROWS}
END_MARK = b"\xff\xff\xff\xff\0\0\0\0"


class _Counter(threading.local):
    """Counters of plans, kept for the next batch: making them costs more than counting a thousand reports."""

    def __init__(self) -> None:
        self._held: dict[str, Counts] = {}

    def __call__(self, plan: Plan) -> Counts:
        if plan.id not in self._held:
            self._held[plan.id] = Counts(plan)
        return self._held[plan.id]


_counter = _Counter()


def longest(plan: Plan, kind: str) -> int:
    """Return how many bytes one report may have. In JSON, a byte of a set is up to 8 members of 5 characters."""
    size = sizes(plan)[1]
    return min(MAX_TEXT, 1024 + 40 * size) if kind == JSON else size


def single(plan: Plan, kind: str, body: bytes) -> Single:
    """Read one report."""
    if kind == JSON:
        report = _canonical(plan, body)
        return Single(plan, Report.from_json(plan, body) if report is None else report)
    return Single(plan, Report.decode(plan, body))


def _canonical(plan: Plan, body: bytes) -> Report | None:
    """Read a report whose text is as `Report.to_json` writes it, around its answers: a few times faster.

    None if it is not, or if anything is wrong with it: `Report.from_json` then decides, and names the error.
    """
    tail = _tail(plan)
    end = len(body) - len(tail)
    start = end - 2 * ID_SIZE
    mark = start - len(ID_MARK)
    if mark < 0 or not (body.startswith(ANSWERS_MARK) and body.startswith(ID_MARK, mark) and body.endswith(tail)):
        return None
    try:
        answers = _answers.decode(body[len(ANSWERS_MARK) : mark])
        text = body[start:end].decode("ascii")
        id_ = bytes.fromhex(text)
        if id_.hex() != text:
            return None
        # Sets are tuples, and the report checks everything else about its answers.
        found = [(i, tuple(output) if isinstance(output, list) else output) for i, output in answers]
        return Report(plan, id_, tuple(found))
    except (msgspec.DecodeError, ReportError, ValueError):
        return None


@lru_cache(maxsize=256)
def _tail(plan: Plan) -> bytes:
    """Return how the text of every report of a plan ends."""
    return PLAN_MARK + plan.id.encode() + END


def batch_id_of(kind: str, body: bytes, id_: bytes | None) -> bytes:
    """Return the id of a batch whose plan is gone. `id_` is from the header."""
    if kind == ARROW or id_ is not None:
        if id_ is None:
            raise ReportError("a batch needs an id: 32 hexadecimal digits in the header Hush-Batch")
        return id_
    start = len(MAGIC) + TAG_SIZE if kind == COLUMNS else 0
    if len(body) < start + ID_SIZE:
        raise ReportError("the batch is cut short")
    return body[start : start + ID_SIZE]


def id_of(kind: str, body: bytes, _: bytes | None = None) -> bytes:
    """Return the id of a report whose plan is gone, so that nothing else of it can be checked."""
    if kind == JSON:
        value = codec.load(body, ReportError)
        text = value.get("id") if isinstance(value, dict) else None
        return codec.hexadecimal(text, ID_SIZE, ReportError, "the id of a report")
    if len(body) < 1 + TAG_SIZE + ID_SIZE:
        raise ReportError("the report is cut short")
    return body[1 + TAG_SIZE : 1 + TAG_SIZE + ID_SIZE]


@contextmanager
def _counting(plan: Plan) -> Iterator[Counts]:
    """Count with this thread's counter. The next batch finds it empty, even after an error."""
    counts = _counter(plan)
    try:
        yield counts
    except BaseException:
        with suppress(ReportError):
            counts.drain()
        raise


def batch(plan: Plan, kind: str, body: bytes, id_: bytes | None, check_ids: bool) -> Batch:
    """Read a batch. `id_` is from the header; a body that has an id of its own must have the same."""
    if kind == ARROW:
        if id_ is None:
            raise ReportError("a batch needs an id: 32 hexadecimal digits in the header Hush-Batch")
        return arrow(plan, body, id_, check_ids)
    if kind == COLUMNS and check_ids:
        raise ReportError("this collector checks report ids, and packed columns have none: send an Arrow stream")
    found = packed(plan, body) if kind == COLUMNS else reports(plan, body, check_ids)
    if id_ is not None and id_ != found.id:
        raise ReportError("the header Hush-Batch names another id than the body")
    return found


def prepare(plan: Plan, *, ids: bool = False) -> None:
    """Read a batch of every kind once, so that the first one of a plan finds all code compiled and loaded.

    Numba compiles a kernel anew for every type of array that it is called with, which takes seconds. So this goes the
    way of real batches, with the rows of a report that nobody sent.
    """
    data = _example(plan).encode()
    rows = next(rows_of(plan, data))
    columns = {
        "attribute": rows.attribute,
        "part": rows.part,
        "output": rows.output,
        "report": [bytes(ID_SIZE)] * len(rows.output),
    }
    schema = report_schema(plan, ids=ids)
    table = pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table)
    with kernels_only():
        arrow(plan, sink.getvalue().to_pybytes(), bytes(ID_SIZE), ids)
        if not ids:
            packed(plan, pack(plan, table, bytes(ID_SIZE)))
        reports(plan, bytes(ID_SIZE) + data, ids)
        wrong = np.full_like(rows.output, -1)  # a fault is counted by kernels of its own
        for output in (wrong, wrong.astype(_output(plan))):
            with suppress(ReportError), _counting(plan) as counts:
                counts.add(rows.attribute, rows.part if max(parts(plan)) > 1 else NO_PARTS, output)
                counts.drain()


def _example(plan: Plan) -> Report:
    """Return a report that has the first output of each of the first questions."""
    answers: list[tuple[int, Output]] = []
    for index, question in enumerate(plan.questions[: plan.k]):
        alphabet = question.channel.alphabet
        if isinstance(alphabet, Subsets):
            step = alphabet.group if isinstance(alphabet, Grouped) else 1
            answers.append((index, tuple(range(0, step * (alphabet.weight or 0), step))))
        else:
            answers.append((index, 0))
    return Report(plan, bytes(ID_SIZE), tuple(answers))


def arrow(plan: Plan, body: bytes, id_: bytes, check_ids: bool) -> Batch:
    """Read an Arrow IPC stream of reports."""
    ids: list[bytes] = []
    if not body.endswith(END_MARK):
        raise ReportError("the Arrow IPC stream is cut short: its end mark is missing")
    try:
        pieces = list(_pieces(plan, body))
        for piece in pieces:
            if check_ids:
                ids += _ids(piece)
        if len(pieces) == 1:
            vector = _counted(plan, *_arrays(plan, pieces[0]))
        else:
            with _counting(plan) as counts:
                for piece in pieces:
                    counts.add(*_arrays(plan, piece))
                vector = counts.drain()
    except ReportError:
        raise
    except (pa.ArrowException, OSError, ValueError, struct.error):
        raise ReportError("not a valid Arrow IPC stream of reports") from None
    _nonempty(vector)
    if check_ids and (len(ids) != vector[0] or len(set(ids)) != len(ids)):
        raise ReportError("every report of a batch has an id of its own, in all of its rows, one after the other")
    own = _own(plan, pieces, int(vector[0]))
    return Batch(plan, id_, layout_of(plan).with_own(vector, own), Form.ARROW, body, tuple(ids))


def _own(plan: Plan, pieces: list[pa.RecordBatch], reports: int) -> int:
    """Return how many reports of a stream are a relay's own, as its metadata must say."""
    owned = Owned(how=f"in the metadata {OWN} and {ROWS}")
    owned.add(notes_of(pieces[0].schema), sum(piece.num_rows for piece in pieces))
    own = owned.total(reports)
    if own:
        try:
            blanket_of(plan)
        except PlanError as error:
            raise ReportError(f"no relay has reports of its own for this plan: {error}") from None
    return own


def _arrays(plan: Plan, piece: pa.RecordBatch) -> tuple[Array, Array, Array]:
    """Return the columns of a record batch as the kernels were compiled for them: see `_columns`.

    Senders may choose integers of another size. Numbers that do not fit the plan's are no outputs.
    """
    attribute, part, output = row_arrays(plan, piece)
    kind = _output(plan)
    if output.dtype.itemsize > kind.itemsize:
        output = np.where((output >= 0) & (output <= np.iinfo(kind).max), output, -1)
    return attribute.copy(), part.copy(), output.astype(kind)


def _pieces(plan: Plan, body: bytes) -> Iterator[pa.RecordBatch]:
    """Read a stream, after a look at how it is encoded. Each batch is checked before it is used."""
    head = _check_messages(body[: -len(END_MARK)])
    rows = 0
    with pa.ipc.open_stream(body) as stream:
        _check_schema(plan, head, stream.schema)
        ids = "report" in stream.schema.names
        for piece in stream:
            rows += piece.num_rows
            if rows > MAX_ROWS:
                raise ReportError(f"a batch may have at most {MAX_ROWS} rows")
            piece.validate(full=True)
            if ids and piece.column("report").null_count:
                raise ReportError("the column 'report' must not have null")
            yield piece


def _check_messages(body: bytes) -> bytes:
    """Look at how a stream without its end mark is encoded, before anything of it is decoded; return its schema."""
    source = pa.BufferReader(body)
    messages = pa.ipc.MessageReader.open_stream(source)
    head, start = b"", 0
    for place in range(MAX_PIECES + 2):
        start = source.tell()
        try:
            message = messages.read_next_message()
        except StopIteration:
            break
        if place > MAX_PIECES:
            raise ReportError(f"an Arrow IPC stream may have at most {MAX_PIECES} record batches")
        if message.metadata.size > MAX_METADATA:
            raise ReportError(f"a message of an Arrow IPC stream may have at most {MAX_METADATA} bytes of metadata")
        if message.type != ("record batch" if place else "schema"):
            raise ReportError("an Arrow IPC stream of reports has record batches alone")
        data = message.metadata.to_pybytes()
        if place and _is_compressed(data):
            raise ReportError("compressed Arrow IPC streams are not read")
        head = head or data
    if start != len(body):  # an earlier end mark was found
        raise ReportError("the Arrow IPC stream has bytes behind its end mark")
    return head


_schemas: OrderedDict[tuple[str, bytes], None] = OrderedDict()  # that were found to be right


def _check_schema(plan: Plan, head: bytes, schema: pa.Schema) -> None:
    """Refuse columns that are not of the format. Gateways send the same schema each time: it is checked once."""
    if (plan.id, head) in _schemas:
        return
    _check_columns(plan, schema)
    if len(head) <= MAX_KEPT:
        _schemas[plan.id, head] = None
        if len(_schemas) > KEPT_SCHEMAS:
            _schemas.popitem(last=False)


def _check_columns(plan: Plan, schema: pa.Schema) -> None:
    check_schema(plan, schema)
    if not set(schema.names) <= {"attribute", "part", "output", "report"} or len(set(schema.names)) != len(schema):
        raise ReportError("a stream of reports has the columns attribute, part, output and report alone, each once")
    if "report" in schema.names and schema.field("report").type != pa.binary(ID_SIZE):
        raise ReportError(f"the column 'report' must have {ID_SIZE} bytes, of fixed size")
    notes = [schema.metadata or {}, *(field.metadata or {} for field in schema)]
    if not {key.decode(errors="replace") for note in notes for key in note} <= METADATA:
        names = ", ".join(sorted(METADATA))
        raise ReportError(f"a stream of reports has the metadata {names} alone, as all of it is stored")
    if "part" in schema.names and not pa.types.is_signed_integer(schema.field("part").type):
        raise ReportError("reports must have signed integers in the column 'part'")


def _is_compressed(message: bytes) -> bool:
    """Return whether a record batch is compressed: field 3 of its header, which is field 2 of the message.

    Messages are flatbuffers: a table begins with the distance back to its list of fields, which says where each is.
    """

    def field(table: int, number: int) -> int:
        fields = table - int(struct.unpack_from("<i", message, table)[0])
        if 4 + 2 * number >= struct.unpack_from("<H", message, fields)[0]:
            return 0
        offset = int(struct.unpack_from("<H", message, fields + 4 + 2 * number)[0])
        return table + offset if offset else 0

    header = field(int(struct.unpack_from("<I", message)[0]), 2)
    if not header:
        raise ReportError("not a valid Arrow IPC stream of reports")
    return bool(field(header + int(struct.unpack_from("<I", message, header)[0]), 3))


def packed(plan: Plan, body: bytes) -> Batch:
    """Read packed columns."""
    if len(body) < HEADER or body[: len(MAGIC)] != MAGIC:
        raise ReportError("not packed columns of reports")
    at = len(MAGIC)
    if body[at : at + TAG_SIZE] != bytes.fromhex(plan.id)[:TAG_SIZE]:
        raise ReportError("these reports belong to another plan")
    id_ = body[at + TAG_SIZE : at + TAG_SIZE + ID_SIZE]
    rows = _rows(body)
    if rows > MAX_ROWS:
        raise ReportError(f"a batch may have at most {MAX_ROWS} rows")
    if len(body) != HEADER + rows * sum(kind.itemsize for kind in _types(plan).values()):
        raise ReportError("packed columns have another size than their number of rows says")
    found = _columns(plan, body, rows)
    vector = _counted(plan, found["attribute"], found.get("part", NO_PARTS), found["output"])
    return Batch(plan, id_, _nonempty(vector), Form.COLUMNS, body)


def _counted(plan: Plan, attribute: Array, part: Array, output: Array) -> Array:
    """Count the rows of a whole batch."""
    if len(attribute) <= FEW_ROWS:
        vector = _counter(plan).whole(attribute, part, output)
        if vector is not None:
            return vector
    with _counting(plan) as counts:  # faster for many rows, and names the error
        counts.add(attribute, part, output)
        return counts.drain()


def unpack(plan: Plan, body: bytes) -> pa.Table:
    """Return packed columns, which were checked before, as a table."""
    columns = _columns(plan, body, _rows(body))
    return pa.table([pa.array(column) for column in columns.values()], schema=report_schema(plan))


def _rows(body: bytes) -> int:
    """Return the number of rows that packed columns declare."""
    return int.from_bytes(body[HEADER - 4 : HEADER], "little")


def _columns(plan: Plan, body: bytes, rows: int) -> dict[str, Array]:
    """Return packed columns as arrays.

    They are copies: for arrays that cannot be written to, as a view of the body is, Numba would compile all kernels
    again.
    """
    found, start = {}, HEADER
    for name, kind in _types(plan).items():
        column = np.frombuffer(body, dtype=kind, count=rows, offset=start)
        found[name] = column.astype(kind.newbyteorder("="))
        start += rows * kind.itemsize
    return found


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


def _output(plan: Plan) -> np.dtype[Any]:
    """Return the type of the column 'output', in the byte order of this machine."""
    return _types(plan)["output"].newbyteorder("=")


def reports(plan: Plan, body: bytes, check_ids: bool) -> Batch:
    """Read binary reports, one after the other, behind the batch's id."""
    if len(body) < ID_SIZE:
        raise ReportError("a batch of binary reports begins with its id of 16 bytes")
    if (len(body) - ID_SIZE) // sizes(plan)[0] > MAX_REPORTS:
        raise ReportError(f"a batch of binary reports has at most {MAX_REPORTS} of them: columns take more")
    data = body[ID_SIZE:]
    wide = max(parts(plan)) > 1
    found = []
    with _counting(plan) as counts:
        for rows in rows_of(plan, data):
            counts.add(rows.attribute, rows.part if wide else NO_PARTS, rows.output)
            found.append(ids_of(data, rows.starts))
        vector = _nonempty(counts.drain())
    ids = np.concatenate(found)
    if len(np.unique(ids, axis=0)) != len(ids):
        raise ReportError("a batch has the same report twice")
    known = tuple(row.tobytes() for row in ids) if check_ids else ()
    return Batch(plan, body[:ID_SIZE], vector, Form.REPORTS, data, known)


def split(plan: Plan, data: bytes) -> list[Report]:
    """Return binary reports that stand one after the other."""
    cursor = codec.Cursor(data, ReportError, "a batch of reports")
    found = []
    while cursor.left:
        found.append(Report.take(plan, cursor))
    return found


def tally(plan: Plan, kind: str, body: bytes) -> Tally:
    """Read the tally of another collector."""
    found = Tally.from_json(body, plan) if kind == JSON else Tally.decode(plan, body)
    if not found.people or found.reports > MAX_TALLY:
        raise TallyError(f"a tally that is handed on has from 1 to {MAX_TALLY} reports")
    return found


def tally_batch(plan: Plan, found: Tally, id_: bytes) -> Batch:
    """Return a tally without a name, which is counted once under its id."""
    return Batch(plan, id_, layout_of(plan).vector(found), Form.TALLY, found.encode())


def handed(plan: Plan, found: Tally) -> Handed:
    """Return the tally of one store, which takes the place of its earlier one."""
    return Handed(plan, found.stores[0], layout_of(plan).vector(found))


def _ids(piece: pa.RecordBatch) -> list[bytes]:
    """Return the report ids of rows, in order, each once."""
    if "report" not in piece.schema.names:
        raise ReportError("this collector checks report ids: batches need the column 'report' of 16 bytes")
    return list(dict.fromkeys(piece.column("report").to_pylist()))


def _nonempty(vector: Array) -> Array:
    if vector[0] == 0:
        raise ReportError("a batch without reports")
    return vector
