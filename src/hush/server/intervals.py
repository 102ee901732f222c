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

**Own reports** of a relay (`hush.server.own`) are subtracted from sums: m is then the mean of people alone, s^2 their
variance from the sums of squares, and n their number. Own reports add a variance that is known for every x, to s^2,
`least` and `most` alike. Values that are one of two get the same interval then, with half a report as a correction for
continuity, as their number is no longer binomial.

**The domain.** An interval is found before anything is cut. Then both of its distances from the point are laid around
the point that was moved into the domain, and what lies outside is cut off (`laid`). That covers the truth whenever the
interval did, and has no width 0: an interval that lies beyond the domain would shrink to its end.

With many reports only s^2 matters, and the interval is the normal one. No number of reports counts as "enough", so the
interval has no jump. The mean of the present, a ratio, has the same interval: see `ratio_interval`. Measurements show
that it covers at least 94 % at the level 0.95, in every population that was tried: docs/decisions/0008-intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import mul

from hush.core.channels import Reading, Summed
from hush.core.channels.squares import Squares
from hush.server.binomial import lower_bound, normal, student, upper_bound

FEW = 100
NOTHING = 0.75
"""An interval that is wider than this part of its domain says nothing."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Added:
    """What own reports of a relay add: `per` is their average number for each answer of a person.

    `loose` is the variance of their number, as a part of the average, and `law` the sample of one own report.
    """

    per: float
    loose: float
    law: Sample | Ratio

    def at(self, x: float, away: float = 0.0) -> float:
        """Return what they add to the variance of one person's value, if x is true.

        Of a ratio the value is (value - x*presence), whose average is `away` for people: 0 if x is true.
        """
        if isinstance(self.law, Ratio):
            return self.per * (self.law.spread(x) + self.loose * (self.law.away(x) - away) ** 2)
        return self.per * (self.law.variance + self.loose * (self.law.mean - x) ** 2)


@dataclass(frozen=True)
class Sample:
    """The mean and the unbiased variance of n independent values, and their possible range.

    `squares` bounds the variance whatever the population; a sample of two values needs none, and `ends` are then the
    domain. In predictions n is the expected number, which need not be whole. With `own` n is the number of people, and
    the moments are theirs.
    """

    n: float
    mean: float
    variance: float
    smallest: float
    largest: float
    two_valued: bool
    squares: Squares | None = None
    ends: Interval = (0.0, 1.0)
    own: Added | None = None

    @property
    def point(self) -> float:
        """The mean."""
        return self.mean

    @property
    def stderr(self) -> float:
        """The standard error of the mean. If one of two values was never seen, it adds one further report of each."""
        if self.n < 2:
            return math.inf
        if self.two_valued and self.variance == 0 and self.own is None:
            return (self.largest - self.smallest) * math.sqrt((self.n + 1) / (self.n + 2) ** 3)
        return math.sqrt((self.variance + self.added(self.mean)) / self.n)

    @property
    def domain(self) -> Interval:
        """The least and the largest mean that a population may have."""
        return self.ends if self.squares is None else self.squares.ends

    @property
    def freedom(self) -> float:
        """The number of reports behind the variance, minus 1."""
        return (self.n if self.own is None else self.n * (1 + self.own.per)) - 1

    def added(self, x: float) -> float:
        """Return what own reports add to the variance of one value, if x is the mean."""
        return 0.0 if self.own is None else self.own.at(x)

    def variances(self, x: float) -> Interval:
        """Return the least and the largest variance of one value if the mean is x; beyond the domain, at its end."""
        if self.two_valued or self.squares is None:  # of two values, the chance of each is from 0 to 1
            inside = min(max(x, self.smallest), self.largest)
            most = (self.largest - inside) * (inside - self.smallest)
            return most, most
        first, last = self.domain
        return self.squares.variances(min(max(x, first), last))


def summarise(
    counts: Sequence[int], values: Sequence[float], squares: Squares | None = None, ends: Interval = (0.0, 1.0)
) -> Sample:
    """Return the moments of values with these counts."""
    n = sum(counts)
    smallest, largest, two_valued = min(values), max(values), len(set(values)) == 2
    if n == 0:
        return Sample(0, math.nan, math.nan, smallest, largest, two_valued, squares, ends)
    mean = math.fsum(map(mul, counts, values)) / n
    # Most values of a channel may not occur at all; skipping them does not change an exact sum.
    second = math.fsum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True) if count)
    variance = second / (n - 1) if n > 1 else math.nan
    return Sample(n, mean, variance, smallest, largest, two_valued, squares, ends)


def sample_of(reading: Reading | Summed) -> Sample | Ratio:
    """Return the sample of a reading: a mean, or the mean of the present."""
    if isinstance(reading, Reading):
        if reading.presence is not None:
            return ratio(reading.counts, reading.values, reading.presence, reading.squares)
        ends = (-1.0, 1.0) if reading.symbol is None else (0.0, 1.0)
        return summarise(reading.counts, reading.values, reading.squares, ends)
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
    """Return an interval that contains the mean of the values with probability `level`. It may leave the domain."""
    if sample.n <= 0:
        return -math.inf, math.inf
    if sample.two_valued and sample.own is None:
        width = sample.largest - sample.smallest
        count = (sample.mean - sample.smallest) / width * sample.n
        if isinstance(sample.n, int):  # for real reports the count is whole, up to a rounding error
            count = round(count)
        low, high = proportion(count, sample.n, level)
        return sample.smallest + width * low, sample.smallest + width * high
    if sample.n < 2:
        return (sample.smallest, sample.largest) if sample.own is None else (-math.inf, math.inf)
    first, last = sample.domain
    test, mean, n = tester(sample.n, level, sample.freedom), sample.mean, sample.n
    step = _step(sample) / n if sample.two_valued else 0.0

    def plausible(x: float) -> bool:
        # Only the point may lie beyond the domain; there the variance is that at the domain's end.
        least, most = sample.variances(x)
        added = sample.added(min(max(x, first), last))
        seen = least if sample.two_valued else sample.variance
        room = last - mean if x > mean else mean - first
        return test(max(abs(mean - x) - step / 2, 0.0), seen + added, least + added, most + added, room)

    if sample.own is None:
        return edge(plausible, mean, sample.smallest), edge(plausible, mean, sample.largest)
    return beyond(plausible, mean, last - first)


def beyond(plausible: Callable[[float], bool], point: float, step: float) -> Interval:
    """Return where plausibility ends on both sides of a point, however far away, in steps that double."""
    found = []
    for way in (-step, step):
        for _ in range(64):
            if not plausible(point + way):
                found.append(edge(plausible, point, point + way))
                break
            way *= 2
        else:
            found.append(math.copysign(math.inf, way))
    return found[0], found[1]


def laid(ends: Interval, point: float, domain: Interval) -> Interval:
    """Return an interval within the domain: its distances from the point, laid around the point moved inside.

    It covers all of the domain that the interval covers. If there is no point, it is the domain.
    """
    if math.isnan(point):
        return domain
    (low, high), (least, most) = ends, domain
    if point < least:
        low, high = least, least + max(high - point, 0.0)
    elif point > most:
        low, high = most - max(point - low, 0.0), most
    return max(low, least), min(high, most)


def difference(one: Ends, other: Ends, correlation: float, domain: Interval) -> tuple[float, Interval]:
    """Return the difference of two points of one domain, and its interval, from theirs.

    Each distance of an end from its point stands for the spread if the truth lies at that end (Newcombe 1998), around
    points that were moved into the domain. A positive correlation would narrow the interval, and is not counted: it is
    estimated, and at the ends of the domain it is not there.
    """
    least, most = domain
    (x, (x_low, x_high)), (y, (y_low, y_high)) = one, other
    if math.isnan(x) or math.isnan(y):
        return math.nan, (-math.inf, math.inf)
    middle = min(max(x, least), most) - min(max(y, least), most)
    cross = 2 * min(max(correlation, -1.0), 0.0)

    def away(a: float, b: float) -> float:
        if math.isinf(a) or math.isinf(b):
            return math.inf
        return math.sqrt(max(a * a + b * b - cross * a * b, 0.0))

    down = away(max(x - x_low, 0.0), max(y_high - y, 0.0))
    up = away(max(x_high - x, 0.0), max(y - y_low, 0.0))
    width = most - least
    shown = min(max(x - y, -width), width)
    return x - y, (min(middle - down, shown), max(middle + up, shown))


Ends = tuple[float, Interval]
"""A point and its interval, before it was laid into its domain."""


def says_nothing(ends: Interval, domain: Interval) -> bool:
    """Whether an interval is so wide that it hardly narrows the domain: then there is nothing to show but words."""
    (low, high), (least, most) = ends, domain
    return not high / 2 - low / 2 <= NOTHING * (most / 2 - least / 2)


def needed(answers: float, ends: Interval, domain: Interval) -> int:
    """Return about how many answers it takes until an interval like this one says something, rounded up.

    `ends` are those before the interval was laid into its domain. Without any, it takes at least four times as many.
    """
    (low, high), (least, most) = ends, domain
    part = (high / 2 - low / 2) / (most / 2 - least / 2)
    factor = (part / NOTHING) ** 2 if math.isfinite(part) else 4.0
    return enough(max(answers * factor, answers + 1))


def enough(answers: float) -> int:
    """Return a number of answers with two digits, rounded up."""
    if not answers < 1e18:
        return 10**18
    unit = int(10 ** max(0, math.floor(math.log10(max(answers, 1))) - 1))
    return math.ceil(answers / unit) * unit


def least_answers(sample: Sample | Ratio | Pool, level: float) -> int:
    """Return about how many answers a mean needs until its interval says something, whoever the people are."""
    tops = [top_of(part) for _, part in sample.parts] if isinstance(sample, Pool) else [top_of(sample)]
    found = []
    for top in tops:
        least, most = top.domain
        worst = max(top.variances(x)[1] for x in (least, least / 2 + most / 2, most))
        found.append((2 * normal(level) / (NOTHING * (most - least))) ** 2 * worst)
    return enough(max(min(found), 3.0))


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


def tester(n: float, level: float, freedom: float) -> Test:
    """Return the test in the module's docstring, for an average that is `away` from its expectation."""
    t2, unmet = student(level, freedom) ** 2, -math.log1p(-level)

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

    With `own` the moments are those of people, without a relay's own reports.
    """

    numerator: Sample
    denominator: Sample
    covariance: float
    own: Added | None = None

    @property
    def n(self) -> float:
        """The number of answers."""
        return self.numerator.n

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
        return 0.0 if self.own is None else self.own.at(x)

    @property
    def freedom(self) -> float:
        """The number of reports behind the variance, minus 1."""
        return (self.n if self.own is None else self.n * (1 + self.own.per)) - 1


def people_of(whole: Sample | Ratio, law: Sample | Ratio, own: float, loose: float) -> Sample | Ratio:
    """Return the sample of people, given that of all reports and that of one own report.

    `own` is the average number of own reports among them, which need not be whole, and `loose` is the variance of it as
    a part of the average. What they add on average is subtracted from sums of values and of squares.
    """
    n = top_of(whole).n - own
    if n <= 0:  # about as many as there are own reports: nothing is known of people
        if isinstance(whole, Sample):
            return replace(whole, n=0, mean=math.nan, variance=math.nan)
        none = [replace(part, n=0, mean=math.nan, variance=math.nan) for part in (whole.numerator, whole.denominator)]
        return Ratio(none[0], none[1], math.nan)
    added = Added(own / n, loose, law)
    if isinstance(whole, Sample):
        assert isinstance(law, Sample)
        return replace(_left(whole, law, own, n), own=added)
    assert isinstance(law, Ratio)
    top, bottom = _left(whole.numerator, law.numerator, own, n), _left(whole.denominator, law.denominator, own, n)
    product = _product(whole, whole.numerator.n) * whole.numerator.n - _product(law, math.inf) * own
    covariance = (product / n - top.mean * bottom.mean) * n / (n - 1) if n > 1 else math.nan
    return Ratio(top, bottom, covariance, added)


def _left(whole: Sample, law: Sample, own: float, n: float) -> Sample:
    """Return the moments of the n values that are left without own reports."""
    mean = (whole.n * whole.mean - own * law.mean) / n
    square = whole.mean**2 + (whole.variance * (whole.n - 1) / whole.n if whole.n > 1 else 0.0)
    second = (whole.n * square - own * (law.mean**2 + law.variance)) / n
    variance = max(second - mean * mean, 0.0) * n / (n - 1) if n > 1 else math.nan
    return replace(whole, n=n, mean=mean, variance=variance)


def _product(found: Ratio, n: float) -> float:
    """Return the average product of value and presence."""
    together = found.covariance * (n - 1) / n if 1 < n < math.inf else found.covariance if n > 1 else 0.0
    return together + found.numerator.mean * found.denominator.mean


@dataclass(frozen=True)
class Pool:
    """A weighted average of independent estimates of the same target: from questions that ask different people.

    The weights add up to 1. They depend on the plan and on the numbers of answers, never on what was answered: so the
    average is unbiased like its parts.
    """

    parts: tuple[tuple[float, Sample | Ratio], ...]

    @property
    def freedom(self) -> float:
        """The number of reports behind the variances, minus 1."""
        return sum(part.freedom + 1 for _, part in self.parts) - 1

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
            first, last = top.domain
            low, high = top.variances(x)
            added = part.added(min(max(x, first), last))
            # One report shows no variance: allow for the most.
            seen = low
            if not top.two_valued:
                seen = (
                    high if top.n < 2 else part.spread(x) - part.added(x) if isinstance(part, Ratio) else part.variance
                )
            least, most = least + scale * (max(seen, low) + added), most + scale * (max(seen, high) + added)
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
    first = min(top_of(part).domain[0] for _, part in pool.parts)
    last = max(top_of(part).domain[1] for _, part in pool.parts)
    if pool.n < 3 or math.isnan(pool.point):
        return -math.inf, math.inf
    t2, unmet = student(level, pool.freedom) ** 2, -math.log1p(-level)
    spread = math.fsum(weight * weight / top_of(part).n for weight, part in pool.parts)
    point, value, present = pool.point, pool.value, pool.present
    step = max((weight / part.n * _step(part) for weight, part in pool.parts if isinstance(part, Sample)), default=0.0)

    def plausible(x: float) -> bool:
        away = max(abs(value - x * present) - step / 2, 0.0)
        least, most = pool.variances(x)
        room = last - point if x > point else point - first
        doubt = t2 * least + unmet * away * max(room, 0.0) * spread
        return away * away <= min(doubt, t2 * most)

    return beyond(plausible, point, last - first)


def _step(sample: Sample) -> float:
    """Return the distance of two values if one of them is rare; then the average moves in steps that matter."""
    if not sample.two_valued:
        return 0.0
    width, total, everything = sample.largest - sample.smallest, sample.n * sample.mean, sample.n
    if sample.own is not None:
        assert isinstance(sample.own.law, Sample)
        everything = sample.n * (1 + sample.own.per)
        total += sample.n * sample.own.per * sample.own.law.mean
    count = (total - everything * sample.smallest) / width
    return width if min(count, everything - count) < FEW else 0.0


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
    """Return an interval for the mean of the present. It may leave the domain, and it may have no bounds.

    It has every x for which the average of (value - x*presence) is plausible: its expectation is 0 if x is true. With
    many reports that is Fieller's interval (1954). If all values may be missing, it has no bounds.
    """
    top, bottom = ratio.numerator, ratio.denominator
    if top.n < 2 or not bottom.mean > 0:
        return -math.inf, math.inf
    known = top.squares
    assert known is not None
    first, last = known.ends
    test = tester(top.n, level, ratio.freedom)

    def plausible(x: float) -> bool:
        away, inside = ratio.away(x), min(max(x, first), last)
        added = ratio.added(inside)
        # A present person at an end of the domain has (the end - x) on average.
        room = last - x - away if away < 0 else away - (first - x)
        least, most = known.variances(inside)
        return test(away, ratio.spread(x), least + added, most + added, room)

    return beyond(plausible, ratio.point, last - first)
