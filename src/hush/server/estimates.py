"""From a tally to means, shares, standard errors and intervals.

**Targets.** The estimates assume that respondents are drawn independently from some population. The target is the mean
of a numeric attribute in that population (of the clipped values, where the schema clips), on the attribute's own
scale, or the share of a category. An interval covers it with the stated probability. It accounts for the noise that
the devices added and for the chance of who responds. It does not account for people who declined, lied, were asked
twice, or sent malicious reports; for the last see `hush.manipulation`.

**Ratio estimator** (the default): the average over those who answered the attribute. It is unbiased given their number.
**Paper's estimator**: the sum divided by n*k/d, the *expected* number who answered, as in Wang et al. (2019). It
is unbiased too, but adds a variance of (d/k - 1)*mean^2/n without any benefit.
**Several questions** about one attribute (alone, or in relations with others) are pooled: a weighted average, with
weights that follow from the plan and the numbers of answers alone. It is unbiased, and its intervals are exact as those
of its parts, because different people answer different questions.

**Many categories.** Each interval covers its own share with the stated probability. Of 200 such intervals, about 10
miss theirs, and the largest share is likely to be one that noise has moved. With `simultaneous=True` all intervals of
one attribute's shares hold at once with the stated probability (Bonferroni: each may miss with 1/200 of what is
allowed).

Points are unbiased and may lie outside the domain, or be negative. Intervals are cut to the domain, as truths lie
there: a share of -2 % may have the interval from 0 to 1 %. `Estimates.clip` and `Estimates.project` remove such points,
but neither is a default: their results look better and are often closer to the truth, but are biased. Their averages
over weeks or regions stay biased: add tallies and estimate once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import mul
from typing import ClassVar, Self

from hush.core.channels import Ladder, Reading, Subset
from hush.core.schema import MISSING, Categorical, Numeric, Schema
from hush.errors import EstimateError
from hush.server.intervals import Sample, bounds, ratio, summarise
from hush.server.ladders import Fitted, clipped, unclipped
from hush.server.own import spread
from hush.server.simplex import simplex
from hush.server.sources import Estimator, Read, Scale, category_of, ladders, sources, targets
from hush.server.tally import PeopleTally, Tally
from hush.show.rows import Rows
from hush.show.tables import Table, percent, within

MAX_LEVEL = 1 - 1e-9
MAX_TAIL = 100


@dataclass(frozen=True)
class Estimate:
    """A mean (category None) or the share of a category, from this number of `answers` about it.

    The mean of a wide number is that of its values clipped to `floor`..`ceiling`, and `beyond` is an upper bound of the
    share of people outside (`hush.server.ladders`). For all others these are None. With `tail` it is the mean without a
    clip, if survival falls at least as fast as x^-tail.
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
    tail: float | None = None


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
        "tail": float,
    }
    _rare: ClassVar = ("floor", "ceiling", "beyond", "tail")

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
            if row.tail is not None:
                what = "mean without a clip"
                notes.append(
                    f"{row.attribute}, {what}: if the share of people above x falls like x^-{row.tail:g} or faster."
                )
            point, low, high = map(within(row.low, row.high), (row.point, row.low, row.high))
            shown.append((row.attribute, what, point, f"{low} .. {high}", f"{row.answers:,}"))
        columns = ("attribute", "estimate", "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, texts=2, notes=tuple(notes))

    def clip(self) -> Self:
        """Move points into the domain: low to high for means, 0 to 1 for shares."""
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
            groups[name] = simplex(points)
        remaining = {name: iter(points) for name, points in groups.items()}
        return self.like(
            [replace(row, point=next(remaining[row.attribute])) if row.attribute in remaining else row for row in self]
        )

    def _known(self) -> Schema:
        if self._schema is None:
            raise EstimateError("these rows do not know their schema: use those that hush.estimate returned")
        return self._schema


def estimate(
    tally: Tally,
    *,
    level: float = 0.95,
    estimator: Estimator = "ratio",
    tail: float | None = None,
    simultaneous: bool = False,
) -> Estimates:
    """Return an estimate for every numeric attribute and every category, in the schema's order.

    For an optional numeric attribute the mean is that of the present values, and the category `MISSING` has the share
    of the missing ones. Reading a tally costs no privacy, however often you do it.

    The mean of a wide number (`scale="log"`) is clipped at a stated value. `tail` adds the mean without a clip, if you
    know what the reports cannot show: beyond half of the clip, the share of people above x falls at least as fast as
    x^-tail.

    `simultaneous` widens the intervals of shares: all those of one attribute hold at once with probability `level`. Use
    it to compare categories, or to say which of them can be told from none. Means keep their intervals.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("estimate(tally) needs a Tally")
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    if not isinstance(simultaneous, bool):
        raise EstimateError("simultaneous must be True or False")
    wide = ladders(tally.plan)
    if tail is not None:
        if isinstance(tail, bool) or not isinstance(tail, int | float) or not 1 < tail <= MAX_TAIL:
            raise EstimateError(f"tail must be a number above 1, at most {MAX_TAIL}: survival falls like x^-tail")
        if not wide:
            raise EstimateError('tail= is for wide numbers, and the plan asks for none: declare one with scale="log"')
    rows = [row for index in wide for row in _wide(tally, index, level, tail)]
    found = list(targets(tally, estimator))
    compared = _compared(found) if simultaneous else {}
    for target in found:
        attribute, symbol, sample = target.attribute, target.symbol, target.sample
        scale = Scale(attribute, symbol)
        point = scale.value(sample.mean if isinstance(sample, Sample) else sample.point)
        many = compared.get(attribute.name, 1) if symbol is not None else 1
        low, high = scale.around(bounds(sample, _shared(level, many)), point)
        stderr = scale.half * sample.stderr
        rows.append(Estimate(attribute.name, category_of(attribute, symbol), point, stderr, low, high, target.answers))
    order = {name: place for place, name in enumerate(tally.plan.schema.names)}
    rows.sort(key=lambda row: order[row.attribute])  # stable: within an attribute as its channel lists them
    if isinstance(tally, PeopleTally):
        all_ = estimate(tally.whole, level=level, estimator=estimator, tail=tail, simultaneous=simultaneous)
        rows = [_spread(row, whole, tally.plan.schema) for row, whole in zip(rows, all_, strict=True)]
    return Estimates(rows, level=level, schema=tally.plan.schema)


def _shared(level: float, many: int) -> float:
    """Return the level of each of some intervals that shall hold at once (Bonferroni)."""
    return level if many == 1 else 1 - (1 - level) / many


def _compared(found: Iterable[Read]) -> dict[str, int]:
    """Return how many shares of each attribute can be wrong independently of each other."""
    groups: dict[str, list[Read]] = {}
    for target in found:
        if target.symbol is not None:
            groups.setdefault(target.attribute.name, []).append(target)
    return {name: 1 if _mirrored(group) else len(group) for name, group in groups.items()}


def _mirrored(group: list[Read]) -> bool:
    """Whether there are two shares, and each interval is the other one's mirror image: both hold, or neither."""
    return len(group) == 2 and all(
        len(one.sources) == 1
        and isinstance(one.sources[0].channel, Subset)
        and isinstance(one.sample, Sample)
        and one.sample.two_valued  # the paper's estimator has a third value, for those who were not asked
        for one in group
    )


def _spread(row: Estimate, whole: Estimate, schema: Schema) -> Estimate:
    """Return an estimate of people with the spread of all reports, those of a relay among them."""
    if not row.answers or not math.isfinite(whole.stderr):
        return row
    stretch = whole.answers / row.answers
    low, high = spread(row.point, (row.low, row.high), (whole.point, whole.low, whole.high), stretch)
    attribute = schema[row.attribute]
    least, most = 0.0, 1.0
    if row.category is None and isinstance(attribute, Numeric):
        least, most = attribute.low, attribute.high
        if row.floor is not None and row.ceiling is not None:  # the clip of all reports is another one
            least, most = row.floor, row.ceiling
    stderr = max(row.stderr, stretch * whole.stderr)
    return replace(row, stderr=stderr, low=max(low, least), high=min(high, most))


def _wide(tally: Tally, index: int, level: float, tail: float | None) -> list[Estimate]:
    """Return the mean of a wide number, clipped where people are, and the share of missing if it is optional."""
    channel, number = tally.plan.questions[index].channel, tally.plan.attributes[index][0]
    assert isinstance(channel, Ladder)
    assert isinstance(number, Numeric)
    n, low, high = tally.answered[index], number.low, number.high
    if n < 2:
        found = [Estimate(number.name, None, math.nan, math.inf, low, high, n, low, high, 1.0)]
        if tail is not None:
            found.append(Estimate(number.name, None, math.nan, math.inf, low, high, n, tail=float(tail)))
        absent = Estimate(number.name, MISSING, math.nan, math.inf, 0.0, 1.0, n)
        return [*found, absent] if number.optional else found
    fit = Fitted(channel, number, tuple(tally.counts[index]), n)
    mean = clipped(fit, level)
    rows = [Estimate(number.name, None, mean.point, mean.stderr, *mean.interval, n, mean.low, mean.high, mean.beyond)]
    if tail is not None:
        free = unclipped(fit, level, tail)
        rows.append(Estimate(number.name, None, free.point, free.stderr, *free.interval, n, tail=float(tail)))
    if number.optional:
        # The output "missing" is one of two values, as in a window.
        law = channel.table
        here, gone = float(law[0][-1]), float(law[-1][-1])
        pair = -here / (gone - here), (1 - here) / (gone - here)
        count = tally.counts[index][-1]
        sample = summarise((n - count, count), pair)
        ends = Scale(number, 1).around(bounds(sample, level), sample.mean)
        rows.append(Estimate(number.name, MISSING, sample.mean, sample.stderr, *ends, n))
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
    if ladders(tally.plan):
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
