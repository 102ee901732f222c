"""From a tally to means, shares, standard errors and intervals.

**Targets.** The estimates assume that respondents are drawn independently from some population. The target is the mean
of a numeric attribute in that population (of the clipped values, where the schema clips), on the attribute's own
scale, or the share of a category. An interval covers it with the stated probability. It accounts for the noise that
the devices added and for the chance of who responds. It does not account for people who declined, lied, were asked
twice, or sent malicious reports; for the last see `manipulation`.

**Ratio estimator** (the default): the average over those who answered the attribute. It is unbiased given their number.
**Paper's estimator**: the sum divided by n*k/d, the *expected* number who answered, as in Wang et al. (2019). It
is unbiased too, but adds a variance of (d/k - 1)*mean^2/n without any benefit.

Points are unbiased and may lie outside the domain, or be negative. `Estimates.clip` and `Estimates.project` remove
such values, but neither is a default: their results look better and are often closer to the truth, but are biased.
Their averages over weeks or regions stay biased: add tallies and estimate once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import ClassVar, Literal, Self

from hush.core.channels import Reading
from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Categorical, Numeric, Schema
from hush.errors import EstimateError
from hush.server.intervals import Interval, Ratio, Sample, bounds, ratio, summarise
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, number, percent, within

MAX_LEVEL = 1 - 1e-9

Estimator = Literal["ratio", "paper"]


@dataclass(frozen=True)
class Estimate:
    """A mean (category None) or the share of a category, from this number of `answers` about it."""

    attribute: str
    category: str | int | None
    point: float
    stderr: float
    low: float
    high: float
    answers: int


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
    }

    def __init__(
        self, rows: Iterable[Estimate] = (), *, level: float | None = None, schema: Schema | None = None
    ) -> None:
        super().__init__(rows)
        self.level, self._schema = level, schema

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown = []
        for row in self:
            what = "mean" if row.category is None else f"share of {row.category}"
            point, low, high = map(within(row.low, row.high), (row.point, row.low, row.high))
            shown.append((row.attribute, what, point, f"{low} .. {high}", f"{row.answers:,}"))
        return Table(("attribute", "estimate", "value", percent(self.level, "interval"), "answers"), shown, texts=2)

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
        return self._like(rows)

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
        return self._like(
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
    rows = []
    for attribute, reading, n, sample in _targets(tally, estimator):
        scale = Scale(attribute, reading.symbol)
        low, high = scale.bounds(bounds(sample, level))
        point = scale.value(sample.point if isinstance(sample, Ratio) else sample.mean)
        stderr = scale.half * sample.stderr
        if not math.isnan(point):  # rounding must not push an end of the interval past the point
            low, high = min(low, point), max(high, point)
        rows.append(Estimate(attribute.name, category_of(attribute, reading.symbol), point, stderr, low, high, n))
    return Estimates(rows, level=level, schema=tally.plan.schema)


def points(tally: Tally) -> list[float]:
    """Return only the points of `estimate`, for callers that need many estimates and no intervals."""
    found = []
    for question, attributes, answered, counts in zip(
        tally.plan.questions, tally.plan.attributes, tally.answered, tally.counts, strict=True
    ):
        for reading in question.channel.readings(counts, answered):
            if reading.presence is not None:
                point = ratio(reading.counts, reading.values, reading.presence).point
            else:
                n = sum(reading.counts)
                point = math.fsum(map(mul, reading.counts, reading.values)) / n if n else math.nan
            found.append(Scale(attributes[reading.attribute], reading.symbol).value(point))
    return found


def manipulation(tally: Tally, reports: int, *, estimator: Estimator = "ratio") -> Manipulations:
    """Return how far each point can have been moved if this many of the reports are malicious.

    Malicious reports may name any attribute and any output, but nothing else, because every report is checked. Each
    replaces at most one value by another of the channel's range. So with n answers the point moves by at most
    reports/n times that range, whatever the honest reports are.
    """
    if type(reports) is not int or reports < 0:
        raise EstimateError("the number of malicious reports must be a whole number, 0 or more")
    rows = []
    for attribute, reading, _, sample in _targets(tally, estimator):
        scale = Scale(attribute, reading.symbol)
        shift = scale.half * _shift(sample, reading, reports)
        rows.append(Manipulation(attribute.name, category_of(attribute, reading.symbol), shift))
    return Manipulations(rows, reports=reports)


def leverage(plan: Plan) -> Manipulations:
    """Return how far one malicious report can move each point, times the number of answers.

    With n answers the point moves by shift/n at most. For the mean of an optional attribute that is to first order,
    and if all values are present (if only a share is present, divide by that share).
    """
    rows = []
    for question, attributes in zip(plan.questions, plan.attributes, strict=True):
        for reading in question.channel.readings([0] * question.channel.alphabet.size, 0):
            attribute = attributes[reading.attribute]
            presence = reading.presence or [0.0] * len(reading.values)
            # The point of a ratio may lie anywhere in the domain. Its shift is linear in the point, so the ends decide.
            ranges = []
            for point in (-1.0, 1.0):
                mixed = [value - point * here for value, here in zip(reading.values, presence, strict=True)]
                ranges.append(max(mixed) - min(mixed))
            shift = Scale(attribute, reading.symbol).half * max(ranges)
            rows.append(Manipulation(attribute.name, category_of(attribute, reading.symbol), shift))
    return Manipulations(rows)


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


def _shift(sample: Sample | Ratio, reading: Reading, reports: int) -> float:
    if isinstance(sample, Sample):
        return min(1.0, reports / sample.n) * (sample.largest - sample.smallest) if sample.n else math.inf
    # The ratio r = V/P moves by (dV - r*dP)/(P + dP), where each report changes (V, P) by one output's values.
    assert reading.presence is not None
    point = sample.point
    mixed = [value - point * here for value, here in zip(reading.values, reading.presence, strict=True)]
    present = sample.denominator.mean * sample.denominator.n
    left = present - reports * (sample.denominator.largest - sample.denominator.smallest)
    return reports * (max(mixed) - min(mixed)) / left if left > 0 else math.inf


def _targets(tally: Tally, estimator: Estimator) -> Iterator[tuple[Attribute, Reading, int, Sample | Ratio]]:
    if estimator not in ("ratio", "paper"):
        raise EstimateError('estimator must be "ratio" or "paper"')
    plan = tally.plan
    for question, attributes, asked, answered, counts in zip(
        plan.questions, plan.attributes, plan.inclusions, tally.answered, tally.counts, strict=True
    ):
        for reading in question.channel.readings(counts, answered):
            n = sum(reading.counts)  # the reports about this attribute
            inclusion = asked * reading.share
            if reading.presence is not None:
                # Both estimators agree: their divisors cancel in the ratio.
                sample: Sample | Ratio = ratio(reading.counts, reading.values, reading.presence, reading.squares)
            elif estimator == "ratio" or inclusion == 1:
                sample = summarise(reading.counts, reading.values, reading.squares)
            else:
                # People who were not asked count as 0, the others as 1/inclusion times their value.
                weight = float(1 / inclusion)
                scaled = [0.0, *(weight * value for value in reading.values)]
                ends = (-1.0, 1.0) if reading.symbol is None else (0.0, 1.0)
                squares = reading.squares or Squares.of_two(reading.values, ends)
                sample = summarise([tally.reports - n, *reading.counts], scaled, squares.scaled(weight))
            yield attributes[reading.attribute], reading, n, sample


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
