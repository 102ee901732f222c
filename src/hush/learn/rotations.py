"""A public random rotation: two rounds of random signs and a Hadamard transform.

A gradient may have all its length in a few coordinates. After a random rotation it is spread evenly, and its signs tell its
direction: for a uniformly random rotation Q of d dimensions and a unit vector v,

    E[Q^T sign(Qv)] = kappa * v,    kappa = d * Gamma(d/2) / (sqrt(pi) * Gamma((d+1)/2)),

because every row q of Q is uniform on the sphere, sign(q.v) q averages to a multiple of v, and that multiple is
E|q.v|. With Q = (H S2)(H S1), H the orthonormal Hadamard matrix and S diagonal signs, this holds up to an error that
`tests/learn/test_rotations.py` bounds; one round alone would be far off for a vector with one entry. Vectors are padded
with zeros to a power of two of at least 64, which costs no accuracy.

The rotation of a round is made of a public seed, the same for all: it hides nothing, it only spreads.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

MIN_SIZE = 64


def padded(d: int) -> int:
    """Return the number of dimensions after padding."""
    return max(MIN_SIZE, 1 << (d - 1).bit_length())


def kappa(d: int) -> float:
    """Return the length that Q^T sign(Qv) has in the direction of v, on average."""
    return d * math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)


def seeded_signs(seed: str, size: int) -> tuple[list[float], list[float]]:
    """Return the two rows of signs that belong to a seed."""
    digest = hashlib.shake_256(f"hush rotation {seed}".encode()).digest(2 * size // 8)
    bits = int.from_bytes(digest, "little")
    signs = [1.0 if bits >> i & 1 else -1.0 for i in range(2 * size)]
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
    first, second = seeded_signs(seed, size)
    values = [*vector, *([0.0] * (size - len(vector)))]
    once = hadamard([a * b for a, b in zip(values, first, strict=True)])
    return hadamard([a * b for a, b in zip(once, second, strict=True)])


def rotate_back(vector: Sequence[float], seed: str, d: int) -> list[float]:
    """Return the first d coordinates of Q^T u."""
    first, second = seeded_signs(seed, len(vector))
    once = [a * b for a, b in zip(hadamard(vector), second, strict=True)]
    return [a * b for a, b in zip(hadamard(once), first, strict=True)][:d]
