"""The picks channel: a set of at most s of L values, reported as a set of w out of L + s.

A person who holds fewer than s values also holds *blanks*, so that everybody holds s of the N = L + s items: the values
come first, then the s blanks, of which as many are held as are needed, the first ones first. (A missing answer is one
more value, held alone.) The report is a set of w items. It has h items that the person holds with probability
P_h/2^64, for h = 0 to min(s, w); given h, all such sets are equally likely.

**Privacy.** Whatever a person holds, there are M_h = C(s, h)*C(L, w-h) sets with h held items, so each of them has the
probability c_h = P_h/(2^64*M_h). The set of an output is the same under every record; only h differs. So the ratio is
max c_h / min c_h. The constructor wants c_0 to be the least, and w <= L - s. Then every output is disjoint from what
some person holds, and has its least probability c_0.

**Mean.** A held item is in the set with probability p = E[h]/s, and another one with q = (w - E[h])/L. So
((1 if in the set) - q)/(p - q) is 1 or 0 on average: the share of each value follows as in the subset channel, which is
this one for s = 1 (apart from the blank).

**Which P.** All depends on E[h], a ratio of two linear functions of c_h. If c_h may be anything from c to e^eps*c, it
is largest where c_h jumps once, from c to e^eps*c. `hush.core.design.sets` tries every w and every jump. The jump at
h = 1 is PrivSet: Wang, Huang, Nie, Xu, Yang and Li, PrivSet: Set-Valued Data Analyses with Local Differential Privacy
(INFOCOM 2018). For small epsilon, many values and w = x*N its variance is (1-x)^(1-2s)/(x*eps^2). It is least for
x = 1/(2s), and then below 2e*s/eps^2; that of a question about each value is L/eps^2.

**The same draws.** One word draws h. Floyd's algorithm for h of n items is that for more of them, started later. So it
always takes s steps for the held items and w for the others, and those that come too early mark nothing. Then every
item is looked at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, compress
from math import comb
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Alphabet, Output, Subsets, Symbols
from hush.core.channels.base import Coins, State, require, searchable
from hush.core.channels.contrast import Contrast, merged, widest
from hush.core.channels.indicator import Supporting
from hush.core.exact import WORD
from hush.core.schema import MAX_CHOICES, Attribute, Choices, Input
from hush.errors import PlanError

MAX_HELD = 64


@dataclass(frozen=True)
class Picks(Supporting):
    """Sets of `weight` out of `size` values and `held` blanks; `shares[h]`/2^64 is the chance of h held ones."""

    size: int
    held: int
    weight: int
    shares: tuple[int, ...]

    kind: ClassVar[str] = "picks"
    made: ClassVar[tuple[str, ...]] = ("_limits",)

    def __post_init__(self) -> None:
        codec.integer(self.size, 2, MAX_CHOICES + 1, PlanError, "the size of a picks channel")
        codec.integer(self.held, 1, min(MAX_HELD, self.size - 1), PlanError, "the number of held items")
        codec.integer(self.weight, 1, self.size - self.held, PlanError, "the weight of a picks channel")
        require(
            type(self.shares) is tuple and len(self.shares) == self.most + 1,
            f"this picks channel needs {self.most + 1} shares",
        )
        for share in self.shares:
            codec.integer(share, 1, WORD - 1, PlanError, "a share of a picks channel")
        require(sum(self.shares) == WORD, "the shares of a picks channel must add up to 2^64")
        require(min(self.chances_of) == self.chances_of[0], "a set without held items must be the least likely")
        require(self.p > self.q, "a held item must be likelier to be in the set than another")

    @property
    def most(self) -> int:
        """The most held items that a set can have."""
        return min(self.held, self.weight)

    @property
    def items(self) -> int:
        """How many items there are, blanks included."""
        return self.size + self.held

    @cached_property
    def alphabet(self) -> Alphabet:
        """The sets of `weight` items, or simply the items if `weight` is 1."""
        return Symbols(self.items) if self.weight == 1 else Subsets(self.items, self.weight)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 1 or not isinstance(attributes[0], Choices):
            return "a picks channel is for one attribute of choices"
        if len(attributes[0].labels) != self.size or attributes[0].most != self.held:
            return f"the picks channel is for at most {self.held} of {self.size} values"
        return None

    # -- exact guarantees

    @cached_property
    def chances_of(self) -> tuple[Fraction, ...]:
        """The probability of one set with h held items, for each h."""
        sets = (comb(self.held, h) * comb(self.size, self.weight - h) for h in range(self.most + 1))
        return tuple(Fraction(share, WORD * count) for share, count in zip(self.shares, sets, strict=True))

    @cached_property
    def _mean(self) -> Fraction:
        return Fraction(sum(h * share for h, share in enumerate(self.shares)), WORD)

    @cached_property
    def p(self) -> Fraction:
        """The probability that the set contains a given held item."""
        return self._mean / self.held

    @cached_property
    def q(self) -> Fraction:
        """The probability that the set contains a given other item."""
        return (self.weight - self._mean) / self.size

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return max(self.chances_of) / self.chances_of[0]

    def states(self) -> Iterator[State]:
        """Every set of at most `held` values, as marks of the items."""
        for count in range(self.held + 1):
            for values in combinations(range(self.size), count):
                yield self._marks(bytes(i in values for i in range(self.size)))

    def _marks(self, values: bytes) -> bytes:
        """Return a mark for each item, blanks included, from those of the values."""
        blanks = self.held - sum(values)
        return values + bytes(i < blanks for i in range(self.held))

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        marks = self._checked(state)
        law: dict[Output, Fraction] = {}
        for chosen in combinations(range(self.items), self.weight):
            law[chosen[0] if self.weight == 1 else chosen] = self.chances_of[sum(marks[item] for item in chosen)]
        return law

    def _checked(self, state: State) -> bytes:
        if type(state) is not bytes or len(state) != self.items or sum(state) != self.held or max(state) > 1:
            raise PlanError(f"the state of a picks channel must mark {self.held} of {self.items} items")
        return state

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return 1 for the values that the person holds, and 0 for the others."""
        return tuple(Fraction(mark) for mark in self._checked(state)[: self.size])

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability that the set contains each item."""
        return [self.p if mark else self.q for mark in self._checked(state)]

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the marks, with certainty: there is nothing to round."""
        return {self._state(inputs[0]): Fraction(1)}

    # -- a crowd

    def blanket(self) -> Contrast:
        """Return a contrast that covers all: the ratio and |w| are known, and no more is used."""
        return widest(self.ratio, self.chances_of[0] * comb(self.items, self.weight))

    @property
    def tight(self) -> bool:
        """No two inputs have the widest contrast."""
        return False

    def crowds(self) -> list[Contrast]:
        """Return contrasts of the first values and of none, among others who hold either."""
        found: list[list[tuple[Fraction, Fraction, Fraction]]] = [[], []]
        free = self.items - 2 * self.held
        for i in range(self.most + 1):
            for j in range(min(self.held, self.weight - i) + 1):
                sets = comb(self.held, i) * comb(self.held, j) * comb(free, self.weight - i - j)
                x, z = self.chances_of[i], self.chances_of[j]
                found[0].append((sets * x, Fraction(1), z / x))
                found[1].append((sets * z, x / z, Fraction(1)))
        return [merged(parts) for parts in found]

    # -- the device

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Return the marks of the items. No word: there is nothing to round."""
        return self._state(inputs[0])

    def _state(self, marks: Any) -> bytes:
        assert type(marks) is bytes
        values = bytes(mark & 1 for mark in marks)
        absent = bytes([marks[0] >> 1])  # the value "missing", if the attribute is optional
        return self._marks((values + absent)[: self.size])

    @cached_property
    def _limits(self) -> list[float]:
        """The words from which on there are 1, 2, ... held items."""
        return searchable(list(accumulate(self.shares))[:-1], WORD)

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a set. One word for the number of held items; one (rarely more) for each item that could be drawn."""
        assert isinstance(state, bytes)
        held = bisect_right(self._limits, coins.word())
        pool = _early(coins, self.held, self.held, self.held - held) + _early(coins, self.size, self.weight, held)
        places = [self.held, 0]  # of the next item that is not held, and of the next one that is
        chosen = bytearray(self.items)
        for item, mark in enumerate(state):
            chosen[item] = pool[places[mark]]
            places[mark] += 1
        found = tuple(compress(range(self.items), chosen))
        return found[0] if self.weight == 1 else found

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        shares = [str(share) for share in self.shares]
        return {"kind": self.kind, "size": self.size, "held": self.held, "weight": self.weight, "shares": shares}

    @classmethod
    def from_json(cls, value: Any) -> Picks:
        """Read a channel back."""
        size, held, weight, shares = cls._fields(value, "size", "held", "weight", "shares")
        listed = codec.listed(shares, PlanError, "the shares of a picks channel")
        return cls(size, held, weight, tuple(codec.big(share, PlanError, "a share") for share in listed))


def _early(coins: Coins, n: int, steps: int, skipped: int) -> bytearray:
    """Mark a uniform set of `steps - skipped` out of n items, in as many steps and words whatever is skipped."""
    marks = bytearray(n)
    for step, pick in enumerate(coins.several(range(n - steps + 1, n + 1))):
        place = n - steps + step if marks[pick] else pick
        marks[place] = step >= skipped
    return marks
