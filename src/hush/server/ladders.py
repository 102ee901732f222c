"""Reading a ladder: the mean of a wide number, clipped where its reports say that people are.

No interval for the mean on a wide range can be narrow without an assumption about people who were not met
(docs/wide.md). So the target is the mean of min(t, c), with c and the share of people above it stated. All knots have
unbiased estimates from the same reports, with exact covariances:

- `shares`: the matrix A = (P R^-1 P')^-1 P R^-1 of `hush.core.channels.ladder`, with R the law of the reports as fitted
  by a few steps of expectation maximisation.
- `best`: the nonnegative shares that fit the reports best, by least squares with the same weights.

The **survival** in a rung, between two knots, is the average share of people above a point of the rung. The clip c is
the upper end of the last rung with a survival of more than two standard errors, there and in all rungs before. The
point is the sum of survival times width over these rungs. For people who know how light the tails are, `unclipped`
bounds the mean itself.

**The interval** is that of `hush.server.intervals`: what each output adds to the mean is a value like that of any other
channel, and the channel bounds its variance for every population. So it is honest for five answers too. The mean of the
present is a quotient, with the interval of a quotient. It is a little wider than usual, 2.3 standard errors in place of
1.96 at level 0.95: the clip is chosen from the same reports, which pushes the point outwards, most where nearly
everybody is at the origin. Shares that are not negative push it inwards where people are all over the range.
`python -m experiments.reproduce wide` measures the coverage.

**Too few answers.** If the interval is wider than three quarters of the clipped range, there is neither a mean nor a
clip to show (`Clipped.refused`).

**Own reports** of a relay (`hush.server.own`) are one more part of the law of the reports, with a known share.

**Two sides.** If the range has both signs, both sides are clipped, each by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import mul

from hush.core.channels.ladder import Ladder
from hush.core.channels.squares import Squares
from hush.core.schema import Numeric
from hush.server.binomial import normal
from hush.server.intervals import NOTHING, Interval, beyond, enough, laid, says_nothing, tester
from hush.server.own import Among
from hush.server.tally import Tally

SURE = 2.0
"""By how many standard errors the survival in a rung must differ from 0."""

CHOSEN = 2.3 / 1.96
"""By how much intervals are wider, because the clip was chosen from the same reports."""

_NOBODY = 1e-9  # of the people: a smaller share is a rounding error
_THIRD = 1 / 3
_STEPS = 30
_MIXED = 0.02  # of the law of the reports is taken as uniform, so that no output has none
_CLOSE = 1e-12
_TINY = 1e-18
_EVEN = 10**9  # reports: so many that the clip is where people are
_MOST = 10  # times the states: more than the search for nonnegative shares ever takes


@dataclass(frozen=True)
class Side:
    """The rungs on one side of the origin: the states at their ends, from the origin outwards."""

    states: tuple[int, ...]


@dataclass(frozen=True)
class Fitted:
    """The shares of a ladder's states, "missing" last: unbiased ones, and the best nonnegative ones.

    `counts` are those of all reports, `own` the ones of a relay among them. There are people among them, too.
    """

    channel: Ladder
    number: Numeric
    counts: tuple[int, ...]
    own: Among | None = None

    @cached_property
    def whole(self) -> int:
        """The number of all reports."""
        return sum(self.counts)

    @cached_property
    def n(self) -> float:
        """The number of people."""
        return self.whole if self.own is None else self.whole - self.own.number

    @property
    def _law(self) -> list[list[float]]:
        return _law(self.channel)

    @cached_property
    def _blanket(self) -> list[float]:
        """The law of an own report."""
        return [] if self.own is None else [float(chance) for chance in self.own.blanket.chances]

    @cached_property
    def _seen(self) -> list[float]:
        """The shares of people's reports, as far as they are known: some may be negative."""
        if self.own is None:
            return [count / self.n for count in self.counts]
        number = self.own.number
        return [(count - number * chance) / self.n for count, chance in zip(self.counts, self._blanket, strict=True)]

    @cached_property
    def _likely(self) -> list[float]:
        """The shares of the states after a few steps of expectation maximisation."""
        law, seen = self._law, [count / self.whole for count in self.counts]
        columns = list(zip(*law, strict=True))
        weights = [1 / len(law)] * len(law)
        own = 1 - self.n / self.whole
        for _ in range(_STEPS):
            mixed = [(1 - own) * sum(map(mul, column, weights)) for column in columns]
            if self.own is not None:
                mixed = [value + own * chance for value, chance in zip(mixed, self._blanket, strict=True)]
            quotients = [a / b for a, b in zip(seen, mixed, strict=True)]
            weights = [weight * sum(map(mul, row, quotients)) for weight, row in zip(weights, law, strict=True)]
            total = sum(weights)
            weights = [weight / total for weight in weights]
        return weights

    @cached_property
    def _mixed(self) -> list[float]:
        """The law of people's reports, as fitted."""
        mixed = [sum(map(mul, column, self._likely)) for column in zip(*self._law, strict=True)]
        return [(1 - _MIXED) * value + _MIXED / len(mixed) for value in mixed]

    @cached_property
    def _weighted(self) -> list[list[float]]:
        """The matrix P R^-1, with R the law of all reports."""
        law = self._mixed
        if self.own is not None:
            part = self.n / self.whole
            law = [part * value + (1 - part) * chance for value, chance in zip(law, self._blanket, strict=True)]
        return [[p / r for p, r in zip(row, law, strict=True)] for row in self._law]

    @cached_property
    def _square(self) -> list[list[float]]:
        """The matrix P R^-1 P'."""
        return [[sum(map(mul, one, other)) for other in self._law] for one in self._weighted]

    @cached_property
    def _inverse(self) -> list[list[float]]:
        """The matrix A, for the fitted law."""
        columns = _solve(self._square, zip(*self._weighted, strict=True))
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def shares(self) -> list[float]:
        """The unbiased shares of the states."""
        return [sum(map(mul, row, self._seen)) for row in self._inverse]

    def value(self, weights: Sequence[float]) -> float:
        """Return the weighted sum of the unbiased shares."""
        return math.fsum(map(mul, weights, self.shares))

    def values(self, weights: Sequence[float]) -> list[float]:
        """Return what each output adds to a weighted sum of the shares."""
        return [math.fsum(map(mul, weights, column)) for column in zip(*self._inverse, strict=True)]

    def variance(self, weights: Sequence[float]) -> float:
        """Return the variance of a weighted sum of the unbiased shares, if people's reports have the fitted law."""
        values = self.values(weights)
        mean, square = _moments(self._mixed, values)
        found = max(square - mean * mean, 0.0)
        if self.own is not None:
            theirs, squared = _moments(self._blanket, values)
            per = self.own.number / self.n
            found += per * (max(squared - theirs * theirs, 0.0) + self.own.loose * (theirs - mean) ** 2)
        return found / self.n

    def score(self, weights: Sequence[float], level: float, *, present: bool = False) -> tuple[float, Interval]:
        """Return a weighted sum of the shares with its interval, or its quotient by the share of the present.

        The interval has every x for which the average of (value - x*presence) is plausible (`hush.server.intervals`).
        The law of every state bounds its variance. It may leave the domain, and have no bounds.
        """
        values = self.values(weights)
        here = self.values([1.0] * len(self.channel.knots) + [0.0]) if present else [1.0] * len(values)
        states = _sorts([_five(row, values, here) for row in self._law])
        seen, own = _five(self._seen, values, here), self.own
        law = _five(self._blanket, values, here) if own is not None else seen
        alike = _squares([(sort[0][0], [state[2] for state in sort]) for sort in states])
        n, per = self.n, 0.0 if own is None else own.number / self.n
        if not seen[1] > 0:
            return math.nan, (-math.inf, math.inf)
        test, point = tester(n, level, self.whole - 1), seen[0] / seen[1]

        def plausible(x: float) -> bool:
            away, square = _minus(seen, x)
            spread = max(square - away * away, 0.0) * n / (n - 1)
            least, most, first, last = _envelope(states, x) if present else _shifted(alike, x)
            added = 0.0
            if own is not None:
                theirs, squared = _minus(law, x)
                added = per * (max(squared - theirs * theirs, 0.0) + own.loose * theirs * theirs)
            room = last - away if away < 0 else away - first
            return test(away, spread + added, least + added, most + added, room)

        return point, beyond(plausible, point, max(map(abs, weights)) or 1.0)

    @cached_property
    def best(self) -> list[float]:
        """The nonnegative shares that fit best, made to add up to 1."""
        found = _nonnegative(self._square, [sum(map(mul, row, self._seen)) for row in self._weighted])
        total = sum(found)
        return [share / total for share in found] if total > 0 else self._likely

    # -- rungs

    @cached_property
    def places(self) -> list[float]:
        """The knots on the number's own scale."""
        low, high = self.number.low, self.number.high
        found = [low + (high - low) * float(place) for place in self.channel.places]
        origin = min(max(0.0, low), high)
        nearest = min(range(len(found)), key=lambda s: abs(found[s] - origin))
        if abs(found[nearest] - origin) < 1e-9 * (high - low):  # integer knots miss it by a rounding error
            found[nearest] = origin
        return found

    @cached_property
    def origin(self) -> int:
        """The state of the origin: 0, or the end of the range that is nearest to it."""
        return min(range(len(self.places)), key=lambda s: abs(self.places[s]))

    @cached_property
    def sides(self) -> list[Side]:
        """The rungs above and below the origin."""
        last, at = len(self.places) - 1, self.origin
        found = [Side(tuple(range(at, last + 1))), Side(tuple(range(at, -1, -1)))]
        return [side for side in found if len(side.states) > 1]

    def survival(self, side: Side, rung: int) -> list[float]:
        """Return the weights of the states in the survival of a rung: the part of it between each and the origin."""
        near, far = (self.places[state] for state in side.states[rung : rung + 2])
        width = far - near
        found = []
        for place in self.places:
            inside = (place - near) / width
            found.append(min(max(inside, 0.0), 1.0))
        return [*found, *[0.0] * self.channel.optional]

    @cached_property
    def missing(self) -> float:
        """The share of missing values."""
        return self.best[-1] if self.channel.optional else 0.0

    @cached_property
    def _rungs(self) -> dict[Side, list[tuple[float, float]]]:
        found: dict[Side, list[tuple[float, float]]] = {}
        for side in self.sides:
            every = [self.survival(side, rung) for rung in range(len(side.states) - 1)]
            found[side] = [(sum(map(mul, weights, self.best)), math.sqrt(self.variance(weights))) for weights in every]
        return found

    def rungs(self, side: Side) -> list[tuple[float, float]]:
        """Return the survival in every rung of a side and its standard error."""
        return self._rungs[side]

    def used(self, side: Side) -> int:
        """Return how many rungs of a side are clearly in use; on a single side at least one."""
        count = 0
        for share, error in self.rungs(side):
            if not share > SURE * error:
                break
            count += 1
        return max(count, 1 if len(self.sides) == 1 else 0)


