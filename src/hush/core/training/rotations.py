"""Public random matrices, made from a seed: rotations, which spread a vector, and projections, which shorten it.

**Rotation.** A gradient may have all its length in a few coordinates. A random rotation spreads it evenly, so that its
signs give its direction: for a uniformly random rotation Q of D dimensions and a unit vector v,

    E[Q^T sign(Qv)] = kappa * v,    kappa = D * Gamma(D/2) / (sqrt(pi) * Gamma((D+1)/2)),

because every row q of Q is uniform on the sphere, sign(q.v) q averages to a multiple of v, and that multiple is
E|q.v|. Here Q = (H S2)(H S1), H the orthonormal Hadamard matrix and S diagonal signs;
`tests/core/training/test_rotations.py` bounds how far this is from uniform. One round of signs alone would be far off
for a vector with one entry. Vectors are padded with zeros to a power of two of at least 64, which costs no accuracy.

**Projection.** Wang et al. multiply features by an r x d matrix whose entries are 1/d or -1/d, each with probability
1/2.

A seed is public and the same for everybody: it hides nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

MIN_SIZE = 64


def padded(d: int) -> int:
    """Return the number of dimensions after padding."""
    return max(MIN_SIZE, 1 << (d - 1).bit_length())


def kappa(size: int) -> float:
    """Return the average length of Q^T sign(Qv) in the direction of v."""
    return size * math.exp(math.lgamma(size / 2) - math.lgamma((size + 1) / 2)) / math.sqrt(math.pi)


def seeded_signs(purpose: str, seed: str, count: int) -> list[float]:
    """Return the first `count` signs of a seed, one for each bit of a hash."""
    digest = hashlib.shake_256(f"hush {purpose} {seed}".encode()).digest((count + 7) // 8)
    # Take bits from bytes: shifting one long integer would take time in proportion to the square of the count.
    return [1.0 if digest[i >> 3] >> (i & 7) & 1 else -1.0 for i in range(count)]


def rotation_signs(seed: str, size: int) -> tuple[list[float], list[float]]:
    """Return the diagonals of S1 and S2."""
    signs = seeded_signs("rotation", seed, 2 * size)
    return signs[:size], signs[size:]


def hadamard(values: Sequence[float]) -> list[float]:
    """Return the orthonormal Hadamard transform, which is its own inverse. The length is a power of two."""
    found = list(values)
    size, half = len(found), 1
    while half < size:
        for start in range(0, size, 2 * half):
            for i in range(start, start + half):
                a, b = found[i], found[i + half]
                found[i], found[i + half] = a + b, a - b
        half *= 2
    scale = 1 / math.sqrt(size)
    return [value * scale for value in found]


def rotate(vector: Sequence[float], seed: str) -> list[float]:
    """Return Qv for a vector, padded with zeros."""
    size = padded(len(vector))
    first, second = rotation_signs(seed, size)
    values = [*vector, *([0.0] * (size - len(vector)))]
    once = hadamard([a * b for a, b in zip(values, first, strict=True)])
    return hadamard([a * b for a, b in zip(once, second, strict=True)])


def rotate_back(vector: Sequence[float], seed: str, d: int) -> list[float]:
    """Return the first d coordinates of Q^T u."""
    first, second = rotation_signs(seed, len(vector))
    once = [a * b for a, b in zip(hadamard(vector), second, strict=True)]
    return [a * b for a, b in zip(hadamard(once), first, strict=True)][:d]


def projection(seed: str, rows: int, columns: int) -> list[list[float]]:
    """Return the projection of Wang et al.: `rows` x `columns` entries of 1/columns or -1/columns."""
    signs = seeded_signs("projection", seed, rows * columns)
    return [[sign / columns for sign in signs[i * columns : (i + 1) * columns]] for i in range(rows)]
