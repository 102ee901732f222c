"""The cube channel (sign-cube): one report with the signs of k out of d numbers, drawn at random.

Each of the d inputs is rounded at random to a sign, +1 with probability (1+t)/2. A uniform set of k dimensions is
drawn, whatever the inputs. The k signs are a corner v of the k-cube; the corners that agree with v in at least
`agree` places are near, and there are

    A = C(k, agree) + C(k, agree+1) + ... + C(k, k)

of them. With probability T/2^64 the report is a uniform near corner, otherwise a uniform one of the others; it names
the k dimensions and their signs.

**Privacy.** Every set of dimensions is equally likely under all inputs. Given the set, a corner has probability
T/(2^64 A) if it is near and (2^64-T)/(2^64 (2^k - A)) if not, so the ratio is exactly T*(2^k - A)/((2^64-T)*A).

**Mean.** Take one dimension. Of the near corners with i agreements C(k-1, i-1) agree there and C(k-1, i) do not. Over
i >= agree the sum of (sign reported)*(sign of the input) telescopes to G = C(k-1, agree-1); over the others it is -G,
as over all corners it is 0. With g = G * (T/(2^64 A) - (2^64-T)/(2^64 (2^k - A))), each reported sign times B = 1/g
is unbiased, given that its dimension was drawn.

**Variance.** Given that the dimension was drawn, the square is always B^2, so `variance` is B^2 - t^2: that of one
report *about the attribute*. The ratio estimator divides it by the number of such reports, a share k/d of all.
`decode` must have a value for every report: 0 if the dimension was not drawn, else d/k times the sign times B.
That is unbiased as well, with a variance of (d/k)*B^2 - t^2, and is the paper's estimator.

For k = 1 this is the mechanism of Duchi et al. on a sampled attribute; for k = d and agree = floor(d/2) + 1 it is
their multidimensional mechanism (the signs channel). In between, the threshold on the number of agreements is the
discrete counterpart of PrivUnit's cap. Sources: Duchi, Jordan and Wainwright, Minimax Optimal Procedures for Locally
Private Estimation (2018); Bhowmick et al., Protection Against Reconstruction and Its Applications in Private
Federated Learning (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Grouped, Output
from hush.core.channels.base import Coins, Reading, State, draw_subset, require
from hush.core.channels.signs import SignChannel
from hush.core.exact import WORD
from hush.core.schema import MAX_ATTRIBUTES, Attribute, Numeric
from hush.errors import PlanError

MAX_SAMPLE = 64


def agreeing_corners(size: int, agree: int) -> int:
    """Return how many corners of a cube agree with a given one in at least `agree` dimensions."""
    return sum(comb(size, i) for i in range(agree, size + 1))


@dataclass(frozen=True)
class Cube(SignChannel):
    """Signs of `sample` out of `size` numbers; `threshold`/2^64 is the probability of a near corner.

    A near corner agrees in `agree` places or more. A state is the set of all dimensions with a plus, as the bits of
    an integer; an output has the member 2j for a minus in dimension j and 2j+1 for a plus.
    """

    size: int
    sample: int
    agree: int
    threshold: int

    kind: ClassVar[str] = "cube"
    made: ClassVar[tuple[str, ...]] = ("tails", "corners")

    def __post_init__(self) -> None:
        codec.integer(self.size, 1, MAX_ATTRIBUTES, PlanError, "the size of a cube channel")
        codec.integer(self.sample, 1, min(self.size, MAX_SAMPLE), PlanError, "the sample of a cube channel")
        codec.integer(self.agree, self.sample // 2 + 1, self.sample, PlanError, "agree, of a cube channel,")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a cube channel")
        require(self.ratio > 1, "a near corner must be likelier than another")

    # -- definition

    @cached_property
    def alphabet(self) -> Grouped:
        """The signs of `sample` dimensions."""
        return Grouped(2 * self.size, self.sample, 2)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != self.size:
            return f"this cube channel is for {self.size} attributes"
        if any(not isinstance(attribute, Numeric) or attribute.optional for attribute in attributes):
            return "a cube channel is for numeric attributes that are not optional"
        return None

    @cached_property
    def share(self) -> Fraction:
        """The probability that a given attribute is among those reported."""
        return Fraction(self.sample, self.size)

    @cached_property
    def corners(self) -> tuple[int, int]:
        """How many corners are not near, and how many are."""
        near = agreeing_corners(self.sample, self.agree)
        return (1 << self.sample) - near, near

    @cached_property
    def _chances(self) -> tuple[Fraction, Fraction]:
        """The probability of a given corner that is not near, and of one that is."""
        others, near = self.corners
        return Fraction(WORD - self.threshold, WORD * others), Fraction(self.threshold, WORD * near)

    @cached_property
    def bound(self) -> Fraction:
        """B: the size of every decoded value, given that its attribute is among those reported."""
        other, near = self._chances
        return 1 / (comb(self.sample - 1, self.agree - 1) * (near - other))

    @property
    def _sampling(self) -> tuple[int, int, Fraction]:
        """How many signs are reported, how many must agree, and the probability of another corner."""
        return self.sample, self.agree, self._chances[0] / comb(self.size, self.sample)

    # -- exact guarantees

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        other, near = self._chances
        return near / other

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output: C(size, sample) * 2^sample of them."""
        v = self._corner(state)
        law: dict[Output, Fraction] = {}
        for chosen in combinations(range(self.size), self.sample):
            for corner in range(1 << self.sample):
                output = tuple(2 * j + (corner >> i & 1) for i, j in enumerate(chosen))
                agreed = sum(member & 1 == v >> (member >> 1) & 1 for member in output)
                law[output] = self._chances[agreed >= self.agree] / comb(self.size, self.sample)
        return law

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return 0 for every attribute that is not reported, and B or -B divided by the share for the others."""
        self.alphabet.check(output)
        assert isinstance(output, tuple)
        values = [Fraction(0)] * self.size
        for member in output:
            values[member >> 1] = (self.bound if member & 1 else -self.bound) / self.share
        return tuple(values)

    # -- the device

    @cached_property
    def tails(self) -> list[list[int]]:
        """How many corners of the m-cube agree in at least a places, for every m < sample and every a <= sample."""
        rows = [[1] + [0] * self.sample]
        for m in range(1, self.sample):
            rows.append([1 << m, *(also + without for also, without in pairwise(rows[-1]))])
        return rows

    def draw(self, state: State, coins: Coins) -> Output:
        """Draw the dimensions, choose near or not by a coin, then draw the rank of a corner of that kind.

        Corners are ranked dimension by dimension, those that agree first. So one word (rarely more) is enough, however
        few corners are near; drawing corners until one is near would take 2^sample/A words. A rank is drawn for both
        kinds, because the chance that a word must be drawn again depends on the number of corners.
        """
        assert isinstance(state, int)
        chosen = draw_subset(coins, self.size, self.sample)
        near = coins.toss(self.threshold)
        ranks = [coins.below(count) for count in self.corners]
        rank = ranks[near]
        needed = self.agree
        signs = state | 1 << self.size  # an integer of the same length whatever the signs
        output = []
        for j, tail, left in zip(chosen, reversed(self.tails), range(self.sample - 1, -1, -1), strict=True):
            among_near = tail[max(needed - 1, 0)]
            agreeing = (((1 << left) - among_near), among_near)[near]
            agrees = rank < agreeing
            needed -= agrees
            rank -= (agreeing, 0)[agrees]
            output.append(2 * j + ((signs >> j & 1) == agrees))
        return tuple(output)

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean of every attribute, from the reports about it."""
        values = (-float(self.bound), float(self.bound))
        signs = zip(counts[::2], counts[1::2], strict=True)
        return [Reading(j, None, pair, values, share=self.share) for j, pair in enumerate(signs)]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "sample": self.sample,
            "agree": self.agree,
            "threshold": str(self.threshold),
        }

    @classmethod
    def from_json(cls, value: Any) -> Cube:
        """Read a channel back."""
        size, sample, agree, threshold = cls._fields(value, "size", "sample", "agree", "threshold")
        return cls(size, sample, agree, codec.big(threshold, PlanError, "a threshold"))
