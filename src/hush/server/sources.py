"""All that the questions of a plan say of each target: the mean of a number, or the share of a category.

Several questions may be about one attribute, alone or with others. Those that look at it as it is are its sources.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeVar

from hush.core.channels import Channel, Geometry, Ladder, Reading, Summed
from hush.core.channels.base import noise_of
from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.core.schema import MAX_CATEGORIES, MISSING, Attribute, Categorical, Choices, Numeric
from hush.core.views import Value
from hush.core.word_views import Member
from hush.errors import EstimateError
from hush.server.intervals import Interval, Pool, Ratio, Sample, laid, people_of, sample_of, summarise, top_of
from hush.server.own import MANY, Among
from hush.server.tally import Tally
from hush.show.rows import Row

Estimator = Literal["ratio", "paper"]
T = TypeVar("T", bound=Row)

Parts = Sequence[tuple[float, Sample | Ratio, Reading | Summed]]
"""The weight of one answer of every source, its sample and its reading."""


@dataclass(frozen=True)
class Source:
    """One question's reading of a target. `inclusion` is the probability that a report is about it.

    `noise` is the variance of one report's value in a public reference population: equal shares of categories, or
    numbers with mean 0 on the scale [-1, 1]. Weights of a pool follow from it. If a relay's own reports are among those
    read, `own` has how many there are on average, and `law` the reading of very many of them.
    """

    reading: Reading | Summed
    channel: Channel
    inclusion: Fraction
    noise: float
    own: Among | None = None
    law: Reading | Summed | None = None

    @cached_property
    def sample(self) -> Sample | Ratio:
        """The sample of people's reports about the target."""
        if self.own is None or self.law is None:
            return sample_of(self.reading)
        # Of a channel of several attributes, only some reports are about the target.
        part = _number(self.law) / MANY
        loose = self.own.loose if part == 1 else 1.0
        return people_of(sample_of(self.reading), sample_of(self.law), self.own.number * part, loose)

    @property
    def n(self) -> float:
        """The number of people's reports about the target."""
        return _number(self.reading) if self.own is None else top_of(self.sample).n

    @property
    def answers(self) -> int:
        """The number of people's reports about the target, as a whole number."""
        return round(self.n)

    @property
    def weight(self) -> float:
        """The weight of one answer in a pool: the inverse of its variance in the reference population."""
        own = None if self.own is None or not self.n else self.sample.own
        return 1 / (self.noise + (0.0 if own is None else own.per * top_of(own.law).variance))


def _number(reading: Reading | Summed) -> int:
    return reading.n if isinstance(reading, Summed) else sum(reading.counts)


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
        return sum(source.answers for source in self.sources)

    def pooled(self) -> Sample | Ratio | Pool:
        """Return the sample of one source, or the pool of several: weighted by their answers and known noise."""
        samples = [source.sample for source in self.used]
        if len(samples) == 1:
            return samples[0]
        weights = [source.n * source.weight for source in self.used]
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
        return [(source.weight, source.sample, source.reading) for source in self.sources]


def long_lists(plan: Plan) -> list[int]:
    """Return the questions about one of very many categories that no other question is about.

    Their shares differ in one count each, so `estimate` reads them all at once.
    """
    asked = [view.of[0] for question in plan.questions for view in question.views if isinstance(view, Value)]
    return [
        index
        for index, question in enumerate(plan.questions)
        if isinstance(question.channel, Geometry)
        and isinstance(view := question.views[0], Value)
        and asked.count(view.attribute) == 1
    ]


def in_order(rows: Iterable[T], plan: Plan) -> list[T]:
    """Return rows attribute by attribute, as in the schema; within an attribute they stay as they are."""
    order = {name: place for place, name in enumerate(plan.schema.names)}
    return sorted(rows, key=lambda row: order[row.attribute])


