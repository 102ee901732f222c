"""The kernel for simulated people draws what the batch engine draws for the records of devices, word for word."""

from __future__ import annotations

import numpy as np
import pytest

from hush.batch.columns import Columns
from hush.batch.engine import Chunk, randomise_chunk
from hush.core.channels import Corners
from hush.core.training.directions import pointed
from hush.core.training.rotations import rotate, rotation_signs
from hush.learn import directions
from hush.learn.simulation import View, source_for
from hush.server.step import first_round
from tests.learn.cases import training


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_outputs_are_those_of_devices(epsilon: float) -> None:
    own = training(dimensions=20, epsilon=epsilon, intercept=False)
    round_, n = first_round(own), 600
    channel = round_.plan.questions[0].channel
    assert isinstance(channel, Corners)
    x = np.random.default_rng(3).uniform(-1, 1, (n, 20)).astype(np.float32)
    sizes = np.random.default_rng(4).uniform(-1, 1, n)
    sizes[:6] = 0.0, 1.0, -1.0, 1e-12, 2.0**-30, 0.5
    signs = rotation_signs(round_.rotation, channel.size)
    found = directions.outputs(
        round_.plan, channel, x, *View.of(own), sizes, np.arange(20), signs, source_for("1").stream(0)
    )
    turned = (rotate(row.astype(float).tolist(), round_.rotation) for row in x)
    records = [pointed(one, size, channel.near) for one, size in zip(turned, sizes.tolist(), strict=True)]
    columns = Columns(round_.plan.schema, n, tuple(np.ascontiguousarray(np.array(records).T)))
    expected = randomise_chunk(round_.plan, Chunk(columns, 0, n, 0), source_for("1"), False).output
    # Coordinates that are equal to 2^-24 may change places between float32 and float64.
    assert np.mean(found == expected) > 0.99
    assert np.mean(np.roll(found, 1) == expected) < 0.2  # the twin: other people's words


def test_the_kth_largest_is_found() -> None:
    """Among integers with and without ties, from good and bad guesses."""
    generator = np.random.default_rng(5)
    unit = int(directions.UNIT)
    for round_ in range(300):
        top = (1, 3, 40, unit)[round_ % 4]
        values = generator.integers(0, top + 1, (2, 64, 200)[round_ % 3]).astype(np.int32)
        k = int(generator.integers(1, len(values) + 1))
        expected = int(np.sort(values)[-k])
        for guess in (0, unit, expected, expected + 1, int(generator.integers(0, unit))):
            assert directions.kth_largest(values, k, guess) == expected


def test_several_vectors_are_transformed_at_once() -> None:
    generator = np.random.default_rng(6)
    for size in (2, 4, 8, 64, 128):
        vectors = generator.integers(-9, 10, (directions.LANES, size))
        hadamard = np.ones((1, 1))
        while len(hadamard) < size:
            hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
        beside = np.ascontiguousarray(vectors.T, dtype=np.float32).ravel()
        directions.transform(beside, size)
        assert np.array_equal(beside.reshape(size, -1).T, vectors @ hadamard)


def test_of_equal_coordinates_the_first_are_marked() -> None:
    codes = np.array([5, -3, 0, 3, -3, 7, 1, -1], dtype=np.int32)  # sizes 4, 2, 0, 2, 2, 6, 0, 0
    whole, marks = np.empty(8, dtype=np.int32), np.empty(8, dtype=np.int8)
    for m, expected in (
        (1, [5]),
        (2, [0, 5]),
        (3, [0, 1, 5]),
        (4, [0, 1, 3, 5]),
        (6, [0, 1, 2, 3, 4, 5]),
        (8, range(8)),
    ):
        directions.mark_largest(codes, m, 0, whole, marks)
        signs = np.sign(codes) * np.isin(np.arange(8), list(expected))
        assert marks.tolist() == signs.tolist()
