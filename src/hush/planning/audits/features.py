"""Features that a distinguisher looks at. Every feature is a function from outputs to a few cells.

Any event makes a valid attack, so no feature has to be right: a bad one costs power, never correctness.

- **Values**: the output itself; for numbers also the interval between quantiles that contains it; for sets and
  sequences a score that adds up the evidence of each member (naive Bayes, because members are often independent).
- **Low bits**, for floats: the traces of arithmetic. The sum of an input and some noise is rounded to the grid of
  the larger of the two, so the position of the lowest bit that is set in y, or in y minus an input, betrays the input:
  Mironov, On Significance of the Least Significant Bits for Differential Privacy (2012).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

Kind = Literal["values", "low bits"]

_FINE, _COARSE, _SCORES = 64, 16, 48
_CLEAR = 3.0  # a member counts if its frequencies differ by this many standard errors


@dataclass(frozen=True)
class Feature:
    """A name for people, and the cell of an output."""

    name: str
    kind: Kind
    cell: Callable[[Any], Hashable]


def has_low_bits(outputs: Iterable[object]) -> bool:
    """Return whether outputs are floats, so that their low bits may leak."""
    return all(isinstance(output, float) for output in outputs)


def features(first: Sequence[Any], second: Sequence[Any], inputs: tuple[object, object]) -> list[Feature]:
    """Return the features to look at, given some outputs of each of two inputs."""
    pool = [*first, *second]
    found = [Feature("the output itself", "values", _key)]
    if len(set(map(_key, pool))) <= _FINE:
        return found  # each output occurs often enough, and no feature reveals more than the output itself
    if all(isinstance(output, Real) for output in pool):
        found.append(Feature("the interval in which the output lies", "values", _intervals(pool, _FINE)))
    if all(isinstance(output, (tuple, frozenset)) for output in pool):
        found.append(Feature("the members of the output", "values", _score(first, second, frozenset)))
    if all(isinstance(output, (tuple, str, bytes)) for output in pool):
        found.append(Feature("the entries of the output", "values", _score(first, second, enumerate)))
    if has_low_bits(pool):
        found += _low_bits(pool, inputs)
    return found


def _key(output: Any) -> Hashable:
    """Return the bits of a float: 0.0 equals -0.0, and NaN does not equal itself."""
    return output.hex() if isinstance(output, float) else output


def _intervals(pool: Sequence[Any], pieces: int) -> Callable[[Any], int]:
    """Return the function that numbers the intervals between quantiles, with finer ones at the ends."""
    ordered = sorted(float(output) for output in pool if output == output)
    shares = [0.001, 0.004, *(i / pieces for i in range(1, pieces)), 0.996, 0.999]
    edges = sorted({ordered[int(share * len(ordered))] for share in shares}) if ordered else []
    return lambda output: bisect_right(edges, float(output)) if output == output else -1


def _score(
    first: Sequence[Any], second: Sequence[Any], parts: Callable[[Any], Iterable[Hashable]]
) -> Callable[[Any], int]:
    """Return the function that adds up the evidence of each part of an output, in intervals."""
    ours = Counter(part for output in first for part in parts(output))
    theirs = Counter(part for output in second for part in parts(output))
    weights: dict[Hashable, float] = {}
    for part in ours | theirs:
        a, b = ours[part] + 0.5, theirs[part] + 0.5
        c, d = max(len(first) - ours[part], 0) + 0.5, max(len(second) - theirs[part], 0) + 0.5
        weight = math.log(a / b) - math.log(c / d)
        if abs(weight) > _CLEAR * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d):
            weights[part] = weight

    def score(output: Any) -> float:
        # Rounded, so that the order of the sum does not matter.
        return round(math.fsum(weights.get(part, 0.0) for part in parts(output)), 9)

    piece = _intervals([score(output) for output in (*first, *second)], _SCORES)
    return lambda output: piece(score(output))


def _low_bits(pool: Sequence[float], inputs: tuple[object, object]) -> list[Feature]:
    where = _intervals(pool, _COARSE)
    found = [
        Feature("the lowest bit that is set in y", "low bits", lambda y: (where(y), lowest_bit(y))),
        Feature("the last three bits of y", "low bits", lambda y: (where(y), _last_bits(y))),
    ]
    for x in inputs:
        if isinstance(x, Real) and not isinstance(x, bool):
            found += _differences(where, float(x))
    return found


def _differences(where: Callable[[Any], int], x: float) -> list[Feature]:
    return [
        Feature(f"the lowest bit that is set in y - {x!r}", "low bits", lambda y: (where(y), lowest_bit(y - x))),
        Feature(f"whether (y - {x!r}) + {x!r} gives y again", "low bits", lambda y: (where(y), (y - x) + x == y)),
    ]


def lowest_bit(y: float) -> int | None:
    """Return the exponent of the lowest bit that is set: y is an odd multiple of 2 to that power."""
    if y == 0 or not math.isfinite(y):
        return None
    top, bottom = float(y).as_integer_ratio()
    return (top & -top).bit_length() - bottom.bit_length()


def _last_bits(y: float) -> int | None:
    return int(math.frexp(y)[0] * 2.0**53) & 7 if math.isfinite(y) else None
