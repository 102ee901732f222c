"""The additive channel: one number on a lattice, plus integer noise. The paper's baselines use it.

The domain is divided into M steps. The input is rounded at random to one of the M+1 points x = 0..M. The noise is
g + 1/2 steps up or down, with equal probability, and its magnitude g = j*M + i has probability proportional to

    f(g) = w_i * F(j),    0 <= i < M,    w_0 >= w_1 >= ... >= w_{M-1},

where F falls like a power. The binary digits of a geometric number are independent, so j is drawn digit by digit: digit
k is 1 with probability D_k/2^64, at odds r_k = D_k/(2^64 - D_k), for k = 0..m. F(j) is the product of the odds of the
digits that are 1.

**Privacy.** From a number that ends in t ones to the next number, F falls by the factor R_t = r_0*...*r_{t-1} / r_t.
The constructor checks that w_{M-1}*R_t >= w_0 for all t < m, so f never increases below 2^m periods. Two inputs are at
most M steps apart, and so are the magnitudes that lead to one output: f differs by at most R, the largest R_t. The
ratio is exactly R, because every R_t occurs.

**Finite.** Outputs lie at most `reach` steps outside the domain; larger sums are reported as the farthest output. That
output collects all g >= h, where h = reach-1+x at one end and reach-1+M-x at the other. Digit m alone always leads that
far. Sum f(g) <= R*f(g+M) over these g: the last period before 2^m has no match, and has a probability of at most
L = (1-p_m)*p_0*...*p_{m-1}, where p_k = D_k/2^64; but the share p_m of digit m counts R times on the right, and once is
enough. So the ratio of the sums is at most R if (R-1)*p_m >= L, which the constructor checks too. With the reach that
`hush.core.design` chooses, a farthest output has a probability below 2^-34. It moves the mean by no more than that, and
it limits the influence of one malicious report.

**Mean and variance.** The noise is symmetric. Its variance follows from the independent digits. Rounding the input adds
at most a quarter of a step squared.

**The same draws.** Every draw takes a word for each digit, one (rarely more) for i and one for the sign, whatever the
input and output.

Instances: Laplace (w_i = e^(-eps*i/M): Dwork et al. 2006, on a lattice as in Ghosh et al. 2009, but between points);
SCDF (Soria-Comas and Domingo-Ferrer 2013) and Staircase (Geng et al. 2015), where w is 1 up to some m and e^-eps from
there on. The densities of the last two, as printed in Wang et al. (2019), do not add up to 1: see docs/errata.md.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Output, Symbols
from hush.core.channels.base import (
    Channel,
    Coins,
    Reading,
    State,
    exact_t,
    require,
    rounding_up,
    rounds_up,
    searchable,
)
from hush.core.channels.contrast import Contrast, compared, widest
from hush.core.channels.squares import Squares
from hush.core.exact import WORD
from hush.core.schema import Attribute, Input, Numeric
from hush.errors import PlanError

MAX_STEPS = 4096
MAX_REACH = 1 << 15
MAX_WEIGHT = (1 << 52) - 1
_BLOCKS = 512


@dataclass(frozen=True)
class Additive(Channel):
    """Noise on a lattice. `runs` gives w as (length, weight) pairs; the lengths add up to M. `decays` are the D_k."""

    runs: tuple[tuple[int, int], ...]
    decays: tuple[int, ...]
    reach: int

    kind: ClassVar[str] = "additive"
    made: ClassVar[tuple[str, ...]] = ("_table", "_total")

    def __post_init__(self) -> None:
        require(isinstance(self.runs, tuple) and len(self.runs) > 0, "an additive channel has runs of weights")
        for run in self.runs:
            require(isinstance(run, tuple) and len(run) == 2, "a run is a pair of length and weight")
            codec.integer(run[0], 1, MAX_STEPS, PlanError, "the length of a run")
            codec.integer(run[1], 1, MAX_WEIGHT, PlanError, "the weight of a run")
        require(isinstance(self.decays, tuple), "an additive channel has decays")
        for decay in self.decays:
            codec.integer(decay, 1, WORD - 1, PlanError, "a decay of an additive channel")
        require(
            self.steps <= MAX_STEPS,
            f"an additive channel has at most {MAX_STEPS} steps, the sum of the lengths of its runs",
        )
        codec.integer(self.reach, max(self.steps, 2), MAX_REACH, PlanError, "the reach of an additive channel")
        digits = digits_of(self.steps, self.reach)
        require(len(self.decays) == digits + 1, f"with this reach an additive channel has {digits + 1} decays")
        weights = [weight for _, weight in self.runs]
        require(all(a > b for a, b in pairwise(weights)), "weights must decrease")
        require(
            all(weights[-1] * fall >= weights[0] for fall in self._falls),
            "the last weight must be at least that of the next period",
        )
        *inner, top = self._chances
        require(
            (self.ratio - 1) * top >= (1 - top) * prod(inner, start=Fraction(1)),
            "the last decay must be large enough for the farthest outputs",
        )

    # -- definition

    @cached_property
    def steps(self) -> int:
        """M: the number of lattice steps in the domain."""
        return sum(length for length, _ in self.runs)

    @cached_property
    def alphabet(self) -> Symbols:
        """The steps of the lattice, from `reach` steps below the domain to `reach` steps above it."""
        return Symbols(self.steps + 2 * self.reach)

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
    def _chances(self) -> tuple[Fraction, ...]:
        """p_k: the probability that digit k is 1."""
        return tuple(Fraction(decay, WORD) for decay in self.decays)

    @cached_property
    def _falls(self) -> tuple[Fraction, ...]:
        """R_t for t < m: the ratio of a period's probability to the next one's, if its number ends in t ones."""
        return falls(self.decays[:-1])

    @cached_property
    def _whole(self) -> int:
        """The unit of `_periods`: one for each choice of a word for every digit."""
        return 1 << 64 * len(self.decays)

    @cached_property
    def _periods(self) -> list[int]:
        """The probability of each period that a report can distinguish, times `_whole`."""
        found = [prod(WORD - decay for decay in self.decays)]
        for decay in self.decays[:-1]:
            found += [other // (WORD - decay) * decay for other in found]
        return [*found[: self.reach // self.steps + 2], 0]

    def _mass(self, magnitude: int) -> Fraction:
        """Return the probability of a magnitude, both signs together."""
        j, i = divmod(magnitude, self.steps)
        return Fraction(self._periods[j] * self.weights[i], self._whole * self._total)

    def _tail(self, magnitude: int) -> Fraction:
        """Return the probability of this magnitude or a larger one."""
        j, i = divmod(magnitude, self.steps)
        below = sum(self._periods[:j]) * self._total + self._periods[j] * sum(self.weights[:i])
        return 1 - Fraction(below, self._whole * self._total)

    # -- exact guarantees

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return max(self._falls)

    def states(self) -> Iterator[State]:
        """Every point of the lattice in the domain."""
        yield from range(self.steps + 1)

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        x = self._point(state)
        last = self.alphabet.size - 1
        law: dict[Output, Fraction] = {0: self._tail(x + self.reach - 1) / 2}
        for output in range(1, last):
            law[output] = self._mass(self._magnitude(output - self.reach - x)) / 2
        law[last] = self._tail(self.steps - x + self.reach - 1) / 2
        return law

    def _magnitude(self, z: int) -> int:
        """Return the magnitude g of noise that moves a point from x to between x + z and x + z + 1."""
        return z if z >= 0 else -1 - z

    def blanket(self) -> Contrast:
        """Return a contrast that covers all: the ratio and |w| are known, and no more is used.

        The probability of an output falls with its distance from the point, so the least is that of one of the ends.
        """
        ends = (self.law(0), self.law(self.steps))
        return widest(self.ratio, sum((min(law[y] for law in ends) for y in ends[0]), Fraction(0)))

    @property
    def tight(self) -> bool:
        """No two points have the widest contrast."""
        return False

    def crowds(self) -> list[Contrast]:
        """Return contrasts of the ends, among others who are at an end or in the middle.

        Neighbouring outputs are taken as one: whoever cannot tell them apart learns less.
        """
        block = max(1, self.alphabet.size // _BLOCKS)
        laws = []
        for state in (0, self.steps, self.steps // 2):
            blocks: dict[object, Fraction] = {}
            for y, probability in self.law(state).items():
                assert isinstance(y, int)
                blocks[y // block] = blocks.get(y // block, Fraction(0)) + probability
            laws.append(blocks)
        return [compared(laws[0], laws[1], law) for law in laws]

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return the middle of two lattice points on the scale [-1, 1] (and beyond)."""
        self.alphabet.check(output)
        assert isinstance(output, int)
        return (Fraction(2 * (output - self.reach) + 1, self.steps) - 1,)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the input on the scale [-1, 1]. `decode` averages to it, except for the far tails."""
        return (Fraction(2 * self._point(state), self.steps) - 1,)

    def _point(self, state: State) -> int:
        return codec.integer(state, 0, self.steps, PlanError, "the state of an additive channel")

    @cached_property
    def _noise_variance(self) -> Fraction:
        """The variance of the noise on the scale [-1, 1], from the moments of i and of the independent digits of j."""
        m = self.steps
        first = Fraction(sum((2 * i + 1) * w for i, w in enumerate(self.weights)), 2 * self._total)
        second = Fraction(sum((2 * i + 1) ** 2 * w for i, w in enumerate(self.weights)), 4 * self._total)
        mean = sum((chance * (1 << k) for k, chance in enumerate(self._chances)), Fraction(0))
        spread = sum((chance * (1 - chance) * (1 << 2 * k) for k, chance in enumerate(self._chances)), Fraction(0))
        return (second + 2 * m * first * mean + m * m * (mean**2 + spread)) * Fraction(4, m * m)

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance for an input t in [-1, 1]: with rounding, and without cutting the far tails."""
        position = (exact_t(t) + 1) / 2 * self.steps
        rest = position % 1
        return self._noise_variance + Fraction(4, self.steps**2) * rest * (1 - rest)

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t. It is reached half-way between two lattice points."""
        return self._noise_variance + Fraction(1, self.steps**2)

    # -- the device

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Round an input in [0, 1] to the lattice point below or above it. One word."""
        x, up = self._between(inputs[0])
        return x + rounds_up(up, coins.word())

    def _between(self, u: Input) -> tuple[int, float]:
        """Return the lattice point below an input, and the input's position between it and the next (0 to 1)."""
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
    def _table(self) -> tuple[list[float], list[tuple[int, int, int]]]:
        """The end of each run, in units of weight; and for each run its start, its weight and the steps before it."""
        ends = list(accumulate(length * weight for length, weight in self.runs))
        before = accumulate((length for length, _ in self.runs), initial=0)
        weights = (weight for _, weight in self.runs)
        return searchable(ends, WORD), list(zip([0, *ends], weights, before, strict=False))

    def draw(self, state: State, coins: Coins) -> Output:
        """Add noise. A word for each digit of the period, one (rarely more) for the step, one for the sign."""
        assert isinstance(state, int)
        ends, runs = self._table
        periods = 0
        for k, decay in enumerate(self.decays):
            periods += coins.toss(decay) << k
        mass = coins.below(self._total)
        start, weight, before = runs[bisect_right(ends, mass)]
        magnitude = periods * self.steps + before + (mass - start) // weight
        negative = coins.toss(WORD >> 1)
        output = state + self.reach + (magnitude ^ -negative)  # -1 - magnitude, if it is negative
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
        """Bounds of the variance of the mean before any report: the noise has the same variance for every input."""
        noise = float(self._noise_variance)
        points = [2 * x / self.steps - 1 for x in range(self.steps + 1)]
        return Squares.of((t, noise + t * t) for t in points)

    @cached_property
    def _pmf(self) -> list[float]:
        """The probability of noise of each magnitude and sign, as far as a report can distinguish them."""
        shares = [weight / self._total / 2 for weight in self.weights]
        periods = [period / self._whole for period in self._periods]
        return [periods[z // self.steps] * shares[z % self.steps] for z in range(self.reach + self.steps)]

    def likelihood(self, u: float | None) -> list[float]:
        """Return the probabilities of all outputs for an input in [0, 1], without the far tails."""
        pmf, size = self._pmf, self.alphabet.size
        x, up = self._between(u)
        low, high = x + self.reach, x + 1 + self.reach
        magnitude = self._magnitude
        return [pmf[magnitude(y - low)] * (1 - up) + pmf[magnitude(y - high)] * up for y in range(size)]

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "runs": [list(run) for run in self.runs],
            "decays": [str(decay) for decay in self.decays],
            "reach": self.reach,
        }

    @classmethod
    def from_json(cls, value: Any) -> Additive:
        """Read a channel back."""
        runs, decays, reach = cls._fields(value, "runs", "decays", "reach")
        runs = codec.listed(runs, PlanError, "the runs of an additive channel")
        pairs = tuple(tuple(codec.listed(run, PlanError, "a run")) for run in runs)
        decays = codec.listed(decays, PlanError, "the decays of an additive channel")
        return cls(pairs, tuple(codec.big(decay, PlanError, "a decay") for decay in decays), reach)


def digits_of(steps: int, reach: int) -> int:
    """Return m: how many digits number the periods that a report can distinguish."""
    return (-(-(reach - 1) // steps)).bit_length()


def falls(decays: Sequence[int]) -> tuple[Fraction, ...]:
    """Return R_t for digits with these decays."""
    odds = [Fraction(decay, WORD - decay) for decay in decays]
    products = accumulate(odds, operator.mul, initial=Fraction(1))
    return tuple(before / own for before, own in zip(products, odds, strict=False))
