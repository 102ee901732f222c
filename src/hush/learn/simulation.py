"""A whole training at once, for simulated people: each row of a matrix is a person who answers once.

Every round is one matrix product for the scores of its group, and then the batch engine: no Python for single people.
The reports have exactly the law that `hush.gradient` gives them on a device. `hush.learn.directions`
draws for the corners channel, with the words of a device. The cube needs an argument: on a
device, it rounds the signs of all D rotated coordinates, draws k of them, and reports those. Coordinates
that are not drawn leave no trace. So the simulation draws the k coordinates first, computes only those, as products
with rows of Q, and reports them by the same channel on a cube of k dimensions. `tests/learn/test_simulation.py` shows
that both laws are equal.

The features in memory do not change: centre c and scale s enter each product as
((x - c)/s).v = x.(v/s) - c.(v/s).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hush import batch
from hush.batch.columns import Columns, Encoded
from hush.batch.engine import Chunk, Words, ask, chunks_of, in_order, randomise_chunk, thread_count, workspace
from hush.batch.keystream import Source, Stream
from hush.batch.native import compiled, reordering
from hush.batch.program import compile_plan, groups_of
from hush.batch.reports import report_schema
from hush.batch.simulated import source_for as source_for
from hush.core.channels import Corners, Cube
from hush.core.design.rounds import loss_plan
from hush.core.plan import Plan, Question
from hush.core.training.courses import groups
from hush.core.training.maps import RELU
from hush.core.training.rotations import rotation_signs
from hush.core.training.rounds import Round
from hush.core.training.training import VECTOR, Training, gradient_schema
from hush.learn import directions
from hush.server.estimates import estimate
from hush.server.step import first_round, mean_gradient, moved
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

BLOCK = 64  # people whose rows are turned into columns together
ASKING = 1 << 40  # the numbers of the streams that draw coordinates, far from those of chunks
NO_WEIGHTS = np.empty(0, dtype=np.uint64)


# -- losses of whole groups


def _logistic_slopes(scores: Array, y: Array) -> Array:
    return np.asarray(-y / (1.0 + np.exp(np.minimum(y * scores, 80.0))))


SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "squared": lambda scores, y: 2.0 * (scores - y),
    "logistic": _logistic_slopes,
    "hinge": lambda scores, y: np.where(y * scores < 1.0, -y, np.zeros_like(y)),
}

VALUES: dict[str, Callable[[Array, Array], Array]] = {
    "squared": lambda scores, y: np.square(scores - y),
    "logistic": lambda scores, y: np.logaddexp(0.0, -y * scores),
    "hinge": lambda scores, y: np.maximum(0.0, 1.0 - y * scores),
}


# -- kernels


@reordering
def sampled_signs(x: Array, sizes: Array, rotation: Array, shifts: Array, asked: Array, k: int, columns: Array) -> None:
    """Write sizes[i] times the sign of (Q(x[i] - c))_j, for the k coordinates j that person i was asked about."""
    d = x.shape[1]
    for i in range(len(x)):
        for slot in range(k):
            j = np.int64(asked[i * k + slot])
            total = np.float32(0.0)
            for m in range(d):
                total += x[i, m] * rotation[j, m]
            total -= shifts[j]
            columns[slot, i] = sizes[i] if total > 0.0 else (-sizes[i] if total < 0.0 else 0.0)


@compiled
def count_signs(asked: Array, outputs: Array, k: int, counts: Array) -> None:
    """Count the reported signs of each coordinate: member 2j for a minus in slot j, 2j+1 for a plus.

    A report is a row of 64-bit outputs, each with 32 slots: two outputs if k is above 32.
    """
    rows = (k + 31) // 32
    for i in range(len(outputs) // rows):
        for slot in range(k):
            bits = outputs[i * rows + slot // 32]
            plus = (bits >> np.uint64(2 * (slot % 32) + 1)) & np.uint64(1)
            counts[2 * np.int64(asked[i * k + slot]) + np.int64(plus)] += 1


@compiled
def clipped_columns(x: Array, centre: Array, inverse: Array, factors: Array, chosen: Array, columns: Array) -> None:
    """Write the vectors factors[i] * (x[i] - centre) * inverse as columns, for some coordinates, clipped to [-1, 1]."""
    for begin in range(0, len(x), BLOCK):
        for slot in range(len(chosen)):
            j = chosen[slot]
            for i in range(begin, min(begin + BLOCK, len(x))):
                value = np.float64((x[i, j] - centre[j]) * inverse[j] * factors[i])
                columns[slot, i] = min(max(value, -1.0), 1.0)


@reordering
def feature_lengths(x: Array, centre: Array, inverse: Array, lengths: Array) -> None:
    """Write the lengths of the vectors (x[i] - centre) * inverse."""
    for i in range(len(x)):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            value = (x[i, j] - centre[j]) * inverse[j]
            total += value * value
        lengths[i] = np.sqrt(total)


# -- people


@dataclass(frozen=True)
class People:
    """Simulated people: targets, and features as a float32 matrix (with a constant 1, if there is an intercept)."""

    x: Array
    y: Array

    def __len__(self) -> int:
        return len(self.x)

    def some(self, start: int, end: int) -> People:
        """Return the people in a range."""
        return People(self.x[start:end], self.y[start:end])


class View(NamedTuple):
    """How a training reads the rows of `People`: it subtracts a centre and multiplies by an inverse scale.

    Rows that were projected or mapped are centred and scaled already.
    """

    centre: Array
    inverse: Array

    @classmethod
    def of(cls, training: Training) -> View:
        """Return the view of a training."""
        size, plain = training.width, training.projection is None and training.map is None
        centre, inverse = np.zeros(size, dtype=np.float32), np.ones(size, dtype=np.float32)
        if plain and training.centre is not None:
            centre[: training.dimensions] = training.centre
        if plain and training.scale is not None:
            inverse[: training.dimensions] = 1.0 / np.array(training.scale)
        return cls(centre, inverse)

    def scores(self, people: People, weights: Array) -> Array:
        """Return the scores of people: one matrix product."""
        w = (weights * self.inverse).astype(np.float32)
        with np.errstate(invalid="ignore"):  # some products of short rows raise the flag, though all numbers are finite
            return np.asarray(people.x @ w - np.float32(self.centre @ w))

    def lengths(self, people: People, chosen: Array | None = None) -> Array:
        """Return the length of each person's features: of all coordinates, or of some."""
        inverse = self.inverse
        if chosen is not None:
            inverse = np.zeros_like(inverse)
            inverse[chosen] = self.inverse[chosen]
        found = np.empty(len(people), dtype=np.float32)
        feature_lengths(people.x, self.centre, inverse, found)
        return found


