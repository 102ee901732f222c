"""The people whom a prediction is for: the worst ones, typical ones, or those of a guess.

Nothing is known about people before they are asked. So every prediction says which people it assumes:

- **worst**: those with the largest standard error. Half of them are at either end of the range, or half of them hold
  the category. Nobody gets a wider margin.
- **typical**: where no people are the worst ones, or where these would say nothing. If more and more people leave out
  an optional number, the margin of the mean of the others has no bound: typically *half* of them do. The mean of a wide
  number is typically a 64th of the range (`hush.planning.wide`). Half of the people cannot hold each value of a list of
  `MANY` or more: its values are typically equally frequent. Two attributes of a relation are typically independent, its
  categories equally frequent, and its numbers spread evenly over the range.
- **guessed**: those that `guesses` describes.

A guess of a number is its mean and its standard deviation. Relations also need its shape: it is that of a beta
distribution, which lies within the range, is even or skewed as these two demand, and has two heaps if the deviation is
large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from statistics import NormalDist
from typing import Any, Literal

from hush.core.schema import Attribute, Categorical, Choices, Input, Numeric, Schema
from hush.core.texts import Text
from hush.errors import DesignError
from hush.server.binomial import beta
from hush.server.relations.bivariate import both_below

Assumed = Literal["worst", "typical", "guessed"]

HALF = 0.5
"""The share of typical people who leave out an optional number."""

MANY = 100
"""A list with so many values is a long one."""

_REACH = 5.0  # standard deviations around a guessed mean, beyond which there is next to nobody
_HEAPS = 0.02  # people whose beta distribution has smaller parameters are at both ends of the range

Law = Sequence[tuple[Input, float]]
"""Inputs of an attribute, and the share of the people who have each."""


@dataclass(frozen=True)
class Guess:
    """A guess about a numeric attribute, on its own scale: mean, standard deviation, share of missing.

    What is left out is not guessed: without a mean, the present people are at both ends of the range. If the share of
    missing is not guessed, half of the people leave out an optional number.
    """

    mean: float | None = None
    spread: float = 0.0
    missing: float | None = None


Guesses = Mapping[Any, Any]
"""A `Guess` for each numeric attribute, the shares of some categories for each categorical one, and for two numbers
their association, from -1 to 1: {"age": Guess(45, 18), "os": {"linux": 0.2}, ("age", "hours"): 0.3}."""


def checked(guesses: Guesses | None, schema: Schema) -> dict[Any, Any]:
    """Return guesses about known attributes, with two names in either order."""
    found: dict[Any, Any] = {}
    for key, guess in (guesses or {}).items():
        if isinstance(key, tuple):
            found[frozenset(key)] = _association(key, guess, schema)
            continue
        attribute = schema[key]  # raises an error that lists the names, if there is no such attribute
        if isinstance(attribute, Text):
            raise DesignError(f"attribute {key!r}: nothing can be guessed of a text")
        if isinstance(attribute, Numeric):
            number_guess(attribute, guess)
        else:
            shares_guess(attribute, guess)
        found[key] = guess
    return found


def _association(key: tuple[Any, ...], guess: Any, schema: Schema) -> float:
    if len(set(key)) != 2 or not all(isinstance(schema[name], Numeric) for name in key):
        raise DesignError(f"{key!r}: a guess about two attributes is the association of two numbers")
    if isinstance(guess, bool) or not isinstance(guess, Real) or not -1 < float(guess) < 1:
        raise DesignError(f"{key!r}: an association is a number between -1 and 1")
    return float(guess)


def number_guess(attribute: Numeric, guess: Any) -> Guess:
    """Return the guess about a number, checked."""
    name = attribute.name
    if not isinstance(guess, Guess) or not _finite(guess.spread) or guess.spread < 0:
        raise DesignError(f"attribute {name!r}: a guess is a Guess with a mean inside the domain")
    gone = 0.0 if guess.missing is None else guess.missing
    if not _finite(gone) or not 0 <= gone < 1 or (gone and not attribute.optional):
        raise DesignError(f"attribute {name!r}: the share of missing is from 0 to 1, if it is optional")
    if guess.mean is None:
        if guess.spread:
            raise DesignError(f"attribute {name!r}: a guess with a spread needs a mean")
        return guess
    if not _finite(guess.mean) or not attribute.low <= guess.mean <= attribute.high:
        raise DesignError(f"attribute {name!r}: a guess is a Guess with a mean inside the domain")
    centre, spread = places(attribute, guess)
    if spread**2 > 1 - centre**2 + 1e-9:  # the variance of people at the two ends alone
        raise DesignError(f"attribute {name!r}: no values in the domain have this mean and so large a spread")
    return guess


def shares_guess(attribute: Attribute, guess: Any) -> Mapping[Any, float]:
    """Return the guess about a category or about choices, checked."""
    assert isinstance(attribute, Categorical | Choices)
    name = attribute.name
    if not isinstance(guess, Mapping) or not set(guess) <= set(attribute.labels):
        raise DesignError(f"attribute {name!r}: a guess is a mapping from its categories to shares")
    held = attribute.most if isinstance(attribute, Choices) else 1
    if not all(_finite(share) and 0 <= share <= 1 for share in guess.values()) or sum(guess.values()) > held + 1e-9:
        raise DesignError(f"attribute {name!r}: a share must be from 0 to 1, and all together at most {held}")
    return guess


def _finite(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value))


def missing_of(attribute: Attribute, guess: Guess | None) -> float:
    """Return the share of people who leave out a number."""
    if not isinstance(attribute, Numeric) or not attribute.optional:
        return 0.0
    return HALF if guess is None or guess.missing is None else float(guess.missing)


def places(attribute: Numeric, guess: Guess) -> tuple[float, float]:
    """Return the mean and the standard deviation of a guess on the scale [-1, 1]."""
    assert guess.mean is not None
    half = attribute.high / 2 - attribute.low / 2
    middle = attribute.low / 2 + attribute.high / 2
    return (guess.mean - middle) / half, guess.spread / half


# -- the laws of relations


def law_of(attribute: Attribute, guess: Any, size: int) -> Law:
    """Return the inputs of typical or guessed people, with their shares: at most `size` positions of a number."""
    if isinstance(attribute, Categorical):
        return list(enumerate(shares_of(attribute, guess)))
    assert isinstance(attribute, Numeric)
    gone = missing_of(attribute, guess)
    found: list[tuple[Input, float]] = [
        (place, (1 - gone) * (after - before))
        for place, (before, after) in zip(*grid(attribute, guess, size), strict=True)
        if after > before
    ]
    return [*found, (None, gone)] if gone else found


def shares_of(attribute: Categorical, guess: Mapping[Any, float] | None) -> list[float]:
    """Return the shares of all categories: what is not guessed is divided evenly."""
    known = dict(guess or {})
    rest = max(1 - math.fsum(known.values()), 0.0) / max(len(attribute.labels) - len(known), 1)
    return [float(known.get(label, rest)) for label in attribute.labels]


def grid(attribute: Numeric, guess: Guess | None, size: int) -> tuple[list[float], list[tuple[float, float]]]:
    """Return positions of a number from 0 to 1, and for each the shares of the people below it and up to it."""
    edges, points = _cells(attribute, size)
    if guess is None or guess.mean is None:
        return points, list(pairwise(edges))
    centre, spread = places(attribute, guess)
    mean, variance = min(max((centre + 1) / 2, 0.0), 1.0), (spread / 2) ** 2
    both = mean * (1 - mean) / variance - 1 if variance else math.inf
    if both < _HEAPS:
        return [0.0, 1.0], [(0.0, 1 - mean), (1 - mean, 1.0)]
    if math.sqrt(variance) < 1e-6:
        return [mean], [(0.0, 1.0)]
    low, high = (min(max(mean + side * _REACH * math.sqrt(variance), 0.0), 1.0) for side in (-1, 1))
    if high - low < 1 / 2:  # narrow: the cells are finer there
        edges = [low + (high - low) * i / size for i in range(size + 1)]
        points = [(a + b) / 2 for a, b in pairwise(edges)]
        if attribute.whole:
            last = attribute.high - attribute.low
            points = [round(point * last) / last for point in points]
    below = [beta(edge, mean * both, (1 - mean) * both) for edge in edges]
    below[0], below[-1] = 0.0, 1.0
    return points, list(pairwise(below))


def _cells(attribute: Numeric, size: int) -> tuple[list[float], list[float]]:
    """Return the edges and the positions of equal parts of a range: of few whole numbers, one part for each."""
    values = attribute.high - attribute.low + 1 if attribute.whole else math.inf
    if values <= size:
        count = int(values)
        return [i / count for i in range(count + 1)], [i / max(count - 1, 1) for i in range(count)]
    return [i / size for i in range(size + 1)], [(i + 0.5) / size for i in range(size)]


def together(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]], r: float) -> list[float]:
    """Return the shares of all pairs of two numbers with this association, from the shares below each (`grid`).

    They are as those of two normal numbers with the correlation r.
    """
    one, other = ([_quantile(pairs[0][0]), *(_quantile(after) for _, after in pairs)] for pairs in (first, second))
    below = [[both_below(a, b, r) for b in other] for a in one]
    return [
        max(below[i + 1][j + 1] - below[i][j + 1] - below[i + 1][j] + below[i][j], 0.0)
        for i in range(len(first))
        for j in range(len(second))
    ]


def _quantile(share: float) -> float:
    """Return the quantile of the normal distribution, within reason at its ends."""
    return NormalDist().inv_cdf(min(max(share, 1e-15), 1 - 1e-15))
