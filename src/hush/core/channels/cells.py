"""The cells channel: a few small attributes at once, by randomised response over the cells of their table.

Each attribute has a few values: its categories ("missing" among them), or the two signs to which a number is rounded
at random, plus with probability (1+t)/2. A cell has one value of each attribute; the number of cells, C, is the product
of their numbers of values. With probability T/2^64 the report is the true cell, otherwise a uniform one of the others.
So all attributes share the whole epsilon, and the report is about their joint table, not only its margins.

**Privacy.** It is the subset channel of the cells with weight 1: the ratio is exactly T*(C-1)/(2^64-T).

**Mean.** A cell is reported with probability p = T/2^64 if it is the true one and q = (1-p)/(C-1) if not. A value of
an attribute with s values has c = C/s cells. The cell reported has that value with probability p + (c-1)q if it is
the true value, and cq if it is not. Their difference is p - q, for every attribute. So ((1 if it has the value) -
cq)/(p - q) is 1 or 0 on average. For a number s = 2, both values together have probability p + (C-1)q = 1, and the
sign reported times B = 1/(p - q) is unbiased.

**Variance.** Let P be the probability that the cell reported has the value. The variance is P(1-P)/(p-q)^2 for the
share of a category, and B^2 - t^2 for a number. `variance` and `worst_variance` are the worst over all attributes, each
on its own scale; `variance_of` is that of one attribute.

The channel does not report sets of several cells (weight 2 or more): a margin would then have more than two values. And
a joint report pays for small tables only, with at most about e^eps cells (docs/joint.md); for those, one cell is the
best weight of the subset channel. Sources: Warner, Randomized Response (1965); Kairouz, Oh and Viswanath, Extremal
Mechanisms for Local Differential Privacy (2014); Wang, Wu and Hu, Using Randomized Response for Differential Privacy
Preserving Data Collection (2016), for tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Alphabet, Output
from hush.core.channels.base import Channel, Coins, Reading, State, exact_t, require, rounding_up, rounds_up
from hush.core.channels.subset import Subset
from hush.core.schema import Attribute, Categorical, Input, Numeric
from hush.errors import PlanError

MAX_CELLS = 4096


@dataclass(frozen=True)
class Cells(Channel):
    """One cell of a table; `threshold`/2^64 is the probability of the true one.

    `sizes` has the number of categories of every attribute, or None for a number. A state is the index of a cell:
    the value of the last attribute changes fastest, and for a number minus comes before plus.
    """

    sizes: tuple[int | None, ...]
    threshold: int

    kind: ClassVar[str] = "cells"
    made: ClassVar[tuple[str, ...]] = ("values", "_whole")

    def __post_init__(self) -> None:
        require(
            type(self.sizes) is tuple and 1 <= len(self.sizes) <= MAX_CELLS.bit_length() - 1,
            f"a cells channel is for 1 to {MAX_CELLS.bit_length() - 1} attributes",
        )
        for size in self.sizes:
            if size is not None:
                codec.integer(size, 2, MAX_CELLS, PlanError, "the number of categories (null for a number)")
        require(self.cells <= MAX_CELLS, f"a cells channel has at most {MAX_CELLS} cells")
        Subset(self.cells, 1, self.threshold)  # checks the threshold

    # -- definition

    @cached_property
    def values(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(2 if size is None else size for size in self.sizes)

    @cached_property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.values)

    @cached_property
    def _whole(self) -> Subset:
        """The subset channel of all cells: the whole private step happens there."""
        return Subset(self.cells, 1, self.threshold)

    @property
    def alphabet(self) -> Alphabet:
        """The cells."""
        return self._whole.alphabet

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != len(self.sizes):
            return f"this cells channel is for {len(self.sizes)} attributes"
        for size, attribute in zip(self.sizes, attributes, strict=True):
            if size is None and (not isinstance(attribute, Numeric) or attribute.optional):
                return f"the cells channel has a number for {attribute.name!r}, which is not one, or is optional"
            if size is not None and (not isinstance(attribute, Categorical) or len(attribute.labels) != size):
                return f"the cells channel has {size} categories for {attribute.name!r}, which has not"
        return None

    def position(self, cell: int) -> tuple[int, ...]:
        """Return the value of every attribute in a cell."""
        found = []
        for size in reversed(self.values):
            cell, value = divmod(cell, size)
            found.append(value)
        return tuple(reversed(found))

    def cell(self, values: Sequence[int]) -> int:
        """Return the cell that has these values."""
        cell = 0
        for size, value in zip(self.values, values, strict=True):
            cell = size * cell + value
        return cell

    # -- exact guarantees

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return self._whole.ratio

    def states(self) -> Iterator[State]:
        """Every cell."""
        return self._whole.states()

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every cell."""
        return self._whole.law(state)

    @cached_property
    def bound(self) -> Fraction:
        """B = 1/(p - q): the size of the decoded value of a number."""
        return 1 / (self._whole.p - self._whole.q)

    def _supports(self, size: int | None) -> tuple[Fraction, Fraction]:
        """The decoded values of a category (or of a number's plus) in a cell without it, and in one with it."""
        if size is None:
            return -self.bound, self.bound
        false = self.cells // size * self._whole.q
        return -false * self.bound, (1 - false) * self.bound

    @cached_property
    def supports(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The two values that a target of each attribute may have."""
        return tuple(self._supports(size) for size in self.sizes)

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased value of every target: the mean of a number, the share of every category."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        return self._targets(output, self.supports)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the sign of a number; 1 for the true category and 0 for the others."""
        cell = codec.integer(state, 0, self.cells - 1, PlanError, "the state of a cells channel")
        pairs = [(Fraction(-1 if size is None else 0), Fraction(1)) for size in self.sizes]
        return self._targets(cell, pairs)

    def _targets(self, cell: int, pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, ...]:
        found: list[Fraction] = []
        for size, value, pair in zip(self.sizes, self.position(cell), pairs, strict=True):
            found += [pair[value]] if size is None else [pair[value == category] for category in range(size)]
        return tuple(found)

    def variance_of(self, attribute: int, t: Fraction | float) -> Fraction:
        """Return the exact variance for the attribute at this position. `Channel.variance` defines t."""
        size = self.sizes[attribute]
        if size is None:
            return self.bound**2 - exact_t(t) ** 2
        share = exact_t(t, low=0)
        false = self.cells // size * self._whole.q
        true = false + self._whole.p - self._whole.q
        return (share * true * (1 - true) + (1 - share) * false * (1 - false)) * self.bound**2

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the largest variance of an attribute at t. For t < 0 it covers numbers only, if there are any."""
        exact_t(t, low=-1 if None in self.sizes else 0)
        asked = [j for j, size in enumerate(self.sizes) if t >= 0 or size is None]
        return max(self.variance_of(j, t) for j in asked)

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all attributes and all t: a category has it at an end, a number at 0."""
        return max(self.variance(0), self.variance(1))

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of every cell to which the inputs may be rounded."""
        law: dict[State, Fraction] = {}
        for values in product(*map(_roundings, self.sizes, inputs)):
            chance = prod((chance for _, chance in values), start=Fraction(1))
            if chance:
                law[self.cell([value for value, _ in values])] = chance
        return law

    # -- the device

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Return the cell, after rounding every number in [0, 1] to a sign. One word for each number."""
        values = []
        for size, u in zip(self.sizes, inputs, strict=True):
            if size is None:
                assert isinstance(u, float)
                values.append(int(rounds_up(u, coins.word())))
            else:
                assert isinstance(u, int)
                values.append(u)
        return self.cell(values)

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a cell. One word for the coin, one (rarely more) for another cell."""
        return self._whole.draw(state, coins)

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean of every number and the share of every category."""
        margins = [[0] * size for size in self.values]
        for cell, count in enumerate(counts):
            for margin, value in zip(margins, self.position(cell), strict=True):
                margin[value] += count
        found = []
        for j, (size, margin, (without, within)) in enumerate(zip(self.sizes, margins, self.supports, strict=True)):
            pair = float(without), float(within)
            if size is None:
                found.append(Reading(j, None, margin, pair))
            else:
                found += [Reading(j, category, (n - count, count), pair) for category, count in enumerate(margin)]
        return found

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {"kind": self.kind, "sizes": list(self.sizes), "threshold": str(self.threshold)}

    @classmethod
    def from_json(cls, value: Any) -> Cells:
        """Read a channel back."""
        sizes, threshold = cls._fields(value, "sizes", "threshold")
        return cls(
            tuple(codec.listed(sizes, PlanError, "the sizes of a cells channel")),
            codec.big(threshold, PlanError, "a threshold"),
        )


def _roundings(size: int | None, u: Input) -> list[tuple[int, Fraction]]:
    """Return the values that one input may get, each with its probability."""
    if size is None:
        assert isinstance(u, float)
        return [(0, 1 - rounding_up(u)), (1, rounding_up(u))]
    assert isinstance(u, int)
    return [(u, Fraction(1))]