def fitted(tally: Tally, index: int) -> Fitted | None:
    """Return the shares of a question about a wide number; None if fewer than two people answered it."""
    channel, number = tally.plan.questions[index].channel, tally.plan.attributes[index][0]
    assert isinstance(channel, Ladder)
    assert isinstance(number, Numeric)
    found = Fitted(channel, number, tuple(tally.counts[index]), tally.among(index))
    return found if found.n >= 2 else None


@dataclass(frozen=True)
class Clipped:
    """The mean of a number clipped to low..high, and an upper bound of the share of people beyond.

    The interval may leave the range: `laid` lays it into low..high.
    """

    low: float
    high: float
    point: float
    stderr: float
    interval: Interval
    beyond: float

    @property
    def laid(self) -> Interval:
        """The interval within the clipped range. The point is the best one that the range allows."""
        return laid(self.interval, self.point, (self.low, self.high))

    @property
    def refused(self) -> bool:
        """Whether there are too few answers to show a mean and a clip."""
        ends = self.low, self.high
        return math.isnan(self.point) or (self.low < self.high and says_nothing(self.laid, ends))


def clipped(fit: Fitted, level: float) -> Clipped:
    """Return the mean of a ladder's number, clipped where people are, among the present."""
    low, high = _ends(fit)
    none = [0.0] * len(fit.sides)
    point, error = _mean(fit, _used(fit), none)
    found = _interval(fit, _weights(fit, _used(fit), none), level, (low, high))
    return Clipped(low, high, point, error, (min(found[0], point), max(found[1], point)), _beyond(fit, level))


