"""The geometry channel: one of very many categories, reported as one point of a finite projective geometry.

A *point* is a vector of t digits, elements of the field with q elements (`fields`), whose highest digit other than 0 is
1. There are P = (q^t - 1)/(q - 1) of them. If digit m is that highest one, the number of the point is
(q^m - 1)/(q - 1) plus the number that the digits below it write in base q, lowest first. Category x is the point x. Two
points u and v are *orthogonal* if the sum of all u_i*v_(t-1-i) is 0. With probability T/2^64 the report is a uniform
point that is orthogonal to the category's, otherwise a uniform point that is not.

**Privacy.** There are c = (q^(t-1) - 1)/(q - 1) points that are orthogonal to a given one, and q^(t-1) that are not. So
the ratio is exactly T*q^(t-1)/((2^64-T)*c): that of a subset channel with sets of c out of P.

**Mean.** A report is orthogonal to the category of its person with probability p = T/2^64. Of the points that are
orthogonal to it, i = (q^(t-2) - 1)/(q - 1) are also orthogonal to another given category. So a report is orthogonal to
that one with r = p*i/c + (1-p)*(c-i)/q^(t-1), and ((1 if orthogonal) - r)/(p - r) is 1 or 0 on average.

**Variance.** As for a subset channel: p(1-p)/(p-r)^2 and r(1-r)/(p-r)^2. With q near e^eps + 1 it is that of the best
subset channel but for a few thousandths. A report takes 3 bytes where a set of a million categories takes 125,000.

**The same draws.** Digit j = t-1-m of the report meets the 1 of the category. All other digits are free: they are a
point of t-1 digits if the report shall be orthogonal, and any digits if the sum shall be 1. Then digit j follows, and
the vector is divided by its highest digit. Both numbers are always drawn, and all steps are done for all digits.

**Reading.** A tally counts points. `hyperplanes.orthogonal` turns it into the number of reports that are orthogonal to
each category.

More digits than the categories need are refused, so that the categories span the whole space: every point is then
orthogonal to some of them, and to others not.

Source: Feldman, Nelson, Nguyen and Talwar, Private Frequency Estimation via Projective Geometry (2022).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress
from typing import Any, ClassVar, NamedTuple

from hush.core import codec
from hush.core.channels.alphabet import Output, Points
from hush.core.channels.base import Coins, Reading, State, require
from hush.core.channels.fields import MAX_ORDER, MAX_POWER, Field, field, power_of
from hush.core.channels.hyperplanes import added, orthogonal
from hush.core.channels.indicator import Indicator
from hush.core.channels.sparse import Sparse
from hush.core.channels.two_level import Sorts
from hush.core.exact import WORD
from hush.errors import PlanError

MAX_POINTS = 1 << 22
MAX_DIGITS = 22
_LOW = (1 << 32) - 1


class Numbers(NamedTuple):
    """How points are numbered: powers of q, the number of the first point with each highest digit, the difference."""

    powers: tuple[int, ...]
    firsts: tuple[int, ...]
    gaps: tuple[int, ...]

    def written(self, point: int, digits: int) -> tuple[int, int]:
        """Return the number that all digits of a point write, and its highest digit. `digits` is how many there are.

        It takes the same steps for all points.
        """
        highest = sum([point >= first for first in self.firsts[1:digits]])
        return point + self.gaps[highest], highest


@dataclass(frozen=True)
class Geometry(Indicator):
    """Points of `digits` digits out of `order` for `size` categories.

    `threshold`/2^64 is the probability that the report is orthogonal to the true one.
    """

    size: int
    order: int
    digits: int
    threshold: int

    kind: ClassVar[str] = "geometry"
    made: ClassVar[tuple[str, ...]] = ("numbers", "field")

    def __post_init__(self) -> None:
        q = codec.integer(self.order, 2, MAX_ORDER, PlanError, "the order of a geometry channel")
        t = codec.integer(self.digits, 3, MAX_DIGITS, PlanError, "the digits of a geometry channel")
        found = power_of(q)
        require(
            found is not None and (found[1] == 1 or q <= MAX_POWER),
            f"the order of a geometry channel must be a prime, or a power of one up to {MAX_POWER}",
        )
        require(points_of(q, t) <= MAX_POINTS, f"a geometry channel has at most {MAX_POINTS} points")
        low, high = points_of(q, t - 1) + 1, points_of(q, t)
        codec.integer(self.size, low, high, PlanError, "the size of a geometry channel of this order and these digits")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a geometry channel")
        require(self.ratio > 1, "an orthogonal point must be likelier than another one")

    @cached_property
    def alphabet(self) -> Points:
        """All points."""
        return Points(self.points)

    @cached_property
    def field(self) -> Field:
        """The arithmetic of digits."""
        found = field(self.order)
        found.prepare()
        return found

    @cached_property
    def numbers(self) -> Numbers:
        """How points are numbered."""
        powers = tuple(self.order**i for i in range(self.digits + 1))
        firsts = tuple(points_of(self.order, i) for i in range(self.digits))
        return Numbers(powers, firsts, tuple(power - first for power, first in zip(powers, firsts, strict=False)))

    @property
    def points(self) -> int:
        """How many points there are."""
        return points_of(self.order, self.digits)

    @property
    def inside(self) -> int:
        """How many points are orthogonal to a given one."""
        return points_of(self.order, self.digits - 1)

    @property
    def outside(self) -> int:
        """How many points are not orthogonal to a given one."""
        return int(self.order ** (self.digits - 1))

    # -- exact guarantees

    @cached_property
    def p(self) -> Fraction:
        """The probability that the report is orthogonal to the true category."""
        return Fraction(self.threshold, WORD)

    @cached_property
    def q(self) -> Fraction:
        """The probability that the report is orthogonal to another given category."""
        both = points_of(self.order, self.digits - 2)
        return self.p * Fraction(both, self.inside) + (1 - self.p) * Fraction(self.inside - both, self.outside)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(self.threshold * self.outside, (WORD - self.threshold) * self.inside)

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every point."""
        own = self.vector(self._category(state))
        inside, outside = self.p / self.inside, (1 - self.p) / self.outside
        return {point: inside if self._meets(own, point) else outside for point in range(self.points)}

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability of every point."""
        return [*self.law(state).values()]

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased estimate of every category: 1 if it is the true one, else 0, on average."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        own = self.vector(output)
        return tuple(self.supports[self._meets(own, category)] for category in range(self.size))

    def vector(self, point: int) -> list[int]:
        """Return the digits of a point, lowest first."""
        written = self.numbers.written(point, self.digits)[0]
        return [written // power % self.order for power in self.numbers.powers[: self.digits]]

    def _meets(self, vector: Sequence[int], point: int) -> bool:
        """Return whether a point is orthogonal to another one, of which this is the vector."""
        return self.field.against(0, vector, reversed(self.vector(point))) == 0

    def marks(self, output: Output, vectors: Sequence[Sequence[int]]) -> tuple[bool, ...]:
        """Return which categories an output supports. `vectors` are those of the categories (`vector`)."""
        assert isinstance(output, int)
        own = self.vector(output)[::-1]
        return tuple(self.field.against(0, vector, own) == 0 for vector in vectors)

    def supported(self, others: int, members: int) -> Fraction:
        """Refuse: it depends on the categories, as three points may lie on a line. See `sorts`."""
        raise NotImplementedError("three points of a geometry are not all alike")

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Sort outputs by the categories to which they are orthogonal, counted by inclusion and exclusion.

        A set of points of rank r has as many points orthogonal to all of them as a geometry of t - r digits.
        """
        distinct = list(dict.fromkeys(map(self._category, states)))
        every = range(len(distinct))
        vectors = [self.vector(category) for category in distinct]
        least = {
            chosen: points_of(self.order, self.digits - rank([vectors[i] for i in chosen], self.field))
            for count in range(len(distinct) + 1)
            for chosen in combinations(every, count)
        }
        found: dict[tuple[bool, ...], Fraction] = {}
        for chosen in least:
            count = sum(
                (-1) ** (len(more) - len(chosen)) * number for more, number in least.items() if set(chosen) <= set(more)
            )
            if count:
                support = {category: i in chosen for i, category in enumerate(distinct)}
                marks = tuple(support[self._category(state)] for state in states)
                found[marks] = count * (1 - self.p) / self.outside
        return found

    def bystanders(self) -> list[State]:
        """A third category on the line of the first two, and one that is not: 0, 1 and 2 lie on a line."""
        return [2, self.order + 1]

    # -- the device

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a point. One word for the coin and one (rarely more) for each of two numbers, of which one is used."""
        assert isinstance(state, int)
        t, (powers, _, gaps) = self.digits, self.numbers
        meets = coins.toss(self.threshold)
        near, far = coins.below(self.inside), coins.below(self.outside)
        number = (far, self.numbers.written(near, t - 1)[0])[meets]
        value, highest = self.numbers.written(state, t)
        solved = t - 1 - highest
        high, low = divmod(number, powers[solved])
        number = high * powers[solved + 1] + low
        vector = [number // power % self.order for power in powers[:t]]
        other = [value // power % self.order for power in powers[t - 1 :: -1]]
        vector[solved] = self.field.against(1 - meets, vector, other)
        top = lead = 0
        for place, digit in enumerate(vector):
            top, lead = ((top, lead), (place, digit))[digit > 0]
        vector = self.field.scaled(self.field.inverses[lead], vector)
        return sum([digit * power for digit, power in zip(vector, powers, strict=False)]) - gaps[top]

    # -- the server

    def totals(self, counts: Iterable[int]) -> Sequence[int]:
        """Return for every category how many reports are orthogonal to it, from the counts of all points."""
        if isinstance(counts, Sparse) and (counts.met() + 1) * self.size <= self.points:
            return self._one_by_one(counts.items())
        vector: Sequence[int] = counts.dense() if isinstance(counts, Sparse) else [*counts]
        if added(vector) < WORD:
            return orthogonal(vector, self.order, self.digits)[: self.size]
        # More than a tally may have, but exact laws have: the low digits by themselves, as all is linear.
        low, high = self.totals(count & _LOW for count in vector), self.totals(count >> 32 for count in vector)
        return [a + (b << 32) for a, b in zip(low, high, strict=True)]

    def _one_by_one(self, met: Iterable[tuple[int, int]]) -> list[int]:
        """Return what `totals` does, from the points that have a count. It is quicker where there are few of them."""
        found, vectors = [0] * self.size, [self.vector(category) for category in range(self.size)]
        for point, count in met:
            for category in compress(range(self.size), self.marks(point, vectors)):
                found[category] += count
        return found

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the share of every category."""
        return super().readings(self.totals(counts), n)

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "order": self.order,
            "digits": self.digits,
            "threshold": str(self.threshold),
        }

    @classmethod
    def from_json(cls, value: Any) -> Geometry:
        """Read a channel back."""
        size, order, digits, threshold = cls._fields(value, "size", "order", "digits", "threshold")
        return cls(size, order, digits, codec.big(threshold, PlanError, "a threshold"))


def points_of(order: int, digits: int) -> int:
    """Return how many points a geometry has."""
    return int(order**digits - 1) // (order - 1) if digits > 0 else 0


def rank(vectors: Sequence[Sequence[int]], over: Field) -> int:
    """Return how many of these vectors are independent."""
    rows, found = [list(vector) for vector in vectors], 0
    for place in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows if row[place]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        unit = over.scaled(over.inverses[pivot[place]], pivot)
        rows = [[over.against(a, (row[place],), (b,)) for a, b in zip(row, unit, strict=True)] for row in rows]
        found += 1
    return found


def geometries(size: int) -> Iterator[tuple[int, int]]:
    """Yield the order and the digits of all geometries with at least `size` points and not too many."""
    for order in range(2, MAX_ORDER + 1):
        found = power_of(order)
        if found is None or (found[1] > 1 and order > MAX_POWER):
            continue
        digits = next((t for t in range(3, MAX_DIGITS + 1) if points_of(order, t) >= size), None)
        if digits and points_of(order, digits - 1) < size and points_of(order, digits) <= MAX_POINTS:
            yield order, digits
