"""The mixture channel: one of several window channels, chosen by a coin that does not see the data.

The outputs of the parts stand side by side in one alphabet, so each output belongs to one part.

**Privacy.** Given the part, the output has the part's law. The part is chosen in the same way for all inputs.
So the ratio is the largest ratio of a part.

**Mean and variance.** Each part is unbiased, so the mixture is too. Its variance at t is the average of the
parts' variances at t, weighted by their shares.

The Hybrid Mechanism of Wang et al. (ICDE 2019) is the mixture of the Piecewise Mechanism with share
alpha = 1 - e^(-eps/2) and Duchi et al.'s mechanism, for eps above 0.61. (That alpha is the best for the
variance of one attribute, but not for k of d attributes and their estimator: see docs/errata.md.)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, product
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Symbols
from hush.core.channels.base import Channel, Coins, Reading, State, exact_t, require
from hush.core.channels.contrast import Contrast, compared, merged
from hush.core.channels.squares import Squares, between
from hush.core.channels.window import Window, worst
from hush.core.exact import WORD
from hush.core.schema import Attribute, Input
from hush.errors import PlanError

MAX_PARTS = 8


@dataclass(frozen=True)
class Mixture(Channel):
    """Window channels `parts`, each used with probability share/2^64. A state is a tuple of their states."""

    shares: tuple[int, ...]
    parts: tuple[Window, ...]

    kind: ClassVar[str] = "mixture"
    made: ClassVar[tuple[str, ...]] = ("_starts", "_limits")

    def __post_init__(self) -> None:
        require(isinstance(self.shares, tuple) and isinstance(self.parts, tuple), "a mixture has parts")
        require(2 <= len(self.parts) <= MAX_PARTS, f"a mixture has 2 to {MAX_PARTS} parts")
        require(len(self.shares) == len(self.parts), "a mixture has one share per part")
        for share in self.shares:
            codec.integer(share, 1, WORD - 1, PlanError, "the share of a part")
        require(sum(self.shares) == WORD, "the shares of a mixture must add up to 2^64")
        require(all(type(part) is Window for part in self.parts), "the parts of a mixture are window channels")
        require(len({part.optional for part in self.parts}) == 1, "all parts must be optional, or none")

    # -- definition

    @cached_property
    def _starts(self) -> list[int]:
        """The first output of every part, and the end."""
        return [0, *accumulate(part.alphabet.size for part in self.parts)]

    @cached_property
    def _limits(self) -> list[int]:
        return list(accumulate(self.shares))

    @property
    def optional(self) -> bool:
        """Whether a missing value has an output."""
        return self.parts[0].optional

    @cached_property
    def alphabet(self) -> Symbols:
        """The outputs of the first part, then those of the second, and so on."""
        return Symbols(self._starts[-1])

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        return self.parts[0].mismatch(attributes)

    def _part(self, output: Output) -> tuple[int, int]:
        self.alphabet.check(output)
        assert isinstance(output, int)
        index = bisect_right(self._starts, output) - 1
        return index, output - self._starts[index]

    # -- exact guarantees

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return max(part.ratio for part in self.parts)

    def states(self) -> Iterator[State]:
        """Every combination of states of the parts that are all present or all missing."""
        for combination in product(*(part.states() for part in self.parts)):
            if len({state is None for state in combination}) == 1:
                yield combination

    def _states(self, state: State) -> tuple[State, ...]:
        require(isinstance(state, tuple) and len(state) == len(self.parts), "a mixture's state has one state per part")
        assert isinstance(state, tuple)
        return state

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        states = self._states(state)
        law: dict[Output, Fraction] = {}
        for start, share, part, inner in zip(self._starts, self.shares, self.parts, states, strict=False):
            for output, probability in part.law(inner).items():
                assert isinstance(output, int)
                law[start + output] = probability * Fraction(share, WORD)
        return law

    def blanket(self) -> Contrast:
        """Return the contrasts of the parts side by side: which part was used is reported, and the same for all."""
        return merged(
            (weight * Fraction(share, WORD), a, b)
            for share, part in zip(self.shares, self.parts, strict=True)
            for weight, a, b in part.blanket()
        )

    @property
    def tight(self) -> bool:
        """Whether the two ends are farthest apart in every part; with "missing", parts may differ in that."""
        return not self.optional

    def crowds(self) -> list[Contrast]:
        """Return contrasts of the two ends (or of an end and "missing"): the others are there too, or in the middle."""
        ends: list[Input] = [0.0, 1.0, *([None] if self.optional else [])]
        laws = {u: self._law([u]) for u in [*ends, 0.5]}
        return [
            compared(laws[x], laws[z], law)
            for x, z in ((0.0, 1.0), (0.0, None))
            if x in laws and z in laws
            for law in laws.values()
        ]

    def _law(self, inputs: Sequence[Input]) -> dict[object, Fraction]:
        """Return the law of the outputs of an input, rounding included."""
        found: dict[object, Fraction] = {}
        for state, share in self.rounding(inputs).items():
            for output, probability in self.law(state).items():
                found[output] = found.get(output, Fraction(0)) + share * probability
        return found

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the value that the output has in its part."""
        index, inner = self._part(output)
        return self.parts[index].decode(inner)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the average of the inputs that the parts' states stand for."""
        truths = [part.truth(inner) for part, inner in zip(self.parts, self._states(state), strict=True)]
        return tuple(
            sum((value * share for value, share in zip(target, self.shares, strict=True)), Fraction(0)) / WORD
            for target in zip(*truths, strict=True)
        )

    def _mean_square(self, t: Fraction) -> Fraction:
        weighted = (part.mean_square(t) * share for part, share in zip(self.parts, self.shares, strict=True))
        return sum(weighted, Fraction(0)) / WORD

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the value for a present input t in [-1, 1], rounding included."""
        value = exact_t(t)
        return self._mean_square(value) - value * value

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t in [-1, 1]."""
        return worst(self._knots)

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of every combination of states: one word may round up in some parts only."""
        shares = [part.rounding(inputs) for part in self.parts]
        limits = sorted({Fraction(0), Fraction(1), *(list(share.values())[-1] for share in shares)})
        states: dict[State, Fraction] = {}
        for low, high in pairwise(limits):
            # A part takes its upper state for words below its share of rounding up, and the lower one for others.
            chosen = tuple(
                list(share)[-1] if high <= list(share.values())[-1] else next(iter(share)) for share in shares
            )
            states[chosen] = states.get(chosen, Fraction(0)) + high - low
        return states

    # -- the device

    def prepare(self) -> None:
        """Compute where the parts begin, and prepare each part."""
        super().prepare()
        for part in self.parts:
            part.prepare()

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        """Choose a part with one word; another word rounds the input and draws from the part."""
        index = bisect_right(self._limits, coins.word())
        output = self.parts[index].answer(inputs, coins)
        assert isinstance(output, int)
        return self._starts[index] + output

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round an input for every part. One word serves for all of them, because only one part will be used."""
        word = coins.word()
        return tuple(part.rounded(inputs[0], word) for part in self.parts)

    def draw(self, state: State, coins: Coins) -> Output:
        """Choose a part with one word, and draw from it."""
        assert isinstance(state, tuple)
        word = coins.word()
        index = bisect_right(self._limits, word)
        output = self.parts[index].draw(state[index], coins)
        assert isinstance(output, int)
        return self._starts[index] + output

    # -- the server

    @cached_property
    def decoded(self) -> tuple[list[float], ...]:
        """The values of all outputs for every target, as floats."""
        targets = zip(*(part.decoded for part in self.parts), strict=True)
        return tuple([value for values in target for value in values] for target in targets)

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean; for an optional attribute the mean of the present and the share of missing."""
        levels, *missing = self.decoded
        if not missing:
            return [Reading(0, None, counts, levels, squares=self._squares)]
        return [
            Reading(0, None, counts, levels, [1 - value for value in missing[0]], self._squares),
            Reading(0, 0, counts, missing[0], squares=self._missing_squares),
        ]

    @cached_property
    def _knots(self) -> list[tuple[Fraction, Fraction]]:
        """The mean square of the value, linear between these points."""
        return [(t, self._mean_square(t)) for t in sorted({t for part in self.parts for t, _ in part.knots})]

    def _average(self, numbers: Iterable[float]) -> float:
        """Return the average of one number for each part."""
        return math.fsum(share / WORD * number for share, number in zip(self.shares, numbers, strict=True))

    @cached_property
    def _squares(self) -> Squares:
        """What is known of the variance of the mean, or of the mean of the present, before any report."""
        # Floats are good enough here: fractions of thousands of states take half a second.
        knots = [[(float(t), float(square)) for t, square in part.knots] for part in self.parts]
        places = sorted({t for some in knots for t, _ in some})
        points = [(t, self._average(between(some, t) for some in knots)) for t in places]
        known = [part.squares for part in self.parts]
        missing = [point for one in known for point in one.absent]
        if not missing:
            return Squares.of(points)
        values, presences = map(self._average, zip(*missing, strict=True))
        return Squares.of(points, self._average(one.bend for one in known), [(values, presences)])

    @cached_property
    def _missing_squares(self) -> Squares:
        """Bounds of the variance of the share of missing before any report: each part has two values of its own."""
        ends = (0.0, 1.0)
        known = [Squares.of_two((part.decoded[1][0], part.decoded[1][-1]), ends) for part in self.parts]
        return Squares.of((t, self._average(one.lower[i][1] for one in known)) for i, t in enumerate(ends))

    def likelihood(self, u: float | None) -> list[float]:
        """Return the probabilities of all outputs for an input in [0, 1] (or None, missing)."""
        parts = zip(self.parts, self.shares, strict=True)
        return [probability * share / WORD for part, share in parts for probability in part.likelihood(u)]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "shares": [str(share) for share in self.shares],
            "parts": [part.to_json() for part in self.parts],
        }

    @classmethod
    def from_json(cls, value: Any) -> Mixture:
        """Read a channel back."""
        shares, parts = cls._fields(value, "shares", "parts")
        shares = codec.listed(shares, PlanError, "the shares of a mixture")
        parts = codec.listed(parts, PlanError, "the parts of a mixture")
        return cls(
            tuple(codec.big(share, PlanError, "a share") for share in shares),
            tuple(Window.from_json(part) for part in parts),
        )
