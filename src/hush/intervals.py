"""From counts of values to a mean, its standard error, and an interval that keeps its word.

The values of a channel are independent draws, bounded, and possibly few of them far from the rest. Three
intervals share the work:

- **Two values** (a category is supported or not, a sign is plus or minus): the count is binomial. The interval is
  Wilson's (1927), or Clopper and Pearson's exact one (1934) if fewer than 40 fall on one side.
- **Many values, enough reports**: the normal interval with the empirical variance. Enough means at least 100; at
  least 100 times the squared skewness of the values, four times what Cochran's rule asks for; and so many that outputs
  which are rare for every input are expected 30 times, as a variance that has not met them is too small.
- **Otherwise**: the empirical Bernstein interval of Maurer and Pontil (2009). It holds for every bounded
  distribution and every n, and is wide.

The share of missing values and the mean of the present have intervals of their own: see `ratio_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from statistics import NormalDist

from hush.binomial import lower_bound, upper_bound

ENOUGH = 100
SEEN = 30
FEW = 40

Interval = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """What is known of n independent values: their mean, unbiased variance and skewness, and their possible range.

    `rare` is a probability that outputs far from the typical ones have whatever the input. In predictions n is the
    number to be expected, which need not be whole.
    """

    n: float
    mean: float
    variance: float
    skewness: float
    smallest: float
    largest: float
    two_valued: bool
    rare: float = 1.0

    @property
    def stderr(self) -> float:
        """The standard error of the mean. Of two values of which one was never seen, one further report has each."""
        if self.n < 2:
            return math.inf
        if self.two_valued and self.variance == 0:
            return (self.largest - self.smallest) * math.sqrt((self.n + 1) / (self.n + 2) ** 3)
        return math.sqrt(self.variance / self.n)

    @property
    def normal(self) -> bool:
        """Whether there are enough values for a normal interval."""
        return self.n >= ENOUGH * max(1, self.skewness**2) and self.n * self.rare >= SEEN


def summarise(counts: Sequence[int], values: Sequence[float], rare: float = 1.0) -> Sample:
    """Return the moments of values that occurred so often."""
    n = sum(counts)
    smallest, largest, two_valued = min(values), max(values), len(set(values)) == 2
    if n == 0:
        return Sample(0, math.nan, math.nan, math.nan, smallest, largest, two_valued, rare)
    mean = math.fsum(map(mul, counts, values)) / n
    # Channels may have far more values than people gave; what did not occur adds nothing to an exact sum.
    seen = [(count, value - mean) for count, value in zip(counts, values, strict=True) if count]
    second = math.fsum(count * d * d for count, d in seen) / n
    third = math.fsum(count * d * d * d for count, d in seen) / n
    skewness = third / second**1.5 if second > 0 else math.inf
    variance = second * n / (n - 1) if n > 1 else math.nan
    return Sample(n, mean, variance, skewness, smallest, largest, two_valued, rare)


def moments(law: Sequence[float], values: Sequence[float], rare: float = 1.0) -> Sample:
    """Return what is to be expected of one value, given the probability of each: its moments are those of the law."""
    mean = math.fsum(map(mul, law, values))
    second = math.fsum(p * (value - mean) ** 2 for p, value in zip(law, values, strict=True))
    third = math.fsum(p * (value - mean) ** 3 for p, value in zip(law, values, strict=True))
    skewness = third / second**1.5 if second > 0 else math.inf
    return Sample(1.0, mean, second, skewness, min(values), max(values), len(set(values)) == 2, rare)


def bounds(sample: Sample | Ratio, level: float) -> Interval:
    """Return the interval of a mean, or of a ratio of means."""
    return ratio_interval(sample, level) if isinstance(sample, Ratio) else interval(sample, level)


def interval(sample: Sample, level: float) -> Interval:
    """Return an interval that contains the mean of the values with probability `level`."""
    if sample.n == 0:
        return -math.inf, math.inf
    if sample.two_valued:
        width = sample.largest - sample.smallest
        count = (sample.mean - sample.smallest) / width * sample.n
        if isinstance(sample.n, int):  # of real reports it is whole but for an error of rounding
            count = round(count)
        low, high = proportion(count, sample.n, level)
        return sample.smallest + width * low, sample.smallest + width * high
    if sample.normal:
        margin = quantile(level) * sample.stderr
        return sample.mean - margin, sample.mean + margin
    return _bernstein(sample, level)


def quantile(level: float) -> float:
    """Return how many standard errors a normal interval of this level reaches to each side."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _bernstein(sample: Sample, level: float) -> Interval:
    """Empirical Bernstein: theorem 4 of Maurer and Pontil, on both sides."""
    if sample.n < 2:
        return sample.smallest, sample.largest
    log = math.log(4 / (1 - level))
    width = sample.largest - sample.smallest
    margin = math.sqrt(2 * sample.variance * log / sample.n) + 7 * width * log / (3 * (sample.n - 1))
    return max(sample.mean - margin, sample.smallest), min(sample.mean + margin, sample.largest)


