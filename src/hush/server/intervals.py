"""From counts of values to a mean, its standard error, and an interval with the stated coverage.

The values of a channel are independent, bounded draws, and a few of them may lie far from the rest. There are two
kinds of interval:

- **Two values** (a category is supported or not, a sign is plus or minus): the count is binomial. The interval is
  Wilson's (1927), or Clopper and Pearson's exact one (1934) if fewer than 100 fall on one side.
- **More values**: a score interval. It has every x for which the average m of n values is plausible:

      n*(m - x)^2 <= t^2 * max(s^2, least(x)) + L*|m - x|*room,   or   n*(m - x)^2 <= t^2 * max(s^2, most(x)),

  whichever is less, where s^2 is the variance seen and t Student's quantile. `least` and `most` bound the variance of
  every population with mean x, and are known from the channel (`hush.core.channels.squares`).

**Why least.** Some outputs are rare for every input, but contribute much to the variance. If n reports show none of
them, s^2 is too small. But the channel gives their probability, and so their contribution to the variance.

**Why L.** If x is true, the sample may have missed the people who would move the mean from m to x. They move it most if
they are at the end of the domain, a distance of `room` from m: then they are a share of |m - x|/room. All n reports
miss them with probability exp(-n*|m - x|/room) at most. That is 1 - level if |m - x| is L*room/n, with
L = -log(1 - level).

**Why most.** Whichever people the sample missed, the variance is at most `most`. With much noise, that is hardly more
than `least`.

With many reports only s^2 matters, and the interval is the normal one. No number of reports counts as "enough", so the
interval has no jump. The mean of the present, a ratio, has the same interval: see `ratio_interval`. Measurements show
that it covers at least 94 % at the level 0.95, in every population that was tried: docs/decisions/0008-intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

from hush.core.channels import Reading, Summed
from hush.core.channels.squares import Squares
from hush.server.binomial import lower_bound, normal, student, upper_bound
from hush.server.own import Among

FEW = 100

Interval = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """The mean and the unbiased variance of n independent values, and their possible range.

    `squares` bounds the variance whatever the population; a sample of two values needs none. In predictions n is the
    expected number, which need not be whole.
    """

    n: float
    mean: float
    variance: float
    smallest: float
    largest: float
    two_valued: bool
    squares: Squares | None = None

    @property
    def stderr(self) -> float:
        """The standard error of the mean. If one of two values was never seen, it adds one further report of each."""
        if self.n < 2:
            return math.inf
        if self.two_valued and self.variance == 0:
            return (self.largest - self.smallest) * math.sqrt((self.n + 1) / (self.n + 2) ** 3)
        return math.sqrt(self.variance / self.n)


def summarise(counts: Sequence[int], values: Sequence[float], squares: Squares | None = None) -> Sample:
    """Return the moments of values with these counts."""
    n = sum(counts)
    smallest, largest, two_valued = min(values), max(values), len(set(values)) == 2
    if n == 0:
        return Sample(0, math.nan, math.nan, smallest, largest, two_valued, squares)
    mean = math.fsum(map(mul, counts, values)) / n
    # Most values of a channel may not occur at all; skipping them does not change an exact sum.
    second = math.fsum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True) if count)
    variance = second / (n - 1) if n > 1 else math.nan
    return Sample(n, mean, variance, smallest, largest, two_valued, squares)


def sample_of(reading: Reading | Summed) -> Sample | Ratio:
    """Return the sample of a reading: a mean, or the mean of the present."""
    if isinstance(reading, Reading):
        if reading.presence is not None:
            return ratio(reading.counts, reading.values, reading.presence, reading.squares)
        return summarise(reading.counts, reading.values, reading.squares)
    top = _of_averages(reading.n, reading.mean, reading.square, reading.smallest, reading.largest, reading.squares)
    present = reading.presence
    if present is None:
        return top
    bottom = _of_averages(reading.n, present.mean, present.square, present.smallest, present.largest, None)
    covariance = math.nan
    if reading.n > 1 and present.product is not None:
        covariance = (present.product - top.mean * bottom.mean) * reading.n / (reading.n - 1)
    return Ratio(top, bottom, covariance)


def _of_averages(
    n: int, mean: float | None, square: float | None, smallest: float, largest: float, squares: Squares | None
) -> Sample:
    """Return the sample with these averages of a value and of its square."""
    if mean is None or square is None:
        return Sample(0, math.nan, math.nan, smallest, largest, False, squares)
    variance = max(square - mean * mean, 0.0) * n / (n - 1) if n > 1 else math.nan
    return Sample(n, mean, variance, smallest, largest, False, squares)


def moments(law: Sequence[float], values: Sequence[float], squares: Squares | None = None) -> Sample:
    """Return the expected sample of one value, given the probability of each: its moments are those of the law."""
    mean = math.fsum(map(mul, law, values))
    second = math.fsum(p * (value - mean) ** 2 for p, value in zip(law, values, strict=True))
    return Sample(1.0, mean, second, min(values), max(values), len(set(values)) == 2, squares)


def bounds(sample: Sample | Ratio | Pool, level: float) -> Interval:
    """Return the interval of a mean, or of a ratio of means."""
    if isinstance(sample, Pool):
        return pool_interval(sample, level)
    return ratio_interval(sample, level) if isinstance(sample, Ratio) else interval(sample, level)


def interval(sample: Sample, level: float) -> Interval:
    """Return an interval that contains the mean of the values with probability `level`."""
    if sample.n == 0:
        return -math.inf, math.inf
    if sample.two_valued:
        width = sample.largest - sample.smallest
        count = (sample.mean - sample.smallest) / width * sample.n
        if isinstance(sample.n, int):  # for real reports the count is whole, up to a rounding error
            count = round(count)
        low, high = proportion(count, sample.n, level)
        return sample.smallest + width * low, sample.smallest + width * high
    if sample.n < 2:
        return sample.smallest, sample.largest
    known = sample.squares
    assert known is not None
    first, last = known.ends
    test = tester(sample.n, level)

    def plausible(x: float) -> bool:
        # Only the point may lie beyond the domain; there the variance is that at the domain's end.
        least, most = known.variances(min(max(x, first), last))
        room = last - sample.mean if x > sample.mean else sample.mean - first
        return test(sample.mean - x, sample.variance, least, most, room)

    return edge(plausible, sample.mean, sample.smallest), edge(plausible, sample.mean, sample.largest)


def clamped(interval: Interval, ends: Interval) -> Interval:
    """Return the part of an interval where truths can lie, which costs no coverage.

    An interval that has no such part stays as it is: it shows that something rare happened, or that something is wrong.
    """
    low, high = ends
    if interval[1] < low or interval[0] > high:
        return interval
    return min(max(interval[0], low), high), min(max(interval[1], low), high)


def proportion(count: float, n: float, level: float) -> Interval:
    """Return an interval for the probability of an event that happened `count` times in n."""
    if min(count, n - count) >= FEW:
        z2 = normal(level) ** 2
        share = count / n
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        margin = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return centre - margin, centre + margin
    return _exact(count, n, (1 - level) / 2)


@lru_cache(maxsize=1024)  # many of a thousand rare categories have the same count
def _exact(count: float, n: float, tail: float) -> Interval:
    return lower_bound(count, n, tail), upper_bound(count, n, tail)


Test = Callable[[float, float, float, float, float], bool]


def tester(n: float, level: float) -> Test:
    """Return the test in the module's docstring, for an average that is `away` from its expectation."""
    t2, unmet = student(level, n - 1) ** 2, -math.log1p(-level)

    def plausible(away: float, variance: float, least: float, most: float, room: float) -> bool:
        doubt = t2 * max(variance, least) + unmet * abs(away) * max(room, 0.0)
        return n * away * away <= min(doubt, t2 * max(variance, most))

    return plausible


