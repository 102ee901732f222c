"""Shuffled batches of a few people by enumeration, in rational arithmetic; and published bounds that are none.

A law is a list of probabilities, one for each output. A batch is seen as its counts of every output.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

Law = Sequence[Fraction]
Batch = Mapping[tuple[int, ...], Fraction]


def batch_of(laws: Sequence[Law]) -> Batch:
    """Return the law of the counts of the outputs of people with these laws."""
    now: dict[tuple[int, ...], Fraction] = {(0,) * len(laws[0]): Fraction(1)}
    for law in laws:
        after: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for counts, p in now.items():
            for y, q in enumerate(law):
                if q:
                    after[(*counts[:y], counts[y] + 1, *counts[y + 1 :])] += p * q
        now = after
    return now


def hockey_stick(p: Batch, q: Batch, e: Fraction) -> Fraction:
    """Return the least delta for e^epsilon = e, in one direction."""
    return sum((max(p[key] - e * q.get(key, Fraction(0)), Fraction(0)) for key in p), Fraction(0))


def true_delta(table: Sequence[Law], n: int, e: Fraction) -> tuple[Fraction, tuple[int, int], tuple[int, ...]]:
    """Return the delta of the shuffled channel, the two states of the person, and those of all the others."""
    worst: tuple[Fraction, tuple[int, int], tuple[int, ...]] = (Fraction(-1), (0, 0), ())
    for others in combinations_with_replacement(range(len(table)), n - 1):
        batches = [batch_of([*(table[s] for s in others), law]) for law in table]
        for x, z in permutations(range(len(table)), 2):
            worst = max(worst, (hockey_stick(batches[x], batches[z], e), (x, z), others))
    return worst


def random_table(source: random.Random) -> list[list[Fraction]]:
    """Return a channel of two or three states and two to four outputs, of one of several shapes."""
    states, outputs = source.choice((2, 3)), source.choice((2, 3, 4))
    if source.random() < 0.3:  # one output is likelier for each state
        ratio = Fraction(source.randint(2, 40), source.choice((1, 1, 2)))
        rows = [[ratio if y % states == s else Fraction(1) for y in range(outputs)] for s in range(states)]
    elif source.random() < 0.5:  # two levels
        ratio = Fraction(source.randint(2, 20))
        rows = [[source.choice((ratio, Fraction(1))) for _ in range(outputs)] for _ in range(states)]
    else:
        top = source.choice((3, 10, 50))
        rows = [[Fraction(source.randint(1, top)) for _ in range(outputs)] for _ in range(states)]
    return [[v / sum(row) for v in row] for row in rows]


def randomised_response(size: int, ratio: Fraction) -> list[list[Fraction]]:
    """Return generalised randomised response."""
    q = 1 / (ratio + size - 1)
    return [[ratio * q if y == s else q for y in range(size)] for s in range(size)]


# -- not upper bounds


def variation_ratio(ratio: Fraction, beta: Fraction, n: int, e: Fraction) -> Fraction:
    """Return the delta of Wang et al. (VLDB 2024) with p = q = ratio and total variation beta.

    Two outputs are special, and a person's other outputs are taken for one that the crowd reports otherwise.
    """
    alpha = beta / (ratio - 1)
    person = [ratio * alpha, alpha, 1 - alpha - ratio * alpha]
    return _special(person, [alpha, alpha, 1 - 2 * alpha], n, e)


def stronger_clones(ratio: Fraction, p: Fraction, n: int, e: Fraction) -> Fraction:
    """Return the delta of Feldman, McMillan and Talwar (2023) before their erratum, for p < 1/(ratio + 1)."""
    return _special([ratio * p, p, 1 - p - ratio * p], [p, p, 1 - 2 * p], n, e)


def _special(person: Law, other: Law, n: int, e: Fraction) -> Fraction:
    crowd = [other] * (n - 1)
    mirrored = [person[1], person[0], person[2]]
    return hockey_stick(batch_of([*crowd, person]), batch_of([*crowd, mirrored]), e)
