"""Windows of neighbouring cells: the private step that the window and the ladder channel share.

N cells lie in a row, and a window of W of them may start at s = 0..N-W. Given s, with probability T/2^64 the output is
uniform in the window, otherwise uniform outside.

**Privacy.** A cell has probability T/(2^64 W) in the window and (2^64-T)/(2^64 O) outside, where O is the
number of cells outside. No other probability occurs, so the ratio is exactly T*O/((2^64-T)*W).

**One word.** 2^24 W divides T and 2^24 O divides 2^64-T. A uniform word below T then gives the cell of the window as
word // (T/W), and the other words give the cell outside, each exactly uniform: no second word, no rejection. Each of
these cells is a whole number of runs of 2^24 words, so the lower 24 bits of the word are uniform whatever the cell.
They round the input. So one word gives the state the law of the rounding and, independently, the output the law of the
state. Both quotients are always computed. "Missing" is rounded like a number and then replaced by the start N, behind
all others. So the work is the same for every input and output.
Rounding by 24 bits moves the mean by at most 2^-25 of the distance between two knots, up as often as down.

**Missing values.** With `optional`, W further cells stand for "missing" and are merged into one output, N;
they are the window of the state "missing", and outside for all others (O = N, and the ratio is as above).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property

from hush.core import codec
from hush.core.channels.alphabet import Output, Symbols
from hush.core.channels.base import Coins, State, require
from hush.core.channels.two_level import Sorts, TwoLevel
from hush.core.exact import WORD
from hush.core.schema import Attribute, Input, Numeric
from hush.errors import PlanError

ROUNDING = 1 << 24  # the lower bits of a word round the input; the others draw the cell
GUARD = WORD // ROUNDING


class Windowed(TwoLevel):
    """A channel of one number whose states are windows of `width` out of `size` cells."""

    size: int
    width: int
    threshold: int
    optional: bool

    @abstractmethod
    def _between(self, u: float) -> tuple[int, float]:
        """Return the state below an input, and the input's position between it and the next (0 to 1)."""

    def _check_window(self) -> None:
        """Refuse a threshold that breaks a rule."""
        threshold = self.threshold
        codec.integer(threshold, 1, WORD - 1, PlanError, f"the threshold of a {self.kind}")
        require(
            threshold % (ROUNDING * self.width) == 0, f"2^24 times the width of a {self.kind} must divide its threshold"
        )
        require(
            (WORD - threshold) % (ROUNDING * self.cells_outside) == 0,
            "2^24 times the cells outside must divide 2^64 minus the threshold",
        )
        require(self.ratio > 1, "a cell of the window must be likelier than one outside")

    @property
    def cells_outside(self) -> int:
        """How many cells lie outside a window, including those of "missing"."""
        return self.size if self.optional else self.size - self.width

    @property
    def last(self) -> int:
        """The last start of a window."""
        return self.size - self.width

    @cached_property
    def alphabet(self) -> Symbols:
        """The cells, and one output more for "missing"."""
        return Symbols(self.size + self.optional)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 1 or not isinstance(attributes[0], Numeric):
            return f"a {self.kind} channel is for one numeric attribute"
        if attributes[0].optional is not self.optional:
            return "the channel and the attribute must both be optional, or neither"
        return None

    @cached_property
    def _inside_probability(self) -> Fraction:
        return Fraction(self.threshold, WORD * self.width)

    @cached_property
    def _outside_probability(self) -> Fraction:
        return Fraction(WORD - self.threshold, WORD * self.cells_outside)

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

    # -- a crowd

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Count the cells by the windows that they lie in; W cells of "missing" are one output."""
        found: dict[tuple[bool, ...], Fraction] = {}
        starts = [self.size if state is None else self._start(state) for state in states]
        for y in range(self.size + self.optional):
            sort = tuple(start <= y < start + self.width for start in starts)
            cells = self.width if y == self.size else 1
            found[sort] = found.get(sort, Fraction(0)) + cells * self._outside_probability
        return found

    def opposites(self) -> list[tuple[State, State]]:
        """The first and the last window, and a number and "missing": no two windows share fewer cells."""
        found: list[tuple[State, State]] = [(0, self.last)]
        if self.optional:
            found.append((0, None))
        return found

    def bystanders(self) -> list[State]:
        """Windows at several places."""
        found: list[State] = [*dict.fromkeys(self.last * i // 6 for i in range(1, 6))]
        return [*found, None] if self.optional else found

    @property
    def always(self) -> Fraction:
        """The cells in the middle, if windows are so wide that all of them meet there, and none is "missing"."""
        return max(0, self.width - self.last) * self._outside_probability * (not self.optional)

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