def any_of(
    plan: Plan, index: int, counts: tuple[int, int] = (0, 0), own: Among | None = None, supporting: int = 0
) -> Target:
    """Return one category of a long list, which so many reports do not support and support.

    All categories have the same noise, and can be moved alike. Of `MANY` own reports of a relay so many support it.
    """
    channel, attribute = plan.questions[index].channel, plan.attributes[index][0]
    assert isinstance(channel, Geometry)
    values = tuple(map(float, channel.supports))
    reading = Reading(0, 0, counts, values)
    law = None if own is None else Reading(0, 0, (MANY - supporting, supporting), values)
    source = Source(reading, channel, plan.inclusions[index], noise_of(reading, attribute), own, law)
    return Target(attribute, 0, (source,))


def repeated(rows: Iterable[T], plan: Plan, apart: Collection[int]) -> list[T]:
    """Return rows in order, with that of each long list in `apart` repeated for all its categories."""
    long = {attribute.name: attribute for attribute in (plan.attributes[index][0] for index in apart)}
    found: list[T] = []
    for row in in_order(rows, plan):
        attribute = long.get(row.attribute)
        if isinstance(attribute, Categorical):
            found += [replace(row, category=label) for label in attribute.labels]  # type: ignore[type-var]
        else:
            found.append(row)
    return found


def too_long(plan: Plan) -> list[int]:
    """Return the questions about lists that are too long to be compared or read value by value."""
    return [index for index in long_lists(plan) if _size(plan, index) > MAX_CATEGORIES + 2]  # with other and missing


def _size(plan: Plan, index: int) -> int:
    channel = plan.questions[index].channel
    assert isinstance(channel, Geometry)
    return channel.size


def sources(plan: Plan, tally: Tally | None = None, apart: Collection[int] = ()) -> list[Target]:
    """Return every target of the schema that the plan's questions say something of, with all its sources.

    `apart` are questions that are left out.

    If people answer several questions each, their answers to two of them are not independent. A target is then read
    from one question alone: the one about it alone, or the first.
    """
    found: dict[tuple[str, int | None], list[Source]] = {}
    alone: dict[object, int] = {}
    for index, question in enumerate(plan.questions):
        if index in apart or not any(isinstance(view, Value | Member) for view in question.views):
            continue
        own = None if tally is None else tally.among(index)
        for reading, law in _readings(question.channel, tally, index, own):
            view = question.views[reading.attribute]
            if isinstance(view, Member):
                name, symbol = view.attribute, _member_symbol(plan, view, reading.symbol)
                first = alone.setdefault((name, symbol), index) if symbol is not None else -1
            elif isinstance(view, Value):
                name, symbol = view.attribute, reading.symbol
                first = alone.setdefault(name, plan.question(name)) if plan.k > 1 else index
            else:
                continue
            if first < 0 or (plan.k > 1 and first != index):
                continue
            seen = plan.attributes[index][reading.attribute]
            chance, noise = plan.inclusions[index] * reading.share, noise_of(reading, seen)
            source = Source(reading, question.channel, chance, noise, own, law)
            found.setdefault((name, symbol), []).append(source)
    order = {item.name: (place, isinstance(item, Choices)) for place, item in enumerate(plan.schema.attributes)}
    # Stable: within an attribute as its channel lists them. Choices may have many channels, and are sorted.
    keys = sorted(found, key=lambda key: (order[key[0]][0], (key[1] or 0) * order[key[0]][1]))
    return [Target(plan.schema[name], symbol, tuple(found[name, symbol])) for name, symbol in keys]


def asked(tally: Tally, index: int) -> Sample | Ratio:
    """Return the sample of the mean of a number from one question, which asks about it as it is."""
    question, own = tally.plan.questions[index], tally.among(index)
    attribute = tally.plan.attributes[index][0]
    for reading, law in _readings(question.channel, tally, index, own):
        if reading.symbol is None:
            return Source(reading, question.channel, Fraction(1), noise_of(reading, attribute), own, law).sample
    raise EstimateError(f"attribute {attribute.name!r}: its question does not ask for a mean")


def last_of_all(tally: Tally, index: int, values: tuple[float, float]) -> Sample:
    """Return the share of the people to whom the last output of a question belongs, as a sample of two values."""
    count, n, own = tally.counts[index][-1], tally.answered[index], tally.among(index)
    return supported((n - count, count), values, own, 0 if own is None else own.counts[-1])


