"""The additive channel: one number on a lattice, plus integer noise. For the baselines of the paper.

The domain is divided into M steps. The input is rounded at random to one of the M+1 points x = 0..M, and
noise z is added with probability proportional to f(|z|), where

    f(j*M + i) = w_i * b^j,    0 <= i < M,    w_0 >= w_1 >= ... >= w_{M-1} >= b*w_0.

**Privacy.** f never increases, and two inputs are at most M steps apart, so for one output their noises satisfy
|z'| <= |z| + M and f(|z'|) >= f(|z| + M) = b*f(|z|). The ratio is exactly 1/b = 2^64/D, with b = D/2^64.

**Mean and variance.** The noise is symmetric. Its variance has a closed form, as j is geometric. Rounding the
input adds at most a quarter of a step squared.

**Finite.** Sums that lie more than `reach` steps outside the domain are reported as the farthest output. That
happens after the private step and costs no privacy; with the reach of `hush.design` (b^(reach/M) <= 2^-64) it
moves the mean by less than one part in 2^60, and it bounds what one malicious report can do.

Instances: Laplace (w_i = e^(-eps*i/M): Dwork et al. 2006, on a lattice as in Ghosh et al. 2009); SCDF
(Soria-Comas and Domingo-Ferrer 2013) and Staircase (Geng et al. 2015), where w is 1 up to some m and b from
there on. As printed in Wang et al. (2019), the densities of the last two do not add up to 1: see docs/errata.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from hush import codec
from hush.channels.alphabet import Output, Symbols
from hush.channels.base import Channel, Coins, Reading, State, exact_t, require, rounding_up, rounds_up
from hush.channels.squares import Squares
from hush.errors import PlanError
from hush.exact import WORD
from hush.schema import Attribute, Input, Numeric

MAX_STEPS = 4096
MAX_REACH = 1 << 15
MAX_WEIGHT = (1 << 52) - 1


@dataclass(frozen=True)
class Additive(Channel):
    """Noise on a lattice. `runs` gives w as (length, weight) pairs, whose lengths add up to M."""

    runs: tuple[tuple[int, int], ...]
    decay: int
    reach: int

    kind: ClassVar[str] = "additive"

    def __post_init__(self) -> None:
        require(isinstance(self.runs, tuple) and len(self.runs) > 0, "an additive channel has runs of weights")
        for run in self.runs:
            require(isinstance(run, tuple) and len(run) == 2, "a run is a pair of length and weight")
            codec.integer(run[0], 1, MAX_STEPS, PlanError, "the length of a run")
            codec.integer(run[1], 1, MAX_WEIGHT, PlanError, "the weight of a run")
        codec.integer(self.decay, 1, WORD - 1, PlanError, "the decay of an additive channel")
        codec.integer(self.reach, self.steps, MAX_REACH, PlanError, "the reach of an additive channel")
        require(self.steps <= MAX_STEPS, f"an additive channel has at most {MAX_STEPS} steps")
        weights = [weight for _, weight in self.runs]
        require(all(a > b for a, b in pairwise(weights)), "weights must decrease")
        require(
            weights[-1] * WORD >= weights[0] * self.decay,
            "the last weight must be at least decay times the first",
        )

    # -- what it is

    @cached_property
    def steps(self) -> int:
        """M: the number of lattice steps in the domain."""
        return sum(length for length, _ in self.runs)

    @cached_property
    def alphabet(self) -> Symbols:
        """The lattice points from `reach` steps below the domain to `reach` steps above it."""
        return Symbols(self.steps + 1 + 2 * self.reach)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 1 or not isinstance(attributes[0], Numeric):
            return "an additive channel is for one numeric attribute"
        if attributes[0].optional:
            return "an additive channel has no output for a missing value; use another for optional attributes"
        return None

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """w_0 to w_{M-1}."""
        return tuple(weight for length, weight in self.runs for _ in range(length))

    @cached_property
    def _total(self) -> int:
        return sum(self.weights)

    @cached_property
    def _b(self) -> Fraction:
        return Fraction(self.decay, WORD)

    @cached_property
    def _norm(self) -> Fraction:
        """The sum of f(|z|) over all integers z."""
        return 2 * self._total / (1 - self._b) - self.weights[0]

    def _tail(self, magnitude: int) -> Fraction:
        """Return the sum of f(g) over g >= magnitude."""
        j, i = divmod(magnitude, self.steps)
        return self._b**j * (sum(self.weights[i:]) + self._total * self._b / (1 - self._b))

    # -- what it promises, exactly

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(WORD, self.decay)

    def states(self) -> Iterator[State]:
        """Every point of the lattice in the domain."""
        yield from range(self.steps + 1)

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        x = self._point(state)
        last = self.alphabet.size - 1
        law: dict[Output, Fraction] = {0: self._tail(x + self.reach) / self._norm}
        for output in range(1, last):
            j, i = divmod(abs(output - self.reach - x), self.steps)
            law[output] = self.weights[i] * self._b**j / self._norm
        law[last] = self._tail(self.steps - x + self.reach) / self._norm
        return law

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the lattice point on the scale [-1, 1] (and beyond)."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        return (Fraction(2 * (output - self.reach), self.steps) - 1,)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the input on the scale [-1, 1]. `decode` meets it but for the far tails."""
        return (Fraction(2 * self._point(state), self.steps) - 1,)

    def _point(self, state: State) -> int:
        return codec.integer(state, 0, self.steps, PlanError, "the state of an additive channel")

    @cached_property
    def _noise_variance(self) -> Fraction:
        """The variance of the noise on the scale [-1, 1], from the moments of i and of the geometric j."""
        b, m = self._b, self.steps
        first = sum(i * w for i, w in enumerate(self.weights))
        second = sum(i * i * w for i, w in enumerate(self.weights))
        squares = second / (1 - b) + 2 * m * first * b / (1 - b) ** 2 + m * m * self._total * b * (1 + b) / (1 - b) ** 3
        return 2 * squares / self._norm * Fraction(4, m * m)

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance for an input t in [-1, 1], rounding included, the far tails not cut."""
        position = (exact_t(t) + 1) / 2 * self.steps
        rest = position % 1
        return self._noise_variance + Fraction(4, self.steps**2) * rest * (1 - rest)

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t: half-way between two lattice points."""
        return self._noise_variance + Fraction(1, self.steps**2)

    # -- the device

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round an input in [0, 1] to the lattice point below or above it. One word."""
        x, up = self._between(inputs[0])
        return x + rounds_up(up, coins.word())

    def _between(self, u: Input) -> tuple[int, float]:
        """Return the lattice point below an input, and how far it is on the way to the next."""
        assert isinstance(u, float)
        position = u * self.steps
        x = min(max(int(position), 0), self.steps - 1)
        return x, position - x

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of the one or two points to which an input may be rounded."""
        x, up = self._between(inputs[0])
        share = rounding_up(up)
        return {state: p for state, p in ((x, 1 - share), (x + 1, share)) if p}

    @cached_property
    def _ends(self) -> list[int]:
        """Where the runs end, in units of weight."""
        return list(accumulate(length * weight for length, weight in self.runs))

    def draw(self, state: State, coins: Coins) -> Output:
        """Add noise. Tosses for j, a word for i, one for the sign; all again for a zero of negative sign."""
        assert isinstance(state, int)
        while True:
            magnitude = 0
            while magnitude <= self.reach + self.steps and coins.toss(self.decay):
                magnitude += self.steps  # beyond this the output is the farthest one, however large the noise
            mass = coins.below(self._total)
            run = bisect_right(self._ends, mass)
            before = sum(length for length, _ in self.runs[:run])
            start = self._ends[run - 1] if run else 0
            magnitude += before + (mass - start) // self.runs[run][1]
            negative = coins.toss(WORD >> 1)
            if magnitude or not negative:
                output = state + self.reach + (-magnitude if negative else magnitude)
                return min(max(output, 0), self.alphabet.size - 1)

    # -- the server

    @cached_property
    def _decoded(self) -> list[float]:
        return [float(self.decode(output)[0]) for output in range(self.alphabet.size)]

    def readings(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean."""
        return [Reading(0, None, counts, self._decoded, squares=self._squares)]

    @cached_property
    def _squares(self) -> Squares:
        """What is known of the variance of the mean before any report: the noise has the same for every input."""
        noise = float(self._noise_variance)
        points = [2 * x / self.steps - 1 for x in range(self.steps + 1)]
        return Squares.of((t, noise + t * t) for t in points)

    @cached_property
    def _pmf(self) -> list[float]:
        """The probability of noise of each magnitude, as far as it can be told apart in a report."""
        norm, b = float(self._norm), float(self._b)
        return [
            self.weights[z % self.steps] * b ** (z // self.steps) / norm for z in range(self.reach + self.steps + 1)
        ]

    def likelihood(self, u: float | None) -> list[float]:
        """Return the probabilities of all outputs for an input in [0, 1], without the far tails."""
        pmf, size = self._pmf, self.alphabet.size
        x, up = self._between(u)
        low, high = x + self.reach, x + 1 + self.reach
        return [pmf[abs(y - low)] * (1 - up) + pmf[abs(y - high)] * up for y in range(size)]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "runs": [list(run) for run in self.runs],
            "decay": str(self.decay),
            "reach": self.reach,
        }

    @classmethod
    def from_json(cls, value: Any) -> Additive:
        """Read a channel back."""
        runs, decay, reach = cls._fields(value, "runs", "decay", "reach")
        runs = codec.listed(runs, PlanError, "the runs of an additive channel")
        pairs = tuple(tuple(codec.listed(run, PlanError, "a run")) for run in runs)
        return cls(pairs, codec.big(decay, PlanError, "a decay"), reach)
