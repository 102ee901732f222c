"""A relay's own reports in a prediction.

A collector cannot tell own reports from those of people. It subtracts what they add on average, and counts the variance
that remains (`hush.server.own`). A prediction does the same with expected moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.errors import DesignError, PlanError
from hush.server.intervals import Added, Ratio, Sample, sample_of, top_of
from hush.server.own import Among, among, expected
from hush.server.sources import sources
from hush.server.tally import MAX_REPORTS, Tally

_MANY = 1 << 48  # reports whose expected counts are rounded to whole numbers


@dataclass(frozen=True)
class Part:
    """The expected value of one report about a target, and the probability that a report is about it."""

    inclusion: float
    noise: float
    report: Sample | Ratio
    present: float = 1.0
    """The assumed share of people who have the attribute, for a mean of the present whose `report` is a Sample."""
    loose: float = 0.0
    """The variance of the number of own reports about it, as a part of their average."""

    @property
    def variance(self) -> float:
        """The variance of one value; for a mean of the present that of its linear part."""
        if isinstance(self.report, Ratio):
            return self.report.spread(self.report.point) / self.report.denominator.mean**2
        return self.report.variance + self.report.added(self.report.mean)


@lru_cache(maxsize=64)
def own_tally(plan: Plan) -> Tally:
    """Return the expected counts of very many own reports."""
    try:
        return Tally(plan, *expected(plan, _MANY))
    except PlanError as error:
        raise DesignError(f"a relay cannot add reports of its own to this plan: {error}") from None


def own_parts(plan: Plan) -> list[list[Part]]:
    """Return the parts of own reports, for every target and source of `hush.server.sources`."""
    found = []
    for target in sources(plan, own_tally(plan)):
        parts = []
        for one in target.sources:
            asked = one.n / _MANY
            loose = 0.0 if asked == 1 else 1.0 if plan.k == 1 else 1 - asked
            parts.append(Part(asked, one.noise, _one(sample_of(one.reading)), loose=loose))
        found.append(parts)
    return found


def beside(people: Sequence[Part], own: Sequence[Part], n: int, m: int) -> tuple[Sample | Ratio, float]:
    """Return one report of n people, with what m own reports beside them add, and the variance of its value."""
    parts = [_added(a, b, m * b.inclusion / (n * a.inclusion)) for a, b in zip(people, own, strict=True)]
    if len(parts) == 1:
        return parts[0].report, parts[0].variance
    variance = pooled(parts)
    return normal(parts[0].report, variance), variance


def _added(one: Part, other: Part, per: float) -> Part:
    """Return a part with own reports, `per` of them for each answer of a person."""
    law, report = other.report, one.report
    noise = one.noise + per * top_of(law).variance
    if isinstance(report, Sample) and isinstance(law, Sample):
        return replace(one, noise=noise, report=replace(report, own=Added(per, other.loose, law)))
    if isinstance(report, Ratio):
        return replace(one, noise=noise, report=replace(report, own=Added(per, other.loose, law)))
    # The report is the linear part of a ratio already.
    more = Added(per, other.loose, law).at(report.mean) / one.present**2
    return replace(one, noise=noise, report=normal(report, report.variance + more))


def pooled(parts: Sequence[Part]) -> float:
    """Return the variance of one answer of a pool: sources are weighted by their answers and their known noise."""
    weights = [part.inclusion / part.noise for part in parts]
    errors = ((w / sum(weights)) ** 2 * part.variance / part.inclusion for w, part in zip(weights, parts, strict=True))
    return sum(part.inclusion for part in parts) * math.fsum(errors)


def normal(report: Sample | Ratio, variance: float) -> Sample:
    """Return a sample of values with this variance, about which no more is known."""
    mean = report.point
    flat = ((-1.0, variance), (1.0, variance))
    far = 1e6 * math.sqrt(variance)
    return Sample(1.0, mean, variance, mean - far, mean + far, False, Squares(flat, flat, 0.0))


def beside_of(plan: Plan, index: int, own: int) -> Among | None:
    """Return the own reports among the answers to one question."""
    own_tally(plan)  # refuses a plan for which no relay can draw them
    return among(plan, index, own)


def check(own: object) -> None:
    """Refuse anything but a number of reports."""
    if type(own) is not int or not 0 <= own <= MAX_REPORTS:
        raise DesignError("own must be a whole number, 0 or more: the reports that the relay adds in all batches")


def _one(report: Sample | Ratio) -> Sample | Ratio:
    """Return the expected sample of one value, from that of very many."""
    if isinstance(report, Sample):
        return replace(report, n=1.0)
    top, bottom = replace(report.numerator, n=1.0), replace(report.denominator, n=1.0)
    return Ratio(top, bottom, report.covariance)