def edge(plausible: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where plausibility ends, from a plausible point `inside` towards `outside`, which may be plausible too."""
    if plausible(outside):
        return outside
    for _ in range(48):  # to one part in 10^14 of the way
        middle = (inside + outside) / 2
        if plausible(middle):
            inside = middle
        else:
            outside = middle
    return outside


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means of the same reports: of all values, and of presence.

    `own` has a relay's own reports that were subtracted, and the ratio that one of them has on average.
    """

    numerator: Sample
    denominator: Sample
    covariance: float
    own: tuple[Among, Ratio] | None = None

    @property
    def point(self) -> float:
        """The mean of the present, or NaN if the estimated share of the present is not above 0."""
        if not self.denominator.mean > 0:  # without reports it is NaN
            return math.nan
        return self.numerator.mean / self.denominator.mean

    @property
    def stderr(self) -> float:
        """The standard error to first order (the delta method)."""
        if math.isnan(self.point) or self.numerator.n < 2:
            return math.inf
        return math.sqrt(self.spread(self.point) / self.numerator.n) / self.denominator.mean

    def spread(self, x: float) -> float:
        """Return the variance of (value - x*presence)."""
        linear = self.numerator.variance - 2 * x * self.covariance + x**2 * self.denominator.variance
        return max(linear, 0.0) + self.added(x)

    def away(self, x: float) -> float:
        """Return the mean of (value - x*presence)."""
        return self.numerator.mean - x * self.denominator.mean

    def added(self, x: float) -> float:
        """Return the part of `spread` that comes from own reports."""
        if self.own is None:
            return 0.0
        among, law = self.own
        return among.added(law.spread(x), law.away(x), self.away(x))


@dataclass(frozen=True)
class Pool:
    """A weighted average of independent estimates of the same target: from questions that ask different people.

    The weights add up to 1. They depend on the plan and on the numbers of answers, never on what was answered: so the
    average is unbiased like its parts.
    """

    parts: tuple[tuple[float, Sample | Ratio], ...]

    @property
    def n(self) -> float:
        """The number of all answers."""
        return sum(top_of(part).n for _, part in self.parts)

    @property
    def point(self) -> float:
        """The average; for a mean of the present, NaN if their estimated share is not above 0."""
        return self.value / self.present if self.present > 0 else math.nan

    @property
    def stderr(self) -> float:
        """The standard error, to first order for a mean of the present."""
        x = self.point
        if math.isnan(x) or self.n < 2:
            return math.inf
        return math.sqrt(self.variances(x)[0]) / self.present

    @property
    def value(self) -> float:
        """The average of the values."""
        return math.fsum(weight * top_of(part).mean for weight, part in self.parts)

    @property
    def present(self) -> float:
        """The average of presence: 1 for a plain mean."""
        here = ((weight, part.denominator.mean if isinstance(part, Ratio) else 1.0) for weight, part in self.parts)
        return math.fsum(weight * mean for weight, mean in here)

    def variances(self, x: float) -> Interval:
        """Return the variance of the average if x is true: as seen, but at least, and at most, what channels allow."""
        least = most = 0.0
        for weight, part in self.parts:
            top = top_of(part)
            scale = weight * weight / top.n
            if top.two_valued:
                inside = min(max(x, top.smallest), top.largest)
                value = scale * (top.largest - inside) * (inside - top.smallest)
                least, most = least + value, most + value
                continue
            assert top.squares is not None
            first, last = top.squares.ends
            low, high = top.squares.variances(min(max(x, first), last))
            # One report shows no variance: allow for the most.
            seen = high if top.n < 2 else part.spread(x) if isinstance(part, Ratio) else part.variance
            least, most = least + scale * max(seen, low), most + scale * max(seen, high)
        return least, most


def top_of(sample: Sample | Ratio) -> Sample:
    """Return the sample of the values, without that of presence."""
    return sample.numerator if isinstance(sample, Ratio) else sample


def pool_interval(pool: Pool, level: float) -> Interval:
    """Return an interval for the mean of a pool: every x for which its average is plausible, as for one sample.

    The variances are those that the channels have if x is true, so the interval is Wilson's for shares. If fewer than
    100 of two values fall on one side, it has the correction for continuity, half a report: it is then about as wide as
    Clopper and Pearson's.
    """
    first = min(_ends(part)[0] for _, part in pool.parts)
    last = max(_ends(part)[1] for _, part in pool.parts)
    if pool.n < 3 or math.isnan(pool.point):
        return -math.inf, math.inf
    t2, unmet = student(level, pool.n - 1) ** 2, -math.log1p(-level)
    spread = math.fsum(weight * weight / top_of(part).n for weight, part in pool.parts)
    smallest = min(top_of(part).smallest for _, part in pool.parts)
    largest = max(top_of(part).largest for _, part in pool.parts)
    point, value, present = pool.point, pool.value, pool.present
    step = max((weight / part.n * _step(part) for weight, part in pool.parts if isinstance(part, Sample)), default=0.0)

    def plausible(x: float) -> bool:
        away = max(abs(value - x * present) - step / 2, 0.0)
        least, most = pool.variances(x)
        room = last - point if x > point else point - first
        doubt = t2 * least + unmet * away * max(room, 0.0) * spread
        return away * away <= min(doubt, t2 * most)

    if any(isinstance(part, Ratio) for _, part in pool.parts):
        middle = min(max(point, first), last)
        return edge(plausible, middle, first), edge(plausible, middle, last)
    return edge(plausible, point, smallest), edge(plausible, point, largest)


def _step(sample: Sample) -> float:
    """Return the distance of two values if one of them is rare; then the average moves in steps that matter."""
    if not sample.two_valued:
        return 0.0
    width = sample.largest - sample.smallest
    count = (sample.mean - sample.smallest) / width * sample.n
    return width if min(count, sample.n - count) < FEW else 0.0


def _ends(sample: Sample | Ratio) -> Interval:
    known = top_of(sample).squares
    return (0.0, 1.0) if known is None else known.ends


def ratio(
    counts: Sequence[int], values: Sequence[float], presence: Sequence[float], squares: Squares | None = None
) -> Ratio:
    """Return the mean of the present, given the value and the presence of each output."""
    numerator, denominator = summarise(counts, values, squares), summarise(counts, presence)
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

    It has every x in the domain for which the average of (value - x*presence) is plausible: its expectation is 0 if x
    is true. With many reports that is Fieller's interval (1954). If all values may be missing, it has no bounds.
    """
    top, bottom = ratio.numerator, ratio.denominator
    if top.n < 2 or bottom.mean <= 0:
        return -math.inf, math.inf
    known = top.squares
    assert known is not None
    first, last = known.ends
    test = tester(top.n, level)

    def plausible(x: float) -> bool:
        away, added = ratio.away(x), ratio.added(x)
        # A present person at an end of the domain has (the end - x) on average.
        room = last - x - away if away < 0 else away - (first - x)
        least, most = known.variances(x)
        return test(away, ratio.spread(x), least + added, most + added, room)

    middle = min(max(ratio.point, first), last)
    return edge(plausible, middle, first), edge(plausible, middle, last)
