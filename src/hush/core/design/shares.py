"""Who is asked what: the share of the people for each question, if everybody answers one.

Question j is asked of a share p_j of the people. An estimate r learns i_rj from one report to question j (1 over its
variance), so its variance with n people is 1/(n * sum_j p_j i_rj). Several questions may tell of one estimate: a table
tells of both of its attributes.

**The least sum of log margins.** Shares that make the *sum of squared errors* least give nearly everybody to what is
hopeless: a table of 72 cells needs a hundred times the people of a yes or no, and gets ten times as many, whatever else
is asked. So hush makes the sum of the *logarithms* of margins least: to halve the margin of one estimate is worth as
much as to halve that of another, whatever their noise and their scale. With weights w_r that is the largest

    sum_r w_r log(sum_j p_j i_rj),

the likelihood of a mixture, which expectation maximisation finds:  p_j <- p_j * sum_r w_r i_rj / (sum_k p_k i_rk).  No
step makes it less. If no estimate has two questions, a share is a weight at once: equal people for equal questions. A
question about one attribute that a table tells better would get nobody; it keeps a thousandth of the people.

**Least shares.** If some questions need certain shares, for margins that the user named, only the rest is divided so.

Source: the optimal design of experiments on a simplex, by multiplicative steps; Titterington, Optimal Design: Some
Geometrical Aspects of D-Optimality (1975).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

KEPT = 0.001
"""The share of the people that every question keeps, or less if there are many questions."""

_MOST = 0.1  # all questions together keep at most this
_STEPS = 400
_CLOSE = 1e-7  # a step that changes no share by more, as a part of it, is the last


class Row(NamedTuple):
    """An estimate: how much it counts, and how much one report to each question tells of it."""

    weight: float
    tells: Mapping[int, float]


def divided(rows: Sequence[Row], count: int, least: Sequence[float] = ()) -> list[float]:
    """Return the shares of `count` questions, which add up to 1 and are no less than `least`.

    If these add up to more than 1, they are all that is divided.
    """
    base = [*least] or [0.0] * count
    wanted = math.fsum(base)
    if wanted >= 1:
        return _kept([share / wanted for share in base])
    alone, several = [0.0] * count, list[tuple[float, list[tuple[int, float]]]]()
    for weight, tells in rows:
        if len(tells) == 1:  # how much one report tells cancels out
            alone[next(iter(tells))] += weight
        else:
            several.append((weight, list(tells.items())))
    rest = [(1 - wanted) / count] * count
    for _ in range(_STEPS):
        shares = [a + b for a, b in zip(base, rest, strict=True)]
        slopes = [weight / share if weight else 0.0 for weight, share in zip(alone, shares, strict=True)]
        for weight, told in several:
            known = math.fsum(shares[j] * much for j, much in told)
            if weight and known > 0:
                for j, much in told:
                    slopes[j] += weight * much / known
        moved = [share * slope for share, slope in zip(rest, slopes, strict=True)]
        total = math.fsum(moved)
        if not total > 0:
            break
        moved = [share * (1 - wanted) / total for share in moved]
        change = max(abs(a - b) for a, b in zip(moved, rest, strict=True))
        rest = moved
        if change < _CLOSE / count:
            break
    return _kept([a + b for a, b in zip(base, rest, strict=True)])


def _kept(shares: Sequence[float]) -> list[float]:
    """Return shares of which none is next to nothing, and which add up to 1."""
    least = min(KEPT, _MOST / len(shares))
    low = [max(share, least) for share in shares]
    more = math.fsum(low) - 1
    room = math.fsum(share - least for share in low)
    if more <= 0 or room <= 0:
        total = math.fsum(low)
        return [share / total for share in low]
    return [share - more * (share - least) / room for share in low]
