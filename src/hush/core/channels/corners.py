"""The corners channel: the direction of d numbers, as one of their 2d signed dimensions ("corners").

The m numbers with the largest absolute values are *near*, each with its sign; the sign is rounded at random, plus with
probability (1+t)/2. With probability T/2^64 the report is a uniform near corner, otherwise a uniform one of the other
2d - m.

**Privacy.** A corner has probability T/(2^64 m) if it is near and (2^64-T)/(2^64 (2d - m)) if not, so the ratio is
exactly T*(2d - m)/((2^64-T)*m).

**Mean.** Let g be the difference of both probabilities. A near corner is reported more often than its opposite, by g;
the two corners of another dimension are equally likely. So the sign of the reported corner times B = 1/g is the rounded
sign in a near dimension on average, and 0 in the others. That is unbiased for records with at most m numbers that are
not 0. For other records, all but the m largest numbers count as 0: which ones they are depends on the record, so use
the channel only where that is known to be harmless. `hush.core.training.directions` shows that it is for gradients
that were rotated at random.

**Variance.** The square is B^2 if the dimension is reported and 0 if not. So the mean square is B^2 times the sum of
the probabilities of both corners: larger for a near dimension than for another.

**One word rounds all signs.** One corner is reported, so only the probability that it is near counts, and not how the
signs depend on each other: a joint rounding has the same law as one word for each.

**The same draws.** Absolute values are compared as integers of 30 bits; of equal ones the first are near. The m-th
largest is found digit by digit, with a count of all numbers for each digit. A rank is drawn among the near corners
and another among the others, and a coin chooses between them.

For m = d this is the mechanism of Duchi et al. on a sampled number. m/2d plays the part of w/K in the subset channel,
with sets as inputs and one member as the output. Compare Bhowmick et al., Protection Against Reconstruction and Its
Applications in Private Federated Learning (2018), whose cap around a direction is the same idea on the sphere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress, product
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Symbols
from hush.core.channels.base import Coins, Reading, State, exact_t, require, rounding_up, rounds_up
from hush.core.channels.squares import Squares
from hush.core.channels.two_level import Sorts, TwoLevel
from hush.core.exact import WORD
from hush.core.schema import MAX_ATTRIBUTES, Attribute, Input, Numeric
from hush.errors import PlanError

DIGITS = 30
"""Binary digits of an absolute value when it is compared with others."""


def magnitude(u: float) -> int:
    """Return the absolute value of an input in [0, 1], seen from the middle, as an integer from 0 to 2^30."""
    return int(min(abs(u - 0.5), 0.5) * 2147483648.0)


def largest(values: Sequence[int], count: int) -> bytearray:
    """Mark the `count` largest of some integers from 0 to 2^30, of equal ones the first. The work never changes."""
    cut = 0
    for digit in range(DIGITS, -1, -1):
        trial = cut | 1 << digit
        cut = (cut, trial)[sum(map(trial.__le__, values)) >= count]
    spare = count - sum(map(cut.__lt__, values))
    marks = bytearray(len(values))
    for j, value in enumerate(values):
        equal = (value == cut) & (spare > 0)
        marks[j] = (value > cut) | equal
        spare -= equal
    return marks


@dataclass(frozen=True)
class Corners(TwoLevel):
    """Signs of the `near` largest of `size` numbers; `threshold`/2^64 is the probability of a near corner.

    Corner 2j is a minus in dimension j, and 2j+1 a plus. A state is the tuple of the near corners in increasing order.
    """

    size: int
    near: int
    threshold: int

    kind: ClassVar[str] = "corners"

    def __post_init__(self) -> None:
        codec.integer(self.size, 1, MAX_ATTRIBUTES, PlanError, "the size of a corners channel")
        codec.integer(self.near, 1, self.size, PlanError, "near, of a corners channel,")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a corners channel")
        require(self.ratio > 1, "a near corner must be likelier than another")

    # -- definition

    @cached_property
    def alphabet(self) -> Symbols:
        """The corners."""
        return Symbols(2 * self.size)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != self.size:
            return f"this corners channel is for {self.size} attributes"
        if any(not isinstance(attribute, Numeric) or attribute.optional for attribute in attributes):
            return "a corners channel is for numeric attributes that are not optional"
        return None

    @cached_property
    def _chances(self) -> tuple[Fraction, Fraction]:
        """The probability of a given corner that is not near, and of one that is."""
        others = 2 * self.size - self.near
        return Fraction(WORD - self.threshold, WORD * others), Fraction(self.threshold, WORD * self.near)

    @cached_property
    def bound(self) -> Fraction:
        """B: the size of the decoded value of the dimension that is reported."""
        other, near = self._chances
        return 1 / (near - other)

    def _members(self, state: State) -> tuple[int, ...]:
        """Return the near corners of a state, or refuse what is no state."""
        right = type(state) is tuple and len(state) == self.near
        right = right and all(type(member) is int and 0 <= member < 2 * self.size for member in state)  # type: ignore[attr-defined]
        halves = [member >> 1 for member in state] if right else []  # type: ignore[attr-defined]
        if not right or halves != sorted(set(halves)):
            raise PlanError(f"the state of a corners channel is {self.near} corners of different dimensions, in order")
        assert isinstance(state, tuple)
        return state

    # -- exact guarantees

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        other, near = self._chances
        return near / other

    def states(self) -> Iterator[State]:
        """Every choice of dimensions and signs."""
        for chosen in combinations(range(self.size), self.near):
            for signs in product((0, 1), repeat=self.near):
                yield tuple(2 * j + sign for j, sign in zip(chosen, signs, strict=True))

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every corner."""
        near = set(self._members(state))
        return {corner: self._chances[corner in near] for corner in range(2 * self.size)}

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return B or -B for the dimension of the corner, and 0 for all others."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        values = [Fraction(0)] * self.size
        values[output >> 1] = self.bound if output & 1 else -self.bound
        return tuple(values)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the signs of the near dimensions, and 0 for the others."""
        values = [Fraction(0)] * self.size
        for member in self._members(state):
            values[member >> 1] = Fraction(1 if member & 1 else -1)
        return tuple(values)

    @cached_property
    def _squares(self) -> tuple[Fraction, Fraction]:
        """The mean square of a decoded value in a dimension that is not near, and in one that is."""
        other, near = self._chances
        return self.bound**2 * 2 * other, self.bound**2 * (near + other)

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the decoded value of a near dimension, for its input t in [-1, 1]."""
        return self._squares[1] - exact_t(t) ** 2

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance: at t = 0."""
        return self.variance(0)

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of each state: one for each stretch of words that round all signs alike."""
        near = [*compress(range(self.size), self._nearest(inputs))]
        shares = {j: rounding_up(_number(inputs[j])) for j in near}
        found: dict[State, Fraction] = {}
        low = Fraction(0)
        for high in sorted({*shares.values(), Fraction(1)} - {low}):
            found[tuple(2 * j + (shares[j] >= high) for j in near)] = high - low
            low = high
        return found

    # -- a crowd

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Sort corners by the states to which they are near."""
        near = [set(self._members(state)) for state in states]
        ways = Counter(tuple(corner in one for one in near) for corner in range(2 * self.size))
        return {sort: count * self._chances[0] for sort, count in ways.items()}

    def opposites(self) -> list[tuple[State, State]]:
        """Opposite corners: no report is near to both."""
        return [(tuple(range(0, 2 * self.near, 2)), tuple(range(1, 2 * self.near, 2)))]

    def bystanders(self) -> list[State]:
        """Near corners of which half are those of each of the two; and those of the last dimensions."""
        half = tuple(2 * j + (2 * j >= self.near) for j in range(self.near))
        return [half, tuple(range(2 * (self.size - self.near), 2 * self.size, 2))]

    # -- the device

    def _nearest(self, inputs: Sequence[Input]) -> bytearray:
        """Mark the dimensions that are near."""
        return largest([magnitude(_number(u)) for u in inputs], self.near)

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Find the largest of the inputs in [0, 1], and round them to signs. One word."""
        word = coins.word()
        corners = [2 * j + rounds_up(_number(u), word) for j, u in enumerate(inputs)]
        return tuple(compress(corners, self._nearest(inputs)))

    def draw(self, state: State, coins: Coins) -> Output:
        """Draw one of the near corners and one of the others; a coin chooses the one to report."""
        assert isinstance(state, tuple)
        near = coins.toss(self.threshold)
        other, rank = coins.below(2 * self.size - self.near), coins.below(self.near)
        marks = bytearray(b"\1" * (2 * self.size))
        for member in state:
            marks[member] = 0
        others = [*compress(range(2 * self.size), marks)]
        return (others[other], int(state[rank]))[near]

    # -- the server

    @cached_property
    def _envelope(self) -> Squares:
        """People with t = 0 may be near or not, and those at the ends are near."""
        far, near = map(float, self._squares)
        return Squares.of([(-1.0, near), (0.0, far), (1.0, near)])

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean of every attribute."""
        values = (-float(self.bound), 0.0, float(self.bound))
        signs = zip(counts[::2], counts[1::2], strict=True)
        return [
            Reading(j, None, (minus, n - minus - plus, plus), values, squares=self._envelope)
            for j, (minus, plus) in enumerate(signs)
        ]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {"kind": self.kind, "size": self.size, "near": self.near, "threshold": str(self.threshold)}

    @classmethod
    def from_json(cls, value: Any) -> Corners:
        """Read a channel back."""
        size, near, threshold = cls._fields(value, "size", "near", "threshold")
        return cls(size, near, codec.big(threshold, PlanError, "a threshold"))


def _number(u: Input) -> float:
    assert isinstance(u, float)
    return u