def supported(counts: tuple[int, int], values: Sequence[float], own: Among | None, supporting: int) -> Sample:
    """Return the sample of a share from the reports that do not support it and those that do.

    Of `MANY` own reports of a relay so many support it.
    """
    found = summarise(counts, values)
    if own is None:
        return found
    left = people_of(found, summarise((MANY - supporting, supporting), values), own.number, own.loose)
    assert isinstance(left, Sample)
    return left


def _readings(
    channel: Channel, tally: Tally | None, index: int, own: Among | None
) -> Iterator[tuple[Reading | Summed, Reading | Summed | None]]:
    """Yield the readings of a question, each with that of very many own reports if some are among them."""
    if tally is None:
        found = channel.readings(channel.alphabet.zeros(), 0)
    else:
        found = channel.readings(tally.counts[index], tally.answered[index])
    laws = [None] * len(found) if own is None else channel.readings(own.counts, MANY)
    yield from zip(found, laws, strict=True)


def _member_symbol(plan: Plan, view: Member, symbol: int | None) -> int | None:
    """Return the place of a yes, or of "missing", among the labels of choices; None for a no."""
    choices = plan.schema[view.attribute]
    assert isinstance(choices, Choices)
    return {1: view.place(plan.schema), 2: len(choices.values)}.get(symbol or 0)


def targets(tally: Tally, estimator: Estimator, apart: Collection[int] = ()) -> Iterator[Read]:
    """Yield every target with its sample, as an estimator reads it. `apart` are questions that are left out."""
    if estimator not in ("ratio", "paper"):
        raise EstimateError('estimator must be "ratio" or "paper"')
    for target in sources(tally.plan, tally, apart):
        # Pooled sources are read by the ratio estimator.
        alone = len(target.sources) == 1
        sample = read_by(estimator, tally, target.sources[0]) if alone else target.pooled()
        yield Read(target.attribute, target.symbol, target.answers, sample, target.sources)


def read_by(estimator: Estimator, tally: Tally, source: Source) -> Sample | Ratio:
    """Return the sample of a source, as an estimator reads it."""
    # Both estimators agree on a ratio: their divisors cancel.
    if estimator == "paper" and source.inclusion != 1 and source.reading.presence is None:
        return _by_paper(tally, source)
    return source.sample


def _by_paper(tally: Tally, source: Source) -> Sample:
    """Return the sample of all people: who were not asked count as 0, the others as 1/inclusion times their value."""
    reading, weight = source.reading, float(1 / source.inclusion)
    if isinstance(reading, Summed):
        raise EstimateError('estimator="paper" is for questions about one attribute: use "ratio"')
    scaled = [0.0, *(weight * value for value in reading.values)]
    ends = (-1.0, 1.0) if reading.symbol is None else (0.0, 1.0)
    squares = (reading.squares or Squares.of_two(reading.values, ends)).scaled(weight)
    whole = summarise([tally.reports - sum(reading.counts), *reading.counts], scaled, squares)
    if source.own is None or not isinstance(source.law, Reading):
        return whole
    counts = source.law.counts
    asked = source.own.number / tally.own * sum(counts) / MANY  # the share of own reports that are about the target
    law = summarise([round(sum(counts) * (1 - asked) / asked), *counts], scaled, squares)
    found = people_of(whole, law, tally.own, 0.0)
    assert isinstance(found, Sample)
    return found


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

    def around(self, bounds: Interval, point: float, *, cut: bool = True) -> Interval:
        """Return an interval on this scale, laid into the domain unless told else. The point is on the scale already.

        Without the cut, it reaches from the point as far as it did, and has no bound where it had none.
        """
        low, high = bounds
        low, high = (self.value(end) if math.isfinite(end) else end for end in (low, high))
        if not math.isnan(point):  # rounding must not push an end of the interval past the point
            low, high = min(low, point), max(high, point)
        return laid((low, high), point, (self.low, self.high)) if cut else (low, high)


def ladders(plan: Plan) -> list[int]:
    """Return the questions about wide numbers."""
    return [index for index, question in enumerate(plan.questions) if isinstance(question.channel, Ladder)]
