"""The protocol of all channels: random functions from a few input states to a few outputs, sampled with integers.

A channel has two steps on the device. `state` rounds a real input at random to one of finitely many states.
Floats are allowed here: an error costs a tiny bias and no privacy. `draw` is the private step. It turns a state
and words of randomness into an output, and only compares and divides integers. Its law is known exactly, so its
privacy can be checked: `ratio` is the largest quotient of one output's probabilities under two states, as a
Fraction.

**Time.** Both steps do the same work for every input. They read the same words for every state, and the number of
words reveals nothing about the output: `below` decides by the words alone whether to draw again, whatever their use.
`prepare` computes all that depends on the channel alone when a plan is read, never at the first draw that needs it.

On the server, `decode(output)` gives one unbiased value for each *target* (the mean of a numeric attribute, the
share of each category): its expectation under `law(state)` is exactly `truth(state)`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from typing import Any, ClassVar, Protocol, Self

from hush.core import codec
from hush.core.channels.alphabet import Alphabet, Output
from hush.core.channels.contrast import Contrast
from hush.core.channels.squares import Squares
from hush.core.schema import Attribute, Input, Numeric
from hush.errors import PlanError

State = Hashable


class Coins(Protocol):
    """Randomness as a channel sees it. `hush.core.coins` has the real coins, and states what they promise."""

    def word(self) -> int:
        """Return a uniform 64-bit word."""

    def below(self, n: int) -> int:
        """Return a uniform integer in 0..n-1."""

    def several(self, sizes: Sequence[int]) -> list[int]:
        """Return a uniform integer in 0..n-1 for each n of a range or tuple."""

    def toss(self, threshold: int) -> bool:
        """Return True with probability threshold/2^64."""


@dataclass(frozen=True)
class Reading:
    """How often each value of one target was reported, from the tally of a channel.

    `attribute` is the position of the attribute among those that the channel covers; `symbol` is the index of a
    category, or None for the mean of a numeric attribute. Values are on the scale [-1, 1] of a numeric
    attribute and the scale [0, 1] of a share. With `presence`, the target is the mean of the present: the
    ratio of the average of `values` and the average of `presence`. `squares` bounds the variance whatever the
    population; a target with two values needs none. `counts` add up to the number of reports about the target: on
    average a `share` of the reports that answer the question.
    """

    attribute: int
    symbol: int | None
    counts: Sequence[int]
    values: Sequence[float]
    presence: Sequence[float] | None = None
    squares: Squares | None = None
    share: Fraction = Fraction(1)


@dataclass(frozen=True)
class Summed:
    """The average of one target over n reports, for a channel whose tally does not count each value of the target.

    A report may have several members that count towards the target (two cells of one row of a table), and a tally
    counts members, not reports. The average of the values is known all the same. Their mean square follows from the law
    of the channel: either from the average itself, or from the squares of the members, whose products average to 0.

    `mean` and `square` are averages of value and value^2, None without reports; `smallest` and `largest` bound a value.
    With `presence` the target is the mean of the present, as in a `Reading`.
    """

    attribute: int
    symbol: int | None
    n: int
    mean: float | None
    square: float | None
    smallest: float
    largest: float
    squares: Squares
    presence: Presence | None = None
    share: Fraction = Fraction(1)


@dataclass(frozen=True)
class Presence:
    """Averages of presence, its square, and its product with the value; and the bounds of presence."""

    mean: float | None
    square: float | None
    product: float | None
    smallest: float
    largest: float


class Channel(ABC):
    """The protocol that plan, client, report, tally and estimates rely on."""

    kind: ClassVar[str]
    made: ClassVar[tuple[str, ...]] = ()
    """The cached properties that draws read: `prepare` makes them."""

    # -- definition

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet:
        """The outputs: how they are checked, written and counted."""

    @abstractmethod
    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""

    # -- exact guarantees

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs. At most e^epsilon."""

    @abstractmethod
    def states(self) -> Iterator[State]:
        """Every input state."""

    @abstractmethod
    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output. Use it for small alphabets: it lists them all."""

    @abstractmethod
    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the unbiased value of an output for every target."""

    @abstractmethod
    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the average of `decode` for a state."""

    @abstractmethod
    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the decoded value.

        For a numeric attribute, t in [-1, 1] is the input, and the rounding of t is included. For a category,
        t in [0, 1] is the share of people who hold it, and the result is the variance that the channel adds,
        averaged over all people.
        """

    @property
    @abstractmethod
    def worst_variance(self) -> Fraction:
        """The largest `variance(t)` over all real t."""

    @abstractmethod
    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of each state to which `state` may round these inputs."""

    # -- a crowd

    @abstractmethod
    def blanket(self) -> Contrast:
        """Return a contrast with the blanket that covers those of all pairs of states. `contrast` defines the words."""

    @property
    def tight(self) -> bool:
        """Whether two inputs have the very contrast of `blanket`."""
        return True

    @abstractmethod
    def crowds(self) -> list[Contrast]:
        """Return exact contrasts of two inputs with the law of a third: all the others of a crowd have that one."""

    # -- the device

    def prepare(self) -> None:
        """Compute now all that draws need and the channel alone decides, so that the first draw is like all others."""
        for name in ("alphabet", *self.made):
            getattr(self, name)

    @abstractmethod
    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round the inputs to a state, at random, so that `truth` is right on average."""

    @abstractmethod
    def draw(self, state: State, coins: Coins) -> Output:
        """Return an output with the probabilities of `law(state)`. Integers only."""

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        """Round the inputs and draw an output, as a device does. It may take fewer words than the two steps."""
        return self.draw(self.state(inputs, coins), coins)

    # -- the server

    @abstractmethod
    def readings(self, counts: Sequence[int], n: int) -> Sequence[Reading | Summed]:
        """Return a reading of each target of each attribute from the counts of n reports."""

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability that each symbol is the output, or each member in it."""
        found = [Fraction(0)] * self.alphabet.size
        for output, probability in self.law(state).items():
            for member in (output,) if isinstance(output, int) else output:
                found[member] += probability
        return found

    def expected(self, inputs: Sequence[Input]) -> list[Fraction]:
        """Return the exact average of the counts of one report, rounding included."""
        found = [Fraction(0)] * self.alphabet.size
        for state, weight in self.rounding(inputs).items():
            found = [total + weight * chance for total, chance in zip(found, self.chances(state), strict=True)]
        return found

    def likelihood(self, u: float | None) -> list[float] | None:
        """Return the probabilities of all outputs for an input in [0, 1] (or None, missing).

        Return None if the outputs are not about one number.
        """
        return None

    # -- the plan

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values, `kind` among them."""

    @classmethod
    @abstractmethod
    def from_json(cls, value: Any) -> Self:
        """Read a channel back. It goes through the constructor, so it is fully checked."""

    @classmethod
    def _fields(cls, value: Any, *names: str) -> tuple[Any, ...]:
        """Return the values of exactly these fields of a JSON object whose kind is the channel's."""
        kind, *rest = codec.fields(value, ("kind", *names), PlanError, f"a {cls.kind} channel")
        require(kind == cls.kind, f"the kind must be {cls.kind}")
        return tuple(rest)