def _interval(fit: Fitted, weights: Sequence[float], level: float, domain: Interval) -> Interval:
    """Return the interval of a mean, around its unbiased point moved into the domain.

    It is widened as the clip was chosen from the same reports.
    """
    middle, (low, high) = fit.score(weights, level, present=fit.channel.optional)
    if math.isnan(middle):
        return low, high
    inside = min(max(fit.places[fit.origin] + middle, domain[0]), domain[1])
    return inside - CHOSEN * (middle - low), inside + CHOSEN * (high - middle)


def answers_needed(channel: Ladder, number: Numeric, level: float) -> int:
    """Return about how many answers a mean needs, if people are spread evenly over the lower half of the knots."""
    half = max(2, len(channel.knots) // 2)
    law = [sum(column) / half for column in zip(*_law(channel)[:half], strict=True)]
    fit = Fitted(channel, number, tuple(round(_EVEN * p) for p in law))
    found = clipped(fit, level)
    # The variance of one answer, as a part of the clipped range.
    one = found.stderr * math.sqrt(fit.n) / max(found.high - found.low, 1e-300)
    return enough(max((2 * CHOSEN * normal(level) * one / NOTHING) ** 2, 5.0))


@dataclass(frozen=True)
class Unclipped:
    """The mean of a number without a clip, under an assumption about its tails."""

    point: float
    stderr: float
    interval: tuple[float, float]


def unclipped(fit: Fitted, level: float, tail: float) -> Unclipped:
    """Return the mean of a ladder's number if its tails are at least as light as those of a Pareto law with this index.

    That is: from half of the clip c on, x^tail * P(t > x) does not rise, with x measured from the origin. Let m(c) be
    the mean of min(t, c). What clipping at c takes away is then between 0 and L*(m(c) - m(c/2)), with

        L = (1 - (c/H)^(tail-1)) / (2^(tail-1) - 1).

    The interval goes from the lower end of m(c) to the upper end of m(c) + L*(m(c) - m(c/2)). The point adds a third of
    m(c) - m(c/2) to m(c), as if survival fell with the third power, or L of it if that is less.
    """
    counts, factors = (
        [max(count, 1) for count in _used(fit)],
        [],
    )  # a side without a rung in use has a tail all the same
    for side, count in zip(fit.sides, counts, strict=True):
        places = [abs(fit.places[state] - fit.places[fit.origin]) for state in side.states]
        part = (places[count] / places[-1]) ** (tail - 1)
        factors.append((1 - part) / (2 ** (tail - 1) - 1))
    point, error = _mean(fit, counts, [min(factor, _THIRD) for factor in factors])
    # Of two sides, what is beyond the upper one can only add, and what is beyond the lower one only take away.
    ups = [fit.places[side.states[1]] > fit.places[side.states[0]] for side in fit.sides]
    most = _weights(fit, counts, [factor * up for factor, up in zip(factors, ups, strict=True)])
    least = _weights(fit, counts, [factor * (not up) for factor, up in zip(factors, ups, strict=True)])
    domain = fit.places[0], fit.places[-1]
    low, high = _interval(fit, least, level, domain)[0], _interval(fit, most, level, domain)[1]
    return Unclipped(point, error, (min(low, point), max(high, point)))


def reach(fit: Fitted) -> float:
    """Return how far one report can move the clipped mean, times the number of reports."""
    values, present = fit.values(_weights(fit, _used(fit), [0.0] * len(fit.sides))), 1 - fit.missing
    return (max(values) - min(values)) / present if present > _NOBODY else math.inf


def _used(fit: Fitted) -> list[int]:
    """Return how many rungs are in use on every side."""
    return [fit.used(side) for side in fit.sides]


def _ends(fit: Fitted) -> tuple[float, float]:
    """Return where numbers are clipped."""
    ends = [fit.places[fit.origin]] * 2
    for side in fit.sides:
        up = fit.places[side.states[1]] > fit.places[side.states[0]]
        ends[up] = fit.places[side.states[fit.used(side)]]
    return ends[0], ends[1]


def _mean(fit: Fitted, counts: Sequence[int], tails: Sequence[float]) -> tuple[float, float]:
    """Return the mean among the present and its standard error: see `_weights`."""
    weights, present = _weights(fit, counts, tails), 1 - fit.missing
    if not present > _NOBODY:
        return math.nan, math.inf
    total = sum(map(mul, weights, fit.best))
    if fit.channel.optional:  # the quotient by the present moves with the missing
        weights = [weight / present for weight in weights]
        weights[-1] += total / present**2
    return fit.places[fit.origin] + total / present, math.sqrt(fit.variance(weights))


def _weights(fit: Fitted, counts: Sequence[int], tails: Sequence[float]) -> list[float]:
    """Return the weights of the states in the mean: a sum over the first rungs of each side of survival times width.

    What a side has between c/2 and c counts `tails` times more. Of a rung that holds c/2 itself the part beyond it
    counts: survival falls, so that is no less than there is.
    """
    found = [0.0] * len(fit.shares)
    for side, count, more in zip(fit.sides, counts, tails, strict=True):
        places = [abs(fit.places[state] - fit.places[fit.origin]) for state in side.states]
        sign = 1 if fit.places[side.states[1]] > fit.places[side.states[0]] else -1
        for rung, (near, far) in enumerate(pairwise(places[: count + 1])):
            outer = max(far - max(near, places[count] / 2), 0.0)
            factor = sign * (far - near + more * outer)
            for state, weight in enumerate(fit.survival(side, rung)):
                found[state] += factor * weight
    return found


def _beyond(fit: Fitted, level: float) -> float:
    """Return an upper bound of the share of people beyond the clip.

    Survival falls, so the share above c is at most the average survival in the rung that ends at c. (The states beyond
    c do not show it: a number between c and the next knot may be rounded to c.) If no rung of a side is in use, the
    survival in its first rung takes the place of it.
    """
    weights = [0.0] * len(fit.shares)
    for side in fit.sides:
        count = fit.used(side)
        if count < len(side.states) - 1:  # at the end of the range nobody is beyond
            for state, weight in enumerate(fit.survival(side, max(count - 1, 0))):
                weights[state] += weight
    if not any(weights):
        return 0.0
    share, ends = fit.score(weights, level)
    return laid(ends, share, (0.0, 1.0))[1]


Five = tuple[float, float, float, float, float]


def _five(law: Sequence[float], values: Sequence[float], presence: Sequence[float]) -> Five:
    """Return the averages of value, presence, value^2, value*presence and presence^2."""
    weighted, here = list(map(mul, law, values)), list(map(mul, law, presence))
    return (
        math.fsum(weighted),
        math.fsum(here),
        math.fsum(map(mul, weighted, values)),
        math.fsum(map(mul, weighted, presence)),
        math.fsum(map(mul, here, presence)),
    )


def _minus(found: Five, x: float) -> tuple[float, float]:
    """Return the average of (value - x*presence), and of its square."""
    value, here, square, product, presence = found
    return value - x * here, square - 2 * x * product + x * x * presence


Sorts = list[list[Five]]
"""The states with the same average value and presence, in the order of their values."""


def _sorts(states: Iterable[Five]) -> Sorts:
    found: dict[tuple[float, float], list[Five]] = {}
    for state in sorted(states):
        # Averages that rounding has moved apart are one.
        found.setdefault((float(f"{state[0]:.12e}"), round(state[1], 12)), []).append(state)
    return list(found.values())


def _envelope(sorts: Sorts, x: float) -> tuple[float, float, float, float]:
    """Return the least and the largest mean square of (value - x*presence) of people with the mean 0.

    And the least and the largest mean that people can have. People are of any mixture of states.
    """
    lower, upper = _squares(
        sorted((sort[0][0] - x * sort[0][1], [_minus(state, x)[1] for state in sort]) for sort in sorts), 0.0
    )
    first, last = lower.ends
    at = min(max(0.0, first), last)
    return lower.variances(at)[0], upper.variances(at)[1], first, last


def _squares(points: Sequence[tuple[float, list[float]]], bend: float = -1.0) -> tuple[Squares, Squares]:
    """Return the envelopes of the least and of the largest mean squares of people who are alike, by their mean."""
    if len(points) == 1:  # people differ in nothing
        points = [*points, (math.nextafter(points[0][0], math.inf), points[0][1])]
    lower = Squares.of(((mean, min(squares)) for mean, squares in points), bend)
    return lower, Squares.of(((mean, max(squares)) for mean, squares in points), bend)


def _shifted(alike: tuple[Squares, Squares], x: float) -> tuple[float, float, float, float]:
    """Return the same as `_envelope` if everybody is present."""
    first, last = alike[0].ends
    at = min(max(x, first), last)
    return alike[0].variances(at)[0], alike[1].variances(at)[1], first - x, last - x


def _moments(law: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return the averages of a value and of its square."""
    weighted = list(map(mul, law, values))
    return math.fsum(weighted), math.fsum(map(mul, weighted, values))


@lru_cache(maxsize=64)
def _law(channel: Ladder) -> list[list[float]]:
    """Return the law of every state in floats. Nobody may change it."""
    return [[float(p) for p in row] for row in channel.table]


def _nonnegative(square: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the x >= 0 of least x'*square*x - 2*right'*x, by the active sets of Lawson and Hanson (1974)."""
    n = len(right)
    found, free = [0.0] * n, set[int]()
    for _ in range(_MOST * n):
        slopes = [right[i] - sum(map(mul, square[i], found)) for i in range(n)]
        bound = [i for i in range(n) if i not in free and slopes[i] > _CLOSE]
        if not bound:
            break
        free.add(max(bound, key=slopes.__getitem__))
        while True:
            chosen = sorted(free)
            (shares,) = _solve([[square[i][j] for j in chosen] for i in chosen], [[right[i] for i in chosen]])
            wanted = dict(zip(chosen, shares, strict=True))
            if min(wanted.values()) > 0:
                break
            # Go only as far as the first share that would become negative, and hold it at 0.
            step = min(found[i] / (found[i] - x) for i, x in wanted.items() if x <= 0)
            for i, x in wanted.items():
                found[i] += step * (x - found[i])
            free -= {i for i in chosen if found[i] <= _CLOSE}
            for i in set(chosen) - free:
                found[i] = 0.0
        found = [wanted.get(i, 0.0) for i in range(n)]
    return found


def _solve(square: Sequence[Sequence[float]], rights: Iterable[Sequence[float]]) -> list[list[float]]:
    """Return the solution x of square*x = right for each right side, by Cholesky's factors of a positive square."""
    rows: list[list[float]] = []
    for i, line in enumerate(square):
        row: list[float] = []
        for other, value in zip(rows, line, strict=False):
            row.append((value - sum(map(mul, row, other))) / other[-1])
        # Rounding must not make a head 0, or less, where a tiny epsilon leaves next to nothing of it.
        row.append(math.sqrt(max(line[i] - sum(map(mul, row, row)), _TINY * line[i])))
        rows.append(row)
    n = len(rows)
    columns = [[rows[j][i] for j in range(n - 1, i, -1)] for i in range(n)]  # from the last row upwards
    found = []
    for right in rights:
        half: list[float] = []
        for row, value in zip(rows, right, strict=True):
            half.append((value - sum(map(mul, row, half))) / row[-1])
        solved: list[float] = []  # the last first
        for i in range(n - 1, -1, -1):
            solved.append((half[i] - sum(map(mul, columns[i], solved))) / rows[i][-1])
        found.append(solved[::-1])
    return found