def people_of(training: Training, x: Array, y: Array) -> People:
    """Return people as this training sees them: with a 1 appended to the features, projected."""
    if training.intercept:
        x = np.concatenate([x, np.ones((len(x), 1), dtype=np.float32)], axis=1)
    if training.matrix is not None:
        view = View.of(replace(training, projection=None, start=None))
        x = ((x - view.centre) * view.inverse) @ np.array(training.matrix, dtype=np.float32).T
    return People(np.ascontiguousarray(x, dtype=np.float32), np.asarray(y, dtype=np.float32))


def mapped(training: Training, people: People) -> People:
    """Return people with the units of the training's map, centred and scaled; the same people if there is none.

    It is done for one round after the other: nobody has to hold the units of all people.
    """
    if training.map is None:
        return people
    plain = replace(training, map=None, start=None)
    view = View.of(plain)
    x = (people.x - view.centre) * view.inverse
    units = lifted(training, x[:, : training.dimensions])
    found = training.lift
    assert found is not None
    units -= np.array(found.centre, dtype=np.float32)
    units *= np.array(found.factor, dtype=np.float32)
    both = [x[:, : training.dimensions], units, x[:, training.dimensions :]]
    return People(np.concatenate(both, axis=1), people.y)


def lifted(training: Training, x: Array) -> Array:
    """Return the units of a training's map, neither centred nor scaled, for features that are both."""
    found = training.lift
    assert found is not None
    weights = np.zeros((x.shape[1], len(found.units)), dtype=np.float32)
    for j, unit in enumerate(found.units):
        weights[list(unit.places), j] = unit.weights
    sums = x @ weights + np.array([unit.bias for unit in found.units], dtype=np.float32)
    if found.activation == RELU:
        return np.asarray(np.maximum(sums, 0.0))
    sums -= np.rint(sums)
    np.abs(sums, out=sums)
    return np.asarray(1.0 - sums * sums * (24.0 - 32.0 * sums), dtype=np.float32)


