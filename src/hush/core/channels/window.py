"""The window channel: one number, reported as one of N cells.

A window of W neighbouring cells may start at s = 0..N-W. Given s, with probability T/2^64 the output is
uniform in the window, otherwise uniform outside. Cell y has an integer level a_y; levels are antisymmetric
(a_y = -a_{N-1-y}) and nondecreasing.

**Privacy.** A cell has probability T/(2^64 W) in the window and (2^64-T)/(2^64 O) outside, where O is the
number of cells outside. No other probability occurs, so the ratio is exactly T*O/((2^64-T)*W).

**Mean.** Let A(s) be the sum of the levels in the window. All levels add up to 0, so those outside add up to -A(s):

    E[a | s] = A(s) * c,    c = T/(2^64 W) - (2^64-T)/(2^64 O).

A(s) increases with s and A(N-W) = -A(0). So the value of a cell is a_y / (c*A(N-W)), and the state s stands
for the input mu_s = A(s)/A(N-W), a quotient of small integers: mu_0 = -1, mu_{N-W} = 1. A real input
between two of these is rounded at random to one of them, with the right mean.

**Variance.** For an input t between mu_s and mu_{s+1}, E[value^2] is linear in t, and the variance is that
minus t^2: concave pieces, whose maximum is found exactly.

**One word.** 2^24 W divides T and 2^24 O divides 2^64-T. A uniform word below T then gives the cell of the window as
word // (T/W), and the other words give the cell outside, each exactly uniform: no second word, no rejection. Each of
these cells is a whole number of runs of 2^24 words, so the lower 24 bits of the word are uniform whatever the cell.
They round the input. So one word gives the state the law of the rounding and, independently, the output the law of the
state. Both quotients are always computed. "Missing" is rounded like a number and then replaced by the start N, behind
all others. So the work is the same for every input and output.
Rounding by 24 bits moves the mean by at most 2^-25 of the distance between two knots, up as often as down.

**Missing values.** With `optional`, W further cells stand for "missing" and are merged into one output, N;
they are the window of the state "missing", and outside for all others (O = N, and the ratio is as above).
Their level is 0, and the mean level is 0 for the state "missing" too. So the sum of values estimates
the sum of the present, and the count of output N estimates the share of the missing. Both come from one
report with the whole epsilon.

Instances (`hush.core.design`): Duchi, Jordan and Wainwright's one-dimensional mechanism is N=2, W=1. The Piecewise
Mechanism of Wang et al. (ICDE 2019) is the limit of equally spaced levels with W/N near 1/(e^(eps/2)+1);
Zhao et al. (2020) take 1/(e^(eps/3)+1).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Symbols
from hush.core.channels.base import Coins, Reading, State, exact_t, require
from hush.core.channels.levels import Levelled, Levels
from hush.core.channels.squares import Squares
from hush.core.exact import WORD
from hush.core.schema import Attribute, Input, Numeric
from hush.errors import PlanError

ROUNDING = 1 << 24  # the lower bits of a word round the input; the others draw the cell
GUARD = WORD // ROUNDING


@dataclass(frozen=True)
class Window(Levelled):
    """A window of `width` out of `size` cells; `threshold`/2^64 is the probability of the window.

    `levels` are integers, one for each cell, or "even" for equally spaced ones; only their proportions matter.
    """

    size: int
    width: int
    threshold: int
    levels: Levels = "even"
    optional: bool = False

    kind: ClassVar[str] = "window"
    made: ClassVar[tuple[str, ...]] = ("_steps", "_search")

    def __post_init__(self) -> None:
        width, threshold = self.width, self.threshold
        self._check_levels()
        codec.integer(threshold, 1, WORD - 1, PlanError, "the threshold of a window")
        require(threshold % (ROUNDING * width) == 0, "2^24 times the width of a window must divide its threshold")
        require(
            (WORD - threshold) % (ROUNDING * self.cells_outside) == 0,
            "2^24 times the cells outside must divide 2^64 minus the threshold",
        )
        require(self.ratio > 1, "a cell of the window must be likelier than one outside")

    # -- definition

    @property
    def cells_outside(self) -> int:
        """How many cells lie outside a window, including those of "missing"."""
        return self.size if self.optional else self.size - self.width

    @cached_property
    def alphabet(self) -> Symbols:
        """The cells, and one output more for "missing"."""
        return Symbols(self.size + self.optional)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 1 or not isinstance(attributes[0], Numeric):
            return "a window channel is for one numeric attribute"
        if attributes[0].optional is not self.optional:
            return "the channel and the attribute must both be optional, or neither"
        return None

    @cached_property
    def _inside_probability(self) -> Fraction:
        return Fraction(self.threshold, WORD * self.width)

    @cached_property
    def _outside_probability(self) -> Fraction:
        return Fraction(WORD - self.threshold, WORD * self.cells_outside)

    @cached_property
    def _gain(self) -> Fraction:
        """The divisor that turns a level into a value: c*A(N-W)."""
        return (self._inside_probability - self._outside_probability) * self._window_sums[-1]

    # -- exact guarantees

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(self.threshold * self.cells_outside, (WORD - self.threshold) * self.width)

    def states(self) -> Iterator[State]:
        """Every start of a window, and then None for "missing"."""
        yield from range(self.last + 1)
        if self.optional:
            yield None

    def _start(self, state: State) -> int:
        return codec.integer(state, 0, self.last, PlanError, "the state of a window")

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        inside, outside = self._inside_probability, self._outside_probability
        if state is None and self.optional:
            return {y: outside if y < self.size else inside * self.width for y in range(self.size + 1)}
        s = self._start(state)
        law: dict[Output, Fraction] = {y: inside if s <= y < s + self.width else outside for y in range(self.size)}
        if self.optional:
            law[self.size] = outside * self.width
        return law

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the value of a cell; for an optional attribute also the value for "missing"."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        level = self.cell_levels[output] / self._gain if output < self.size else Fraction(0)
        if not self.optional:
            return (level,)
        missing = self._inside_probability * self.width
        present = self._outside_probability * self.width
        return level, ((output == self.size) - present) / (missing - present)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return mu_s (0 if missing); for an optional attribute also 1 if missing and 0 if not."""
        if state is None and self.optional:
            return Fraction(0), Fraction(1)
        mean = Fraction(self._window_sums[self._start(state)], self._window_sums[-1])
        return (mean, Fraction(0)) if self.optional else (mean,)

    @cached_property
    def knots(self) -> list[tuple[Fraction, Fraction]]:
        """The input mu_s of every state, and the mean square of the value."""
        squares = [0, *accumulate(a * a for a in self.cell_levels)]
        inside, outside, scale = self._inside_probability, self._outside_probability, self._gain**2
        extra, base = (inside - outside) / scale, squares[-1] * outside / scale
        total = self._window_sums[-1]
        return [
            (Fraction(a, total), base + (squares[s + self.width] - squares[s]) * extra)
            for s, a in enumerate(self._window_sums)
        ]

    def mean_square(self, t: Fraction) -> Fraction:
        """Return E[value^2] for a present input t: linear between knots."""
        right = min(max(bisect_right(self.knots, t, key=lambda knot: knot[0]), 1), self.last)
        (left_t, left), (right_t, right_square) = self.knots[right - 1], self.knots[right]
        return left + (right_square - left) * (t - left_t) / (right_t - left_t)

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the value for a present input t in [-1, 1], rounding included."""
        value = exact_t(t)
        return self.mean_square(value) - value * value

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t in [-1, 1]."""
        return worst(self.knots)

    # -- the device

    @cached_property
    def _steps(self) -> tuple[int, int, int, int, int, int, int]:
        """The first word of outside; then the divisor of `cell`, the summand before and after: inside, outside.

        Words are taken without the bits that round, and with a guard of 2^40. The summand before makes all dividends
        positive and of one length, whatever the cell: Python divides long integers faster if the quotient is 0, and
        slower if it is negative. Without the guard it is a multiple of the divisor, so it shifts the quotient by a
        constant, which is subtracted after the division.
        """
        inner, step = self.threshold // ROUNDING, self.threshold // ROUNDING // self.width
        beside = (GUARD - inner) // self.cells_outside
        more, further = -(-2 * GUARD // step), -(-4 * GUARD // beside)
        return GUARD + inner, step, more * step - GUARD, more, beside, further * beside - GUARD - inner, further

    def answer(self, inputs: Sequence[Input], coins: Coins) -> Output:
        """Round an input and draw a cell. One word for both."""
        word = coins.word()
        return self.cell(self.rounded(inputs[0], word), word)

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round an input in [0, 1] to the knot below or above it. One word, also for None (missing)."""
        return self.rounded(inputs[0], coins.word())

    def rounded(self, u: Input, word: int) -> int | None:
        """Return the state of an input. The lower bits of the word decide whether it is rounded up."""
        s, up = self._between(0.5 if u is None else u)
        start = s + ((word & ROUNDING - 1) + 0.5 < up * ROUNDING)
        return None if u is None else start

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of the one or two states to which an input may be rounded."""
        if inputs[0] is None:
            return {None: Fraction(1)}
        s, up = self._between(inputs[0])
        share = Fraction(min(max(math.ceil(up * ROUNDING - 0.5), 0), ROUNDING), ROUNDING)
        return {state: p for state, p in ((s, 1 - share), (s + 1, share)) if p}

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a cell. One word."""
        return self.cell(state, coins.word())

    def cell(self, state: State, word: int) -> int:
        """Return the cell that a word gives for a state, or N for "missing"."""
        limit, to_inside, more, surplus, to_outside, further, excess = self._steps
        start = self.size if state is None else state
        assert isinstance(start, int)
        upper = (word | WORD) // ROUNDING
        inside = start + ((upper + more) // to_inside - surplus)
        outside = (upper + further) // to_outside - excess
        outside += self.width * (outside >= start)
        return min(inside if upper < limit else outside, self.size)

    # -- the server

    @cached_property
    def decoded(self) -> tuple[list[float], ...]:
        """The values of all outputs for every target, as floats."""
        targets = zip(*map(self.decode, range(self.alphabet.size)), strict=True)
        return tuple([float(value) for value in target] for target in targets)

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean; for an optional attribute the mean of the present and the share of missing."""
        levels, *missing = self.decoded
        if not missing:
            return [Reading(0, None, counts, levels, squares=self.squares)]
        absent, missed = missing[0][0], missing[0][-1]
        return [
            Reading(0, None, counts, levels, [1 - value for value in missing[0]], self.squares),
            Reading(0, 0, (n - counts[-1], counts[-1]), (absent, missed)),
        ]

    @cached_property
    def squares(self) -> Squares:
        """Bounds of the variance of the mean (or of the mean of the present) before any report."""
        points = [(float(t), float(square)) for t, square in self.knots]
        if not self.optional:
            return Squares.of(points)
        levels, missing = self.decoded
        here, gone = 1 - missing[0], 1 - missing[-1]
        absent = float(self._outside_probability) * math.fsum(level * level for level in levels)
        # Two values with mean 1 (for somebody present) or 0 have the mean square sum * mean - product.
        return Squares.of(points, gone - here - here * gone, [(absent, -here * gone)])

    def likelihood(self, u: float | None) -> list[float]:
        """Return the probabilities of all outputs for an input in [0, 1] (or None, missing)."""
        inside, outside = float(self._inside_probability), float(self._outside_probability)
        law = [outside] * self.size
        if u is None:
            return [*law, inside * self.width]
        s, up = self._between(u)
        law[s + 1 : s + self.width] = [inside] * (self.width - 1)
        law[s] += (inside - outside) * (1 - up)
        law[s + self.width] += (inside - outside) * up
        return [*law, outside * self.width] if self.optional else law

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "size": self.size,
            "width": self.width,
            "threshold": str(self.threshold),
            "levels": self.levels if self.levels == "even" else list(self.levels),
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Window:
        """Read a channel back."""
        names = ("size", "width", "threshold", "levels", "optional")
        size, width, threshold, levels, optional = cls._fields(value, *names)
        if levels != "even":
            levels = tuple(codec.listed(levels, PlanError, 'levels (if not "even")'))
        return cls(size, width, codec.big(threshold, PlanError, "a threshold"), levels, optional)


def worst(knots: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Return the maximum over t of f(t) - t^2, where f is linear between the given points (t, f(t))."""
    best = max(square - t * t for t, square in knots)
    for (left_t, left), (right_t, right) in pairwise(knots):
        slope = (right - left) / (right_t - left_t)
        top = slope / 2
        if left_t < top < right_t:
            best = max(best, left + slope * (top - left_t) - top * top)
    return best
