"""Arithmetic that is right for reals and wrong for floats: each twin of a device gives other bits for some records.

The vectors of trainings are made so that they catch all of these, and the tests see to it that they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from hush.core.channels.corners import largest
from hush.core.training import losses, maps, rotations, stages, training
from hush.core.training.maps import Lift
from hush.device import gradient

Numbers = Sequence[float]


def fused(a: float, b: float, c: float) -> float:
    """a*b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def fused_dot(a: Numbers, b: Numbers) -> float:
    """Products are not rounded before they are added."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = fused(x, y, total)
    return total


def exact_dot(a: Numbers, b: Numbers) -> float:
    """Products are rounded, their sum is rounded once."""
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def backward_dot(a: Numbers, b: Numbers) -> float:
    """The last product comes first."""
    total = 0.0
    for x, y in zip(reversed(a), reversed(b), strict=True):
        total += x * y
    return total


def library_exponential(x: float) -> float:
    """The function of the C library."""
    return math.exp(min(max(x, -64.0), 64.0))


def library_softplus(x: float) -> float:
    """The logarithm of the C library."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _butterflies(values: Numbers, halves: Sequence[int]) -> list[float]:
    found = list(values)
    for half in halves:
        for i in range(len(found)):
            if not i & half:
                a, b = found[i], found[i + half]
                found[i], found[i + half] = a + b, a - b
    return found


def _halves(size: int) -> list[int]:
    return [1 << i for i in range(size.bit_length() - 1)]


def downward_hadamard(values: Numbers) -> list[float]:
    """The largest distance comes first."""
    size = len(values)
    scale = 1 / math.sqrt(size)
    return [value * scale for value in _butterflies(values, _halves(size)[::-1])]


def divided_hadamard(values: Numbers) -> list[float]:
    """Divides by the root, where the rule multiplies by its inverse."""
    size = len(values)
    return [value / math.sqrt(size) for value in _butterflies(values, _halves(size))]


def fused_pointed(turned: Numbers, length: float, m: int) -> list[float]:
    """The squares of a length are not rounded before they are added."""
    total = 1e-304
    for value in turned:
        total = fused(value, value, total)
    unit = 2.0**30 / math.sqrt(total)
    marks = largest([int(min(abs(value) * unit, 2.0**30)) for value in turned], m)
    return [length * (mark * ((value > 0) - (value < 0))) for value, mark in zip(turned, marks, strict=True)]


def fused_shrunk(point: float, error: float) -> float:
    """1 - r*r, rounded once."""
    ratio = error / point if point else 0.0
    rest = fused(-ratio, ratio, 1.0) if math.isfinite(ratio * ratio) else 0.0
    return point * max(0.0, rest)


def library_cosine(t: float) -> float:
    """That of the C library."""
    return math.cos(2 * math.pi * (t % 1.0))


def library_normal(z: float) -> tuple[float, float]:
    """By the error function of the C library."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi), math.erfc(-z / math.sqrt(2)) / 2


def fused_raw(own: Lift, features: Numbers) -> list[float]:
    """The products of units are not rounded before they are added."""
    found = []
    for unit in own.units:
        total = unit.bias
        for place, weight in zip(unit.places, unit.weights, strict=True):
            total = fused(features[place], weight, total)
        found.append(
            (maps.wave if own.activation == maps.WAVE else maps.relu)(total if abs(total) > maps.TINY else 0.0)
        )
    return found


def fused_wave(t: float) -> float:
    """The last difference is rounded once."""
    t = min(max(t, -maps.FARTHEST), maps.FARTHEST)
    r = abs(t - round(t))
    return fused(-r * r, 24.0 - 32.0 * r, 1.0)


def _dots(dot: Callable[[Numbers, Numbers], float]) -> list[tuple[Any, str, Any]]:
    return [(training, "dot", dot), (gradient, "dot", dot)]


TWINS: dict[str, list[tuple[Any, str, Any]]] = {
    "fused sums of products": _dots(fused_dot),
    "sums that are rounded once": _dots(exact_dot),
    "sums from the last to the first": _dots(backward_dot),
    "another exponential": [(losses, "exponential", library_exponential)],
    "another logarithm": [(losses, "softplus", library_softplus)],
    "butterflies from the largest distance on": [(rotations, "hadamard", downward_hadamard)],
    "a quotient for a product": [(rotations, "hadamard", divided_hadamard)],
    "fused squares": [(gradient, "pointed", fused_pointed)],
    "another cosine": [(maps, "cosine", library_cosine)],
    "another normal number": [(maps, "normal", library_normal)],
    "fused units": [(Lift, "raw", fused_raw)],
    "a fused wave": [(maps, "wave", fused_wave)],
    "a fused difference": [(stages, "shrunk", fused_shrunk)],
}


@contextmanager
def twin(name: str) -> Iterator[None]:
    """Make the device one of these for a while."""
    with ExitStack() as stack:
        for where, attribute, replacement in TWINS[name]:
            stack.enter_context(patch.object(where, attribute, replacement))
        yield
