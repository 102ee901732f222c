"""The blanket of a plan: the part of the law of its reports that is the same for every record.

w(y) is the smallest probability of the report y over all records, and |w| the sum of all w(y). Everybody's report comes
from w/|w| with probability |w|, and from the rest of their own law otherwise. A relay that mixes reports of its own
among those of people draws them from w/|w|: each of them looks like the report of anybody, so they hide every other
report of the batch, whoever sent it.

A report is a choice of questions, which does not depend on the record, and an answer to each. So the blanket is that of
the channels: it draws a choice of questions with a probability in proportion to the plan's own times the |w| of their
channels, and each answer from its channel's blanket. (If two questions of a report look at one attribute, the true
minimum may be larger. This one is below it, so it is a blanket as well.)

All numbers are exact. The table of a channel lists every output for every state, so this is for channels with small
tables, and for sets of any size (`EvenBlanket`); others raise a PlanError.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, islice

from hush.core.channels import Channel, Output, Subset, draw_subset
from hush.core.coins import Coins
from hush.core.exact import WORD
from hush.core.plan import Plan
from hush.errors import PlanError

MOST = 1 << 18  # entries of a channel's table


@dataclass(frozen=True)
class ChannelBlanket:
    """The blanket of one channel: `least[y]` is the smallest probability of y, `size` their sum."""

    channel: Channel
    least: dict[Output, Fraction]

    @classmethod
    def of(cls, channel: Channel) -> ChannelBlanket:
        """Compute the blanket from the channel's table."""
        most = MOST // channel.alphabet.outputs
        states = list(islice(channel.states(), most + 1))
        if len(states) > most:
            if type(channel) is Subset:
                return EvenBlanket(channel, {})
            raise PlanError(f"the table of a {channel.kind} channel of this plan has more than {MOST} entries")
        found = dict(channel.law(states[0]))
        for state in states[1:]:
            law = channel.law(state)
            found = {y: min(found[y], law.get(y, Fraction(0))) for y in found}
        return cls(channel, {y: probability for y, probability in sorted(found.items()) if probability})

    @cached_property
    def size(self) -> Fraction:
        """|w|, from 0 to 1."""
        return sum(self.least.values(), Fraction(0))

    @cached_property
    def chances(self) -> list[Fraction]:
        """The probability that a report of the blanket has each symbol, or each member."""
        found = [Fraction(0)] * self.channel.alphabet.size
        for output, probability in self.least.items():
            for member in (output,) if isinstance(output, int) else output:
                found[member] += probability / self.size
        return found

    @cached_property
    def law(self) -> dict[Output, float]:
        """The probability w(y)/|w| of each output of the blanket, as floats."""
        size = float(self.size)
        return {output: float(probability) / size for output, probability in self.least.items()}

    @cached_property
    def members(self) -> tuple[float, float]:
        """The averages of the number of members of an output, and of the ordered pairs of them."""
        sizes = [(1 if isinstance(output, int) else len(output), chance) for output, chance in self.law.items()]
        return (
            math.fsum(chance * size for size, chance in sizes),
            math.fsum(chance * size * (size - 1) for size, chance in sizes),
        )

    @cached_property
    def _limits(self) -> tuple[list[Output], list[int]]:
        scale = math.lcm(*(probability.denominator for probability in self.least.values()))
        return list(self.least), list(accumulate(int(probability * scale) for probability in self.least.values()))

    def draw(self, coins: Coins) -> Output:
        """Return an output with the probabilities w(y)/|w|, exactly."""
        outputs, limits = self._limits
        return outputs[bisect_right(limits, below(coins, limits[-1]))]


class EvenBlanket(ChannelBlanket):
    """The blanket of a subset channel, whose table need not be listed: it is uniform over all sets.

    Every set leaves out some category, as w < K. For a person of that category it has the probability
    (1 - p)/C(K-1, w), and no set has less. There are C(K, w) of them, so |w| is (1 - p)*K/(K - w).
    """

    channel: Subset

    @cached_property
    def size(self) -> Fraction:
        """|w|, from 0 to 1."""
        return (1 - self.channel.p) * Fraction(self.channel.size, self.channel.size - self.channel.weight)

    @cached_property
    def chances(self) -> list[Fraction]:
        """The probability that a report of the blanket has each symbol, or each member."""
        return [Fraction(self.channel.weight, self.channel.size)] * self.channel.size

    @cached_property
    def law(self) -> dict[Output, float]:
        """The probability of each output: too many to list."""
        raise PlanError(f"the table of a {self.channel.kind} channel of this plan has more than {MOST} entries")

    @cached_property
    def members(self) -> tuple[float, float]:
        """The number of members of an output, and of the ordered pairs of them."""
        return float(self.channel.weight), float(self.channel.weight * (self.channel.weight - 1))

    def draw(self, coins: Coins) -> Output:
        """Return a uniform set."""
        size, weight = self.channel.size, self.channel.weight
        chosen = draw_subset(coins, size, weight)
        return chosen[0] if weight == 1 else tuple(chosen)


class Blanket:
    """The blanket of a whole report."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        made: dict[Channel, ChannelBlanket] = {}
        for question in plan.questions:
            if question.channel not in made:
                made[question.channel] = ChannelBlanket.of(question.channel)
        self.channels = [made[question.channel] for question in plan.questions]
        if not all(channel.size for channel in self.channels):
            raise PlanError("a channel of this plan has no blanket: no output is possible for all of its inputs")
        weights = plan.weights or (1,) * len(plan.questions)
        shares = [weight * channel.size for weight, channel in zip(weights, self.channels, strict=True)]
        scale = math.lcm(*(share.denominator for share in shares))
        self._shares = [int(share * scale) for share in shares]
        self._sums = _sums(self._shares, plan.k)

    @cached_property
    def answered(self) -> list[Fraction]:
        """The probability that a report of the blanket answers each question."""
        k, total = self.plan.k, self._sums[0][self.plan.k]
        if k == len(self._shares):
            return [Fraction(1)] * k
        found = []
        for index, share in enumerate(self._shares):
            others = self._shares[:index] + self._shares[index + 1 :]
            found.append(Fraction(share * _sums(others, k - 1)[0][k - 1], total))
        return found

    def draw(self, coins: Coins) -> tuple[tuple[int, Output], ...]:
        """Return the answers of a report of the blanket."""
        left, answers = self.plan.k, []
        for index, share in enumerate(self._shares):
            # The questions from this one on are chosen with a probability in proportion to the product of their shares.
            if left and below(coins, self._sums[index][left]) < share * self._sums[index + 1][left - 1]:
                answers.append((index, self.channels[index].draw(coins)))
                left -= 1
        return tuple(answers)


@lru_cache(maxsize=64)
def blanket_of(plan: Plan) -> Blanket:
    """Return the blanket of a plan, or refuse a plan whose tables are too large to list."""
    return Blanket(plan)


def _sums(shares: list[int], k: int) -> list[list[int]]:
    """Return, for each start, the sums over all choices of j = 0..k of the shares from there on of their products."""
    rows = [[1] + [0] * k]
    for share in reversed(shares):
        last = rows[-1]
        rows.append([1] + [last[j] + share * last[j - 1] for j in range(1, k + 1)])
    return rows[::-1]


def below(coins: Coins, n: int) -> int:
    """Return an exactly uniform integer in 0..n-1, for any n from 1 on."""
    if n <= WORD:
        return coins.below(n)
    words = -(-n.bit_length() // 64)
    spare = 64 * words - n.bit_length()
    while True:
        found = 0
        for _ in range(words):
            found = found << 64 | coins.word()
        if found >> spare < n:
            return found >> spare
