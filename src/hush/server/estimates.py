"""From a tally to means, shares, standard errors and intervals.

**Targets.** The estimates assume that respondents are drawn independently from some population. The target is the mean
of a numeric attribute in that population (of the clipped values, where the schema clips), on the attribute's own
scale, or the share of a category. An interval covers it with the stated probability. It accounts for the noise that
the devices added and for the chance of who responds. It does not account for people who declined, lied, were asked
twice, or sent malicious reports; for the last see `manipulation`.

**Ratio estimator** (the default): the average over those who answered the attribute. It is unbiased given their number.
**Paper's estimator**: the sum divided by n*k/d, the *expected* number who answered, as in Wang et al. (2019). It
is unbiased too, but adds a variance of (d/k - 1)*mean^2/n without any benefit.
**Several questions** about one attribute (alone, or in relations with others) are pooled: a weighted average, with
weights that follow from the plan and the numbers of answers alone. It is unbiased, and its intervals are exact as those
of its parts, because different people answer different questions.

Points are unbiased and may lie outside the domain, or be negative. `Estimates.clip` and `Estimates.project` remove
such values, but neither is a default: their results look better and are often closer to the truth, but are biased.
Their averages over weeks or regions stay biased: add tallies and estimate once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import ClassVar, Literal, Self

from hush.core.channels import Channel, Ladder, Reading, Summed
from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Categorical, Numeric, Schema
from hush.core.views import Value
from hush.errors import EstimateError
from hush.server.intervals import Interval, Pool, Ratio, Sample, bounds, ratio, sample_of, summarise, top_of
from hush.server.ladders import Fitted, clipped, reach
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, number, percent, within

MAX_LEVEL = 1 - 1e-9

Estimator = Literal["ratio", "paper"]


@dataclass(frozen=True)
class Estimate:
    """A mean (category None) or the share of a category, from this number of `answers` about it.

    The mean of a wide number is that of its values clipped to `floor`..`ceiling`, and `beyond` is an upper bound of the
    share of people outside (`hush.server.ladders`). For all others these are None.
    """

    attribute: str
    category: str | int | None
    point: float
    stderr: float
    low: float
    high: float
    answers: int
    floor: float | None = None
    ceiling: float | None = None
    beyond: float | None = None


class Estimates(Rows[Estimate]):
    """A list of estimates, with the level of their intervals if one was given."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "point": float,
        "stderr": float,
        "low": float,
        "high": float,
        "answers": int,
        "floor": float,
        "ceiling": float,
        "beyond": float,
    }
    _rare: ClassVar = ("floor", "ceiling", "beyond")

    def __init__(
        self, rows: Iterable[Estimate] = (), *, level: float | None = None, schema: Schema | None = None
    ) -> None:
        super().__init__(rows)
        self.level, self._schema = level, schema

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown, notes = [], []
        for row in self:
            what = "mean" if row.category is None else f"share of {row.category}"
            if row.beyond is not None:
                what = f"mean of {clipping(row)}"
                notes.append(f"{what}: at most {100 * row.beyond:.2g} % of the people lie beyond.")
            point, low, high = map(within(row.low, row.high), (row.point, row.low, row.high))
            shown.append((row.attribute, what, point, f"{low} .. {high}", f"{row.answers:,}"))
        columns = ("attribute", "estimate", "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, texts=2, notes=tuple(notes))

    def clip(self) -> Self:
        """Move points and intervals into the domain: low to high for means, 0 to 1 for shares."""
        rows = []
        for row in self:
            attribute = self._known()[row.attribute]
            low, high = 0.0, 1.0
            if isinstance(attribute, Numeric) and row.category is None:
                low, high = attribute.low, attribute.high
            inside = [min(max(value, low), high) for value in (row.point, row.low, row.high)]
            rows.append(replace(row, point=inside[0], low=inside[1], high=inside[2]))
        return self.like(rows)

    def project(self) -> Self:
        """Replace the shares of each categorical attribute by the nearest ones that are nonnegative and add up to 1.

        Nearest is meant in the Euclidean sense: the same amount is taken from every share, and negative ones then
        become 0 (known as Norm-Sub). Intervals stay those of the unbiased points. Other rows do not change.
        """
        groups: dict[str, list[float]] = {}
        for row in self:
            if isinstance(self._known()[row.attribute], Categorical):
                groups.setdefault(row.attribute, []).append(row.point)
        for name, points in groups.items():
            attribute = self._known()[name]
            assert isinstance(attribute, Categorical)
            if len(points) != len(attribute.labels):
                raise EstimateError(f"attribute {name!r}: all of its categories must be given to project them")
            if any(math.isnan(point) for point in points):
                continue
            surplus = _surplus(points)
            groups[name] = [max(point - surplus, 0.0) for point in points]
        remaining = {name: iter(points) for name, points in groups.items()}
        return self.like(
            [replace(row, point=next(remaining[row.attribute])) if row.attribute in remaining else row for row in self]
        )

    def _known(self) -> Schema:
        if self._schema is None:
            raise EstimateError("these rows do not know their schema: use those that hush.estimate returned")
        return self._schema


@dataclass(frozen=True)
class Manipulation:
    """The most by which malicious reports can have moved a point."""

    attribute: str
    category: str | int | None
    shift: float


class Manipulations(Rows[Manipulation]):
    """A list of the largest shifts, for this many malicious reports."""

    _columns: ClassVar = {"attribute": str, "category": str, "shift": float}

    def __init__(self, rows: Iterable[Manipulation] = (), *, reports: int | None = None) -> None:
        super().__init__(rows)
        self.reports = reports

    def table(self) -> Table:
        """Return them, with the number of malicious reports beneath."""
        shown = [
            (row.attribute, "mean" if row.category is None else f"share of {row.category}", "±" + number(row.shift))
            for row in self
        ]
        notes = () if self.reports is None else (f"If {self.reports:,} of the reports are malicious.",)
        return Table(("attribute", "estimate", "moved by at most"), shown, texts=2, notes=notes)


def estimate(tally: Tally, *, level: float = 0.95, estimator: Estimator = "ratio") -> Estimates:
    """Return an estimate for every numeric attribute and every category, in the schema's order.

    For an optional numeric attribute the mean is that of the present values, and the category `MISSING` has the share
    of the missing ones. Reading a tally costs no privacy, however often you do it.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("estimate(tally) needs a Tally")
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    rows = [row for index in _ladders(tally) for row in _wide(tally, index, level)]
    for target in _targets(tally, estimator):
        attribute, symbol, sample = target.attribute, target.symbol, target.sample
        scale = Scale(attribute, symbol)
        low, high = scale.bounds(bounds(sample, level))
        point = scale.value(sample.mean if isinstance(sample, Sample) else sample.point)
        stderr = scale.half * sample.stderr
        if not math.isnan(point):  # rounding must not push an end of the interval past the point
            low, high = min(low, point), max(high, point)
        rows.append(Estimate(attribute.name, category_of(attribute, symbol), point, stderr, low, high, target.answers))
    order = {name: place for place, name in enumerate(tally.plan.schema.names)}
    rows.sort(key=lambda row: order[row.attribute])  # stable: within an attribute as its channel lists them
    return Estimates(rows, level=level, schema=tally.plan.schema)


def _ladders(tally: Tally) -> list[int]:
    """Return the questions about wide numbers."""
    return [index for index, question in enumerate(tally.plan.questions) if isinstance(question.channel, Ladder)]


def _wide(tally: Tally, index: int, level: float) -> list[Estimate]:
    """Return the mean of a wide number, clipped where people are, and the share of missing if it is optional."""
    channel, number = tally.plan.questions[index].channel, tally.plan.attributes[index][0]
    assert isinstance(channel, Ladder)
    assert isinstance(number, Numeric)
    n, low, high = tally.answered[index], number.low, number.high
    if n < 2:
        found = [Estimate(number.name, None, math.nan, math.inf, low, high, n, low, high, 1.0)]
        absent = Estimate(number.name, MISSING, math.nan, math.inf, 0.0, 1.0, n)
        return [*found, absent] if number.optional else found
    fit = Fitted(channel, number, tuple(tally.counts[index]), n)
    mean = clipped(fit, level)
    rows = [Estimate(number.name, None, mean.point, mean.stderr, *mean.interval, n, mean.low, mean.high, mean.beyond)]
    if number.optional:
        # The output "missing" is one of two values, as in a window.
        law = channel.table
        here, gone = float(law[0][-1]), float(law[-1][-1])
        pair = -here / (gone - here), (1 - here) / (gone - here)
        count = tally.counts[index][-1]
        sample = summarise((n - count, count), pair)
        rows.append(Estimate(number.name, MISSING, sample.mean, sample.stderr, *bounds(sample, level), n))
    return rows


def clipping(row: Estimate) -> str:
    """Return how the values of a wide number are clipped, as people write it."""
    assert row.floor is not None
    assert row.ceiling is not None
    if row.floor >= 0:
        return f"min({row.attribute}, {row.ceiling:,.6g})"
    return f"{row.attribute} clipped to {row.floor:,.6g}..{row.ceiling:,.6g}"


def points(tally: Tally) -> list[float]:
    """Return only the points of `estimate`, for callers that need many estimates and no intervals."""
    if _ladders(tally):
        return [row.point for row in estimate(tally)]
    found = []
    for target in sources(tally.plan, tally):
        if len(target.sources) == 1 and isinstance(reading := target.sources[0].reading, Reading):
            if reading.presence is not None:
                point = ratio(reading.counts, reading.values, reading.presence).point
            else:
                n = sum(reading.counts)
                point = math.fsum(map(mul, reading.counts, reading.values)) / n if n else math.nan
        else:
            sample = target.pooled()
            point = sample.mean if isinstance(sample, Sample) else sample.point
        found.append(Scale(target.attribute, target.symbol).value(point))
    return found


def manipulation(tally: Tally, reports: int, *, estimator: Estimator = "ratio") -> Manipulations:
    """Return how far each point can have been moved if this many of the reports are malicious.

    Malicious reports may name any attribute and any output, but nothing else, because every report is checked. Each
    replaces at most one value by another of the channel's range. So with n answers the point moves by at most
    reports/n times that range, whatever the honest reports are. If several questions are pooled, a report may also
    replace an answer to one of them by an answer to another, with another weight: the bound allows for both.
    """
    if type(reports) is not int or reports < 0:
        raise EstimateError("the number of malicious reports must be a whole number, 0 or more")
    rows = []
    for target in _targets(tally, estimator):
        shift = Scale(target.attribute, target.symbol).half * _shift(target.parts, reports)
        rows.append(Manipulation(target.attribute.name, category_of(target.attribute, target.symbol), shift))
    for index in _ladders(tally):
        channel, number = tally.plan.questions[index].channel, tally.plan.attributes[index][0]
        assert isinstance(channel, Ladder)
        assert isinstance(number, Numeric)
        n = tally.answered[index]
        shift = math.inf
        if n > 1:
            # A malicious report also helps to choose where numbers are clipped: beyond this bound, at the stated clip.
            shift = reports * reach(Fitted(channel, number, tuple(tally.counts[index]), n)) / n
        rows.append(Manipulation(number.name, None, shift))
    order = {name: place for place, name in enumerate(tally.plan.schema.names)}
    rows.sort(key=lambda row: order[row.attribute])
    return Manipulations(rows, reports=reports)


def leverage(plan: Plan) -> Manipulations:
    """Return how far one malicious report can move each point, times the number of answers.

    With n answers the point moves by shift/n at most. For the mean of an optional attribute that is to first order,
    and if all values are present (if only a share is present, divide by that share). If several questions are pooled,
    it is to first order too, and for answers as they are expected of each.
    """
    rows = []
    for target in sources(plan):
        asked = sum(float(source.inclusion) for source in target.sources)
        total = sum(float(source.inclusion) / source.noise for source in target.sources)
        # An answer has this weight, times the number of answers: 1 if there is one source.
        parts = [(asked / total / source.noise, sample_of(source.reading), source.reading) for source in target.sources]
        # The point may lie anywhere in the domain. Its shift is convex in the point, so the ends decide.
        ends = (-1.0, 1.0) if target.symbol is None else (0.0, 1.0)
        shift = Scale(target.attribute, target.symbol).half * max(_reach(parts, point) for point in ends)
        rows.append(Manipulation(target.attribute.name, category_of(target.attribute, target.symbol), shift))
    return Manipulations(rows)


Parts = Sequence[tuple[float, Sample | Ratio, Reading | Summed]]
"""The weight of one answer of every source, its sample and its reading."""


def _reach(parts: Parts, point: float) -> float:
    """Return how far replacing one report can move the average of (value - point*presence), given each one's weight.

    The new report may be about another source than the old one.
    """
    mixed = [(weight, *_mixed(sample, reading, point)) for weight, sample, reading in parts]
    return max(weight * high for weight, _, high in mixed) - min(weight * low for weight, low, _ in mixed)


def _mixed(sample: Sample | Ratio, reading: Reading | Summed, point: float) -> Interval:
    """Return the least and the largest (value - point*presence) of a report."""
    if isinstance(sample, Sample):
        return sample.smallest - point, sample.largest - point
    if isinstance(reading, Summed):
        ends = point * sample.denominator.smallest, point * sample.denominator.largest
        return sample.numerator.smallest - max(ends), sample.numerator.largest - min(ends)
    assert reading.presence is not None
    mixed = [value - point * here for value, here in zip(reading.values, reading.presence, strict=True)]
    return min(mixed), max(mixed)


def _surplus(points: Sequence[float]) -> float:
    """Return the amount to take from every point so that the positive rest adds up to 1."""
    total, surplus = 0.0, 0.0
    for rank, point in enumerate(sorted(points, reverse=True), start=1):
        total += point
        candidate = (total - 1) / rank
        if point <= candidate:
            break
        surplus = candidate
    return surplus


def _shift(parts: Parts, reports: int) -> float:
    """Return how far a point can have been moved, on the scale of the channels.

    The point is r = V/P, where V and P are weighted averages of value and presence (which is 1 for a plain mean). If
    reports had been others, it would be less by (dV - r*dP)/(P - dP), where dV and dP are the changes of V and P.
    """
    answers = math.fsum(weight * top_of(sample).n for weight, sample, _ in parts)
    met = [(weight * top_of(sample).n / answers, sample) for weight, sample, _ in parts if top_of(sample).n]
    if not met:
        return math.inf
    each = [(weight / answers, sample, reading) for weight, sample, reading in parts]
    here = [(weight, *_presence(sample)[1:]) for weight, sample, _ in each]
    # Reports may be replaced by others of a larger weight or presence: so much less of it may remain.
    gained = max(weight * high for weight, _, high in here) - min(weight * low for weight, low, _ in here)
    present = math.fsum(share * _presence(sample)[0] for share, sample in met)
    left = present - reports * gained
    whole = math.inf
    if not any(isinstance(sample, Ratio) for _, sample, _ in parts):
        tops = [top_of(sample) for _, sample, _ in parts]
        whole = max(top.largest for top in tops) - min(top.smallest for top in tops)
    if left <= 0:
        return whole
    point = math.fsum(share * top_of(sample).mean for share, sample in met) / present
    return min(whole, reports * _reach(each, point) / left)


def _presence(sample: Sample | Ratio) -> tuple[float, float, float]:
    """Return the average, the least and the largest presence: 1 for a plain mean."""
    if isinstance(sample, Sample):
        return 1.0, 1.0, 1.0
    return sample.denominator.mean, sample.denominator.smallest, sample.denominator.largest


@dataclass(frozen=True)
class Source:
    """One question's reading of a target. `inclusion` is the probability that a report is about it.

    `noise` is the variance of one report's value in a public reference population: equal shares of categories, or
    numbers with mean 0 on the scale [-1, 1]. Weights of a pool follow from it.
    """

    reading: Reading | Summed
    channel: Channel
    inclusion: Fraction
    noise: float

    @property
    def n(self) -> int:
        """The number of reports about the target."""
        return self.reading.n if isinstance(self.reading, Summed) else sum(self.reading.counts)


@dataclass(frozen=True)
class Target:
    """A mean (symbol None) or share, and all questions that say something of it."""

    attribute: Attribute
    symbol: int | None
    sources: tuple[Source, ...]

    @property
    def used(self) -> list[Source]:
        """The sources with answers, or the first if there are none."""
        return [source for source in self.sources if source.n] or [self.sources[0]]

    @property
    def answers(self) -> int:
        """The number of reports about it."""
        return sum(source.n for source in self.sources)

    def pooled(self) -> Sample | Ratio | Pool:
        """Return the sample of one source, or the pool of several: weighted by their answers and known noise."""
        samples = [sample_of(source.reading) for source in self.used]
        if len(samples) == 1:
            return samples[0]
        weights = [source.n / source.noise for source in self.used]
        return Pool(tuple((weight / sum(weights), sample) for weight, sample in zip(weights, samples, strict=True)))


@dataclass(frozen=True)
class _Read:
    """A target with its sample, as an estimator reads it."""

    attribute: Attribute
    symbol: int | None
    answers: int
    sample: Sample | Ratio | Pool
    sources: tuple[Source, ...]

    @property
    def parts(self) -> Parts:
        """Every source, with answers or without, as manipulations need it."""
        if not isinstance(self.sample, Pool) and len(self.sources) == 1:
            return [(1.0, self.sample, self.sources[0].reading)]
        return [(1 / source.noise, sample_of(source.reading), source.reading) for source in self.sources]


def sources(plan: Plan, tally: Tally | None = None) -> list[Target]:
    """Return every target of the schema that the plan's questions say something of, with all its sources.

    If people answer several questions each, their answers to two of them are not independent. A target is then read
    from one question alone: the one about it alone, or the first.
    """
    found: dict[tuple[str, int | None], list[Source]] = {}
    alone: dict[str, int] = {}
    for index, question in enumerate(plan.questions):
        counts = [0] * question.channel.alphabet.size if tally is None else tally.counts[index]
        plain = [view.attribute if isinstance(view, Value) else None for view in question.views]
        if not any(plain):
            continue
        for reading in question.channel.readings(counts, 0 if tally is None else tally.answered[index]):
            name = plain[reading.attribute]
            if name is None:
                continue
            if plan.k > 1 and alone.setdefault(name, plan.question(name)) != index:
                continue
            seen = plan.attributes[index][reading.attribute]
            source = Source(reading, question.channel, plan.inclusions[index] * reading.share, _noise(reading, seen))
            found.setdefault((name, reading.symbol), []).append(source)
    order = {name: place for place, name in enumerate(plan.schema.names)}
    keys = sorted(found, key=lambda key: order[key[0]])  # stable: within an attribute as its channel lists them
    return [Target(plan.schema[name], symbol, tuple(found[name, symbol])) for name, symbol in keys]


def _noise(reading: Reading | Summed, attribute: Attribute) -> float:
    """Return the variance of one report's value in the reference population."""
    x = 0.0
    if reading.symbol is not None:
        x = 0.5 if isinstance(attribute, Numeric) else 1 / len(attribute.labels)
    if reading.squares is not None:
        return sum(reading.squares.variances(x)) / 2
    assert isinstance(reading, Reading)
    smallest, largest = min(reading.values), max(reading.values)
    return (largest - x) * (x - smallest)


def _targets(tally: Tally, estimator: Estimator) -> Iterator[_Read]:
    if estimator not in ("ratio", "paper"):
        raise EstimateError('estimator must be "ratio" or "paper"')
    for target in sources(tally.plan, tally):
        one = target.sources[0]
        if len(target.sources) == 1 and estimator == "paper" and one.inclusion != 1 and one.reading.presence is None:
            sample: Sample | Ratio | Pool = _by_paper(tally, one)
        else:
            # Both estimators agree on a ratio: their divisors cancel. Pooled sources are read by the ratio estimator.
            sample = target.pooled()
        yield _Read(target.attribute, target.symbol, target.answers, sample, target.sources)


def _by_paper(tally: Tally, source: Source) -> Sample:
    """Return the sample of all people: who were not asked count as 0, the others as 1/inclusion times their value."""
    reading, weight = source.reading, float(1 / source.inclusion)
    if isinstance(reading, Summed):
        raise EstimateError('estimator="paper" is for questions about one attribute: use "ratio"')
    scaled = [0.0, *(weight * value for value in reading.values)]
    ends = (-1.0, 1.0) if reading.symbol is None else (0.0, 1.0)
    squares = reading.squares or Squares.of_two(reading.values, ends)
    return summarise([tally.reports - source.n, *reading.counts], scaled, squares.scaled(weight))


def category_of(attribute: Attribute, symbol: int | None) -> str | int | None:
    """Return the category of a reading's symbol, or None for the mean."""
    if symbol is None:
        return None
    return MISSING if isinstance(attribute, Numeric) else attribute.labels[symbol]


class Scale:
    """Converts values of a channel to the scale of the estimate."""

    def __init__(self, attribute: Attribute, symbol: int | None) -> None:
        self.low, self.high = 0.0, 1.0
        self.half, self._offset = 1.0, 0.0  # a share is on its own scale already
        if isinstance(attribute, Numeric) and symbol is None:
            self.low, self.high = attribute.low, attribute.high
            # Halve first: high - low is finite, but twice as much may not be.
            self.half = attribute.high / 2 - attribute.low / 2
            self._offset = attribute.low / 2 + attribute.high / 2

    def value(self, value: float) -> float:
        """Return a value on this scale."""
        return self._offset + self.half * value

    def bounds(self, bounds: Interval) -> Interval:
        """Return an interval on this scale. Where it has no bound, the domain's bound holds."""
        low, high = bounds
        return (
            self.value(low) if math.isfinite(low) else self.low,
            self.value(high) if math.isfinite(high) else self.high,
        )
