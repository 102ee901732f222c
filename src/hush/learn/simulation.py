"""A whole training at once, for simulated people: the rows of a matrix, each used in one round.

Every round is one matrix product for the scores of its group, and then the batch engine: no Python for single people. The
reports have exactly the law that `gradient` gives them on a device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from hush import batch
from hush.batch.columns import Columns, Encoded
from hush.batch.engine import thread_count
from hush.batch.keystream import SPARE, Keystream, Source, Stream, fastest
from hush.batch.native import compiled
from hush.estimates import points
from hush.learn.rotations import seeded_signs
from hush.learn.rounds import VECTOR, Round, Training

Array = np.ndarray[Any, Any]

BLOCK = 64  # people whose signs are turned into columns together
COIN_STREAM = 1 << 62  # far from the streams of chunks


class SimulatedSource:
    """Words made of a seed, so that a simulation can be repeated. They protect nobody: the people are simulated."""

    def __init__(self, seed: str) -> None:
        self._key = hashlib.sha256(f"hush simulation {seed}".encode()).digest()

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""
        return fastest()(self._key, number)


def source_for(seed: str | None) -> Source:
    """Return words for one round: fresh ones, or those of a seed."""
    return Keystream() if seed is None else SimulatedSource(seed)


def coins(source: Source, count: int) -> Array:
    """Return uniform numbers in [0, 1)."""
    words = np.empty(count + SPARE, dtype=np.uint64)
    source.stream(COIN_STREAM).fill(words, count)
    return (words[:count] >> np.uint64(11)) * 2.0**-53


def _logistic(scores: Array, y: Array) -> Array:
    margins = y * scores
    return np.asarray(-y / (1.0 + np.exp(np.minimum(margins, 700.0))))


SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "squared": lambda scores, y: 2.0 * (scores - y),
    "logistic": _logistic,
    "hinge": lambda scores, y: np.where(y * scores < 1.0, -y, 0.0),
}


@compiled
def hadamard_rows(block: Array, count: int) -> None:
    """Replace each column of a block by its Hadamard transform, not scaled. Rows are added as wholes, which is fast."""
    size, half = len(block), 1
    while half < size:
        for start in range(0, size, 2 * half):
            for j in range(start, start + half):
                for i in range(count):
                    a, b = block[j, i], block[j + half, i]
                    block[j, i] = a + b
                    block[j + half, i] = a - b
        half *= 2


@compiled
def rotated_signs(x: Array, factors: Array, first: Array, second: Array, columns: Array) -> None:
    """Write the signs of the rotated vectors factors[i] * x[i] as columns: -1, 0 or 1."""
    rows, d = x.shape
    size = len(first)
    block = np.empty((size, BLOCK), dtype=np.float32)
    for begin in range(0, rows, BLOCK):
        count = min(BLOCK, rows - begin)
        for i in range(count):
            for j in range(d):
                block[j, i] = x[begin + i, j] * factors[begin + i] * first[j]
        block[d:] = 0.0
        hadamard_rows(block, count)
        for j in range(size):
            for i in range(count):
                block[j, i] *= second[j]
        hadamard_rows(block, count)
        for j in range(size):
            for i in range(count):
                value = block[j, i]
                columns[j, begin + i] = np.float64(value > 0.0) - np.float64(value < 0.0)


@compiled
def clipped_columns(x: Array, factors: Array, columns: Array) -> None:
    """Write the vectors factors[i] * x[i] as columns, each number clipped to [-1, 1]."""
    rows, d = x.shape
    for begin in range(0, rows, BLOCK):
        for j in range(d):
            for i in range(begin, min(begin + BLOCK, rows)):
                columns[j, i] = min(max(x[i, j] * factors[i], -1.0), 1.0)


def gradient_columns(round_: Round, x: Array, y: Array, source: Source) -> Encoded:
    """Return the records of a group: their clipped gradients, as `Round.record` makes them."""
    training, plan = round_.training, round_.plan
    slopes = SLOPES[training.loss](x @ np.asarray(round_.weights, dtype=x.dtype), y)
    if training.gradient == VECTOR:
        lengths = np.abs(slopes) * np.sqrt(np.einsum("ij,ij->i", x, x))
        forward = coins(source, len(x)) < (1 + np.minimum(lengths / training.radius, 1.0)) / 2
        first, second = seeded_signs(round_.rotation, len(plan.schema))
        columns = np.empty((len(plan.schema), len(x)))
        factors = np.where(forward, slopes, -slopes).astype(np.float32)
        rotated_signs(x, factors, np.array(first, np.float32), np.array(second, np.float32), columns)
    else:
        columns = np.empty((len(plan.schema), len(x)))
        clipped_columns(x, slopes / training.bound, columns)
    return Encoded(plan.schema, (Columns(plan.schema, len(x), tuple(columns)),))


def mean_gradient(round_: Round, x: Array, y: Array, source: Source, threads: int) -> list[float]:
    """Return the mean gradient of a group, as the server learns it."""
    tally = batch._collect_from(source, round_.plan, gradient_columns(round_, x, y, source), threads)
    return round_.decode([0.0 if point != point else point for point in points(tally)])


def train(
    training: Training,
    x: Array,
    y: Array,
    *,
    seed: str | None = None,
    threads: int | None = None,
    watch: Callable[[Round], None] | None = None,
) -> Round:
    """Run a training. The rows of `x`, already centred, are the people; they are dealt to the rounds in order."""
    workers = thread_count(threads)
    round_ = training.first()
    for number, (start, end) in enumerate(groups(len(x), training.rounds)):
        source = source_for(None if seed is None else f"{seed}/{training.title}/{number}")
        mean = mean_gradient(round_, x[start:end], y[start:end], source, workers) if end > start else None
        round_ = round_.moved(mean if mean is not None else [0.0] * training.dimensions)
        if watch is not None:
            watch(round_)
    return round_


def groups(people: int, rounds: int) -> list[tuple[int, int]]:
    """Return where each round's group begins and ends: groups of equal size, as far as possible."""
    return [(people * i // rounds, people * (i + 1) // rounds) for i in range(rounds)]
