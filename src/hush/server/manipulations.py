"""How far malicious reports can have moved the points of estimates.

Malicious reports may name any attribute and any output, but nothing else, because every report is checked. Each
replaces at most one value by another of the channel's range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from hush.core.channels import Ladder, Reading, Summed
from hush.core.plan import Plan
from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.intervals import Interval, Ratio, Sample, sample_of, top_of
from hush.server.ladders import Fitted, fitted, reach
from hush.server.sources import (
    Estimator,
    Parts,
    Scale,
    any_of,
    category_of,
    in_order,
    ladders,
    long_lists,
    read_by,
    repeated,
    sources,
    targets,
)
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, number

_EVEN = 10**9  # reports: so many that no number is clipped


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


def manipulation(tally: Tally, reports: int, *, estimator: Estimator = "ratio") -> Manipulations:
    """Return how far each point can have been moved if this many of the reports are malicious.

    Malicious reports may name any attribute and any output, but nothing else, because every report is checked. Each
    replaces at most one value by another of the channel's range. So with n answers the point moves by at most
    reports/n times that range, whatever the honest reports are. If several questions are pooled, a report may also
    replace an answer to one of them by an answer to another, with another weight: the bound allows for both.
    """
    if type(reports) is not int or reports < 0:
        raise EstimateError("the number of malicious reports must be a whole number, 0 or more")
    rows = repeated(shifts(tally, reports, estimator), tally.plan, long_lists(tally.plan))
    return Manipulations(rows, reports=reports)


def shifts(tally: Tally, reports: int, estimator: Estimator = "ratio") -> list[Manipulation]:
    """Return the rows of `manipulation`, with one for all categories of a long list: they can be moved alike."""
    rows = []
    apart = long_lists(tally.plan)
    for target in targets(tally, estimator, apart):
        shift = Scale(target.attribute, target.symbol).half * _shift(target.parts, reports)
        rows.append(Manipulation(target.attribute.name, category_of(target.attribute, target.symbol), shift))
    for index in ladders(tally.plan):
        fit, shift = fitted(tally, index), math.inf if reports else 0.0
        if fit is not None and reports:
            # A malicious report also helps to choose where numbers are clipped: beyond this bound, at the stated clip.
            shift = reports * reach(fit) / fit.n
        rows.append(Manipulation(tally.plan.attributes[index][0].name, None, shift))
    for index in apart:
        one = any_of(tally.plan, index, (tally.answers(index), 0))
        source = one.sources[0]
        shift = _shift([(1.0, read_by(estimator, tally, source), source.reading)], reports)
        rows.append(Manipulation(one.attribute.name, category_of(one.attribute, 0), shift))
    return in_order(rows, tally.plan)


def leverage(plan: Plan) -> Manipulations:
    """Return how far one malicious report can move each point, times the number of answers.

    With n answers the point moves by shift/n at most. For the mean of an optional attribute that is to first order,
    and if all values are present (if only a share is present, divide by that share). If several questions are pooled,
    it is to first order too, and for answers as they are expected of each. For a wide number it is that of people who
    are spread evenly over its knots: where fewer lie far away, numbers are clipped and the shift is less.
    """
    return Manipulations(repeated(levers(plan), plan, long_lists(plan)))


def levers(plan: Plan) -> list[Manipulation]:
    """Return the rows of `leverage`, with one for all categories of a long list: they can be moved alike."""
    rows = []
    apart = long_lists(plan)
    for target in [*sources(plan, apart=apart), *(any_of(plan, index) for index in apart)]:
        asked = sum(float(source.inclusion) for source in target.sources)
        total = sum(float(source.inclusion) / source.noise for source in target.sources)
        # An answer has this weight, times the number of answers: 1 if there is one source.
        parts = [(asked / total / source.noise, sample_of(source.reading), source.reading) for source in target.sources]
        # The point may lie anywhere in the domain. Its shift is convex in the point, so the ends decide.
        ends = (-1.0, 1.0) if target.symbol is None else (0.0, 1.0)
        shift = Scale(target.attribute, target.symbol).half * max(_reach(parts, point) for point in ends)
        rows.append(Manipulation(target.attribute.name, category_of(target.attribute, target.symbol), shift))
    for index in ladders(plan):
        channel, number = plan.questions[index].channel, plan.attributes[index][0]
        assert isinstance(channel, Ladder)
        assert isinstance(number, Numeric)
        law = [sum(column) for column in zip(*channel.table[: len(channel.knots)], strict=True)]
        counts = tuple(round(_EVEN * p / len(channel.knots)) for p in law)
        rows.append(Manipulation(number.name, None, reach(Fitted(channel, number, counts))))
    return in_order(rows, plan)


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
