"""The signs channel: d numbers at once, reported as d signs. Duchi et al.'s multidimensional mechanism.

Each input is rounded at random to a sign, +1 with probability (1+t)/2. The signs v are a corner of the d-cube. A
corner is near if it agrees with v in more than half of the dimensions. There are

    A = (2^d - ties)/2,    ties = C(d, d/2) if d is even, else 0

near corners. With probability T/2^64 the report is a uniform near corner, otherwise a uniform one of the others.

**Privacy.** A corner has probability T/(2^64 A) if it is near and (2^64-T)/(2^64 (2^d - A)) if not, so the ratio
is exactly T*(2^d - A)/((2^64-T)*A).

**Mean.** Over all near corners the sum of (sign reported)*(sign of the input) in one dimension is
G = C(d-1, floor(d/2)); over the others it is -G. With g = G * (T/(2^64 A) - (2^64-T)/(2^64 (2^d - A))), each
reported sign times B = 1/g is unbiased.

**Variance.** The square is always B^2, so the variance is B^2 - t^2.

**The same draws.** The set of changed signs decides whether a corner is near, whatever the input. So `draw` draws the
changes of a near corner and those of another corner, and a coin chooses between them; the number of attempts for each
reveals nothing about its result. For a near corner it draws a uniform set of changes, and takes the complement if that
set has more than half of the signs (ties are drawn again). For odd d the other corner has the complement of the near
one's changes; for even d sets are drawn until one has at least half of the signs.

For odd d this is Algorithm 3 of Wang et al. (ICDE 2019), after Duchi, Jordan and Wainwright (2018). For even d that
algorithm is not eps-LDP as printed, because ties belong to both sides; here ties are not near. The known
alternative adds a dimension and drops it from the report; its B is larger by exactly 1 (docs/errata.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Subsets, members
from hush.core.channels.base import Coins, Reading, State, exact_t, require, rounding_up, rounds_up
from hush.core.channels.two_level import Sorts, TwoLevel
from hush.core.exact import WORD
from hush.core.schema import MAX_ATTRIBUTES, Attribute, Input, Numeric
from hush.errors import PlanError

MAX_COUNTED = 128
"""Among more signs, hush does not look for data sets that are hard to hide in."""


def near_corners(size: int) -> int:
    """Return how many corners of a cube agree with a given one in more than half of the dimensions."""
    ties = comb(size, size // 2) if size % 2 == 0 else 0
    return ((1 << size) - ties) // 2


def rounded_signs(inputs: Sequence[Input], coins: Coins) -> int:
    """Round every input in [0, 1] to a sign, and return the bits of an integer: 1 for plus. One word each."""
    digits = bytearray(len(inputs))  # the last one first; the length of an integer would depend on the signs
    for j, u in enumerate(inputs):
        assert isinstance(u, float)
        digits[-1 - j] = 48 + rounds_up(u, coins.word())
    return int(digits, 2)


def rounding_signs(inputs: Sequence[Input]) -> dict[State, Fraction]:
    """Return the exact probability of each result of `rounded_signs`. Use it for few inputs."""
    corners: dict[State, Fraction] = {}
    for v in range(1 << len(inputs)):
        chance = Fraction(1)
        for j, u in enumerate(inputs):
            assert isinstance(u, float)
            chance *= rounding_up(u) if v >> j & 1 else 1 - rounding_up(u)
        if chance:
            corners[v] = chance
    return corners


class SignChannel(TwoLevel):
    """A channel of `size` numbers that are rounded to signs: the common part of the signs and the cube channel.

    A state is a corner, written as the bits of an integer: 1 for a plus.
    """

    size: int

    @property
    @abstractmethod
    def bound(self) -> Fraction:
        """B: the size of every value that is reported."""

    @property
    @abstractmethod
    def _sampling(self) -> tuple[int, int, Fraction]:
        """How many signs are reported, how many must agree for a near corner, and the probability of another corner."""

    def states(self) -> Iterator[State]:
        """Every corner."""
        yield from range(1 << self.size)

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Sort reports by the states to which they are near.

        Dimensions in which the states relate to the first one in the same way are alike. The numbers of those that are
        reported, and of those that agree with the first state, decide to which states a report is near.
        """
        sample, agree, other = self._sampling
        corners = [self._corner(state) for state in states]
        relations = [tuple((corner ^ corners[0]) >> j & 1 for corner in corners) for j in range(self.size)]
        # By the number of reported dimensions and of agreements with each state: how many reports.
        ways: dict[tuple[int, ...], int] = {(0, *(0 for _ in corners)): 1}
        left = self.size
        for relation, size in Counter(relations).items():
            after: Counter[tuple[int, ...]] = Counter()
            left -= size
            for (used, *agreed), count in ways.items():
                for more in range(max(0, sample - used - left), min(size, sample - used) + 1):
                    for same in range(more + 1):
                        now = (more - same if flip else same for flip in relation)
                        key = (used + more, *(a + b for a, b in zip(agreed, now, strict=True)))
                        after[key] += count * comb(size, more) * comb(more, same)
            ways = after
        found: dict[tuple[bool, ...], Fraction] = {}
        for (_, *agreed), count in ways.items():
            sort = tuple(a >= agree for a in agreed)
            found[sort] = found.get(sort, Fraction(0)) + count * other
        return found

    def opposites(self) -> list[tuple[State, State]]:
        """Opposite corners: no report is near to both."""
        return [(0, (1 << self.size) - 1)]

    def bystanders(self) -> list[State]:
        """A corner half way between, unless there are too many reports to count."""
        return [(1 << self.size // 2) - 1] if self._sampling[0] <= MAX_COUNTED else []

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the signs."""
        v = self._corner(state)
        return tuple(Fraction(1 if v >> j & 1 else -1) for j in range(self.size))

    def _corner(self, state: State) -> int:
        return codec.integer(state, 0, (1 << self.size) - 1, PlanError, f"the state of a {self.kind} channel")

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of a reported sign times B, for its input t in [-1, 1]."""
        return self.bound**2 - exact_t(t) ** 2

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance: at t = 0."""
        return self.variance(0)

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of every corner. Use it for few attributes: there are 2^size corners."""
        return rounding_signs(inputs)

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round every input in [0, 1] to a sign. One word each, also for inputs that a cube does not report."""
        return rounded_signs(inputs, coins)


@dataclass(frozen=True)
class Signs(SignChannel):
    """Signs of `size` numbers; `threshold`/2^64 is the probability of a near corner.

    States and outputs are sets of the dimensions with a plus. A state is written as the bits of an integer.
    """

    size: int
    threshold: int

    kind: ClassVar[str] = "signs"

    def __post_init__(self) -> None:
        codec.integer(self.size, 1, MAX_ATTRIBUTES, PlanError, "the size of a signs channel")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a signs channel")
        require(self.ratio > 1, "a near corner must be likelier than another")

    # -- definition

    @cached_property
    def alphabet(self) -> Subsets:
        """The sets of attributes whose sign is plus."""
        return Subsets(self.size)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != self.size:
            return f"this signs channel is for {self.size} attributes"
        if any(not isinstance(attribute, Numeric) or attribute.optional for attribute in attributes):
            return "a signs channel is for numeric attributes that are not optional"
        return None

    @cached_property
    def _near(self) -> Fraction:
        return Fraction(self.threshold, WORD * near_corners(self.size))

    @cached_property
    def _far(self) -> Fraction:
        return Fraction(WORD - self.threshold, WORD * ((1 << self.size) - near_corners(self.size)))

    @cached_property
    def bound(self) -> Fraction:
        """B: the size of every decoded value."""
        return 1 / (comb(self.size - 1, self.size // 2) * (self._near - self._far))

    @property
    def _sampling(self) -> tuple[int, int, Fraction]:
        """All signs are reported, and more than half must agree."""
        return self.size, self.size // 2 + 1, self._far

    def _is_near(self, corner: int, v: int) -> bool:
        return 2 * (corner ^ v).bit_count() < self.size

    # -- exact guarantees

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return self._near / self._far

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output: 2^size of them."""
        v = self._corner(state)
        law: dict[Output, Fraction] = {}
        for corner in range(1 << self.size):
            law[members(corner)] = self._near if self._is_near(corner, v) else self._far
        return law

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return B or -B for every attribute."""
        self.alphabet.check(output)
        assert isinstance(output, tuple)
        return tuple(self.bound if j in output else -self.bound for j in range(self.size))

    # -- the device

    def draw(self, state: State, coins: Coins) -> Output:
        """Draw the signs to change for a near corner and for another; a coin chooses the one to report."""
        assert isinstance(state, int)
        near = coins.toss(self.threshold)
        every = (1 << self.size) - 1
        few = self._changes(coins)
        while 2 * few.bit_count() == self.size:
            few = self._changes(coins)
        few ^= every if 2 * few.bit_count() > self.size else 0
        many = few ^ every
        if self.size % 2 == 0:
            many = self._changes(coins)
            while 2 * many.bit_count() < self.size:
                many = self._changes(coins)
        length = every + 1  # a bit that keeps the integers at one length
        return members((state | length) ^ (few if near else many) ^ length)

    def _changes(self, coins: Coins) -> int:
        """Return a uniform corner. It takes a word for every 64 signs, the lowest first."""
        corner = 0
        for start in range(0, self.size, 64):
            corner |= coins.word() << start
        return corner & (1 << self.size) - 1

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean of every attribute."""
        values = (-float(self.bound), float(self.bound))
        return [Reading(j, None, (n - count, count), values) for j, count in enumerate(counts)]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "threshold": str(self.threshold),
        }

    @classmethod
    def from_json(cls, value: Any) -> Signs:
        """Read a channel back."""
        size, threshold = cls._fields(value, "size", "threshold")
        return cls(size, codec.big(threshold, PlanError, "a threshold"))