# -- a round


@lru_cache(maxsize=64)
def _slots_plan(epsilon: Any, sample: int, agree: int, threshold: int) -> Plan:
    schema = gradient_schema(sample)
    return Plan(schema, epsilon, 1, (Question(schema.names, Cube(sample, sample, agree, threshold)),))


def rotation_rows(seed: str, size: int, d: int) -> Array:
    """Return the first d columns of Q, as a matrix: column m is Q times the m-th unit vector."""
    first, second = (np.array(signs, dtype=np.float64) for signs in rotation_signs(seed, size))
    rows = np.zeros((size, d))
    rows[np.arange(d), np.arange(d)] = first[:d]
    for signs in (second, np.ones(size)):
        half = 1
        while half < size:
            pairs = rows.reshape(size // (2 * half), 2, half, d)
            rows = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size, d)
            half *= 2
        rows = rows * (signs / math.sqrt(size))[:, None]
    return rows.astype(np.float32)


def collect_round(round_: Round, people: People, source: Source, threads: int) -> Tally:
    """Return the tally of a round in which these people take part."""
    training = round_.training
    view, people = View.of(training), mapped(training, people)
    slopes = SLOPES[training.loss](view.scores(people, np.array(round_.weights)), people.y)
    chosen = np.array(round_.coordinates)
    if training.gradient != VECTOR:
        columns = np.empty((len(chosen), len(people)))
        clipped_columns(people.x, *view, slopes / training.bound, chosen, columns)
        return batch._collect_from(source, round_.plan, Encoded.of(round_.plan.schema, columns), threads)  # noqa: SLF001 - no public function takes words
    return _collect_vectors(round_, people, slopes, source, threads)


def round_reports(round_: Round, people: People, source: Source, threads: int, ids: bool = False) -> pa.Table:
    """Return the reports of a round in which these people take part, as a gateway would send them."""
    training, plan, view = round_.training, round_.plan, View.of(round_.training)
    people = mapped(training, people)
    slopes = SLOPES[training.loss](view.scores(people, np.array(round_.weights)), people.y)
    chosen = np.array(round_.coordinates)
    channel = plan.questions[0].channel
    if training.gradient != VECTOR:
        columns = np.empty((len(chosen), len(people)))
        clipped_columns(people.x, *view, slopes / training.bound, chosen, columns)
    else:
        sizes = _sizes(round_, people, slopes)
        if isinstance(channel, Corners):
            found = np.concatenate(list(_corner_outputs(round_, people, sizes, channel, source, threads)))
            return _one_question(plan, found, ids)
        size = len(plan.schema)
        rotation = rotation_rows(round_.rotation, size, len(chosen)) * view.inverse[chosen]
        turned = (people.x[:, chosen] - view.centre[chosen]) @ rotation.T
        columns = (np.sign(turned) * sizes[:, None]).T.astype(np.float64)
    return batch._randomise_from(source, plan, Encoded.of(plan.schema, list(columns)), threads, ids)  # noqa: SLF001 - no public function takes words


def _one_question(plan: Plan, outputs: Array, ids: bool) -> pa.Table:
    """Return outputs of a plan with one question as reports in columns."""
    schema = report_schema(plan, ids=ids)
    arrays = [
        pa.array(np.zeros(len(outputs), dtype=np.int16)),
        pa.array(outputs.astype(schema.field("output").type.to_pandas_dtype())),
    ]
    if ids:
        size = 16
        buffer = pa.py_buffer(os.urandom(size * len(outputs)))
        arrays.append(pa.Array.from_buffers(pa.binary(size), len(outputs), [None, buffer]))
    return pa.table(arrays, schema=schema)


