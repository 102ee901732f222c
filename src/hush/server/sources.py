"""All that the questions of a plan say of each target: the mean of a number, or the share of a category.

Several questions may be about one attribute, alone or with others. Those that look at it as it is are its sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hush.core.channels import Channel, Ladder, Reading, Summed
from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Numeric
from hush.core.views import Value
from hush.errors import EstimateError
from hush.server.intervals import Interval, Pool, Ratio, Sample, clamped, sample_of, summarise
from hush.server.tally import Tally

Estimator = Literal["ratio", "paper"]

Parts = Sequence[tuple[float, Sample | Ratio, Reading | Summed]]
"""The weight of one answer of every source, its sample and its reading."""


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
class Read:
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


def targets(tally: Tally, estimator: Estimator) -> Iterator[Read]:
    """Yield every target with its sample, as an estimator reads it."""
    if estimator not in ("ratio", "paper"):
        raise EstimateError('estimator must be "ratio" or "paper"')
    for target in sources(tally.plan, tally):
        one = target.sources[0]
        if len(target.sources) == 1 and estimator == "paper" and one.inclusion != 1 and one.reading.presence is None:
            sample: Sample | Ratio | Pool = _by_paper(tally, one)
        else:
            # Both estimators agree on a ratio: their divisors cancel. Pooled sources are read by the ratio estimator.
            sample = target.pooled()
        yield Read(target.attribute, target.symbol, target.answers, sample, target.sources)


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

    def around(self, bounds: Interval, point: float) -> Interval:
        """Return an interval on this scale, cut to the domain. The point is on the scale already."""
        low, high = self.bounds(bounds)
        if not math.isnan(point):  # rounding must not push an end of the interval past the point
            low, high = min(low, point), max(high, point)
        return clamped((low, high), (self.low, self.high))


def ladders(plan: Plan) -> list[int]:
    """Return the questions about wide numbers."""
    return [index for index, question in enumerate(plan.questions) if isinstance(question.channel, Ladder)]