def draw_subset(coins: Coins, n: int, size: int) -> list[int]:
    """Return a uniform subset of 0..n-1 of this size, in order (Floyd's algorithm: one integer per member)."""
    if size == n:
        return list(range(n))
    marks = bytearray(n)
    for top, pick in enumerate(coins.several(range(n - size + 1, n + 1)), n - size):
        marks[top if marks[pick] else pick] = 1
    return list(compress(range(n), marks))


def searchable(limits: Sequence[float], end: float) -> list[float]:
    """Return increasing limits for `bisect`, filled up with `end` so that every search takes equally many steps.

    Among 2^m - 1 limits a search halves the rest m times, wherever it ends.
    """
    return [*limits, *[end] * ((1 << len(limits).bit_length()) - 1 - len(limits))]


def rounds_up(fraction: float, word: int) -> bool:
    """Return True for a share `fraction` of all words, to within 2^-53. This is not a private step."""
    return word >> 11 < fraction * 9007199254740992.0


def rounding_up(fraction: float) -> Fraction:
    """Return the exact share of words for which `rounds_up` is True."""
    return Fraction(min(max(math.ceil(fraction * 9007199254740992.0), 0), 1 << 53), 1 << 53)


def exact_t(t: Fraction | float, low: int = -1) -> Fraction:
    """Return t as a Fraction, if it lies in low..1."""
    value = Fraction(t)
    if not low <= value <= 1:
        raise ValueError(f"t must be from {low} to 1")
    return value


def require(condition: bool, rule: str) -> None:
    """Refuse a channel that breaks a rule."""
    if not condition:
        raise PlanError(rule)


def noise_of(reading: Reading | Summed, attribute: Attribute) -> float:
    """Return the variance of one report's value in a public reference population.

    It has equal shares of categories, or numbers with mean 0 on the scale [-1, 1].
    """
    x = 0.0
    if reading.symbol is not None:
        x = 0.5 if isinstance(attribute, Numeric) else 1 / len(attribute.labels)
    if reading.squares is not None:
        return sum(reading.squares.variances(x)) / 2
    assert isinstance(reading, Reading)
    smallest, largest = min(reading.values), max(reading.values)
    return (largest - x) * (x - smallest)
