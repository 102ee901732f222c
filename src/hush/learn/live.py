"""Whole tables of people in a live training: batches for a collector, made as fast as a simulation makes them.

Two uses. A gateway that holds people's records anyway (a clinic, a company) answers for all of them in one request. And
a simulation sends made-up people through a real collector, to see that it keeps up. Every person still answers once,
with the whole epsilon, through the same channel as on a device: word for word (`hush.learn.directions`).

There is no ledger here. **The caller answers for each person once**, and repeats nothing but the same bytes.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from hush import batch
from hush.batch.columns import Encoded, encode
from hush.batch.engine import thread_count
from hush.core.schema import Categorical, Schema
from hush.core.training.courses import Course
from hush.core.training.features import Features
from hush.core.training.labels import TARGETS
from hush.core.training.rounds import Round
from hush.core.training.stages import Phase, Stage
from hush.core.training.training import Training
from hush.device.client import Client
from hush.errors import RecordError
from hush.learn import pilot, simulation
from hush.learn.matrices import feature_matrix
from hush.learn.simulation import People, source_for

Array = np.ndarray[Any, Any]

ARROW = "application/vnd.apache.arrow.stream"
MOST = 50_000  # people of one request


def people_of(training: Training, table: Any, labels: Any) -> People:
    """Return the rows of a table as people. Every value is checked first, as a device does."""
    x = feature_matrix(Features(training.schema, training.ordered), table)
    held = encode(Schema([training.label]), {training.label.name: labels})
    codes = np.concatenate([one.arrays[0] for one in held.batches]) if held.batches else np.empty(0)
    if len(codes) != len(x):
        raise RecordError(f"there are {len(x)} records and {len(codes)} labels")
    return People(x, _targets(training, codes))


def _targets(training: Training, codes: Array) -> Array:
    label = training.label
    if isinstance(label, Categorical):
        second = codes == (1 if training.against is None else training.against)
        return np.asarray(np.array(TARGETS, dtype=np.float32)[second.astype(np.intp)])
    scaled = 2.0 * (codes - label.low) / (label.high - label.low) - 1.0
    return np.asarray(np.clip(scaled, -1.0, 1.0), dtype=np.float32)


def reports(phase: Phase, people: People, *, threads: int | None = None, ids: bool = False) -> pa.Table:
    """Return a fresh report of everybody for a stage of a pilot or a round, in columns."""
    return _reports(phase, people, None, thread_count(threads), ids)


def _reports(phase: Phase, people: People, seed: str | None, threads: int, ids: bool) -> pa.Table:
    if isinstance(phase, Stage):
        source = source_for(None if seed is None else f"{seed}/{phase.plan.title}")
        held = Encoded.of(phase.plan.schema, pilot.answers(phase, people))
        return batch._randomise_from(source, phase.plan, held, threads, ids)  # noqa: SLF001 - no public function takes words
    training = phase.training
    source = source_for(None if seed is None else f"{seed}/{training.seed}/{phase.number}")
    seen = simulation.people_of(training, people.x, people.y)
    return simulation.round_reports(phase, seen, source, threads, ids)


def stream(table: pa.Table) -> bytes:
    """Return reports as an Arrow IPC stream: the body of a request."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def take_part(
    client: Client,
    course: Course,
    table: Any,
    labels: Any,
    *,
    threads: int | None = None,
    ids: bool = False,
) -> list[Round]:
    """Let all people of a table take part in a course, in their order, until it is over or they are used up.

    Returns the current round of each training of the course: one, or one for each of several classes, whose people are
    dealt to them one after the other. The client needs the role submit-batch. With `ids` every report has an id, for
    collectors that check them.
    """
    return _take_part(client, course, table, labels, None, thread_count(threads), ids)


def _take_part(
    client: Client, course: Course, table: Any, labels: Any, seed: str | None, threads: int, ids: bool
) -> list[Round]:
    """Let people take part. With a seed, which is for made-up people alone, it can be repeated."""
    found, start = [], 0
    for own in course.branches():
        crowd = people_of(own.training, table, labels).some(start, start + own.people)
        found.append(_branch(client, own, crowd, seed, threads, ids))
        start += own.people
    return found


def _branch(client: Client, own: Course, crowd: People, seed: str | None, threads: int, ids: bool) -> Any:
    done, phase = 0, client.round(own.name)
    while not phase.done and done < len(crowd):
        wanted = own.wanted(phase)
        group = crowd.some(done, done + wanted)
        done += wanted
        for start in range(0, len(group), MOST):
            part = group.some(start, start + MOST)
            words = seed if seed is None or start == 0 else f"{seed}+{start}"
            body = stream(_reports(phase, part, words, threads, ids))
            client.submit_training_batch(phase, body, os.urandom(16), ARROW)
        phase = client.round(own.name)
    return phase
