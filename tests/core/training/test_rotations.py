"""Public rotations: that they are rotations, and how far the signs of a rotated vector are from unbiased.

For a uniformly random rotation E[Q^T sign(Qv)] = kappa v exactly. Ours is made of two rounds of signs and Hadamard
transforms, and differs a little: for vectors with one or two entries the difference is computed here exactly, for
others it is measured. It is proved to be below |v|/D for the former. For the others it is found to be within |v|/D and
six standard errors of 3000 seeds, which is about 0.03 |v| in each coordinate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from hush.core.training import rotations
from hush.core.training.rotations import (
    hadamard,
    kappa,
    padded,
    projection,
    rotate,
    rotate_back,
    rotation_signs,
    seeded_signs,
)
from hush.learn.simulation import rotation_rows

SEEDS = 3000
Z = 6.0
"""A normal variable is further than this from its mean with probability 2e-9: 2e-7 for the 100 numbers of a test."""


def test_hadamard_is_orthonormal_and_its_own_inverse() -> None:
    for size in (1, 2, 8, 64):
        columns = [hadamard([float(i == j) for j in range(size)]) for i in range(size)]
        for i, a in enumerate(columns):
            assert hadamard(a) == pytest.approx([float(i == j) for j in range(size)], abs=1e-12)
            assert [abs(value) for value in a] == pytest.approx([1 / math.sqrt(size)] * size)
            for j, b in enumerate(columns):
                assert math.fsum(p * q for p, q in zip(a, b, strict=True)) == pytest.approx(float(i == j), abs=1e-12)


@pytest.mark.parametrize("d", [1, 3, 63, 64, 65, 200])
def test_rotating_back_undoes_a_rotation(d: int) -> None:
    vector = [math.sin(1 + 7 * j) for j in range(d)]
    turned = rotate(vector, "a seed")
    assert len(turned) == padded(d)
    assert rotate_back(turned, "a seed", d) == pytest.approx(vector, abs=1e-12)
    assert math.hypot(*turned) == pytest.approx(math.hypot(*vector))
    assert rotate_back(turned, "another", d) != pytest.approx(vector, abs=1e-2)


def test_vectors_are_padded_to_powers_of_two() -> None:
    assert [padded(d) for d in (1, 2, 63, 64, 65, 128, 129, 1024)] == [64, 64, 64, 64, 128, 128, 256, 1024]


@pytest.mark.parametrize(("d", "size"), [(1, 64), (5, 64), (64, 64), (70, 128)])
def test_the_rows_of_a_simulation_are_the_rotation_of_a_device(d: int, size: int) -> None:
    rows = rotation_rows("seed/3", size, d)
    for m in range(d):
        unit = [float(m == j) for j in range(d)]
        np.testing.assert_allclose(rows[:, m], rotate(unit, "seed/3"), atol=1e-7)


def test_signs_are_the_bits_of_a_hash() -> None:
    """So that every language has the same: bit i of SHAKE-256, the lowest bit of the first byte first."""
    digest = hashlib.shake_256(b"hush rotation seed/1").digest(16)
    signs = [1.0 if digest[i // 8] >> i % 8 & 1 else -1.0 for i in range(128)]
    assert rotation_signs("seed/1", 64) == (signs[:64], signs[64:])
    assert seeded_signs("projection", "seed/1", 64) != signs[:64]
    assert rotation_signs("seed/2", 64) != rotation_signs("seed/1", 64)


def test_a_projection_has_entries_of_plus_and_minus_one_over_d() -> None:
    matrix = projection("seed", 7, 30)
    assert [len(row) for row in matrix] == [30] * 7
    assert {abs(entry) for row in matrix for entry in row} == {1 / 30}
    plus = sum(entry > 0 for row in matrix for entry in row)
    assert 60 < plus < 150  # of 210; fair coins are outside with a probability of 1e-9
    assert len({tuple(row) for row in matrix}) == 7


@pytest.mark.parametrize("size", [2, 64, 128, 1024])
def test_kappa_is_what_its_definition_says(size: int) -> None:
    """For even D the Gamma functions give 2^(D+1)/(pi C(D, D/2)). And D E|q.v| is an integral over the sphere."""
    assert kappa(size) == pytest.approx(float(Fraction(2 ** (size + 1), comb(size, size // 2))) / math.pi, rel=1e-12)
    angles = (np.arange(200_000) + 0.5) * (math.pi / 200_000)
    weights = np.sin(angles) ** (size - 2)
    assert kappa(size) == pytest.approx(size * np.sum(np.abs(np.cos(angles)) * weights) / weights.sum(), rel=1e-6)


@pytest.mark.parametrize("d", [64, 100, 10])
def test_one_rotation_is_off_by_what_the_documents_say(d: int) -> None:
    """E|u - v|^2 for u = Q^T sign(Qv)/kappa is D/kappa^2 - 1, near pi/2 - 1, of which d of D coordinates are kept.

    Over 300 rotations of a seed each, so the same every time; one round of signs alone, the twin, is far from it where
    the vector has one entry.
    """
    size = padded(d)
    assert size / kappa(size) ** 2 - 1 == pytest.approx(math.pi / 2 - 1, rel=0.03)
    expected = (size / kappa(size) ** 2 - 1) * d / size

    def error(vector: list[float], once: bool) -> float:
        found = []
        for seed in map(str, range(300)):
            first, _ = rotation_signs(seed, size)
            if once:
                padding = [*vector, *([0.0] * (size - d))]
                turned = hadamard([a * b for a, b in zip(padding, first, strict=True)])
                back = [a * b for a, b in zip(hadamard([math.copysign(1, t) for t in turned]), first, strict=True)][:d]
            else:
                back = rotate_back([math.copysign(1, t) for t in rotate(vector, seed)], seed, d)
            found.append(sum((b / kappa(size) - v) ** 2 for b, v in zip(back, vector, strict=True)))
        return math.fsum(found) / len(found)

    spread = [math.sin(j + 1.0) for j in range(d)]
    length = math.sqrt(sum(v * v for v in spread))
    for vector in ([v / length for v in spread], [1.0, *([0.0] * (d - 1))]):
        assert error(vector, once=False) == pytest.approx(expected, rel=0.15)
    assert error([1.0, *([0.0] * (d - 1))], once=True) != pytest.approx(expected, rel=0.15)


# -- how far from unbiased, exactly


def absolute_sum(count: int) -> Fraction:
    """E|S| for the sum S of so many fair signs, by listing its values."""
    return sum((Fraction(comb(count, i) * abs(2 * i - count), 2**count) for i in range(count + 1)), Fraction(0))


def two_entries(a: float, b: float, size: int) -> tuple[float, float]:
    """The first two coordinates of E[Q^T sign(Qv)] for v = (a, b, 0, ...), by listing two binomials.

    After the first transform half of the coordinates are +-(a+b)/sqrt(D) and half +-(a-b)/sqrt(D). The second signs
    make a coordinate of Qv ((a+b)X + (a-b)Y)/D, X and Y sums of D/2 fair signs, and those of Q's first two columns (X
    + Y)/D and (X - Y)/D.
    """
    half = size // 2
    chances = [comb(half, i) / 2**half for i in range(half + 1)]
    found = [0.0, 0.0]
    for (i, p), (j, q) in product(enumerate(chances), enumerate(chances)):
        x, y = 2 * i - half, 2 * j - half
        value = (a + b) * x + (a - b) * y
        sign = (value > 1e-9) - (value < -1e-9)
        found[0] += p * q * sign * (x + y)
        found[1] += p * q * sign * (x - y)
    return found[0], found[1]


@pytest.mark.parametrize("size", [64, 256, 1024])
def test_a_vector_with_one_entry_is_short_by_one_in_two_d(size: int) -> None:
    """The coordinates of Qv are sums of D fair signs over D, so E[Q^T sign(Qv)] = E|S| v; nothing else is left."""
    exact = absolute_sum(size)
    assert exact == Fraction(size * comb(size, size // 2), 2**size)
    assert 1 - 1 / (2 * size) < float(exact) / kappa(size) < 1 - 0.9 / (2 * size)
    assert two_entries(1.0, 0.0, size)[0] == pytest.approx(float(exact))


@pytest.mark.parametrize("size", [64, 256])
@pytest.mark.parametrize("angle", [0.1, 0.5, math.pi / 4, 1.0])
def test_a_vector_with_two_entries_is_off_by_less_than_one_in_d(angle: float, size: int) -> None:
    a, b = math.cos(angle), math.sin(angle)
    found = two_entries(a, b, size)
    assert math.hypot(found[0] / kappa(size) - a, found[1] / kappa(size) - b) < 1 / size


@pytest.mark.parametrize("vector", [(1.0, 0.0, 0.0, 0.0), (0.6, -0.8, 0.0, 0.0), (0.5, 0.5, -0.5, 0.5)])
def test_the_derivation_is_right_for_all_signs_of_four_dimensions(
    vector: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code itself, averaged over all 2^8 pairs of diagonals."""
    monkeypatch.setattr(rotations, "MIN_SIZE", 4)
    total = np.zeros(4)
    for signs in product((-1.0, 1.0), repeat=8):
        monkeypatch.setattr(rotations, "rotation_signs", lambda seed, size, s=signs: (list(s[:4]), list(s[4:])))
        turned = rotate(vector, "")
        total += rotate_back([float(np.sign(round(value, 9))) for value in turned], "", 4)
    mean = total / 256
    if vector[2] == 0:
        assert mean == pytest.approx([*two_entries(vector[0], vector[1], 4), 0.0, 0.0], abs=1e-12)
    if vector[1] == 0:
        assert mean[0] == pytest.approx(float(absolute_sum(4)))
    assert mean @ vector > 0.9 * kappa(4) * math.hypot(*vector) * (1 - 1 / 4)


