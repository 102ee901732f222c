"""The cells channel: a few small attributes at once, as a set of cells of their table.

Each attribute has a few values: its categories ("missing" among them), or the two signs to which a number is rounded
at random, plus with probability (1+t)/2. A cell has one value of each attribute; the number of cells, C, is the product
of their numbers of values. The report is a set of w cells: it contains the true cell with probability T/2^64. So all
attributes share the whole epsilon, and the report is about their joint table, not only its margins.

**Privacy.** It is the subset channel of the cells with weight w: the ratio is exactly T*(C-w)/((2^64-T)*w).

**Mean.** A cell is in the set with probability p if it is the true one and q if not, as in the subset channel. A value
of an attribute with s values has c = C/s cells. The number X of its cells in the set is p + (c-1)q on average if it is
the true value, and cq if it is not. Their difference is p - q, for every attribute. So (X - cq)/(p - q) is 1 or 0 on
average. For a number s = 2, the set has X cells with a plus and w - X with a minus, and (2X - w)/(p - q) is unbiased.

**Variance.** With the probabilities r_1 and r_0 that two cells are in the set, one of them the true cell or neither
(`Subset.pairs`), X(X-1) is 2(c-1)r_1 + (c-1)(c-2)r_0 on average if the value is true, and c(c-1)r_0 if not. So the mean
square of X is linear in the share of the value, and known exactly. `variance` and `worst_variance` are the worst over
all attributes, each on its own scale; `variance_of` is that of one attribute.

With w near C/(e^eps+1) the cells of the table have the least variance; for margins alone and few cells w = 1 is as
good. Sources: Warner, Randomized Response (1965); Kairouz, Oh and Viswanath, Extremal Mechanisms for Local Differential
Privacy (2014); Wang, Wu and Hu, Using Randomized Response for Differential Privacy Preserving Data Collection (2016),
for tables; Ye and Barg, Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy (2018),
for sets.
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
from hush.core.channels.base import Channel, Coins, Reading, State, Summed, exact_t, require, rounding_up, rounds_up
from hush.core.channels.contrast import Contrast
from hush.core.channels.squares import Squares
from hush.core.channels.subset import Subset
from hush.core.schema import Attribute, Categorical, Input, Numeric
from hush.errors import PlanError

MAX_CELLS = 4096


@dataclass(frozen=True)
class Cells(Channel):
    """Sets of `weight` cells of a table; `threshold`/2^64 is the probability that the true one is among them.

    `sizes` has the number of categories of every attribute, or None for a number. A state is the index of a cell:
    the value of the last attribute changes fastest, and for a number minus comes before plus.
    """

    sizes: tuple[int | None, ...]
    weight: int
    threshold: int

    kind: ClassVar[str] = "cells"
    made: ClassVar[tuple[str, ...]] = ("values", "whole")

    def __post_init__(self) -> None:
        require(
            type(self.sizes) is tuple and 1 <= len(self.sizes) <= MAX_CELLS.bit_length() - 1,
            f"a cells channel is for 1 to {MAX_CELLS.bit_length() - 1} attributes",
        )
        for size in self.sizes:
            if size is not None:
                codec.integer(size, 2, MAX_CELLS, PlanError, "the number of categories (null for a number)")
        require(self.cells <= MAX_CELLS, f"a cells channel has at most {MAX_CELLS} cells")
        Subset(self.cells, self.weight, self.threshold)  # checks both

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
    def whole(self) -> Subset:
        """The subset channel of all cells: the whole private step happens there."""
        return Subset(self.cells, self.weight, self.threshold)

    @property
    def alphabet(self) -> Alphabet:
        """The sets of cells, or simply the cells if `weight` is 1."""
        return self.whole.alphabet

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
        return self.whole.ratio

    def states(self) -> Iterator[State]:
        """Every cell."""
        return self.whole.states()

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every set."""
        return self.whole.law(state)

    def blanket(self) -> Contrast:
        """Return the contrast of the subset channel."""
        return self.whole.blanket()

    def crowds(self) -> list[Contrast]:
        """Return the contrasts of the subset channel."""
        return self.whole.crowds()

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability that the set contains each cell."""
        return self.whole.chances(state)

    @cached_property
    def bound(self) -> Fraction:
        """B = 1/(p - q), by which a count of cells is multiplied."""
        return 1 / (self.whole.p - self.whole.q)

    def _value(self, size: int | None, count: Fraction | int) -> Fraction:
        """Return the value of a category (or of a number, for the count of plus) if the set has `count` such cells."""
        if size is None:
            return (2 * count - self.weight) * self.bound
        return (count - self.cells // size * self.whole.q) * self.bound

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased value of every target: the mean of a number, the share of every category."""
        self.alphabet.check(output)
        cells = (output,) if isinstance(output, int) else output
        found: list[Fraction] = []
        for j, size in enumerate(self.sizes):
            counts = [0] * self.values[j]
            for cell in cells:
                counts[self.position(cell)[j]] += 1
            found += [self._value(size, count) for count in (counts[1:] if size is None else counts)]
        return tuple(found)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the sign of a number; 1 for the true category and 0 for the others."""
        cell = codec.integer(state, 0, self.cells - 1, PlanError, "the state of a cells channel")
        found: list[Fraction] = []
        for size, value in zip(self.sizes, self.position(cell), strict=True):
            found += [Fraction(2 * value - 1)] if size is None else [Fraction(value == other) for other in range(size)]
        return tuple(found)

    @cached_property
    def squares(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The mean square of each attribute's value: without and with a category, or for minus and plus."""
        found = []
        p, q, (together, apart) = self.whole.p, self.whole.q, self.whole.pairs
        for size, values in zip(self.sizes, self.values, strict=True):
            c = self.cells // values
            ends = []
            for true in (0, 1):
                mean = c * q + true * (p - q)
                pairs = c * (c - 1) * apart + 2 * true * (c - 1) * (together - apart)
                square = pairs + mean  # of the number of cells in the set
                if size is None:
                    ends.append((4 * square - 4 * self.weight * mean + self.weight**2) * self.bound**2)
                else:
                    ends.append((square - 2 * c * q * mean + (c * q) ** 2) * self.bound**2)
            found.append((ends[0], ends[1]))
        return tuple(found)

    def variance_of(self, attribute: int, t: Fraction | float) -> Fraction:
        """Return the exact variance for the attribute at this position. `Channel.variance` defines t."""
        without, within = self.squares[attribute]
        if self.sizes[attribute] is None:
            return within - exact_t(t) ** 2  # the mean square is the same for both signs
        share = exact_t(t, low=0)
        return share * (within - 1) + (1 - share) * without

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
        """Return a set of cells, as the subset channel does."""
        return self.whole.draw(state, coins)

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> Sequence[Reading | Summed]:
        """Return the mean of every number and the share of every category."""
        margins = [[0] * size for size in self.values]
        for cell, count in enumerate(counts):
            for margin, value in zip(margins, self.position(cell), strict=True):
                margin[value] += count
        found: list[Reading | Summed] = []
        for j, (size, margin) in enumerate(zip(self.sizes, margins, strict=True)):
            if self.weight > 1:
                shown = margin[1:] if size is None else margin
                found += [self._summed(j, None if size is None else i, count, n) for i, count in enumerate(shown)]
                continue
            pair = float(self._value(size, 0)), float(self._value(size, 1))
            if size is None:
                found.append(Reading(j, None, margin, pair))
            else:
                found += [Reading(j, category, (n - count, count), pair) for category, count in enumerate(margin)]
        return found

    def _summed(self, j: int, symbol: int | None, count: int, n: int) -> Summed:
        """Return the average value of a target of which n sets have `count` cells in all."""
        size, cells = self.sizes[j], self.cells // self.values[j]
        most = min(cells, self.weight)
        least = max(0, self.weight - (self.cells - cells))
        ends = float(self._value(size, least)), float(self._value(size, most))
        low, (without, within) = -1.0 if size is None else 0.0, self.squares[j]
        line = Squares.of([(low, float(without)), (1.0, float(within))])
        if not n:
            return Summed(j, symbol, 0, None, None, *ends, line)
        mean = self._value(size, Fraction(count, n))
        square = without + mean * (within - without)  # of a number both are the same
        return Summed(j, symbol, n, float(mean), float(square), *ends, line)

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {"kind": self.kind, "sizes": list(self.sizes), "weight": self.weight, "threshold": str(self.threshold)}

    @classmethod
    def from_json(cls, value: Any) -> Cells:
        """Read a channel back."""
        sizes, weight, threshold = cls._fields(value, "sizes", "weight", "threshold")
        return cls(
            tuple(codec.listed(sizes, PlanError, "the sizes of a cells channel")),
            weight,
            codec.big(threshold, PlanError, "a threshold"),
        )


def _roundings(size: int | None, u: Input) -> list[tuple[int, Fraction]]:
    """Return the values that one input may get, each with its probability."""
    if size is None:
        assert isinstance(u, float)
        return [(0, 1 - rounding_up(u)), (1, rounding_up(u))]
    assert isinstance(u, int)
    return [(u, Fraction(1))]
