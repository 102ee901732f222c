"""The base of channels whose outputs say yes or no to each value, and of those of one categorical attribute.

An output supports the true value with probability p (each of them, if there are several), and any other with q. So
((1 if supported) - q)/(p - q) is 1 or 0 on average. Here p and q are the exact ones of the channel's integers, not
those of a formula.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product

from hush.core import codec
from hush.core.channels.alphabet import Output
from hush.core.channels.base import Channel, Coins, Reading, State, exact_t
from hush.core.channels.two_level import Sorts, TwoLevel
from hush.core.schema import MAX_CATEGORIES, Attribute, Categorical, Input
from hush.errors import PlanError


class Supporting(Channel):
    """A channel whose outputs say yes or no to each of `size` values. A person holds one of them, or several."""

    size: int

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that an output supports a value that the person holds."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that an output supports another given value."""

    @cached_property
    def supports(self) -> tuple[Fraction, Fraction]:
        """What an output says of a value, decoded: if it does not support the value, and if it does."""
        return -self.q / (self.p - self.q), (1 - self.q) / (self.p - self.q)

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased estimate of every value: 1 if the person holds it, else 0, on average."""
        self.alphabet.check(output)
        supported = (output,) if isinstance(output, int) else output
        return tuple(self.supports[value in supported] for value in range(self.size))

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the average variance that the channel adds, for a value that a share t of people hold."""
        share = exact_t(t, low=0)
        return (share * self.p * (1 - self.p) + (1 - share) * self.q * (1 - self.q)) / (self.p - self.q) ** 2

    @cached_property
    def worst_variance(self) -> Fraction:
        """The larger of the variances for a value that everybody holds and one that nobody holds."""
        return max(self.variance(0), self.variance(1))

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the share of every value."""
        without, within = map(float, self.supports)
        return [
            Reading(0, value, (n - count, count), (without, within)) for value, count in enumerate(counts[: self.size])
        ]


class Indicator(Supporting, TwoLevel):
    """A channel of one categorical attribute with `size` categories."""

    def _check_size(self) -> None:
        # One more than a schema may declare, as "missing" is a category too.
        codec.integer(self.size, 2, MAX_CATEGORIES + 1, PlanError, f"the size of a {self.kind} channel")

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 1 or not isinstance(attributes[0], Categorical):
            return f"a {self.kind} channel is for one categorical attribute"
        if len(attributes[0].labels) != self.size:
            return f"the attribute has {len(attributes[0].labels)} categories, the channel {self.size}"
        return None

    @abstractmethod
    def supported(self, others: int, members: int) -> Fraction:
        """Return the measure of the outputs that support exactly `members` of `members + others` given categories.

        That is, a given choice of these, each output with its probability under a category that it does not support.
        """

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Sort outputs by the categories that they support."""
        distinct = list(dict.fromkeys(map(self._category, states)))
        found: dict[tuple[bool, ...], Fraction] = {}
        for marks in product((False, True), repeat=len(distinct)):
            support = dict(zip(distinct, marks, strict=True))
            weight = self.supported(len(distinct) - sum(marks), sum(marks))
            if weight:
                found[tuple(support[self._category(state)] for state in states)] = weight
        return found

    def opposites(self) -> list[tuple[State, State]]:
        """Any two categories: all pairs are alike."""
        return [(0, 1)]

    def bystanders(self) -> list[State]:
        """A third category, if there is one."""
        return [2] if self.size > 2 else []

    def states(self) -> Iterator[State]:
        """Every category."""
        yield from range(self.size)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return 1 for the true category and 0 for the others."""
        true = self._category(state)
        return tuple(Fraction(category == true) for category in range(self.size))

    def _category(self, state: State) -> int:
        return codec.integer(state, 0, self.size - 1, PlanError, f"the state of a {self.kind} channel")

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability that the output supports each category."""
        true = self._category(state)
        return [self.p if category == true else self.q for category in range(self.size)]

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the category, with certainty: there is nothing to round."""
        return {inputs[0]: Fraction(1)}

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Return the category. No word: there is nothing to round."""
        return inputs[0]