# -- and measured


def dense(d: int) -> list[float]:
    return [math.sin(1 + 3 * j) for j in range(d)]


VECTORS = {
    "one": [0.0] * 7 + [1.0],
    "two": [3.0, 0.0, -4.0],
    "dense": dense(64),
    "short dense": dense(6),
    "sparse binary": [1.0 if j % 6 == 0 else 0.0 for j in range(60)],
}


def far_off(vector: Sequence[float], turn: Callable[[Sequence[float], int], list[float]]) -> list[str]:
    """What a z-test says about the mean over seeds: the length along v within 1/D, nothing across it beyond 1/D.

    A false alarm has a probability below 1e-6; see Z.
    """
    length = math.hypot(*vector)
    unit = np.array(vector) / length
    found = np.array([turn(unit.tolist(), seed) for seed in range(SEEDS)]) / kappa(64)
    along = found @ unit
    errors = []
    if abs(along.mean() - 1) > 1 / 64 + Z * along.std() / math.sqrt(SEEDS):
        errors.append("length")
    off = np.abs(found.mean(axis=0) - unit) > 1 / 64 + Z * found.std(axis=0) / math.sqrt(SEEDS)
    return errors + ["direction"] * bool(off.any())


def two_rounds(unit: Sequence[float], seed: int) -> list[float]:
    turned = rotate(unit, str(seed))
    return rotate_back([float((value > 0) - (value < 0)) for value in turned], str(seed), len(unit))


def one_round(unit: Sequence[float], seed: int) -> list[float]:
    signs = seeded_signs("rotation", str(seed), 64)
    values = [*unit, *([0.0] * (64 - len(unit)))]
    turned = hadamard([a * b for a, b in zip(values, signs, strict=True)])
    back = hadamard([float((value > 0) - (value < 0)) for value in turned])
    return [a * b for a, b in zip(back, signs, strict=True)][: len(unit)]


@pytest.mark.parametrize("name", VECTORS)
def test_signs_of_a_rotated_vector_point_along_it(name: str) -> None:
    assert far_off(VECTORS[name], two_rounds) == []


def test_one_round_of_signs_would_be_far_off_for_one_entry() -> None:
    """The twin. All coordinates have the same size then, so the length is sqrt(D) for every seed: 25 % too much."""
    assert far_off(VECTORS["one"], one_round) == ["length", "direction"]
    assert one_round([1.0], 5) == pytest.approx([8.0])
    assert 8.0 / kappa(64) > 1.24
