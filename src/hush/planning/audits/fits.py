"""Tests that a sampler follows its law: draw, count, compare.

**Chi-square**, if the law can be listed. Rare outputs are pooled until each cell expects 25. The approximation is good
at a level of a few in a thousand and bad far out. So one alarm is not enough: the comparison is repeated with fresh
draws, and only three alarms in a row count. Each has the cube root of the wanted error rate.

**Targets**, if it cannot be listed. The number of reports of a category (or a sign) is binomial, with a probability
that follows from `truth`. Its exact tail is compared with the error rate, divided by the number of tails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Literal

from hush.core.channels import Cells, Channel, Corners, Output, Reading, Rows
from hush.core.channels.base import State
from hush.errors import ReportError
from hush.server.binomial import at_least, at_most

_EXPECTED = 25
_ROUNDS = 3


@dataclass(frozen=True)
class Fit:
    """The comparison for one input: the p-value, and whether it is too small to be chance."""

    name: str
    method: Literal["chi-square", "targets"]
    p_value: float
    passed: bool


def by_chi_square(
    name: str,
    outputs: Sequence[Output],
    again: Callable[[], Sequence[Output]],
    law: Mapping[Output, Fraction],
    miss: float,
) -> Fit:
    """Compare outputs with a law; `again` draws as many more. A correct sampler fails with probability `miss`."""
    p_value = 0.0
    for round_ in range(_ROUNDS):
        p_value = chi_square(Counter(again() if round_ else outputs), law)
        if p_value == 0:  # an output that is impossible under the law: this cannot be chance
            break
        if p_value >= miss ** (1 / _ROUNDS):
            return Fit(name, "chi-square", p_value, True)
    return Fit(name, "chi-square", p_value, False)


def chi_square(counts: Counter[Output], law: Mapping[Output, Fraction]) -> float:
    """Return the p-value (Wilson and Hilferty's approximation); 0 if an output has no probability."""
    if any(law.get(output, 0) == 0 for output in counts):
        return 0.0
    n = counts.total()
    cells: list[tuple[int, float]] = []
    pooled, expected = 0, 0.0
    for output, probability in sorted(law.items(), key=lambda item: item[1]):
        pooled += counts[output]
        expected += n * float(probability)
        if expected >= _EXPECTED:
            cells.append((pooled, expected))
            pooled, expected = 0, 0.0
    if len(cells) < 2:
        return 1.0
    cells[-1] = (cells[-1][0] + pooled, cells[-1][1] + expected)
    statistic = math.fsum((count - mean) ** 2 / mean for count, mean in cells)
    df = len(cells) - 1
    z = (math.cbrt(statistic / df) - 1 + 2 / (9 * df)) / math.sqrt(2 / (9 * df))
    return max(NormalDist().cdf(-z), 1e-300)


def by_targets(name: str, outputs: Sequence[Output], channel: Channel, state: State, miss: float) -> Fit:
    """Compare how often the outputs supported each target with the exact probability."""
    n = len(outputs)
    counts = [0] * channel.alphabet.size
    try:
        for output in outputs:
            channel.alphabet.check(output)
            channel.alphabet.count(counts, output)
    except ReportError:
        return Fit(name, "targets", 0.0, False)
    tails = []
    if isinstance(channel, Cells | Rows | Corners):
        for count, chance in zip(counts, channel.chances(state), strict=True):
            tails += [at_least(count, n, float(chance)), at_most(count, n, float(chance))]
        smallest = min(1.0, min(tails) * len(tails))
        return Fit(name, "targets", smallest, smallest >= miss)
    for reading, truth in zip(channel.readings(counts, n), channel.truth(state), strict=True):
        assert isinstance(reading, Reading)
        without, within = reading.values
        p = (float(truth) - without) / (within - without)
        about = sum(reading.counts)
        tails += [at_least(reading.counts[1], about, p), at_most(reading.counts[1], about, p)]
        if reading.share < 1:
            tails += [at_least(about, n, float(reading.share)), at_most(about, n, float(reading.share))]
    smallest = min(1.0, min(tails) * len(tails))
    return Fit(name, "targets", smallest, smallest >= miss)