def proportion(count: float, n: float, level: float) -> Interval:
    """Return an interval for the probability of an event that happened `count` times in n."""
    if min(count, n - count) >= FEW:
        z2 = quantile(level) ** 2
        share = count / n
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        margin = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return centre - margin, centre + margin
    tail = (1 - level) / 2
    return lower_bound(count, n, tail), upper_bound(count, n, tail)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means of the same reports: of all values, and of presence."""

    numerator: Sample
    denominator: Sample
    covariance: float

    @property
    def point(self) -> float:
        """The mean of the present, or NaN if there seem to be none."""
        if self.numerator.n == 0 or self.denominator.mean <= 0:
            return math.nan
        return self.numerator.mean / self.denominator.mean

    @property
    def stderr(self) -> float:
        """The standard error to first order (the delta method)."""
        if math.isnan(self.point) or self.numerator.n < 2:
            return math.inf
        return math.sqrt(self.spread / self.numerator.n) / self.denominator.mean

    @property
    def spread(self) -> float:
        """The variance of (value - point*presence)."""
        linear = self.numerator.variance - 2 * self.point * self.covariance + self.point**2 * self.denominator.variance
        return max(linear, 0.0)


def ratio(counts: Sequence[int], values: Sequence[float], presence: Sequence[float], rare: float = 1.0) -> Ratio:
    """Return the mean of the present, given the values and the presence that each output stands for."""
    numerator, denominator = summarise(counts, values, rare), summarise(counts, presence, rare)
    covariance = math.nan
    if numerator.n > 1:
        products = (
            count * (value - numerator.mean) * (here - denominator.mean)
            for count, value, here in zip(counts, values, presence, strict=True)
        )
        covariance = math.fsum(products) / (numerator.n - 1)
    return Ratio(numerator, denominator, covariance)


def ratio_interval(ratio: Ratio, level: float) -> Interval:
    """Return an interval for the mean of the present.

    With enough reports it is Fieller's (1954): all r for which the mean of (value - r*presence) is within the
    normal margin of 0. With few, intervals of the two means hold together with the level asked for. Either may be
    without bounds, if nearly all values may be missing.
    """
    top, bottom = ratio.numerator, ratio.denominator
    if top.n < 2:
        return -math.inf, math.inf
    if top.normal and bottom.normal:
        z2 = quantile(level) ** 2 / top.n
        a = bottom.mean**2 - z2 * bottom.variance
        b = top.mean * bottom.mean - z2 * ratio.covariance
        c = top.mean**2 - z2 * top.variance
        if a <= 0 or bottom.mean <= 0:
            return -math.inf, math.inf
        root = math.sqrt(max(b * b - a * c, 0.0))
        return (b - root) / a, (b + root) / a
    both = (1 + level) / 2
    low, high = _bernstein(top, both)
    fewest, most = _bernstein(bottom, both)
    if fewest <= 0:
        return -math.inf, math.inf
    return min(low / fewest, low / most), max(high / fewest, high / most)