def _collect_vectors(round_: Round, people: People, slopes: Array, source: Source, threads: int) -> Tally:
    training, plan, view = round_.training, round_.plan, View.of(round_.training)
    chosen = np.array(round_.coordinates)
    channel = plan.questions[0].channel
    sizes = _sizes(round_, people, slopes)
    if isinstance(channel, Corners):
        return _collect_corners(round_, people, sizes, channel, source, threads)
    assert isinstance(channel, Cube)
    k, size = channel.sample, channel.size
    rotation = np.zeros((size, training.width), dtype=np.float32)
    rotation[:, chosen] = rotation_rows(round_.rotation, size, len(chosen)) * view.inverse[chosen]
    shifts = rotation @ view.centre
    slots = _slots_plan(plan.cost, k, channel.agree, channel.threshold)
    schema = slots.schema

    def work(chunk: Chunk) -> Array:
        start, end = chunk.start, chunk.end
        asked = _asked(plan, channel, end - start, source.stream(ASKING + chunk.stream))
        columns = np.empty((k, end - start))
        sampled_signs(people.x[start:end], sizes[start:end], rotation, shifts, asked, k, columns)
        part = Chunk(Columns(schema, end - start, tuple(columns)), 0, end - start, chunk.stream)
        outputs = randomise_chunk(slots, part, source, False).output
        counts = np.zeros(2 * size, dtype=np.int64)
        count_signs(asked, outputs.astype(np.uint64), k, counts)
        return counts

    empty = Columns(schema, len(people), ())
    counts = np.zeros(2 * size, dtype=np.int64)
    for found in in_order(work, chunks_of(slots, [empty]), threads):
        counts += found
    return Tally(plan, len(people), [len(people)], [counts.tolist()])


def _sizes(round_: Round, people: People, slopes: Array) -> Array:
    """Return the lengths of clipped gradients, in units of the radius, with the sign of the slope."""
    lengths = np.abs(slopes) * View.of(round_.training).lengths(people, np.array(round_.coordinates))
    return np.copysign(np.minimum(lengths / round_.training.radius, 1.0), slopes).astype(np.float64)


def _collect_corners(
    round_: Round, people: People, sizes: Array, channel: Corners, source: Source, threads: int
) -> Tally:
    """Return the tally of people whose records are the signs of their largest rotated coordinates."""
    counts = np.zeros(2 * channel.size, dtype=np.int64)
    for found in _corner_outputs(round_, people, sizes, channel, source, threads):
        counts += np.bincount(found, minlength=len(counts))
    return Tally(round_.plan, len(people), [len(people)], [counts.tolist()])


def _corner_outputs(
    round_: Round, people: People, sizes: Array, channel: Corners, source: Source, threads: int
) -> Iterator[Array]:
    """Yield the corners that people report, in their order."""
    plan, view, chosen = round_.plan, View.of(round_.training), np.array(round_.coordinates)
    signs = rotation_signs(round_.rotation, channel.size)

    def work(chunk: Chunk) -> Array:
        some = slice(chunk.start, chunk.end)
        return directions.outputs(
            plan, channel, people.x[some], *view, sizes[some], chosen, signs, source.stream(chunk.stream)
        )

    return in_order(work, chunks_of(plan, [Columns(plan.schema, len(people), ())]), threads)


def _asked(plan: Plan, channel: Cube, people: int, stream: Stream) -> Array:
    """Draw the coordinates that each person reports."""
    program = compile_plan(plan)
    with workspace() as space:
        words = Words(stream, 3 * program.words, space)
        groups = groups_of(channel.size, channel.sample)
        return ask(channel.size, channel.sample, NO_WEIGHTS, groups, people, words, space)[0]


# -- a training


def train(
    training: Training,
    people: People,
    *,
    seed: str | None = None,
    threads: int | None = None,
    watch: Callable[[Round], bool] | None = None,
) -> Round:
    """Run a training. The people are dealt to the rounds in order. `watch` sees every new round, and may stop."""
    workers = thread_count(threads)
    round_ = first_round(training)
    for start, end in groups(len(people), training):
        source = source_for(None if seed is None else f"{seed}/{training.seed}/{round_.number}")
        tally = collect_round(round_, people.some(start, end), source, workers)
        round_ = moved(round_, mean_gradient(round_, tally))
        if watch is not None and watch(round_):
            break
    return round_


def held_out_loss(round_: Round, people: People, source: Source, threads: int) -> tuple[float, float]:
    """Return the private estimate of the mean loss of the weights so far, and its standard error."""
    training = round_.training
    plan, people = loss_plan(training, round_.number), mapped(training, people)
    values = VALUES[training.loss](View.of(training).scores(people, np.array(round_.result)), people.y)
    capped = np.minimum(values, training.cap).astype(np.float64)
    tally = batch._collect_from(source, plan, Encoded.of(plan.schema, [capped]), threads)  # noqa: SLF001 - no public function takes words
    row = estimate(tally, refuse=False)[0]
    return row.point, row.stderr
