"""Where a store is, whatever its kind; and what is put into it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from hush import Categorical, Numeric, Plan, Report, Schema, Tally, batch, design
from hush.collector import formats
from hush.collector.stores.base import Store
from hush.collector.stores.opening import open_store
from hush.collector.submissions import Batch, Gradient, Handed, Outcome, Single
from hush.collector.vectors import layout_of
from hush.core.training.rounds import Round
from hush.core.training.training import Training
from hush.device.gradient import gradient, held_out
from hush.device.randomise import randomise
from hush.server import step
from hush.server.tally import of_store


@dataclass(frozen=True)
class Place:
    """The address of a store."""

    url: str

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]

    @contextmanager
    def opened(self) -> Iterator[Store]:
        store = open_store(self.url)
        try:
            yield store
        finally:
            store.close()


SCHEMA = Schema([Numeric("age", 0, 100), Categorical("colour", ["red", "green", "blue"])])


@cache
def plan(title: str = "") -> Plan:
    return design(SCHEMA, 2.0, title=title)


@cache
def wide_plan() -> Plan:
    """A plan whose reports are sets too wide for one word."""
    return design(Schema([Categorical("place", list(range(100)))]), 1.0, categorical="oue")


def record(index: int) -> dict[str, Any]:
    return {"age": index % 101, "colour": ("red", "green", "blue")[index % 3]}


def reports(number: int, of: Plan | None = None) -> list[Report]:
    found = of or plan()
    if found.schema != SCHEMA:
        return [randomise(found, {"place": index % 100}) for index in range(number)]
    return [randomise(found, record(index)) for index in range(number)]


def singles(made: Sequence[Report]) -> list[Single]:
    return [Single(report.plan, report) for report in made]


def binary_batch(made: Sequence[Report], check_ids: bool = False, id_: bytes | None = None) -> Batch:
    body = (id_ or secrets.token_bytes(16)) + b"".join(report.encode() for report in made)
    return formats.batch(made[0].plan, formats.REPORTS, body, None, check_ids)


def columns_batch(rows: int, of: Plan | None = None) -> Batch:
    found = of or plan()
    table = batch.randomise(found, pa.table({"age": [40.0] * rows, "colour": ["red"] * rows}))
    return formats.batch(found, formats.COLUMNS, formats.pack(found, table, secrets.token_bytes(16)), None, False)


def arrow_batch(rows: int) -> Batch:
    table = batch.randomise(plan(), pa.table({"age": [40.0] * rows, "colour": ["red"] * rows}))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return formats.batch(plan(), formats.ARROW, sink.getvalue().to_pybytes(), secrets.token_bytes(16), False)


def tally_batch(made: Sequence[Report]) -> Batch:
    tally = tally_of(made[0].plan, made)
    return formats.tally_batch(tally.plan, tally, secrets.token_bytes(16))


def handed(made: Sequence[Report], *names: bytes) -> Handed:
    """The tally of another store, under its names, the newest first."""
    return formats.handed(made[0].plan, of_store(tally_of(made[0].plan, made), names))


def tally_of(of: Plan, made: Sequence[Report]) -> Tally:
    tally = Tally(of)
    tally.update(made)
    return tally


def first_round(title: str = "training", rounds: int = 3) -> Round:
    schema, label = Schema([Numeric("a", -1, 1), Numeric("b", -1, 1)]), Categorical("bought", ["no", "yes"])
    return step.first_round(Training(title, "logistic", schema, label, 2.0, rounds, 0.5, seed="test"))


def vector_of(report: Report) -> Any:
    vector = layout_of(report.plan).zero()
    layout_of(report.plan).add(vector, report)
    return vector


def gradients(round_: Any, number: int) -> list[Gradient]:
    title = round_.training.title
    made = [gradient(round_, {"a": 0.5, "b": -0.25}, "yes") for _ in range(number)]
    return [Gradient(title, round_.number, report.id, vector_of(report)) for report in made]


def gradients_after(last: Any, over: Any) -> list[Gradient]:
    """A gradient that names the round behind the last one."""
    report = gradient(last, {"a": 0.5, "b": -0.25}, "yes")
    return [Gradient(over.training.title, over.number, report.id, vector_of(report))]


def losses(round_: Any, number: int) -> list[Gradient]:
    title = round_.training.title
    made = [held_out(round_, {"a": 0.5, "b": -0.25}, "yes") for _ in range(number)]
    return [Gradient(title, round_.number, report.id, vector_of(report), loss=True) for report in made]


NEW, REPEATED, OVERLAPPING = Outcome.NEW, Outcome.REPEATED, Outcome.OVERLAPPING
LATE, CLOSED, UNKNOWN = Outcome.LATE, Outcome.CLOSED, Outcome.UNKNOWN
